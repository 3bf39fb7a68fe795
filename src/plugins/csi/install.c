/* Registers a driver in the Node and its CSINode.
 *
 * Steps: NODE → PATCH → end; or PATCH → (not found) CREATE → PATCH; or PATCH → (of another node) DELETE →
 * CREATE → PATCH. The number of rounds is bounded, so that another client that keeps deleting the CSINode
 * cannot cause an endless loop. */
#include "plugins/csi/install.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/csi.h"
#include "api/json_out.h"
#include "api/migration.h"
#include "api/node.h"
#include "api/quote.h"
#include "machinery/merge_patch.h"

#define ANN_NODE_ID "csi.volume.kubernetes.io/nodeid"
#define MEMORY_BYTES_MAX ((size_t)1 << 20)
#define DOC_BYTES_MAX ((size_t)4 << 20)
#define ROUNDS_MAX 4
#define QUOTED_BYTES 96

static void step_begin(struct csi_install *install, enum csi_install_step step);

/* --- The Node --- */

/* For an error that was just set. */
static enum api_decision refuse_install(int r)
{
    assert(r < 0);
    (void)r;
    return API_REFUSE;
}

/* The annotation with or without our driver; "" if none is left. */
static int node_ids(const struct csi_install *install, const struct object *node, struct buf *out,
                    struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    const char *old = object_annotation(node, ANN_NODE_ID);
    struct error ignored = { 0 };
    json_ref root = 0;

    json_init(&d, DOC_BYTES_MAX);
    if (!old || json_parse(&d, str_of(old), &root, &ignored) < 0 || json_type(&d, root) != JSON_OBJECT)
        root = json_new_object(&d); /* not valid JSON: replaced */
    (void)json_remove(&d, root, install->o.driver);
    if (install->o.what == CSI_INSTALL_DRIVER)
        json_set(&d, root, install->o.driver, json_new_string(&d, str_of(install->o.node_id)));
    json_sort_members(&d, root);
    if (json_check(&d, err) < 0)
        return -(int)err->code;
    if (json_count(&d, root) > 0)
        json_write(&d, root, out);
    return buf_check(out, "annotation", err);
}

/* The driver's topology must not contradict existing labels. */
static int check_topology(const struct csi_install *install, const struct object *node, struct error *err)
{
    char k[QUOTED_BYTES], v[QUOTED_BYTES], w[QUOTED_BYTES];

    for (uint32_t i = 0; i < install->o.topology.count; i++) {
        const struct kv *one = &install->o.topology.items[i];
        const char *now = object_label(node, one->key);
        if (!now || strcmp(now, one->value) == 0)
            continue;
        (void)quote_text(k, sizeof k, str_of(one->key));
        (void)quote_text(v, sizeof v, str_of(one->value));
        (void)quote_text(w, sizeof w, str_of(now));
        return error_set(
            err, ERR_CONFLICT,
            "detected topology value collision: driver reported %s:%s but existing label is %s:%s", k, v, k,
            w);
    }
    return 0;
}

static bool has_labels(const struct csi_install *install, const struct object *node)
{
    for (uint32_t i = 0; i < install->o.topology.count; i++)
        if (!object_label(node, install->o.topology.items[i].key))
            return false;
    return true;
}

static enum api_decision decide_node(void *ctx, const struct object *now, struct buf *body, struct error *err)
{
    _cleanup_(buf_done_p) struct buf ids = BUF_INIT(MEMORY_BYTES_MAX);
    struct csi_install *install = ctx;
    const char *old = object_annotation(now, ANN_NODE_ID);
    struct merge_patch p;

    install->node_uid = arena_dup(&install->arena, str_of(now->uid));
    if (arena_check(&install->arena, err) < 0)
        return API_REFUSE;
    if (install->o.what == CSI_INSTALL_DRIVER && install->o.node_id[0] == '\0')
        return refuse_install(error_set(err, ERR_INVALID, "driverNodeID must not be empty"));
    if (install->o.what == CSI_INSTALL_NODE)
        return API_AS_IT_IS;
    if (node_ids(install, now, &ids, err) < 0 || check_topology(install, now, err) < 0)
        return API_REFUSE;
    if (strcmp(old ? old : "", buf_cstr(&ids)) == 0 && has_labels(install, now))
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    for (uint32_t i = 0; i < install->o.topology.count; i++)
        merge_patch_label(&p, install->o.topology.items[i].key, install->o.topology.items[i].value);
    merge_patch_annotation(&p, ANN_NODE_ID, ids.len ? buf_cstr(&ids) : NULL);
    return api_decision_of(merge_patch_end(&p, err));
}

/* --- The CSINode --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The in-tree plugins that were migrated to drivers, sorted. */
static void write_migrated(struct buf *out)
{
    const char *names[SOURCE_COUNT] = { NULL };
    size_t count = 0;

    for (int i = 0; i < SOURCE_COUNT; i++) {
        const char *name = migration_plugin((enum volume_source_kind)i);
        if (name)
            names[count++] = name;
    }
    qsort(names, count, sizeof *names, compare_names);
    json_out_key(out, ANN_MIGRATED_PLUGINS);
    buf_add_char(out, '"');
    for (size_t i = 0; i < count; i++)
        buf_addf(out, "%s%s", i ? "," : "", names[i]);
    buf_add_char(out, '"');
}

