/* The identity of an invariant: what two failures have in common that differ in names and numbers only. */
#ifndef BERTH_SIM_RULE_H
#define BERTH_SIM_RULE_H

#include <stddef.h>

/* From the format of a message and the message. A format that ends with ": %s", or is "%s", leaves it to that
 * text to name the invariant: the text belongs to the identity then, with "#" for every word with a digit. */
void rule_of_failure(const char *fmt, const char *text, char *ret, size_t bytes);

#endif
