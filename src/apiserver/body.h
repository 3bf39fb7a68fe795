/* Request bodies: from bytes in one of the media types the API takes to a tree in canonical form. */
#ifndef BERTH_APISERVER_BODY_H
#define BERTH_APISERVER_BODY_H

#include "apiserver/call.h"

/* What becomes of fields that a closed kind does not have, and of duplicates. */
enum field_validation { VALIDATION_WARN, VALIDATION_IGNORE, VALIDATION_STRICT };

/* These answer the call themselves when they fail, and say so with false: the words depend on too much for a
 * struct error. */

/* The body as a tree; 0 for an empty body when that is allowed. JSON, YAML or protobuf, by the Content-Type.
 * kind and api_version are what it says of itself ("" when it does not). A kind that is sent and never stored
 * is checked: that it is the one expected, and its types. */
struct body {
    json_ref root;
    struct str kind;
    struct str api_version;
};
bool body_read(struct call *c, const char *expected_kind, bool may_be_empty, struct json *d,
               struct body *ret);

/* The body as an object of the route's kind: body_read(), its kind checked or filled in, normalized. Unknown
 * and duplicate fields are refused, warned of or dropped. */
bool body_read_object(struct call *c, const struct kind_info *k, enum field_validation validation,
                      struct json *d, json_ref *ret);

/* 415 with what would have been understood. */
void body_fail_media(struct call *c, const char *accepted);

/* `unknown field "a", duplicate field "b"`: a report as one text. */
void field_report_join(const struct field_report *r, struct buf *out);

#endif
