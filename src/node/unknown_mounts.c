/* Finds mounts in volume directories that belong to no record. The first snapshot is compared with the paths
 * of all records; later snapshots only remove mounts that were unmounted or now belong to a record. Costs a
 * map of all paths during the first comparison. */
#include "node/unknown_mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "node/node_int.h"
#include "plugins/layout.h"

#define EVENT_REASON "UnknownMounts"
#define WORDS_BYTES_MAX 1024
#define PATHS_SHOWN_MAX 3
#define LINES_MAX 20 /* log lines per start; the event has the count */
#define PLACES_BYTES_MAX ((size_t)64 << 20)

/* --- Paths of the records --- */

struct places {
    struct arena arena;
    struct map by_path; /* const char *, the path */
    const char *root;
    bool has_failed;
};

static void add_place(struct places *places, const char *path)
{
    const char *copy = arena_dup(&places->arena, str_of(path));

    if (!copy || map_put(&places->by_path, str_of(copy), (void *)(uintptr_t)copy, NULL) < 0)
        places->has_failed = true;
}

static void add_places_of(struct places *places, const struct node_mount *m)
{
    const struct held_spec *h = m->spec.holder ? &m->spec : &m->wanted;
    char path[PATH_MAX];
    struct error ignored;

    if (!h->holder || m->was_block)
        return; /* those of a raw device are all below the volume's */
    if (layout_pod_path(places->root, m->pod->uid, "volumes", m->volume->plugin->name, spec_name(&h->spec),
                        path, &ignored) == 0)
        add_place(places, path);
    if (snprintf(path, sizeof path, "%s/pods/%s/volume-subpaths/%s", places->root, m->pod->uid,
                 spec_name(&h->spec)) < (int)sizeof path)
        add_place(places, path);
}

static void places_fill(struct places *places, struct agent *a)
{
    struct omap_cursor at;

    *places = (struct places){ .arena = ARENA_INIT(PLACES_BYTES_MAX), .root = a->root };
    map_init(&places->by_path, (struct hash_seed){ rng_u64(&a->rng), rng_u64(&a->rng) });
    for (const struct node_volume *v = omap_first(&a->world.volumes, &at); v; v = omap_next(&at)) {
        if (v->device_mount_path[0] && v->device != MOUNT_NONE)
            add_place(places, v->device_mount_path);
        for (const struct node_mount *m = TAILQ_FIRST(&v->mounts); m; m = TAILQ_NEXT(m, of_volume))
            if (m->state != MOUNT_NONE)
                add_places_of(places, m);
    }
}

static void places_done(struct places *places)
{
    map_done(&places->by_path);
    arena_done(&places->arena);
}

/* The path belongs to a record, or is below one that does. */
static bool places_have(const struct places *places, const char *path)
{
    size_t root = strlen(places->root);

    for (size_t len = strlen(path); len > root; len--)
        if ((path[len] == '/' || path[len] == '\0') && map_get(&places->by_path, (struct str){ path, len }))
            return true;
    return false;
}

/* --- Bookkeeping --- */

static void unknown_free(struct unknown_mount *m)
{
    free(m->path);
    free(m->plugin);
}

static void forget_in_use(struct unknown_mounts *u)
{
    for (size_t i = 0; i < u->in_use.count; i++)
        free(u->in_use.items[i]);
    vec_done(&u->in_use);
}

void unknown_mounts_done(struct unknown_mounts *u)
{
    for (size_t i = 0; i < u->all.count; i++)
        unknown_free(&u->all.items[i]);
    vec_done(&u->all);
    vec_done(&u->plugins);
    forget_in_use(u);
    free(u->words);
    u->words = NULL;
}

static bool add_mount(struct unknown_mounts *u, const struct mounted *m)
{
    struct unknown_mount copy = { .path = strdup(m->path), .plugin = strdup(m->plugin) };

    if (copy.path && copy.plugin && vec_push(&u->all, copy) == 0)
        return true;
    unknown_free(&copy);
    return false;
}

static size_t count_kept(const struct agent *a)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->unknown.in_use.count; i++)
        kept += unknown_mounts_keep(a, a->unknown.in_use.items[i]);
    return kept;
}

/* Lists each plugin once, since there may be thousands of mounts. Without memory every plugin counts. */
static void update_plugins(struct unknown_mounts *u)
{
    vec_clear(&u->plugins);
    u->has_any_plugin = false;
    for (size_t i = 0; i < u->all.count; i++) {
        const char *plugin = u->all.items[i].plugin;
        size_t at = 0;

        while (at < u->plugins.count && strcmp(u->plugins.items[at], plugin) != 0)
            at++;
        if (!plugin[0] || (at == u->plugins.count && vec_push(&u->plugins, plugin) < 0))
            u->has_any_plugin = true;
    }
}

