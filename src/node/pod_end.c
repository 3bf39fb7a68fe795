/* The second half of a pod's life: the hook ends what runs, the volumes go, then the directory and the pod.
 */
#include "node/pod_life_int.h"

#include "base/log.h"
#include "node/node_int.h"
#include "node/pod_hook.h"
#include "node/pod_prepare.h"
#include "node/pod_tell.h"
#include "plugins/layout.h"

/* --- Teardown --- */

void life_enter_teardown(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    life_set_stage(p, POD_STAGE_TEARDOWN);
    timer_disarm(&l->again);
    wait_log_done(&l->wait);
    if (l->job)
        atomic_store(&l->job->stop, 1);
    if (l->hook)
        process_cancel(l->hook); /* a setup: nobody needs it any more */
}

static void on_pod_read(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;

    p->life.job = NULL;
    if (r < 0)
        log_warn("cannot read what a pod was, its teardown goes by its name", LOG_STR("uid", p->uid),
                 LOG_ERR(err));
    else
        p->life.manifest = state_file_job_take_pod(j);
    pod_life_look(p);
}

/* For a pod that nobody knows any more; false when there is nothing to wait for. */
static bool begin_read_pod(struct node_pod *p)
{
    char dir[PATH_MAX];
    struct error err = { 0 };
    struct job *j;

    if (p->object || p->life.has_asked || layout_pod_dir(p->agent->root, p->uid, dir, &err) < 0)
        return false;
    p->life.has_asked = true;
    j = state_file_read_job(dir);
    if (j)
        life_begin_job(p, j, on_pod_read);
    return j;
}

/* Should that not be on disk the teardown would come once more, after a restart. */
static void on_teardown_written(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;

    (void)j;
    p->life.job = NULL;
    if (r < 0)
        log_warn("cannot write that a pod is torn down, ignoring", LOG_STR("uid", p->uid), LOG_ERR(err));
    pod_life_look(p);
}

static void on_teardown_done(void *ctx, const struct process_result *result)
{
    struct node_pod *p = ctx;
    struct pod_life *l = &p->life;
    struct error err = { 0 };

    l->hook = NULL;
    if (pod_hook_check(result, /* is_teardown= */ true, &err) < 0) {
        life_hook_failed(p, &err);
        return;
    }
    l->is_set_up = false;
    if (!l->state.root) {
        pod_life_look(p);
        return;
    }
    pod_state_mark(&l->state, /* is_ready= */ false, HOOK_TORN_DOWN);
    if (!life_begin_write(p, on_teardown_written, &err))
        on_teardown_written(p, NULL, -(int)err.code, &err);
}

void life_look_at_teardown(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    if (life_is_busy(l))
        return;
    if (l->is_set_up && !p->agent->o.hook) {
        log_warn("a pod was set up by a hook, and there is none now: not torn down", LOG_STR("uid", p->uid));
        l->is_set_up = false;
    }
    if (l->is_set_up) {
        if (!begin_read_pod(p))
            (void)life_start_hook(p, /* is_teardown= */ true, on_teardown_done);
        return;
    }
    if (p->is_known && p->object && !pod_is_terminated(pod_of(p->object))) {
        log_info("pod's volumes stay: its containers are not reported to have ended",
                 LOG_STR("namespace", p->object->ns), LOG_STR("pod", p->object->name));
        return; /* its status will change */
    }
    l->is_over = true;
    life_set_stage(p, POD_STAGE_CLEANUP);
    if (!pod_is_unmounted(p))
        log_info("pod waits for its volumes to be taken away", LOG_STR("uid", p->uid));
    agent_touch(p->agent);
    life_look_at_cleanup(p);
}

/* --- Cleanup --- */

static void on_removed(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;

    (void)j;
    p->life.job = NULL;
    if (r == 0) {
        p->life.is_clean = true;
        p->life.failures = 0;
    } else {
        pod_warn(p, "FailedKillPod", err->msg);
        life_try_later(p);
    }
    pod_life_look(p);
}

static void on_deleted(void *ctx, const struct client_answer *a)
{
    struct node_pod *p = ctx;

    if (a->r == 0 || a->r == -ERR_NOT_FOUND) {
        p->life.is_sent = true; /* the watch tells when it is gone */
    } else {
        log_warn("cannot remove a pod that has ended, trying again", LOG_STR("pod", p->object->name),
                 LOG_ERR(&a->error));
        life_try_later(p);
    }
    pod_life_look(p);
}

static void send_delete(struct node_pod *p)
{
    struct client_request q = { .verb = CLIENT_DELETE,
                                .kind = &pod_kind,
                                .ns = p->object->ns,
                                .name = p->object->name,
                                .if_uid = p->uid,
                                .has_grace = true,
                                .grace_seconds = 0 };

    client_send(p->agent->o.part.client, &p->life.call, &q, on_deleted, p);
}

void life_look_at_cleanup(struct node_pod *p)
{
    struct pod_life *l = &p->life;
    struct job *j;

    if (l->job || client_call_is_active(&l->call))
        return;
    if (!p->is_known && pod_is_unmounted(p) && (l->is_clean || l->failures)) {
        if (!l->is_clean)
            orphans_look(p->agent->orphans); /* who goes on with the directory from here */
        agent_drop_pod(p);
        return;
    }
    if (timer_is_armed(&l->timer))
        return;
    if (!l->is_clean && pod_is_unmounted(p)) {
        j = pod_remove_new(p);
        if (j)
            life_begin_job(p, j, on_removed);
        else
            life_try_later(p);
    } else if (l->is_clean && p->is_known && p->object->is_deleting && !l->is_sent) {
        send_delete(p);
    }
}
