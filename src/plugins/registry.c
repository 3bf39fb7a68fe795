#include "plugins/registry.h"

#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "plugins/builtin.h"

#define NAMES_BYTES_MAX 400

const struct volume_plugin *const plugins_builtin[] = { &host_path_plugin, &nfs_plugin, NULL };
const struct volume_plugin *const plugins_attachable[] = { &fc_plugin, &iscsi_plugin, NULL };
const struct volume_plugin *const plugins_of_node[] = {
    &empty_dir_plugin, &host_path_plugin,    &nfs_plugin,       &secret_plugin, &config_map_plugin,
    &local_plugin,     &downward_api_plugin, &projected_plugin, NULL,
};

struct plugin_registry {
    VEC(const struct volume_plugin *) fixed; /* ends with NULL, which counts */
    VEC(const struct volume_plugin *) found; /* the same; references */
    struct plugin_prober *prober;
    struct error complaint;
};

/* Stands for a FlexVolume driver that is not on this machine: its volumes grow on their nodes alone. */
static int expand_elsewhere(const struct volume_plugin *self, const struct volume_env *env,
                            const struct expand_request *q, uint64_t *ret_bytes, struct error *err)
{
    (void)self;
    (void)env;
    (void)err;
    *ret_bytes = q->new_bytes;
    return 0;
}

static const struct expand_table expands_elsewhere = { .needs_fs_resize = true, .expand = expand_elsewhere };
static const struct volume_plugin flex_elsewhere = { .name = "kubernetes.io/flexvolume",
                                                     .expand = &expands_elsewhere };

/* --- Abilities --- */

static const char *const ability_words[PLUGIN_ABILITY_COUNT] = {
    [PLUGIN_PERSISTS] = "persistent",
    [PLUGIN_PROVISIONS] = "provisionable",
    [PLUGIN_DELETES] = "deletable",
    [PLUGIN_RECYCLES] = "recyclable",
};

static bool is_able(const struct volume_plugin *p, enum plugin_ability a)
{
    switch (a) {
    case PLUGIN_ANY:
    case PLUGIN_ABILITY_COUNT:
        return true;
    case PLUGIN_PERSISTS:
        return p->access_modes != 0;
    case PLUGIN_PROVISIONS:
        return p->provision;
    case PLUGIN_DELETES:
        return p->remove;
    case PLUGIN_RECYCLES:
        return p->recycle;
    case PLUGIN_ATTACHES:
        return p->attach;
    case PLUGIN_MOUNTS_DEVICES:
        return p->devices;
    case PLUGIN_EXPANDS:
        return p->expand;
    case PLUGIN_EXPANDS_ON_NODE:
        return p->expand && p->expand->expand_on_node;
    case PLUGIN_MAPS_BLOCKS:
        return p->block;
    }
    return false;
}

static int give(const struct volume_plugin *p, enum plugin_ability a, const struct volume_plugin **ret,
                struct error *err)
{
    if (is_able(p, a)) {
        *ret = p;
        return 0;
    }
    if (!ability_words[a]) {
        *ret = NULL;
        return 0;
    }
    return error_set(err, ERR_UNSUPPORTED, "no %s volume plugin matched", ability_words[a]);
}

/* --- Lists --- */

struct search {
    struct buf names; /* of what matched */
    const struct volume_plugin *found;
    unsigned count;
};

static void search_among(struct search *x, const struct volume_plugin *const *all,
                         const struct volume_spec *s)
{
    for (; *all; all++) {
        if (!(*all)->can_support(*all, s))
            continue;
        buf_addf(&x->names, "%s%s", x->count++ ? "," : "", (*all)->name); /* cut is fine */
        x->found = *all;
    }
}

static int search_end(struct search *x, struct error *err)
{
    if (x->count == 0)
        return error_set(err, ERR_NOT_FOUND, "no volume plugin matched");
    if (x->count > 1)
        return error_set(err, ERR_CONFLICT, "multiple volume plugins matched: %s", buf_cstr(&x->names));
    return 0;
}

int plugins_by_source(const struct volume_plugin *const *all, const struct volume_spec *s,
                      enum plugin_ability a, const struct volume_plugin **ret, struct error *err)
{
    struct search x = { .names = BUF_INIT(NAMES_BYTES_MAX) };
    int r;

    search_among(&x, all, s);
    r = search_end(&x, err);
    buf_done(&x.names);
    return r < 0 ? r : give(x.found, a, ret, err);
}

static const struct volume_plugin *named(const struct volume_plugin *const *all, const char *name)
{
    for (; *all; all++)
        if (strcmp((*all)->name, name) == 0)
            return *all;
    return NULL;
}

static int no_such_name(const char *name, struct error *err)
{
    return error_set(err, ERR_NOT_FOUND, "no volume plugin matched name: %s", name);
}

