/* For the tests of pods' lives: the whole API server, and a node whose core is a toy. Volumes are directories
 * that are there as soon as a pod is heard of, or when the test says so; they go when the pod is over. What
 * is tested is real: jobs, state files, hooks, sub paths, requests. A restart of the process reads its root
 * again. */
#ifndef BERTH_TESTS_TEST_NODE_LIFE_H
#define BERTH_TESTS_TEST_NODE_LIFE_H

#include "tests/unit/test_mounts.h"
#include "tests/unit/test_parts.h"

#include "host/dirs.h"
#include "host/sub_path.h"
#include "io/file.h"
#include "node/node_int.h"
#include "node/pod_report.h"
#include "plugins/layout.h"
#include "plugins/registry.h"

#define NODE "n1"
#define CONDITION_AT(i, field) "status/conditions/" #i "/" field

static struct toy {
    struct test_dir *dir;
    char root[TEST_PATH_BYTES * 2];
    const char *hook; /* NULL: none */
    unsigned boots;   /* of the machine, before this one */
    struct agent *agent;
    struct pool *pool;
    /* What the toy core does. */
    bool are_late;                /* volumes do not come by themselves */
    bool are_held;                /* volumes do not go by themselves */
    enum volumes_state otherwise; /* of those that have not come */
    bool is_blind;                /* the first list of pods does not end */
    unsigned touched, populated, dropped, orphan_looks;
    unsigned removals_fail; /* so many to come */
} toy;

/* --- The core, as a toy --- */

static inline bool toy_has_all(const struct node_pod *p)
{
    const struct pod_volumes *v = &pod_of(p->object)->volumes;

    for (uint32_t i = 0; i < v->count; i++) {
        const struct node_mount *m = pod_mount_named(p, v->items[i].name);

        if (!m || m->state != MOUNT_DONE)
            return false;
    }
    return true;
}

enum volumes_state pod_volumes_state(const struct node_pod *p)
{
    if (p->errors_count)
        return VOLUMES_FAILED;
    return toy_has_all(p) ? VOLUMES_READY : toy.otherwise;
}

void pod_write_volumes_state(const struct node_pod *p, const char *cause, struct buf *out)
{
    (void)p;
    buf_addf(out, "unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: %s", cause);
}

struct node_mount *pod_mount_named(const struct node_pod *p, const char *outer_name)
{
    for (struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod))
        for (size_t i = 0; i < m->outer_names.count; i++)
            if (m->is_wanted && strcmp(m->outer_names.items[i], outer_name) == 0)
                return m;
    return NULL;
}

bool pod_is_unmounted(const struct node_pod *p)
{
    return TAILQ_EMPTY(&p->mounts);
}

struct node_pod *agent_pod(const struct agent *a, const char *uid)
{
    return omap_find(&a->world.pods, /* rank= */ 0, uid);
}

struct node_pod *agent_add_pod(struct agent *a, const char *uid)
{
    struct node_pod *p = agent_pod(a, uid);

    if (p)
        return p;
    p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->agent = a;
    p->uid = strdup(uid);
    TAILQ_INIT(&p->mounts);
    assert_int_equal(omap_insert(&a->world.pods, /* rank= */ 0, p), 0);
    pod_life_init(p);
    return p;
}

static inline void toy_unmount(struct node_pod *p)
{
    struct host_tools tools = { 0 };
    struct node_mount *m;
    char dir[PATH_MAX];

    ASSERT_OK(layout_pod_dir(toy.root, p->uid, dir, &err));
    while ((m = TAILQ_FIRST(&p->mounts))) {
        ASSERT_OK(sub_paths_clean(&tools, dir, spec_name(&m->spec.spec), &err));
        mount_unwant(m);
        m->state = MOUNT_NONE;
        m->volume->is_held = false;
        assert_true(node_world_drop_mount(&p->agent->world, m));
    }
}

static inline void toy_free_pod(struct node_pod *p)
{
    struct node_mount *m;

    pod_life_done(p);
    while ((m = TAILQ_FIRST(&p->mounts))) {
        mount_unwant(m);
        m->state = MOUNT_NONE;
        m->volume->is_held = false;
        (void)node_world_drop_mount(&p->agent->world, m);
    }
    (void)omap_remove(&p->agent->world.pods, /* rank= */ 0, p);
    object_unref(p->object);
    for (unsigned i = 0; i < p->errors_count; i++)
        free(p->errors[i]);
    free(p->uid);
    free(p);
}

const struct node *agent_node(const struct agent *a)
{
    (void)a;
    return NULL;
}

void agent_drop_pod(struct node_pod *p)
{
    toy.dropped++;
    assert_true(p->life.is_over);
    assert_false(p->is_known);
    toy_free_pod(p);
}

/* Every pod of the world, in order. */
#define EACH_POD(p, at)                                             \
    struct node_pod *p = omap_first(&toy.agent->world.pods, &(at)); \
    p;                                                              \
    p = omap_next(&(at))

