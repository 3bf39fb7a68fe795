/* What the files of `berth describe` share: the text being written, and lines that many kinds have.
 *
 * The layout is kubectl's: a label, a tab, a value; details are indented below. */
#ifndef BERTH_CLI_DESCRIBE_H
#define BERTH_CLI_DESCRIBE_H

#include "api/json.h"
#include "api/kind.h"
#include "api/times.h"
#include "base/vec.h"
#include "cli/columns.h"
#include "cli/session.h"

struct describe {
    struct session *session;
    struct json doc; /* the object and related objects */
    json_ref object;
    const struct kind_info *kind;
    struct columns out;
    struct timestamp now;
};

/* --- Lines. The label includes indent and colon, but no tab. --- */

void describe_text(struct describe *page, const char *label, struct str value);
void describe_cstr(struct describe *page, const char *label, const char *value);
/* A member of an object, also a number or boolean; fallback when it is missing. */
void describe_member(struct describe *page, const char *label, json_ref object, const char *member,
                     const char *fallback);
/* A line with its own format, tabs included; only for texts without values from a server. */
void describe_line(struct describe *page, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Several values, the first beside the label, the others below. */
void describe_labels(struct describe *page, const char *label, json_ref map);
void describe_annotations(struct describe *page, json_ref map);
/* "[a b]", as Go prints a list. */
void describe_list(struct describe *page, const char *label, json_ref list);
/* "a=1,b=2" */
void describe_pairs(struct describe *page, const char *label, json_ref map);
void describe_access_modes(struct describe *page, const char *label, json_ref modes);
/* "Terminating (lasts 3s)" during deletion, otherwise the phase. */
void describe_status(struct describe *page, struct str phase);
/* "Thu, 01 Jan 2026 00:00:00 +0000"; the year 1 if not set. */
void describe_time(struct describe *page, const char *label, json_ref time);
void describe_write_time(struct describe *page, json_ref time);
/* The table of status.conditions; title and key: of the time other than the transition. */
void describe_conditions(struct describe *page, const char *title, const char *key);
/* `key in [a, b]` of a selector's expression. */
void describe_expression(struct describe *page, json_ref expression);
/* The events about the object. */
void describe_events(struct describe *page);

json_ref describe_meta(const struct describe *page, const char *member);
json_ref describe_spec(const struct describe *page, const char *member);
json_ref describe_state(const struct describe *page, const char *member);

/* Lists other objects; 0 on failure, which is not reported. */
json_ref describe_list_objects(struct describe *page, enum kind kind, const char *ns, const char *fields);

/* --- Kinds --- */

void describe_volume(struct describe *page);
void describe_claim(struct describe *page);
void describe_class(struct describe *page);
void describe_pod(struct describe *page);
void describe_node(struct describe *page);
void describe_driver(struct describe *page);
void describe_generic(struct describe *page);
/* The first part of describe_generic(): everything but the events. */
void describe_object(struct describe *page);

/* describe_source.c: the storage of a volume. indent: "    " or similar. */
void describe_source(struct describe *page, json_ref spec, const char *indent);

#endif
