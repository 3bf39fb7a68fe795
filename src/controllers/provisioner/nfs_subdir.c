/* Provisions directories of an NFS export.
 *
 * The directory's name comes from the class and, through its pattern, from annotations and labels of the
 * claim, which any user can write: host/export_dir.h keeps every path inside the export. */
#include "controllers/provisioner/nfs_subdir.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "host/export_dir.h"
#include "host/safe_path.h"

#define DIR_MODE 0777
#define TOKEN_BEGIN "${.PVC."

static const char *class_parameter(const struct storage_class *k, const char *key)
{
    return kv_get(k->parameters.items, k->parameters.count, key);
}

/* --- The name --- */

/* The value of a token; "" if it is unknown or missing. */
static const char *token_value(const struct object *claim, struct str token)
{
    static const struct str labels = STR_LIT("labels."), annotations = STR_LIT("annotations.");
    const char *value = NULL;
    char key[512];
    struct str rest;

    if (str_is(token, "name"))
        return claim->name;
    if (str_is(token, "namespace"))
        return claim->ns;
    if (str_has_prefix(token, labels.s))
        rest = (struct str){ token.s + labels.len, token.len - labels.len };
    else if (str_has_prefix(token, annotations.s))
        rest = (struct str){ token.s + annotations.len, token.len - annotations.len };
    else
        return "";
    if (rest.len >= sizeof key)
        return "";
    memcpy(key, rest.s, rest.len);
    key[rest.len] = '\0';
    value = token.s[0] == 'l' ? object_label(claim, key) : object_annotation(claim, key);
    return value ? value : "";
}

static void fill_in(const struct object *claim, const char *pattern, struct buf *ret)
{
    const char *token, *end;

    while ((token = strstr(pattern, TOKEN_BEGIN)) && (end = strchr(token, '}'))) {
        const char *name = token + strlen(TOKEN_BEGIN);

        buf_add(ret, pattern, (size_t)(token - pattern));
        buf_add_cstr(ret, token_value(claim, (struct str){ name, (size_t)(end - name) }));
        pattern = end + 1;
    }
    buf_add_cstr(ret, pattern);
}

int nfs_subdir_path(const struct provisioner_request *q, struct buf *ret, struct error *err)
{
    const struct object *claim = &q->claim->obj;
    const char *pattern = class_parameter(q->class, "pathPattern");

    if (pattern)
        fill_in(claim, pattern, ret);
    if (ret->len == 0 && !ret->failed)
        buf_addf(ret, "%s-%s-%s", claim->ns, claim->name, q->volume_name);
    if (ret->failed == ERR_TOO_LARGE)
        return error_set(err, ERR_INVALID, "directory name is longer than %d bytes", PATH_MAX - 1);
    return buf_check(ret, "directory name", err);
}

/* --- Creating --- */

static int write_source(const struct nfs_subdir *n, const char *dir, struct buf *source, struct error *err)
{
    char joined[PATH_MAX * 2], clean[PATH_MAX];
    int r;

    (void)snprintf(joined, sizeof joined, "%s/%s", n->path, dir); /* both are paths */
    r = host_clean_path(joined, clean, err);
    if (r < 0)
        return r;
    json_out_object(source, "nfs");
    json_out_text(source, "server", n->server);
    json_out_text(source, "path", clean);
    json_out_end_object(source);
    return buf_check(source, "volume", err);
}

static int nfs_provision(const void *ctx, const struct provisioner_request *q, const host_stop *stop,
                         struct buf *source, enum provision_state *state, struct error *err)
{
    _cleanup_(buf_done_p) struct buf dir = BUF_INIT(PATH_MAX - 1);
    const struct nfs_subdir *n = ctx;
    int r;

    (void)stop;
    (void)state;
    if (q->claim->selector)
        return error_set(err, ERR_UNSUPPORTED, "claim Selector is not supported");
    r = nfs_subdir_path(q, &dir, err);
    if (r == 0)
        r = write_source(n, buf_cstr(&dir), source, err);
    if (r == 0)
        r = export_make(n->mount_dir, buf_cstr(&dir), DIR_MODE, err);
    return r < 0 ? error_wrap(err, "unable to create directory to provision new pv") : 0;
}

/* --- Removing --- */

/* The directory of the volume, relative to the export. */
static int dir_of(const struct nfs_subdir *n, const struct volume *v, char ret[PATH_MAX], struct error *err)
{
    char clean[PATH_MAX];
    size_t len = strcmp(n->path, "/") == 0 ? 0 : strlen(n->path);
    int r;

    if (v->source.kind != SOURCE_NFS)
        return error_set(err, ERR_INVALID, "volume \"%s\" is not an NFS volume", v->obj.name);
    r = host_clean_path(v->source.nfs->path, clean, err);
    if (r < 0)
        return r;
    if (!host_path_is_below(clean, n->path))
        return error_set(err, ERR_INVALID, "path '%s' is not below the export '%s'", clean, n->path);
    memcpy(ret, clean + len + 1, strlen(clean + len + 1) + 1);
    return 0;
}

static int parse_bool(const char *text, bool *ret, struct error *err)
{
    static const char *const words[] = { "0", "f", "F", "FALSE", "false", "False",
                                         "1", "t", "T", "TRUE",  "true",  "True" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(text, words[i]) == 0) {
            *ret = i >= ARRAY_LEN(words) / 2;
            return 0;
        }
    return error_set(err, ERR_INVALID, "strconv.ParseBool: parsing \"%s\": invalid syntax", text);
}

/* The guard is checked, because renaming takes the directory from other volumes that use it. */
static int archive_dir(const struct nfs_subdir *n, const char *dir, const char *path,
                       const struct host_guard *guard, struct error *err)
{
    const char *slash = strrchr(dir, '/');
    char name[PATH_MAX + 16];
    int r = host_guard_check_path(guard, path, err);

    if (r < 0)
        return r;
    (void)snprintf(name, sizeof name, "archived-%s", slash ? slash + 1 : dir);
    return export_move_up(n->mount_dir, dir, name, err);
}

static int nfs_remove(const void *ctx, const struct volume *v, const struct storage_class *class,
                      const struct host_guard *guard, const host_stop *stop, struct error *err)
{
    const struct nfs_subdir *n = ctx;
    const char *on_delete, *archive;
    bool is_there = false, is_archived = true;
    char dir[PATH_MAX], path[PATH_MAX * 2];
    int r = dir_of(n, v, dir, err);

    if (r == 0)
        r = export_has(n->mount_dir, dir, &is_there, err);
    if (r < 0 || !is_there)
        return r;
    if (v->class[0] == '\0')
        return error_set(err, ERR_INVALID, "volume has no storage class");
    if (!class)
        return error_set(err, ERR_NOT_FOUND, "storageclass.storage.k8s.io \"%s\" not found", v->class);
    on_delete = class_parameter(class, "onDelete");
    archive = class_parameter(class, "archiveOnDelete");
    if (on_delete && strcmp(on_delete, "delete") == 0)
        is_archived = false;
    else if (on_delete && strcmp(on_delete, "retain") == 0)
        return 0;
    else if (archive)
        r = parse_bool(archive, &is_archived, err);
    if (r == 0)
        r = host_guard_check_export(guard, n->server, v->source.nfs->path, err);
    if (r < 0)
        return r;
    (void)snprintf(path, sizeof path, "%s/%s", n->mount_dir, dir);
    return is_archived ? archive_dir(n, dir, path, guard, err)
                       : host_remove_tree(n->mount_dir, path, guard, stop, err);
}

const struct blocking_type nfs_subdir_type = { nfs_provision, nfs_remove };