static void write_new(const struct csi_install *install, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "storage.k8s.io/v1");
    json_out_text(out, "kind", "CSINode");
    json_out_object(out, "metadata");
    json_out_text(out, "name", install->o.node_name);
    json_out_object(out, "annotations");
    write_migrated(out);
    json_out_end_object(out);
    json_out_array(out, "ownerReferences");
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "kind", "Node");
    json_out_text(out, "name", install->o.node_name);
    json_out_text(out, "uid", install->node_uid);
    json_out_end_object(out);
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_object(out, "spec");
    json_out_array(out, "drivers");
    json_out_end_array(out);
    json_out_end_object(out);
    json_out_end_object(out);
}

static json_ref driver_entry(const struct csi_install *install, struct json *d)
{
    json_ref entry = json_new_object(d), keys = json_new_array(d), limit;
    int64_t count = install->o.volumes_max < INT32_MAX ? install->o.volumes_max : INT32_MAX;

    json_set_string(d, entry, "name", install->o.driver);
    json_set_string(d, entry, "nodeID", install->o.node_id);
    for (uint32_t i = 0; i < install->o.topology.count; i++) /* sorted */
        json_append(d, keys, json_new_string(d, str_of(install->o.topology.items[i].key)));
    if (install->o.topology.count)
        json_set(d, entry, "topologyKeys", keys);
    if (count > 0) {
        limit = json_new_object(d);
        json_set(d, limit, "count", json_new_int(d, count));
        json_set(d, entry, "allocatable", limit);
    }
    return entry;
}

/* The desired spec.drivers in *out; empty if nothing has to change. An entry that may not be changed is
 * removed, and the next round adds the new one. */
static int csi_node_drivers(struct csi_install *install, const struct object *now, struct buf *out,
                            struct error *err)
{
    _cleanup_(json_done_p) struct json d;
    json_ref root = 0, drivers, old, entry;
    int r;

    json_init(&d, OBJECT_TEXT_BYTES_MAX);
    r = json_parse(&d, now->text, &root, err);
    if (r < 0)
        return r;
    drivers = json_path(&d, root, "spec", "drivers");
    if (json_type(&d, drivers) != JSON_ARRAY)
        drivers = json_new_array(&d);
    old = json_first(&d, drivers);
    while (old && !json_is_string(&d, json_get(&d, old, "name"), install->o.driver))
        old = json_next(&d, old);
    entry = install->o.what == CSI_INSTALL_DRIVER ? driver_entry(install, &d) : 0;
    if (entry ? old && json_equal(&d, old, entry) : !old)
        return json_check(&d, err);
    install->changes_driver = old && entry;
    if (install->changes_driver && !install->must_remove_first)
        json_replace(&d, old, entry);
    else if (old)
        json_unlink(&d, old);
    else
        json_append(&d, drivers, entry);
    json_write(&d, drivers, out);
    r = json_check(&d, err);
    return r < 0 ? r : buf_check(out, "driver list", err);
}

/* The CSINode belongs to a deleted node of the same name. */
static bool is_foreign(const struct csi_install *install, const struct object *now)
{
    for (uint32_t i = 0; i < now->owners_count; i++)
        if (strcmp(now->owners[i].kind, "Node") == 0 && strcmp(now->owners[i].uid, install->node_uid) != 0)
            return true;
    return false;
}

static enum api_decision decide_patch(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    _cleanup_(buf_done_p) struct buf drivers = BUF_INIT(DOC_BYTES_MAX);
    struct csi_install *install = ctx;
    struct merge_patch p;

    if (is_foreign(install, now)) {
        install->foreign_uid = arena_dup(&install->arena, str_of(now->uid));
        return refuse_install(
            error_set(err, ERR_CONFLICT, "CSINode '%s' belongs to another node", now->name));
    }
    if (install->o.what == CSI_INSTALL_NODE)
        return API_AS_IT_IS;
    install->changes_driver = false;
    if (csi_node_drivers(install, now, &drivers, err) < 0)
        return API_REFUSE;
    if (drivers.len == 0)
        return API_AS_IT_IS;
    merge_patch_begin(&p, body, now);
    merge_patch_member(&p, "spec");
    json_out_object(body, NULL);
    json_out_raw(body, "drivers", buf_str(&drivers));
    json_out_end_object(body);
    return api_decision_of(merge_patch_end(&p, err));
}

/* An existing object is checked by the patch that follows. */
static enum api_decision decide_create(void *ctx, const struct object *now, struct buf *body,
                                       struct error *err)
{
    const struct csi_install *install = ctx;

    (void)err;
    if (now)
        return API_AS_IT_IS;
    write_new(install, body);
    return API_SEND;
}

