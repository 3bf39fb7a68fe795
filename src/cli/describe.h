/* What the files of `berth describe` share: the text being written, and the lines that many kinds have.
 *
 * The layout is kubectl's: a label, a tab, a value; what belongs to a thing is indented below it. */
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
    struct json doc; /* the object and whatever else is asked for it */
    json_ref object;
    const struct kind_info *kind;
    struct columns out;
    struct timestamp now;
    struct reply *reply;
};

/* --- Lines. The label has its indent and colon, and no tab. --- */

void describe_text(struct describe *x, const char *label, struct str value);
void describe_cstr(struct describe *x, const char *label, const char *value);
/* The member of an object; fallback when it is not there. Numbers and booleans too. */
void describe_member(struct describe *x, const char *label, json_ref object, const char *member,
                     const char *fallback);
/* A format of one's own, tabs and all; for texts of ours alone. */
void describe_line(struct describe *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Several values, the first beside the label, the others below it. */
void describe_labels(struct describe *x, const char *label, json_ref map);
void describe_annotations(struct describe *x, json_ref map);
/* "[a b]", as Go prints a list. */
void describe_list(struct describe *x, const char *label, json_ref list);
/* "a=1,b=2" */
void describe_pairs(struct describe *x, const char *label, json_ref map);
void describe_access_modes(struct describe *x, const char *label, json_ref modes);
/* "Terminating (lasts 3s)" while it is being deleted, else the phase. */
void describe_status(struct describe *x, struct str phase);
/* "Thu, 01 Jan 2026 00:00:00 +0000"; the year 1 for none. */
void describe_time(struct describe *x, const char *label, json_ref time);
void describe_write_time(struct describe *x, json_ref time);
/* The table of status.conditions; title and key: of the time that is not the transition's. */
void describe_conditions(struct describe *x, const char *title, const char *key);
/* `key in [a, b]` of a selector's expression. */
void describe_expression(struct describe *x, json_ref expression);
/* The events about the object. */
void describe_events(struct describe *x);

json_ref describe_meta(const struct describe *x, const char *member);
json_ref describe_spec(const struct describe *x, const char *member);
json_ref describe_state(const struct describe *x, const char *member);

/* Lists other objects; 0 when that fails, which then is not shown. */
json_ref describe_list_objects(struct describe *x, enum kind kind, const char *ns, const char *fields);

/* --- Kinds --- */

void describe_volume(struct describe *x);
void describe_claim(struct describe *x);
void describe_class(struct describe *x);
void describe_pod(struct describe *x);
void describe_node(struct describe *x);
void describe_generic(struct describe *x);

/* describe_source.c: where the data of a volume are. indent: "    " or the like. */
void describe_source(struct describe *x, json_ref spec, const char *indent);

#endif
