/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * session.h - what the targets that attack a daemon's sessions have in common
 *
 * tests/session_rig.h, with one client that is up to no good and another that is
 * honest.  Whatever the first one does, the pipeline's books are right, and when
 * it is gone the other one's data reaches the server.
 */
#ifndef NFSWB_TESTS_FUZZ_SESSION_H
#define NFSWB_TESTS_FUZZ_SESSION_H

#include "tests/fuzz/fuzz.h"
#include "tests/session_rig.h"

struct rig *attack_rig(void);
/* Lets time pass, and looks at the books. */
void attack_pass(struct rig *, uint64_t usec);
/* What the server does from now on: bits of a byte of the input. */
#define ATTACK_HOLD	1u
#define ATTACK_MUTE	2u
#define ATTACK_FAIL	4u
#define ATTACK_COMMITS	8u	/* held */
void attack_server(struct rig *, unsigned bits);
/* Sends what there is room for. */
void attack_send(struct client *, const void *, size_t);
void attack_record(struct client *, const void *, size_t);
/* A call as it should be: kind and numbers from the input. */
void attack_call(struct client *, struct fuzz_input *);
/* The attacker is gone (closed): does all go on?  Ends the rig, too. */
void attack_over(struct rig *, struct client *honest);
/* To be made before the attack. */
void attack_honest(struct rig *, struct client *honest);

#endif
