/* Request bodies in Kubernetes' protobuf form, read into the same trees as JSON.
 *
 * A body is four bytes of magic and an envelope that names the kind and holds the kind's own message. Which
 * kinds may be sent so, and the numbers of their fields, is in protobuf_tables.c; the types are those of the
 * kinds' schemas. Answers are never written in this form.
 *
 * Presence means what it means in Go: a plain field that was sent empty is not set, a pointer that was sent
 * is set even when empty. Fields nobody knows here are passed over. Of a field or a map key that comes
 * several times the last one wins; messages that come several times are merged. */
#ifndef BERTH_API_PROTOBUF_H
#define BERTH_API_PROTOBUF_H

#include "api/json.h"
#include "base/error.h"
#include "base/str.h"

/* Groups, an old way to nest, may stand in fields that are passed over; no deeper than this. */
#define PROTOBUF_GROUP_DEPTH_MAX 100

/* Adds the tree of one body, apiVersion and kind included; it is not in canonical form yet (schema.h). The
 * returned texts are part of the document. Fails with ERR_UNSUPPORTED for a kind that has no table, or a body
 * that is encoded once more; ERR_BAD_REQUEST for what is no such message; ERR_TOO_LARGE when the body or the
 * tree passes the document's bound. Costs O(n log n) in the size of the body, whatever it holds. */
int protobuf_decode(struct json *d, struct str body, json_ref *ret, struct str *ret_api_version,
                    struct str *ret_kind, struct error *err);

#endif
