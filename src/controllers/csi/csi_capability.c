/* Converts access modes as external-attacher and external-resizer do. */
#include "controllers/csi/csi_capability.h"

#include <stdint.h>

static int access_mode_of(const struct volume *v, bool has_single_modes,
                          Csi__V1__VolumeCapability__AccessMode__Mode *ret, struct error *err)
{
    bool is_read = v->modes & ACCESS_ROX, is_written = v->modes & ACCESS_RWO;

    if (v->modes & ACCESS_RWOP && v->modes != ACCESS_RWOP)
        return error_set(err, ERR_INVALID,
                         "Kubernetes does not support use of ReadWriteOncePod with other access modes on the "
                         "same PersistentVolume");
    if (v->modes & ACCESS_RWX)
        *ret = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__MULTI_NODE_MULTI_WRITER;
    else if (is_read && is_written)
        return error_set(err, ERR_INVALID,
                         "CSI does not support ReadOnlyMany and ReadWriteOnce on the same PersistentVolume");
    else if (is_read)
        *ret = CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__MULTI_NODE_READER_ONLY;
    else if (is_written)
        *ret = has_single_modes ? CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_MULTI_WRITER
                                : CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    else if (v->modes & ACCESS_RWOP)
        *ret = has_single_modes ? CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_SINGLE_WRITER
                                : CSI__V1__VOLUME_CAPABILITY__ACCESS_MODE__MODE__SINGLE_NODE_WRITER;
    else
        return error_set(err, ERR_INVALID, "unsupported AccessMode combination of volume \"%s\"",
                         v->obj.name);
    return 0;
}

int csi_volume_capability(struct arena *a, const struct volume *v, bool has_single_modes,
                          Csi__V1__VolumeCapability **ret, struct error *err)
{
    static Csi__V1__Nothing nothing = CSI__V1__NOTHING__INIT;
    Csi__V1__VolumeCapability *c = arena_alloc(a, sizeof *c);
    Csi__V1__VolumeCapability__AccessMode *mode = arena_alloc(a, sizeof *mode);
    Csi__V1__VolumeCapability__MountVolume *mount = arena_alloc(a, sizeof *mount);
    int r = arena_check(a, err);

    if (r < 0)
        return r;
    csi__v1__volume_capability__init(c);
    csi__v1__volume_capability__access_mode__init(mode);
    csi__v1__volume_capability__mount_volume__init(mount);
    r = access_mode_of(v, has_single_modes, &mode->mode, err);
    if (r < 0)
        return r;
    c->access_mode = mode;
    if (v->mode == VOLUME_MODE_BLOCK) {
        c->access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;
        c->block = &nothing;
    } else {
        mount->fs_type = (char *)(uintptr_t)v->source.csi->fs_type; /* is not modified */
        mount->mount_flags = (char **)(uintptr_t)v->mount_options.items;
        mount->n_mount_flags = v->mount_options.count;
        c->access_type_case = CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT;
        c->mount = mount;
    }
    *ret = c;
    return 0;
}
