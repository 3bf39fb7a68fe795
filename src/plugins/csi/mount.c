/* Publishing: a volume for one pod.
 *
 * The driver makes the directory that it mounts on; its parent, with the data file, is made here before the
 * call, so that whatever the call leaves behind is found again after a crash. */
#include "plugins/csi/csi_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "host/files.h"
#include "io/digest.h"
#include "plugins/layout.h"

#define MOUNT_DIR "mount"
#define KEY(name) "csi.storage.k8s.io/" name
#define CAN(name) CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__##name

/* --- Where --- */

/* The directory that holds data file and mount. Names of volumes become one component. */
static int volume_dir(const char *root, const char *pod_uid, const char *name, char ret[PATH_MAX],
                      struct error *err)
{
    char escaped[NAME_MAX + 1];
    int r = layout_escape(name, escaped, err);

    return r < 0 ? r : layout_pod_path(root, pod_uid, "volumes", CSI_PLUGIN, escaped, ret, err);
}

static int csi_path(const struct volume_plugin *self, const char *root, const char *pod_uid, const char *name,
                    const struct volume_spec *spec, char ret[PATH_MAX], struct error *err)
{
    char dir[PATH_MAX];
    int n, r = volume_dir(root, pod_uid, name, dir, err);

    (void)self;
    (void)spec;
    if (r < 0)
        return r;
    n = snprintf(ret, PATH_MAX, "%s/" MOUNT_DIR, dir);
    return n < 0 || n >= PATH_MAX ? error_set(err, ERR_INVALID, "'%s' is too long a path", dir) : 0;
}

static bool is_read_only(const struct volume_spec *s)
{
    return s->is_read_only || (s->inlined && spec_source(s).csi->is_read_only);
}

static struct mount_attributes csi_attributes(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return (struct mount_attributes){ .is_read_only = is_read_only(s), .is_managed = !is_read_only(s) };
}

int csi_handle(const struct volume_spec *s, const char *pod_uid, char *ret, size_t size, struct error *err)
{
    _cleanup_(buf_done_p) struct buf both = BUF_INIT(CSI_HANDLE_BYTES);
    char digest[SHA256_HEX_BYTES];
    int n, r = 0;

    if (s->inlined) {
        buf_addf(&both, "%s%s", pod_uid, spec_name(s));
        r = buf_check(&both, "the names of a volume", err);
        if (r == 0)
            r = sha256_hex(buf_str(&both), digest, err);
        if (r < 0)
            return r;
    }
    n = s->inlined ? snprintf(ret, size, "csi-%s", digest)
                   : snprintf(ret, size, "%s", spec_source(s).csi->handle);
    return n < 0 || (size_t)n >= size ? error_set(err, ERR_INVALID, "the volume's handle is too long") : 0;
}

/* --- May it --- */

static void join(struct texts t, struct buf *out)
{
    for (uint32_t i = 0; i < t.count; i++)
        buf_addf(out, "%s\"%s\"", i ? " " : "", t.items[i]);
}

static int check_mode(const struct volume_spec *s, const struct csi_driver *driver, struct error *err)
{
    _cleanup_(buf_done_p) struct buf modes = BUF_INIT(ERROR_MSG_BYTES_MAX);
    const char *mode = s->inlined ? CSI_MODE_EPHEMERAL : CSI_MODE_PERSISTENT;
    const char *name = spec_source(s).csi->driver;

    if (!driver && s->volume)
        return 0;
    if (!driver)
        return error_set(err, ERR_UNAVAILABLE,
                         "volume mode \"%s\" not supported by driver %s (no CSIDriver object)", mode, name);
    if (s->inlined ? driver->has_ephemeral : driver->has_persistent)
        return 0;
    join(driver->lifecycle_modes, &modes);
    return error_set(err, ERR_UNAVAILABLE,
                     "volume mode \"%s\" not supported by driver %s (only supports [%s])", mode, name,
                     buf_cstr(&modes));
}

/* Whether files are given to the pod's group here. */
static bool policy_allows(const struct volume_spec *s, const struct csi_driver *driver)
{
    enum fs_group_policy policy = driver ? driver->fs_group_policy : FS_GROUP_RWO_WITH_FS_TYPE;

    if (is_read_only(s) || policy == FS_GROUP_NONE)
        return false;
    if (policy == FS_GROUP_FILE)
        return true;
    return spec_source(s).csi->fs_type[0] != '\0' &&
           (s->inlined || (s->volume->modes & (ACCESS_RWO | ACCESS_RWOP)) != 0);
}

/* --- What the driver is told --- */

struct publish {
    const struct set_up_request *q;
    const char *handle;
    const char *target;
    unsigned capabilities;
    struct arena arena;
    char stage_path[PATH_MAX];
};

