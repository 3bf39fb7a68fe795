/* Builds the requests to drivers from volumes and the objects that were fetched for them. Texts are borrowed
 * from the objects; messages are allocated in the arena. */
#include "plugins/csi/csi_int.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "api/attachment.h"
#include "api/config.h"

#define MODES_BYTES_MAX ((size_t)8 << 20)

/* Messages have non-const texts that are never modified. */
static char *text_of(const char *s)
{
    return (char *)(uintptr_t)s;
}

/* --- Pairs --- */

static Csi__V1__Pair *pair_add(struct arena *a, struct csi_pairs *p, const char *key)
{
    Csi__V1__Pair *pair = arena_alloc(a, sizeof *pair);

    if (!pair || !p->items)
        return NULL;
    assert(p->count < p->room);
    csi__v1__pair__init(pair);
    pair->key = text_of(key);
    p->items[p->count++] = pair;
    return pair;
}

/* The keys of base are unique. */
struct csi_pairs csi_pairs_of(struct arena *a, struct kvs base, size_t more)
{
    struct csi_pairs p = { .room = base.count + more };
    Csi__V1__Pair *pair;

    p.items = arena_array(a, p.room, sizeof *p.items);
    for (uint32_t i = 0; i < base.count && (pair = pair_add(a, &p, base.items[i].key)); i++)
        pair->value = text_of(base.items[i].value);
    return p;
}

void csi_pairs_set(struct arena *a, struct csi_pairs *p, const char *key, const char *value)
{
    Csi__V1__Pair *pair = NULL;

    for (size_t i = 0; i < p->count && !pair; i++)
        if (strcmp(p->items[i]->key, key) == 0)
            pair = p->items[i];
    if (!pair)
        pair = pair_add(a, p, key);
    if (pair) /* else the arena has the failure */
        pair->value = text_of(value);
}

/* --- Secrets --- */

static int add_secret(struct arena *a, const struct config_entry *e, struct csi_secrets *s, struct error *err)
{
    Csi__V1__Secret *one = arena_alloc(a, sizeof *one);

    if (!one)
        return arena_check(a, err);
    if (!str_is_utf8(e->bytes)) /* values of the protocol are text */
        return error_set(err, ERR_INVALID, "value of key '%s' is not text", e->key);
    csi__v1__secret__init(one);
    one->key = text_of(e->key);
    one->value = (ProtobufCBinaryData){ e->bytes.len, (uint8_t *)text_of(e->bytes.s) };
    s->items[s->count++] = one;
    return 0;
}

int csi_secret_messages(struct arena *a, const struct secret *secret, struct csi_secrets *ret,
                        struct error *err)
{
    struct csi_secrets all = { .items = arena_array(a, secret->data.count, sizeof *all.items) };
    int r = arena_check(a, err);

    for (uint32_t i = 0; i < secret->data.count && r == 0; i++)
        r = add_secret(a, &secret->data.items[i], &all, err);
    if (r == 0)
        *ret = all;
    return r;
}

int csi_secrets_of(struct arena *a, const struct csi_request *q, const struct volume_spec *s,
                   enum csi_secret which, const char *what, size_t more, struct csi_secrets *ret,
                   struct error *err)
{
    const struct secret_ref *ref = &spec_source(s).csi->secrets[which];
    const struct secret *secret = q->secret.object ? secret_of(q->secret.object) : NULL;
    struct csi_secrets all = { 0 };
    int r = 0;

    if (ref->name[0] && !secret) {
        (void)error_set(err, ERR_UNAVAILABLE, "fetching %s %s/%s failed: %s", what, ref->ns, ref->name,
                        q->secret.r < 0 ? q->secret.err.msg : "it was not fetched");
        return -ERR_UNAVAILABLE;
    }
    all.items = arena_array(a, (secret ? secret->data.count : 0) + more, sizeof *all.items);
    if (arena_check(a, err) < 0)
        return -(int)err->code;
    for (uint32_t i = 0; secret && i < secret->data.count && r == 0; i++)
        r = add_secret(a, &secret->data.items[i], &all, err);
    if (r < 0)
        return error_wrap(err, "%s %s/%s", what, ref->ns, ref->name);
    *ret = all;
    return 0;
}

int csi_publish_context(const struct csi_request *q, const struct volume_spec *s, struct kvs *ret,
                        struct error *err)
{
    const struct attachment *attachment = (const struct attachment *)(const void *)q->attachment.object;

