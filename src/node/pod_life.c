/* One function per stage examines the pod's state and takes the next step; the end of every asynchronous step
 * calls pod_life_sync() again. A pod that is deleted in the middle of a step is therefore noticed at once;
 * the step is cancelled and awaited, so that no volume is unmounted while a worker or a hook uses it. */
#include "node/pod_life.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mutant.h"
#include "base/reach.h"
#include "node/node_int.h"
#include "node/pod_hook.h"
#include "node/pod_life_int.h"
#include "node/pod_report.h"
#include "plugins/layout.h"

static void life_run_stage(void *ctx);
static void on_timer(void *ctx);

struct loop *life_loop(const struct node_pod *p)
{
    return p->agent->o.part.loop;
}

static void on_again(void *ctx)
{
    pod_report(ctx);
}

void pod_life_init(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    *l = (struct pod_life){ .stage = POD_STAGE_VOLUMES };
    timer_init(&l->timer, life_loop(p), on_timer, p);
    timer_init(&l->again, life_loop(p), on_again, p);
    deferred_init(&l->sync, life_loop(p), life_run_stage, p);
    pod_state_init(&l->state);
}

void pod_parts_done(struct pod_parts *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        free(p->items[i].volume);
        free(p->items[i].path);
    }
    free(p->items);
    *p = (struct pod_parts){ 0 };
}

void pod_life_drop_hooks(struct agent *a)
{
    _cleanup_(vec_done_p) VEC(struct process *) hooks = { 0 };
    struct omap_cursor at;

    for (struct node_pod *p = omap_first(&a->world.pods, &at); p; p = omap_next(&at))
        if (p->life.hook && vec_push(&hooks, p->life.hook) == 0) /* otherwise pod_life_done() drops it */
            p->life.hook = NULL;
    process_drop_all(hooks.items, hooks.count);
}

void pod_life_done(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    loop_undefer(&l->sync);
    timer_disarm(&l->timer);
    timer_disarm(&l->again);
    api_write_cancel(&l->write);
    api_write_cancel(&l->limit_read);
    l->job = job_drop(l->job);
    l->hook = process_drop(l->hook);
    l->manifest = object_unref(l->manifest);
    pod_state_done(&l->state);
    pod_parts_done(&l->parts);
    wait_log_done(&l->wait);
    free(l->reported_cause);
    free(l->missing);
    free(l->message);
    l->reported_cause = l->message = l->missing = NULL;
}

void pod_life_sync(struct node_pod *p)
{
    loop_defer(&p->life.sync);
}

/* A repeated teardown is harmless; a missing one may leave containers running. */
void pod_life_restore_unreadable(struct node_pod *p, const char *why)
{
    log_warn("cannot read pod state file, assuming that its hook was called", LOG_STR("uid", p->uid),
             LOG_STR("error", why));
    p->life.has_lost_state = p->life.is_set_up = true;
    p->life.says_ready = false;
}

void pod_life_restore(struct node_pod *p, struct str state)
{
    struct pod_life *l = &p->life;
    struct error err = { 0 };

    if (state.len && pod_state_parse(&l->state, state, &err) < 0) {
        pod_life_restore_unreadable(p, err.msg);
        return;
    }
    l->says_ready = l->state.root && pod_state_says_ready(&l->state);
    /* This was changed at the start, before the server was contacted (ready_files.h), unless that failed. */
    l->has_lost_mount = l->says_ready && !pod_state_is_of_boot(&l->state, p->agent->boot_id);
    if (l->state.hook == HOOK_SET_UP && pod_state_is_of_earlier_boot(&l->state, p->agent->boot_id) &&
        !MUTANT("node-forgets-boots"))
        pod_state_mark(&l->state, /* is_ready= */ false, HOOK_SETTING_UP); /* setup is called again */
    l->has_lost_state = false;
    l->is_set_up = hook_is_owed(l->state.hook) && !MUTANT("node-forgets-teardowns");
}

/* --- Stages --- */

#define TO(stage) (1U << POD_STAGE_##stage)

bool pod_stage_may_follow(enum pod_stage from, enum pod_stage next)
{
    static const unsigned followers[] = {
        [POD_STAGE_VOLUMES] = TO(PREPARE) | TO(TEARDOWN),
        [POD_STAGE_PREPARE] = TO(VOLUMES) | TO(SETUP) | TO(READY) | TO(TEARDOWN),
        [POD_STAGE_SETUP] = TO(VOLUMES) | TO(READY) | TO(TEARDOWN),
        [POD_STAGE_READY] = TO(VOLUMES) | TO(TEARDOWN),
        [POD_STAGE_TEARDOWN] = TO(CLEANUP), /* terminating cannot be undone */
        [POD_STAGE_CLEANUP] = 0,
    };

    static_assert(ARRAY_LEN(followers) == POD_STAGE_COUNT, "give every stage its followers");
    return followers[from] >> next & 1;
}

void life_set_stage(struct node_pod *p, enum pod_stage next)
{
    static const char *const names[] = {
        [POD_STAGE_VOLUMES] = "volumes", [POD_STAGE_PREPARE] = "prepare",   [POD_STAGE_SETUP] = "setup",
        [POD_STAGE_READY] = "ready",     [POD_STAGE_TEARDOWN] = "teardown", [POD_STAGE_CLEANUP] = "cleanup",
    };
    struct pod_life *l = &p->life;

    static_assert(ARRAY_LEN(names) == POD_STAGE_COUNT, "name every stage");
    assert(pod_stage_may_follow(l->stage, next));
    log_debug("pod's life", LOG_STR("uid", p->uid), LOG_STR("from", names[l->stage]),
              LOG_STR("to", names[next]));
    reach_move(REACH_NODE_POD, POD_STAGE_COUNT, l->stage, next);
    timer_disarm(&l->timer);
    l->stage = next;
    l->failures = 0;
    l->waiting_ns = 0;
}

