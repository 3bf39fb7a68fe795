/* The last failed call about each object of a driver, for explanations.
 *
 * An object leaves the list when a later call about it succeeds, or when CSI_FAILURES_MAX others have failed
 * since. Costs a walk over the list per answer; a driver that does not fail has no entries. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_FAILURES_H
#define BERTH_CONTROLLERS_CSI_CSI_FAILURES_H

#include <sys/queue.h>

#include "controllers/csi/csi_peer.h"

struct csi_failure {
    TAILQ_ENTRY(csi_failure) link;
    enum csi_controller_method method;
    enum csi_outcome outcome;
    enum rpc_code code;
    uint64_t at_ns; /* loop time */
    char about[CSI_UID_BYTES];
    char words[]; /* the driver's own, or why nothing was sent */
};

struct csi_failures {
    TAILQ_HEAD(, csi_failure) all; /* oldest first */
    size_t count;
};

void csi_failures_init(struct csi_failures *f);
void csi_failures_done(struct csi_failures *f);
/* A call about the object has ended; uid "" for none. Without memory the failure is not remembered. */
void csi_failures_put(struct csi_failures *f, const char *uid, enum csi_controller_method m,
                      const struct csi_answer *a, uint64_t now_ns);
/* NULL: its last call did not fail, or is not remembered. */
const struct csi_failure *csi_failures_get(const struct csi_failures *f, const char *uid);

#endif
