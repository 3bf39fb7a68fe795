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

static uint32_t hash_fnv1a(uint32_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT32_C(16777619);
    return hash;
}

void local_volume_name(const char *entry, const char *node, const char *class, char ret[LOCAL_NAME_BYTES])
{
    uint32_t hash = hash_fnv1a(hash_fnv1a(hash_fnv1a(UINT32_C(2166136261), entry), node), class);

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
        return error_set(err, ERR_INVALID, "path of '%s' is too long", name);
    return 0;
}

int local_entry_name(const struct local_class *k, const struct volume *v, char ret[NAME_MAX + 1],
                     struct error *err)
{
    char clean[PATH_MAX];
    int r;

    if (v->source.kind != SOURCE_LOCAL)
        return error_set(err, ERR_INVALID, "not a local volume");
    r = host_clean_path(v->source.local->path, clean, err);
    if (r < 0)
        return r;
    if (!host_path_is_below(clean, k->host_dir) || host_path_depth(clean) != host_path_depth(k->host_dir) + 1)
        return error_set(err, ERR_INVALID, "'%s' is not a direct entry of '%s'", clean, k->host_dir);
    if (snprintf(ret, NAME_MAX + 1, "%s", strrchr(clean, '/') + 1) > NAME_MAX)
        return error_set(err, ERR_INVALID, "name of '%s' is too long", clean);
    return 0;
}

/* --- One entry --- */

static int reject_candidate(struct local_candidate *ret, const char *path, const char *problem,
                            struct error *err)
{
    char quoted[QUOTED_BYTES];

    ret->state = FOUND_NONE;
    ret->problem = problem;
    return error_set(err, ERR_INVALID, "path %s %s", quote_text(quoted, sizeof quoted, str_of(path)),
                     problem);
}

static int measure_candidate(const struct mount_table *t, const char *path, struct local_candidate *ret,
                             struct error *err)
{
    struct host_usage usage;
    enum file_kind kind;
    int r = host_file_kind(path, &kind, err);

    if (r < 0)
        return r;
    if (kind == FILE_BLOCK_DEVICE)
        return device_size(path, &ret->bytes, err);
    if (kind == FILE_DIR && ret->class->mode == VOLUME_MODE_BLOCK)
        return reject_candidate(ret, path, "is a directory, but the class is of volumeMode Block", err);
    if (kind != FILE_DIR)
        return reject_candidate(ret, path, "is neither a directory nor a block device", err);
    if (!mount_table_find(t, path)) {
        ret->disk = DISK_ANY_MOUNT;
        return reject_candidate(ret, path, "is not a valid mount point", err);
    }
    r = host_usage_of_fs(path, &usage, err);
    if (r == 0)
        ret->bytes = usage.capacity;
    return r;
}

static int scan_disk(struct local_scan *s, const struct mount_table *t, struct local_candidate *ret,
                     struct error *err)
{
    char path[PATH_MAX], disk[DISK_NAME_BYTES];
    int r;

    if (!str_is_utf8(str_of(ret->name)))
        return error_set(err, ERR_INVALID, "a file name in '%s' is not UTF-8", ret->class->mount_dir);
    r = local_entry_path(ret->class, ret->name, path, err);
    if (r == 0)
        r = measure_candidate(t, path, ret, err);
    if (r < 0)
        return r;
    if (ret->bytes == 0)
        return error_set(err, ERR_INVALID, "'%s' has no capacity", path);
    r = disk_identify(t, path, disk, err);
    if (r < 0)
        return r;
    ret->bytes = local_round_capacity(ret->bytes);
    ret->disk = arena_dup(&s->finds.arena, str_of(disk));
    if (!ret->disk)
        return error_no_memory(err);
    ret->state = FOUND_DISK;
    return 0;
}

static int scan_class(struct local_scan *s, const struct local_class *k, const struct mount_table *t,
                      struct error *err)
{
    struct error failed = { 0 };
    struct texts names = { 0 };
    int r = host_list_dir(k->mount_dir, &s->finds.arena, LOCAL_ENTRIES_MAX, &names, err);

    for (uint32_t i = 0; i < names.count && r == 0; i++) {
        struct local_candidate found = {
            .class = k, .name = names.items[i], .state = FOUND_UNKNOWN, .disk = "", .problem = ""
        };
        int one;

        if (atomic_load(&s->job.stop))
            return error_set(err, ERR_CANCELLED, "stopped");
        if (!local_name_matches(k->name_pattern, found.name))
            continue;
        one = scan_disk(s, t, &found, &failed);
        if (vec_push(&s->finds.list, found) < 0)
            one = error_no_memory(&failed);
        if (one < 0)
            buf_addf(&s->failures, "%s: %s\n", k->name, failed.msg);
    }
    if (r == 0 && vec_push(&s->finds.listed, k) < 0)
        return error_no_memory(err);
    return r;
}

static int scan_run(struct job *j, struct error *err)
{
    _cleanup_(mount_table_free_p) struct mount_table *table = NULL;
    struct local_scan *s = CONTAINER_OF(j, struct local_scan, job);
    struct error failed = { 0 };
    int r = mount_table_read(&table, err);

    for (uint32_t i = 0; i < s->config->classes_count && r == 0; i++) {
        const struct local_class *k = &s->config->classes[i];

        if (scan_class(s, k, table, &failed) < 0) /* the other classes are none the worse */
            buf_addf(&s->failures, "%s: %s\n", k->name, failed.msg);
    }
    return r;
}

static int cmp_found(const void *a, const void *b)
{
    const struct local_candidate *candidate = a, *y = b;

    if (candidate->class != y->class)
        return candidate->class < y->class ? -1 : 1;
    return strcmp(candidate->name, y->name);
}

const struct local_candidate *finds_get(const struct finds *f, const struct local_class *k, const char *name)
{
    struct local_candidate wanted = { .class = k, .name = name };

    if (f->list.count == 0)
        return NULL;
    return bsearch(&wanted, f->list.items, f->list.count, sizeof wanted, cmp_found);
}

bool finds_has_class(const struct finds *f, const struct local_class *k)
{
    for (size_t i = 0; i < f->listed.count; i++)
        if (f->listed.items[i] == k)
            return true;
    return false;
}

void finds_done(struct finds *f)
{
    vec_done(&f->list);
    vec_done(&f->listed);
    arena_done(&f->arena);
}

static void scan_free(struct job *j)
{
    struct local_scan *s = CONTAINER_OF(j, struct local_scan, job);

    finds_done(&s->finds);
    buf_done(&s->failures);
    free(s);
}

static const struct job_type scan_type = { "local disk discovery", scan_run, scan_free };

struct local_scan *scan_new(const struct local_config *config)
{
    struct local_scan *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->job.type = &scan_type;
    s->config = config;
    s->finds.arena = ARENA_INIT(SCAN_BYTES_MAX);
    s->failures = BUF_INIT(FAILURES_BYTES_MAX);
    return s;
}
