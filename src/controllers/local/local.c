/* The local provisioner: its passes, the creation of volumes, and its lifecycle.
 *
 * A pass is a scan on a worker (discover.c), then the creation of missing volumes and the revision of
 * existing ones (revise.c), with one request at a time. A pass starts SOON_NS after a change, otherwise every
 * PASS_NS; changes during a pass start another one after it. Costs of a pass: O(entries + volumes of this
 * node). */
#include "controllers/local/local.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/class.h"
#include "api/json_out.h"
#include "api/node_selector.h"
#include "base/die.h"
#include "base/log.h"
#include "controllers/local/local_int.h"
#include "host/mount_watch.h"
#include "io/dirwatch.h"

/* How long the node may be missing before an error is logged. */
#define NODE_WAIT_NS (10 * NS_PER_S)
#define PASS_NS (10 * NS_PER_S)
#define SOON_NS (100 * NS_PER_MS) /* combines several changes */
#define VOLUMES_BY_PATH "local-path"

/* --- Ownership --- */

bool local_owns(const struct local *l, const struct volume *v)
{
    return l->identity && object_annotation_is(&v->obj, ANN_PROVISIONED_BY, l->identity);
}

const struct node *local_own_node(const struct local *l)
{
    const struct object *o = informer_get(l->nodes, "", l->o.node_name);

    return o ? node_of(o) : NULL;
}

/* A node agent that starts at the same time registers its node soon: that is not an error yet. */
static bool reject_node(struct local *l, const char *why)
{
    uint64_t now_ns = loop_now_ns(l->o.part.loop);

    if (!l->waits_since_ns)
        l->waits_since_ns = now_ns;
    if (!l->is_node_rejected && now_ns - l->waits_since_ns >= NODE_WAIT_NS) {
        log_error("local volumes disabled, node not usable", LOG_STR("node", l->o.node_name),
                  LOG_STR("reason", why));
        l->is_node_rejected = true;
    }
    return false;
}

/* True if the node exists and has a host name; sets the identity. */
static bool check_own_node(struct local *l)
{
    const struct node *n = local_own_node(l);
    const char *host = n ? object_label(&n->obj, LABEL_HOSTNAME) : NULL;
    char *identity;

    if (!n)
        return reject_node(l, "node not found");
    if (!host || host[0] == '\0')
        return reject_node(l, "node has no label " LABEL_HOSTNAME);
    l->is_node_rejected = false;
    l->waits_since_ns = 0;
    if (asprintf(&identity, "local-volume-provisioner-%s%s%s", n->obj.name,
                 l->o.config->uses_node_name_only ? "" : "-",
                 l->o.config->uses_node_name_only ? "" : n->obj.uid) < 0)
        die_with_reason(
            "no memory for the identity of the local provisioner: its volumes would not be recognised");
    free(l->identity);
    l->identity = identity;
    return true;
}

const struct local_class *local_class_of(const struct local *l, const char *name)
{
    for (uint32_t i = 0; i < l->o.config->classes_count; i++)
        if (strcmp(l->o.config->classes[i].name, name) == 0)
            return &l->o.config->classes[i];
    return NULL;
}

/* --- The volume of an entry --- */

static void write_labels(const struct local *l, const struct node *n, struct buf *out)
{
    const struct local_config *c = l->o.config;

    json_out_object(out, "labels");
    for (uint32_t i = 0; i < c->node_labels.count; i++) {
        const char *value = object_label(&n->obj, c->node_labels.items[i]);

        if (value && !kv_get(c->labels.items, c->labels.count, c->node_labels.items[i]))
            json_out_text(out, c->node_labels.items[i], value);
    }
    for (uint32_t i = 0; i < c->labels.count; i++)
        json_out_text(out, c->labels.items[i].key, c->labels.items[i].value);
    json_out_end_object(out);
}

static void write_meta(const struct local *l, const struct node *n, const struct local_candidate *f,
                       const char *name, const struct quantity *size, struct buf *out)
{
    volume_write_begin(out, name);
    json_out_object(out, "annotations");
    json_out_text(out, ANN_PROVISIONED_BY, l->identity);
    json_out_text(out, ANN_DISK, f->disk);
    json_out_quantity(out, ANN_DISK_CAPACITY, size);
    json_out_end_object(out);
    write_labels(l, n, out);
    if (l->o.config->sets_owner) {
        json_out_array(out, "ownerReferences");
        json_out_object(out, NULL);
        json_out_text(out, "apiVersion", "v1");
        json_out_text(out, "kind", "Node");
        json_out_text(out, "name", n->obj.name);
        json_out_text(out, "uid", n->obj.uid);
        json_out_end_object(out);
        json_out_end_array(out);
    }
    json_out_end_object(out);
}

