/* Defaults of pods, and fields that the server always sets. */
#include "api/pod_int.h"

#include <string.h>

#include "api/claim.h"
#include "api/defaults.h"
#include "api/quantity.h"

#define FILE_MODE_DEFAULT 0644
#define DEFAULTED_LIMITS_COUNT_MAX 256
#define TOKEN_SECONDS_DEFAULT 3600
#define TOLERATION_SECONDS_DEFAULT 300

/* --- Volumes --- */

static void default_mode(struct json *d, json_ref source)
{
    default_int(d, source, "defaultMode", FILE_MODE_DEFAULT);
}

static void default_downward_items(struct json *d, json_ref source)
{
    for (json_ref m = json_first(d, json_get(d, source, "items")); m; m = json_next(d, m)) {
        json_ref field = json_get(d, m, "fieldRef");
        if (field)
            default_text(d, field, "apiVersion", "v1");
    }
}

static void default_downward(struct json *d, json_ref source)
{
    default_mode(d, source);
    default_downward_items(d, source);
}

static void default_projected(struct json *d, json_ref source)
{
    default_mode(d, source);
    for (json_ref m = json_first(d, json_get(d, source, "sources")); m; m = json_next(d, m)) {
        json_ref token = json_get(d, m, "serviceAccountToken");
        if (token)
            default_int(d, token, "expirationSeconds", TOKEN_SECONDS_DEFAULT);
        default_downward_items(d, json_get(d, m, "downwardAPI"));
    }
}

static void default_ephemeral(struct json *d, json_ref source)
{
    json_ref template = json_get(d, source, "volumeClaimTemplate");

    if (template)
        default_claim_spec(d, json_ensure_object(d, template, "spec"));
}

/* True if the tag is "latest": without tag and digest, or explicitly. */
static bool image_is_latest(struct str image)
{
    struct str name = image, digest;
    const char *slash, *colon;

    digest = name;
    name = str_next(&digest, '@');
    slash = name.len ? memrchr(name.s, '/', name.len) : NULL;
    colon = name.len ? memrchr(name.s, ':', name.len) : NULL;
    if (!colon || (slash && colon < slash)) /* the colon of a registry's port does not start a tag */
        return name.len && !digest.s;
    return str_is((struct str){ colon + 1, (size_t)(name.s + name.len - colon - 1) }, "latest");
}

static const char *image_pull_policy(struct str image)
{
    return image_is_latest(image) ? "Always" : "IfNotPresent";
}

static void default_image(struct json *d, json_ref source)
{
    default_text(d, source, "pullPolicy", image_pull_policy(json_get_text(d, source, "reference")));
}

/* Sources that only pods have. */
static const struct {
    const char *source;
    void (*set)(struct json *d, json_ref source);
} volume_defaults[] = {
    { "secret", default_mode },          { "configMap", default_mode },
    { "downwardAPI", default_downward }, { "projected", default_projected },
    { "ephemeral", default_ephemeral },  { "image", default_image },
};

/* An unknown member may be an unknown source: then no emptyDir is added. */
static void default_volume(struct json *d, json_ref volume)
{
    if (json_count(d, volume) == (json_get(d, volume, "name") ? 1U : 0U)) {
        (void)json_ensure_object(d, volume, "emptyDir");
        return;
    }
    default_volume_source(d, volume);
    for (size_t i = 0; i < ARRAY_LEN(volume_defaults); i++) {
        json_ref source = json_get(d, volume, volume_defaults[i].source);
        if (source)
            volume_defaults[i].set(d, source);
    }
}

/* --- Containers --- */

/* A limit without a request becomes the request. Unrealistically long lists are skipped, because each name is
 * searched linearly. */
static void default_requests(struct json *d, json_ref resources)
{
    json_ref limits = json_get(d, resources, "limits"), requests;

    if (!limits || json_count(d, limits) > DEFAULTED_LIMITS_COUNT_MAX)
        return;
    requests = json_ensure_object(d, resources, "requests");
    for (json_ref m = json_first(d, limits); m; m = json_next(d, m))
        if (!json_get_key(d, requests, json_key(d, m)))
            json_set_key(d, requests, json_key(d, m), json_copy(d, m));
}

static void default_ports(struct json *d, json_ref container, bool uses_host_network)
{
    for (json_ref m = json_first(d, json_get(d, container, "ports")); m; m = json_next(d, m)) {
        default_text(d, m, "protocol", "TCP");
        if (uses_host_network && !json_get(d, m, "hostPort"))
            json_set(d, m, "hostPort", json_copy(d, json_get(d, m, "containerPort")));
    }
}

