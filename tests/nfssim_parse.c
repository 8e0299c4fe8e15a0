/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nfssim_parse.c - see nfssim_parse.h */
#include <stdlib.h>
#include <string.h>

#include "tests/nfssim_parse.h"

struct unit {
	const char *name;
	double factor;
};

static bool
find_unit(const struct unit *u, const char *name, double *factor)
{
	for (; u->name; u++)
		if (!strcasecmp(u->name, name)) {
			*factor = u->factor;
			return true;
		}
	return false;
}

static bool
parse(const char *text, const struct unit *units, double *value)
{
	double factor;
	char *end;

	if ((*text < '0' || *text > '9') && *text != '.')
		return false;
	*value = strtod(text, &end);
	if (!find_unit(units, end, &factor))
		return false;
	*value *= factor;
	return *value >= 0 && *value < 18446744073709551615.0;
}

bool
parse_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {
		{ "", 1 }, { "k", 1 << 10 }, { "m", 1 << 20 },
		{ "g", 1 << 30 }, { "t", 1ull << 40 }, { "kb", 1e3 },
		{ "mb", 1e6 }, { "gb", 1e9 }, { "tb", 1e12 }, { NULL, 0 },
	};
	unsigned long long n;
	double value;
	char *end;

	/* not by way of a double where that would round */
	n = strtoull(text, &end, 0);
	if (*text >= '0' && *text <= '9' && !*end) {
		*bytes = n;
		return true;
	}
	if (!parse(text, units, &value))
		return false;
	*bytes = (uint64_t)value;
	return true;
}

bool
parse_time(const char *text, uint64_t *usec)
{
	static const struct unit units[] = {
		{ "", 1e6 }, { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 },
		{ "min", 60e6 }, { "h", 3600e6 }, { NULL, 0 },
	};
	double value;

	if (!parse(text, units, &value))
		return false;
	*usec = (uint64_t)(value + 0.5);
	return true;
}

bool
parse_share(const char *text, double *share)
{
	static const struct unit units[] = {
		{ "", 1 }, { "%", 0.01 }, { NULL, 0 },
	};

	return parse(text, units, share) && *share <= 1;
}
