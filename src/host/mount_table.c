/* Views of the entries that libmount parses and owns, and an index of them by path.
 *
 * Two orders matter. In the kernel's order a later mount covers an earlier one at the same place or above it.
 * In the order of paths, all mounts below a directory are next to each other. */
#include "host/mount_table.h"

#include <assert.h>
#include <libmount/libmount.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "api/quote.h"
#include "base/vec.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/sys.h"

/* Of a simulated machine. */
#define MOUNTINFO_MODEL_BYTES_MAX ((size_t)1 << 20)
#define MOUNTINFO "/proc/self/mountinfo"
#define MOUNT_TEXT_BYTES 400

struct mount_table {
    struct libmnt_table *lib; /* owns the texts */
    VEC(struct mount_entry) entries;
    const struct mount_entry **by_path; /* by target, then in the kernel's order */
};

struct mount_table *mount_table_free(struct mount_table *t)
{
    if (!t)
        return NULL;
    mnt_unref_table(t->lib);
    vec_done(&t->entries);
    free(t->by_path);
    free(t);
    return NULL;
}

/* --- Reading --- */

/* An invalid line ends the parsing. */
static int on_bad_line(struct libmnt_table *lib, const char *name, int line)
{
    (void)lib;
    (void)name;
    (void)line;
    return -1;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

/* The kernel marks a mount point that was removed, in one of two ways. */
static int strip_deleted(struct libmnt_fs *fs)
{
    static const char *const endings[] = { "//deleted", " (deleted)" };
    struct str target = str_of(or_empty(mnt_fs_get_target(fs)));
    char path[PATH_MAX];

    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        if (!str_has_suffix(target, endings[i]) || target.len >= sizeof path)
            continue;
        (void)snprintf(path, sizeof path, "%.*s", (int)(target.len - strlen(endings[i])), target.s);
        return mnt_fs_set_target(fs, path);
    }
    return 0;
}

static int add_entry(struct mount_table *t, struct libmnt_fs *fs, struct error *err)
{
    dev_t dev = mnt_fs_get_devno(fs);

    if (strip_deleted(fs) != 0)
        return error_no_memory(err);
    struct mount_entry e = {
        .id = mnt_fs_get_id(fs),
        .parent_id = mnt_fs_get_parent_id(fs),
        .dev_major = major(dev),
        .dev_minor = minor(dev),
        .root = or_empty(mnt_fs_get_root(fs)),
        .target = or_empty(mnt_fs_get_target(fs)),
        .type = or_empty(mnt_fs_get_fstype(fs)),
        .source = or_empty(mnt_fs_get_source(fs)),
        .options = or_empty(mnt_fs_get_options(fs)),
    };

    /* libmount parses a text that begins like an fstab as one. */
    if (e.id <= 0 || e.root[0] == '\0' || e.target[0] != '/')
        return error_set(err, ERR_INVALID, "the mount table has an entry without id, root or mount point");
    return vec_push(&t->entries, e) < 0 ? error_no_memory(err) : 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct mount_entry *left = *(const struct mount_entry *const *)a;
    const struct mount_entry *right = *(const struct mount_entry *const *)b;
    int by_target = strcmp(left->target, right->target);

    if (by_target != 0)
        return by_target;
    return (left > right) - (left < right); /* of one array */
}

static int index_entries(struct mount_table *t, struct error *err)
{
    size_t count = t->entries.count;

    t->by_path = calloc(count + 1, sizeof *t->by_path);
    if (!t->by_path)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++)
        t->by_path[i] = &t->entries.items[i];
    if (count > 0)
        qsort(t->by_path, count, sizeof *t->by_path, compare_entries);
    return 0;
}

static int take_entries(struct mount_table *t, struct error *err)
{
    struct libmnt_iter *it = mnt_new_iter(MNT_ITER_FORWARD);
    struct libmnt_fs *fs;
    int r = 0;

    if (!it)
        return error_no_memory(err);
    while (r == 0 && mnt_table_next_fs(t->lib, it, &fs) == 0)
        r = add_entry(t, fs, err);
    mnt_free_iter(it);
    return r < 0 ? r : index_entries(t, err);
}

/* f: NULL for the kernel's. */
static int fill_table(struct mount_table *t, FILE *f, struct error *err)
{
    int r;

    t->lib = mnt_new_table();
    if (!t->lib)
        return error_no_memory(err);
    (void)mnt_table_set_parser_errcb(t->lib, on_bad_line);
    r = f ? mnt_table_parse_stream(t->lib, f, MOUNTINFO) : mnt_table_parse_file(t->lib, MOUNTINFO);
    if (r != 0 && f)
        return error_set(err, ERR_INVALID, "the mount table has an invalid line");
    if (r != 0)
        return error_set(err, ERR_IO, "cannot read '%s'", MOUNTINFO);
    return take_entries(t, err);
}

