/* Several errors in one: a single one is printed as it is, several as "[a, b]". What does not fit into an
 * error's message is dropped. */
#ifndef BERTH_CLIENT_ERROR_LIST_H
#define BERTH_CLIENT_ERROR_LIST_H

#include <stddef.h>

#include "base/error.h"

/* All zeroes is an empty list. */
struct error_list {
    char text[ERROR_MSG_BYTES_MAX + 8]; /* longer than a message: error_set() truncates it */
    size_t count;
};

void error_list_add(struct error_list *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* 0 when the list is empty; else ERR_INVALID with the errors after `prefix`. */
int error_list_check(const struct error_list *c, const char *prefix, struct error *err);

#endif
