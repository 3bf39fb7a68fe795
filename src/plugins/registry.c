/* Finds plugins by volume or by name, among built-in plugins and those that a prober reports. Searches are
 * linear: there are about a dozen plugins. */
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
    VEC(const struct volume_plugin *) fixed; /* ends with NULL, which is counted */
    VEC(const struct volume_plugin *) found; /* likewise; references */
    struct plugin_prober *prober;
    struct error left_out;  /* of built-in plugins */
    struct error complaint; /* the same, and failures of the last probe */
};

/* Stands for a FlexVolume driver that is not on this machine: its volumes are only expanded on their nodes.
 */
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

/* --- Tables --- */

int plugin_require(const void *table, const char *what, struct error *err)
{
    return table ? 0 : error_set(err, ERR_UNSUPPORTED, "no %s volume plugin matched", what);
}

bool plugin_attaches(const struct volume_plugin *p, const struct volume_spec *s)
{
    return p->attach && (!p->attach->can_attach || p->attach->can_attach(p, s));
}

bool plugin_mounts_devices(const struct volume_plugin *p, const struct volume_spec *s)
{
    return p->devices && (!p->devices->can_mount || p->devices->can_mount(p, s));
}

/* --- Lists --- */

struct search {
    struct buf names; /* names of all matches */
    const struct volume_plugin *found;
    unsigned count;
};

static void search_among(struct search *search, const struct volume_plugin *const *all,
                         const struct volume_spec *s)
{
    for (; *all; all++) {
        if (!(*all)->can_support(*all, s))
            continue;
        buf_addf(&search->names, "%s%s", search->count++ ? "," : "", (*all)->name); /* may be cut */
        search->found = *all;
    }
}

static int search_end(struct search *search, const struct volume_plugin **ret, struct error *err)
{
    int r = 0;

    if (search->count == 0)
        r = error_set(err, ERR_NOT_FOUND, "no volume plugin matched");
    else if (search->count > 1)
        r = error_set(err, ERR_CONFLICT, "multiple volume plugins matched: %s", buf_cstr(&search->names));
    else
        *ret = search->found;
    buf_done(&search->names);
    return r;
}

int plugins_by_source(const struct volume_plugin *const *all, const struct volume_spec *s,
                      const struct volume_plugin **ret, struct error *err)
{
    struct search search = { .names = BUF_INIT(NAMES_BYTES_MAX) };

    search_among(&search, all, s);
    return search_end(&search, ret, err);
}

static const struct volume_plugin *find_by_name(const struct volume_plugin *const *all, const char *name)
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

int plugins_by_name(const struct volume_plugin *const *all, const char *name,
                    const struct volume_plugin **ret, struct error *err)
{
    const struct volume_plugin *p = find_by_name(all, name);

    if (!p)
        return no_such_name(name, err);
    *ret = p;
    return 0;
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

/* Combines errors as the API does: "[a, b]". */
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

    if (r == 0 && find_by_name(g->fixed.items, p->name))
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

    if (!g || vec_push(&g->fixed, NULL) < 0 || vec_push(&g->found, NULL) < 0)
        return error_no_memory(err);
    g->prober = prober;
    for (; *all; all++)
        if (add_fixed(g, *all, &g->left_out) < 0)
            return error_no_memory(err);
    g->complaint = g->left_out;
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

const char *registry_load_error(const struct plugin_registry *g)
{
    return g->complaint.msg;
}

static void forget_plugin(struct plugin_registry *g, const char *name)
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

/* Always takes over the event's plugin. */
static void apply_event(struct plugin_registry *g, const struct plugin_event *e)
{
    struct error err = { 0 };
    int r;

    if (!e->plugin) {
        forget_plugin(g, e->name);
        return;
    }
    r = check_name(e->plugin->name, &err);
    if (r == 0) {
        forget_plugin(g, e->plugin->name);
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

/* A failure is not fatal: the other plugins are available. */
static void refresh_found(struct plugin_registry *g)
{
    struct plugin_event *events = NULL;
    struct error err = { 0 };
    size_t count = 0;

    if (!g->prober)
        return;
    g->complaint = g->left_out;
    if (g->prober->probe(g->prober, &events, &count, &err) < 0)
        add_complaint(&g->complaint, &err);
    for (size_t i = 0; i < count; i++)
        apply_event(g, &events[i]);
}

/* Not found, unless its driver is still being initialized. */
static int not_found(const struct plugin_registry *g, const char *name, int r, struct error *err)
{
    if (!g->prober || !g->prober->awaits || !g->prober->awaits(g->prober, name))
        return r;
    return error_set(err, ERR_UNAVAILABLE, "driver %s is not initialized yet", name);
}

int registry_by_spec(struct plugin_registry *g, const struct volume_spec *s, const struct volume_plugin **ret,
                     struct error *err)
{
    struct search search = { .names = BUF_INIT(NAMES_BYTES_MAX) };
    int r;

    if (!s)
        return error_set(err, ERR_INVALID, "could not find plugin because volume spec is nil");
    search_among(&search, g->fixed.items, s);
    refresh_found(g);
    search_among(&search, g->found.items, s);
    r = search_end(&search, ret, err);
    if (r == -ERR_NOT_FOUND && spec_source(s).kind == SOURCE_FLEX)
        r = not_found(g, spec_source(s).flex->driver, r, err);
    return r;
}

int registry_by_name(struct plugin_registry *g, const char *name, const struct volume_plugin **ret,
                     struct error *err)
{
    const struct volume_plugin *fixed = find_by_name(g->fixed.items, name), *found;

    refresh_found(g);
    found = find_by_name(g->found.items, name);
    if (fixed && found)
        return error_set(err, ERR_CONFLICT, "multiple volume plugins matched: %s and %s", fixed->name,
                         found->name);
    if (!fixed && !found)
        return not_found(g, name, no_such_name(name, err), err);
    *ret = fixed ? fixed : found;
    return 0;
}

int registry_expandable_by_spec(struct plugin_registry *g, const struct volume_spec *s,
                                const struct volume_plugin **ret, struct error *err)
{
    const struct volume_plugin *p = NULL;
    struct error why = { 0 };
    int r = registry_by_spec(g, s, &p, &why);

    if (r == -ERR_NOT_FOUND) { /* not expanded here; another component may do it */
        *ret = spec_source(s).kind == SOURCE_FLEX ? &flex_elsewhere : NULL;
        return 0;
    }
    if (!p) {
        *err = why;
        return r;
    }
    *ret = p->expand && p->expand->expand ? p : NULL;
    return 0;
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
    refresh_found(g);
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
    if (!plugin_attaches(p, s) && !plugin_mounts_devices(p, s)) {
        buf_addf(ret, "%s-%s", pod_uid, spec_name(s));
        return buf_check(ret, "volume name", err);
    }
    before = ret->len;
    r = p->volume_name(p, s, ret, &why);
    if (r == 0 && ret->len == before)
        r = error_set(&why, ERR_INVALID, "the volume has no name");
    if (r < 0)
        return error_set(err, ERR_INVALID,
                         "failed to GetVolumeName from volumePlugin for volumeSpec \"%s\" err=%s",
                         spec_name(s), why.msg);
    return buf_check(ret, "volume name", err);
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
