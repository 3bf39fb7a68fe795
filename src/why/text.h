/* A report for people: its JSON as lines of text.
 *
 * The same for a report that a server sent, so everything in it is taken for hostile: control characters
 * become '?', depth is bounded, what is missing or of another type is left out. */
#ifndef BERTH_WHY_TEXT_H
#define BERTH_WHY_TEXT_H

#include "api/json.h"

void why_text_write(const struct json *d, json_ref report, struct buf *out);

#endif
