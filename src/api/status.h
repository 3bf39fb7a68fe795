/* Status: the API's object for errors, and for some successes.
 *
 * The client reads Status responses and ERROR events of watches; the server writes them. A table in status.c
 * has the HTTP status and the reason of each error code. */
#ifndef BERTH_API_STATUS_H
#define BERTH_API_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/json.h"
#include "api/kind.h"
#include "api/validate.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

struct status_cause {
    const char *reason; /* "FieldValueInvalid", "NamespaceTerminating" */
    const char *message;
    const char *field;
};

/* After reading no text is NULL. For writing, NULL and "" both mean absent. */
struct status_info {
    bool is_success;
    int code; /* HTTP status; 0 for none, as in the response to a delete */
    const char *message;
    const char *reason;         /* "NotFound" */
    const char *continue_token; /* metadata.continue, in responses to an expired token */
    bool has_details;           /* distinguishes details: {} from no details */
    const char *name;
    const char *group;
    const char *kind; /* plural ("persistentvolumes"); the kind's name in Invalid and some Conflicts */
    const char *uid;
    const struct status_cause *causes;
    uint32_t causes_count;
    int64_t retry_after_seconds; /* 0 for none */
};

/* HTTP status and reason of an error code: 404 and "NotFound". ERR_NONE is 200 and "". */
int status_http(enum err code);
const char *status_reason(enum err code);

/* Reads a Status from a tree; texts are copied into the arena. ERR_BAD_REQUEST if it is not an object of kind
 * Status. Members with a wrong type read as absent. */
int status_read(const struct json *d, json_ref v, struct arena *arena, struct status_info *ret,
                struct error *err);

/* The error code: by the reason, else by the HTTP status; ERR_NONE for a success. ERR_INTERNAL for a failure
 * with neither. */
enum err status_code(const struct status_info *s);
/* The Status as an error; ERR_INTERNAL for a success where a failure was expected. Returns -code. */
int status_error(const struct status_info *s, struct error *err);
/* True if a cause has this reason. */
bool status_has_cause(const struct status_info *s, const char *reason);

/* Writing: compact JSON without a newline at its end. Failures are kept in the buffer. */
void status_write(const struct status_info *s, struct buf *out);
/* Writes an error. `about` has the details (name, group, kind, uid, causes, retry_after_seconds), NULL for
 * none. */
void status_write_error(const struct error *e, const struct status_info *about, struct buf *out);
/* 422 Invalid: the field errors, in the message and as causes. */
void status_write_invalid(const struct kind_info *k, struct str name, const struct field_errors *errors,
                          struct buf *out);

#endif
