/* hostPath volumes: directories of this machine, for development on one node.
 *
 * The provisioner names the directory after the claim's uid, a random UUID, so that an operation that is
 * repeated after a crash finds its directory. The path to delete or recycle is chosen by the author of the
 * volume, so host/remove.h and host/guard.h check it; the base directory of provisioned volumes, and its
 * parents, are refused.
 *
 * On a node nothing is mounted: containers get the path itself, with its links, and set_up() only checks or
 * creates it. */
#include "plugins/builtin.h"

#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "api/quote.h"
#include "api/uid.h"
#include "base/cleanup.h"
#include "host/files.h"
#include "host/remove.h"
#include "host/safe_path.h"
#include "io/file.h"
#include "io/random.h"
#include "plugins/plugin_job.h"

#define NAME "kubernetes.io/host-path"
#define ANN_CREATED_BY "kubernetes.io/createdby"
#define CREATED_BY "hostpath-dynamic-provisioner"
#define DIR_MODE 0750
#define NEW_DIR_MODE 0755
#define NEW_FILE_MODE 0644
#define TEXT_BYTES 400
#define SOURCE_BYTES_MAX 32768 /* a path, escaped */
#define SCRUB_MIN_S 60
#define SCRUB_PER_GIB_S 30

static const char *provision_dir(const struct plugin_host *h)
{
    return h->host_path_dir ? h->host_path_dir : HOST_PATH_DIR;
}

static bool host_path_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_HOST_PATH;
}

/* Provisioning */

static int host_path_check(const struct plugin_host *h, const struct provision_request *q, struct error *err)
{
    (void)q;
    if (!h->provisions_host_path)
        return error_set(err, ERR_DENIED, "provisioning in volume plugin \"%s\" is disabled", NAME);
    return 0;
}

static void write_volume(const struct plugin_job *w, struct buf *volume)
{
    const struct claim *c = claim_of(w->about);
    unsigned modes = c->modes & (ACCESS_RWO | ACCESS_ROX | ACCESS_RWX | ACCESS_RWOP);

    if (modes == 0)
        modes = ACCESS_RWO;
    json_out_object(volume, NULL);
    json_out_object(volume, "metadata");
    json_out_object(volume, "annotations");
    json_out_text(volume, ANN_CREATED_BY, CREATED_BY);
    json_out_end_object(volume);
    json_out_end_object(volume);
    json_out_object(volume, "spec");
    json_out_array(volume, "accessModes");
    for (int bit = 0; access_mode_names[bit]; bit++)
        if (modes & 1U << bit)
            json_out_text(volume, NULL, access_mode_names[bit]);
    json_out_end_array(volume);
    json_out_storage(volume, "capacity", &c->request);
    json_out_object(volume, "hostPath");
    json_out_text(volume, "path", w->path);
    json_out_end_object(volume);
    json_out_end_object(volume);
    json_out_end_object(volume);
}

static int make_run(struct job *j, struct error *err)
{
    struct plugin_job *w = plugin_job_of(j);
    uint8_t random[UID_RANDOM_BYTES];
    char uid[UID_BYTES];
    int r, n;

    if (uid_is_valid(str_of(w->about->uid))) {
        memcpy(uid, w->about->uid, UID_BYTES);
    } else {
        r = io_random(random, sizeof random, err);
        if (r < 0)
            return r;
        uid_make(random, uid);
    }
    n = snprintf(w->path, sizeof w->path, "%s/%s", provision_dir(&w->host), uid);
    if (n < 0 || (size_t)n >= sizeof w->path)
        return error_set(err, ERR_INVALID, "path '%s' is too long", provision_dir(&w->host));
    write_volume(w, &w->volume);
    r = buf_check(&w->volume, "provisioned volume", err);
    return r < 0 ? r : host_make_dir(provision_dir(&w->host), uid, DIR_MODE, err);
}

static void host_path_provision(const struct plugin_host *h, const struct provision_request *q,
                                struct plugin_op *op)
{
    static const struct job_type type = { "provisioning", make_run, plugin_job_free };
    struct error err = { 0 };
    int r = host_path_check(h, q, &err);

    if (r == 0 && q->claim->mode == VOLUME_MODE_BLOCK)
        r = error_set(&err, ERR_UNSUPPORTED, "%s does not support block volume provisioning", NAME);
    if (r < 0) {
        plugin_op_fail(h, op, &err);
        return;
    }
    plugin_job_begin(h, &type, &q->claim->obj, /* path= */ NULL, /* limit_s= */ 0, op);
}

/* Removing */

