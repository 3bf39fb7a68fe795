/* `berth bench volumes`: volumes of pods that are set up, set up again without a change, and torn down, one
 * after the other on one thread, each in its own pod.
 *
 * Runs in a temporary directory below the current one, so that it measures the disk of the current directory.
 * As root it uses its own mount namespace, with first 10, then 1,000, then 10,000 additional mounts: this
 * shows costs that grow with the number of mounts. Without the right to mount, only volumes on disk are
 * measured.
 *
 *   set up, again, down   volumes per second, and microseconds of CPU per volume
 *
 * An emptyDir contains a directory when it is torn down; a ConfigMap and a Secret have four keys. */
#include "bench/bench.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "api/pod.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "bench/bench_wait.h"
#include "host/fs.h"
#include "host/mount_syscall.h"
#include "host/remove.h"
#include "host/safe_path.h"
#include "io/clock.h"
#include "io/path.h"
#include "plugins/builtin.h"

#define TEXT_BYTES_MAX (1 << 16)
#define UID_BYTES 48

struct bench_kind {
    const char *what;
    const struct volume_plugin *plugin;
    uint8_t projection; /* of its one object; PROJECTION_UNKNOWN for none */
    bool mounts;
    const char *pod;
};

#define POD(source) "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"volumes\":[{\"name\":\"v\"," source "}]}}"

static const struct bench_kind kinds[] = {
    { "emptyDir", &empty_dir_plugin, PROJECTION_UNKNOWN, false, POD("\"emptyDir\":{}") },
    { "configMap", &config_map_plugin, PROJECTION_CONFIG_MAP, false,
      POD("\"configMap\":{\"name\":\"m\",\"defaultMode\":420}") },
    { "emptyDir, Memory", &empty_dir_plugin, PROJECTION_UNKNOWN, true,
      POD("\"emptyDir\":{\"medium\":\"Memory\",\"sizeLimit\":\"1Mi\"}") },
    { "secret", &secret_plugin, PROJECTION_SECRET, true,
      POD("\"secret\":{\"secretName\":\"m\",\"defaultMode\":256}") },
};

static const uint64_t mount_counts[] = { 10, 1000, 10000 };

struct bench_volumes {
    struct volume_env env;
    char root[PATH_MAX];
    char mounts_dir[PATH_MAX];
    uint64_t mounts;
    uint64_t count;
    struct object *config_map; /* of four keys */
    struct object *secret;     /* the same */
};

/* --- Objects --- */

static int decode_object(const struct kind_info *kind, const char *text, struct object **ret,
                         struct error *err)
{
    _cleanup_(json_done_p) struct json scratch;

    json_init(&scratch, TEXT_BYTES_MAX);
    return object_decode(kind, str_of(text), &scratch, ret, err);
}

static int make_objects(struct bench_volumes *b, struct error *err)
{
    int r = decode_object(kind_info(KIND_CONFIG_MAP),
                          "{\"metadata\":{\"name\":\"m\"},\"data\":{\"a.conf\":\"one\",\"b.conf\":\"two\","
                          "\"c.conf\":\"three\",\"d.conf\":\"four\"}}",
                          &b->config_map, err);

    if (r < 0)
        return r;
    return decode_object(
        kind_info(KIND_SECRET),
        "{\"metadata\":{\"name\":\"m\"},\"data\":{\"a\":\"b25l\",\"b\":\"dHdv\",\"c\":\"dGhyZWU=\","
        "\"d\":\"Zm91cg==\"}}",
        &b->secret, err);
}

/* --- One volume after the other --- */

struct round {
    const struct bench_kind *kind;
    struct object *pod; /* template of all pods; only the uid differs */
    struct volume_content content;
};

static int set_up_one(struct bench_volumes *b, const struct round *round, uint64_t i, struct error *err)
{
    struct pod pod = *pod_of(round->pod);
    char uid[UID_BYTES];
    struct set_up_request q = {
        .spec = { .inlined = &pod.volumes.items[0] },
        .pod = &pod,
        .contents = &round->content,
        .contents_count = round->kind->projection == PROJECTION_UNKNOWN ? 0 : 1,
        .device_path = "",
        .fs_group = -1,
        .fs_user = -1,
        .random = i,
    };

    (void)snprintf(uid, sizeof uid, "pod-%" PRIu64, i);
    pod.obj.uid = uid;
    return round->kind->plugin->pods->set_up(round->kind->plugin, &b->env, &q, err);
}

static int tear_down_one(struct bench_volumes *b, const struct round *round, uint64_t i, struct error *err)
{
    char uid[UID_BYTES];

    (void)snprintf(uid, sizeof uid, "pod-%" PRIu64, i);
    return round->kind->plugin->pods->tear_down(round->kind->plugin, &b->env, "v", uid, err);
}

struct figure {
    double per_s;
    double cpu_us;
};

typedef int round_fn(struct bench_volumes *b, const struct round *round, uint64_t i, struct error *err);

static int measure_round(struct bench_volumes *b, const struct round *round, round_fn *one,
                         struct figure *ret, struct error *err)
{
    uint64_t start_ns = clock_mono_ns(b->env.clock), cpu_start_ns = clock_thread_cpu_ns(), ns;
    int r = 0;

    bench_phase(round->kind->what, b->count);
    for (uint64_t i = 0; i < b->count && r == 0; i++) {
        r = one(b, round, i, err);
        bench_step(i);
    }
    bench_phase_end();
    ns = clock_mono_ns(b->env.clock) - start_ns;
    ret->per_s = ns ? (double)b->count * (double)NS_PER_S / (double)ns : 0;
    ret->cpu_us = (double)(clock_thread_cpu_ns() - cpu_start_ns) / (double)b->count / (double)NS_PER_US;
    return r;
}

