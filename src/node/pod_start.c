/* The first half of a pod's life: its volumes are awaited, prepared and passed to the hook.
 *
 * A short wait is not written to the server; a long one is reported repeatedly, so that the pod's latest
 * events show it. */
#include "node/pod_life_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "node/node_int.h"
#include "node/pod_hook.h"
#include "node/pod_prepare.h"
#include "node/pod_report.h"

#define WORDS_BYTES_MAX ((size_t)64 << 10)
#define NOT_YET "not ready yet"

/* --- Volumes --- */

static const char *volumes_state_text(const struct node_pod *p, const char *cause, struct buf *out)
{
    pod_write_volumes_state(p, cause, out);
    return out->failed ? cause : buf_cstr(out);
}

static void warn_of_volumes(struct node_pod *p, const char *words,
                            void (*warn)(struct node_pod *p, const char *event, const char *message))
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORDS_BYTES_MAX);

    buf_addf(&text, "Unable to attach or mount volumes: %s", words);
    warn(p, "FailedMount", text.failed ? "Unable to attach or mount volumes" : buf_cstr(&text));
}

static void log_wait(struct node_pod *p, const char *cause)
{
    _cleanup_(buf_done_p) struct buf name = BUF_INIT(1024);

    buf_addf(&name, "%s/%s", p->object->ns, p->object->name);
    wait_log_begin(&p->life.wait, life_loop(p), "pod", buf_cstr(&name), cause);
}

/* Reported at once, and again when the cause changes or after another failed round. */
static void report_volume_failure(struct node_pod *p)
{
    _cleanup_(buf_done_p) struct buf cause = BUF_INIT(WORDS_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(WORDS_BYTES_MAX);
    struct pod_life *l = &p->life;
    const char *words;
    char *copy;

    for (unsigned i = 0; i < p->errors_count; i++)
        buf_addf(&cause, "%s%s", i ? "; " : "", p->errors[i]);
    words = volumes_state_text(p, cause.failed ? "too many errors to list" : buf_cstr(&cause), &out);
    log_wait(p, words);
    if (l->reported_cause && strcmp(l->reported_cause, words) == 0 && l->reported_round == p->failures)
        return;
    copy = strdup(words);
    if (copy) {
        free(l->reported_cause);
        l->reported_cause = copy;
    }
    l->reported_round = p->failures;
    pod_set_reason(p, POD_REASON_VOLUMES_FAILED, words);
    warn_of_volumes(p, words, pod_warn_quietly);
}

/* A volume is not mounted, or a mount was lost that the state file reports as ready. */
static bool lacks_mounts(const struct node_pod *p)
{
    return (p->life.says_ready && p->life.has_lost_mount) || pod_volumes_state(p) != VOLUMES_READY;
}

static void enter_prepare(struct node_pod *p);

void life_check_volumes(struct node_pod *p)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(WORDS_BYTES_MAX);
    struct pod_life *l = &p->life;
    enum volumes_state state = pod_volumes_state(p);

    if (l->job)
        return; /* the state file is being written; its end calls this again */
    if (l->says_ready && l->has_lost_mount && !l->failed_to_withdraw) {
        life_withdraw_ready(p);
        return;
    }
    if (state == VOLUMES_READY) {
        wait_log_end(&l->wait);
        enter_prepare(p);
        return;
    }
    if (!timer_is_armed(&l->timer)) {
        l->waiting_ns = loop_now_ns(life_loop(p));
        timer_arm_after(&l->timer, POD_WAIT_QUIET_NS);
    }
    if (state == VOLUMES_FAILED)
        report_volume_failure(p);
    else
        log_wait(p, volumes_state_text(p, NOT_YET, &out));
}

