/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount_check_test.c - what passes the screen is what libnfs can read
 *
 * (sahlberg/libnfs README.security-scan, F-1 to F-4: lengths with the top bit
 * set, negative ones, megabytes of directory entries.)
 *
 *	CHECK_SEED=N	of the random changes
 */
#include <sys/time.h>

#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs-raw-mount.h>
#include <nfsc/libnfs-raw-nfs.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/mount_link.h"
#include "daemon/mount_screen.h"
#include "tests/unit.h"

#define HEADER 24			/* of a reply that was accepted */
#define RESULT_ROOM 4096
#define RANDOM_NR 100000
#define ENTRIES_MAX 16383		/* that the screen lets pass */

typedef uint32_t decode_fn(ZDR *, void *);

static unsigned char record[2 << 20];

/* s string  h handle  a attributes  H handle that may miss  0, 1, … a word
   q 8 bytes */
static const struct kind {
	const char *what;
	uint32_t prog, vers, proc;
	decode_fn *decode;
	const char *form;
} kinds[] = {
	{ "NULL", MOUNT_PROG, 3, 0, NULL, "" },
	{ "GETPORT", PORTMAP_PROG, 2, 3, NULL, "1" },
	{ "GETADDR", PORTMAP_PROG, 3, 3, NULL, "s" },
	{ "MNT", MOUNT_PROG, 3, 1, (decode_fn *)zdr_mountres3, "0h211" },
	{ "MNT, refused", MOUNT_PROG, 3, 1, (decode_fn *)zdr_mountres3, "2" },
	{ "EXPORT", MOUNT_PROG, 3, 5, (decode_fn *)zdr_exports,
	  "1s1s1s01s00" },
	{ "READDIR", NFS_PROG, 3, 16, (decode_fn *)zdr_READDIR3res,
	  "0aq1qsq1qsq01" },
	{ "READDIRPLUS", NFS_PROG, 3, 17, (decode_fn *)zdr_READDIRPLUS3res,
	  "0aq1qsqaH1qsq0001" },
	{ "READDIRPLUS, refused", NFS_PROG, 3, 17,
	  (decode_fn *)zdr_READDIRPLUS3res, "2a" },
};
#define KIND_NR (sizeof kinds / sizeof *kinds)

static size_t
put(size_t at, uint32_t word)
{
	word = htonl(word);
	memcpy(record + at, &word, 4);
	return at + 4;
}

static size_t
put_words(size_t at, unsigned nr)
{
	while (nr--)
		at = put(at, 1);
	return at;
}

static size_t
put_bytes(size_t at, uint32_t len)
{
	at = put(at, len);
	memset(record + at, 'x', len);
	memset(record + at + len, 0, -len & 3);
	return at + len + (-len & 3);
}

static size_t
make(const struct kind *k)
{
	size_t at = put_words(0, 2);
	const char *f;

	at = put(put(put(put(at, 0), 0), 0), 0);
	for (f = k->form; *f; f++)
		if (*f == 's')
			at = put_bytes(at, 7);
		else if (*f == 'h')
			at = put_bytes(at, 33);
		else if (*f == 'H')
			at = put_bytes(put(at, 1), 33);
		else if (*f == 'a')
			at = put_words(at, 1 + 21);
		else if (*f == 'q')
			at = put_words(at, 2);
		else
			at = put(at, (uint32_t)(*f - '0'));
	return at;
}

/* In memory of its own, so that a sanitizer sees whoever goes beyond. */
static size_t
check(const struct kind *k, size_t len)
{
	static uint32_t result[RESULT_ROOM / 4];
	unsigned char *copy = malloc(len ? len : 1);
	size_t good;
	bool read = true;
	ZDR z;

	CU_ASSERT_FATAL(copy != NULL);
	memcpy(copy, record, len);
	good = screen_check(copy, len, k->prog, k->vers, k->proc);
	CU_ASSERT(good <= len);
	if (good > HEADER && k->decode && !memcmp(copy + 8, "\0\0\0\0", 4) &&
	    !memcmp(copy + 16, "\0\0\0\0\0\0\0\0", 8)) {
		unsigned char *rest = malloc(good - HEADER);

		CU_ASSERT_FATAL(rest != NULL);
		memcpy(rest, copy + HEADER, good - HEADER);
		memset(result, 0, sizeof result);
		zdrmem_create(&z, (char *)rest, (uint32_t)(good - HEADER),
			      ZDR_DECODE);
		read = k->decode(&z, result);
		/* zdr counts the padding, or not yet */
		CU_ASSERT(!read || (size_t)z.pos <= good - HEADER);
		zdr_destroy(&z);
		free(rest);
	}
	free(copy);
	if (!read)
		printf("# %s: libnfs can't read it\n", k->what);
	CU_ASSERT(read);
	return good;
}

static void
good_replies_pass_whole(void)
{
	size_t i, len;

	for (i = 0; i < KIND_NR; i++) {
		len = make(&kinds[i]);
		CU_ASSERT_EQUAL(check(&kinds[i], len), len);
	}
}

static void
what_lies_behind_a_reply_is_left_out(void)
{
	size_t i, len;

	for (i = 0; i < KIND_NR; i++) {
		len = make(&kinds[i]);
		memset(record + len, 0xff, 1000);
		CU_ASSERT_EQUAL(check(&kinds[i], len + 1000), len);
	}
}