static void write_affinity(const struct node *n, const struct local_class *k, struct buf *out)
{
    json_out_object(out, "nodeAffinity");
    json_out_object(out, "required");
    json_out_array(out, "nodeSelectorTerms");
    json_out_object(out, NULL);
    json_out_array(out, "matchExpressions");
    json_out_object(out, NULL);
    json_out_text(out, "key", LABEL_HOSTNAME);
    json_out_text(out, "operator", "In");
    json_out_array(out, "values");
    json_out_text(out, NULL, object_label(&n->obj, LABEL_HOSTNAME));
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_end_object(out);
    if (k->selector[0])
        json_out_raw(out, /* key= */ NULL, str_of(k->selector));
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_end_object(out);
}

static int write_volume(const struct local *l, const struct node *n, const struct local_candidate *f,
                        enum reclaim_policy policy, const char *name, struct buf *out, struct error *err)
{
    const struct local_class *k = f->class;
    struct quantity size = quantity_of((int64_t)f->bytes, QUANTITY_BINARY_SI);

    write_meta(l, n, f, name, &size, out);
    json_out_object(out, "spec");
    json_out_storage(out, "capacity", &size);
    json_out_array(out, "accessModes");
    json_out_text(out, NULL, k->access_mode);
    json_out_end_array(out);
    json_out_text(out, "volumeMode", volume_mode_names[k->mode]);
    volume_write_class(out, k->name, policy);
    json_out_object(out, "local");
    json_out_textf(out, "path", "%s/%s", strcmp(k->host_dir, "/") == 0 ? "" : k->host_dir, f->name);
    if (k->fs_type[0])
        json_out_text(out, "fsType", k->fs_type);
    json_out_end_object(out);
    write_affinity(n, k, out);
    json_out_end_object(out);
    json_out_end_object(out);
    return buf_check(out, "volume", err);
}

/* --- Creating volumes, one request at a time --- */

static void create_next(void *ctx);

static void on_created(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct local *l = ctx;

    if (outcome == API_DONE && a->object) {
        log_info("local volume created", LOG_STR("volume", a->object->name),
                 LOG_STR("path", volume_of(a->object)->source.local->path));
    } else if (a->r != -ERR_EXISTS) {
        log_warn("local volume not created", LOG_ERR(&a->error));
    }
    create_next(l);
}

/* True if another volume of this node has the path: the storage is in use. */
static bool is_path_taken(const struct local *l, const struct node *n, const struct local_candidate *f)
{
    char path[PATH_MAX * 2];
    struct informer_cursor at;
    struct error ignored;

    (void)snprintf(path, sizeof path, "%s/%s", strcmp(f->class->host_dir, "/") == 0 ? "" : f->class->host_dir,
                   f->name);
    for (const struct object *o = informer_first_by(l->volumes, VOLUMES_BY_PATH, str_of(path), &at); o;
         o = informer_next(&at))
        if (node_affinity_check(volume_of(o)->affinity, n->obj.labels.items, n->obj.labels.count, &ignored) ==
            0)
            return true;
    return false;
}

enum reclaim_policy local_policy_of(const struct local *l, const struct local_class *k)
{
    const struct object *o = informer_get(l->classes, "", k->name);
    enum reclaim_policy policy =
        o ? ((const struct storage_class *)(const void *)o)->reclaim : RECLAIM_UNKNOWN;

    return policy == RECLAIM_DELETE || policy == RECLAIM_RETAIN ? policy : RECLAIM_UNKNOWN;
}

/* True if a request was sent. */
static bool create_volume(struct local *l, const struct node *n, const struct local_candidate *f)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(LOCAL_BODY_BYTES_MAX);
    enum reclaim_policy policy = local_policy_of(l, f->class);
    char name[LOCAL_NAME_BYTES];
    struct api_write_options w = {
        .api = l->api,
        .request = { .verb = CLIENT_CREATE, .kind = kind_info(KIND_VOLUME), .name = name },
        .informer = l->volumes,
        .done = on_created,
        .ctx = l
    };
    struct error err;

    local_volume_name(f->name, n->obj.name, f->class->name, name);
    if (f->state != FOUND_DISK || policy == RECLAIM_UNKNOWN || informer_get(l->volumes, "", name) ||
        local_is_erasing(l, name) || is_path_taken(l, n, f))
        return false;
    if (write_volume(l, n, f, policy, name, &body, &err) < 0) {
        log_warn("local volume not created", LOG_STR("volume", name), LOG_ERR(&err));
        return false;
    }
    w.body = buf_str(&body);
    api_write_start(&l->write, &w);
    return true;
}