void agent_touch(struct agent *a)
{
    struct omap_cursor at;

    (void)a;
    toy.touched++;
    for (EACH_POD(p, at))
        if (pod_may_be_unmounted(p) && !toy.are_held) {
            toy_unmount(p);
            pod_life_sync(p);
        }
}

void populate_pod(struct node_pod *p)
{
    (void)p;
    toy.populated++;
}

void orphans_scan(struct orphans *o)
{
    (void)o;
    toy.orphan_looks++;
}

int pod_dir_remove(const struct volume_env *env, const char *pod_uid, struct error *e)
{
    char dir[PATH_MAX];
    int r = layout_pod_dir(env->root, pod_uid, dir, e);

    if (toy.removals_fail > 0) {
        toy.removals_fail--;
        return error_set(e, ERR_BUSY, "orphaned pod \"%s\" found, but something is left", pod_uid);
    }
    return r < 0 ? r : host_remove_own_tree(/* base= */ NULL, dir, env->stop, e);
}

/* --- Volumes --- */

/* The volume is there: an emptyDir's directory, or of a device the link. */
static inline struct node_mount *toy_bring(struct node_pod *p, const char *name, bool is_block)
{
    const struct volume_plugin *plugin = NULL;
    char unique[512], path[PATH_MAX];
    struct node_volume *v;
    struct node_mount *m;

    ASSERT_OK(plugins_by_name(plugins_of_node, "kubernetes.io/empty-dir", &plugin, &err));
    (void)snprintf(unique, sizeof unique, "kubernetes.io/empty-dir/%s-%s", p->uid, name);
    v = node_world_add_volume(&p->agent->world, unique, plugin);
    m = node_world_add_mount(v, p);
    assert_true(held_spec_set(&m->spec, p->object, name, false));
    assert_true(mount_add_name(m, name));
    m->is_wanted = v->is_held = true;
    m->is_block = is_block;
    m->state = MOUNT_DONE;
    ASSERT_OK(layout_pod_path(toy.root, p->uid, is_block ? "volumeDevices" : "volumes",
                              "kubernetes.io/empty-dir", name, path, &err));
    if (!is_block)
        ASSERT_OK(io_mkdirs(path, 0755, &err));
    node_world_set_text(&m->path, path);
    return m;
}

static inline void toy_bring_all(struct node_pod *p)
{
    const struct pod *pod = pod_of(p->object);

    for (uint32_t i = 0; i < pod->volumes.count; i++) {
        const char *name = pod->volumes.items[i].name;

        if (!pod_mount_named(p, name))
            (void)toy_bring(p, name, strncmp(name, "raw", 3) == 0);
    }
    pod_life_sync(p);
}

/* --- The node's process --- */

static inline void toy_see(const struct object *o)
{
    struct node_pod *p = agent_add_pod(toy.agent, o->uid);
    struct object *old = p->object;

    p->object = object_ref(o);
    object_unref(old);
    p->is_known = true;
    if (!toy.are_late && !p->life.is_over)
        toy_bring_all(p);
    pod_life_sync(p);
}

static inline void toy_on_add(void *ctx, const struct object *o, bool is_initial)
{
    (void)ctx;
    (void)is_initial;
    toy_see(o);
}

static inline void toy_on_update(void *ctx, const struct object *old, const struct object *o)
{
    (void)ctx;
    (void)old;
    toy_see(o);
}

static inline void toy_on_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct node_pod *p = agent_pod(toy.agent, o->uid);

    (void)ctx;
    (void)is_final_unknown;
    if (p) {
        p->is_known = false;
        pod_life_sync(p);
    }
}

static inline void toy_look_at_all(void)
{
    struct omap_cursor at;

    for (EACH_POD(p, at))
        pod_life_sync(p);
}

static inline void toy_on_synced(void *ctx)
{
    struct agent *a = ctx;

    a->has_pods = !toy.is_blind;
    toy_look_at_all();
}

static inline int toy_make(const struct component_deps *o, void **ret, struct error *e)
{
    struct agent *a = calloc(1, sizeof *a);
    struct recorder_options recording = { .loop = o->loop,
                                          .clock = o->clock,
                                          .client = o->client,
                                          .seed = 1,
                                          .component = "kubelet",
                                          .host = NODE };
    struct informer_options pods = { .loop = o->loop,
                                     .client = o->client,
                                     .seed = 2,
                                     .kind = &pod_kind,
                                     .field_selector = "spec.nodeName=" NODE };

    assert_non_null(a);
    toy.agent = a;
    ASSERT_OK(pool_new(o->loop, 2, 64, &toy.pool, e));
    a->o = (struct agent_options){ .part = *o, .pool = toy.pool, .name = NODE, .hook = toy.hook };
    ASSERT_OK(component_api(o, NODE_FIELD_MANAGER, &a->api, e));
    a->api.rng = &a->rng;
    (void)snprintf(a->root, sizeof a->root, "%s", toy.root);
    (void)snprintf(a->boot_id, sizeof a->boot_id, "boot-%u", toy.boots);
    a->env = (struct volume_env){ .root = a->root, .node_name = NODE, .clock = o->clock };
    node_world_init(&a->world);
    ASSERT_OK(recorder_new(&recording, &a->recorder, e));
    ASSERT_OK(informer_new(&pods, &a->pods, e));
    a->on_pods = (struct informer_handler){ .on_add = toy_on_add,
                                            .on_update = toy_on_update,
                                            .on_delete = toy_on_delete,
                                            .on_synced = toy_on_synced,
                                            .ctx = a };
    *ret = a;
    return 0;
}

