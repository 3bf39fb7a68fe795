/* The claims that a pod uses: those that its volumes name, and those that are made for it. */
#ifndef BERTH_API_POD_CLAIMS_H
#define BERTH_API_POD_CLAIMS_H

#include <stdbool.h>

#include "api/claim.h"
#include "api/pod.h"

/* namespace, '/', name: longer keys are nobody's, since no server lets in such names. */
#define CLAIM_KEY_BYTES_MAX 512

/* The key, "namespace/name", borrowed for the call. */
typedef void pod_claim_fn(void *ctx, struct str key);

/* In the order of the pod's volumes; a claim that two of them stand for comes twice. Whether it is there, and
 * the pod's, is another question. */
void pod_claims(const struct pod *p, pod_claim_fn *fn, void *ctx);

bool pod_has_ephemeral_volume(const struct pod *p);

/* The claim's controller is this pod: it was made for it. */
bool pod_controls_claim(const struct pod *p, const struct claim *c);

/* The volume stands for this claim. A generic ephemeral volume does only if the claim was made for its pod:
 * one that merely has the name is somebody else's. */
bool pod_volume_is_claim(const struct pod *p, const struct pod_volume *v, const struct claim *c);

#endif