static void default_env(struct json *d, json_ref container)
{
    for (json_ref m = json_first(d, json_get(d, container, "env")); m; m = json_next(d, m)) {
        json_ref field = json_path(d, m, "valueFrom", "fieldRef");
        if (field)
            default_text(d, field, "apiVersion", "v1");
    }
}

static void default_containers(struct json *d, json_ref spec, const char *key)
{
    bool uses_host_network = json_type(d, json_get(d, spec, "hostNetwork")) == JSON_TRUE;
    bool is_ephemeral = strcmp(key, "ephemeralContainers") == 0;

    for (json_ref c = json_first(d, json_get(d, spec, key)); c; c = json_next(d, c)) {
        default_text(d, c, "imagePullPolicy", image_pull_policy(json_get_text(d, c, "image")));
        default_text(d, c, "terminationMessagePath", "/dev/termination-log");
        default_text(d, c, "terminationMessagePolicy", "File");
        default_env(d, c);
        default_ports(d, c, uses_host_network && !is_ephemeral);
        default_resources(d, json_path(d, c, "resources", "limits"));
        default_resources(d, json_path(d, c, "resources", "requests"));
        if (!is_ephemeral)
            default_requests(d, json_get(d, c, "resources"));
    }
}

/* --- The pod --- */

/* Two fields for one account; clients still read the older one. */
static void default_service_account(struct json *d, json_ref spec)
{
    struct str name = json_get_text(d, spec, "serviceAccountName");

    if (name.len == 0)
        name = json_get_text(d, spec, "serviceAccount");
    if (name.len) {
        json_set(d, spec, "serviceAccountName", json_new_string(d, name));
        json_set(d, spec, "serviceAccount", json_new_string(d, name));
    }
}

/* podIP is the first of podIPs. If they differ podIP wins, because old clients only know that one. */
static void default_pod_ips(struct json *d, json_ref status)
{
    json_ref list = json_get(d, status, "podIPs");
    struct str one = json_get_text(d, status, "podIP"), first = json_get_text(d, json_first(d, list), "ip");
    json_ref item;

    if (one.len == 0 && first.len) {
        json_set(d, status, "podIP", json_new_string(d, first));
    } else if (one.len && !str_eq(one, first)) {
        list = json_new_array(d);
        item = json_new_object(d);
        json_set(d, item, "ip", json_new_string(d, one));
        json_append(d, list, item);
        json_set(d, status, "podIPs", list);
    }
}

void pod_set_defaults(struct json *d, json_ref object)
{
    json_ref spec = json_ensure_object(d, object, "spec");

    for (json_ref m = json_first(d, json_get(d, spec, "volumes")); m; m = json_next(d, m))
        default_volume(d, m);
    default_containers(d, spec, "initContainers");
    default_containers(d, spec, "containers");
    default_containers(d, spec, "ephemeralContainers");
    default_resources(d, json_get(d, spec, "overhead"));
    default_text(d, spec, "restartPolicy", "Always");
    default_text(d, spec, "dnsPolicy", "ClusterFirst");
    default_text(d, spec, "schedulerName", "default-scheduler");
    default_int(d, spec, "terminationGracePeriodSeconds", GRACE_SECONDS_DEFAULT);
    (void)json_ensure_object(d, spec, "securityContext");
    default_bool(d, spec, "enableServiceLinks", true);
    default_service_account(d, spec);
    default_pod_ips(d, json_get(d, object, "status"));
}

/* --- Quality of service --- */

/* The sums that determine the QoS class. */
static const char *const qos_resources[] = { "cpu", "memory" };

struct qos {
    struct quantity requests[ARRAY_LEN(qos_resources)];
    struct quantity limits[ARRAY_LEN(qos_resources)];
    bool lacks_limit; /* a container has no limit for one of the resources */
};

/* Adds an amount above zero. A sum that is too long to be exact equals no other. */
static bool qos_add(const struct json *d, json_ref list, const char *name, struct quantity *sum)
{
    struct error ignored; /* canonical form has only quantities that parse */
    struct quantity q;

    if (quantity_parse(json_get_text(d, list, name), &q, &ignored) < 0 || quantity_sign(&q) <= 0)
        return false;
    return quantity_add(sum, &q, &ignored) == 0;
}

static void qos_add_resources(const struct json *d, json_ref resources, struct qos *q)
{
    json_ref requests = json_get(d, resources, "requests"), limits = json_get(d, resources, "limits");

    for (size_t i = 0; i < ARRAY_LEN(qos_resources); i++) {
        (void)qos_add(d, requests, qos_resources[i], &q->requests[i]); /* no request is allowed */
        if (!qos_add(d, limits, qos_resources[i], &q->limits[i]))
            q->lacks_limit = true;
    }
}

