/* The query parameters of a request. */
#ifndef BERTH_HTTP_PARAMS_H
#define BERTH_HTTP_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#define PARAMS_COUNT_MAX 1000

struct param {
    struct str name;
    struct str value; /* decoded */
};

struct params {
    const struct param *items;
    size_t count;
};

/* Decodes `a=b&c=d`; `+` is a blank. Parameters that cannot be decoded are skipped, as Go does. */
int params_parse(struct str query, struct arena *a, struct params *ret, struct error *err);

/* The first value; an empty slice with s not NULL for "name=", with s NULL when the parameter is absent. */
struct str params_get(const struct params *p, const char *name);
/* False when the parameter is absent, "0" or "false" (case-insensitive); true otherwise, also for a name
 * without a value. */
bool params_bool(const struct params *p, const char *name);
/* fallback when absent or empty; `strconv.ParseInt: parsing "abc": invalid syntax`. */
int params_int(const struct params *p, const char *name, int64_t fallback, int64_t *ret, struct error *err);
/* Percent-decoding of a path or a parameter into the arena; ERR_BAD_REQUEST for %zz and for a NUL. */
int percent_decode(struct str text, bool plus_is_blank, struct arena *a, struct str *ret, struct error *err);

#endif
