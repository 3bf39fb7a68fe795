/* The Pod kind: decoding, its row in the table of kinds, and field selectors. The schema is in pod_schema.c,
 * defaults in pod_defaults.c, validation in pod_validate.c and related files, volumes in pod_volume*.c. */
#include "api/pod.h"

#include <string.h>

#include "api/pod_int.h"
#include "api/warnings.h"

const char *const pod_phase_names[] = {
    [POD_PHASE_UNSET] = "",        [POD_PENDING] = "Pending", [POD_RUNNING] = "Running",
    [POD_SUCCEEDED] = "Succeeded", [POD_FAILED] = "Failed",   [POD_UNKNOWN] = "Unknown",
};
static_assert(ARRAY_LEN(pod_phase_names) == POD_PHASE_COUNT, "name every phase");

const char *const restart_policy_names[] = {
    [RESTART_UNSET] = "",
    [RESTART_ALWAYS] = "Always",
    [RESTART_ON_FAILURE] = "OnFailure",
    [RESTART_NEVER] = "Never",
};
static_assert(ARRAY_LEN(restart_policy_names) == RESTART_COUNT, "name every policy");

static const char *const propagation_names[] = {
    [PROPAGATION_NONE] = "None",
    [PROPAGATION_HOST_TO_CONTAINER] = "HostToContainer",
    [PROPAGATION_BIDIRECTIONAL] = "Bidirectional",
};
static_assert(ARRAY_LEN(propagation_names) == PROPAGATION_COUNT, "name every propagation");

static const char *const recursive_read_only_names[] = {
    [RECURSIVE_READ_ONLY_DISABLED] = "Disabled",
    [RECURSIVE_READ_ONLY_IF_POSSIBLE] = "IfPossible",
    [RECURSIVE_READ_ONLY_ENABLED] = "Enabled",
};
static_assert(ARRAY_LEN(recursive_read_only_names) == RECURSIVE_READ_ONLY_COUNT, "name every mode");

/* --- Containers --- */

static const struct se_linux *decode_se_linux(struct decoder *dec, json_ref security)
{
    json_ref options = json_get(dec->d, security, "seLinuxOptions");
    struct se_linux *s = decode_new(dec, options, sizeof *s);

    if (s)
        *s = (struct se_linux){
            .user = decode_text(dec, options, "user"),
            .role = decode_text(dec, options, "role"),
            .type = decode_text(dec, options, "type"),
            .level = decode_text(dec, options, "level"),
        };
    return s;
}

static void decode_mounts(struct decoder *dec, json_ref list, struct pod_container *c)
{
    struct pod_mount *mounts = decode_items(dec, list, sizeof *mounts, &c->mounts_count);
    uint32_t n = 0;

    c->mounts = mounts;
    for (json_ref m = mounts ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m))
        mounts[n++] = (struct pod_mount){
            .volume = decode_text(dec, m, "name"),
            .path = decode_text(dec, m, "mountPath"),
            .sub_path = decode_text(dec, m, "subPath"),
            .sub_path_expr = decode_text(dec, m, "subPathExpr"),
            .propagation = (uint8_t)decode_enum(dec, m, "mountPropagation", propagation_names,
                                                PROPAGATION_COUNT, PROPAGATION_NONE),
            .recursive_read_only =
                (uint8_t)decode_enum(dec, m, "recursiveReadOnly", recursive_read_only_names,
                                     RECURSIVE_READ_ONLY_COUNT, RECURSIVE_READ_ONLY_DISABLED),
            .is_read_only = decode_bool(dec, m, "readOnly", false),
        };
}

static void decode_devices(struct decoder *dec, json_ref list, struct pod_container *c)
{
    struct pod_device *devices = decode_items(dec, list, sizeof *devices, &c->devices_count);
    uint32_t n = 0;

    c->devices = devices;
    for (json_ref m = devices ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m))
        devices[n++] = (struct pod_device){
            .volume = decode_text(dec, m, "name"),
            .path = decode_text(dec, m, "devicePath"),
        };
}

