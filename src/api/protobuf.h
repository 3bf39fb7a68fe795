/* Request bodies in Kubernetes' protobuf form, read into the same trees as JSON.
 *
 * A body is four bytes of magic and an envelope that names the kind and holds the kind's own message. The
 * numbers of its fields are in the kind's schema (schema.h): every kind that is served can be sent so, custom
 * kinds excepted. Answers are never written in this form.
 *
 * Presence means what it means in Go: a plain field that was sent empty is not set, a pointer that was sent
 * is set even when empty. Fields nobody knows here are passed over. Of a field or a map key that comes
 * several times the last one wins; messages that come several times are merged. */
#ifndef BERTH_API_PROTOBUF_H
#define BERTH_API_PROTOBUF_H

#include "api/json.h"
#include "api/schema.h"
#include "base/error.h"
#include "base/str.h"

#define PROTOBUF_MEDIA_TYPE "application/vnd.kubernetes.protobuf"

/* Groups, an old way to nest, may stand in fields that are passed over; no deeper than this. */
#define PROTOBUF_GROUP_DEPTH_MAX 100

/* What a body says of itself ("" for what it does not say), and the kind's message. Parts of the body. */
struct protobuf_body {
    struct str api_version;
    struct str kind;
    struct str raw;
};

/* Reads the envelope. Fails with ERR_BAD_REQUEST for what is none, ERR_UNSUPPORTED when its contents are
 * encoded once more. */
int protobuf_open(struct str body, struct protobuf_body *ret, struct error *err);

/* The schema of a kind that can be sent in this form; NULL for any other. */
const struct schema *protobuf_schema(struct str api_version, struct str kind);

/* Adds the tree of the message, apiVersion and kind included; it is not in canonical form yet (schema.h).
 * Fails with ERR_BAD_REQUEST for what is no such message, ERR_TOO_LARGE when the message or the tree passes
 * the document's bound. Costs O(n log n) in the size of the body, whatever it holds. */
int protobuf_decode(struct json *d, const struct schema *s, const struct protobuf_body *b, json_ref *ret,
                    struct error *err);

#endif