static int run_pods(struct bench_volumes *b, const struct round *round, struct error *err)
{
    const struct volume_plugin *plugin = round->kind->plugin;
    char uid[UID_BYTES], path[PATH_MAX];
    struct figure made = { 0 }, again = { 0 }, gone = { 0 };
    int r = measure_round(b, round, set_up_one, &made, err);

    if (r == 0)
        r = measure_round(b, round, set_up_one, &again, err);
    for (uint64_t i = 0; i < b->count && r == 0 && round->kind->projection == PROJECTION_UNKNOWN; i++) {
        (void)snprintf(uid, sizeof uid, "pod-%" PRIu64, i);
        r = plugin->pods->path(plugin, b->root, uid, "v", /* spec= */ NULL, path, err);
        if (r == 0)
            r = host_make_below(path, "used", 0755, err); /* so that it is not empty */
    }
    if (r == 0)
        r = measure_round(b, round, tear_down_one, &gone, err);
    if (r < 0)
        return r;
    printf("%8" PRIu64 "  %-18s %8.0f %7.0f %8.0f %7.0f %8.0f %7.0f\n", b->mounts, round->kind->what,
           made.per_s, made.cpu_us, again.per_s, again.cpu_us, gone.per_s, gone.cpu_us);
    (void)fflush(stdout); /* it takes a while */
    return 0;
}

static int run_kind(struct bench_volumes *b, const struct bench_kind *kind, struct error *err)
{
    struct round x = { .kind = kind };
    int r;

    x.content.projection = kind->projection;
    x.content.object = kind->projection == PROJECTION_SECRET ? b->secret : b->config_map;
    r = decode_object(kind_info(KIND_POD), kind->pod, &x.pod, err);
    if (r == 0)
        r = run_pods(b, &x, err);
    x.pod = object_unref(x.pod);
    return r;
}

static int run_kinds(struct bench_volumes *b, bool may_mount, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(kinds) && r == 0; i++)
        if (may_mount || !kinds[i].mounts)
            r = run_kind(b, &kinds[i], err);
    return r;
}

/* --- Additional mounts --- */

static int mount_tmpfs(struct bench_volumes *b, const char *target, struct error *err)
{
    struct mount_plan plan = { .source = "tmpfs", .target = target, .type = "tmpfs" };
    int r = host_make_path(target, 0700, err);

    return r < 0 ? r : host_mount(&b->env.tools, &plan, err);
}

/* All of them are below one mount, so that they are removed together. */
static int mount_until(struct bench_volumes *b, uint64_t mounts, struct error *err)
{
    char target[PATH_MAX + 32];
    int r = b->mounts == 0 ? mount_tmpfs(b, b->mounts_dir, err) : 0;

    b->mounts = r == 0 && b->mounts == 0 ? 1 : b->mounts;
    while (r == 0 && b->mounts < mounts) {
        (void)snprintf(target, sizeof target, "%s/%" PRIu64, b->mounts_dir, b->mounts);
        r = mount_tmpfs(b, target, err);
        b->mounts += r == 0;
    }
    return r;
}

static int run_all(struct bench_volumes *b, struct error *err)
{
    int r = host_enter_private_mounts(err);
    bool may_mount = r == 0;

    if (!may_mount)
        printf("no mounts: %s; volumes on disk, with the machine's own mounts\n", err->msg);
    printf("  mounts  %-18s %8s %7s %8s %7s %8s %7s\n", "volume", "set up/s", "us", "again/s", "us", "down/s",
           "us");
    if (!may_mount)
        return run_kinds(b, may_mount, err);
    for (size_t i = 0; i < ARRAY_LEN(mount_counts); i++) {
        r = mount_until(b, mount_counts[i], err);
        if (r == 0)
            r = run_kinds(b, may_mount, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int make_root(struct bench_volumes *b, struct error *err)
{
    char dir[PATH_MAX], absolute[PATH_MAX];
    int r = io_tmp_dir_below(".", dir, err), n;

    if (r == 0)
        r = io_absolute(dir, absolute, err);
    if (r == 0)
        r = host_clean_path(absolute, b->root, err);
    if (r < 0)
        return r;
    n = snprintf(b->mounts_dir, sizeof b->mounts_dir, "%s/mounts", b->root);
    return n < 0 || (size_t)n >= sizeof b->mounts_dir
               ? error_set(err, ERR_INVALID, "path '%s' is too long", b->root)
               : 0;
}

int bench_volumes(const struct bench_size *size, struct error *err)
{
    struct bench_volumes b = { .count = size->volumes };
    struct error ignored;
    int r = make_root(&b, err);

    if (r < 0)
        return r;
    bench_baseline();
    b.env = (struct volume_env){ .root = b.root, .node_name = "", .clock = clock_system() };
    r = make_objects(&b, err);
    if (r == 0)
        r = run_all(&b, err);
    if (b.mounts > 0)
        (void)host_unmount_lazily(b.mounts_dir,
                                  &ignored); /* otherwise the kernel does it when the process exits */
    /* Removes also volumes that a failure left. */
    if (host_remove_tree(/* base= */ NULL, b.root, /* guard= */ NULL, /* stop= */ NULL, &ignored) < 0)
        printf("%s\n", ignored.msg);
    b.config_map = object_unref(b.config_map);
    b.secret = object_unref(b.secret);
    return r;
}
