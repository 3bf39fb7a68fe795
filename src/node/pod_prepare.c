/* Prepares a pod for its containers. The loop copies everything the worker needs into an arena, since the
 * agent may be freed while the worker runs; the worker expands subPathExpr, binds the subPath mounts and
 * writes the state file. A state file that would not change is not written. */
#include "node/pod_prepare.h"

#include <stdio.h>
#include <string.h>

#include "api/quote.h"
#include "base/cleanup.h"
#include "host/files.h"
#include "host/sub_path.h"
#include "node/container_env.h"
#include "node/node_int.h"
#include "plugins/layout.h"

#define PREPARE_BYTES_MAX ((size_t)32 << 20)
#define QUOTED_BYTES 320 /* of a quoted name */
#define HOST_PATH_PLUGIN "kubernetes.io/host-path"

/* A subPath mount. */
struct sub_mount {
    struct state_mount *mount;
    const struct pod_mount *wanted; /* in the pod */
    const char *container;
    const char *volume_name; /* the directory's */
    const char *volume_path;
    uint32_t container_at; /* in the pod's list */
    uint32_t index;        /* in the container's list */
};

struct prepare {
    struct job job;
    struct arena arena; /* of all texts: the agent may be freed while the worker runs */
    struct object *pod;
    struct volume_env env;
    char dir[PATH_MAX];
    struct state_parts parts;
    VEC(struct sub_mount) subs; /* in the order of containers */
    enum hook_state hook;
    char boot_id[HOST_FACT_BYTES];
    bool writes_pod;
    bool has_written;      /* the state file, or tried to */
    struct buf old;        /* the file on disk; empty: none */
    struct hash_seed seed; /* of tables */
    struct pod_state state;
    struct error detail;
    struct buf missing; /* for the pod's condition */
};

static const char *quote_name(char ret[QUOTED_BYTES], const char *name)
{
    return quote_text(ret, QUOTED_BYTES, str_of(name));
}

/* --- Collecting: on the loop --- */

/* The mount with this name; NULL. */
static const struct node_mount *mount_there(const struct node_pod *p, const char *name, bool is_block)
{
    const struct node_mount *m = pod_mount_named(p, name);

    return m && m->state == MOUNT_DONE && m->is_block == is_block ? m : NULL;
}

static bool volume_is_read_only(const struct node_mount *m)
{
    const struct volume_plugin *plugin = m->volume->plugin;

    if (m->spec.spec.is_read_only || m->is_block || !plugin->pods || !plugin->pods->attributes)
        return m->spec.spec.is_read_only;
    return plugin->pods->attributes(plugin, &m->spec.spec).is_read_only;
}

static const char *prepare_copy_text(struct prepare *prep, const char *text)
{
    const char *copy = arena_dup(&prep->arena, str_of(text));

    return copy ? copy : ""; /* the arena records the failure */
}

static void collect_volumes(struct prepare *prep, const struct node_pod *p)
{
    const struct pod_volumes *all = &pod_of(prep->pod)->volumes;

    prep->parts.volumes = arena_array(&prep->arena, all->count, sizeof *prep->parts.volumes);
    for (uint32_t i = 0; prep->parts.volumes && i < all->count; i++) {
        const struct node_mount *m = pod_mount_named(p, all->items[i].name);
        const char *claim = pod_claim_name(&all->items[i]);

        if (!m || m->state != MOUNT_DONE)
            continue;
        prep->parts.volumes[prep->parts.volumes_count++] = (struct state_volume){
            .name = all->items[i].name,
            .claim = claim ? claim : "",
            .volume = spec_persistent(&m->spec.spec) ? prepare_copy_text(prep, spec_name(&m->spec.spec)) : "",
            .plugin = prepare_copy_text(prep, m->volume->plugin->name),
            .path = prepare_copy_text(prep, m->path),
            .is_read_only = volume_is_read_only(m),
            .is_block = m->is_block,
            .is_mount_point = m->mount_point[0] != '\0',
        };
    }
}

static bool has_group(const struct state_parts *s, int64_t group)
{
    for (uint32_t i = 0; i < s->groups_count; i++)
        if (s->groups[i] == group)
            return true;
    return false;
}

