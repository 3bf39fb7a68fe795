/* Requests of workloads.
 *
 * Each request is a line in the trace and goes directly to the server (sim_request()), without the faults of
 * the network; it is not sent while the server is down. Objects are read from the server's store: a workload
 * and the checks of a scenario never see a stale cache. A pointer to a stored object is valid until the store
 * changes. objects_each() visits all objects of the kind. */
#include "sim/objects.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/json_out.h"
#include "machinery/merge_patch.h"
#include "sim/sim_world.h"

#define BODY_BYTES 2048

/* --- Any object --- */

static void send_request(struct sim *s, enum client_verb verb, enum kind k, const char *name, struct str body)
{
    struct client_request q = { .verb = verb,
                                .kind = kind_info(k),
                                .ns = kind_info(k)->is_namespaced ? OBJECTS_NS : NULL,
                                .name = verb == CLIENT_CREATE ? NULL : name,
                                .body = body,
                                .patch = CLIENT_PATCH_MERGE };
    static const char *const verbs[CLIENT_VERB_COUNT] = {
        [CLIENT_CREATE] = "create", [CLIENT_PATCH] = "patch", [CLIENT_DELETE] = "delete"
    };

    sim_trace(s, "workload: %s %s %s %.*s", verbs[verb], q.kind->plural, name, STR_ARG(body));
    sim_request(s, &q);
}

void objects_create(struct sim *s, enum kind k, const char *name, const char *fmt, ...)
{
    char body[BODY_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(body, sizeof body, fmt, args);
    va_end(args);
    for (char *c = body; *c; c++)
        if (*c == '\'')
            *c = '"';
    send_request(s, CLIENT_CREATE, k, name, str_of(body));
}

void objects_delete(struct sim *s, enum kind k, const char *name)
{
    send_request(s, CLIENT_DELETE, k, name, str_of(""));
}

void objects_delete_exact(struct sim *s, const struct object *o)
{
    struct client_request q = { .verb = CLIENT_DELETE,
                                .kind = o->kind,
                                .ns = o->ns[0] ? o->ns : NULL,
                                .name = o->name,
                                .if_uid = o->uid,
                                .has_grace = o->kind->kind == KIND_POD };

    sim_trace(s, "workload: delete %s %s", o->kind->plural, o->name);
    sim_request(s, &q);
}

static void send_patch(struct sim *s, const struct object *o, struct merge_patch *p, const struct buf *body)
{
    struct error err;

    if (merge_patch_end(p, &err) < 0)
        abort();
    send_request(s, CLIENT_PATCH, o->kind->kind, o->name, buf_str(body));
}

void objects_patch(struct sim *s, const struct object *o, const char *annotation, const char *value,
                   const char *spec)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct merge_patch p;

    merge_patch_begin(&p, &body, o);
    if (annotation)
        merge_patch_annotation(&p, annotation, value);
    if (spec) {
        merge_patch_member(&p, "spec");
        buf_add_cstr(&body, spec);
    }
    send_patch(s, o, &p, &body);
}

void objects_set_label(struct sim *s, const struct object *o, const char *key, const char *value)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct merge_patch p;

    merge_patch_begin(&p, &body, o);
    merge_patch_label(&p, key, value);
    send_patch(s, o, &p, &body);
}

void objects_remove_finalizer(struct sim *s, const struct object *o, const char *finalizer)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct merge_patch p;

    merge_patch_begin(&p, &body, o);
    merge_patch_remove_finalizer(&p, o, finalizer);
    send_patch(s, o, &p, &body);
}

const struct volume *stored_volume(const struct sim *s, const char *name)
{
    const struct object *o = store_get(s->server.store, KIND_VOLUME, "", name);

    return o ? volume_of(o) : NULL;
}

const struct claim *stored_claim(const struct sim *s, const char *name)
{
    const struct object *o = store_get(s->server.store, KIND_CLAIM, OBJECTS_NS, name);

    return o ? claim_of(o) : NULL;
}

const struct node *stored_node(const struct sim *s, const char *name)
{
    const struct object *o = store_get(s->server.store, KIND_NODE, "", name);

    return o ? node_of(o) : NULL;
}

const struct storage_class *stored_class(const struct sim *s, const char *name)
{
    const struct object *o = name[0] ? store_get(s->server.store, KIND_CLASS, "", name) : NULL;

    return (const struct storage_class *)(const void *)o;
}

void objects_touch(struct sim *s, const struct object *o)
{
    char number[16];

    (void)snprintf(number, sizeof number, "%u", (unsigned)rng_below(&s->work, 1000));
    if (o)
        objects_patch(s, o, "touched", number, NULL);
}

bool objects_each(struct sim *s, enum kind k, objects_fn *fn, void *ctx)
{
    struct store_iter it;
    const struct object *o;
    struct error err;
    bool goes_on = true;

    if (store_iter_begin(&it, s->server.store, k, NULL, STR_LIT(""), STR_LIT(""), 0, &err) < 0)
        abort();
    while (goes_on && (o = store_iter_next(&it)))
        goes_on = fn(ctx, o);
    store_iter_done(&it);
    return goes_on;
}

/* --- ConfigMaps and classes --- */

void objects_create_map(struct sim *s, const char *name, const char *label, const char *value)
{
    objects_create(s, KIND_CONFIG_MAP, name,
                   "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s','labels':{'%s':'%s'}}}",
                   name, label, value);
}

/* `group` is "labels" or "annotations". */
static void send_metadata(struct sim *s, enum kind k, const char *name, const char *group, const char *key,
                          const char *value)
{
    char text[BODY_BYTES];
    struct buf body = BUF_ON(text, sizeof text);

    json_out_object(&body, NULL);
    json_out_object(&body, "metadata");
    json_out_object(&body, group);
    json_out_text(&body, key, value);
    json_out_end_object(&body);
    json_out_end_object(&body);
    json_out_end_object(&body);
    send_request(s, CLIENT_PATCH, k, name, buf_str(&body));
}

void objects_label_map(struct sim *s, const char *name, const char *label, const char *value)
{
    send_metadata(s, KIND_CONFIG_MAP, name, "labels", label, value);
}

static void touch_object(struct sim *s, enum kind k, const char *name, uint64_t number)
{
    char value[32];

    (void)snprintf(value, sizeof value, "%" PRIu64, number);
    send_metadata(s, k, name, "annotations", "touched", value);
}

void objects_touch_map(struct sim *s, const char *name, uint64_t number)
{
    touch_object(s, KIND_CONFIG_MAP, name, number);
}

void objects_delete_map(struct sim *s, const char *name)
{
    objects_delete(s, KIND_CONFIG_MAP, name);
}

void objects_create_class(struct sim *s, const char *name)
{
    objects_create(s, KIND_CLASS, name,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'},"
                   "'provisioner':'x'}",
                   name);
}

void objects_touch_class(struct sim *s, const char *name, uint64_t number)
{
    touch_object(s, KIND_CLASS, name, number);
}

void objects_delete_class(struct sim *s, const char *name)
{
    objects_delete(s, KIND_CLASS, name);
}
