/* What is wrong, all of it, in one error: one complaint stands alone, several as "[a, b]". What would not fit
 * into an error's message is not kept. */
#ifndef BERTH_CLIENT_COMPLAINTS_H
#define BERTH_CLIENT_COMPLAINTS_H

#include <stddef.h>

#include "base/error.h"

/* All zeroes is an empty list. */
struct complaints {
    char text[ERROR_MSG_BYTES_MAX + 8]; /* longer than a message: error_set() does the cutting */
    size_t count;
};

void complaints_add(struct complaints *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 0 when there are none; else ERR_INVALID with the complaints behind `prefix`. */
int complaints_check(const struct complaints *c, const char *prefix, struct error *err);

#endif
