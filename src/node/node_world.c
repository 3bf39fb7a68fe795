/* Records of pods, volumes and mounts, sorted by name. A mount is linked to its volume and to its pod; a
 * record is freed when it is neither wanted nor mounted. No I/O. Lookups cost O(log n). */
#include "node/node_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mutant.h"
#include "base/reach.h"
#include "node/node_int.h"

/* --- Order --- */

static int volume_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return strcmp(((const struct node_volume *)a)->name, ((const struct node_volume *)b)->name);
}

static int volume_cmp_key(void *ctx, const void *key, const void *volume)
{
    (void)ctx;
    return strcmp(key, ((const struct node_volume *)volume)->name);
}

static int pod_cmp(void *ctx, const void *a, const void *b)
{
    (void)ctx;
    return strcmp(((const struct node_pod *)a)->uid, ((const struct node_pod *)b)->uid);
}

static int pod_cmp_key(void *ctx, const void *key, const void *pod)
{
    (void)ctx;
    return strcmp(key, ((const struct node_pod *)pod)->uid);
}

void node_world_init(struct node_world *w)
{
    omap_init(&w->volumes, (struct omap_order){ volume_cmp, volume_cmp_key, NULL });
    omap_init(&w->pods, (struct omap_order){ pod_cmp, pod_cmp_key, NULL });
}

/* --- Texts --- */

void node_world_set_text(char **at, const char *text)
{
    char *new = strdup(text);

    if (!new)
        return;
    free(*at);
    *at = new;
}

/* --- Volumes --- */

struct node_volume *node_world_find_volume(const struct node_world *w, const char *name)
{
    return omap_find(&w->volumes, /* rank= */ 0, name);
}

static void volume_free(struct node_volume *v)
{
    held_spec_clear(&v->wanted);
    held_spec_clear(&v->spec);
    v->plugin = plugin_unref(v->plugin);
    wait_log_done(&v->wait);
    free(v->device_path);
    free(v->device_mount_path);
    free(v->name);
    free(v);
}

struct node_volume *node_world_add_volume(struct node_world *w, const char *name,
                                          const struct volume_plugin *p)
{
    struct node_volume *v = node_world_find_volume(w, name);

    if (v)
        return v;
    v = calloc(1, sizeof *v);
    if (!v)
        return NULL;
    TAILQ_INIT(&v->mounts);
    v->plugin = plugin_ref(p);
    v->name = strdup(name);
    v->device_path = strdup("");
    v->device_mount_path = strdup("");
    if (!v->name || !v->device_path || !v->device_mount_path ||
        omap_insert(&w->volumes, /* rank= */ 0, v) < 0) {
        volume_free(v);
        return NULL;
    }
    return v;
}

bool node_world_drop_volume(struct node_world *w, struct node_volume *v)
{
    if (v->is_held || !TAILQ_EMPTY(&v->mounts))
        return false;
    assert(v->device == MOUNT_NONE);
    (void)omap_remove(&w->volumes, /* rank= */ 0, v);
    volume_free(v);
    return true;
}

bool volume_is_wanted(const struct node_volume *v)
{
    for (const struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume))
        if (m->is_wanted)
            return true;
    return false;
}

bool volume_has_to_grow(const struct node_volume *v)
{
    const struct expand_table *t = v->plugin->expand;

    return v->wanted_bytes > v->bytes && v->bytes > 0 && !v->refuses_growth && v->wanted.spec.volume && t &&
           t->expand_on_node && t->needs_fs_resize;
}

/* --- States --- */

static enum mount_state next_state(enum mount_state from, enum mount_event event, const char *volume,
                                   const char *pod)
{
    enum mount_state to = from;
    bool is_allowed = mount_state_next(from, event, &to);

    assert(is_allowed);
    (void)is_allowed;
    log_debug("mount changes", LOG_STR("volume", volume), LOG_STR("pod", pod),
              LOG_STR("event", mount_event_name(event)), LOG_STR("from", mount_state_name(from)),
              LOG_STR("to", mount_state_name(to)));
    return to;
}

void mount_set_state(struct node_mount *m, enum mount_event event)
{
    enum mount_state next = next_state(m->state, event, m->volume->name, m->pod->uid);

    reach_move(REACH_NODE_MOUNT, MOUNT_STATE_COUNT, m->state, next);
    m->state = next;
}

void volume_set_device(struct node_volume *v, enum mount_event event)
{
    enum mount_state next = next_state(v->device, event, v->name, /* pod= */ "");

    reach_move(REACH_NODE_DEVICE, MOUNT_STATE_COUNT, v->device, next);
    v->device = next;
}

/* --- Mounts --- */

struct node_mount *node_world_find_mount(const struct node_volume *v, const char *pod_uid)
{
    for (struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume))
        if (strcmp(m->pod->uid, pod_uid) == 0)
            return m;
    return NULL;
}

static void names_clear(struct node_mount *m)
{
    for (size_t i = 0; i < m->outer_names.count; i++)
        free(m->outer_names.items[i]);
    vec_done(&m->outer_names);
}

static void mount_free(struct node_mount *m)
{
    held_spec_clear(&m->wanted);
    held_spec_clear(&m->spec);
    names_clear(m);
    free(m->path);
    free(m->mount_point);
    free(m);
}

struct node_mount *node_world_add_mount(struct node_volume *v, struct node_pod *p)
{
    struct node_mount *m = node_world_find_mount(v, p->uid);

    if (m)
        return m;
    m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->path = strdup("");
    m->mount_point = strdup("");
    if (!m->path || !m->mount_point) {
        mount_free(m);
        return NULL;
    }
    m->volume = v;
    m->pod = p;
    m->group = m->held_group = -1;
    TAILQ_INSERT_TAIL(&v->mounts, m, of_volume);
    if (TAILQ_EMPTY(&p->mounts) || !MUTANT("node-hides-mounts"))
        TAILQ_INSERT_TAIL(&p->mounts, m, of_pod);
    return m;
}

void mount_unwant(struct node_mount *m)
{
    m->is_wanted = false;
    held_spec_clear(&m->wanted);
    names_clear(m);
}

bool mount_add_name(struct node_mount *m, const char *name)
{
    size_t at = 0;
    char *copy;

    assert(name[0] != '\0');
    while (at < m->outer_names.count && strcmp(m->outer_names.items[at], name) < 0)
        at++;
    if (at < m->outer_names.count && strcmp(m->outer_names.items[at], name) == 0)
        return true;
    copy = strdup(name);
    if (copy && vec_insert(&m->outer_names, at, copy) == 0)
        return true;
    free(copy);
    return false;
}

bool node_world_drop_mount(struct node_world *w, struct node_mount *m)
{
    struct node_volume *v = m->volume;

    assert(node_world_find_mount(v, m->pod->uid) == m);
    if (m->is_wanted || m->state != MOUNT_NONE)
        return false;
    TAILQ_REMOVE(&v->mounts, m, of_volume);
    TAILQ_REMOVE(&m->pod->mounts, m, of_pod);
    mount_free(m);
    (void)node_world_drop_volume(w, v);
    return true;
}

/* The agent owns the pod records and has freed them. */
void node_world_done(struct node_world *w)
{
    struct omap_cursor at;

    for (struct node_volume *v = omap_first(&w->volumes, &at); v; v = omap_next(&at)) {
        struct node_mount *m;

        while ((m = TAILQ_FIRST(&v->mounts))) {
            TAILQ_REMOVE(&v->mounts, m, of_volume);
            mount_free(m);
        }
        volume_free(v);
    }
    omap_done(&w->volumes);
    omap_done(&w->pods);
}
