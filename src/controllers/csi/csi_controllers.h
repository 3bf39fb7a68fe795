/* The CSI controllers of a process: for each driver that it knows a connection, and the functions of its
 * sidecars (csi_function.h) while this process holds their leases.
 *
 *   endpoints ──► one peer per socket ──ready──► for each function: election ──lease──► the function works
 *                                      ──lost───► functions end at once; after LINGER the leases are released
 *
 * A driver that two sockets claim is served through the one that was ready first; the other is refused while
 * that one is alive. A driver that is deployed per node (setting nodeDeployment) has the functions that can
 * work for one node, without leases; with is_for_node, drivers whose only topology key has the name of the
 * node count as such, and others are not served. Drivers that registered on this node are served if they have
 * a controller service; a socket that the settings name is served in any case.
 *
 * Costs: a pass over all drivers per change; a ready driver costs nothing but its leases. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_CONTROLLERS_H
#define BERTH_CONTROLLERS_CSI_CSI_CONTROLLERS_H

#include "controllers/csi/csi_function.h"
#include "plugins/csi/endpoints.h"

#define CSI_DRIVERS_MAX 64 /* further ones are not served */
#define CSI_FUNCTIONS_MAX 8

struct csi_controllers;

struct csi_controllers_options {
    struct component_deps part;
    struct rpc_client *rpc;          /* outlives the controllers */
    struct csi_endpoints *endpoints; /* as rpc; read by nobody else */
    /* Of some drivers, by name; others have the defaults. As rpc. */
    const struct csi_driver_settings *drivers;
    size_t drivers_count;
    const struct csi_function_type *const *types; /* terminated by NULL */
    const struct provisioner_loop *loop;          /* for the provisioner */
    const char *node_name;                        /* of this process; NULL: it has no node agent */
    bool is_for_node;     /* serves only drivers that are deployed per node, for this node */
    const char *identity; /* in leases */
    const char *pod_name; /* see csi_function_options */
    const char *lease_ns;
    /* 0: the default of machinery/leader.h; for a server in this process a lease of three minutes. */
    uint64_t lease_duration_ns, renew_deadline_ns, retry_period_ns;
};

/* Fills in the defaults. */
void csi_driver_settings_complete(struct csi_driver_settings *s);

int csi_controllers_new(const struct csi_controllers_options *o, struct csi_controllers **ret,
                        struct error *err);
void csi_controllers_start(struct csi_controllers *c);
/* Leases are not released. Accepts NULL. */
struct csi_controllers *csi_controllers_free(struct csi_controllers *c);
DEFINE_CLEANUP(struct csi_controllers, csi_controllers_free)
/* NULL if its state in memory is consistent, else what is wrong. For the simulator. */
const char *csi_controllers_check(const struct csi_controllers *c);

/* --- For explanations; texts are borrowed --- */

struct csi_function_state {
    const char *name;   /* "attacher" */
    const char *lease;  /* "" if it is not wanted */
    const char *holder; /* of the lease, as last seen; "" for none */
    bool is_wanted;
    bool is_working;
};

/* Why a ready driver has no controller in this process. */
enum csi_refusal {
    CSI_SERVED, /* it has */
    CSI_SWITCHED_OFF,
    CSI_WITHOUT_CONTROLLER, /* it has no controller service */
    CSI_NOT_PER_NODE,       /* the process works for one node, and the driver for several */
    CSI_SECOND_SOCKET,      /* another socket of the driver is served */
};

struct csi_driver_state {
    const char *name; /* "" until it is known */
    const char *socket;
    enum csi_peer_state state;
    uint64_t since_ns; /* loop time */
    const char *last_error;
    unsigned calls_in_flight;
    const struct csi_peer *peer;
    enum csi_refusal refusal;
    const char *not_served; /* the refusal in words; "": none */
    struct csi_function_state functions[CSI_FUNCTIONS_MAX];
    size_t functions_count;
};

/* The i-th socket; false: there are fewer. */
bool csi_controllers_driver(const struct csi_controllers *c, size_t i, struct csi_driver_state *ret);
/* What the function of that name knows of an object of the driver. False: it does not work, or knows nothing.
 */
bool csi_controllers_explain(const struct csi_controllers *c, const char *driver, const char *function,
                             const struct object *about, struct csi_work_state *ret);

#endif