/* The pod's groups, its fsGroup and those of its volumes, without duplicates. */
static void collect_groups(struct prepare *prep, const struct node_pod *p)
{
    const struct pod *pod = pod_of(prep->pod);
    struct state_parts *s = &prep->parts;
    size_t count = (size_t)pod->supplemental_groups_count + 1;

    for (const struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        count++;
    s->groups = arena_array(&prep->arena, count, sizeof *s->groups);
    if (!s->groups)
        return;
    for (uint32_t i = 0; i < pod->supplemental_groups_count; i++)
        s->groups[s->groups_count++] = pod->supplemental_groups[i];
    if (pod->fs_group >= 0 && !has_group(s, pod->fs_group))
        s->groups[s->groups_count++] = pod->fs_group;
    for (const struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        if (m->state == MOUNT_DONE && m->held_group >= 0 && !has_group(s, m->held_group))
            s->groups[s->groups_count++] = m->held_group;
}

static const char *recursion_of(const struct pod_mount *m)
{
    static const char *const names[] = {
        [RECURSIVE_READ_ONLY_DISABLED] = "Disabled",
        [RECURSIVE_READ_ONLY_IF_POSSIBLE] = "IfPossible",
        [RECURSIVE_READ_ONLY_ENABLED] = "Enabled",
    };

    static_assert(ARRAY_LEN(names) == RECURSIVE_READ_ONLY_COUNT, "name all of them");
    return names[m->is_read_only ? m->recursive_read_only : RECURSIVE_READ_ONLY_DISABLED];
}

static const char *propagation_of(const struct pod_mount *m)
{
    static const char *const names[] = {
        [PROPAGATION_NONE] = "private",
        [PROPAGATION_HOST_TO_CONTAINER] = "rslave",
        [PROPAGATION_BIDIRECTIONAL] = "rshared",
    };

    static_assert(ARRAY_LEN(names) == PROPAGATION_COUNT, "name all of them");
    return names[m->propagation];
}

static int collect_mount(struct prepare *prep, const struct node_pod *p, uint32_t container_at,
                         uint32_t index, struct state_mount *ret, struct error *err)
{
    const struct pod_container *c = &pod_of(prep->pod)->containers[container_at];
    const struct pod_mount *wanted = &c->mounts[index];
    const struct node_mount *m = mount_there(p, wanted->volume, /* is_block= */ false);
    char volume[QUOTED_BYTES], container[QUOTED_BYTES];

    if (!m)
        return error_set(err, ERR_NOT_FOUND, "cannot find volume %s to mount into container %s",
                         quote_name(volume, wanted->volume), quote_name(container, c->name));
    if (!m->path[0])
        return error_set(err, ERR_NOT_FOUND, "path is empty for volume %s of container %s",
                         quote_name(volume, wanted->volume), quote_name(container, c->name));
    if (wanted->propagation == PROPAGATION_BIDIRECTIONAL && !c->is_privileged)
        return error_set(err, ERR_INVALID,
                         "volume %s of container %s: Bidirectional mount propagation is available only to "
                         "privileged containers",
                         quote_name(volume, wanted->volume), quote_name(container, c->name));
    *ret = (struct state_mount){
        .volume = wanted->volume,
        .path = wanted->path,
        .host_path = prepare_copy_text(prep, m->path),
        .is_read_only = wanted->is_read_only || volume_is_read_only(m),
        .propagation = propagation_of(wanted),
        .recursive_read_only = recursion_of(wanted),
    };
    if (!wanted->sub_path[0] && !wanted->sub_path_expr[0])
        return 0;
    return vec_push(&prep->subs,
                    (struct sub_mount){ .mount = ret,
                                        .wanted = wanted,
                                        .container = c->name,
                                        .volume_name = prepare_copy_text(prep, spec_name(&m->spec.spec)),
                                        .volume_path = ret->host_path,
                                        .container_at = container_at,
                                        .index = index }) < 0
               ? error_no_memory(err)
               : 0;
}

static int collect_device(struct prepare *prep, const struct node_pod *p, const struct pod_container *c,
                          uint32_t index, struct state_device *ret, struct error *err)
{
    const struct pod_device *wanted = &c->devices[index];
    const struct node_mount *m = mount_there(p, wanted->volume, /* is_block= */ true);
    char volume[QUOTED_BYTES], container[QUOTED_BYTES];

    if (!m)
        return error_set(err, ERR_NOT_FOUND, "cannot find volume %s to pass into container %s",
                         quote_name(volume, wanted->volume), quote_name(container, c->name));
    *ret = (struct state_device){ wanted->path, prepare_copy_text(prep, m->path),
                                  m->spec.spec.is_read_only ? "r" : "mrw" };
    return 0;
}

static int collect_container(struct prepare *prep, const struct node_pod *p, uint32_t at,
                             struct state_container *ret, struct error *err)
{
    static const char *const kinds[] = { "init", "regular", "ephemeral" };
    const struct pod_container *c = &pod_of(prep->pod)->containers[at];
    int r = 0;

    static_assert(ARRAY_LEN(kinds) == CONTAINER_KIND_COUNT, "name every kind");
    *ret = (struct state_container){
        .name = c->name,
        .kind = kinds[c->kind],
        .mounts = arena_array(&prep->arena, c->mounts_count, sizeof *ret->mounts),
        .devices = arena_array(&prep->arena, c->devices_count, sizeof *ret->devices),
    };
    for (uint32_t i = 0; i < c->mounts_count && ret->mounts && r == 0; i++) {
        r = collect_mount(prep, p, at, i, &ret->mounts[i], err);
        ret->mounts_count++;
    }
    for (uint32_t i = 0; i < c->devices_count && ret->devices && r == 0; i++) {
        r = collect_device(prep, p, c, i, &ret->devices[i], err);
        ret->devices_count++;
    }
    return r;
}

static int prepare_collect(struct prepare *prep, const struct node_pod *p, struct error *err)
{
    uint32_t count = pod_of(prep->pod)->containers_count;
    int r = 0;

    collect_volumes(prep, p);
    collect_groups(prep, p);
    prep->parts.containers = arena_array(&prep->arena, count, sizeof *prep->parts.containers);
    for (uint32_t i = 0; i < count && prep->parts.containers && r == 0; i++) {
        r = collect_container(prep, p, i, &prep->parts.containers[i], err);
        prep->parts.containers_count++;
    }
    return r < 0 ? r : arena_check(&prep->arena, err);
}

/* --- subPath mounts: on a worker --- */

/* Iterates over the containers in the pod's text in step with the parsed ones, which are in the same
 * order. */
struct env_expansion {
    struct json doc;
    json_ref root;
    json_ref at; /* the container in the text */
    uint32_t container_at;
    bool is_begun;
    struct container_env env;
};

static json_ref first_container(const struct env_expansion *e, unsigned kind)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };
    json_ref v = 0;

    static_assert(ARRAY_LEN(lists) == CONTAINER_KIND_COUNT, "name every list");
    for (; kind < CONTAINER_KIND_COUNT && !v; kind++)
        v = json_first(&e->doc, json_path(&e->doc, e->root, "spec", lists[kind]));
    return v;
}