int plugins_by_name(const struct volume_plugin *const *all, const char *name, enum plugin_ability a,
                    const struct volume_plugin **ret, struct error *err)
{
    const struct volume_plugin *p = named(all, name);

    return p ? give(p, a, ret, err) : no_such_name(name, err);
}

/* --- The registry --- */

static int check_name(const char *name, struct error *err)
{
    _cleanup_(buf_done_p) struct buf why = BUF_INIT(NAMES_BYTES_MAX);
    struct name_problems problems;

    if (name_check(NAME_QUALIFIED, str_of(name), &problems))
        return 0;
    name_problems_join(&problems, &why);
    return error_set(err, ERR_INVALID, "volume plugin has invalid name: \"%s\": %s", name, buf_cstr(&why));
}

/* Errors are told together: "a, b" in brackets, as the API joins them. */
static void add_complaint(struct error *all, const struct error *one)
{
    char before[ERROR_MSG_BYTES_MAX];

    if (all->code == ERR_NONE) {
        *all = *one;
        return;
    }
    memcpy(before, all->msg, sizeof before);
    (void)error_set(all, one->code, "%s, %s", before, one->msg);
}

static int add_fixed(struct plugin_registry *g, const struct volume_plugin *p, struct error *complaints)
{
    struct error err = { 0 };
    int r = check_name(p->name, &err);

    if (r == 0 && named(g->fixed.items, p->name))
        r = error_set(&err, ERR_EXISTS, "volume plugin \"%s\" was registered more than once", p->name);
    if (r < 0) {
        add_complaint(complaints, &err);
        return 0;
    }
    r = vec_push(&g->fixed, NULL);
    if (r == 0)
        g->fixed.items[g->fixed.count - 2] = plugin_ref(p);
    return r;
}

int registry_new(const struct volume_plugin *const *all, struct plugin_prober *prober,
                 struct plugin_registry **ret, struct error *err)
{
    _cleanup_(registry_free_p) struct plugin_registry *g = calloc(1, sizeof *g);
    struct error complaints = { 0 };

    if (!g || vec_push(&g->fixed, NULL) < 0 || vec_push(&g->found, NULL) < 0)
        return error_no_memory(err);
    g->prober = prober;
    for (; *all; all++)
        if (add_fixed(g, *all, &complaints) < 0)
            return error_no_memory(err);
    *err = complaints;
    *ret = TAKE(g);
    return 0;
}

int registry_add(struct plugin_registry *g, const struct volume_plugin *p, struct error *err)
{
    struct error complaints = { 0 };

    if (add_fixed(g, p, &complaints) < 0)
        return error_no_memory(err);
    if (complaints.code == ERR_NONE)
        return 0;
    *err = complaints;
    return -(int)complaints.code;
}

struct plugin_registry *registry_free(struct plugin_registry *g)
{
    if (!g)
        return NULL;
    for (size_t i = 0; i + 1 < g->found.count; i++)
        (void)plugin_unref(g->found.items[i]);
    for (size_t i = 0; i + 1 < g->fixed.count; i++)
        (void)plugin_unref(g->fixed.items[i]);
    vec_done(&g->found);
    vec_done(&g->fixed);
    free(g);
    return NULL;
}

const char *registry_complaint(const struct plugin_registry *g)
{
    return g->complaint.msg;
}

static void forget(struct plugin_registry *g, const char *name)
{
    for (size_t i = 0; i + 1 < g->found.count; i++) {
        if (strcmp(g->found.items[i]->name, name) != 0)
            continue;
        const struct volume_plugin *gone = g->found.items[i];
        vec_remove(&g->found, i);
        (void)plugin_unref(gone);
        return;
    }
}

/* Takes the event's plugin over, in any case. */
static void apply(struct plugin_registry *g, const struct plugin_event *e)
{
    struct error err = { 0 };
    int r;

    if (!e->plugin) {
        forget(g, e->name);
        return;
    }
    r = check_name(e->plugin->name, &err);
    if (r == 0) {
        forget(g, e->plugin->name);
        r = vec_push(&g->found, NULL);
    }
    if (r == 0) {
        g->found.items[g->found.count - 2] = e->plugin;
        return;
    }
    (void)error_wrap(&err, "failed to load volume plugin %s, error", e->plugin->name);
    add_complaint(&g->complaint, &err);
    (void)plugin_unref(e->plugin);
}

/* Not fatal: the others are there. */
static void refresh(struct plugin_registry *g)
{
    struct plugin_event *events = NULL;
    struct error err = { 0 };
    size_t count = 0;

    if (!g->prober)
        return;
    g->complaint = (struct error){ 0 };
    if (g->prober->probe(g->prober, &events, &count, &err) < 0)
        add_complaint(&g->complaint, &err);
    for (size_t i = 0; i < count; i++)
        apply(g, &events[i]);
}