/* --- Steps --- */

static void install_end(struct csi_install *install, int r, const struct error *err)
{
    void (*done)(void *ctx, int r, const struct error *err) = install->o.done;
    void *ctx = install->o.ctx;
    struct error copy = *err;

    csi_install_cancel(install);
    done(ctx, r, &copy);
}

static void on_node(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_install *install = ctx;

    if (!api_write_succeeded(outcome) && !(a->r == -ERR_NOT_FOUND && install->o.what == CSI_UNINSTALL_DRIVER))
        install_end(install, a->r, &a->error);
    else if (!install->node_uid) /* the Node is deleted, and its CSINode is deleted with it */
        install_end(install, 0, &a->error);
    else
        step_begin(install, INSTALL_PATCH);
}

/* Most servers do not allow changes of an entry: it is removed and added again. */
static bool needs_another_step(struct csi_install *install, int r)
{
    if (r == 0)
        return install->changes_driver && install->must_remove_first; /* the entry is removed */
    if (r != -ERR_INVALID || !install->changes_driver || install->must_remove_first)
        return false;
    install->must_remove_first = true;
    return true;
}

static void on_patched(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_install *install = ctx;

    (void)outcome;
    if (install->o.what == CSI_UNINSTALL_DRIVER && (a->r == -ERR_NOT_FOUND || install->foreign_uid))
        install_end(install, 0, &(struct error){ 0 }); /* nothing of ours exists */
    else if (install->foreign_uid && ++install->rounds < ROUNDS_MAX)
        step_begin(install, INSTALL_DELETE);
    else if (a->r == -ERR_NOT_FOUND && ++install->rounds < ROUNDS_MAX)
        step_begin(install, INSTALL_CREATE);
    else if (needs_another_step(install, a->r) && ++install->rounds < ROUNDS_MAX)
        step_begin(install, INSTALL_PATCH);
    else
        install_end(install, a->r, &a->error);
}

static void on_made(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_install *install = ctx;

    if (!api_write_succeeded(outcome))
        install_end(install, a->r, &a->error);
    else
        step_begin(install, INSTALL_PATCH);
}

static void on_deleted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_install *install = ctx;

    install->foreign_uid = NULL;
    if (!api_write_succeeded(outcome))
        install_end(install, a->r, &a->error);
    else
        step_begin(install, INSTALL_CREATE);
}

static void step_begin(struct csi_install *install, enum csi_install_step step)
{
    struct api_write_options o = {
        .api = install->o.api,
        .patience = API_BACKOFF,
        .step = API_STEP_CSI_NODE,
        .request = { .verb = CLIENT_PATCH, .kind = &csi_node_kind, .name = install->o.node_name },
        .ctx = install,
    };

    install->step = step;
    switch (step) {
    case INSTALL_NODE:
        o.request.kind = &node_kind;
        o.decide = decide_node;
        o.done = on_node;
        break;
    case INSTALL_PATCH:
        o.decide = decide_patch;
        o.done = on_patched;
        break;
    case INSTALL_CREATE:
        o.request.verb = CLIENT_CREATE;
        o.decide = decide_create;
        o.done = on_made;
        break;
    case INSTALL_DELETE:
        o.request.verb = CLIENT_DELETE;
        o.request.if_uid = install->foreign_uid;
        o.done = on_deleted;
        break;
    case INSTALL_IDLE:
        assert(!"not a step");
        return;
    }
    api_write_start(&install->write, &o);
}

/* --- Lifecycle --- */

static struct kvs copy_pairs(struct arena *a, struct kvs from)
{
    struct kv *pairs = arena_array(a, from.count, sizeof *pairs);

    for (uint32_t i = 0; pairs && i < from.count; i++)
        pairs[i] =
            (struct kv){ arena_dup(a, str_of(from.items[i].key)), arena_dup(a, str_of(from.items[i].value)) };
    return (struct kvs){ pairs, from.count };
}

void csi_install_start(struct csi_install *install, const struct csi_install_options *o)
{
    bool is_driver = o->what != CSI_INSTALL_NODE;
    struct arena *a = &install->arena;

    assert(install->step == INSTALL_IDLE);
    *install = (struct csi_install){ .o = *o, .arena = ARENA_INIT(MEMORY_BYTES_MAX) };
    install->o.node_name = arena_dup(a, str_of(o->node_name));
    if (!install->o.node_name)
        install->o.node_name = ""; /* never used by a request */
    install->o.driver = is_driver ? arena_dup(a, str_of(o->driver)) : "";
    install->o.node_id = o->what == CSI_INSTALL_DRIVER ? arena_dup(a, str_of(o->node_id)) : "";
    install->o.topology = o->what == CSI_INSTALL_DRIVER ? copy_pairs(a, o->topology) : (struct kvs){ 0 };
    step_begin(install, INSTALL_NODE);
}

void csi_install_cancel(struct csi_install *install)
{
    api_write_cancel(&install->write);
    arena_done(&install->arena);
    *install = (struct csi_install){ 0 };
}
