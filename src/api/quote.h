/* Values in messages, in double quotes with escapes, as Kubernetes' %q shows them. */
#ifndef BERTH_API_QUOTE_H
#define BERTH_API_QUOTE_H

#include <stddef.h>

#include "base/str.h"

/* Writes s quoted to ret, always NUL-terminated. A text that does not fit is cut between characters, without
 * the closing quote. Escapes: \a \b \f \n \r \t \v \" \\, \x1f for other control bytes and for invalid UTF-8
 * bytes, \u00a0 for control and space characters up to U+00AD. Returns ret. */
char *quote_text(char *ret, size_t size, struct str s);

#endif
