/* NodePublishVolume: makes a volume available to one pod.
 *
 * The driver creates the directory that it mounts on. Its parent, with the data file, is created here before
 * the call, so that whatever a call leaves behind is found after a crash. */
#include "plugins/csi/csi_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/json_out.h"
#include "host/files.h"
#include "io/digest.h"
#include "plugins/layout.h"

#define MOUNT_DIR "mount"
#define POD_KEYS 5
#define KEY(name) "csi.storage.k8s.io/" name
#define CAN(name) CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__##name

/* --- Paths --- */

/* The directory with the data file and the mount. Volume names become one path component. */
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
    return n < 0 || n >= PATH_MAX ? error_set(err, ERR_INVALID, "path '%s' is too long", dir) : 0;
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
        r = buf_check(&both, "names of the volume", err);
        if (r == 0)
            r = sha256_hex(buf_str(&both), digest, err);
        if (r < 0)
            return r;
    }
    n = s->inlined ? snprintf(ret, size, "csi-%s", digest)
                   : snprintf(ret, size, "%s", spec_source(s).csi->handle);
    return n < 0 || (size_t)n >= size ? error_set(err, ERR_INVALID, "volume handle is too long") : 0;
}

/* --- Checks --- */

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
    for (uint32_t i = 0; i < driver->lifecycle_modes.count; i++)
        buf_addf(&modes, "%s\"%s\"", i ? " " : "", driver->lifecycle_modes.items[i]);
    return error_set(err, ERR_UNAVAILABLE,
                     "volume mode \"%s\" not supported by driver %s (only supports [%s])", mode, name,
                     buf_cstr(&modes));
}

/* True if the fsGroup is applied here. */
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

/* --- Request --- */

static void add_pod_info(struct arena *a, const struct pod *pod, bool is_ephemeral, struct csi_pairs *context)
{
    csi_pairs_set(a, context, KEY("pod.name"), pod->obj.name);
    csi_pairs_set(a, context, KEY("pod.namespace"), pod->obj.ns);
    csi_pairs_set(a, context, KEY("pod.uid"), pod->obj.uid);
    csi_pairs_set(a, context, KEY("serviceAccount.name"), pod->service_account);
    csi_pairs_set(a, context, KEY("ephemeral"), is_ephemeral ? "true" : "false");
}

/* {"AUDIENCE":{"token":"…","expirationTimestamp":"…"}}, sorted by audience. */
static char *tokens_json(struct csi_publish *publish)
{
    const struct csi_request *csi = publish->csi;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(CSI_MEMORY_BYTES_MAX);

    json_out_object(&out, NULL);
    for (uint32_t i = 0; i < csi->tokens_count; i++) {
        json_out_object(&out, csi->tokens[i].audience);
        json_out_str(&out, "token", csi->tokens[i].token);
        json_out_text(&out, "expirationTimestamp", csi->tokens[i].expires);
        json_out_end_object(&out);
    }
    json_out_end_object(&out);
    return out.failed ? NULL : arena_dup(&publish->arena, buf_str(&out));
}

static int add_tokens(struct csi_publish *publish, struct csi_pairs *context, struct csi_secrets *secrets,
                      struct error *err)
{
    static const char key[] = KEY("serviceAccount.tokens");
    const struct csi_request *csi = publish->csi;
    Csi__V1__Secret *secret;
    char *text;

