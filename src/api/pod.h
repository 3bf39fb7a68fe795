/* Pod: what the scheduler, the attach controller, the node and the tables need of it. */
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
/* The condition of Berth's nodes: the volumes of the pod are mounted. */
#define POD_READY_CONDITION "volumes.berth.io/ready"

enum pod_phase {
    POD_PHASE_UNSET,
    POD_PENDING,
    POD_RUNNING,
    POD_SUCCEEDED,
    POD_FAILED,
    POD_UNKNOWN, /* also for phases nobody here knows */
    POD_PHASE_COUNT,
};

enum restart_policy { RESTART_UNSET, RESTART_ALWAYS, RESTART_ON_FAILURE, RESTART_NEVER, RESTART_COUNT };
enum container_kind { CONTAINER_INIT, CONTAINER_REGULAR, CONTAINER_EPHEMERAL, CONTAINER_KIND_COUNT };

/* A status that says nothing counts as running: see pod_is_terminated(). */
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
    const struct se_linux *se_linux; /* NULL: the pod's */
    uint8_t kind;                    /* enum container_kind */
    bool is_privileged;
    bool is_sidecar; /* an init container that keeps running */
};

struct pod_container_status {
    const char *name;
    const char *reason;             /* why it waits or has ended; "" for none */
    struct timestamp last_finished; /* when its last run before this one ended */
    int32_t restarts;
    int32_t exit_code;
    int32_t signal;
    uint8_t kind;  /* enum container_kind */
    uint8_t state; /* enum container_state */
    bool is_ready;
    bool is_started;
};

/* Nodes that the pod would rather be on. */
struct node_preference {
    const struct node_selector *term; /* NULL for one that says nothing */
    int32_t weight;
};

struct pod {
    struct object obj;
    const char *node_name; /* "" until it is scheduled */
    const char *scheduler_name;
    const char *service_account;
    const char *nominated_node;
    const char *pod_ip;
    const char *host_ip;
    const char *reason; /* status.reason and .message */
    const char *message;

    struct pod_volumes volumes;
    const struct pod_container *containers;      /* init, then regular, then ephemeral ones */
    const struct pod_container_status *statuses; /* in the same order of kinds */
    struct amounts requests;                     /* of the pod as a whole, where it says so */
    struct amounts limits;                       /* the same */
    struct amounts overhead;                     /* what its runtime takes besides */
    struct kvs node_selector;
    const struct node_selector *required_affinity; /* of nodes; NULL for none */
    const struct node_preference *preferred_affinity;
    struct tolerations tolerations;
    struct status_conditions conditions;
    struct texts readiness_gates; /* types of conditions */
    const int64_t *supplemental_groups;
    const struct se_linux *se_linux; /* NULL for none */

    int64_t fs_group;                /* -1 when unset */
    int64_t run_as_user;             /* -1 when unset */
    int64_t grace_seconds;           /* terminationGracePeriodSeconds */
    int64_t active_deadline_seconds; /* -1 when unset */
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
    bool fs_group_on_root_mismatch; /* fsGroupChangePolicy: only when the root differs */
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
/* The service account that the pod runs as: spec.serviceAccountName, or "default" when that is empty. "" for
 * a mirror pod that names none. */
const char *pod_account(const struct pod *p);
/* True when nothing of the pod runs or will run: it ended, or it is being deleted and no container runs. */
bool pod_is_terminated(const struct pod *p);
/* The volume of that name; NULL for none. */
const struct pod_volume *pod_volume(const struct pod *p, const char *name);
/* The container of that name, an ephemeral one too; NULL for none. */
const struct pod_container *pod_container(const struct pod *p, const char *name);
/* How much of a resource ("memory") the pod may use at once, rounded up to whole units: its own limit, else
 * the sum of its containers', those without one counting nothing, or that of an init container if it is
 * more; and the overhead. 0 when nothing limits it; INT64_MAX for more than fits. */
int64_t pod_limit_value(const struct pod *p, const char *resource);

#endif