static inline void toy_start(void *part)
{
    struct agent *a = part;
    struct arena arena = ARENA_INIT(1 << 20);
    struct texts uids = { 0 };
    char dir[TEST_PATH_BYTES * 3];

    (void)snprintf(dir, sizeof dir, "%s/pods", toy.root);
    ASSERT_OK(host_list_dirs(dir, &arena, &uids, &err));
    for (uint32_t i = 0; i < uids.count; i++) {
        struct node_pod *p = agent_add_pod(a, uids.items[i]);
        struct buf text = BUF_INIT(STATE_BYTES_MAX);
        char path[TEST_PATH_BYTES * 4];

        (void)snprintf(path, sizeof path, "%s/%s/berth.json", dir, uids.items[i]);
        if (io_read_file(path, STATE_BYTES_MAX, &text, &err) == 0 && text.len)
            pod_life_restore(p, buf_str(&text));
        else if (access(path, F_OK) == 0)
            pod_life_restore_unreadable(p, "not readable");
        else
            pod_life_restore(p, STR_LIT(""));
        buf_done(&text);
    }
    arena_done(&arena);
    a->has_scanned = true;
    informer_add_handler(a->pods, &a->on_pods);
    informer_start(a->pods);
    toy_look_at_all();
}

static inline void toy_end(void *part)
{
    struct agent *a = part;
    struct omap_cursor at;
    struct node_pod *p;

    while ((p = omap_first(&a->world.pods, &at)))
        toy_free_pod(p);
    if (a->on_pods.informer)
        informer_remove_handler(&a->on_pods);
    a->pods = informer_free(a->pods);
    a->recorder = recorder_free(a->recorder);
    node_world_done(&a->world);
    toy.pool = pool_free(toy.pool);
    toy.agent = NULL;
    free(a);
}

static const struct part_type toy_type = { toy_make, toy_start, toy_end };

/* --- A world --- */

static inline bool toy_is_busy(void)
{
    struct omap_cursor at;

    for (EACH_POD(p, at))
        if (p->life.job || p->life.hook)
            return true;
    return false;
}

/* Until nothing is under way: workers and hooks are waited for, time does not pass. */
static inline void toy_rest(struct parts *w)
{
    (void)signal(SIGALRM, test_on_deadline);
    (void)alarm(TEST_DEADLINE_S);
    do {
        parts_rest(w);
        pool_drain(toy.pool);
        parts_rest(w);
    } while (toy_is_busy());
    (void)alarm(0);
}

static inline void toy_pass(struct parts *w, unsigned seconds)
{
    toy_rest(w);
    for (unsigned i = 0; i < seconds; i++) {
        parts_pass_ns(w, NS_PER_S);
        toy_rest(w);
    }
}

/* A root, a server, and a node. */
static inline void toy_begin(struct parts *w)
{
    char pods[TEST_PATH_BYTES * 3];

    toy = (struct toy){ .dir = mounts_dir_new(), .otherwise = VOLUMES_WAITING, .hook = toy.hook };
    (void)snprintf(toy.root, sizeof toy.root, "%s/root", toy.dir->path);
    (void)snprintf(pods, sizeof pods, "%s/pods", toy.root);
    ASSERT_OK(io_mkdirs(pods, 0755, &err));
    parts_init(w, &toy_type);
    ASSERT_SENT(&w->served, 201, "POST", NODES, "{'metadata':{'name':'" NODE "'}}");
    toy_rest(w);
}

static inline void toy_finish(struct parts *w)
{
    parts_done(w);
    toy.dir = mounts_dir_free(toy.dir);
    toy.hook = NULL;
}

/* The process ends without a word and begins anew. */
static inline void toy_restart(struct parts *w)
{
    process_kill(w);
    process_start(w);
    toy_rest(w);
}

static inline struct node_pod *toy_pod(struct parts *w, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof path, PODS "/%s", name);
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
    return agent_pod(toy.agent, got(&w->served, "metadata/uid"));
}

/* A file of the pod's directory. */
static inline const char *toy_path(const char *uid, const char *name)
{
    static char path[TEST_PATH_BYTES * 4];

    (void)snprintf(path, sizeof path, "%s/pods/%s/%s", toy.root, uid, name);
    return path;
}

static inline bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static inline const char *text_of(const char *path)
{
    static struct buf text = { .len_max = 1 << 20 };

    if (io_read_file(path, 1 << 20, &text, &err) < 0)
        return "-";
    return buf_cstr(&text);
}

#define ASSERT_HAS(text, part)                        \
    do {                                              \
        const char *text_ = (text), *part_ = (part);  \
        if (!strstr(text_, part_))                    \
            fail_msg("no\n%s\nin\n%s", part_, text_); \
    } while (0)

#endif