    if (publish->is_block || !csi->driver || csi->driver->token_requests_count == 0)
        return 0;
    if (csi->token.r < 0) {
        *err = csi->token.err;
        return csi_transient(err);
    }
    text = tokens_json(publish);
    secret = arena_alloc(&publish->arena, sizeof *secret);
    if (!text || !secret || !secrets->items)
        return error_no_memory(err);
    if (!csi->driver->tokens_in_secrets) {
        csi_pairs_set(&publish->arena, context, key, text);
        return 0;
    }
    csi__v1__secret__init(secret);
    secret->key = (char *)(uintptr_t)key;
    secret->value = (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
    secrets->items[secrets->count++] = secret;
    return 0;
}

int csi_publish_message(struct csi_publish *publish, const struct csi_conn *c,
                        Csi__V1__NodePublishVolumeRequest *m, struct error *err)
{
    const struct csi_request *csi = publish->csi;
    struct csi_pairs attributes =
        csi_pairs_of(&publish->arena, spec_source(publish->spec).csi->attributes, POD_KEYS + 1);
    struct csi_pairs published;
    struct csi_secrets secrets = { 0 };
    struct kvs context;
    int r = csi_publish_context(csi, publish->spec, &context, err);

    csi__v1__node_publish_volume_request__init(m);
    if (r == 0)
        r = csi_secrets_of(&publish->arena, csi, publish->spec, CSI_SECRET_NODE_PUBLISH,
                           "NodePublishSecretRef", 1, &secrets, err);
    if (r < 0)
        return r;
    published = csi_pairs_of(&publish->arena, context, 0);
    if (csi->driver && csi->driver->pod_info_on_mount)
        add_pod_info(&publish->arena, publish->pod, publish->spec->inlined, &attributes);
    r = add_tokens(publish, &attributes, &secrets, err);
    if (r < 0)
        return r;
    m->publish_context = published.items;
    m->n_publish_context = published.count;
    m->volume_context = attributes.items;
    m->n_volume_context = attributes.count;
    m->secrets = secrets.items;
    m->n_secrets = secrets.count;
    m->volume_id = (char *)(uintptr_t)publish->handle;
    m->target_path = (char *)(uintptr_t)publish->target;
    if (publish->stage_path)
        m->staging_target_path = (char *)(uintptr_t)publish->stage_path;
    m->volume_capability = csi_capability_of(&publish->arena, c, publish->spec, publish->is_block,
                                             publish->fs_group, publish->is_block ? "" : csi->mount_context);
    m->readonly = is_read_only(publish->spec);
    return arena_check(&publish->arena, err);
}

/* --- Set up --- */

int csi_pod_data_write(const struct volume_env *env, const struct volume_spec *s, const char *handle,
                       const char *mount_context, const char *dir, struct error *err)
{
    char attachment[CSI_NAME_BYTES] = "";
    const struct csi_data data = {
        .spec_name = spec_name(s),
        .handle = handle,
        .driver = spec_source(s).csi->driver,
        .node_name = env->node_name,
        .mode = s->inlined ? CSI_MODE_EPHEMERAL : CSI_MODE_PERSISTENT,
        .attachment = attachment,
        .mount_context = mount_context,
    };
    int r = csi_attachment_name(data.driver, handle, env->node_name, attachment, err);

    if (r == 0)
        r = host_make_path(dir, CSI_DIR_MODE, err);
    return r < 0 ? r : csi_data_write(dir, &data, err);
}

static int apply_fs_group(const struct volume_env *env, const struct set_up_request *q, const char *target,
                          const char *handle, struct error *err)
{
    const struct ownership how = {
        .gid = (gid_t)q->fs_group,
        .on_root_mismatch = q->on_root_mismatch,
        .stop = env->stop,
    };
    struct error why = { 0 };
    bool walked;

    if (host_own(target, &how, &walked, &why) == 0)
        return 0;
    /* Published, but with wrong ownership. */
    return error_set(err, ERR_INCOMPLETE, "applyFSGroup failed for vol %s: %s", handle, why.msg);
}

static int publish_volume(struct csi_conn *c, const struct volume_env *env, const struct set_up_request *q,
                          struct csi_publish *publish, struct error *err)
{
    Csi__V1__NodePublishVolumeRequest m;
    char dir[PATH_MAX];
    int r = csi_publish_message(publish, c, &m, err);

