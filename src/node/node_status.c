/* Writes labels, annotations and status of the Node as JSON. Pure. Invariant: a patch contains only what
 * differs from the server's version, and names no field, condition or resource that another component
 * owns. */
#include "node/node_status.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "api/volume_limit.h"
#include "machinery/json_peek.h"
#include "machinery/merge_patch.h"
#include "machinery/server_version.h"

#define OPERATING_SYSTEM "linux"
#define LABEL_VALUE_BYTES_MAX 63

/* --- Labels and annotations --- */

struct label {
    const char *key;
    const char *value;
};

#define LABELS_COUNT 5

struct labels {
    struct label items[LABELS_COUNT];
    char host_name[LABEL_VALUE_BYTES_MAX + 1];
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* A node's name may be longer than a label's value, which ends in a letter or digit. */
static void labels_fill(const struct desired_node *w, struct labels *ret)
{
    const char *arch = w->facts->system.architecture;
    size_t len = strlen(w->name);

    len = len < LABEL_VALUE_BYTES_MAX ? len : LABEL_VALUE_BYTES_MAX;
    while (len && !is_word(w->name[len - 1]))
        len--;
    memcpy(ret->host_name, w->name, len);
    ret->host_name[len] = '\0';
    ret->items[0] = (struct label){ "beta.kubernetes.io/arch", arch };
    ret->items[1] = (struct label){ "beta.kubernetes.io/os", OPERATING_SYSTEM };
    ret->items[2] = (struct label){ "kubernetes.io/arch", arch };
    ret->items[3] = (struct label){ "kubernetes.io/hostname", ret->host_name };
    ret->items[4] = (struct label){ "kubernetes.io/os", OPERATING_SYSTEM };
}

static void write_in_use(const struct texts *names, struct buf *out)
{
    json_out_array(out, "volumesInUse");
    for (uint32_t i = 0; i < names->count; i++)
        json_out_text(out, NULL, names->items[i]);
    json_out_end_array(out);
}

void node_write_new(const struct desired_node *w, struct buf *out)
{
    struct labels l;

    labels_fill(w, &l);
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "kind", "Node");
    json_out_object(out, "metadata");
    json_out_text(out, "name", w->name);
    json_out_object(out, "labels");
    for (size_t i = 0; i < LABELS_COUNT; i++)
        json_out_text(out, l.items[i].key, l.items[i].value);
    json_out_end_object(out);
    if (!w->attaches_itself) {
        json_out_object(out, "annotations");
        json_out_text(out, ANN_CONTROLLER_ATTACHES, "true");
        json_out_end_object(out);
    }
    json_out_end_object(out);
    if (w->in_use && w->in_use->count > 0) {
        json_out_object(out, "status");
        write_in_use(w->in_use, out);
        json_out_end_object(out);
    }
    json_out_end_object(out);
}

static bool label_is_right(const struct object *now, const struct label *l)
{
    const char *value = object_label(now, l->key);

    return value && strcmp(value, l->value) == 0;
}

static bool annotation_is_right(const struct desired_node *w, const struct object *now)
{
    return w->attaches_itself ? !object_annotation(now, ANN_CONTROLLER_ATTACHES)
                              : object_annotation_is(now, ANN_CONTROLLER_ATTACHES, "true");
}

bool node_meta_is_current(const struct desired_node *w, const struct object *now)
{
    struct labels l;

    labels_fill(w, &l);
    for (size_t i = 0; i < LABELS_COUNT; i++)
        if (!label_is_right(now, &l.items[i]))
            return false;
    return annotation_is_right(w, now);
}

int node_write_meta_patch(const struct desired_node *w, const struct object *now, struct buf *out,
                          struct error *err)
{
    struct merge_patch p;
    struct labels l;

    labels_fill(w, &l);
    merge_patch_begin(&p, out, now);
    for (size_t i = 0; i < LABELS_COUNT; i++)
        if (!label_is_right(now, &l.items[i]))
            merge_patch_label(&p, l.items[i].key, l.items[i].value);
    if (!annotation_is_right(w, now))
        merge_patch_annotation(&p, ANN_CONTROLLER_ATTACHES, w->attaches_itself ? NULL : "true");
    return merge_patch_end(&p, err);
}

/* --- Capacity --- */

#define HUGE_PAGES_PREFIX "hugepages-"
#define AMOUNTS_MAX (4 + HOST_HUGE_PAGES_MAX)

struct machine_amounts {
    struct amount items[AMOUNTS_MAX];
    size_t count;
    char huge_names[HOST_HUGE_PAGES_MAX][64];
};

