/* The model of an external resizer (resizer.h).
 *
 * There is one job per volume of the storage, which does one thing at a time; a failed write is retried with
 * increasing delay. All state that must survive a crash is in the API. */
#include "sim/resizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/claim.h"
#include "api/json_out.h"
#include "api/volume.h"
#include "machinery/informer.h"
#include "machinery/merge_patch.h"
#include "machinery/resize_patch.h"
#include "sim/objects.h"
#include "sim/sim_world.h"

#define RETRY_NS (2 * NS_PER_S)
#define RETRY_NS_MAX (60 * NS_PER_S)
#define INFEASIBLE_NS (20 * NS_PER_S)
#define BODY_BYTES 4096

/* One volume of the storage. */
struct resizer_job {
    struct resizer *resizer;
    struct storage_volume *volume;
    char claim[16];
    struct client_call call;
    struct timer next;
    uint64_t delay_ns; /* after a failure; 0: none */
};

struct resizer {
    struct sim_storage *storage;
    struct sim_process *process;
    struct informer *claims, *volumes;
    struct informer_handler claims_handler, volumes_handler;
    struct rng rng;
    struct resizer_job jobs[STORAGE_VOLUMES_MAX];
};

/* --- Writes --- */

static void resizer_retry_later(struct resizer_job *j)
{
    j->delay_ns = j->delay_ns ? 2 * j->delay_ns : RETRY_NS;
    if (j->delay_ns > RETRY_NS_MAX)
        j->delay_ns = RETRY_NS_MAX;
    timer_arm_after(&j->next, j->delay_ns);
}

static void on_written(void *ctx, const struct client_answer *a)
{
    struct resizer_job *j = ctx;
    struct resizer *resizer = j->resizer;

    if (a->r < 0 || !a->object) {
        resizer_retry_later(j);
        return;
    }
    informer_observe(a->object->kind->kind == KIND_CLAIM ? resizer->claims : resizer->volumes, a->object);
    j->delay_ns = 0;
    timer_arm_after(&j->next, 0);
}

static void send_patch(struct resizer_job *j, const struct object *o, struct merge_patch *p, struct buf *body)
{
    struct client_request q = { .verb = CLIENT_PATCH,
                                .kind = o->kind,
                                .ns = o->ns,
                                .name = o->name,
                                .subresource = o->kind->kind == KIND_CLAIM ? "status" : NULL,
                                .patch = CLIENT_PATCH_STRATEGIC };
    struct error err;

    if (merge_patch_end(p, &err) < 0)
        abort();
    q.body = buf_str(body);
    client_send(j->resizer->process->client, &j->call, &q, on_written, j);
}

/* Writes the progress to the status of the claim. */
static void write_claim_status(struct resizer_job *j, const struct claim *c, const char *condition,
                               enum resize_status status, const struct quantity *size)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct merge_patch p;

    merge_patch_begin(&p, &body, &c->obj);
    merge_patch_member(&p, "status");
    resize_patch_conditions(&body, c, condition, /* message= */ NULL, /* drops= */ true,
                            timestamp_of_ns(clock_real_ns(&j->resizer->process->clock.clock)));
    json_out_storage(&body, "allocatedResources", size);
    resize_patch_status(&body, status);
    json_out_end_object(&body);
    send_patch(j, &c->obj, &p, &body);
}

static void write_volume_capacity(struct resizer_job *j, const struct volume *v, const struct quantity *size)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES);
    struct merge_patch p;

    merge_patch_begin(&p, &body, &v->obj);
    merge_patch_member(&p, "spec");
    json_out_object(&body, NULL);
    json_out_storage(&body, "capacity", size);
    json_out_end_object(&body);
    send_patch(j, &v->obj, &p, &body);
}

/* --- Decisions --- */

/* False if nothing is to be done, or the node has to act. An expansion in progress is completed first. */
static bool choose_size(const struct claim *c, const struct volume *v, struct quantity *ret)
{
    bool is_begun = c->resize == RESIZE_CONTROLLER_IN_PROGRESS || c->resize == RESIZE_NODE_INFEASIBLE;
    bool is_nodes = c->resize == RESIZE_NODE_PENDING || c->resize == RESIZE_NODE_IN_PROGRESS;

    if (is_nodes && quantity_cmp(&v->capacity, &c->allocated) >= 0)
        return false;
    if (c->resize == RESIZE_NONE && quantity_cmp(&c->request, &c->capacity) <= 0)
        return false;
    *ret = is_begun && c->has_allocated ? c->allocated : c->request;
    return true;
}

