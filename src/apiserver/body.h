/* Request bodies: converts bytes in one of the accepted media types to a tree in canonical form. */
#ifndef BERTH_APISERVER_BODY_H
#define BERTH_APISERVER_BODY_H

#include "apiserver/api_call.h"

/* Treatment of fields that a closed kind does not have, and of duplicates. */
enum field_validation { VALIDATION_WARN, VALIDATION_IGNORE, VALIDATION_STRICT };

/* These functions answer the call when they fail, and return false: the messages depend on too much for a
 * struct error. */

/* The body as a tree; 0 for an empty body if that is allowed. JSON, YAML or protobuf, by Content-Type. kind
 * and api_version are from the body ("" if missing). Kinds that are never stored are checked: the expected
 * kind, and its types. */
struct body {
    json_ref root;
    struct str kind;
    struct str api_version;
};
bool body_read(struct call *c, const char *expected_kind, bool may_be_empty, struct json *d,
               struct body *ret);

/* The body as an object of the route's kind: body_read(), kind checked or filled in, normalized. Unknown and
 * duplicate fields are refused, reported as warnings or dropped. */
bool body_read_object(struct call *c, const struct kind_info *k, enum field_validation validation,
                      struct json *d, json_ref *ret);

/* 415 with the accepted media types. */
void body_fail_media(struct call *c, const char *accepted);

/* `unknown field "a", duplicate field "b"`: a report as one text. */
void field_report_join(const struct field_report *r, struct buf *out);

#endif