void csi_add_pod_info(struct arena *a, const struct pod *pod, bool is_ephemeral, struct csi_pairs *context)
{
    csi_pairs_set(a, context, KEY("pod.name"), pod->obj.name);
    csi_pairs_set(a, context, KEY("pod.namespace"), pod->obj.ns);
    csi_pairs_set(a, context, KEY("pod.uid"), pod->obj.uid);
    csi_pairs_set(a, context, KEY("serviceAccount.name"), pod->service_account);
    csi_pairs_set(a, context, KEY("ephemeral"), is_ephemeral ? "true" : "false");
}

/* {"AUDIENCE":{"token":"…","expirationTimestamp":"…"}}, in the order of the audiences. */
static char *tokens_json(struct publish *x)
{
    const struct csi_request *csi = x->q->csi;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(CSI_MEMORY_BYTES_MAX);

    json_out_object(&out, NULL);
    for (uint32_t i = 0; i < csi->tokens_count; i++) {
        json_out_object(&out, csi->tokens[i].audience);
        json_out_str(&out, "token", csi->tokens[i].token);
        json_out_text(&out, "expirationTimestamp", csi->tokens[i].expires);
        json_out_end_object(&out);
    }
    json_out_end_object(&out);
    return out.failed ? NULL : arena_dup(&x->arena, buf_str(&out));
}

static int add_tokens(struct publish *x, struct csi_pairs *context, struct csi_secrets *secrets,
                      struct error *err)
{
    static const char key[] = KEY("serviceAccount.tokens");
    const struct csi_request *csi = x->q->csi;
    Csi__V1__Secret *secret;
    char *text;

    if (!csi->driver || csi->driver->token_requests_count == 0)
        return 0;
    if (csi->token.r < 0) {
        *err = csi->token.err;
        return csi_transient(err);
    }
    text = tokens_json(x);
    secret = arena_alloc(&x->arena, sizeof *secret);
    if (!text || !secret || !secrets->items)
        return error_no_memory(err);
    if (!csi->driver->tokens_in_secrets) {
        csi_pairs_set(&x->arena, context, key, text);
        return 0;
    }
    csi__v1__secret__init(secret);
    secret->key = (char *)(uintptr_t)key;
    secret->value = (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
    secrets->items[secrets->count++] = secret;
    return 0;
}

static int publish_contexts(struct publish *x, Csi__V1__NodePublishVolumeRequest *m, struct error *err)
{
    const struct csi_request *csi = x->q->csi;
    struct csi_pairs attributes =
        csi_pairs_of(&x->arena, spec_source(&x->q->spec).csi->attributes, CSI_POD_KEYS + 1);
    struct csi_pairs published;
    struct csi_secrets secrets = { 0 };
    struct kvs context;
    int r = csi_publish_context(csi, &x->q->spec, &context, err);

    if (r == 0)
        r = csi_secrets_of(&x->arena, csi, &x->q->spec, CSI_SECRET_NODE_PUBLISH, "NodePublishSecretRef", 1,
                           &secrets, err);
    if (r < 0)
        return r;
    published = csi_pairs_of(&x->arena, context, 0);
    if (csi->driver && csi->driver->pod_info_on_mount)
        csi_add_pod_info(&x->arena, x->q->pod, x->q->spec.inlined, &attributes);
    r = add_tokens(x, &attributes, &secrets, err);
    m->publish_context = published.items;
    m->n_publish_context = published.count;
    m->volume_context = attributes.items;
    m->n_volume_context = attributes.count;
    m->secrets = secrets.items;
    m->n_secrets = secrets.count;
    return r;
}

static int build(struct publish *x, Csi__V1__NodePublishVolumeRequest *m, struct error *err)
{
    const struct csi_request *csi = x->q->csi;
    int r = publish_contexts(x, m, err);

    if (r < 0)
        return r;
    m->volume_id = (char *)(uintptr_t)x->handle;
    m->target_path = (char *)(uintptr_t)x->target;
    if (x->stage_path[0])
        m->staging_target_path = x->stage_path;
    m->volume_capability = csi_capability_of(&x->arena, &x->q->spec, /* is_block= */ false, x->capabilities,
                                             x->q->fs_group, csi->mount_context);
    m->readonly = is_read_only(&x->q->spec);
    return arena_check(&x->arena, err);
}

/* --- Set up --- */

static int write_data(const struct volume_env *env, const struct publish *x, const char *dir,
                      struct error *err)
{
    const struct volume_spec *s = &x->q->spec;
    char attachment[CSI_NAME_BYTES] = "";
    const struct csi_data data = {
        .spec_name = spec_name(s),
        .handle = x->handle,
        .driver = spec_source(s).csi->driver,
        .node_name = env->node_name,
        .mode = s->inlined ? CSI_MODE_EPHEMERAL : CSI_MODE_PERSISTENT,
        .attachment = attachment,
        .mount_context = x->q->csi->mount_context,
    };
    int r = csi_attachment_name(data.driver, x->handle, env->node_name, attachment, err);