/* Expands the disk at once; false: a fault, retry later. */
static bool resizer_grow_volume(struct resizer_job *j, const struct quantity *size)
{
    struct sim *s = j->resizer->process->sim;
    uint64_t bytes = (uint64_t)quantity_value(size);

    if (sim_has_fault(s, &j->resizer->rng, FAULT_HOST, 20))
        return false;
    if (j->volume->disk.bytes < bytes) {
        j->volume->disk.bytes = bytes;
        sim_trace(s, "%s has %llu bytes", j->volume->disk.name, (unsigned long long)bytes);
    }
    return true;
}

static void resizer_sync_job(void *ctx)
{
    struct resizer_job *j = ctx;
    struct resizer *resizer = j->resizer;
    const struct object *claim = informer_get(resizer->claims, OBJECTS_NS, j->claim);
    const struct object *volume = informer_get(resizer->volumes, "", j->volume->disk.name);
    const struct claim *c;
    struct quantity size;

    if (!claim || !volume || client_call_is_active(&j->call) ||
        strcmp(volume_of(volume)->claim.uid, claim->uid) != 0)
        return;
    c = claim_of(claim);
    if (c->phase != CLAIM_BOUND || !choose_size(c, volume_of(volume), &size))
        return;
    if (c->resize != RESIZE_CONTROLLER_IN_PROGRESS || quantity_cmp(&c->allocated, &size) != 0)
        write_claim_status(j, c, CLAIM_RESIZING, RESIZE_CONTROLLER_IN_PROGRESS, &size);
    else if (!resizer_grow_volume(j, &size))
        resizer_retry_later(j);
    else if (quantity_cmp(&volume_of(volume)->capacity, &size) < 0)
        write_volume_capacity(j, volume_of(volume), &size);
    else
        write_claim_status(j, c, CLAIM_FILE_SYSTEM_RESIZE_PENDING, RESIZE_NODE_PENDING, &size);
}

static void on_upsert(void *ctx, const struct object *o)
{
    struct resizer *resizer = ctx;
    bool is_claim = o->kind->kind == KIND_CLAIM;

    for (unsigned i = 0; i < resizer->storage->count; i++) {
        struct resizer_job *j = &resizer->jobs[i];

        if (strcmp(o->name, is_claim ? j->claim : j->volume->disk.name) != 0 || timer_is_armed(&j->next))
            continue;
        if (is_claim && claim_of(o)->resize == RESIZE_NODE_INFEASIBLE)
            timer_arm_after(&j->next, INFEASIBLE_NS);
        else
            timer_arm_after(&j->next, 0);
    }
}

/* --- Start and kill --- */

static struct informer *open_informer(struct sim_process *p, enum kind k)
{
    struct informer_options o = {
        .loop = p->loop, .client = p->client, .seed = p->seed + k, .kind = kind_info(k)
    };
    struct informer *i = NULL;
    struct error err;

    sim_must(informer_new(&o, &i, &err), &err);
    return i;
}

static void *resizer_start(struct sim_process *p, void *ctx)
{
    struct resizer *resizer = sim_alloc(sizeof *resizer);

    resizer->storage = ctx;
    resizer->process = p;
    rng_init(&resizer->rng, p->seed);
    for (unsigned i = 0; i < resizer->storage->count; i++) {
        struct resizer_job *j = &resizer->jobs[i];

        *j = (struct resizer_job){ .resizer = resizer, .volume = &resizer->storage->volumes[i] };
        (void)snprintf(j->claim, sizeof j->claim, "c%s", j->volume->disk.name);
        timer_init(&j->next, p->loop, resizer_sync_job, j);
    }
    resizer->claims = open_informer(p, KIND_CLAIM);
    resizer->volumes = open_informer(p, KIND_VOLUME);
    resizer->claims_handler = (struct informer_handler){ .on_upsert = on_upsert, .ctx = resizer };
    resizer->volumes_handler = resizer->claims_handler;
    informer_add_handler(resizer->claims, &resizer->claims_handler);
    informer_add_handler(resizer->volumes, &resizer->volumes_handler);
    informer_start(resizer->claims);
    informer_start(resizer->volumes);
    return resizer;
}

static void resizer_kill(void *state)
{
    struct resizer *resizer = state;

    for (unsigned i = 0; i < resizer->storage->count; i++) {
        timer_disarm(&resizer->jobs[i].next);
        client_cancel(&resizer->jobs[i].call);
    }
    informer_remove_handler(&resizer->claims_handler);
    informer_remove_handler(&resizer->volumes_handler);
    resizer->claims = informer_free(resizer->claims);
    resizer->volumes = informer_free(resizer->volumes);
    free(resizer);
}

static const struct sim_program resizer_program = { "resizer", resizer_start, resizer_kill };

struct sim_process *resizer_spawn(struct sim_storage *storage)
{
    return sim_spawn(storage->sim, &resizer_program, storage);
}
