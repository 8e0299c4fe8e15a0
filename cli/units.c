/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * units.c - sizes and times for people
 *
 * Two or three digits that count, then the unit.  A value is rounded before
 * its unit is chosen, so that no "1024 KiB" and no "60 s" appears.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/units.h"

/* value in the largest of the units that leaves it at least 1 */
static struct units
scale(double value, double step, const char *const *names, const char *end)
{
	struct units u;

	if (value < step) {
		snprintf(u.s, sizeof(u.s), "%.0f%s%s", value, names[0], end);
		return u;
	}
	do {
		value /= step;
		names++;
	} while (value >= step - 0.5 && names[1] != NULL);
	snprintf(u.s, sizeof(u.s), "%.*f%s%s", value < 99.95 ? 1 : 0, value,
		 names[0], end);
	return u;
}

static const char *const binary[] = {
	" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", NULL
};

struct units
units_bytes(uint64_t bytes)
{
	return scale((double)bytes, 1024, binary, "");
}

struct units
units_rate(double bytes_per_sec)
{
	if (!(bytes_per_sec > 0))	/* nor not a number */
		bytes_per_sec = 0;
	if (bytes_per_sec < 1e18)
		bytes_per_sec = (double)(uint64_t)bytes_per_sec;
	return scale(bytes_per_sec, 1024, binary, "/s");
}

struct units
units_count(uint64_t nr)
{
	static const char *const decimal[] = {
		"", " k", " M", " G", " T", " P", " E", NULL
	};
	struct units u;

	if (nr >= 100000)
		return scale((double)nr, 1000, decimal, "");
	snprintf(u.s, sizeof(u.s), "%u", (unsigned)nr);
	return u;
}

/* A second and more: the two largest parts. */
static struct units
long_time(uint64_t sec)
{
	unsigned s = sec % 60, m = sec / 60 % 60, h = sec / 3600 % 24;
	unsigned long long d = sec / 86400;
	struct units u;

	if (d > 0)
		snprintf(u.s, sizeof(u.s), "%llu d %u h", d, h);
	else if (h > 0)
		snprintf(u.s, sizeof(u.s), "%u h %u min", h, m);
	else if (m > 0)
		snprintf(u.s, sizeof(u.s), "%u min %u s", m, s);
	else
		snprintf(u.s, sizeof(u.s), "%u s", s);
	return u;
}

struct units
units_usec(uint64_t usec)
{
	static const char *const names[] = { " us", " ms", " s", NULL };

	if (usec == 0)
		return (struct units){ "0" };
	if (usec < 59950000)
		return scale((double)usec, 1000, names, "");
	return long_time((usec + 500000) / 1000000);
}

int
units_parse_seconds(const char *text)
{
	char *end;
	double sec;

	errno = 0;
	sec = strtod(text, &end);
	if (errno != 0 || end == text || *end != '\0')
		return -1;
	if (!(sec >= 0.001) || sec > INT_MAX / 1000)
		return -1;
	return (int)(sec * 1000);
}

int
units_parse_count(const char *text)
{
	char *end;
	long nr;

	errno = 0;
	nr = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || nr < 1 || nr > INT_MAX)
		return -1;
	return (int)nr;
}