static void decode_container(struct decoder *dec, json_ref container, enum container_kind kind,
                             struct pod_container *c)
{
    json_ref security = json_get(dec->d, container, "securityContext");
    json_ref resources = json_get(dec->d, container, "resources");

    c->name = decode_text(dec, container, "name");
    c->kind = (uint8_t)kind;
    decode_mounts(dec, json_get(dec->d, container, "volumeMounts"), c);
    decode_devices(dec, json_get(dec->d, container, "volumeDevices"), c);
    c->requests = decode_amounts(dec, resources, "requests");
    c->limits = decode_amounts(dec, resources, "limits");
    c->se_linux = decode_se_linux(dec, security);
    c->is_privileged = decode_bool(dec, security, "privileged", false);
    c->is_sidecar =
        kind == CONTAINER_INIT && str_is(json_get_text(dec->d, container, "restartPolicy"), "Always");
}

/* One array for the items of three lists. NULL for none, or without memory. */
static void *decode_three(struct decoder *dec, const json_ref lists[CONTAINER_KIND_COUNT], size_t item_bytes,
                          uint32_t *ret_count)
{
    uint32_t count = 0;
    void *items;

    for (int kind = 0; kind < CONTAINER_KIND_COUNT; kind++)
        count += json_count(dec->d, lists[kind]);
    items = decode_room(dec, count, item_bytes);
    *ret_count = items ? count : 0;
    return items;
}

static void decode_containers(struct decoder *dec, json_ref spec, struct pod *p)
{
    const json_ref lists[] = {
        [CONTAINER_INIT] = json_get(dec->d, spec, "initContainers"),
        [CONTAINER_REGULAR] = json_get(dec->d, spec, "containers"),
        [CONTAINER_EPHEMERAL] = json_get(dec->d, spec, "ephemeralContainers"),
    };
    struct pod_container *items = decode_three(dec, lists, sizeof *items, &p->containers_count);
    uint32_t n = 0;

    p->containers = items;
    for (int kind = 0; items && kind < CONTAINER_KIND_COUNT; kind++)
        for (json_ref m = json_first(dec->d, lists[kind]); m; m = json_next(dec->d, m))
            decode_container(dec, m, (enum container_kind)kind, &items[n++]);
}

/* --- Status --- */

static void decode_state(struct decoder *dec, json_ref state, struct pod_container_status *s)
{
    json_ref waiting = json_get(dec->d, state, "waiting"), terminated = json_get(dec->d, state, "terminated");

    s->reason = decode_text(dec, terminated ? terminated : waiting, "reason");
    s->exit_code = (int32_t)decode_int(dec, terminated, "exitCode", 0);
    s->signal = (int32_t)decode_int(dec, terminated, "signal", 0);
    s->state = terminated                           ? CONTAINER_TERMINATED
               : waiting                            ? CONTAINER_WAITING
               : json_get(dec->d, state, "running") ? CONTAINER_RUNNING
                                                    : CONTAINER_SILENT;
}

static void decode_container_status(struct decoder *dec, json_ref status, enum container_kind kind,
                                    struct pod_container_status *s)
{
    json_ref last = json_path(dec->d, status, "lastState", "terminated");

    s->name = decode_text(dec, status, "name");
    s->kind = (uint8_t)kind;
    decode_state(dec, json_get(dec->d, status, "state"), s);
    (void)decode_time(dec, last, "finishedAt", &s->last_finished); /* no time if there was no earlier run */
    s->restarts = (int32_t)decode_int(dec, status, "restartCount", 0);
    s->is_ready = decode_bool(dec, status, "ready", false);
    s->is_started = decode_bool(dec, status, "started", false);
}