static int expansion_begin(struct env_expansion *e, struct prepare *prep, struct error *err)
{
    int r = json_parse(&e->doc, prep->pod->text, &e->root, err);

    if (r < 0)
        return r;
    e->at = first_container(e, CONTAINER_INIT);
    e->is_begun = true;
    return container_env_load(&e->env, &e->doc, e->at, err);
}

/* Advances to the container of this mount, which is not before the previous one. */
static int expansion_go_to(struct env_expansion *e, struct prepare *prep, uint32_t container_at,
                           struct error *err)
{
    const struct pod *pod = pod_of(prep->pod);

    if (!e->is_begun) {
        int r = expansion_begin(e, prep, err);

        if (r < 0 || container_at == 0)
            return r;
    }
    if (e->container_at == container_at)
        return 0;
    for (; e->container_at < container_at; e->container_at++) {
        json_ref next = json_next(&e->doc, e->at);

        e->at = next ? next : first_container(e, pod->containers[e->container_at].kind + 1u);
    }
    return container_env_load(&e->env, &e->doc, e->at, err);
}

/* The path of the mount inside the volume. */
static int sub_path_of(struct env_expansion *e, struct prepare *prep, const struct sub_mount *s,
                       const char **ret, struct error *err)
{
    int r = 0;

    *ret = s->wanted->sub_path;
    if (s->wanted->sub_path_expr[0]) {
        r = expansion_go_to(e, prep, s->container_at, err);
        if (r == 0)
            r = container_env_expand(&e->env, s->wanted->sub_path_expr, ret, err);
    }
    return r < 0 ? r : sub_path_check(*ret, err);
}