static void add_amount(struct machine_amounts *m, const char *name, uint64_t amount,
                       enum quantity_format format)
{
    int64_t bounded = amount > INT64_MAX ? INT64_MAX : (int64_t)amount;

    assert(m->count < AMOUNTS_MAX);
    m->items[m->count++] = (struct amount){ name, quantity_of(bounded, format) };
}

/* Memory reserved for huge pages is not available to pods as ordinary memory. */
static void amounts_fill(const struct machine_info *f, bool is_allocatable, struct machine_amounts *ret)
{
    const struct host_system *s = &f->system;
    uint64_t memory = s->memory_bytes;

    ret->count = 0;
    add_amount(ret, "cpu", s->cpus, QUANTITY_DECIMAL_SI);
    add_amount(ret, "ephemeral-storage", f->storage_bytes, QUANTITY_BINARY_SI);
    for (unsigned i = 0; i < s->huge_pages_count; i++) {
        const struct host_huge_pages *p = &s->huge_pages[i];
        struct quantity size = quantity_of((int64_t)p->page_bytes, QUANTITY_BINARY_SI);
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);

        quantity_format(&size, &text);
        (void)snprintf(ret->huge_names[i], sizeof ret->huge_names[i], HUGE_PAGES_PREFIX "%s",
                       buf_cstr(&text));
        add_amount(ret, ret->huge_names[i], p->total_bytes, QUANTITY_BINARY_SI);
        if (is_allocatable)
            memory -= p->total_bytes < memory ? p->total_bytes : memory;
    }
    add_amount(ret, "memory", memory, QUANTITY_BINARY_SI);
    add_amount(ret, "pods", NODE_PODS_MAX, QUANTITY_DECIMAL_SI);
}

/* Removes huge page sizes that the kernel no longer has: no other component would. */
static bool is_stale(const struct machine_amounts *m, const struct amount *was)
{
    if (!str_has_prefix(str_of(was->name), HUGE_PAGES_PREFIX))
        return false;
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->items[i].name, was->name) == 0)
            return false;
    return true;
}

static bool amounts_are_right(const struct machine_info *f, bool is_allocatable, const struct amounts *now)
{
    struct machine_amounts m;

    amounts_fill(f, is_allocatable, &m);
    for (uint32_t i = 0; i < now->count; i++)
        if (is_stale(&m, &now->items[i]))
            return false;
    for (size_t i = 0; i < m.count; i++) {
        const struct quantity *q = amounts_get(now, m.items[i].name);

        if (!q || quantity_cmp(q, &m.items[i].quantity) != 0)
            return false;
    }
    return true;
}

/* --- Limits of volumes --- */

static bool is_stale_limit(const struct desired_node *w, const struct amount *was)
{
    if (!str_has_prefix(str_of(was->name), VOLUME_LIMIT_PREFIX))
        return false;
    for (uint32_t i = 0; i < w->limits->count; i++)
        if (strcmp(w->limits->items[i].name, was->name) == 0)
            return false;
    return true;
}

static bool limits_are_right(const struct desired_node *w, const struct amounts *now)
{
    for (uint32_t i = 0; w->limits && i < now->count; i++)
        if (is_stale_limit(w, &now->items[i]))
            return false;
    for (uint32_t i = 0; w->limits && i < w->limits->count; i++) {
        const struct quantity *q = amounts_get(now, w->limits->items[i].name);

        if (!q || quantity_cmp(q, &w->limits->items[i].quantity) != 0)
            return false;
    }
    return true;
}

/* Limits of plugins that are no longer registered are removed. */
static void write_limits(const struct desired_node *w, const struct amounts *now, struct buf *out)
{
    for (uint32_t i = 0; w->limits && i < w->limits->count; i++)
        json_out_quantity(out, w->limits->items[i].name, &w->limits->items[i].quantity);
    for (uint32_t i = 0; w->limits && i < now->count; i++)
        if (is_stale_limit(w, &now->items[i]))
            json_out_null(out, now->items[i].name);
}

/* --- Capacity and allocatable as a whole --- */

static void write_amounts(const struct desired_node *w, bool is_allocatable, const struct amounts *now,
                          struct buf *out)
{
    struct machine_amounts m;

    amounts_fill(w->facts, is_allocatable, &m);
    json_out_object(out, is_allocatable ? "allocatable" : "capacity");
    for (size_t i = 0; i < m.count; i++)
        json_out_quantity(out, m.items[i].name, &m.items[i].quantity);
    for (uint32_t i = 0; i < now->count; i++)
        if (is_stale(&m, &now->items[i]))
            json_out_null(out, now->items[i].name);
    write_limits(w, now, out);
    json_out_end_object(out);
}

