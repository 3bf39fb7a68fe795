/* A node for the tests of plugins: a root directory to mount in, pods, and what pods' people are told. */
#ifndef BERTH_TESTS_TEST_VOLUME_ENV_H
#define BERTH_TESTS_TEST_VOLUME_ENV_H

#include "tests/unit/test_mounts.h"
#include "tests/unit/test_plugins.h"

#define POD_UID "7f3e2b1a-0000-4000-8000-00000000000"

struct volume_bench {
    struct test_dir *d;
    char root[TEST_PATH_BYTES * 2];
    struct volume_env env;
    char warnings[2048]; /* "REASON: MESSAGE\n" */
};

static inline void volume_bench_warn(void *ctx, const char *reason, const char *message)
{
    struct volume_bench *b = ctx;
    size_t len = strlen(b->warnings);

    (void)snprintf(b->warnings + len, sizeof b->warnings - len, "%s: %s\n", reason, message);
}

static inline struct volume_bench *volume_bench_new(void)
{
    struct volume_bench *b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->d = mounts_dir_new();
    (void)snprintf(b->root, sizeof b->root, "%s/root", b->d->path);
    assert_int_equal(mkdir(b->root, 0755), 0);
    b->env =
        (struct volume_env){ .root = b->root, .node_name = "n", .warn = volume_bench_warn, .warn_ctx = b };
    return b;
}

static inline struct volume_bench *volume_bench_free(struct volume_bench *b)
{
    if (!b)
        return NULL;
    b->d = mounts_dir_free(b->d);
    free(b);
    return NULL;
}
DEFINE_CLEANUP(struct volume_bench, volume_bench_free)

/* A pod with the uid POD_UID and that digit; its volumes as JSON, "" for none. */
static inline struct object *volume_bench_pod(int digit, const char *volumes)
{
    return plugin_object(
        KIND_POD, "{'metadata':{'name':'p%d','namespace':'a','uid':'" POD_UID "%d'},'spec':{'volumes':[%s]}}",
        digit, digit, volumes);
}

/* A request to set up the PersistentVolume, or without one the first volume of the pod. */
static inline struct set_up_request volume_bench_request(const struct object *pod,
                                                         const struct object *volume)
{
    struct set_up_request q = { .pod = pod_of(pod), .device_path = "", .fs_group = -1, .fs_user = -1 };

    if (volume)
        q.spec.volume = volume_of(volume);
    else
        q.spec.inlined = &q.pod->volumes.items[0];
    return q;
}

/* Where the pod's volume is. */
static inline const char *volume_bench_path(const struct volume_bench *b, const struct volume_plugin *p,
                                            int digit, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char uid[64], *path = paths[next++ % 4];

    (void)snprintf(uid, sizeof uid, POD_UID "%d", digit);
    ASSERT_OK(p->pods->path(p, b->root, uid, name, /* spec= */ NULL, path, &err));
    return path;
}

static inline bool is_mounted(const char *path)
{
    enum host_path_state state;

    ASSERT_OK(host_path_state(path, &state, &err));
    return state == HOST_PATH_MOUNTED;
}

#endif