static void decode_statuses(struct decoder *dec, json_ref status, struct pod *p)
{
    const json_ref lists[] = {
        [CONTAINER_INIT] = json_get(dec->d, status, "initContainerStatuses"),
        [CONTAINER_REGULAR] = json_get(dec->d, status, "containerStatuses"),
        [CONTAINER_EPHEMERAL] = json_get(dec->d, status, "ephemeralContainerStatuses"),
    };
    struct pod_container_status *items = decode_three(dec, lists, sizeof *items, &p->statuses_count);
    uint32_t n = 0;

    p->statuses = items;
    for (int kind = 0; items && kind < CONTAINER_KIND_COUNT; kind++)
        for (json_ref m = json_first(dec->d, lists[kind]); m; m = json_next(dec->d, m))
            decode_container_status(dec, m, (enum container_kind)kind, &items[n++]);
}

static void pod_decode_status(struct decoder *dec, json_ref status, struct pod *p)
{
    bool has_phase = json_get_text(dec->d, status, "phase").len != 0;

    p->phase = (uint8_t)decode_enum(dec, status, "phase", pod_phase_names, POD_PHASE_COUNT,
                                    has_phase ? POD_UNKNOWN : POD_PHASE_UNSET);
    p->reason = decode_text(dec, status, "reason");
    p->message = decode_text(dec, status, "message");
    p->nominated_node = decode_text(dec, status, "nominatedNodeName");
    p->pod_ip = decode_text(dec, status, "podIP");
    p->host_ip = decode_text(dec, status, "hostIP");
    p->conditions = decode_conditions(dec, status, "conditions");
    (void)decode_time(dec, status, "startTime", &p->started); /* no time before it is on a node */
    decode_statuses(dec, status, p);
}

/* --- Spec --- */

static void pod_decode_security(struct decoder *dec, json_ref security, struct pod *p)
{
    json_ref list = json_get(dec->d, security, "supplementalGroups");
    int64_t *groups = decode_items(dec, list, sizeof *groups, &p->supplemental_groups_count);
    uint32_t n = 0;

    p->fs_group = decode_int(dec, security, "fsGroup", -1);
    p->run_as_user = decode_int(dec, security, "runAsUser", -1);
    p->se_linux = decode_se_linux(dec, security);
    p->fs_group_on_root_mismatch =
        str_is(json_get_text(dec->d, security, "fsGroupChangePolicy"), "OnRootMismatch");
    p->se_linux_recursive = str_is(json_get_text(dec->d, security, "seLinuxChangePolicy"), "Recursive");
    p->supplemental_groups = groups;
    for (json_ref m = groups ? json_first(dec->d, list) : 0; m; m = json_next(dec->d, m))
        (void)json_int64(dec->d, m, &groups[n++]); /* the type is already checked */
}

static void pod_decode_preferences(struct decoder *dec, json_ref spec, struct pod *p)
{
    json_ref all = json_path(dec->d, json_path(dec->d, spec, "affinity", "nodeAffinity"),
                             "preferredDuringSchedulingIgnoredDuringExecution");
    struct node_preference *items = decode_items(dec, all, sizeof *items, &p->preferred_affinity_count);
    size_t i = 0;

    for (json_ref m = items ? json_first(dec->d, all) : 0; m; m = json_next(dec->d, m), i++) {
        items[i].weight = (int32_t)decode_int(dec, m, "weight", 0);
        items[i].term = decode_node_preference(dec, m, "preference");
    }
    p->preferred_affinity = items;
}