/* --- Addresses and system information --- */

static bool addresses_are_right(const struct desired_node *w, const struct node *now)
{
    const char *ip = node_address(now, "InternalIP"), *host = node_address(now, "Hostname");

    return now->addresses_count == 2 && ip && host && strcmp(ip, w->facts->system.address) == 0 &&
           strcmp(host, w->name) == 0;
}

static void write_address(const char *type, const char *address, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "type", type);
    json_out_text(out, "address", address);
    json_out_end_object(out);
}

/* Replaces the whole list: a merge by type would keep addresses that no longer exist. */
static void write_addresses(const struct desired_node *w, struct buf *out)
{
    json_out_array(out, "addresses");
    json_out_object(out, NULL);
    json_out_text(out, "$patch", "replace");
    json_out_end_object(out);
    write_address("InternalIP", w->facts->system.address, out);
    write_address("Hostname", w->name, out);
    json_out_end_array(out);
}

#define INFO_COUNT 9

static void info_fill(const struct host_system *s, struct label ret[INFO_COUNT])
{
    ret[0] = (struct label){ "machineID", s->machine_id };
    ret[1] = (struct label){ "systemUUID", s->system_uuid };
    ret[2] = (struct label){ "bootID", s->boot_id };
    ret[3] = (struct label){ "kernelVersion", s->kernel };
    ret[4] = (struct label){ "osImage", s->os_image };
    ret[5] = (struct label){ "containerRuntimeVersion", "berth://" BERTH_VERSION };
    ret[6] = (struct label){ "kubeletVersion", KUBERNETES_VERSION BERTH_VERSION };
    ret[7] = (struct label){ "operatingSystem", OPERATING_SYSTEM };
    ret[8] = (struct label){ "architecture", s->architecture };
}

/* The typed view does not contain all resources, so they are read from the JSON text. */
static bool info_is_right(const struct host_system *s, const struct object *now)
{
    struct str info = json_peek(now->text, "status", "nodeInfo");
    struct label wanted[INFO_COUNT];

    info_fill(s, wanted);
    for (size_t i = 0; i < INFO_COUNT; i++) {
        _cleanup_(buf_done_p) struct buf spelled = BUF_INIT((size_t)16 * HOST_FACT_BYTES);

        json_out_text(&spelled, NULL, wanted[i].value);
        if (!info.len || !str_eq(json_peek(info, wanted[i].key), buf_str(&spelled)))
            return false;
    }
    return true;
}

static void write_info(const struct host_system *s, struct buf *out)
{
    struct label wanted[INFO_COUNT];

    info_fill(s, wanted);
    json_out_object(out, "nodeInfo");
    for (size_t i = 0; i < INFO_COUNT; i++)
        json_out_text(out, wanted[i].key, wanted[i].value);
    json_out_end_object(out);
}

/* --- Conditions --- */

#define CONDITIONS_MAX 7

struct condition {
    const char *type;
    enum condition_status status;
    const char *reason;
    const char *message;
};

/* How many they are. */
static size_t conditions_fill(const struct desired_node *w, const struct node *now,
                              struct condition ret[CONDITIONS_MAX])
{
    const struct status_condition *ready = condition_get(&now->conditions, "Ready");
    size_t count = 3;

    ret[0] = (struct condition){ "MemoryPressure", CONDITION_FALSE, "KubeletHasSufficientMemory",
                                 "berth does not measure memory pressure" };
    ret[1] = (struct condition){ "DiskPressure", CONDITION_FALSE, "KubeletHasNoDiskPressure",
                                 "berth does not measure disk pressure" };
    ret[2] = (struct condition){ "PIDPressure", CONDITION_FALSE, "KubeletHasSufficientPID",
                                 "berth does not measure PID pressure" };
    if (!w->not_ready_reason)
        ret[count++] =
            (struct condition){ "Ready", CONDITION_TRUE, "KubeletReady", "berth is posting ready status" };
    else if (!w->is_starting || !ready || ready->status != CONDITION_TRUE)
        ret[count++] = (struct condition){ "Ready", CONDITION_FALSE, "KubeletNotReady", w->not_ready_reason };
    if (w->unknown_mounts && w->unknown_mounts[0])
        ret[count++] =
            (struct condition){ NODE_UNKNOWN_MOUNTS, CONDITION_TRUE, "UnknownMounts", w->unknown_mounts };
    else if (w->unknown_mounts && condition_get(&now->conditions, NODE_UNKNOWN_MOUNTS))
        ret[count++] = (struct condition){ NODE_UNKNOWN_MOUNTS, CONDITION_FALSE, "NoUnknownMounts",
                                           "all mounts belong to known volumes" };
    if (w->cannot_mount)
        ret[count++] =
            (struct condition){ NODE_CANNOT_MOUNT, CONDITION_TRUE, "MountNotPermitted", w->cannot_mount };
    else if (condition_get(&now->conditions, NODE_CANNOT_MOUNT))
        ret[count++] = (struct condition){ NODE_CANNOT_MOUNT, CONDITION_FALSE, "MountPermitted",
                                           "the node agent can mount" };
    if (w->broken_plugins)
        ret[count++] =
            (struct condition){ NODE_BROKEN_PLUGINS, CONDITION_TRUE, "PluginsBroken", w->broken_plugins };
    else if (condition_get(&now->conditions, NODE_BROKEN_PLUGINS))
        ret[count++] = (struct condition){ NODE_BROKEN_PLUGINS, CONDITION_FALSE, "PluginsUsable",
                                           "all volume plugins can be used" };
    return count;
}

