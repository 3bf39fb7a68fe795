/* Rejects pods whose volumes exceed the node's volume limit: the scheduler placed the pod with an outdated
 * limit. When a pod has waited too long, the VolumeAttachments of its volumes are read. If one failed with
 * RESOURCE_EXHAUSTED the pod fails, so that its controller can replace it on another node, and the driver is
 * asked for its limit again.
 *
 * Only for drivers whose CSIDriver has an update period; the limits of others are fixed. */
#include "node/pod_life_int.h"

#include "api/attachment.h"
#include "node/node_int.h"
#include "node/pod_report.h"

#define RESOURCE_EXHAUSTED 8 /* the code of gRPC */
#define WORDS_BYTES_MAX ((size_t)64 << 10)

static void check_next_driver(struct node_pod *p);

/* The n-th volume of the pod that is not attached and may exceed a limit; NULL. */
static const struct node_volume *find_candidate(const struct node_pod *p, unsigned n)
{
    for (const struct node_mount *m = TAILQ_FIRST(&p->mounts); m; m = TAILQ_NEXT(m, of_pod)) {
        const struct node_volume *v = m->volume;
        struct volume_source source = { 0 };
        const struct csi_driver *d = NULL;

        if (m->is_wanted && v->is_attachable && !v->is_held)
            source = spec_source(&m->wanted.spec);
        if (source.kind == SOURCE_CSI && m->wanted.spec.volume)
            d = node_csi_driver(p->agent->csi, source.csi->driver);
        if (d && d->allocatable_period_seconds > 0 && n-- == 0)
            return v;
    }
    return NULL;
}

static void reject_pod(struct node_pod *p)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(WORDS_BYTES_MAX);

    buf_add_cstr(&out, "Node has reached its volume attachment limit, rejecting pod. ");
    pod_write_volumes_state(p, "context deadline exceeded", &out);
    pod_set_reason(p, POD_REASON_LIMIT_EXCEEDED,
                   out.failed ? pod_reason_name(POD_REASON_LIMIT_EXCEEDED) : buf_cstr(&out));
}

static void on_attachment(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct node_pod *p = ctx;
    const struct attachment *at = (const struct attachment *)(const void *)a->object;

    if (p->life.stage != POD_STAGE_VOLUMES || pod_volumes_state(p) != VOLUMES_WAITING)
        return;
    if (outcome == API_DONE && at->attach_error.code == RESOURCE_EXHAUSTED) {
        node_csi_refresh(p->agent->csi, at->attacher);
        reject_pod(p);
        return;
    }
    p->life.limit_volume++; /* an attachment that cannot be read proves nothing */
    check_next_driver(p);
}

static void check_next_driver(struct node_pod *p)
{
    const struct node_volume *v = find_candidate(p, p->life.limit_volume);
    const struct csi_source *source = v ? spec_source(&v->wanted.spec).csi : NULL;
    char name[CSI_NAME_BYTES];
    struct error ignored;

    if (source && csi_attachment_name(source->driver, source->handle, p->agent->o.name, name, &ignored) == 0)
        api_read(&p->life.limit_read, &p->agent->api, KIND_ATTACHMENT, NULL, name, on_attachment, p);
}

void life_check_room(struct node_pod *p)
{
    if (api_write_is_active(&p->life.limit_read))
        return;
    p->life.limit_volume = 0;
    check_next_driver(p);
}