static void pod_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct pod *p = CONTAINER_OF(o, struct pod, obj);
    json_ref spec = json_get(dec->d, object, "spec");

    p->node_name = decode_text(dec, spec, "nodeName");
    p->scheduler_name = decode_text(dec, spec, "schedulerName");
    p->node_selector = decode_map(dec, spec, "nodeSelector");
    p->required_affinity = decode_node_selector(dec, json_path(dec->d, spec, "affinity", "nodeAffinity"),
                                                "requiredDuringSchedulingIgnoredDuringExecution");
    p->tolerations = decode_tolerations(dec, spec, "tolerations");
    p->scheduling_gates_count = json_count(dec->d, json_get(dec->d, spec, "schedulingGates"));
    p->priority = (int32_t)decode_int(dec, spec, "priority", 0);
    pod_decode_preferences(dec, spec, p);
    pod_decode_security(dec, json_get(dec->d, spec, "securityContext"), p);
    p->service_account = decode_text(dec, spec, "serviceAccountName");
    p->grace_seconds = decode_int(dec, spec, "terminationGracePeriodSeconds", GRACE_SECONDS_DEFAULT);
    p->active_deadline_seconds = decode_int(dec, spec, "activeDeadlineSeconds", -1);
    p->restart_policy =
        (uint8_t)decode_enum(dec, spec, "restartPolicy", restart_policy_names, RESTART_COUNT, RESTART_UNSET);
    p->uses_host_network = decode_bool(dec, spec, "hostNetwork", false);
    p->readiness_gates = decode_member_texts(dec, spec, "readinessGates", "conditionType");
    p->requests = decode_amounts(dec, json_get(dec->d, spec, "resources"), "requests");
    p->limits = decode_amounts(dec, json_get(dec->d, spec, "resources"), "limits");
    p->overhead = decode_amounts(dec, spec, "overhead");
    p->volumes = decode_pod_volumes(dec, spec, o->name);
    decode_containers(dec, spec, p);
    pod_decode_status(dec, json_get(dec->d, object, "status"), p);
}

bool pod_is_mirror(const struct pod *p)
{
    return object_annotation(&p->obj, ANN_CONFIG_MIRROR) != NULL;
}

const char *pod_account(const struct pod *p)
{
    return p->service_account[0] != '\0' || pod_is_mirror(p) ? p->service_account : "default";
}

bool pod_is_terminated(const struct pod *p)
{
    if (p->phase == POD_SUCCEEDED || p->phase == POD_FAILED)
        return true;
    if (!p->obj.is_deleting)
        return false;
    for (uint32_t i = 0; i < p->statuses_count; i++)
        if (p->statuses[i].state != CONTAINER_TERMINATED && p->statuses[i].state != CONTAINER_WAITING)
            return false;
    return true;
}

const struct pod_volume *pod_volume(const struct pod *p, const char *name)
{
    for (uint32_t i = 0; i < p->volumes.count; i++)
        if (strcmp(p->volumes.items[i].name, name) == 0)
            return &p->volumes.items[i];
    return NULL;
}

/* --- Field selectors --- */

static const char *field_node_name(const struct object *o)
{
    return pod_of(o)->node_name;
}

static const char *field_restart_policy(const struct object *o)
{
    return restart_policy_names[pod_of(o)->restart_policy];
}

static const char *field_scheduler_name(const struct object *o)
{
    return pod_of(o)->scheduler_name;
}

static const char *field_service_account(const struct object *o)
{
    return pod_of(o)->service_account;
}

static const char *field_host_network(const struct object *o)
{
    return pod_of(o)->uses_host_network ? "true" : "false";
}

static const char *field_phase(const struct object *o)
{
    return pod_phase_names[pod_of(o)->phase];
}

static const char *field_pod_ip(const struct object *o)
{
    return pod_of(o)->pod_ip;
}

static const char *field_nominated_node(const struct object *o)
{
    return pod_of(o)->nominated_node;
}

const struct kind_info pod_kind = {
    .kind = KIND_POD,
    .name = "Pod",
    .group = "",
    .version = "v1",
    .plural = "pods",
    .short_names = (const char *const[]){ "po", NULL },
    .is_namespaced = true,
    .has_status = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &pod_schema,
    .view_bytes = sizeof(struct pod),
    .set_defaults = pod_set_defaults,
    .prepare_create = pod_prepare_create,
    .prepare_update = pod_prepare_update,
    .validate = pod_validate,
    .validate_update = pod_validate_update,
    .warn = pod_warn_volumes,
    .decode = pod_decode,
    .selectable =
        (const struct selectable[]){
            { "spec.nodeName", field_node_name },
            { "spec.restartPolicy", field_restart_policy },
            { "spec.schedulerName", field_scheduler_name },
            { "spec.serviceAccountName", field_service_account },
            { "spec.hostNetwork", field_host_network },
            { "status.phase", field_phase },
            { "status.podIP", field_pod_ip },
            { "status.nominatedNodeName", field_nominated_node },
            { 0 },
        },
};
