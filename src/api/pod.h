/* Pod: the fields that the scheduler, the attach controller, the node agent and the tables use. */
#ifndef BERTH_API_POD_H
#define BERTH_API_POD_H

#include <assert.h>

#include "api/conditions.h"
#include "api/decode_selector.h"
#include "api/object.h"
#include "api/pod_volume.h"
#include "api/resources.h"
#include "api/taint.h"

/* Marks mirror pods: the API objects that a node creates for its static pods. Immutable. */
#define ANN_CONFIG_MIRROR "kubernetes.io/config.mirror"
/* Condition set by Berth's nodes: the volumes of the pod are mounted. */
#define POD_READY_CONDITION "volumes.berth.io/ready"

enum pod_phase {
    POD_PHASE_UNSET,
    POD_PENDING,
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_FAILED,
    POD_UNKNOWN, /* also for unknown phases */
    POD_PHASE_COUNT,
};

enum restart_policy { RESTART_UNSET, RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER, RESTART_COUNT };
enum container_kind { CONTAINER_INIT, CONTAINER_REGULAR, CONTAINER_EPHEMERAL, CONTAINER_KIND_COUNT };

/* A status without a state counts as running: see pod_is_terminated(). */
enum container_state { CONTAINER_SILENT, CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_TERMINATED };

enum mount_propagation {
    PROPAGATION_NONE,
    PROPAGATION_HOST_TO_CONTAINER,
    PROPAGATION_BIDIRECTIONAL,
    PROPAGATION_COUNT
};
enum recursive_read_only {
    RECURSIVE_READ_ONLY_DISABLED,
    RECURSIVE_READ_ONLY_IF_POSSIBLE,
    RECURSIVE_READ_ONLY_ENABLED,
    RECURSIVE_READ_ONLY_COUNT
};

extern const char *const pod_phase_names[];      /* "" for unset */
extern const char *const restart_policy_names[]; /* "" for unset */

struct se_linux {
    const char *user;
    const char *role;
    const char *type;
    const char *level;
};

struct pod_mount {
    const char *volume;
    const char *path;
    const char *sub_path;
    const char *sub_path_expr;
    uint8_t propagation;         /* enum mount_propagation */
    uint8_t recursive_read_only; /* enum recursive_read_only */
    bool is_read_only;
};

struct pod_device {
    const char *volume;
    const char *path;
};

struct pod_container {
    const char *name;
    const struct pod_mount *mounts;
    const struct pod_device *devices;
    uint32_t mounts_count;
    uint32_t devices_count;
    struct amounts requests;
    struct amounts limits;
    const struct se_linux *se_linux; /* NULL: that of the pod */
    uint8_t kind;                    /* enum container_kind */
    bool is_privileged;
    bool is_sidecar; /* an init container that keeps running */
};

struct pod_container_status {
    const char *name;
    const char *reason;             /* why it waits or has terminated; "" for none */
    struct timestamp last_finished; /* when its previous run ended */
    int32_t restarts;
    int32_t exit_code;
    int32_t signal;
    uint8_t kind;  /* enum container_kind */
    uint8_t state; /* enum container_state */
    bool is_ready;
    bool is_started;
};

/* A preference for nodes. */
struct node_preference {
    const struct node_selector *term; /* NULL if it is empty */
    int32_t weight;
};

struct pod {
    struct object obj;
    const char *node_name; /* "" until the pod is scheduled */
    const char *scheduler_name;
    const char *service_account;
    const char *nominated_node;
    const char *pod_ip;
    const char *host_ip;
    const char *reason; /* status.reason and .message */
    const char *message;

    struct pod_volumes volumes;
    const struct pod_container *containers;      /* init, regular, then ephemeral containers */
    const struct pod_container_status *statuses; /* in the same order of kinds */
    struct amounts requests;                     /* of the pod as a whole, if set */
    struct amounts limits;                       /* likewise */
    struct amounts overhead;                     /* of the runtime */
    struct kvs node_selector;
    const struct node_selector *required_affinity; /* node affinity; NULL for none */
    const struct node_preference *preferred_affinity;
    struct tolerations tolerations;
    struct status_conditions conditions;
    struct texts readiness_gates; /* types of conditions */
    const int64_t *supplemental_groups;
    const struct se_linux *se_linux; /* NULL for none */

    int64_t fs_group;                /* -1 if not set */
    int64_t run_as_user;             /* -1 if not set */
    int64_t grace_seconds;           /* terminationGracePeriodSeconds */
    int64_t active_deadline_seconds; /* -1 if not set */
    struct timestamp started;        /* status.startTime */
    int32_t priority;
    uint32_t preferred_affinity_count;
    uint32_t containers_count;
    uint32_t statuses_count;
    uint32_t supplemental_groups_count;
    uint32_t scheduling_gates_count;

    uint8_t phase;          /* enum pod_phase */
    uint8_t restart_policy; /* enum restart_policy */
    bool uses_host_network;
    bool fs_group_on_root_mismatch; /* fsGroupChangePolicy: only if the root directory differs */
    bool se_linux_recursive;        /* seLinuxChangePolicy: relabel file by file */
};

extern const struct kind_info pod_kind;

/* The view of an object that is a Pod. */
static inline const struct pod *pod_of(const struct object *o)
{
    assert(o->kind->kind == KIND_POD);
    return (const struct pod *)(const void *)o;
}

bool pod_is_mirror(const struct pod *p);
/* The service account of the pod: spec.serviceAccountName, or "default" if that is empty. "" for a mirror pod
 * without one. */
const char *pod_account(const struct pod *p);
/* True if no container runs or will run: the pod has ended, or it is being deleted and no container runs. */
bool pod_is_terminated(const struct pod *p);
/* The volume with that name; NULL for none. */
const struct pod_volume *pod_volume(const struct pod *p, const char *name);
/* The container with that name, including ephemeral ones; NULL for none. */
const struct pod_container *pod_container(const struct pod *p, const char *name);
/* The limit of the pod for a resource ("memory"), rounded up to whole units: its own limit, else the sum of
 * its containers' limits (0 for those without one) or that of an init container if it is more; plus the
 * overhead. 0 if there is no limit; INT64_MAX for more than fits. */
int64_t pod_limit_value(const struct pod *p, const char *resource);

#endif
