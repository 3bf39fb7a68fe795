/* Adds the volumes found on disk at start to the records: they are uncertain until they are set up again or
 * unmounted, and are compared with the attached volumes of the Node's status. */
#include "node/node_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mutant.h"
#include "plugins/csi/request.h"

#define SELF_RETRY_NS NS_PER_S

static void be_attached(struct agent *a)
{
    a->has_attached = true;
    log_debug("attached volumes of this node read");
    agent_touch(a);
}

/* A CSI driver continues calls of the previous agent: it may be mounting this volume now. It answers an
 * unmount call after that. */
static bool may_be_mounting(const struct node_volume *v)
{
    return strcmp(v->plugin->name, CSI_PLUGIN) == 0 && (v->device != MOUNT_NONE || !TAILQ_EMPTY(&v->mounts));
}

/* Attachments of the controller: a volume that is not listed is not attached. The controller may be about to
 * detach a listed one and does so as soon as volumesInUse omits it: a volume that is mounted, or may be soon,
 * stays in volumesInUse until it is unmounted. */
static void hold_against(struct agent *a, const struct node *n)
{
    struct omap_cursor at;

    for (struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at)) {
        const struct attached_volume *found = n ? node_attached_volume(n, v->name) : NULL;
        bool is_feared = (v->was_mounted || may_be_mounting(v)) && !MUTANT("node-frees-what-is-mounted");

        if (v->attach != ATTACH_UNCERTAIN)
            continue;
        v->attach = found ? ATTACH_YES : is_feared ? ATTACH_UNCERTAIN : ATTACH_NO;
        if (found && v->device == MOUNT_UNCERTAIN)
            node_world_set_text(&v->device_path, found->device_path);
    }
}

/* Attachments of the node itself, which writes volumesInUse before it attaches: a listed volume may still be
 * attached, and no other component would detach it. Wanted volumes are attached again, which also returns the
 * device path. False when a driver has not reported yet whether it attaches. */
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
            log_warn("no plugin for volume in volumesInUse, it may stay attached", LOG_STR("volume", unique));
            continue;
        }
        v = node_world_add_volume(&a->world, unique, p);
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
        log_warn("cannot read node status, unmounting is suspended until it is read",
                 LOG_ERR(&answer->error));
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

void restore_ask_attached(void *agent)
{
    struct agent *a = agent;
    bool must_ask = a->o.attaches_itself || a->unknown.all.count > 0;
    struct omap_cursor at;

    for (const struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at))
        must_ask |= v->attach == ATTACH_UNCERTAIN;
    if (must_ask)
        api_read(&a->self_read, &a->api, KIND_NODE, NULL, a->o.name, on_self_answer, a);
    else
        be_attached(a);
}

void agent_drop_failed(struct agent *a, size_t i)
{
    free(a->failed.items[i].plugin);
    free(a->failed.items[i].name);
    free(a->failed.items[i].pod_uid);
    vec_remove(&a->failed, i);
}

void agent_clear_failed(struct agent *a)
{
    timer_disarm(&a->failed_retry);
    while (a->failed.count > 0)
        agent_drop_failed(a, a->failed.count - 1);
    vec_done(&a->failed);
}

static void note_failed(struct agent *a, const struct restored_volume *f)
{
    struct failed_volume new;

    log_warn("cannot reconstruct volume on disk", LOG_STR("pod", f->pod_uid),
             LOG_STR("plugin", f->plugin_name), LOG_STR("volume", f->name), LOG_ERR(&f->err));
    if (!f->pod_uid[0])
        return; /* no pod refers to it: a mount there is an unknown mount */
    if (vec_reserve(&a->failed, 1) < 0)
        return; /* its directory stays until the next start, as below */
    new = (struct failed_volume){ .plugin = strdup(f->plugin_name),
                                  .name = strdup(f->name),
                                  .pod_uid = strdup(f->pod_uid) };
    if (new.plugin &&new.name &&new.pod_uid) {
        a->failed.items[a->failed.count++] = new;
    } else {
        free(new.plugin);
        free(new.name);
        free(new.pod_uid);
    }
}

static void mark_volume(struct node_volume *v, const struct restored_volume *f, const struct held_spec *h)
{
    const struct volume_plugin *p = f->plugin;

    if (!v->spec.holder || f->pod_uid[0]) /* a pod's directory has more details than a device's */
        held_spec_copy(&v->spec, h);
    v->is_held = v->is_found = true;
    v->was_mounted |= f->is_mounted;
    if (plugin_attaches(p, &h->spec))
        v->attach = ATTACH_UNCERTAIN;
    /* Without a path it is unknown whether there is a device: a local directory has none. */
    if (f->device_mount_path[0] && (f->is_block || plugin_mounts_devices(p, &h->spec))) {
        volume_set_device(v, MOUNT_EVENT_FOUND);
        node_world_set_text(&v->device_mount_path, f->device_mount_path);
    }
}

static int mark_mount(struct node_volume *v, struct node_pod *p, const struct restored_volume *f,
                      const struct held_spec *h, struct error *err)
{
    struct node_mount *m = p ? node_world_add_mount(v, p) : NULL;

    if (!m)
        return error_no_memory(err);
    held_spec_copy(&m->spec, h);
    mount_set_state(m, MOUNT_EVENT_FOUND);
    m->is_found = true;
    m->was_block = f->is_block;
    return 0;
}

static int hold_found(struct agent *a, const struct restored_volume *f, struct error *err)
{
    bool is_pod = f->object->kind->kind == KIND_POD;
    struct buf name = BUF_INIT(PATH_MAX);
    struct held_spec h = { 0 };
    struct node_volume *v = NULL;
    int r = 0;

    if (!held_spec_set(&h, f->object, is_pod ? f->name : NULL, /* is_read_only= */ false))
        r = error_set(err, ERR_INVALID, "its directory does not describe a volume");
    if (r == 0)
        r = registry_unique_name(f->plugin, &h.spec, f->pod_uid, &name, err);
    if (r == 0) {
        v = node_world_add_volume(&a->world, buf_cstr(&name), f->plugin);
        r = v ? 0 : error_no_memory(err);
    }
    if (v && f->pod_uid[0])
        r = mark_mount(v, agent_add_pod(a, f->pod_uid), f, &h, err);
    if (v && r == 0)
        mark_volume(v, f, &h);
    else if (v)
        (void)node_world_drop_volume(&a->world, v);
    held_spec_clear(&h);
    buf_done(&name);
    return r;
}

void restore_take(struct agent *a, const struct node_restored *found)
{
    struct error why;

    for (size_t i = 0; i < found->volumes_count; i++) {
        struct restored_volume f = found->volumes[i];

        if (MUTANT("node-forgets-what-was-mounted"))
            continue;
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