/* Without memory the old text stays. */
static void update_summary(struct agent *a)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)PATH_MAX * PATHS_SHOWN_MAX + WORDS_BYTES_MAX);
    struct unknown_mounts *u = &a->unknown;
    size_t kept;
    char *copy;

    update_plugins(u);
    kept = count_kept(a);
    if (u->all.count == 0) {
        free(u->words);
        u->words = NULL;
        return;
    }
    buf_addf(&text, "mounts without a known volume: %zu (", u->all.count);
    for (size_t i = 0; i < u->all.count && i < PATHS_SHOWN_MAX; i++)
        buf_addf(&text, "%s%s", i ? ", " : "", u->all.items[i].path);
    buf_addf(&text, "%s); volumes kept in volumesInUse until these are unmounted: %zu",
             u->all.count > PATHS_SHOWN_MAX ? ", …" : "", kept);
    copy = text.failed ? NULL : strdup(buf_cstr(&text));
    if (copy) {
        free(u->words);
        u->words = copy;
    }
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct unknown_mount *)a)->path, ((const struct unknown_mount *)b)->path);
}

bool unknown_mounts_find(struct agent *a, const struct mount_snapshot *k)
{
    struct places known;
    size_t count;
    const struct mounted *all = mount_snapshot_all(k, &count);
    bool is_ok;

    unknown_mounts_done(&a->unknown);
    places_fill(&known, a);
    is_ok = !known.has_failed;
    for (size_t i = 0; is_ok && i < count; i++)
        if (all[i].plugin && !places_have(&known, all[i].place))
            is_ok = add_mount(&a->unknown, &all[i]);
    places_done(&known);
    if (a->unknown.all.count)
        qsort(a->unknown.all.items, a->unknown.all.count, sizeof *a->unknown.all.items, compare_paths);
    update_summary(a);
    return is_ok;
}

void unknown_mounts_claim(struct agent *a, const char *path)
{
    struct unknown_mounts *u = &a->unknown;
    struct unknown_mount *m, key = { .path = (char *)(uintptr_t)path };

    if (u->all.count == 0)
        return;
    m = bsearch(&key, u->all.items, u->all.count, sizeof *u->all.items, compare_paths);
    if (m)
        m->is_known = true;
}

void unknown_mounts_check(struct agent *a, const struct mount_snapshot *k)
{
    struct unknown_mounts *u = &a->unknown;
    size_t kept = 0;

    for (size_t i = 0; i < u->all.count; i++) {
        struct unknown_mount *m = &u->all.items[i];

        if (mount_snapshot_has(k, m->path) && !m->is_known) {
            u->all.items[kept++] = *m;
            continue;
        }
        log_info("unknown mount unmounted", LOG_STR("path", m->path), LOG_STR("plugin", m->plugin));
        unknown_free(m);
    }
    if (kept == u->all.count)
        return;
    u->all.count = kept;
    if (kept == 0)
        forget_in_use(u);
    update_summary(a);
    agent_touch(a); /* the reconciler reports */
}

/* --- volumesInUse at start --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool unknown_mounts_take_in_use(struct agent *a, const struct node *n)
{
    struct unknown_mounts *u = &a->unknown;

    forget_in_use(u);
    if (u->all.count == 0)
        return true;
    if (vec_reserve(&u->in_use, n->volumes_in_use.count) < 0)
        return false;
    for (uint32_t i = 0; i < n->volumes_in_use.count; i++) {
        char *copy = strdup(n->volumes_in_use.items[i]);

        if (!copy)
            return false;
        u->in_use.items[u->in_use.count++] = copy;
    }
    if (u->in_use.count)
        qsort(u->in_use.items, u->in_use.count, sizeof *u->in_use.items, compare_names);
    update_summary(a);
    return true;
}

static bool was_in_use(const struct unknown_mounts *u, const char *name)
{
    return u->in_use.count &&
           bsearch(&name, u->in_use.items, u->in_use.count, sizeof *u->in_use.items, compare_names);
}

bool unknown_mounts_keep(const struct agent *a, const char *unique_name)
{
    const struct unknown_mounts *u = &a->unknown;
    struct str plugin, volume;
    struct error ignored;

    if (u->all.count == 0 || !was_in_use(u, unique_name))
        return false;
    if (u->has_any_plugin || unique_name_split(unique_name, &plugin, &volume, &ignored) < 0)
        return true;
    for (size_t i = 0; i < u->plugins.count; i++)
        if (str_is(plugin, u->plugins.items[i]))
            return true;
    return false;
}

void unknown_mounts_report(struct agent *a, const struct object *node)
{
    const struct unknown_mounts *u = &a->unknown;

    if (!u->words)
        return;
    for (size_t i = 0; i < u->all.count && i < LINES_MAX; i++)
        log_warn("mount belongs to no volume that could be reconstructed, unmount it by hand",
                 LOG_STR("path", u->all.items[i].path), LOG_STR("plugin", u->all.items[i].plugin));
    if (node)
        recorder_event(a->recorder, node, EVENT_WARNING, EVENT_REASON, "%s", u->words);
}