void local_end_pass(struct local *l)
{
    local_entries_done(&l->entries);
    l->entries = (struct local_entries){ 0 };
    l->entries_at = 0;
    if (l->is_dirty)
        local_wake(l);
    else
        timer_arm_after(&l->timer, PASS_NS);
}

static void create_next(void *ctx)
{
    struct local *l = ctx;
    const struct node *n = local_own_node(l);

    while (n && l->entries_at < l->entries.list.count)
        if (create_volume(l, n, &l->entries.list.items[l->entries_at++]))
            return;
    l->entries_at = l->entries.list.count;
    local_remove_taint(l);
    local_revise_all(l);
}

/* --- A pass --- */

/* Failures that are equal to those of the last scan are not logged again. */
static void log_failures(struct local *l, struct buf *failures)
{
    struct str rest = buf_str(failures);

    if (str_eq(buf_str(failures), buf_str(&l->failures)))
        return;
    buf_clear(&l->failures);
    buf_add_str(&l->failures, rest);
    while (rest.len) {
        struct str line = str_next(&rest, '\n');

        log_warn("local volume skipped", LOG_TEXT("reason", line));
    }
}

static void on_scanned(void *ctx, struct job *j, int r, const struct error *err)
{
    struct local_scan *s = CONTAINER_OF(j, struct local_scan, job);
    struct local *l = ctx;

    l->scan = NULL;
    if (r < 0) {
        log_warn("discovery failed", LOG_ERR(err));
        local_end_pass(l);
        return;
    }
    for (uint32_t i = 0; i < l->o.config->classes_count; i++)
        if (local_policy_of(l, &l->o.config->classes[i]) == RECLAIM_UNKNOWN)
            buf_addf(&s->failures,
                     "%s: StorageClass not found, or its reclaimPolicy is neither Delete nor Retain\n",
                     l->o.config->classes[i].name);
    log_failures(l, &s->failures);
    l->entries = s->entries;
    s->entries = (struct local_entries){ 0 };
    l->entries_at = 0;
    create_next(l);
}

static void on_dir(void *ctx, enum dirwatch_event event, const char *name)
{
    struct local *l = ctx;

    (void)event;
    (void)name;
    local_wake(l);
}

static void on_mounts(void *ctx)
{
    local_wake(ctx);
}

/* Entries that cannot be watched are examined at every pass anyway. All watches are renewed, because a
 * directory may have been replaced: watches are cheap and passes rare. */
static void watch_again(struct local *l)
{
    struct error ignored;

    for (uint32_t i = 0; i < l->o.config->classes_count; i++) {
        l->watches[i] = dirwatch_stop(l->watches[i]);
        (void)dirwatch_start(l->o.part.loop, l->o.config->classes[i].mount_dir, on_dir, l, &l->watches[i],
                             &ignored);
    }
    if (!l->mounts)
        (void)mount_watch_start(l->o.part.loop, on_mounts, l, &l->mounts, &ignored);
}

static void run_pass(void *ctx)
{
    struct local *l = ctx;
    struct local_scan *s;

    assert(!l->scan && !api_write_is_active(&l->write));
    l->is_awake = false;
    l->is_dirty = false;
    watch_again(l); /* before the scan */
    if (!check_own_node(l)) {
        timer_arm_after(&l->timer, PASS_NS);
        return;
    }
    local_clean_all(l);
    s = scan_new(l->o.config);
    if (!s) {
        timer_arm_after(&l->timer, PASS_NS);
        return;
    }
    l->scan = &s->job;
    job_begin(&s->job, l->o.pool, on_scanned, l);
}

void local_wake(struct local *l)
{
    if (l->scan || api_write_is_active(&l->write)) {
        l->is_dirty = true; /* starts another pass after this one */
    } else if (!l->is_awake) {
        l->is_awake = true;
        timer_arm_after(&l->timer, SOON_NS);
    }
}

/* --- Event handlers --- */

static void on_volume_update(void *ctx, const struct object *old, const struct object *o)
{
    struct local *l = ctx;

    (void)old;
    if (volume_of(o)->phase == VOLUME_RELEASED && local_owns(l, volume_of(o)))
        local_wake(l);
}