void life_check_wait(struct node_pod *p)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(WORDS_BYTES_MAX);
    struct pod_life *l = &p->life;
    uint64_t now = loop_now_ns(life_loop(p));
    bool is_waiting = pod_volumes_state(p) == VOLUMES_WAITING;

    if (l->failed_to_withdraw) {
        l->failed_to_withdraw = false;
        pod_life_sync(p); /* tries again */
    }
    if (now - l->waiting_ns < POD_WAIT_NS) {
        if (is_waiting)
            pod_set_reason(p, POD_REASON_WAITING, volumes_state_text(p, NOT_YET, &out));
        timer_arm(&l->timer, l->waiting_ns + POD_WAIT_NS);
        return;
    }
    if (is_waiting) {
        pod_set_reason(p, POD_REASON_WAITING, volumes_state_text(p, "context deadline exceeded", &out));
        warn_of_volumes(p, out.failed ? "context deadline exceeded" : buf_cstr(&out), pod_warn);
        life_check_room(p);
    }
    l->waiting_ns = now;
    timer_arm(&l->timer, now + POD_WAIT_NS);
    populate_pod(p);
}

/* --- Prepare --- */

static void enter_setup(struct node_pod *p);
static void enter_ready(struct node_pod *p);
static void leave_ready(struct node_pod *p);

static void prepare_failed(struct node_pod *p, const struct error *err)
{
    pod_set_reason(p, POD_REASON_PREPARE_FAILED, err->msg);
    pod_warn(p, "Failed", err->msg);
    life_try_later(p);
}

static void take_written_state(struct node_pod *p, struct job *j, int r)
{
    struct pod_life *l = &p->life;

    if (r < 0 && !pod_prepare_has_written(j))
        return;
    pod_prepare_take_state(j, &l->state);
    l->says_ready = true;
    l->failed_to_withdraw = false;
    if (r < 0) /* not known to be on disk: the next preparation writes it in any case */
        pod_state_mark(&l->state, /* is_ready= */ false, l->state.hook);
}

static void on_prepared(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;

    p->life.job = NULL;
    take_written_state(p, j, r);
    if (p->life.stage != POD_STAGE_PREPARE) {
        pod_life_sync(p); /* its termination waited for this */
        return;
    }
    if (r < 0) {
        if (pod_prepare_detail(j)[0])
            log_warn("cannot prepare pod", LOG_STR("pod", p->object->name),
                     LOG_STR("error", pod_prepare_detail(j)));
        prepare_failed(p, err);
        return;
    }
    p->life.has_lost_state = false;
    free(p->life.missing);
    p->life.missing = strdup(pod_prepare_missing(j)); /* without memory it is not reported */
    if (!pod_prepare_take_parts(j, &p->life.parts))
        log_warn("cannot watch subPath mounts: out of memory", LOG_STR("pod", p->object->name));
    p->life.has_lost_mount = pod_volumes_state(p) != VOLUMES_READY; /* lost during the preparation */
    p->life.ready_snapshot = p->agent->snapshots_begun;
    p->life.is_set_up = hook_is_owed(p->life.state.hook);
    if (p->life.state.hook != HOOK_SETTING_UP || !p->agent->o.hook) {
        enter_ready(p);
    } else if (!p->life.has_lost_mount) {
        enter_setup(p);
    } else {
        life_set_stage(p, POD_STAGE_VOLUMES);
        life_check_volumes(p);
    }
}

/* The hook state that is written before the hook is called: from then on a teardown is required in any
 * case. */
static enum hook_state next_hook_state(const struct node_pod *p)
{
    enum hook_state now = p->life.state.hook;

    if (!p->agent->o.hook)
        return hook_is_owed(now) ? now : HOOK_NONE;
    return now == HOOK_SET_UP ? now : HOOK_SETTING_UP;
}

static void begin_prepare(struct node_pod *p)
{
    enum hook_state hook = next_hook_state(p);
    struct error err = { 0 };
    struct job *j = NULL;

    if (pod_prepare_new(p, hook, /* writes_pod= */ hook == HOOK_SETTING_UP, &p->life.state, &j, &err) < 0) {
        prepare_failed(p, &err);
        return;
    }
    p->life.containers = pod_of(p->object)->containers_count;
    life_begin_job(p, j, on_prepared);
}

static void enter_prepare(struct node_pod *p)
{
    life_set_stage(p, POD_STAGE_PREPARE);
    begin_prepare(p);
}