    *ret = (struct kvs){ 0 };
    if (s->inlined || (q->driver && !q->driver->attach_required))
        return 0;
    if (!attachment) {
        *err = q->attachment.err;
        if (q->attachment.r == 0)
            (void)error_set(err, ERR_UNAVAILABLE, "the VolumeAttachment was not fetched");
        return csi_transient(err);
    }
    *ret = attachment->metadata;
    return 0;
}

/* --- Capabilities --- */

/* The first of the volume's access modes. It is read from the text, because the parsed set has no order. */
static unsigned first_mode(const struct volume *v)
{
    _cleanup_(json_done_p) struct json d;
    struct error ignored = { 0 }; /* the text is valid: only memory can be missing */
    json_ref root = 0;
    struct str name;

    json_init(&d, MODES_BYTES_MAX);
    if ((v->modes & (v->modes - 1U)) == 0)
        return v->modes;
    if (json_parse(&d, v->obj.text, &root, &ignored) < 0)
        return v->modes & -v->modes;
    name = json_text(&d, json_at(&d, json_path(&d, root, "spec", "accessModes"), 0));
    for (unsigned i = 0; access_mode_names[i]; i++)
        if (str_is(name, access_mode_names[i]))
            return 1U << i;
    return v->modes & -v->modes;
}

static Csi__V1__VolumeCapability__AccessMode__Mode mode_of(const struct volume_spec *s, bool has_single_modes)
{
    switch (s->volume ? first_mode(s->volume) : ACCESS_RWO) {
    case ACCESS_RWO:
        return has_single_modes ? CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_MULTI_WRITER
                                : CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    case ACCESS_ROX:
        return CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__MULTI_NODE_READER_ONLY;
    case ACCESS_RWX:
        return CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__MULTI_NODE_MULTI_WRITER;
    case ACCESS_RWOP:
        return has_single_modes ? CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_SINGLE_WRITER
                                : CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    default:
        return CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__UNKNOWN;
    }
}

/* The mount options of the volume, and the SELinux label in quotes, because labels contain commas. */
static void set_flags(struct arena *a, Csi__V1__VolumeCapability__MountVolume *m, const struct volume_spec *s,
                      const char *context)
{
    struct texts options = s->volume ? s->volume->mount_options : (struct texts){ 0 };
    size_t count = options.count + (context[0] != '\0');

    m->mount_flags = arena_array(a, count, sizeof *m->mount_flags);
    if (!m->mount_flags)
        return;
    for (uint32_t i = 0; i < options.count; i++)
        m->mount_flags[i] = text_of(options.items[i]);
    if (context[0])
        m->mount_flags[options.count] = arena_printf(a, "context=\"%s\"", context);
    m->n_mount_flags = count;
}

static Csi__V1__VolumeCapability__MountVolume *mount_of(struct arena *a, const struct volume_spec *s,
                                                        bool takes_group, int64_t fs_group,
                                                        const char *context)
{
    Csi__V1__VolumeCapability__MountVolume *m = arena_alloc(a, sizeof *m);

    if (!m)
        return NULL;
    csi__v1__volume_capability__mount_volume__init(m);
    m->fs_type = text_of(spec_source(s).csi->fs_type);
    set_flags(a, m, s, context);
    if (takes_group && fs_group >= 0)
        m->volume_mount_group = arena_printf(a, "%" PRId64, fs_group);
    return m;
}

Csi__V1__VolumeCapability *csi_capability_of(struct arena *a, const struct csi_conn *c,
                                             const struct volume_spec *s, bool is_block, int64_t fs_group,
                                             const char *context)
{
    static Csi__V1__Nothing nothing = CSI__V1__NOTHING__INIT;
    Csi__V1__VolumeCapability *capability = arena_alloc(a, sizeof *capability);
    Csi__V1__VolumeCapability__AccessMode *mode = arena_alloc(a, sizeof *mode);

    if (!capability || !mode)
        return NULL;
    csi__v1__volume_capability__init(capability);
    csi__v1__volume_capability__access_mode__init(mode);
    mode->mode =
        mode_of(s, csi_can(c, CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__SINGLE_NODE_MULTI_WRITER));
    capability->access_mode = mode;
    if (is_block) {
        capability->access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
        capability->block = &nothing;
        return capability;
    }
    capability->access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT;
    capability->mount = mount_of(
        a, s, csi_can(c, CSI__V1__NODE_SERVICE_CAPABILITY__RPC__TYPE__VOLUME_MOUNT_GROUP), fs_group, context);
    return capability;
}