static int read_from(FILE *f, struct mount_table **ret, struct error *err)
{
    struct mount_table *t = calloc(1, sizeof *t);
    int r = t ? fill_table(t, f, err) : error_no_memory(err);

    if (r < 0)
        (void)mount_table_free(t);
    else
        *ret = t;
    return r;
}

int mount_table_read(struct mount_table **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(MOUNTINFO_MODEL_BYTES_MAX);
    int r;

    if (!sys_here)
        return read_from(NULL, ret, err);
    r = io_read_file(MOUNTINFO, MOUNTINFO_MODEL_BYTES_MAX, &text, err);
    return r < 0 ? r : mount_table_parse(buf_str(&text), ret, err);
}

int mount_table_parse(struct str text, struct mount_table **ret, struct error *err)
{
    FILE *f;
    int r;

    if (text.len == 0)
        return error_set(err, ERR_INVALID, "the mount table is empty");
    f = fmemopen((void *)(uintptr_t)text.s, text.len, "r"); /* only read */
    if (!f)
        return error_no_memory(err);
    r = read_from(f, ret, err);
    (void)fclose(f); /* nothing was written */
    return r;
}

/* --- Lookups --- */

size_t mount_table_count(const struct mount_table *t)
{
    return t->entries.count;
}

const struct mount_entry *mount_table_at(const struct mount_table *t, size_t i)
{
    return &t->entries.items[i];
}

/* The index in by_path of the first entry whose target comes after s, bytewise. */
static size_t first_behind(const struct mount_table *t, struct str s)
{
    size_t from = 0, to = t->entries.count;

    assert(t->by_path);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (str_cmp(str_of(t->by_path[middle]->target), s) > 0)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

static const struct mount_entry *last_at(const struct mount_table *t, struct str path)
{
    size_t behind = first_behind(t, path);

    if (behind == 0 || !str_is(path, t->by_path[behind - 1]->target))
        return NULL;
    return t->by_path[behind - 1];
}

const struct mount_entry *mount_table_find(const struct mount_table *t, const char *path)
{
    return last_at(t, str_of(path));
}

const struct mount_entry *mount_table_around(const struct mount_table *t, const char *path)
{
    const struct mount_entry *last = last_at(t, STR_LIT("/"));

    for (size_t len = 1; path[1] != '\0' && path[len - 1] != '\0'; len++) {
        if (path[len] != '/' && path[len] != '\0')
            continue;
        const struct mount_entry *e = last_at(t, (struct str){ path, len });
        if (e && (!last || e > last))
            last = e;
    }
    return last;
}

/* Writes the path inside the file system of a path in the entry's mount: the entry's root, and the rest of
 * the path below its mount point. */
static bool root_of(const struct mount_entry *e, const char *path, char ret[PATH_MAX])
{
    const char *rest = strcmp(e->target, "/") == 0 ? path : path + strlen(e->target);
    const char *root = strcmp(e->root, "/") == 0 ? "" : e->root;
    int n;

    if (strcmp(rest, "/") == 0)
        rest = "";
    n = snprintf(ret, PATH_MAX, "%s%s", root, rest);
    if (n == 0)
        n = snprintf(ret, PATH_MAX, "/");
    return n > 0 && n < PATH_MAX;
}

void mount_table_refs(const struct mount_table *t, const char *path,
                      int (*fn)(void *ctx, const struct mount_entry *e), void *ctx)
{
    const struct mount_entry *own = mount_table_around(t, path);
    char root[PATH_MAX];

    if (!own || !root_of(own, path, root))
        return;
    for (size_t i = 0; i < t->entries.count; i++) {
        const struct mount_entry *e = &t->entries.items[i];
        if (e == own || e->dev_major != own->dev_major || e->dev_minor != own->dev_minor)
            continue;
        if (strcmp(e->root, root) == 0 && strcmp(e->target, path) != 0 && fn(ctx, e) != 0)
            return;
    }
}

bool mount_table_has_below(const struct mount_table *t, const char *path, bool at_too,
                           const struct mount_entry **ret_where)
{
    const struct mount_entry *found = at_too ? last_at(t, str_of(path)) : NULL;

    /* Other paths may sort between a path and what is below it: "/a", "/a b", "/a/b". */
    for (size_t i = first_behind(t, str_of(path)); !found && i < t->entries.count; i++) {
        if (strncmp(t->by_path[i]->target, path, strlen(path)) != 0)
            break;
        if (host_path_is_below(t->by_path[i]->target, path))
            found = t->by_path[i];
    }
    if (found && ret_where)
        *ret_where = found;
    return found;
}

int host_check_unmounted(const char *path, bool at_too, struct error *err)
{
    const struct mount_entry *where = NULL;
    char text[MOUNT_TEXT_BYTES];
    struct mount_table *t = NULL;
    int r = mount_table_read(&t, err);

    if (r < 0)
        return r;
    if (mount_table_has_below(t, path, at_too, &where))
        r = error_set(err, ERR_BUSY, "something is mounted at %s",
                      quote_text(text, sizeof text, str_of(where->target)));
    (void)mount_table_free(t);
    return r;
}
