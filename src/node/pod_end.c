/* The second half of a pod's life: the hook stops its containers, the volumes are unmounted, then the
 * directory and the pod are deleted. */
#include "node/pod_life_int.h"

#include <string.h>

#include "base/log.h"
#include "base/mutant.h"
#include "node/node_int.h"
#include "node/pod_hook.h"
#include "node/pod_prepare.h"
#include "node/pod_report.h"
#include "plugins/layout.h"

/* --- Teardown --- */

void life_enter_teardown(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    life_set_stage(p, POD_STAGE_TEARDOWN);
    l->failed_to_withdraw = false;
    timer_disarm(&l->again);
    wait_log_done(&l->wait);
    if (l->job)
        atomic_store(&l->job->stop, 1);
    if (l->hook)
        process_cancel(l->hook); /* a setup: its result is no longer needed */
}

/* The state file may have been repaired or removed meanwhile. */
static void restore_again(struct node_pod *p, const struct job *j)
{
    const char *why;
    const char *text = state_file_job_text(j, &why);

    if (text)
        pod_life_restore(p, str_of(text));
    else
        pod_life_restore_unreadable(p, why);
}

static void on_files_read(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;
    struct object *pod = r == 0 ? state_file_job_take_pod(j) : NULL;
    struct error why = *err;

    p->life.job = NULL;
    if (p->life.has_lost_state)
        restore_again(p, j);
    if (pod && strcmp(pod->uid, p->uid) != 0) {
        (void)error_set(&why, ERR_INVALID, "'%s' describes another pod, uid '%s'", STATE_POD_NAME, pod->uid);
        pod = object_unref(pod);
    }
    if (!pod && !p->object)
        log_warn("cannot read saved pod manifest, hook gets only the pod's names", LOG_STR("uid", p->uid),
                 LOG_ERR(&why));
    p->life.manifest = pod;
    pod_life_sync(p);
}

/* Reads the files of a pod that the server no longer has, or whose state is unknown. False when there is
 * nothing to wait for. */
static bool begin_read_files(struct node_pod *p)
{
    struct pod_life *l = &p->life;
    char dir[PATH_MAX];
    struct error err = { 0 };
    struct job *j;

    if (l->has_read_files || (p->object && !l->has_lost_state) ||
        layout_pod_dir(p->agent->root, p->uid, dir, &err) < 0)
        return false;
    l->has_read_files = true;
    j = state_file_read_job(dir);
    if (j)
        life_begin_job(p, j, on_files_read);
    return j;
}

/* Neither the API server nor a file describes the pod, so the hook does not know what to stop. */
static bool has_no_identity(const struct node_pod *p)
{
    return p->life.has_lost_state && !p->object && !p->life.manifest;
}

/* Keeps the volumes mounted, since they may be in use, until an administrator has acted. The files are read
 * again with each retry. */
static void keep_volumes(struct node_pod *p)
{
    static const char words[] = "keeping volumes of deleted pod: neither " STATE_FILE_NAME
                                " nor " STATE_POD_NAME " can be read, so its containers cannot be stopped. "
                                "Stop them, then remove " STATE_FILE_NAME;
    const struct node *n = agent_node(p->agent);
    char dir[PATH_MAX];
    struct error err = { 0 };

    if (layout_pod_dir(p->agent->root, p->uid, dir, &err) < 0)
        dir[0] = '\0'; /* it fitted before */
    log_warn(words, LOG_STR("uid", p->uid), LOG_STR("directory", dir));
    if (n)
        recorder_event(p->agent->recorder, &n->obj, EVENT_WARNING, "PodStateUnreadable", "%s: %s", dir,
                       words);
    p->life.has_read_files = false;
    life_try_later(p);
}

/* If this is not written, the teardown is repeated after a restart. */
static void on_teardown_written(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;

    (void)j;
    p->life.job = NULL;
    if (r == 0)
        p->life.says_ready = false;
    else
        log_warn("cannot record pod teardown in state file, ignoring", LOG_STR("uid", p->uid), LOG_ERR(err));
    pod_life_sync(p);
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
        pod_life_sync(p);
        return;
    }
    pod_state_mark(&l->state, /* is_ready= */ false, HOOK_TORN_DOWN);
    if (!life_begin_write(p, on_teardown_written, &err))
        on_teardown_written(p, NULL, -(int)err.code, &err);
}

static bool must_withdraw(const struct pod_life *l)
{
    return l->says_ready && !MUTANT("node-stays-ready");
}

bool pod_may_be_unmounted(const struct node_pod *p)
{
    return p->life.is_over && !must_withdraw(&p->life);
}

static void enter_cleanup(struct node_pod *p)
{
    p->life.is_over = true; /* from here on nothing is mounted for it */
    life_set_stage(p, POD_STAGE_CLEANUP);
    if (!pod_is_unmounted(p))
        log_info("waiting for volumes to be unmounted", LOG_STR("uid", p->uid));
    agent_touch(p->agent);
    life_check_cleanup(p);
}

void life_check_teardown(struct node_pod *p)
{
    struct pod_life *l = &p->life;
    bool may_run = p->is_known && p->object && !pod_is_terminated(pod_of(p->object));

    if (life_is_busy(l))
        return;
    if (l->is_set_up && !p->agent->o.hook) {
        log_warn("pod was set up by a hook and no hook is configured, skipping teardown",
                 LOG_STR("uid", p->uid));
        l->is_set_up = false;
    }
    if (l->is_set_up && MUTANT("node-unmounts-before-teardown"))
        p->life.is_over = true;
    if (!l->is_set_up && !may_run) {
        enter_cleanup(p);
    } else if (must_withdraw(l) && !l->failed_to_withdraw) {
        life_withdraw_ready(p);
    } else if (!l->is_set_up) {
        log_info("volumes stay mounted: containers not reported as terminated",
                 LOG_STR("namespace", p->object->ns), LOG_STR("pod", p->object->name));
        /* a change of its status continues */
    } else if (!begin_read_files(p)) {
        if (has_no_identity(p))
            keep_volumes(p);
        else
            (void)life_start_hook(p, /* is_teardown= */ true, on_teardown_done);
    }
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
    pod_life_sync(p);
}

static void on_deleted(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct node_pod *p = ctx;

    if (api_write_succeeded(outcome)) {
        p->life.is_sent = true; /* the watch reports the deletion */
    } else {
        log_warn("cannot delete terminated pod, retrying", LOG_STR("pod", p->object->name),
                 LOG_ERR(&a->error));
        life_try_later(p);
    }
    pod_life_sync(p);
}

static void send_delete(struct node_pod *p)
{
    struct api_write_options w = {
        .api = p->agent->api,
        .request = { .verb = CLIENT_DELETE, .has_grace = true, .grace_seconds = 0 },
        .object = p->object,
        .done = on_deleted,
        .ctx = p
    };

    api_write_start(&p->life.write, &w);
}

void life_check_cleanup(struct node_pod *p)
{
    struct pod_life *l = &p->life;
    struct job *j;

    if (l->job || api_write_is_active(&l->write))
        return;
    if (must_withdraw(l) && !l->is_clean) {
        if (!timer_is_armed(&l->timer))
            life_withdraw_ready(p);
        return;
    }
    if (!p->is_known && pod_is_unmounted(p) && (l->is_clean || l->failures)) {
        if (!l->is_clean)
            orphans_scan(p->agent->orphans); /* removes the directory later */
        agent_drop_pod(p);
        return;
    }
    if (timer_is_armed(&l->timer))
        return;
    if (MUTANT("node-leaves-directories"))
        l->is_clean = true;
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
