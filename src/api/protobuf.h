/* Request bodies in Kubernetes' protobuf format, decoded into the same trees as JSON.
 *
 * A body has four magic bytes and an envelope that names the kind and contains the kind's message. The field
 * numbers are in the kind's schema (schema.h): every served kind can be sent in this format, except custom
 * kinds. Responses are never written in it.
 *
 * Presence is as in Go: a plain field that was sent empty is not set, a pointer that was sent is set even if
 * empty. Unknown fields are skipped. The last of repeated fields or map keys wins; repeated messages are
 * merged. */
#ifndef BERTH_API_PROTOBUF_H
#define BERTH_API_PROTOBUF_H

#include "api/json.h"
#include "api/schema.h"
#include "base/error.h"
#include "base/str.h"

#define PROTOBUF_MEDIA_TYPE "application/vnd.kubernetes.protobuf"

/* Nesting limit of groups, an obsolete construct, in skipped fields. */
#define PROTOBUF_GROUP_DEPTH_MAX 100

/* The metadata of a body ("" if absent), and the kind's message. Slices of the body. */
struct protobuf_body {
    struct str api_version;
    struct str kind;
    struct str raw;
};

/* Parses the envelope. ERR_BAD_REQUEST if it is invalid, ERR_UNSUPPORTED if its content has another encoding.
 */
int protobuf_open(struct str body, struct protobuf_body *ret, struct error *err);

/* The schema of a kind that can be sent in this format; NULL for others. */
const struct schema *protobuf_schema(struct str api_version, struct str kind);

/* Adds the tree of the message, including apiVersion and kind; it is not in canonical form yet (schema.h).
 * ERR_BAD_REQUEST if it is not such a message, ERR_TOO_LARGE if message or tree exceed the document's limit.
 * Costs O(n log n) in the size of the body. */
int protobuf_decode(struct json *d, const struct schema *s, const struct protobuf_body *b, json_ref *ret,
                    struct error *err);

#endif