/* Events name the failed step; paths of this machine are only logged. */
static int bind_failed(struct prepare *prep, const struct sub_mount *s, const char *words, struct error *err)
{
    char volume[QUOTED_BYTES], container[QUOTED_BYTES];

    prep->detail = *err;
    return error_set(err, err->code, "failed to %s for volumeMount %s of container %s", words,
                     quote_name(volume, s->wanted->volume), quote_name(container, s->container));
}

static int bind_one(struct prepare *prep, struct env_expansion *e, const struct sub_mount *s,
                    struct error *err)
{
    struct sub_path part = {
        .volume_path = s->volume_path,
        .volume_name = s->volume_name,
        .container = s->container,
        .pod_dir = prep->dir,
        .index = s->index,
        .is_read_only = s->mount->is_read_only,
    };
    char target[PATH_MAX];

    if (sub_path_of(e, prep, s, &part.path, err) < 0)
        return -(int)err->code;
    if (!part.path[0])
        return 0; /* the path is the whole volume */
    if (sub_path_make(s->volume_path, part.path, err) < 0)
        return bind_failed(prep, s, "create subPath directory", err);
    if (sub_path_bind(&prep->env.tools, &part, target, err) < 0)
        return bind_failed(prep, s, "prepare subPath", err);
    s->mount->host_path = arena_dup(&prep->arena, str_of(target));
    return s->mount->host_path ? 0 : arena_check(&prep->arena, err);
}

static int bind_all(struct prepare *prep, struct error *err)
{
    struct env_expansion e = { 0 };
    int r = 0;

    json_init(&e.doc, OBJECT_TEXT_BYTES_MAX);
    container_env_init(&e.env, pod_of(prep->pod), prep->seed);
    for (size_t i = 0; i < prep->subs.count && r == 0; i++) {
        if (atomic_load(&prep->job.stop))
            r = error_set(err, ERR_CANCELLED, "stopped");
        else
            r = bind_one(prep, &e, &prep->subs.items[i], err);
    }
    container_env_done(&e.env);
    json_done(&e.doc);
    return r;
}

/* --- Missing hostPaths: on a worker --- */

/* A hostPath without a type is not checked, as in Kubernetes: container runtimes create the directory. The
 * state file and the condition report it. */
static void find_missing(struct prepare *prep)
{
    for (uint32_t i = 0; i < prep->parts.volumes_count; i++) {
        struct state_volume *v = &prep->parts.volumes[i];
        enum file_kind kind = FILE_OTHER;
        char path[PATH_MAX + 2], name[QUOTED_BYTES];
        struct error ignored; /* then the path exists */

        if (strcmp(v->plugin, HOST_PATH_PLUGIN) != 0 || host_file_kind(v->path, &kind, &ignored) < 0 ||
            kind != FILE_MISSING)
            continue;
        v->is_missing = true;
        buf_addf(&prep->missing, "%shostPath %s of volume %s does not exist", prep->missing.len ? "; " : "",
                 quote_text(path, sizeof path, str_of(v->path)), quote_name(name, v->name));
    }
    if (prep->missing.len)
        buf_add_cstr(&prep->missing, ": the container runtime must create it");
}

/* --- The job --- */

static int prepare_run(struct job *j, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    struct prepare *prep = CONTAINER_OF(j, struct prepare, job);
    int r = bind_all(prep, err);

    find_missing(prep);
    if (r == 0)
        r = pod_state_build(&prep->state, &prep->parts, prep->hook, err);
    if (r < 0)
        return r;
    pod_state_write(&prep->state, &text);
    r = buf_check(&text, "the pod's state", err);
    if (r < 0 || (!prep->writes_pod && str_eq(buf_str(&text), buf_str(&prep->old))))
        return r;
    prep->has_written = true;
    return state_file_write(prep->dir, buf_str(&text), prep->writes_pod ? prep->pod : NULL, err);
}

static void prepare_free(struct job *j)
{
    struct prepare *prep = CONTAINER_OF(j, struct prepare, job);

    vec_done(&prep->subs);
    buf_done(&prep->old);
    buf_done(&prep->missing);
    pod_state_done(&prep->state);
    prep->pod = object_unref(prep->pod);
    arena_done(&prep->arena);
    free(prep);
}

static const struct job_type prepare_type = { "pod preparation", prepare_run, prepare_free };

static struct prepare *prepare_alloc(const struct node_pod *p)
{
    struct prepare *prep = calloc(1, sizeof *prep);

