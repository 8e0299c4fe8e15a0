/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cell_options.h - a cell's parameters by name: "limit=10M" */
#ifndef NFSWB_BENCH_CELL_OPTIONS_H
#define NFSWB_BENCH_CELL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/cell.h"

/* "10M": K, M, G are binary.  false: that is no number. */
bool cell_number(const char *text, uint64_t *);
void cell_options_help(FILE *);
void cell_params_init(struct cell_params *);
/* 0, or -EINVAL when it was said what is wrong. */
int cell_option(struct cell_params *, const char *arg);
/* What follows from others and was not said. */
void cell_params_settle(struct cell_params *);

#endif
