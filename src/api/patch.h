/* Patches on JSON documents: JSON Patch (RFC 6902), merge patch (RFC 7386), Kubernetes' strategic merge
 * patch.
 *
 * Target and patch are two trees of one document, and neither stands in a container. The target is edited in
 * place and keeps its reference, even when the patch replaces the whole of it. The patch is consumed: its
 * subtrees move over instead of being copied. After an error both trees are half-way and must be thrown away.
 *
 * Patches come from outside. Merging costs n log n in the sizes of target and patch; what would cost more
 * (ten thousand operations at the end of a long list, one list item patched a hundred thousand times) is cut
 * off by a budget of steps. Nothing recurses, so depth costs no stack, and no result nests deeper than
 * JSON_DEPTH_MAX.
 *
 * While a patch is applied, the target never holds more than the original target and the patch together:
 * values are moved, not copied. Only the copy operations of a JSON patch add to that, at most
 * PATCH_COPY_BYTES_MAX over the whole patch; each copy is measured before memory is allocated for it.
 *
 * Errors: ERR_BAD_REQUEST for a patch that is not understood, ERR_INVALID for one that does not fit the
 * target (a path that is not there, a test that fails, copies past their limit), ERR_TOO_LARGE past any other
 * limit. */
#ifndef BERTH_API_PATCH_H
#define BERTH_API_PATCH_H

#include "api/json.h"
#include "api/schema.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#define PATCH_OPERATIONS_MAX 10000
/* What the copy operations of one JSON patch may add, as JSON text: the API server's limit. */
#define PATCH_COPY_BYTES_MAX ((size_t)3 << 20)
/* Siblings passed while looking for places, over the whole patch: a tenth of a second. */
#define PATCH_STEPS_MAX 20000000

enum patch_type { PATCH_JSON, PATCH_MERGE, PATCH_STRATEGIC };

/* Operations apply in order; the first that fails fails the patch, with ERR_INVALID even where it is not
 * understood. ERR_BAD_REQUEST is for a patch that is no list of objects; null is an empty one. The rules are
 * those of Kubernetes' API server, which differ from the RFC: see patch_json.c. Numbers are tested by their
 * text: 1 is not 1.0. */
int patch_json(struct json *d, json_ref target, json_ref patch, struct error *err);

/* A patch that is no object replaces the target. New members come behind the old ones, in the patch's order.
 */
int patch_merge(struct json *d, json_ref target, json_ref patch, struct error *err);

/* Maps merge, null deletes a key, and the schema says which lists merge: those with a merge_key item by item,
 * those with FIELD_SET as sets. Others are replaced. What the schema does not know merges as plain maps and
 * replaced lists. A merged list has the patch's items in the patch's order (or that
 * of $setElementOrder) and its other items where they stood among their neighbours; new ones come early: [a]
 * patched with [new] is [new, a]. No directive and no null of the patch is left in the result. */
int patch_strategic(const struct schema *s, struct json *d, json_ref target, json_ref patch,
                    struct error *err);

/* The same on texts; s is read by PATCH_STRATEGIC only. Neither text may be larger than out may grow. */
int patch_apply_text(enum patch_type type, const struct schema *s, struct str target, struct str patch,
                     struct buf *out, struct error *err);

/* Writes v as Go prints a decoded value: map[a:1 b:[x y] c:<nil>]. Sorts the members of v on the way. */
void patch_write_go(struct json *d, json_ref v, struct buf *out);

#endif