static void on_volume_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct local *l = ctx;

    (void)is_final_unknown;
    if (local_owner_of(volume_of(o), l->o.node_name, l->identity) != LOCAL_OWNER_NONE)
        local_wake(l);
}

/* Entries that were found before their class existed get their volumes now. */
static void on_class_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)o;
    (void)is_initial;
    local_wake(ctx);
}

/* --- Lifecycle --- */

static void index_path(const struct object *o, index_emit_fn *emit, void *ctx)
{
    const struct volume *v = volume_of(o);

    if (v->source.kind == SOURCE_LOCAL)
        emit(ctx, str_of(v->source.local->path));
}

static int add_metrics(struct local *l, struct error *err)
{
    static const char *const labels[] = { "volume", NULL };
    static const struct metric_desc desc = {
        .name = "berth_local_wipe_progress_ratio",
        .help = "Fraction of the device of a local volume that has been erased, during cleanup.",
        .type = METRIC_GAUGE,
        .labels = labels,
    };
    int r;

    if (!l->o.part.metrics)
        return 0;
    r = metrics_share_family(l->o.part.metrics, &desc, &l->wipes, err);
    if (r == 0)
        metric_set_collector(l->wipes, local_collect_wipes, l);
    return r;
}

int local_new(const struct local_options *o, struct local **ret, struct error *err)
{
    static const struct informer_index by_path = { VOLUMES_BY_PATH, index_path };
    _cleanup_(local_free_p) struct local *l = calloc(1, sizeof *l);
    struct informers *all = o->part.informers;
    int r;

    if (!l)
        return error_no_memory(err);
    l->o = *o;
    LIST_INIT(&l->erasures);
    timer_init(&l->timer, o->part.loop, run_pass, l);
    l->failures = BUF_INIT(LOCAL_BODY_BYTES_MAX);
    l->watches = calloc(o->config->classes_count + 1, sizeof(struct dirwatch *));
    if (!l->watches)
        return error_no_memory(err);
    l->volumes = reclaim_volumes(all, err) ? component_indexed(all, KIND_VOLUME, &by_path, err) : NULL;
    l->classes = l->volumes ? informers_get(all, KIND_CLASS, err) : NULL;
    l->nodes = l->classes ? informers_get(all, KIND_NODE, err) : NULL;
    if (!l->nodes)
        return -(int)err->code;
    rng_init(&l->rng, component_seed(&o->part, "local-volume-provisioner"));
    r = component_api(&o->part, LOCAL_FIELD_MANAGER, &l->api, err);
    l->api.rng = &l->rng;
    if (r == 0)
        r = add_metrics(l, err);
    if (r == 0)
        r = component_recorder(&o->part, "localvolume-provisioner", &l->recorder, err);
    if (r == 0)
        *ret = TAKE(l);
    return r;
}

void local_start(struct local *l)
{
    uint64_t min_ns = l->o.config->resync_min_ns;

    assert(!l->volumes_handler.informer); /* once */
    l->volumes_handler =
        (struct informer_handler){ .on_update = on_volume_update, .on_delete = on_volume_delete, .ctx = l };
    if (min_ns)
        l->volumes_handler.resync_ns = min_ns + rng_below(&l->rng, min_ns + 1);
    informer_add_handler(l->volumes, &l->volumes_handler);
    l->classes_handler = (struct informer_handler){ .on_add = on_class_add, .ctx = l };
    informer_add_handler(l->classes, &l->classes_handler);
    timer_arm_after(&l->timer, 0);
}

struct local *local_free(struct local *l)
{
    if (!l)
        return NULL;
    informer_remove_handler(&l->volumes_handler);
    informer_remove_handler(&l->classes_handler);
    if (l->wipes)
        metric_set_collector(l->wipes, NULL, NULL);
    timer_disarm(&l->timer);
    api_write_cancel(&l->write);
    api_write_cancel(&l->untaint);
    l->scan = job_drop(l->scan);
    local_drop_erasures(l);
    for (uint32_t i = 0; l->watches && i < l->o.config->classes_count; i++)
        (void)dirwatch_stop(l->watches[i]);
    free(l->watches);
    (void)mount_watch_stop(l->mounts);
    local_entries_done(&l->entries);
    local_drop_revisions(l);
    buf_done(&l->failures);
    recorder_free(l->recorder);
    free(l->identity);
    free(l);
    return NULL;
}
