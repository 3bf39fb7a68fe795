/* The claims that a pod uses: those that its volumes name, and those that are created for it. */
#ifndef BERTH_API_POD_CLAIMS_H
#define BERTH_API_POD_CLAIMS_H

#include <stdbool.h>

#include "api/claim.h"
#include "api/pod.h"

/* namespace, '/', name: longer keys cannot exist, because no server accepts such names. */
#define CLAIM_KEY_BYTES_MAX 512

/* The key, "namespace/name", borrowed during the call. */
typedef void pod_claim_fn(void *ctx, struct str key);

/* Calls fn in the order of the pod's volumes; a claim that two of them use is passed twice. The claim need
 * not exist nor belong to the pod. */
void pod_claims(const struct pod *p, pod_claim_fn *fn, void *ctx);

bool pod_has_ephemeral_volume(const struct pod *p);

/* The claim's controller is this pod: it was created for the pod. */
bool pod_controls_claim(const struct pod *p, const struct claim *c);

/* The volume uses this claim. A generic ephemeral volume only uses it if it was created for the pod: a claim
 * with the same name may belong to another owner. */
bool pod_volume_is_claim(const struct pod *p, const struct pod_volume *v, const struct claim *c);

#endif
