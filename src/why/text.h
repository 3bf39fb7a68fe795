/* A report for people: its JSON as lines of text.
 *
 * The same for a report that a server sent, so everything in it is taken for hostile: control characters
 * become '?', depth is bounded, what is missing or of another type is left out. */
#ifndef BERTH_WHY_TEXT_H
#define BERTH_WHY_TEXT_H

#include <stdbool.h>

#include "api/json.h"

struct why_style {
    bool is_verbose; /* every operation and event: else those that add something to the rest */
    bool is_ascii;   /* the terminal cannot show other characters: "!=" for the sign that is none */
};
/* The first line is the verdict, the second what the person can do. A part says nothing that its report has
 * said. */
void why_text_write(const struct json *d, json_ref report, const struct why_style *style, struct buf *out);

/* A text of a report: one line of it, and nothing that a terminal would obey. */
void why_text_add(struct str text, const struct why_style *style, struct buf *out);

#endif
