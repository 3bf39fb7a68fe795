/* Text slices: a pointer and a length, borrowed. Not NUL-terminated, may contain NUL bytes. */
#ifndef BERTH_BASE_STR_H
#define BERTH_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

struct str {
    const char *s;
    size_t len;
};

#define STR_LIT(literal) ((struct str){ (literal), sizeof(literal) - 1 })
/* For printf: "%.*s". Cut at INT_MAX, which no bounded text reaches. */
#define STR_ARG(v) (int)(v).len, (v).s

static inline struct str str_of(const char *s)
{
    return (struct str){ s, strlen(s) };
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.s, b.s, a.len) == 0);
}

static inline bool str_is(struct str a, const char *b)
{
    return str_eq(a, str_of(b));
}

/* Bytewise order; a prefix comes before the longer text. */
int str_cmp(struct str a, struct str b);

bool str_has_prefix(struct str s, const char *prefix);
bool str_has_suffix(struct str s, const char *suffix);

/* Splits at the first sep: returns the text before it and leaves the rest in *s. Without a sep it returns all
 * of *s and leaves *s with s == NULL, so that `while (rest.s)` visits every part, empty ones too. */
struct str str_next(struct str *s, char sep);

/* Without blanks, tabs and line ends at either end. */
struct str str_trim(struct str s);

/* A signed (unsigned) decimal number without anything around it: "-5", not "+5", " 5", "5 " or "0x5". False
 * when s is not one or does not fit. */
bool str_to_int64(struct str s, int64_t *ret);
bool str_to_uint64(struct str s, uint64_t *ret);

/* True when every byte sequence is well-formed UTF-8 (no overlong forms, no surrogates). */
bool str_is_utf8(struct str s);

/* The length of the first character of s; 0 when s is empty or does not begin with valid UTF-8. */
size_t str_utf8_first(struct str s);

#endif
