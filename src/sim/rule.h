/* The identity of an invariant: equal for two failures that differ only in names and numbers. */
#ifndef BERTH_SIM_RULE_H
#define BERTH_SIM_RULE_H

#include <stddef.h>

/* Computes it from the format of a message and the message. If the format is "%s" or ends with ": %s", the
 * text for it is part of the identity, with "#" for every word with a digit. */
void rule_of_failure(const char *fmt, const char *text, char *ret, size_t bytes);

#endif
