/* Event: one stored object, two forms.
 *
 * core/v1 is the form that is stored. events.k8s.io/v1 is another view of the same object, in which seven
 * fields have other names (involvedObject is regarding, message is note, …). A tree goes from one form to the
 * other and back without losing anything; both forms decode into the same struct, so that whoever reads
 * events needs not ask. */
#ifndef BERTH_API_EVENT_H
#define BERTH_API_EVENT_H

#include "api/object.h"

/* What an event is about. */
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
    const char *type;    /* "Normal", "Warning"; core events may say anything */
    const char *source_component;
    const char *source_host;
    const char *action;
    const char *reporting_controller; /* reportingComponent, reportingController */
    const char *reporting_instance;
    struct timestamp first; /* firstTimestamp; unset: zero, as the other times */
    struct timestamp last;
    struct timestamp time; /* eventTime: set in events of the new style alone */
    struct timestamp series_last;
    int32_t count;
    int32_t series_count; /* 0 when there is no series */
};

extern const struct kind_info event_kind;    /* core/v1 */
extern const struct kind_info event_v1_kind; /* events.k8s.io/v1 */

/* Turns the tree of an event of the other form into one of this form, canonical again; one whose apiVersion
 * says that it has the form already stays as it is. Unknown fields are kept: of the names that only one form
 * knows, the other's value goes under the partner's name. Fails like schema_normalize(); the tree is then
 * worth nothing. */
int event_to_core(struct json *d, json_ref event, struct error *err);
int event_to_v1(struct json *d, json_ref event, struct error *err);

#endif
