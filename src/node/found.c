/* What was on disk before this start, as records in the world: uncertain until it is set up again or taken
 * away, and held against what the Node's status says is attached. */
#include "node/node_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define SELF_RETRY_NS NS_PER_S

static void be_attached(struct agent *a)
{
    a->has_attached = true;
    log_debug("attached volumes of this node read");
    agent_touch(a);
}

/* By the controller: what it does not say is attached is not. */
static void hold_against(struct agent *a, const struct node *n)
{
    struct omap_cursor at;

    for (struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at)) {
        const struct attached_volume *found = n ? node_attached_volume(n, v->name) : NULL;

        if (v->attach != ATTACH_UNCERTAIN)
            continue;
        v->attach = found ? ATTACH_YES : ATTACH_NO;
        if (found && v->device == MOUNT_UNCERTAIN)
            world_set_text(&v->device_path, found->device_path);
    }
}

/* By the node itself, which said that a volume is in use before it attached it: it may be attached still, and
 * nobody else would detach it. What is wanted is attached again, which also tells where its device is. False
 * when a driver has not said yet whether it attaches. */
static bool take_in_use(struct agent *a, const struct node *n)
{
    const struct volume_plugin *p;
    struct str plugin, volume;
    struct error err;
    char name[NAME_MAX + 1];

    for (uint32_t i = 0; i < n->volumes_in_use.count; i++) {
        const char *unique = n->volumes_in_use.items[i];
        struct node_volume *v;
        int r;

        if (unique_name_split(unique, &plugin, &volume, &err) < 0 || plugin.len >= sizeof name)
            continue;
        (void)snprintf(name, sizeof name, "%.*s", STR_ARG(plugin));
        r = registry_by_name(a->o.plugins, name, &p, &err);
        if (r == -ERR_UNAVAILABLE)
            return false;
        if (r < 0 || !p->attach) {
            log_warn("a volume may stay attached: it has no plugin", LOG_STR("volume", unique));
            continue;
        }
        v = world_add_volume(&a->world, unique, p);
        if (!v)
            continue;
        if (!v->is_held || v->attach == ATTACH_NO)
            v->attach = ATTACH_UNCERTAIN;
        v->is_held = v->is_found = true;
    }
    return true;
}

static void on_self_answer(void *ctx, enum api_outcome outcome, const struct client_answer *answer)
{
    struct agent *a = ctx;
    const struct node *n = outcome == API_DONE ? node_of(answer->object) : NULL;

    if (!n && answer->r != -ERR_NOT_FOUND) {
        log_warn("the node's status cannot be read: nothing is unmounted before", LOG_ERR(&answer->error));
        timer_arm_after(&a->self_retry, SELF_RETRY_NS);
        return;
    }
    if (n && !unknown_mounts_take_in_use(a, n)) {
        timer_arm_after(&a->self_retry, SELF_RETRY_NS); /* no memory */
        return;
    }
    if (!a->o.attaches_itself) {
        hold_against(a, n);
    } else if (n && !take_in_use(a, n)) {
        timer_arm_after(&a->self_retry, SELF_RETRY_NS);
        return;
    }
    unknown_mounts_report(a, n ? &n->obj : NULL);
    be_attached(a);
}

void found_ask_attached(void *agent)
{
    struct agent *a = agent;
    struct api api = agent_api(a);
    bool must_ask = a->o.attaches_itself || a->unknown.all.count > 0;
    struct omap_cursor at;

    for (const struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at))
        must_ask |= v->attach == ATTACH_UNCERTAIN;
    if (must_ask)
        api_read(&a->self_read, &api, KIND_NODE, NULL, a->o.name, on_self_answer, a);
    else
        be_attached(a);
}

void agent_clear_failed(struct agent *a)
{
    for (size_t i = 0; i < a->failed.count; i++) {
        free(a->failed.items[i].plugin);
        free(a->failed.items[i].name);
        free(a->failed.items[i].pod_uid);
    }
    vec_done(&a->failed);
}