static void
reply_cut_anywhere_does_not_pass(void)
{
	size_t i, n, len;

	for (i = 0; i < KIND_NR; i++) {
		len = make(&kinds[i]);
		for (n = 0; n < len; n++)
			CU_ASSERT_EQUAL(check(&kinds[i], n), 0);
	}
}

static const uint32_t evil[] = {
	0, 1, 2, 3, 65, 400, 1025, 0x7fffffff, 0x7ffffffd, 0x80000000,
	0x80000004, 0xfffffffc, 0xffffffff,
};
#define EVIL_NR (sizeof evil / sizeof *evil)

static void
no_word_of_a_reply_is_trusted(void)
{
	size_t i, n, k, len;

	for (i = 0; i < KIND_NR; i++) {
		len = make(&kinds[i]);
		for (n = 0; n < len; n += 4)
			for (k = 0; k < EVIL_NR; k++) {
				(void)make(&kinds[i]);
				put(n, evil[k]);
				(void)check(&kinds[i], len);
			}
	}
}

static void
replies_to_what_was_never_asked_do_not_pass(void)
{
	size_t len = make(&kinds[0]);

	CU_ASSERT_EQUAL(screen_check(record, len, NFS_PROG, 3, 7), 0);
	CU_ASSERT_EQUAL(screen_check(record, len, 100021, 4, 1), 0);
	put(4, 0);			/* a call */
	CU_ASSERT_EQUAL(check(&kinds[0], len), 0);
}

static void
refusals_pass(void)
{
	const struct kind *k = &kinds[KIND_NR - 1];
	size_t len = put(put(put(put_words(0, 2), 1), 1), 5);

	CU_ASSERT_EQUAL(check(k, len), len);		/* too weak */
	len = put(put(put(put(put_words(0, 2), 1), 0), 2), 2);
	CU_ASSERT_EQUAL(check(k, len), len);		/* RPC version */
	len = put(put(put(put(put_words(0, 2), 0), 0), 0), 1);
	CU_ASSERT_EQUAL(check(k, len), len);		/* no program */
	len = put(put(put(put(put(put(put_words(0, 2), 0), 0), 0), 2), 4), 4);
	CU_ASSERT_EQUAL(check(k, len), len);		/* another version */
	put(8, 2);
	CU_ASSERT_EQUAL(check(k, len), 0);
}

/* The most that passes does not overflow libnfs' stack. */
static void
megabytes_of_entries_do_not_pass_and_what_passes_is_read(void)
{
	const struct kind *k = &kinds[7];
	size_t at;
	unsigned n, nr;

	for (nr = ENTRIES_MAX; nr <= ENTRIES_MAX + 1; nr++) {
		at = put(put(put(put(put_words(0, 2), 0), 0), 0), 0);
		at = put_words(put(put(at, 0), 0), 2);
		for (n = 0; n < nr; n++)
			at = put(put(put_words(put_bytes(put_words(
				put(at, 1), 2), 3), 2), 0), 0);
		at = put(put(at, 0), 1);
		CU_ASSERT_EQUAL(check(k, at), nr == ENTRIES_MAX ? at : 0);
	}
	for (nr = ENTRIES_MAX; nr <= ENTRIES_MAX + 1; nr++) {
		at = put(put(put(put(put_words(0, 2), 0), 0), 0), 0);
		for (n = 0; n < nr; n++)
			at = put(put_bytes(put(at, 1), 1), 0);
		at = put(at, 0);
		CU_ASSERT_EQUAL(check(&kinds[5], at),
				nr == ENTRIES_MAX ? at : 0);
	}
}

static void
random_changes_lead_nowhere(void)
{
	const char *given = getenv("CHECK_SEED");
	unsigned long seed = given ? strtoul(given, NULL, 0) :
			     (unsigned long)getpid() * 7919u;
	unsigned i, n, passed = 0;

	printf("# CHECK_SEED=%lu\n", seed);
	srandom((unsigned)seed);
	for (i = 0; i < RANDOM_NR; i++) {
		const struct kind *k = &kinds[(size_t)random() % KIND_NR];
		size_t len = make(k);

		for (n = (unsigned)random() % 4 + 1; n; n--) {
			size_t at = (size_t)random() % len;

			if (random() % 2)
				record[at] ^= (unsigned char)(1 << random() %
							      8);
			else
				put(at & ~(size_t)3,
				    evil[(size_t)random() % EVIL_NR]);
		}
		if (random() % 4 == 0)
			len = (size_t)random() % (len + 1);
		passed += check(k, len) > 0;
	}
	CU_ASSERT(passed > RANDOM_NR / 100);
}

UNIT_TESTS(mount_check,
	UNIT(good_replies_pass_whole),
	UNIT(what_lies_behind_a_reply_is_left_out),
	UNIT(reply_cut_anywhere_does_not_pass),
	UNIT(no_word_of_a_reply_is_trusted),
	UNIT(replies_to_what_was_never_asked_do_not_pass),
	UNIT(refusals_pass),
	UNIT(megabytes_of_entries_do_not_pass_and_what_passes_is_read),
	UNIT(random_changes_lead_nowhere),
)