/* A mount may be lost while the next attempt is awaited. */
void life_check_prepare(struct node_pod *p)
{
    if (p->life.job || p->life.failed_to_withdraw || !lacks_mounts(p))
        return; /* the job or the timer continues */
    life_set_stage(p, POD_STAGE_VOLUMES);
    life_check_volumes(p);
}

/* A volume may have been lost since the last attempt. */
void life_prepare_again(struct node_pod *p)
{
    if (pod_volumes_state(p) == VOLUMES_READY) {
        begin_prepare(p);
    } else {
        life_set_stage(p, POD_STAGE_VOLUMES);
        life_check_volumes(p);
    }
}

static void on_setup_written(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;

    (void)j;
    p->life.job = NULL;
    if (r == 0)
        p->life.says_ready = pod_state_says_ready(&p->life.state);
    if (p->life.stage != POD_STAGE_SETUP)
        pod_life_sync(p);
    else if (r < 0)
        life_hook_failed(p, err);
    else
        enter_ready(p);
}

static void on_setup_done(void *ctx, const struct process_result *result);

/* The hook is not started while a mount is missing. */
void life_continue_setup(struct node_pod *p)
{
    struct error err = { 0 };

    if (p->life.job)
        return; /* the state file is being written; its end calls this again */
    if (p->life.state.hook != HOOK_SET_UP && (lacks_mounts(p) || !p->life.says_ready)) {
        life_set_stage(p, POD_STAGE_VOLUMES);
        life_check_volumes(p);
    } else if (p->life.state.hook != HOOK_SET_UP)
        (void)life_start_hook(p, /* is_teardown= */ false, on_setup_done);
    else if (!life_begin_write(p, on_setup_written, &err))
        life_hook_failed(p, &err);
}

static void on_setup_done(void *ctx, const struct process_result *result)
{
    struct node_pod *p = ctx;
    struct error err = { 0 };
    int r = pod_hook_check(result, /* is_teardown= */ false, &err);

    p->life.hook = NULL;
    if (p->life.stage != POD_STAGE_SETUP) {
        pod_life_sync(p);
        return;
    }
    if (r < 0) {
        life_hook_failed(p, &err);
        return;
    }
    /* A job in flight writes that the pod is not ready. */
    pod_state_mark(&p->life.state, p->life.says_ready && !p->life.job && !lacks_mounts(p), HOOK_SET_UP);
    life_continue_setup(p);
}

/* A mount may be lost while the hook runs, or while the next attempt is awaited. */
void life_check_setup(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    if (!l->job && l->says_ready && !l->failed_to_withdraw && lacks_mounts(p))
        life_withdraw_ready(p);
}

static void enter_setup(struct node_pod *p)
{
    life_set_stage(p, POD_STAGE_SETUP);
    life_continue_setup(p);
}

/* --- Ready --- */

static void enter_ready(struct node_pod *p)
{
    life_set_stage(p, POD_STAGE_READY);
    if (lacks_mounts(p) || !p->life.says_ready) { /* a mount was lost during the preparation or the setup */
        leave_ready(p);
        return;
    }
    pod_set_reason(p, POD_REASON_READY, p->life.missing ? p->life.missing : "");
}

/* A mount was lost: its volume is mounted again, then the pod is prepared again. The hook is not called:
 * running containers have their own mounts. */
static void leave_ready(struct node_pod *p)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(WORDS_BYTES_MAX);

    life_set_stage(p, POD_STAGE_VOLUMES);
    pod_set_reason(p, POD_REASON_WAITING,
                   volumes_state_text(p, "a mount was unmounted by another program", &out));
    p->life.failed_to_withdraw = false;
    if (p->life.says_ready)
        life_withdraw_ready(p);
    else
        pod_life_sync(p);
}

/* An ephemeral container may be added to a running pod: its volumes are added to the state file. */
void life_check_ready(struct node_pod *p)
{
    if (pod_of(p->object)->containers_count != p->life.containers) {
        life_set_stage(p, POD_STAGE_VOLUMES);
        life_check_volumes(p);
    } else if (lacks_mounts(p)) {
        leave_ready(p);
    }
}
