/* Explains the work of a CSI driver's controllers: why a volume is not provisioned, deleted, attached or
 * expanded. One source for `berth why`, `berth check` and `berth describe csidriver`.
 *
 * Where this process has the controllers of the driver, they know its state, the calls in flight and the next
 * try. Else the API tells who holds the lease of the work, on which nodes the driver is registered, and what
 * was recorded: events, conditions, errors of attachments. */
#ifndef BERTH_WHY_WHY_CSI_H
#define BERTH_WHY_WHY_CSI_H

#include "why/why_world.h"

/* The stock program that does the same work; Berth holds its lease. */
enum csi_duty {
    CSI_DUTY_PROVISION, /* and delete: external-provisioner */
    CSI_DUTY_ATTACH,    /* external-attacher */
    CSI_DUTY_RESIZE,    /* and modify: external-resizer */
    CSI_DUTY_COUNT,
};
/* "external-attacher". */
const char *csi_duty_sidecar(enum csi_duty duty);
/* The name of the lease for a driver. */
void csi_duty_lease(enum csi_duty duty, const char *driver, struct buf *out);

struct why_csi_question {
    const char *driver;
    enum csi_duty duty;
    const struct object *about;
    const char *code; /* the cause if a call fails: "attach-failed" */
    const char *said; /* the failure that the API records; "" for none */
};

/* False: there is no cause to name, and the caller's own words apply. The report then has facts at most. */
bool why_csi(const struct why_world *w, struct why_report *r, const struct why_csi_question *q);

/* A CSIDriver or a CSINode names it, or this process knows a socket of it. */
bool why_csi_is_driver(const struct why_world *w, const char *name);
/* This process has a socket of the driver. */
bool why_csi_is_here(const struct why_world *w, const char *driver);
/* The nodes on which the driver is registered: "n1, n2, … (12)". Returns how many. */
size_t why_csi_nodes(const struct why_world *w, const char *driver, struct buf *out);

/* The state of the driver's controllers in this process as JSON (csi_state.h); {} if it has none. */
void why_csi_write_state(const struct why_world *w, const char *driver, struct buf *out);

/* The lease of that name that was renewed last, in any namespace. */
struct why_lease {
    char ns[64];
    char holder[256]; /* "" if nobody holds it */
    bool is_expired;  /* its holder has stopped without releasing it */
    struct timestamp renewed;
};
/* False: there is none, or leases are not known (why_knows_leases()). */
bool why_lease(const struct why_world *w, const char *name, struct why_lease *ret);
bool why_knows_leases(const struct why_world *w);

/* The driver of a finalizer "external-attacher/DRIVER", which stands for '/' in names; NULL: another. */
const char *why_csi_attacher_of(const char *finalizer);

#endif