/* The cleaned path of the volume, if it may be changed. */
static int volume_path(const struct plugin_host *h, const struct volume *v, char ret[PATH_MAX],
                       struct error *err)
{
    char dir[PATH_MAX];
    int r;

    r = host_clean_path(v->source.host_path->path, ret, err);
    if (r < 0)
        return r;
    r = host_clean_path(provision_dir(h), dir, err);
    if (r < 0)
        return r;
    if (strcmp(ret, dir) == 0 || host_path_is_below(dir, ret))
        return error_set(err, ERR_DENIED, "'%s' is the parent directory of other volumes", ret);
    return 0;
}

/* "/tmp/" followed by something, anywhere in the path: the rule of the API. */
static bool is_in_some_tmp(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/tmp/")); at++)
        if (at[5] != '\0' && at[5] != '\n')
            return true;
    return false;
}

static int remove_run(struct job *j, struct error *err)
{
    const struct plugin_job *w = plugin_job_of(j);
    char dir[PATH_MAX];
    int r = host_clean_path(provision_dir(&w->host), dir, err);

    if (r < 0)
        return r;
    return host_remove_tree(host_path_is_below(w->path, dir) ? dir : NULL, w->path, w->guard, &j->stop, err);
}

static void host_path_remove(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    static const struct job_type type = { "storage removal", remove_run, plugin_job_free };
    const char *given = v->source.host_path->path;
    struct error err = { 0 };
    char path[PATH_MAX];
    int r = 0;

    /* A provisioned directory is removed within its base; any other only if the API's rule allows it. */
    if (!is_in_some_tmp(given) && !(h->host_path_dir && host_path_is_below(given, h->host_path_dir)))
        r = error_set(&err, ERR_DENIED, "host_path deleter only supports /tmp/.+ but received provided %s",
                      given);
    if (r == 0)
        r = volume_path(h, v, path, &err);
    if (r < 0) {
        plugin_op_fail(h, op, &err);
        return;
    }
    plugin_job_begin(h, &type, &v->obj, path, /* limit_s= */ 0, op);
}

/* Recycling */

static int scrub_run(struct job *j, struct error *err)
{
    const struct plugin_job *w = plugin_job_of(j);

    return host_empty_dir(w->path, w->guard, &j->stop, err);
}

static void host_path_recycle(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    static const struct job_type type = { "recycling", scrub_run, plugin_job_free };
    struct error err = { 0 };
    char path[PATH_MAX];
    int r = volume_path(h, v, path, &err);

    if (r < 0) {
        plugin_op_fail(h, op, &err);
        return;
    }
    plugin_job_begin(h, &type, &v->obj, path, plugin_scrub_limit_s(v, SCRUB_MIN_S, SCRUB_PER_GIB_S), op);
}

/* On nodes */

/* The rule for a hostPath type. */
struct type_rule {
    const char *type;
    const char *word; /* name of the expected kind */
    enum file_kind kind;
    /* creates a missing path; NULL: must exist */
    int (*make)(const char *path, mode_t mode, struct error *err);
    mode_t mode;
};

static const struct type_rule type_rules[] = {
    { "DirectoryOrCreate", "directory", FILE_DIR, io_mkdirs, NEW_DIR_MODE },
    { "Directory", "directory", FILE_DIR, NULL, 0 },
    { "FileOrCreate", "file", FILE_REGULAR, host_make_file, NEW_FILE_MODE },
    { "File", "file", FILE_REGULAR, NULL, 0 },
    { "Socket", "socket file", FILE_SOCKET, NULL, 0 },
    { "CharDevice", "character device", FILE_CHAR_DEVICE, NULL, 0 },
    { "BlockDevice", "block device", FILE_BLOCK_DEVICE, NULL, 0 },
};

/* The error for another kind than expected. why: the reason if the kind could not be determined; "" for none.
 */
static int wrong_kind(const struct type_rule *rule, const char *path, enum file_kind kind, const char *why,
                      struct error *err)
{
    const char *name = file_kind_names[kind];
    char text[TEXT_BYTES];

    if (why[0] == '\0' && name[0] != '\0')
        return error_set(err, ERR_INVALID, "hostPath type check failed: %s is not a %s, it's a %s", path,
                         rule->word, name);
    if (why[0] == '\0' && kind == FILE_OTHER)
        why = "only recognise file, directory, socket, block device and character device";
    if (why[0] != '\0')
        return error_set(err, ERR_INVALID,
                         "hostPath type check failed, %s is not a %s, unable to determine its type: %s", path,
                         rule->word, why);
    return error_set(err, ERR_INVALID,
                     "hostPath type check failed, %s is not a %s, unable to determine its type: path %s does "
                     "not exist",
                     path, rule->word, quote_text(text, sizeof text, str_of(path)));
}