bool life_is_busy(const struct pod_life *l)
{
    return l->job || l->hook || timer_is_armed(&l->timer);
}

void life_try_later(struct node_pod *p)
{
    timer_arm_after(&p->life.timer, pod_retry_ns(++p->life.failures));
}

void life_begin_job(struct node_pod *p, struct job *j, job_done_fn *done)
{
    assert(!p->life.job);
    p->life.job = j;
    job_begin(j, p->agent->o.pool, done, p);
}

/* The pod has terminated or is being deleted. */
static bool is_ending(const struct node_pod *p)
{
    const struct pod *pod = p->object ? pod_of(p->object) : NULL;

    return !p->is_known || !pod || pod->obj.is_deleting || pod->phase == POD_SUCCEEDED ||
           pod->phase == POD_FAILED;
}

/* --- The state file --- */

static bool begin_write(struct node_pod *p, bool may_remove, job_done_fn *done, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    char dir[PATH_MAX];
    struct job *j;

    if (layout_pod_dir(p->agent->root, p->uid, dir, err) < 0)
        return false;
    pod_state_write(&p->life.state, &text);
    j = state_file_job(dir, buf_take(&text), may_remove);
    if (!j) {
        (void)error_no_memory(err);
        return false;
    }
    life_begin_job(p, j, done);
    return true;
}

bool life_begin_write(struct node_pod *p, job_done_fn *done, struct error *err)
{
    return begin_write(p, /* may_remove= */ false, done, err);
}

static void on_withdrawn(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;
    struct pod_life *l = &p->life;

    (void)j;
    l->job = NULL;
    l->failed_to_withdraw = r < 0;
    if (r == 0)
        l->says_ready = false;
    else
        log_warn("cannot record in state file that pod is not ready, retrying", LOG_STR("uid", p->uid),
                 LOG_ERR(err));
    if (r < 0 && l->stage == POD_STAGE_CLEANUP) {
        pod_warn(p, "FailedKillPod", err->msg);
        life_try_later(p);
    }
    if (l->stage == POD_STAGE_CLEANUP)
        agent_touch(p->agent); /* its volumes may be unmounted */
    if (l->stage == POD_STAGE_SETUP && !life_is_busy(l))
        life_continue_setup(p);
    else
        pod_life_sync(p);
}

void life_withdraw_ready(struct node_pod *p)
{
    struct pod_life *l = &p->life;
    struct error err = { 0 };

    l->has_lost_mount = true;
    pod_state_mark(&l->state, /* is_ready= */ false, l->state.hook);
    /* The file is needed as long as a teardown is required. */
    if (!begin_write(p, /* may_remove= */ l->stage >= POD_STAGE_TEARDOWN && !l->is_set_up, on_withdrawn,
                     &err))
        on_withdrawn(p, NULL, -(int)err.code, &err);
}

/* --- The hook --- */

void life_hook_failed(struct node_pod *p, const struct error *err)
{
    if (p->life.stage == POD_STAGE_SETUP)
        pod_set_reason(p, POD_REASON_HOOK_FAILED, err->msg);
    pod_warn(p, "FailedPodHook", err->msg);
    life_try_later(p);
}

bool life_start_hook(struct node_pod *p, bool is_teardown, process_done_fn done)
{
    char dir[PATH_MAX];
    struct error err = { 0 };
    struct pod_hook_call c = { .loop = life_loop(p),
                               .command = p->agent->o.hook,
                               .is_teardown = is_teardown,
                               .pod_uid = p->uid,
                               .pod_dir = dir,
                               .state = &p->life.state,
                               .pod = p->object ? p->object : p->life.manifest };
    int r = layout_pod_dir(p->agent->root, p->uid, dir, &err);

    if (r == 0)
        r = pod_hook_start(&c, done, p, &p->life.hook, &err);
    if (r < 0)
        life_hook_failed(p, &err);
    return r == 0;
}

/* --- Events --- */

static void life_run_stage(void *ctx)
{
    struct node_pod *p = ctx;
    const struct agent *a = p->agent;

    if (!a->has_scanned || (!p->is_known && !a->has_pods))
        return;
    if (p->life.stage < POD_STAGE_TEARDOWN && is_ending(p))
        life_enter_teardown(p);
    if (p->life.stage < POD_STAGE_TEARDOWN)
        pod_report(p);
    switch (p->life.stage) {
    case POD_STAGE_VOLUMES:
        life_check_volumes(p);
        break;
    case POD_STAGE_PREPARE:
        life_check_prepare(p);
        break;
    case POD_STAGE_SETUP:
        life_check_setup(p);
        break;
    case POD_STAGE_READY:
        life_check_ready(p);
        break;
    case POD_STAGE_TEARDOWN:
        life_check_teardown(p);
        break;
    case POD_STAGE_CLEANUP:
        life_check_cleanup(p);
        break;
    case POD_STAGE_COUNT:
        assert(!"not a stage");
    }
}

static void on_timer(void *ctx)
{
    struct node_pod *p = ctx;

    switch (p->life.stage) {
    case POD_STAGE_VOLUMES:
        life_check_wait(p);
        break;
    case POD_STAGE_PREPARE:
        life_prepare_again(p);
        break;
    case POD_STAGE_SETUP:
        life_continue_setup(p);
        break;
    case POD_STAGE_READY:
        break;
    case POD_STAGE_TEARDOWN:
    case POD_STAGE_CLEANUP:
        pod_life_sync(p);
        break;
    case POD_STAGE_COUNT:
        assert(!"not a stage");
    }
}
