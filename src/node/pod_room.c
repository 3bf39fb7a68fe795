/* A node that has no room for a volume: whoever placed the pod knew of a larger limit. When a pod has waited
 * in vain, the attachments of its volumes are asked why. One that failed for lack of room fails the pod, so
 * that another can be placed elsewhere, and has its driver asked anew how much room there is.
 *
 * For drivers whose CSIDriver has a period for that: others' limits are fixed. */
#include "node/pod_life_int.h"

#include "api/attachment.h"
#include "node/node_int.h"
#include "node/pod_tell.h"

#define RESOURCE_EXHAUSTED 8 /* the code of gRPC */
#define WORDS_BYTES_MAX ((size_t)64 << 10)

static void ask(struct node_pod *p);

/* The n-th volume of the pod that is not attached and may lack room; NULL. */
static const struct node_volume *candidate(const struct node_pod *p, unsigned n)
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

static void reject(struct node_pod *p)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(WORDS_BYTES_MAX);

    buf_add_cstr(&out, "Node has reached its volume attachment limit, rejecting pod. ");
    pod_volumes_words(p, "context deadline exceeded", &out);
    pod_say(p, POD_REASON_LIMIT_EXCEEDED,
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
        reject(p);
        return;
    }
    p->life.room_at++; /* one that cannot be read is no proof */
    ask(p);
}

static void ask(struct node_pod *p)
{
    const struct node_volume *v = candidate(p, p->life.room_at);
    const struct csi_source *source = v ? spec_source(&v->wanted.spec).csi : NULL;
    struct api api = agent_api(p->agent);
    char name[CSI_NAME_BYTES];
    struct error ignored;

    if (source && csi_attachment_name(source->driver, source->handle, p->agent->o.name, name, &ignored) == 0)
        api_read(&p->life.room, &api, KIND_ATTACHMENT, NULL, name, on_attachment, p);
}

void life_check_room(struct node_pod *p)
{
    if (api_write_is_active(&p->life.room))
        return;
    p->life.room_at = 0;
    ask(p);
}