    if (!prep)
        return NULL;
    prep->job.type = &prepare_type;
    prep->job.about = prep->dir;
    prep->arena = ARENA_INIT(PREPARE_BYTES_MAX);
    buf_init(&prep->old, STATE_BYTES_MAX);
    buf_init(&prep->missing, STATE_BYTES_MAX);
    pod_state_init(&prep->state);
    prep->env = volume_env_copy(&p->agent->env, &prep->job.stop, &prep->arena);
    return prep;
}

int pod_prepare_new(const struct node_pod *p, enum hook_state hook, bool writes_pod,
                    const struct pod_state *old, struct job **ret, struct error *err)
{
    struct prepare *prep = prepare_alloc(p);
    struct rng rng;
    int r;

    if (!prep)
        return error_no_memory(err);
    prep->pod = object_ref(p->object);
    prep->parts.pod = prep->pod;
    prep->hook = hook;
    (void)snprintf(prep->boot_id, sizeof prep->boot_id, "%s", p->agent->boot_id);
    prep->parts.boot_id = prep->boot_id;
    prep->writes_pod = writes_pod;
    rng_init(&rng, component_seed(&p->agent->o.part, "node/env"));
    prep->seed = (struct hash_seed){ rng_u64(&rng), rng_u64(&rng) };
    if (old && old->root)
        pod_state_write(old, &prep->old);
    r = layout_pod_dir(p->agent->root, p->uid, prep->dir, err);
    if (r == 0)
        r = prepare_collect(prep, p, err);
    if (r < 0) {
        prepare_free(&prep->job);
        return r;
    }
    *ret = &prep->job;
    return 0;
}

bool pod_prepare_has_written(struct job *j)
{
    return CONTAINER_OF(j, struct prepare, job)->has_written;
}

void pod_prepare_take_state(struct job *j, struct pod_state *s)
{
    struct prepare *prep = CONTAINER_OF(j, struct prepare, job);

    pod_state_done(s);
    *s = prep->state;
    pod_state_init(&prep->state);
}

bool pod_prepare_take_parts(struct job *j, struct pod_parts *p)
{
    const struct prepare *prep = CONTAINER_OF(j, struct prepare, job);
    struct pod_parts new = { .items = calloc(prep->subs.count + 1, sizeof *new.items) };
    bool is_whole = new.items;

    for (size_t i = 0; new.items &&i < prep->subs.count; i++) {
        const struct sub_mount *s = &prep->subs.items[i];
        struct pod_part part;

        if (s->mount->host_path == s->volume_path)
            continue; /* the path is the whole volume */
        part = (struct pod_part){ strdup(s->wanted->volume), strdup(s->mount->host_path) };
        if (part.volume && part.path) {
            new.items[new.count++] = part;
            continue;
        }
        free(part.volume);
        free(part.path);
        is_whole = false;
    }
    pod_parts_done(p);
    *p = new;
    return is_whole;
}

const char *pod_prepare_missing(struct job *j)
{
    const struct prepare *prep = CONTAINER_OF(j, struct prepare, job);

    return buf_cstr(&prep->missing);
}

const char *pod_prepare_detail(struct job *j)
{
    return CONTAINER_OF(j, struct prepare, job)->detail.msg;
}

/* --- Removal --- */

struct removal {
    struct job job;
    struct arena arena;
    struct volume_env env;
    const char *pod_uid;
};

static int removal_run(struct job *j, struct error *err)
{
    struct removal *removal = CONTAINER_OF(j, struct removal, job);

    return pod_dir_remove(&removal->env, removal->pod_uid, err);
}

static void removal_free(struct job *j)
{
    struct removal *removal = CONTAINER_OF(j, struct removal, job);

    arena_done(&removal->arena);
    free(removal);
}

static const struct job_type removal_type = { "removal of pod directory", removal_run, removal_free };

struct job *pod_remove_new(const struct node_pod *p)
{
    struct removal *removal = calloc(1, sizeof *removal);

    if (!removal)
        return NULL;
    removal->job.type = &removal_type;
    removal->arena = ARENA_INIT(PREPARE_BYTES_MAX);
    removal->env = volume_env_copy(&p->agent->env, &removal->job.stop, &removal->arena);
    removal->pod_uid = removal->job.about = arena_dup(&removal->arena, str_of(p->uid));
    if (removal->arena.failed) {
        removal_free(&removal->job);
        return NULL;
    }
    return &removal->job;
}