static int check_type(const char *path, const char *type, struct error *err)
{
    const struct type_rule *rule = NULL;
    enum file_kind kind = FILE_MISSING;
    struct error why = { 0 };

    if (type[0] == '\0')
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(type_rules) && !rule; i++)
        if (strcmp(type_rules[i].type, type) == 0)
            rule = &type_rules[i];
    if (!rule)
        return error_set(err, ERR_INVALID, "%s is an invalid volume type", type);
    (void)host_file_kind(path, &kind, &why); /* if it cannot be examined it counts as missing */
    if (kind == rule->kind)
        return 0;
    if (kind == FILE_MISSING && rule->make)
        return rule->make(path, rule->mode, err);
    return wrong_kind(rule, path, kind, why.msg, err);
}

static int host_path_set_up(const struct volume_plugin *self, const struct volume_env *env,
                            const struct set_up_request *q, struct error *err)
{
    const struct host_path_source *source = spec_source(&q->spec).host_path;
    const char *path = source->path;

    (void)self;
    (void)env;
    for (struct str rest = str_of(path); rest.s;)
        if (str_is(str_next(&rest, '/'), ".."))
            return error_set(err, ERR_INVALID, "invalid HostPath `%s`: must not contain '..'", path);
    if (path[0] != '/') /* no base for a relative path */
        return error_set(err, ERR_INVALID, "invalid HostPath `%s`: must be an absolute path", path);
    return check_type(path, source->type, err);
}

/* Nothing was mounted or created only for the pod. */
static int host_path_tear_down(const struct volume_plugin *self, const struct volume_env *env,
                               const char *name, const char *pod_uid, struct error *err)
{
    (void)self;
    (void)env;
    (void)name;
    (void)pod_uid;
    (void)err;
    return 0;
}

static int host_path_path(const struct volume_plugin *self, const char *root, const char *pod_uid,
                          const char *name, const struct volume_spec *spec, char ret[PATH_MAX],
                          struct error *err)
{
    const char *path = spec ? spec_source(spec).host_path->path : name;

    (void)self;
    (void)root;
    (void)pod_uid;
    if (strlen(path) >= PATH_MAX)
        return error_set(err, ERR_INVALID, "hostPath has %zu bytes, the maximum is %d", strlen(path),
                         PATH_MAX - 1);
    memcpy(ret, path, strlen(path) + 1);
    return 0;
}

static struct mount_attributes host_path_attributes(const struct volume_plugin *self,
                                                    const struct volume_spec *spec)
{
    (void)self;
    return (struct mount_attributes){ .is_read_only = spec->is_read_only, .is_managed = false };
}

static int host_path_usage(const struct volume_plugin *self, const struct volume_env *env, const char *path,
                           struct host_usage *ret, struct error *err)
{
    (void)env;
    (void)path;
    (void)ret;
    return error_set(err, ERR_UNSUPPORTED, "plugin '%s' does not report volume usage", self->name);
}

static int host_path_volume_name(const struct volume_plugin *self, const struct volume_spec *s,
                                 struct buf *ret, struct error *err)
{
    (void)self;
    buf_add_cstr(ret, spec_source(s).host_path->path);
    return buf_check(ret, "volume name", err);
}

/* The disk only has the name. */
static int host_path_reconstruct(const struct volume_plugin *self, const struct volume_env *env,
                                 const char *name, const char *pod_uid, bool is_block, struct object **ret,
                                 struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(SOURCE_BYTES_MAX);

    (void)env;
    if (is_block)
        return error_set(err, ERR_UNSUPPORTED, "plugin '%s' does not support block volumes", self->name);
    json_out_object(&source, "hostPath");
    json_out_text(&source, "path", name);
    json_out_end_object(&source);
    return reconstruct_pod(name, pod_uid, &source, ret, err);
}

static const struct pod_table pod_table = {
    .path = host_path_path,
    .attributes = host_path_attributes,
    .set_up = host_path_set_up,
    .tear_down = host_path_tear_down,
    .usage = host_path_usage,
};
static const struct provision_table provision_table = { host_path_check, host_path_provision };
static const struct delete_table delete_table = { host_path_remove };
static const struct recycle_table recycle_table = { host_path_recycle };

const struct volume_plugin host_path_plugin = {
    .name = NAME,
    .can_support = host_path_can_support,
    .volume_name = host_path_volume_name,
    .reconstruct = host_path_reconstruct,
    .access_modes = ACCESS_RWO,
    .provision = &provision_table,
    .remove = &delete_table,
    .recycle = &recycle_table,
    .pods = &pod_table,
};
