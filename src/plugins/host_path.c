/* hostPath volumes: plain directories of this machine, for development on one node.
 *
 * The provisioner names the directory after the claim's uid, which is a random UUID: an operation that is
 * repeated after a crash finds its directory again instead of leaving one behind. What is deleted or recycled
 * is chosen by whoever wrote the volume, so host/remove.h and host/guard.h judge it; and the directory that
 * holds what was provisioned, or one around it, is nobody's volume.
 *
 * On a node nothing is mounted: containers get the path itself, links and all, so that set up only looks at
 * what is there and may make it. */
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
#include "plugins/op_job.h"
#include "plugins/reconstruct.h"

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

static void write_modes(unsigned modes, struct buf *out)
{
    modes &= ACCESS_RWO | ACCESS_ROX | ACCESS_RWX | ACCESS_RWOP;
    if (modes == 0)
        modes = ACCESS_RWO;
    json_out_array(out, "accessModes");
    for (int bit = 0; access_mode_names[bit]; bit++)
        if (modes & 1U << bit)
            json_out_text(out, NULL, access_mode_names[bit]);
    json_out_end_array(out);
}

static void write_volume(const struct op_job *w, struct buf *volume)
{
    const struct claim *c = claim_of(w->about);

    json_out_object(volume, NULL);
    json_out_object(volume, "metadata");
    json_out_object(volume, "annotations");
    json_out_text(volume, ANN_CREATED_BY, CREATED_BY);
    json_out_end_object(volume);
    json_out_end_object(volume);
    json_out_object(volume, "spec");
    write_modes(c->modes, volume);
    json_out_object(volume, "capacity");
    json_out_quantity(volume, "storage", &c->request);
    json_out_end_object(volume);
    json_out_object(volume, "hostPath");
    json_out_text(volume, "path", w->path);
    json_out_end_object(volume);
    json_out_end_object(volume);
    json_out_end_object(volume);
}

static int make_run(struct job *j, struct error *err)
{
    struct op_job *w = op_job_of(j);
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
        return error_set(err, ERR_INVALID, "'%s' is too long a path", provision_dir(&w->host));
    write_volume(w, &w->volume);
    r = buf_check(&w->volume, "the provisioned volume", err);
    return r < 0 ? r : host_make_dir(provision_dir(&w->host), uid, DIR_MODE, err);
}

static void host_path_provision(const struct plugin_host *h, const struct provision_request *q,
                                struct plugin_op *op)
{
    static const struct job_type type = { "provisioning", make_run, op_job_free };
    struct error err = { 0 };
    int r = host_path_check(h, q, &err);

    if (r == 0 && q->claim->mode == VOLUME_MODE_BLOCK)
        r = error_set(&err, ERR_UNSUPPORTED, "%s does not support block volume provisioning", NAME);
    if (r < 0) {
        plugin_op_fail(h, op, &err);
        return;
    }
    op_job_begin(h, &type, &q->claim->obj, /* path= */ NULL, /* limit_s= */ 0, op);
}

/* Removing */

/* The volume's path, cleaned, if it may be touched. */
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
        return error_set(err, ERR_DENIED, "'%s' holds the directories of other volumes", ret);
    return 0;
}

/* "/tmp/" and something behind it, anywhere in the path: the API's rule. */
static bool is_in_some_tmp(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/tmp/")); at++)
        if (at[5] != '\0' && at[5] != '\n')
            return true;
    return false;
}

/* What was provisioned is removed from within its base; anything else only where the API's rule has it. */
static bool may_be_removed(const struct plugin_host *h, const char *path)
{
    return is_in_some_tmp(path) || (h->host_path_dir && host_path_is_below(path, h->host_path_dir));
}

static int remove_run(struct job *j, struct error *err)
{
    const struct op_job *w = op_job_of(j);
    char dir[PATH_MAX];
    int r = host_clean_path(provision_dir(&w->host), dir, err);

    if (r < 0)
        return r;
    return host_remove_tree(host_path_is_below(w->path, dir) ? dir : NULL, w->path, w->guard, &j->stop, err);
}

