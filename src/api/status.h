/* Status: how the API says that something went wrong, and now and then that it went well.
 *
 * The client reads Status answers and ERROR events of watches; the server writes them. One table, in
 * status.c, says which HTTP status and reason each error code has. */
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

/* Of one read no text is NULL. In one to be written NULL and "" both mean absent. */
struct status_info {
    bool is_success;
    int code; /* HTTP status; 0 for none, as in the answer to a delete */
    const char *message;
    const char *reason;         /* "NotFound" */
    const char *continue_token; /* metadata.continue, in answers to a token that has expired */
    bool has_details;           /* details: {} and no details are different answers */
    const char *name;
    const char *group;
    const char *kind; /* a plural ("persistentvolumes"); the kind's own name in Invalid and some Conflicts */
    const char *uid;
    const struct status_cause *causes;
    uint32_t causes_count;
    int64_t retry_after_seconds; /* 0 for none */
};

/* What an error code is over HTTP: 404 and "NotFound". ERR_NONE is 200 and "". */
int status_http(enum err code);
const char *status_reason(enum err code);

/* Reads a Status out of a tree; texts are copied into the arena. Anything but an object of kind Status is
 * ERR_BAD_REQUEST. Members of another type than theirs read as absent. */
int status_read(const struct json *d, json_ref v, struct arena *arena, struct status_info *ret,
                struct error *err);

/* The code to decide on: by the reason, else by the HTTP status; ERR_NONE for a success. A failure that says
 * neither is ERR_INTERNAL. */
enum err status_code(const struct status_info *s);
/* The Status as an error of ours; a success where a failure was due is ERR_INTERNAL. Returns -code. */
int status_error(const struct status_info *s, struct error *err);
/* True when a cause has this reason. */
bool status_has_cause(const struct status_info *s, const char *reason);

/* Writing: compact JSON without a newline at its end. Failures stick in the buffer. */
void status_write(const struct status_info *s, struct buf *out);
/* An error of ours. `about` gives the details (name, group, kind, uid, causes, retry_after_seconds), NULL for
 * none. */
void status_write_error(const struct error *e, const struct status_info *about, struct buf *out);
/* 422 Invalid: what validation objects to, once in the message and each as a cause. */
void status_write_invalid(const struct kind_info *k, struct str name, const struct field_errors *errors,
                          struct buf *out);

#endif