static void qos_add_containers(const struct json *d, json_ref spec, const char *key, struct qos *q)
{
    for (json_ref c = json_first(d, json_get(d, spec, key)); c; c = json_next(d, c))
        qos_add_resources(d, json_get(d, c, "resources"), q);
}

/* "BestEffort", "Burstable" or "Guaranteed", from the resources of the containers. */
static const char *pod_qos_class(const struct json *d, json_ref spec)
{
    json_ref whole = json_get(d, spec, "resources");
    struct qos q = { 0 };
    bool is_guaranteed, has_any = false;

    if (json_get(d, whole, "requests") || json_get(d, whole, "limits")) {
        qos_add_resources(d, whole, &q); /* resources of the pod as a whole take precedence */
    } else {
        qos_add_containers(d, spec, "containers", &q);
        qos_add_containers(d, spec, "initContainers", &q);
    }
    is_guaranteed = !q.lacks_limit;
    for (size_t i = 0; i < ARRAY_LEN(qos_resources); i++) {
        has_any |= !quantity_is_zero(&q.requests[i]) || !quantity_is_zero(&q.limits[i]);
        is_guaranteed &= quantity_cmp(&q.requests[i], &q.limits[i]) == 0;
    }
    return !has_any ? "BestEffort" : is_guaranteed ? "Guaranteed" : "Burstable";
}

/* --- Before the pod is stored --- */

static void append_toleration(struct json *d, json_ref list, const char *key)
{
    json_ref toleration = json_new_object(d);

    json_set_string(d, toleration, "key", key);
    json_set_string(d, toleration, "operator", "Exists");
    json_set_string(d, toleration, "effect", "NoExecute");
    json_set(d, toleration, "tolerationSeconds", json_new_int(d, TOLERATION_SECONDS_DEFAULT));
    json_append(d, list, toleration);
}

/* Adds the default tolerations of five minutes for nodes that are not ready or unreachable, unless the pod
 * has its own. */
static void prepare_tolerations(struct json *d, json_ref spec)
{
    static const char *const keys[] = { TAINT_NOT_READY, TAINT_UNREACHABLE };
    bool is_covered[ARRAY_LEN(keys)] = { false };
    json_ref list = json_get(d, spec, "tolerations");

    for (json_ref m = json_first(d, list); m; m = json_next(d, m)) {
        struct str key = json_get_text(d, m, "key"), effect = json_get_text(d, m, "effect");
        if (effect.len && !str_is(effect, "NoExecute"))
            continue;
        for (size_t i = 0; i < ARRAY_LEN(keys); i++)
            is_covered[i] |= key.len == 0 || str_is(key, keys[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (is_covered[i])
            continue;
        if (!list) {
            list = json_new_array(d);
            json_set(d, spec, "tolerations", list);
        }
        append_toleration(d, list, keys[i]);
    }
}

static json_ref gated_condition(struct json *d)
{
    json_ref condition = json_new_object(d);

    json_set_string(d, condition, "type", "PodScheduled");
    json_set_string(d, condition, "status", "False");
    json_set_string(d, condition, "reason", "SchedulingGated");
    json_set_string(d, condition, "message", "Scheduling is blocked due to non-empty scheduling gates");
    return condition;
}

static json_ref first_status(struct json *d, json_ref spec)
{
    json_ref status = json_new_object(d), conditions;

    json_set_string(d, status, "phase", pod_phase_names[POD_PENDING]);
    if (json_count(d, json_get(d, spec, "schedulingGates"))) {
        conditions = json_new_array(d);
        json_append(d, conditions, gated_condition(d));
        json_set(d, status, "conditions", conditions);
    }
    json_set_string(d, status, "qosClass", pod_qos_class(d, spec));
    return status;
}

void pod_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    json_ref spec = json_ensure_object(d, object, "spec");

    (void)now;
    json_set(d, json_ensure_object(d, object, "metadata"), "generation", json_new_int(d, 1));
    json_set(d, object, "status", first_status(d, spec));
    default_int(d, spec, "priority", 0);
    default_text(d, spec, "preemptionPolicy", "PreemptLowerPriority");
    prepare_tolerations(d, spec);
}

void pod_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                        struct timestamp now)
{
    json_ref status, qos = json_path(d, old, "status", "qosClass");

    prepare_update_parts(d, object, old, part, now);
    prepare_generation(d, object, old, json_get(d, object, "spec"), json_get(d, old, "spec"));
    if (part == WRITE_MAIN)
        return;
    /* Old node agents send the status without these two. */
    prepare_keep(d, json_ensure_object(d, object, "metadata"), json_get(d, old, "metadata"),
                 "ownerReferences");
    status = json_ensure_object(d, object, "status");
    if (qos && !json_get(d, status, "qosClass"))
        json_set(d, status, "qosClass", json_copy(d, qos));
}