static void host_path_remove(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    static const struct job_type type = { "removal of storage", remove_run, op_job_free };
    const char *given = v->source.host_path->path;
    struct error err = { 0 };
    char path[PATH_MAX];
    int r = 0;

    if (!may_be_removed(h, given))
        r = error_set(&err, ERR_DENIED, "host_path deleter only supports /tmp/.+ but received provided %s",
                      given);
    if (r == 0)
        r = volume_path(h, v, path, &err);
    if (r < 0) {
        plugin_op_fail(h, op, &err);
        return;
    }
    op_job_begin(h, &type, &v->obj, path, /* limit_s= */ 0, op);
}

/* Recycling */

static int scrub_run(struct job *j, struct error *err)
{
    const struct op_job *w = op_job_of(j);

    return host_empty_dir(w->path, w->guard, &j->stop, err);
}

static void host_path_recycle(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    static const struct job_type type = { "recycling", scrub_run, op_job_free };
    struct error err = { 0 };
    char path[PATH_MAX];
    int r = volume_path(h, v, path, &err);

    if (r < 0) {
        plugin_op_fail(h, op, &err);
        return;
    }
    op_job_begin(h, &type, &v->obj, path, plugin_scrub_limit_s(v, SCRUB_MIN_S, SCRUB_PER_GIB_S), op);
}

/* On nodes */

/* What a type asks for. */
struct type_rule {
    const char *type;
    const char *word; /* of the expected kind */
    enum file_kind kind;
    int (*make)(const char *path, mode_t mode, struct error *err); /* where nothing is; NULL: must be there */
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

static const struct type_rule *find_rule(const char *type)
{
    for (size_t i = 0; i < ARRAY_LEN(type_rules); i++)
        if (strcmp(type_rules[i].type, type) == 0)
            return &type_rules[i];
    return NULL;
}

/* Not the expected kind. why: what kept us from seeing the kind; "" for nothing. */
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
                     path, rule->word, quote(text, sizeof text, str_of(path)));
}

static int check_type(const char *path, const char *type, struct error *err)
{
    const struct type_rule *rule = find_rule(type);
    enum file_kind kind = FILE_MISSING;
    struct error why = { 0 };

    if (type[0] == '\0')
        return 0;
    if (!rule)
        return error_set(err, ERR_INVALID, "%s is an invalid volume type", type);
    (void)host_file_kind(path, &kind, &why); /* what cannot be examined counts as missing */
    if (kind == rule->kind)
        return 0;
    if (kind == FILE_MISSING && rule->make)
        return rule->make(path, rule->mode, err);
    return wrong_kind(rule, path, kind, why.msg, err);
}

static int check_path(const char *path, struct error *err)
{
    for (struct str rest = str_of(path); rest.s;)
        if (str_is(str_next(&rest, '/'), ".."))
            return error_set(err, ERR_INVALID, "invalid HostPath `%s`: must not contain '..'", path);
    if (path[0] != '/') /* relative to what? */
        return error_set(err, ERR_INVALID, "invalid HostPath `%s`: must be an absolute path", path);
    return 0;
}

static int host_path_set_up(const struct volume_plugin *self, const struct volume_env *env,
                            const struct set_up_request *q, struct error *err)
{
    const struct host_path_source *source = spec_source(&q->spec).host_path;
    int r = check_path(source->path, err);

    (void)self;
    (void)env;
    return r < 0 ? r : check_type(source->path, source->type, err);
}

/* Nothing was mounted or made for the pod alone. */
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
        return error_set(err, ERR_INVALID, "hostPath has %zu bytes, more than %d", strlen(path),
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
    return error_set(err, ERR_UNSUPPORTED, "volumes of '%s' have no usage of their own", self->name);
}

static int host_path_volume_name(const struct volume_plugin *self, const struct volume_spec *s,
                                 struct buf *ret, struct error *err)
{
    (void)self;
    buf_add_cstr(ret, spec_source(s).host_path->path);
    return buf_check(ret, "the volume's name", err);
}

/* All that the disk tells is the name. */
static int host_path_reconstruct(const struct volume_plugin *self, const struct volume_env *env,
                                 const char *name, const char *pod_uid, bool is_block, struct object **ret,
                                 struct error *err)
{
    _cleanup_(buf_done_p) struct buf source = BUF_INIT(SOURCE_BYTES_MAX);

    (void)env;
    if (is_block)
        return error_set(err, ERR_UNSUPPORTED, "volumes of '%s' are no block devices", self->name);
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
