/* Values inside messages, in double quotes with escapes, the way Kubernetes' %q shows them. */
#ifndef BERTH_API_QUOTE_H
#define BERTH_API_QUOTE_H

#include <stddef.h>

#include "base/str.h"

/* Writes s quoted into ret, always NUL-terminated. What does not fit is cut between characters, without
 * the closing quote: messages have their own ceiling. Escapes: \a \b \f \n \r \t \v \" \\, \x1f for other
 * control bytes and for bytes that are no UTF-8, \u00a0 for the control and blank characters up to U+00AD.
 * Returns ret. */
char *quote_text(char *ret, size_t size, struct str s);

#endif
