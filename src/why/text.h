/* The text form of a report.
 *
 * Reports may come from a server and are not trusted: control characters become '?', depth is bounded,
 * members that are missing or of another type are skipped. */
#ifndef BERTH_WHY_TEXT_H
#define BERTH_WHY_TEXT_H

#include <stdbool.h>

#include "api/json.h"

struct why_style {
    bool is_verbose; /* every operation and event; otherwise only those that add information */
    bool is_ascii;   /* the terminal cannot show other characters: "!=" instead of "≠" */
};
/* The first line is the cause, the second what the user can do. A part does not repeat what its parent says.
 */
void why_text_write(const struct json *d, json_ref report, const struct why_style *style, struct buf *out);

/* Adds a text of a report: one line, without characters that control a terminal. */
void why_text_add(struct str text, const struct why_style *style, struct buf *out);

#endif
