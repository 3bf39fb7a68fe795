/* Provisions directories of an NFS export.
 *
 * The directory's name comes from the class and, through its pattern, from annotations and labels of the
 * claim, which any user can write: host/export_dir.h keeps every path inside the export. */
#include "controllers/provisioner/nfs_subdir.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "base/mutant.h"
#include "host/export_dir.h"
#include "host/mount_identity.h"
#include "host/safe_path.h"
#include "io/file.h"

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

/* --- The export --- */

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

/* False for a volume of another export, which a provisioner of the same name had before. */
static bool is_of_export(const struct nfs_subdir *n, const struct volume *v, char ret_dir[PATH_MAX])
{
    struct error ignored;

    return v->source.kind == SOURCE_NFS && strcmp(v->source.nfs->server, n->server) == 0 &&
           dir_of(n, v, ret_dir, &ignored) == 0;
}

static int refuse_other(const struct nfs_subdir *n, const struct object *volume, const char *id,
                        struct error *err)
{
    return error_set(err, ERR_UNAVAILABLE,
                     "'%s' holds another file system than the one of volume \"%s\": its file '%s' has the id "
                     "%s, and the volume's annotation %s is %.64s. Mount the right one there",
                     n->mount_dir, volume->name, NFS_SUBDIR_MARKER, id, ANN_EXPORT_ID,
                     object_annotation(volume, ANN_EXPORT_ID));
}

/* The marker has an id that volumes record, or none of them records one. */
static int check_known_ids(const struct nfs_subdir *n, const struct storage_identity *known, const char *id,
                           struct error *err)
{
    const struct object *other = NULL;
    char dir[PATH_MAX];

    for (size_t i = 0; i < known->volumes_count; i++) {
        const struct object *o = known->volumes[i];
        const char *recorded = object_annotation(o, ANN_EXPORT_ID);

        if (!recorded || !is_of_export(n, volume_of(o), dir))
            continue;
        if (strcmp(recorded, id) == 0)
            return 0;
        other = o;
    }
    return other ? refuse_other(n, other, id, err) : 0;
}

/* The directories of all volumes are there. ret_id: the id that they record, if they agree; "". */
static int check_known_dirs(const struct nfs_subdir *n, struct export_root root,
                            const struct storage_identity *known, char ret_id[UID_BYTES], struct error *err)
{
    const char *id = NULL;
    bool is_there = false, do_agree = true;
    char dir[PATH_MAX];

    for (size_t i = 0; i < known->volumes_count; i++) {
        const struct object *o = known->volumes[i];
        const char *recorded = object_annotation(o, ANN_EXPORT_ID);
        int r;

        if (!is_of_export(n, volume_of(o), dir))
            continue;
        r = export_has(root, dir, &is_there, err);
        if (r < 0)
            return r;
        if (!is_there)
            return error_set(err, ERR_UNAVAILABLE,
                             "'%s' is not known to be export %s:%s: it has neither a file '%s' nor directory "
                             "'%s' of volume \"%s\". Mount the export there. If it is mounted, restore the "
                             "directory, or delete the volume",
                             n->mount_dir, n->server, n->path, NFS_SUBDIR_MARKER, dir, o->name);
        do_agree = do_agree && (!recorded || !id || strcmp(recorded, id) == 0);
        id = recorded ? recorded : id;
    }
    (void)snprintf(ret_id, UID_BYTES, "%s", id && do_agree && uid_is_valid(str_of(id)) ? id : "");
    return 0;
}

/* An id that this process has not found yet is compared with all volumes, and so is a missing one. */
static int check_known(const struct nfs_subdir *n, const struct mount_identity *m, struct export_root root,
                       struct storage_identity *known, char id[UID_BYTES], struct error *err)
{
    char recorded[UID_BYTES] = "";
    int r;

    if (!known->has_volumes) {
        known->needs_volumes = true;
        return error_set(err, ERR_UNAVAILABLE, "export %s is not identified yet", m->about);
    }
    if (id[0])
        return check_known_ids(n, known, id, err);
    r = check_known_dirs(n, root, known, recorded, err);
    return r < 0 ? r : mount_identity_create(m, root.fd, recorded, id, err);
}

/* Opens the export for a job, after all checks. v: the volume that the job is about; NULL for a new one. */
static int open_export(const struct nfs_subdir *n, const struct volume *v, struct storage_identity *known,
                       int *ret_fd, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    char about[NAME_MAX + PATH_MAX], id[UID_BYTES];
    struct mount_identity m = { .path = n->mount_dir,
                                .may_be_plain = n->may_be_plain || MUTANT("provisioner-needs-no-mount"),
                                .setting = "requireMount: false",
                                .marker = NFS_SUBDIR_MARKER,
                                .kind = "export",
                                .about = about };
    const char *recorded = v ? object_annotation(&v->obj, ANN_EXPORT_ID) : NULL;
    int r;

    (void)snprintf(about, sizeof about, "%s:%s", n->server, n->path);
    r = mount_identity_open(&m, &fd, id, err);
    if (r == 0 && (!id[0] || strcmp(id, known->id) != 0))
        r = check_known(n, &m, (struct export_root){ fd, n->mount_dir }, known, id, err);
    if (r == 0 && recorded && strcmp(recorded, id) != 0)
        r = refuse_other(n, &v->obj, id, err);
    if (r < 0)
        return r;
    memcpy(known->id, id, sizeof known->id);
    *ret_fd = take_fd(&fd);
    return 0;
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

static int nfs_provision(const void *ctx, const struct provisioner_request *q,
                         struct storage_identity *identity, const host_stop *stop, struct buf *source,
                         enum provision_state *state, struct error *err)
{
    _cleanup_(buf_done_p) struct buf dir = BUF_INIT(PATH_MAX - 1);
    _cleanup_(fd_closep) int fd = -1;
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
        r = open_export(n, /* v= */ NULL, identity, &fd, err);
    if (r == 0)
        r = export_make((struct export_root){ fd, n->mount_dir }, buf_cstr(&dir), DIR_MODE, err);
    return r < 0 ? error_wrap(err, "unable to create directory to provision new pv") : 0;
}

/* --- Removing --- */

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

static int archive_dir(struct export_root root, const char *dir, const struct host_guard *guard,
                       struct error *err)
{
    const char *slash = strrchr(dir, '/');
    char name[PATH_MAX + 16];

    (void)snprintf(name, sizeof name, "archived-%s", slash ? slash + 1 : dir);
    return export_move_up(root, dir, name, guard, err);
}

static int nfs_remove(const void *ctx, const struct volume *v, const struct storage_class *class,
                      const struct host_guard *guard, struct storage_identity *identity,
                      const host_stop *stop, struct error *err)
{
    _cleanup_(fd_closep) int fd = -1;
    const struct nfs_subdir *n = ctx;
    struct export_root root = { .path = n->mount_dir };
    const char *on_delete, *archive;
    bool is_there = false, is_archived = true;
    char dir[PATH_MAX];
    int r = dir_of(n, v, dir, err);

    if (r == 0)
        r = open_export(n, v, identity, &fd, err);
    root.fd = fd;
    if (r == 0)
        r = export_has(root, dir, &is_there, err);
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
    return is_archived ? archive_dir(root, dir, guard, err) : export_remove(root, dir, guard, stop, err);
}

const struct blocking_type nfs_subdir_type = { nfs_provision, nfs_remove, ANN_EXPORT_ID };