static bool condition_is_right(const struct condition *c, const struct node *now)
{
    const struct status_condition *is = condition_get(&now->conditions, c->type);

    return is && is->status == c->status && strcmp(is->reason, c->reason) == 0 &&
           strcmp(is->message, c->message) == 0;
}

/* A condition that stays as it was keeps its lastTransitionTime: the patch does not name it. */
static void write_conditions(const struct desired_node *w, const struct node *now, struct buf *out)
{
    struct condition all[CONDITIONS_MAX];
    size_t count = conditions_fill(w, now, all);

    json_out_array(out, "conditions");
    for (size_t i = 0; i < count; i++) {
        const struct condition *c = &all[i];
        const struct status_condition *was = condition_get(&now->conditions, c->type);

        json_out_object(out, NULL);
        json_out_text(out, "type", c->type);
        json_out_text(out, "status", condition_status_names[c->status]);
        json_out_time(out, "lastHeartbeatTime", w->now);
        if (!was || was->status != c->status)
            json_out_time(out, "lastTransitionTime", w->now);
        json_out_text(out, "reason", c->reason);
        json_out_text(out, "message", c->message);
        json_out_end_object(out);
    }
    json_out_end_array(out);
}

/* --- Volumes in use --- */

static bool in_use_is_right(const struct desired_node *w, const struct node *now)
{
    if (!w->in_use)
        return true;
    if (w->in_use->count != now->volumes_in_use.count)
        return false;
    for (uint32_t i = 0; i < w->in_use->count; i++)
        if (strcmp(w->in_use->items[i], now->volumes_in_use.items[i]) != 0)
            return false;
    return true;
}

/* --- The status --- */

bool node_state_is_current(const struct desired_node *w, const struct node *now)
{
    struct condition all[CONDITIONS_MAX];
    size_t count = conditions_fill(w, now, all);

    for (size_t i = 0; i < count; i++)
        if (!condition_is_right(&all[i], now))
            return false;
    return in_use_is_right(w, now) && limits_are_right(w, &now->capacity) &&
           limits_are_right(w, &now->allocatable);
}

bool node_info_is_current(const struct desired_node *w, const struct node *now)
{
    return addresses_are_right(w, now) &&
           amounts_are_right(w->facts, /* is_allocatable= */ false, &now->capacity) &&
           amounts_are_right(w->facts, /* is_allocatable= */ true, &now->allocatable) &&
           info_is_right(&w->facts->system, &now->obj);
}

int node_write_status_patch(const struct desired_node *w, const struct node *now, struct buf *out,
                            struct error *err)
{
    struct merge_patch p;

    merge_patch_begin(&p, out, &now->obj);
    merge_patch_member(&p, "status");
    json_out_object(out, NULL);
    write_conditions(w, now, out);
    if (!addresses_are_right(w, now))
        write_addresses(w, out);
    if (!amounts_are_right(w->facts, /* is_allocatable= */ false, &now->capacity) ||
        !limits_are_right(w, &now->capacity))
        write_amounts(w, /* is_allocatable= */ false, &now->capacity, out);
    if (!amounts_are_right(w->facts, /* is_allocatable= */ true, &now->allocatable) ||
        !limits_are_right(w, &now->allocatable))
        write_amounts(w, /* is_allocatable= */ true, &now->allocatable, out);
    if (!info_is_right(&w->facts->system, &now->obj))
        write_info(&w->facts->system, out);
    if (!in_use_is_right(w, now))
        write_in_use(w->in_use, out);
    json_out_end_object(out);
    return merge_patch_end(&p, err);
}
