/* Event: one stored object with two API forms.
 *
 * core/v1 is the stored form. events.k8s.io/v1 shows the same object with other names for seven fields
 * (involvedObject is regarding, message is note, …). The conversion is lossless in both directions; both
 * forms decode into the same struct, so that readers need not distinguish them. */
#ifndef BERTH_API_EVENT_H
#define BERTH_API_EVENT_H

#include "api/object.h"

/* The object that an event refers to. */
struct event_object {
    const char *kind;
    const char *ns;
    const char *name;
    const char *uid;
    const char *api_version;
    const char *resource_version;
    const char *field_path;
};

struct event {
    struct object obj;
    struct event_object involved; /* involvedObject, regarding */
    const char *reason;
    const char *message; /* message, note */
    const char *type;    /* "Normal", "Warning"; core events may have any text */
    const char *source_component;
    const char *source_host;
    const char *action;
    const char *reporting_controller; /* reportingComponent, reportingController */
    const char *reporting_instance;
    struct timestamp first; /* firstTimestamp; zero if not set, like the other times */
    struct timestamp last;
    struct timestamp time; /* eventTime: only set in new-style events */
    struct timestamp series_last;
    int32_t count;
    int32_t series_count; /* 0 if there is no series */
};

extern const struct kind_info event_kind;    /* core/v1 */
extern const struct kind_info event_v1_kind; /* events.k8s.io/v1 */

/* Converts the tree of an event to this form, canonical again; an event whose apiVersion already has this
 * form is not changed. Unknown fields are kept; a field name that only one form has is converted to its
 * partner in the other. Fails like schema_normalize(); the tree is then unusable. */
int event_to_core(struct json *d, json_ref event, struct error *err);
int event_to_v1(struct json *d, json_ref event, struct error *err);

#endif
