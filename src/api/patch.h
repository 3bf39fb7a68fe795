/* Patches on JSON documents: JSON Patch (RFC 6902), merge patch (RFC 7386), Kubernetes' strategic merge
 * patch.
 *
 * Target and patch are two trees of one document, both in no container. The target is edited in place and
 * keeps its reference, even if the patch replaces all of it. The patch is consumed: its subtrees are moved,
 * not copied. After an error both trees are incomplete and must be discarded.
 *
 * Patches are untrusted. Merging costs O(n log n) in the sizes of target and patch; anything more expensive
 * (ten thousand operations at the end of a long list, one list item patched a hundred thousand times) exceeds
 * a budget of steps. Nothing recurses, so that depth needs no stack, and no result is nested deeper than
 * JSON_DEPTH_MAX.
 *
 * While a patch is applied, the target is never larger than the original target and the patch together:
 * values are moved, not copied. Only copy operations of a JSON patch add to that, at most
 * PATCH_COPY_BYTES_MAX for the whole patch; each copy is measured before memory is allocated.
 *
 * Errors: ERR_BAD_REQUEST for an invalid patch, ERR_INVALID for one that does not fit the target (a missing
 * path, a failed test, too large copies), ERR_TOO_LARGE for any other limit. */
#ifndef BERTH_API_PATCH_H
#define BERTH_API_PATCH_H

#include "api/json.h"
#include "api/schema.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#define PATCH_OPERATIONS_MAX 10000
/* The maximum size, as JSON text, that the copy operations of one JSON patch may add: the API server's limit.
 */
#define PATCH_COPY_BYTES_MAX ((size_t)3 << 20)
/* Siblings visited in searches, for the whole patch: a tenth of a second. */
#define PATCH_STEPS_MAX 20000000

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC };

/* Operations are applied in order; the first failure fails the patch, with ERR_INVALID even if the operation
 * is unknown. ERR_BAD_REQUEST for a patch that is not a list of objects; null is an empty list. The rules are
 * those of Kubernetes' API server, which differ from the RFC: see patch_json.c. Numbers are compared as text:
 * 1 is not 1.0. */
int patch_json(struct json *d, json_ref target, json_ref patch, struct error *err);

/* A patch that is not an object replaces the target. New members are added after the old ones, in the patch's
 * order. */
int patch_merge(struct json *d, json_ref target, json_ref patch, struct error *err);

/* Maps are merged, null deletes a key, and the schema decides how lists are merged: with a merge_key item by
 * item, with FIELD_SET as sets; others are replaced. Without a schema, maps are merged and lists replaced. A
 * merged list has the patch's items in the patch's order (or that of $setElementOrder) and its other items
 * between their old neighbours; new ones come early: [a] patched with [new] is [new, a]. The result contains
 * no directive and no null of the patch. */
int patch_strategic(const struct schema *s, struct json *d, json_ref target, json_ref patch,
                    struct error *err);

/* The same on texts; s is only used for PATCH_STRATEGIC. Neither text may be larger than the limit of out. */
int patch_apply_text(enum patch_type type, const struct schema *s, struct str target, struct str patch,
                     struct buf *out, struct error *err);

/* Writes v as Go prints a decoded value: map[a:1 b:[x y] c:<nil>]. Sorts the members of v. */
void patch_write_go(struct json *d, json_ref v, struct buf *out);

#endif
