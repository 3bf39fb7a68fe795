/* The findings of a checkup as text. */
#ifndef BERTH_CLI_CHECK_SHOW_H
#define BERTH_CLI_CHECK_SHOW_H

#include "why/check.h"

/* is_whole: every finding, not only some per rule. paint as in struct columns. */
void checkup_show(const struct checkup *checkup, bool is_whole,
                  const char *(*paint)(size_t line, struct str word), struct buf *out);

#endif
