/* iSCSI and Fibre Channel in the control plane: attaching does nothing, because every node logs in itself,
 * but a node waits until the volume is reported as attached. The node's part is not implemented. */
#include "plugins/builtin.h"

#include <inttypes.h>

static int san_attach(const struct volume_plugin *self, const struct volume_env *env,
                      const struct volume_spec *s, const char *node, char *ret_device, struct error *err)
{
    (void)self;
    (void)env;
    (void)s;
    (void)node;
    (void)err;
    ret_device[0] = '\0';
    return 0;
}

static int san_detach(const struct volume_plugin *self, const struct volume_env *env, const char *volume,
                      const char *node, struct error *err)
{
    (void)self;
    (void)env;
    (void)volume;
    (void)node;
    (void)err;
    return 0;
}

static int san_is_attached(const struct volume_plugin *self, const struct volume_env *env,
                           const struct volume_spec *s, const char *node, bool *ret, struct error *err)
{
    (void)self;
    (void)env;
    (void)s;
    (void)node;
    (void)err;
    *ret = true;
    return 0;
}

static const struct attach_table attaches_nothing = { .attach = san_attach,
                                                      .detach = san_detach,
                                                      .is_attached = san_is_attached };

/* --- iSCSI --- */

static bool iscsi_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_ISCSI;
}

/* The portal as written, with or without a port. */
static int iscsi_name(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                      struct error *err)
{
    const struct iscsi_source *iscsi = spec_source(s).iscsi;

    (void)self;
    buf_addf(ret, "%s:%s:%" PRId32, iscsi->portal, iscsi->iqn, iscsi->lun);
    return buf_check(ret, "volume name", err);
}

const struct volume_plugin iscsi_plugin = {
    .name = "kubernetes.io/iscsi",
    .can_support = iscsi_can_support,
    .volume_name = iscsi_name,
    .access_modes = ACCESS_RWO | ACCESS_ROX,
    .takes_mount_options = true,
    .attach = &attaches_nothing,
};

/* --- Fibre Channel --- */

static bool fc_can_support(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == SOURCE_FC;
}

static void add_list(struct buf *out, struct texts names)
{
    for (uint32_t i = 0; i < names.count; i++)
        buf_addf(out, "%s%s", i ? " " : "[", names.items[i]);
    buf_add_char(out, ']');
}

/* "[a b]:1" from the target names, else "[x y]" from the volume's: as in a kubelet. */
static int fc_name(const struct volume_plugin *self, const struct volume_spec *s, struct buf *ret,
                   struct error *err)
{
    const struct fc_source *fc = spec_source(s).fc;

    (void)self;
    if (fc->wwns.count > 0 && fc->lun >= 0) {
        add_list(ret, fc->wwns);
        buf_addf(ret, ":%" PRId32, fc->lun);
    } else if (fc->wwids.count > 0) {
        add_list(ret, fc->wwids);
    } else {
        return error_set(err, ERR_INVALID, "neither targetWWNs with a lun nor wwids are set");
    }
    return buf_check(ret, "volume name", err);
}

const struct volume_plugin fc_plugin = {
    .name = "kubernetes.io/fc",
    .can_support = fc_can_support,
    .volume_name = fc_name,
    .access_modes = ACCESS_RWO | ACCESS_ROX,
    .attach = &attaches_nothing,
};