static void note_failed(struct agent *a, const struct found_volume *f)
{
    struct failed_volume new;

    log_warn("a volume on disk cannot be reconstructed", LOG_STR("pod", f->pod_uid),
             LOG_STR("plugin", f->plugin_name), LOG_STR("volume", f->name), LOG_ERR(&f->err));
    if (!f->pod_uid[0])
        return; /* there is no pod to take it from: what is mounted there is an unknown mount */
    if (vec_reserve(&a->failed, 1) < 0)
        return; /* its directory stays until the next start, as below */
    new = (struct failed_volume){ strdup(f->plugin_name), strdup(f->name), strdup(f->pod_uid) };
    if (new.plugin &&new.name &&new.pod_uid) {
        a->failed.items[a->failed.count++] = new;
    } else {
        free(new.plugin);
        free(new.name);
        free(new.pod_uid);
    }
}

static void mark_volume(struct node_volume *v, const struct found_volume *f, const struct held_spec *h)
{
    const struct volume_plugin *p = f->plugin;

    if (!v->spec.holder || f->pod_uid[0]) /* a pod's directory tells more than a device's */
        held_spec_copy(&v->spec, h);
    v->is_held = v->is_found = true;
    if (p->attach && p->attach->can_attach(p, &h->spec))
        v->attach = ATTACH_UNCERTAIN;
    /* Without a path it is not known whether there is a device: of a local directory there is none. */
    if (f->device_mount_path[0] && (f->is_block || (p->devices && p->devices->can_mount(p, &h->spec)))) {
        volume_set_device(v, MOUNT_EVENT_FOUND);
        world_set_text(&v->device_mount_path, f->device_mount_path);
    }
}

static int mark_mount(struct node_volume *v, struct node_pod *p, const struct found_volume *f,
                      const struct held_spec *h, struct error *err)
{
    struct node_mount *m = p ? world_add_mount(v, p) : NULL;

    if (!m)
        return error_no_memory(err);
    held_spec_copy(&m->spec, h);
    mount_set_state(m, MOUNT_EVENT_FOUND);
    m->is_found = true;
    m->was_block = f->is_block;
    return 0;
}

static int hold_found(struct agent *a, const struct found_volume *f, struct error *err)
{
    bool is_pod = f->object->kind->kind == KIND_POD;
    struct buf name = BUF_INIT(PATH_MAX);
    struct held_spec h = { 0 };
    struct node_volume *v = NULL;
    int r = 0;

    if (!held_spec_set(&h, f->object, is_pod ? f->name : NULL, /* is_read_only= */ false))
        r = error_set(err, ERR_INVALID, "its directory gives no volume");
    if (r == 0)
        r = registry_unique_name(f->plugin, &h.spec, f->pod_uid, &name, err);
    if (r == 0) {
        v = world_add_volume(&a->world, buf_cstr(&name), f->plugin);
        r = v ? 0 : error_no_memory(err);
    }
    if (v && f->pod_uid[0])
        r = mark_mount(v, agent_add_pod(a, f->pod_uid), f, &h, err);
    if (v && r == 0)
        mark_volume(v, f, &h);
    else if (v)
        (void)world_drop_volume(&a->world, v);
    held_spec_clear(&h);
    buf_done(&name);
    return r;
}

void found_take(struct agent *a, const struct found *found)
{
    struct error why;

    for (size_t i = 0; i < found->volumes_count; i++) {
        struct found_volume f = found->volumes[i];

        if (f.object && hold_found(a, &f, &why) < 0) {
            f.err = why;
            f.object = NULL;
        }
        if (!f.object)
            note_failed(a, &f);
    }
    for (size_t i = 0; i < found->pods_count; i++) {
        struct node_pod *p = agent_add_pod(a, found->pods[i].uid);

        if (p && found->pods[i].state_error)
            pod_life_restore_unreadable(p, found->pods[i].state_error);
        else if (p)
            pod_life_restore(p, found->pods[i].state);
    }
    log_debug("pod directories scanned", LOG_UINT("pods", found->pods_count),
              LOG_UINT("volumes", found->volumes_count), LOG_UINT("failed", a->failed.count));
}
