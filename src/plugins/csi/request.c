/* Which API objects a CSI call needs, and the names of VolumeAttachments. Pure. */
#include "plugins/csi/request.h"

#include <stdio.h>
#include <string.h>

#include "io/digest.h"

#define NAMES_BYTES_MAX ((size_t)64 << 10)

static const enum csi_secret step_secrets[CSI_STEP_COUNT] = {
    [CSI_STAGE] = CSI_SECRET_NODE_STAGE,
    [CSI_PUBLISH] = CSI_SECRET_NODE_PUBLISH,
    [CSI_EXPAND] = CSI_SECRET_NODE_EXPAND,
};

int csi_attachment_name(const char *driver, const char *handle, const char *node_name,
                        char ret[CSI_NAME_BYTES], struct error *err)
{
    _cleanup_(buf_done_p) struct buf all = BUF_INIT(NAMES_BYTES_MAX);
    char digest[SHA256_HEX_BYTES];
    int r;

    buf_addf(&all, "%s%s%s", handle, driver, node_name);
    r = buf_check(&all, "names of the VolumeAttachment", err);
    if (r == 0)
        r = sha256_hex(buf_str(&all), digest, err);
    if (r == 0)
        (void)snprintf(ret, CSI_NAME_BYTES, "csi-%s", digest);
    return r;
}

bool csi_requires_remount(const struct csi_driver *driver)
{
    return driver && driver->requires_republish;
}

/* An inline volume has one secret, in the namespace of its pod, for publishing. */
static int need_secret(enum csi_step step, const struct volume_spec *s, const struct pod *pod,
                       int (*fn)(void *ctx, const struct csi_need *n), void *ctx)
{
    const struct secret_ref *ref = &spec_source(s).csi->secrets[step_secrets[step]];
    const struct csi_need n = {
        .kind = CSI_NEED_SECRET, .ns = s->inlined ? pod->obj.ns : ref->ns, .name = ref->name, .audience = ""
    };

    return ref->name[0] ? fn(ctx, &n) : 0;
}

static int need_attachment(const struct volume_spec *s, const char *node_name,
                           int (*fn)(void *ctx, const struct csi_need *n), void *ctx, struct error *err)
{
    const struct csi_source *source = spec_source(s).csi;
    char name[CSI_NAME_BYTES];
    const struct csi_need n = { .kind = CSI_NEED_ATTACHMENT, .ns = "", .name = name, .audience = "" };
    int r = csi_attachment_name(source->driver, source->handle, node_name, name, err);

    return r < 0 ? r : fn(ctx, &n);
}

static int need_tokens(const struct pod *pod, const struct csi_driver *driver,
                       int (*fn)(void *ctx, const struct csi_need *n), void *ctx)
{
    int r = 0;

    for (uint32_t i = 0; i < driver->token_requests_count && r == 0; i++) {
        const struct csi_need n = { .kind = CSI_NEED_TOKEN,
                                    .ns = pod->obj.ns,
                                    .name = pod->service_account,
                                    .audience = driver->token_requests[i].audience,
                                    .expiration_seconds = driver->token_requests[i].expiration_seconds,
                                    .index = i };
        r = fn(ctx, &n);
    }
    return r;
}

int csi_needs(enum csi_step step, const struct volume_spec *s, const struct pod *pod, const char *node_name,
              const struct csi_driver *driver, bool is_block, int (*fn)(void *ctx, const struct csi_need *n),
              void *ctx, struct error *err)
{
    bool is_attached = s->volume && (!driver || driver->attach_required);
    int r = 0;

    if (spec_source(s).kind != SOURCE_CSI)
        return 0;
    if (is_attached && step != CSI_EXPAND)
        r = need_attachment(s, node_name, fn, ctx, err);
    if (r == 0)
        r = need_secret(step, s, pod, fn, ctx);
    if (r == 0 && step == CSI_PUBLISH && driver && !is_block)
        r = need_tokens(pod, driver, fn, ctx);
    return r;
}