/* Not there, unless it is awaited. */
static int not_found(const struct plugin_registry *g, const char *name, int r, struct error *err)
{
    if (!g->prober || !g->prober->awaits || !g->prober->awaits(g->prober, name))
        return r;
    return error_set(err, ERR_UNAVAILABLE, "driver %s has not answered its init yet", name);
}

/* A plugin with the table may still not want this volume. */
static bool wants(const struct volume_plugin *p, const struct volume_spec *s, enum plugin_ability a)
{
    if (a == PLUGIN_ATTACHES && p->attach)
        return p->attach->can_attach(p, s);
    if (a == PLUGIN_MOUNTS_DEVICES && p->devices)
        return p->devices->can_mount(p, s);
    return true;
}

static int give_for(const struct volume_plugin *p, const struct volume_spec *s, enum plugin_ability a,
                    const struct volume_plugin **ret, struct error *err)
{
    if (!wants(p, s, a)) {
        *ret = NULL;
        return 0;
    }
    return give(p, a, ret, err);
}

int registry_by_spec(struct plugin_registry *g, const struct volume_spec *s, enum plugin_ability a,
                     const struct volume_plugin **ret, struct error *err)
{
    struct search x = { .names = BUF_INIT(NAMES_BYTES_MAX) };
    int r;

    if (!s)
        return error_set(err, ERR_INVALID, "could not find plugin because volume spec is nil");
    search_among(&x, g->fixed.items, s);
    refresh(g);
    search_among(&x, g->found.items, s);
    r = search_end(&x, err);
    buf_done(&x.names);
    if (r == -ERR_NOT_FOUND && spec_source(s).kind == SOURCE_FLEX)
        r = not_found(g, spec_source(s).flex->driver, r, err);
    if (r == 0)
        return give_for(x.found, s, a, ret, err);
    if (a == PLUGIN_PERSISTS)
        return error_set(err, (enum err) - r, "could not find volume plugin for spec: %s", spec_name(s));
    if (r == -ERR_NOT_FOUND && a == PLUGIN_EXPANDS) { /* nobody here expands it: others may */
        *ret = spec_source(s).kind == SOURCE_FLEX ? &flex_elsewhere : NULL;
        return 0;
    }
    return r;
}

int registry_by_name(struct plugin_registry *g, const char *name, enum plugin_ability a,
                     const struct volume_plugin **ret, struct error *err)
{
    const struct volume_plugin *fixed = named(g->fixed.items, name), *found;

    refresh(g);
    found = named(g->found.items, name);
    if (fixed && found)
        return error_set(err, ERR_CONFLICT, "multiple volume plugins matched: %s and %s", fixed->name,
                         found->name);
    if (!fixed && !found)
        return not_found(g, name, no_such_name(name, err), err);
    return give(fixed ? fixed : found, a, ret, err);
}

/* --- Limits --- */

static void each_limit(const struct volume_plugin *const *all,
                       void (*fn)(void *ctx, const char *key, uint32_t count), void *ctx)
{
    for (; *all; all++)
        if ((*all)->limits)
            (*all)->limits->each(*all, fn, ctx);
}

void registry_each_limit(struct plugin_registry *g, void (*fn)(void *ctx, const char *key, uint32_t count),
                         void *ctx)
{
    refresh(g);
    each_limit(g->fixed.items, fn, ctx);
    each_limit(g->found.items, fn, ctx);
}

/* --- Unique names --- */

int registry_unique_name(const struct volume_plugin *p, const struct volume_spec *s, const char *pod_uid,
                         struct buf *ret, struct error *err)
{
    struct error why;
    size_t before;
    int r;

    buf_addf(ret, "%s/", p->name);
    if (!(p->attach && p->attach->can_attach(p, s)) && !(p->devices && p->devices->can_mount(p, s))) {
        buf_addf(ret, "%s-%s", pod_uid, spec_name(s));
        return buf_check(ret, "the volume's name", err);
    }
    before = ret->len;
    r = p->volume_name(p, s, ret, &why);
    if (r == 0 && ret->len == before)
        r = error_set(&why, ERR_INVALID, "the volume has no name");
    if (r < 0)
        return error_set(err, ERR_INVALID,
                         "failed to GetVolumeName from volumePlugin for volumeSpec \"%s\" err=%s",
                         spec_name(s), why.msg);
    return buf_check(ret, "the volume's name", err);
}

int unique_name_split(const char *name, struct str *ret_plugin, struct str *ret_volume, struct error *err)
{
    const char *first = strchr(name, '/');
    const char *second = first ? strchr(first + 1, '/') : NULL;

    if (!second)
        return error_set(err, ERR_INVALID, "cannot split volume unique name %s to plugin/volume components",
                         name);
    *ret_plugin = (struct str){ name, (size_t)(second - name) };
    *ret_volume = str_of(second + 1);
    return 0;
}