    csi_parent(publish->target, dir);
    if (r < 0)
        return r;
    r = csi_pod_data_write(env, publish->spec, publish->handle, publish->csi->mount_context, dir, err);
    if (r < 0) /* the directory may exist, and an earlier call may have succeeded */
        return q->is_remount ? r : -(int)(err->code = ERR_INCOMPLETE);
    r = csi_call(c, CSI_NODE_PUBLISH, &m.base, NULL, err);
    /* A failed call must not remove a mount that may already have existed. */
    if (r < 0 && r != -ERR_UNCERTAIN && !publish->csi->is_reconstructed && !q->is_remount)
        r = csi_dir_undo(dir, MOUNT_DIR, r, err);
    if (r < 0 || q->fs_group < 0 || csi_can(c, CAN(VOLUME_MOUNT_GROUP)) ||
        !policy_allows(publish->spec, publish->csi->driver))
        return r;
    return apply_fs_group(env, q, publish->target, publish->handle, err);
}

static int csi_set_up(const struct volume_plugin *self, const struct volume_env *env,
                      const struct set_up_request *q, struct error *err)
{
    const struct csi_source *source = spec_source(&q->spec).csi;
    char handle[CSI_HANDLE_BYTES], target[PATH_MAX], staged[PATH_MAX];
    struct csi_publish publish = { .spec = &q->spec,
                                   .pod = q->pod,
                                   .csi = q->csi,
                                   .fs_group = q->fs_group,
                                   .handle = handle,
                                   .target = target,
                                   .arena = ARENA_INIT(CSI_MEMORY_BYTES_MAX) };
    struct csi_conn c;
    int r = csi_conn_of(self, env, source->driver, &c, err);

    assert(q->csi);
    c.is_migrated = q->spec.is_migrated;
    if (r == 0)
        r = check_mode(&q->spec, q->csi->driver, err);
    if (r == 0)
        r = csi_capabilities(&c, err);
    if (r == 0)
        r = csi_handle(&q->spec, q->pod->obj.uid, handle, sizeof handle, err);
    if (r == 0)
        r = csi_path(self, env->root, q->pod->obj.uid, spec_name(&q->spec), &q->spec, target, err);
    if (r == 0 && q->spec.volume && csi_can(&c, CAN(STAGE_UNSTAGE_VOLUME))) {
        r = csi_stage_path(env->root, source->driver, handle, staged, err);
        publish.stage_path = staged;
    }
    if (r == 0)
        r = publish_volume(&c, env, q, &publish, err);
    arena_done(&publish.arena);
    return r;
}

/* --- Tear down --- */

int csi_unpublish(const struct volume_plugin *self, const struct volume_env *env, const struct csi_data *d,
                  const char *target, struct error *err)
{
    Csi__V1__NodeUnpublishVolumeRequest m;
    struct csi_conn c;
    int r = csi_conn_of(self, env, d->driver, &c, err);

    csi__v1__node_unpublish_volume_request__init(&m);
    m.volume_id = (char *)(uintptr_t)d->handle;
    m.target_path = (char *)(uintptr_t)target;
    return r < 0 ? r : csi_call(&c, CSI_NODE_UNPUBLISH, &m.base, NULL, err);
}

static int csi_tear_down(const struct volume_plugin *self, const struct volume_env *env, const char *name,
                         const char *pod_uid, struct error *err)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(CSI_MEMORY_BYTES_MAX);
    enum file_kind kind = FILE_MISSING;
    struct error why = { 0 };
    struct csi_data data = { 0 };
    char dir[PATH_MAX], target[PATH_MAX];
    int r = volume_dir(env->root, pod_uid, name, dir, err);

    if (r == 0)
        r = csi_path(self, env->root, pod_uid, name, /* spec= */ NULL, target, err);
    if (r == 0)
        r = host_file_kind(dir, &kind, err);
    if (r < 0 || kind == FILE_MISSING) /* everything is already removed */
        return r;
    r = csi_data_read(dir, &a, &data, &why);
    /* An unfinished removal, or a set-up that had just started. */
    if (r == -ERR_NOT_FOUND && host_file_kind(target, &kind, err) == 0 && kind == FILE_MISSING)
        return csi_dir_remove(dir, MOUNT_DIR, err);
    if (r < 0)
        return error_set(err, why.code, "unmounter failed to load volume data file [%s]: %s", dir, why.msg);
    r = csi_unpublish(self, env, &data, target, err);
    return r < 0 ? r : csi_dir_remove(dir, MOUNT_DIR, err);
}

const struct pod_table csi_pod_table = {
    .path = csi_path,
    .attributes = csi_attributes,
    .set_up = csi_set_up,
    .tear_down = csi_tear_down,
    .usage = csi_usage,
};
