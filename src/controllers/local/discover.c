/* The scan of all discovery directories, on a worker: what could be a volume, and why the rest cannot. */
#include "controllers/local/local_int.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/quote.h"
#include "host/device.h"
#include "host/dirs.h"
#include "host/mount_table.h"
#include "host/safe_path.h"

#define SCAN_BYTES_MAX ((size_t)64 << 20)
#define FAILURES_BYTES_MAX 65536
#define QUOTED_BYTES 300
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

/* --- Names and sizes --- */

uint64_t local_round_capacity(uint64_t bytes)
{
    if (bytes >= 10 * GIB)
        return bytes - bytes % GIB;
    return bytes >= 10 * MIB ? bytes - bytes % MIB : bytes;
}

static uint32_t fnv1a(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT32_C(16777619);
    return hash;
}

void local_volume_name(const char *entry, const char *node, const char *class, char ret[LOCAL_NAME_BYTES])
{
    uint32_t hash = fnv1a(fnv1a(fnv1a(UINT32_C(2166136261), entry), node), class);

    (void)snprintf(ret, LOCAL_NAME_BYTES, "local-pv-%" PRIx32, hash);
}

bool local_name_matches(const char *patterns, const char *name)
{
    struct str rest = str_of(patterns);

    while (rest.s) {
        struct str part = str_trim(str_next(&rest, ','));
        char pattern[NAME_MAX + 1];

        if (part.len >= sizeof pattern)
            continue;
        memcpy(pattern, part.s, part.len);
        pattern[part.len] = '\0';
        if (fnmatch(pattern, name, FNM_PATHNAME) == 0)
            return true;
    }
    return false;
}

int local_entry_path(const struct local_class *k, const char *name, char ret[PATH_MAX], struct error *err)
{
    char dir[PATH_MAX];
    int r = host_resolve_path(k->mount_dir, dir, err), n;

    if (r < 0)
        return r;
    n = snprintf(ret, PATH_MAX, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
    if (n < 0 || n >= PATH_MAX)
        return error_set(err, ERR_INVALID, "the path of '%s' is too long", name);
    return 0;
}

/* --- One entry --- */

static int measure_dir(const struct mount_table *t, const char *path, uint64_t *ret, struct error *err)
{
    char quoted[QUOTED_BYTES];
    struct host_usage usage;
    int r;

    if (!mount_table_find(t, path))
        return error_set(err, ERR_INVALID, "path %s is not a valid mount point",
                         quote(quoted, sizeof quoted, str_of(path)));
    r = host_usage_of_fs(path, &usage, err);
    if (r == 0)
        *ret = usage.capacity;
    return r;
}

static int measure(const struct local_class *k, const struct mount_table *t, const char *path, uint64_t *ret,
                   struct error *err)
{
    char quoted[QUOTED_BYTES];
    enum file_kind kind;
    int r = host_file_kind(path, &kind, err);

    if (r < 0)
        return r;
    (void)quote(quoted, sizeof quoted, str_of(path));
    if (kind == FILE_BLOCK_DEVICE)
        return device_size(path, ret, err);
    if (kind == FILE_DIR && k->mode == VOLUME_MODE_BLOCK)
        return error_set(err, ERR_INVALID, "path %s is a directory, but the class is of volumeMode Block",
                         quoted);
    if (kind == FILE_DIR)
        return measure_dir(t, path, ret, err);
    return error_set(err, ERR_INVALID, "path %s is neither a directory nor a block device", quoted);
}

static int scan_entry(struct scan *s, const struct local_class *k, const struct mount_table *t,
                      const char *name, struct error *err)
{
    struct found found = { .class = k, .name = name };
    char path[PATH_MAX];
    int r;

    if (!str_is_utf8(str_of(name)))
        return error_set(err, ERR_INVALID, "a name in '%s' is not UTF-8", k->mount_dir);
    r = local_entry_path(k, name, path, err);
    if (r == 0)
        r = measure(k, t, path, &found.bytes, err);
    if (r < 0)
        return r;
    if (found.bytes == 0)
        return error_set(err, ERR_INVALID, "'%s' has no capacity", path);
    found.bytes = local_round_capacity(found.bytes);
    return vec_push(&s->finds.list, found) < 0 ? error_no_memory(err) : 0;
}

static int scan_class(struct scan *s, const struct local_class *k, const struct mount_table *t,
                      struct error *err)
{
    struct error failed = { 0 };
    struct texts names = { 0 };
    int r = host_list_dir(k->mount_dir, &s->finds.arena, LOCAL_ENTRIES_MAX, &names, err);

    for (uint32_t i = 0; i < names.count && r == 0; i++) {
        if (atomic_load(&s->job.stop))
            return error_set(err, ERR_CANCELLED, "stopped");
        if (local_name_matches(k->name_pattern, names.items[i]) &&
            scan_entry(s, k, t, names.items[i], &failed) < 0)
            (void)buf_addf(&s->failures, "%s: %s\n", k->name, failed.msg);
    }
    return r;
}

static int scan_run(struct job *j, struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *table = NULL;
    struct scan *s = (struct scan *)j;
    struct error failed = { 0 };
    int r = mount_table_read(&table, err);

    for (uint32_t i = 0; i < s->config->classes_count && r == 0; i++) {
        const struct local_class *k = &s->config->classes[i];

        if (scan_class(s, k, table, &failed) < 0) /* the other classes are none the worse */
            (void)buf_addf(&s->failures, "%s: %s\n", k->name, failed.msg);
    }
    return r;
}

void finds_done(struct finds *f)
{
    vec_done(&f->list);
    arena_done(&f->arena);
}

static void scan_free(struct job *j)
{
    struct scan *s = (struct scan *)j;

    finds_done(&s->finds);
    buf_done(&s->failures);
    free(s);
}

static const struct job_type scan_type = { scan_run, scan_free };

struct scan *scan_new(const struct local_config *config)
{
    struct scan *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->job.type = &scan_type;
    s->config = config;
    s->finds.arena = ARENA_INIT(SCAN_BYTES_MAX);
    s->failures = BUF_INIT(FAILURES_BYTES_MAX);
    return s;
}
