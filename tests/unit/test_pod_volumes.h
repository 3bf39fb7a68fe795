/* What the tests of emptyDir and of the volumes that show objects share: a node's root directory, a pod with
 * one volume or several, and what is found on disk. */
#ifndef BERTH_TESTS_TEST_POD_VOLUMES_H
#define BERTH_TESTS_TEST_POD_VOLUMES_H

#include "tests/unit/test_mounts.h"
#include "tests/unit/test_plugins.h"

#include <sys/statfs.h>

#include "host/remove.h"

#define CONTENTS_MAX 8
#define NOW_NS (INT64_C(1700000000) * (int64_t)NS_PER_S)

struct scene {
    struct test_dir *d;
    struct volume_env env;
    struct manual_clock clock;
    host_stop stop;
    struct object *pod;
    struct object *node; /* NULL for none */
    struct volume_content contents[CONTENTS_MAX];
    uint32_t contents_count;
    int64_t fs_group, fs_user;
    bool is_remount;
    uint64_t random;
};

/* spec: the members of a pod's spec. */
static inline void scene_init(struct scene *s, const char *spec)
{
    *s = (struct scene){ .d = mounts_dir_new(), .fs_group = -1, .fs_user = -1, .random = 1 };
    manual_clock_init(&s->clock, NS_PER_S, NOW_NS);
    s->env = (struct volume_env){
        .root = s->d->path, .node_name = "n", .stop = &s->stop, .clock = &s->clock.clock
    };
    s->env.tools.stop = &s->stop;
    s->pod = plugin_object(KIND_POD,
                           "{'metadata':{'name':'web-0','namespace':'shop','uid':'u-1'},'spec':{%s}}", spec);
}

static inline void scene_clear_contents(struct scene *s)
{
    for (uint32_t i = 0; i < s->contents_count; i++)
        object_unref((struct object *)(uintptr_t)s->contents[i].object);
    s->contents_count = 0;
}

static inline void scene_done(struct scene *s)
{
    scene_clear_contents(s);
    s->pod = object_unref(s->pod);
    s->node = object_unref(s->node);
    s->d = mounts_dir_free(s->d);
}

/* Another pod object of the same uid. */
static inline void scene_change_pod(struct scene *s, const char *spec)
{
    s->pod = object_unref(s->pod);
    s->pod = plugin_object(KIND_POD,
                           "{'metadata':{'name':'web-0','namespace':'shop','uid':'u-1'},'spec':{%s}}", spec);
}

static inline void has_object(struct scene *s, uint32_t index, enum kind kind, const char *text)
{
    s->contents[s->contents_count++] = (struct volume_content){
        .object = plugin_object(kind, "%s", text),
        .projection = kind == KIND_SECRET ? PROJECTION_SECRET : PROJECTION_CONFIG_MAP,
        .index = index,
    };
}

/* The first volume of the pod. */
static inline struct set_up_request scene_request(const struct scene *s)
{
    return (struct set_up_request){
        .spec = { .inlined = &pod_of(s->pod)->volumes.items[0] },
        .pod = pod_of(s->pod),
        .node = s->node ? node_of(s->node) : NULL,
        .contents = s->contents,
        .contents_count = s->contents_count,
        .device_path = "",
        .fs_group = s->fs_group,
        .fs_user = s->fs_user,
        .is_remount = s->is_remount,
        .random = s->random,
    };
}

static inline int set_up(struct scene *s, const struct volume_plugin *p)
{
    struct set_up_request q = scene_request(s);

    s->random++;
    assert_true(p->can_support(p, &q.spec));
    return p->pods->set_up(p, &s->env, &q, &err);
}

static inline int tear_down(struct scene *s, const struct volume_plugin *p)
{
    return p->pods->tear_down(p, &s->env, pod_of(s->pod)->volumes.items[0].name, s->pod->uid, &err);
}

/* A path in the directory of the pod. */
static inline const char *in_pod(const struct scene *s, const char *path)
{
    char whole[TEST_PATH_BYTES];

    (void)snprintf(whole, sizeof whole, "pods/u-1/%s", path);
    return in_dir(s->d, whole);
}

static inline unsigned mode_of(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        fail_msg("%s: %s", path, strerror(errno));
    return st.st_mode & 07777;
}

static inline gid_t gid_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_gid;
}

static inline long magic_of(const char *path)
{
    struct statfs fs;

    assert_int_equal(statfs(path, &fs), 0);
    return (long)fs.f_type;
}

static inline void put_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

/* The contents of a small file; NULL when it cannot be read. */
static inline const char *text_of(const char *path)
{
    static char texts[4][4096];
    static unsigned turn;
    char *text = texts[turn++ % 4];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof texts[0] - 1) : -1;

    if (fd >= 0)
        (void)close(fd);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    return text;
}

static inline const char *link_of(const char *path)
{
    static char targets[2][PATH_MAX];
    static unsigned turn;
    char *target = targets[turn++ % 2];
    ssize_t n = readlink(path, target, PATH_MAX - 1);

    assert_true(n >= 0);
    target[n] = '\0';
    return target;
}

/* The options of what is mounted there, as the kernel shows them; "" when nothing is. */
static inline const char *options_at(const char *path)
{
    static char line[PATH_MAX * 2];
    FILE *f = fopen("/proc/self/mounts", "re");
    char *found = NULL;

    assert_non_null(f);
    while (!found && fgets(line, sizeof line, f)) {
        char *at = strchr(line, ' '), *end = at ? strchr(at + 1, ' ') : NULL;
        if (!end)
            continue;
        *end = '\0';
        if (strcmp(at + 1, path) == 0)
            found = end + 1;
    }
    (void)fclose(f);
    return found ? found : "";
}

#endif
