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
#define QUOTED_BYTES 320 /* of a name, in quotes */
#define HOST_PATH_PLUGIN "kubernetes.io/host-path"

/* A mount of a part of a volume. */
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
    struct arena arena; /* of all texts: the agent may go while the worker is busy */
    struct object *pod;
    struct volume_env env;
    char dir[PATH_MAX];
    struct state_parts parts;
    VEC(struct sub_mount) subs; /* in the order of containers */
    enum hook_state hook;
    bool writes_pod;
    struct buf old;        /* what is on disk; empty: nothing */
    struct hash_seed seed; /* of tables */
    struct pod_state state;
    struct error detail;
    struct buf missing; /* for the pod's condition */
};

static const char *quoted(char ret[QUOTED_BYTES], const char *name)
{
    return quote(ret, QUOTED_BYTES, str_of(name));
}

/* --- Looking up: on the loop --- */

/* The mount that is there under this name; NULL. */
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

static const char *copied(struct prepare *x, const char *text)
{
    const char *copy = arena_dup(&x->arena, str_of(text));

    return copy ? copy : ""; /* a failure sticks in the arena */
}

static void look_up_volumes(struct prepare *x, const struct node_pod *p)
{
    const struct pod_volumes *all = &pod_of(x->pod)->volumes;

    x->parts.volumes = arena_array(&x->arena, all->count, sizeof *x->parts.volumes);
    for (uint32_t i = 0; x->parts.volumes && i < all->count; i++) {
        const struct node_mount *m = pod_mount_named(p, all->items[i].name);
        const char *claim = pod_claim_name(&all->items[i]);

        if (!m || m->state != MOUNT_DONE)
            continue;
        x->parts.volumes[x->parts.volumes_count++] = (struct state_volume){
            .name = all->items[i].name,
            .claim = claim ? claim : "",
            .volume = spec_persistent(&m->spec.spec) ? copied(x, spec_name(&m->spec.spec)) : "",
            .plugin = copied(x, m->volume->plugin->name),
            .path = copied(x, m->path),
            .is_read_only = volume_is_read_only(m),
            .is_block = m->is_block,
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

/* The pod's own, the one that owns its files, and those that come with volumes: each once. */
static void look_up_groups(struct prepare *x, const struct node_pod *p)
{
    const struct pod *pod = pod_of(x->pod);
    struct state_parts *s = &x->parts;
    size_t count = (size_t)pod->supplemental_groups_count + 1;

    for (const struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        count++;
    s->groups = arena_array(&x->arena, count, sizeof *s->groups);
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

static int look_up_mount(struct prepare *x, const struct node_pod *p, uint32_t container_at, uint32_t index,
                         struct state_mount *ret, struct error *err)
{
    const struct pod_container *c = &pod_of(x->pod)->containers[container_at];
    const struct pod_mount *wanted = &c->mounts[index];
    const struct node_mount *m = mount_there(p, wanted->volume, /* is_block= */ false);
    char volume[QUOTED_BYTES], container[QUOTED_BYTES];

    if (!m)
        return error_set(err, ERR_NOT_FOUND, "cannot find volume %s to mount into container %s",
                         quoted(volume, wanted->volume), quoted(container, c->name));
    if (!m->path[0])
        return error_set(err, ERR_NOT_FOUND, "path is empty for volume %s of container %s",
                         quoted(volume, wanted->volume), quoted(container, c->name));
    if (wanted->propagation == PROPAGATION_BIDIRECTIONAL && !c->is_privileged)
        return error_set(err, ERR_INVALID,
                         "volume %s of container %s: Bidirectional mount propagation is available only to "
                         "privileged containers",
                         quoted(volume, wanted->volume), quoted(container, c->name));
    *ret = (struct state_mount){
        .volume = wanted->volume,
        .path = wanted->path,
        .host_path = copied(x, m->path),
        .is_read_only = wanted->is_read_only || volume_is_read_only(m),
        .propagation = propagation_of(wanted),
        .recursive_read_only = recursion_of(wanted),
    };
    if (!wanted->sub_path[0] && !wanted->sub_path_expr[0])
        return 0;
    return vec_push(&x->subs, (struct sub_mount){ .mount = ret,
                                                  .wanted = wanted,
                                                  .container = c->name,
                                                  .volume_name = copied(x, spec_name(&m->spec.spec)),
                                                  .volume_path = ret->host_path,
                                                  .container_at = container_at,
                                                  .index = index }) < 0
               ? error_no_memory(err)
               : 0;
}

static int look_up_device(struct prepare *x, const struct node_pod *p, const struct pod_container *c,
                          uint32_t index, struct state_device *ret, struct error *err)
{
    const struct pod_device *wanted = &c->devices[index];
    const struct node_mount *m = mount_there(p, wanted->volume, /* is_block= */ true);
    char volume[QUOTED_BYTES], container[QUOTED_BYTES];

    if (!m)
        return error_set(err, ERR_NOT_FOUND, "cannot find volume %s to pass into container %s",
                         quoted(volume, wanted->volume), quoted(container, c->name));
    *ret = (struct state_device){ wanted->path, copied(x, m->path), m->spec.spec.is_read_only ? "r" : "mrw" };
    return 0;
}

static int look_up_container(struct prepare *x, const struct node_pod *p, uint32_t at,
                             struct state_container *ret, struct error *err)
{
    static const char *const kinds[] = { "init", "regular", "ephemeral" };
    const struct pod_container *c = &pod_of(x->pod)->containers[at];
    int r = 0;

    static_assert(ARRAY_LEN(kinds) == CONTAINER_KIND_COUNT, "name every kind");
    *ret = (struct state_container){
        .name = c->name,
        .kind = kinds[c->kind],
        .mounts = arena_array(&x->arena, c->mounts_count, sizeof *ret->mounts),
        .devices = arena_array(&x->arena, c->devices_count, sizeof *ret->devices),
    };
    for (uint32_t i = 0; i < c->mounts_count && ret->mounts && r == 0; i++) {
        r = look_up_mount(x, p, at, i, &ret->mounts[i], err);
        ret->mounts_count++;
    }
    for (uint32_t i = 0; i < c->devices_count && ret->devices && r == 0; i++) {
        r = look_up_device(x, p, c, i, &ret->devices[i], err);
        ret->devices_count++;
    }
    return r;
}

static int look_up(struct prepare *x, const struct node_pod *p, struct error *err)
{
    uint32_t count = pod_of(x->pod)->containers_count;
    int r = 0;

    look_up_volumes(x, p);
    look_up_groups(x, p);
    x->parts.containers = arena_array(&x->arena, count, sizeof *x->parts.containers);
    for (uint32_t i = 0; i < count && x->parts.containers && r == 0; i++) {
        r = look_up_container(x, p, i, &x->parts.containers[i], err);
        x->parts.containers_count++;
    }
    return r < 0 ? r : arena_check(&x->arena, err);
}

/* --- Parts of volumes: on a worker --- */

/* The pod's text, walked along with its containers, which are in the same order. */
struct expansion {
    struct json doc;
    json_ref root;
    json_ref at; /* the container in the text */
    uint32_t container_at;
    bool is_begun;
    struct container_env env;
};

static json_ref first_container(const struct expansion *e, unsigned kind)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };
    json_ref v = 0;

    static_assert(ARRAY_LEN(lists) == CONTAINER_KIND_COUNT, "name every list");
    for (; kind < CONTAINER_KIND_COUNT && !v; kind++)
        v = json_first(&e->doc, json_path(&e->doc, e->root, "spec", lists[kind]));
    return v;
}

static int expansion_begin(struct expansion *e, struct prepare *x, struct error *err)
{
    int r = json_parse(&e->doc, x->pod->text, &e->root, err);

    if (r < 0)
        return r;
    e->at = first_container(e, CONTAINER_INIT);
    e->is_begun = true;
    return container_env_load(&e->env, &e->doc, e->at, err);
}

/* To the container of this mount, which does not come before the last one. */
static int expansion_go_to(struct expansion *e, struct prepare *x, uint32_t container_at, struct error *err)
{
    const struct pod *pod = pod_of(x->pod);

    if (!e->is_begun) {
        int r = expansion_begin(e, x, err);

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

/* What the mount's path in the volume is. */
static int sub_path_of(struct expansion *e, struct prepare *x, const struct sub_mount *s, const char **ret,
                       struct error *err)
{
    int r = 0;

    *ret = s->wanted->sub_path;
    if (s->wanted->sub_path_expr[0]) {
        r = expansion_go_to(e, x, s->container_at, err);
        if (r == 0)
            r = container_env_expand(&e->env, s->wanted->sub_path_expr, ret, err);
    }
    return r < 0 ? r : sub_path_check(*ret, err);
}

/* People see what failed; the paths of this machine are for the log. */
static int bind_failed(struct prepare *x, const struct sub_mount *s, const char *words, struct error *err)
{
    char volume[QUOTED_BYTES], container[QUOTED_BYTES];

    x->detail = *err;
    return error_set(err, err->code, "failed to %s for volumeMount %s of container %s", words,
                     quoted(volume, s->wanted->volume), quoted(container, s->container));
}

static int bind_one(struct prepare *x, struct expansion *e, const struct sub_mount *s, struct error *err)
{
    struct sub_path part = {
        .volume_path = s->volume_path,
        .volume_name = s->volume_name,
        .container = s->container,
        .pod_dir = x->dir,
        .index = s->index,
        .is_read_only = s->mount->is_read_only,
    };
    char target[PATH_MAX];

    if (sub_path_of(e, x, s, &part.path, err) < 0)
        return -(int)err->code;
    if (!part.path[0])
        return 0; /* the whole of it, after all */
    if (sub_path_make(s->volume_path, part.path, err) < 0)
        return bind_failed(x, s, "create subPath directory", err);
    if (sub_path_bind(&x->env.tools, &part, target, err) < 0)
        return bind_failed(x, s, "prepare subPath", err);
    s->mount->host_path = arena_dup(&x->arena, str_of(target));
    return s->mount->host_path ? 0 : arena_check(&x->arena, err);
}

static int bind_all(struct prepare *x, struct error *err)
{
    struct expansion e = { 0 };
    int r = 0;

    json_init(&e.doc, OBJECT_TEXT_BYTES_MAX);
    container_env_init(&e.env, pod_of(x->pod), x->seed);
    for (size_t i = 0; i < x->subs.count && r == 0; i++) {
        if (atomic_load(&x->job.stop))
            r = error_set(err, ERR_CANCELLED, "stopped");
        else
            r = bind_one(x, &e, &x->subs.items[i], err);
    }
    container_env_done(&e.env);
    json_done(&e.doc);
    return r;
}

/* --- What is not there: on a worker --- */

/* A hostPath without a type is not checked, as everywhere: container runtimes make the directory. The file
 * and the condition say so. */
static void find_missing(struct prepare *x)
{
    for (uint32_t i = 0; i < x->parts.volumes_count; i++) {
        struct state_volume *v = &x->parts.volumes[i];
        enum file_kind kind = FILE_OTHER;
        char path[PATH_MAX + 2], name[QUOTED_BYTES];
        struct error ignored; /* something is there then */

        if (strcmp(v->plugin, HOST_PATH_PLUGIN) != 0 || host_file_kind(v->path, &kind, &ignored) < 0 ||
            kind != FILE_MISSING)
            continue;
        v->is_missing = true;
        buf_addf(&x->missing, "%shostPath %s of volume %s did not exist", x->missing.len ? "; " : "",
                 quote(path, sizeof path, str_of(v->path)), quoted(name, v->name));
    }
    if (x->missing.len)
        buf_add_cstr(&x->missing, ": the program that starts the containers has to create it");
}

/* --- The job --- */

static int prepare_run(struct job *j, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    struct prepare *x = CONTAINER_OF(j, struct prepare, job);
    int r = bind_all(x, err);

    find_missing(x);
    if (r == 0)
        r = pod_state_build(&x->state, &x->parts, x->hook, err);
    if (r < 0)
        return r;
    pod_state_write(&x->state, &text);
    r = buf_check(&text, "the pod's state", err);
    if (r < 0 || (!x->writes_pod && str_eq(buf_str(&text), buf_str(&x->old))))
        return r;
    return state_file_write(x->dir, buf_str(&text), x->writes_pod ? x->pod : NULL, err);
}

static void prepare_free(struct job *j)
{
    struct prepare *x = CONTAINER_OF(j, struct prepare, job);

    vec_done(&x->subs);
    buf_done(&x->old);
    buf_done(&x->missing);
    pod_state_done(&x->state);
    x->pod = object_unref(x->pod);
    arena_done(&x->arena);
    free(x);
}

static const struct job_type prepare_type = { "preparation of a pod", prepare_run, prepare_free };

static struct prepare *prepare_alloc(const struct node_pod *p)
{
    struct prepare *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->job.type = &prepare_type;
    x->job.about = x->dir;
    x->arena = ARENA_INIT(PREPARE_BYTES_MAX);
    buf_init(&x->old, STATE_BYTES_MAX);
    buf_init(&x->missing, STATE_BYTES_MAX);
    pod_state_init(&x->state);
    x->env = volume_env_copy(&p->agent->env, &x->job.stop, &x->arena);
    return x;
}

int pod_prepare_new(const struct node_pod *p, enum hook_state hook, bool writes_pod,
                    const struct pod_state *old, struct job **ret, struct error *err)
{
    struct prepare *x = prepare_alloc(p);
    struct rng rng;
    int r;

    if (!x)
        return error_no_memory(err);
    x->pod = object_ref(p->object);
    x->parts.pod = x->pod;
    x->hook = hook;
    x->writes_pod = writes_pod;
    rng_init(&rng, part_seed(&p->agent->o.part, "node/env"));
    x->seed = (struct hash_seed){ rng_u64(&rng), rng_u64(&rng) };
    if (old && old->root)
        pod_state_write(old, &x->old);
    r = layout_pod_dir(p->agent->root, p->uid, x->dir, err);
    if (r == 0)
        r = look_up(x, p, err);
    if (r < 0) {
        prepare_free(&x->job);
        return r;
    }
    *ret = &x->job;
    return 0;
}

void pod_prepare_take_state(struct job *j, struct pod_state *s)
{
    struct prepare *x = CONTAINER_OF(j, struct prepare, job);

    pod_state_done(s);
    *s = x->state;
    pod_state_init(&x->state);
}

bool pod_prepare_take_parts(struct job *j, struct pod_parts *p)
{
    const struct prepare *x = CONTAINER_OF(j, struct prepare, job);
    struct pod_parts new = { .items = calloc(x->subs.count + 1, sizeof *new.items) };
    bool is_whole = new.items;

    for (size_t i = 0; new.items &&i < x->subs.count; i++) {
        const struct sub_mount *s = &x->subs.items[i];
        struct pod_part part;

        if (s->mount->host_path == s->volume_path)
            continue; /* the whole volume, after all */
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
    const struct prepare *x = CONTAINER_OF(j, struct prepare, job);

    return buf_cstr(&x->missing);
}

const char *pod_prepare_detail(struct job *j)
{
    return CONTAINER_OF(j, struct prepare, job)->detail.msg;
}

/* --- The end --- */

struct removal {
    struct job job;
    struct arena arena;
    struct volume_env env;
    const char *pod_uid;
};

static int removal_run(struct job *j, struct error *err)
{
    struct removal *x = CONTAINER_OF(j, struct removal, job);

    return pod_dir_remove(&x->env, x->pod_uid, err);
}

static void removal_free(struct job *j)
{
    struct removal *x = CONTAINER_OF(j, struct removal, job);

    arena_done(&x->arena);
    free(x);
}

static const struct job_type removal_type = { "removal of a pod's directory", removal_run, removal_free };

struct job *pod_remove_new(const struct node_pod *p)
{
    struct removal *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->job.type = &removal_type;
    x->arena = ARENA_INIT(PREPARE_BYTES_MAX);
    x->env = volume_env_copy(&p->agent->env, &x->job.stop, &x->arena);
    x->pod_uid = x->job.about = arena_dup(&x->arena, str_of(p->uid));
    if (x->arena.failed) {
        removal_free(&x->job);
        return NULL;
    }
    return &x->job;
}