    return r < 0 ? r : csi_data_write(dir, &data, err);
}

static int give_to_group(const struct volume_env *env, const struct publish *x, struct error *err)
{
    const struct set_up_request *q = x->q;
    const struct ownership how = {
        .gid = (gid_t)q->fs_group,
        .on_root_mismatch = q->on_root_mismatch,
        .stop = env->stop,
    };
    struct error why = { 0 };
    bool walked;

    if (q->fs_group < 0 || csi_can(x->capabilities, CAN(VOLUME_MOUNT_GROUP)) ||
        !policy_allows(&q->spec, q->csi->driver))
        return 0;
    if (host_own(x->target, &how, &walked, &why) == 0)
        return 0;
    /* Published, and not as it should be. */
    return error_set(err, ERR_TIMEOUT, "applyFSGroup failed for vol %s: %s", x->handle, why.msg);
}

/* A failed call of a mount that may be there from before must not take it away. */
static void undo(const struct publish *x, const char *dir, int r)
{
    struct error ignored = { 0 }; /* the call's failure is told */

    if (r != -ERR_UNCERTAIN && !x->q->csi->is_reconstructed && !x->q->is_remount)
        (void)csi_dir_remove(dir, MOUNT_DIR, &ignored);
}

static int publish(struct csi_conn *c, const struct volume_env *env, struct publish *x, struct error *err)
{
    Csi__V1__NodePublishVolumeRequest m;
    char dir[PATH_MAX];
    int r;

    csi__v1__node_publish_volume_request__init(&m);
    r = build(x, &m, err);
    if (r < 0)
        return r;
    csi_parent(x->target, dir);
    r = host_make_path(dir, CSI_DIR_MODE, err);
    if (r == 0)
        r = write_data(env, x, dir, err);
    if (r < 0)
        return r;
    r = csi_call(c, CSI_NODE_PUBLISH, &m.base, NULL, err);
    if (r < 0) {
        undo(x, dir, r);
        return r;
    }
    return give_to_group(env, x, err);
}

static int csi_set_up(const struct volume_plugin *self, const struct volume_env *env,
                      const struct set_up_request *q, struct error *err)
{
    const struct csi_source *source = spec_source(&q->spec).csi;
    struct publish x = { .q = q, .arena = ARENA_INIT(CSI_MEMORY_BYTES_MAX) };
    char handle[CSI_HANDLE_BYTES], target[PATH_MAX];
    struct csi_conn c;
    int r = csi_conn_of(self, env, source->driver, &c, err);

    assert(q->csi);
    if (r == 0)
        r = check_mode(&q->spec, q->csi->driver, err);
    if (r == 0)
        r = csi_capabilities(&c, &x.capabilities, err);
    if (r == 0)
        r = csi_handle(&q->spec, q->pod->obj.uid, handle, sizeof handle, err);
    if (r == 0)
        r = csi_path(self, env->root, q->pod->obj.uid, spec_name(&q->spec), &q->spec, target, err);
    if (r == 0 && q->spec.volume && csi_can(x.capabilities, CAN(STAGE_UNSTAGE_VOLUME)))
        r = csi_stage_path(env->root, source->driver, handle, x.stage_path, err);
    if (r < 0)
        return r;
    x.handle = handle;
    x.target = target;
    r = publish(&c, env, &x, err);
    arena_done(&x.arena);
    return r;
}

/* --- Tear down --- */

int csi_unpublish(struct csi_conn *c, const char *handle, const char *target, struct error *err)
{
    Csi__V1__NodeUnpublishVolumeRequest m;

    csi__v1__node_unpublish_volume_request__init(&m);
    m.volume_id = (char *)(uintptr_t)handle;
    m.target_path = (char *)(uintptr_t)target;
    return csi_call(c, CSI_NODE_UNPUBLISH, &m.base, NULL, err);
}

static int csi_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                         const char *pod_uid, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    enum file_kind kind = FILE_MISSING;
    struct error why = { 0 };
    struct csi_data data = { 0 };
    struct csi_conn c;
    char dir[PATH_MAX], target[PATH_MAX];
    int r = volume_dir(env->root, pod_uid, name, dir, err);

    if (r == 0)
        r = csi_path(self, env->root, pod_uid, name, /* spec= */ NULL, target, err);
    if (r == 0)
        r = host_file_kind(dir, &kind, err);
    if (r < 0 || kind == FILE_MISSING) /* all of it is gone */
        return r;
    r = csi_data_read(dir, &a, &data, &why);
    if (r < 0)
        return error_set(err, why.code, "unmounter failed to load volume data file [%s]: %s", dir, why.msg);
    r = csi_conn_of(self, env, data.driver, &c, err);
    if (r == 0)
        r = csi_unpublish(&c, data.handle, target, err);
    return r < 0 ? r : csi_dir_remove(dir, MOUNT_DIR, err);
}

const struct pod_table csi_pod_table = {
    .path = csi_path,
    .attributes = csi_attributes,
    .set_up = csi_set_up,
    .tear_down = csi_tear_down,
    .usage = csi_usage,
};
