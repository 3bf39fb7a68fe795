/* One function for each stage looks at what there is and takes the next step; everything that was begun ends
 * in another look. So a pod that is deleted in the middle of something is noticed at once, and what is under
 * way is told to end and waited for: a volume is never taken from under a worker or a hook. */
#include "node/pod_life.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "node/node_int.h"
#include "node/pod_hook.h"
#include "node/pod_prepare.h"
#include "node/pod_tell.h"
#include "plugins/layout.h"

#define WORDS_BYTES_MAX ((size_t)64 << 10)

static void look(void *ctx);
static void on_timer(void *ctx);

static struct loop *loop_of(const struct node_pod *p)
{
    return p->agent->o.part.loop;
}

static void on_again(void *ctx)
{
    pod_tell(ctx);
}

void pod_life_init(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    *l = (struct pod_life){ .stage = POD_STAGE_VOLUMES };
    timer_init(&l->timer, loop_of(p), on_timer, p);
    timer_init(&l->again, loop_of(p), on_again, p);
    deferred_init(&l->look, loop_of(p), look, p);
    pod_state_init(&l->state);
}

void pod_life_done(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    loop_undefer(&l->look);
    timer_disarm(&l->timer);
    timer_disarm(&l->again);
    client_cancel(&l->call);
    l->job = job_drop(l->job);
    l->hook = process_drop(l->hook);
    l->manifest = object_unref(l->manifest);
    pod_state_done(&l->state);
    free(l->told_words);
    free(l->message);
    l->told_words = l->message = NULL;
}

void pod_life_look(struct node_pod *p)
{
    loop_defer(&p->life.look);
}

void pod_life_restore(struct node_pod *p, struct str state)
{
    struct pod_life *l = &p->life;
    struct error err = { 0 };

    if (!state.len)
        return;
    if (pod_state_parse(&l->state, state, &err) < 0) {
        /* A teardown too many does no harm; one too few may leave something running. */
        log_warn("cannot read the state file of a pod, taking its hook as called", LOG_STR("uid", p->uid),
                 LOG_ERR(&err));
        l->is_set_up = true;
        return;
    }
    l->is_set_up = hook_is_owed(l->state.hook);
}

/* --- Stages --- */

static void set_stage(struct node_pod *p, enum pod_stage next)
{
    static const char *const names[] = {
        [POD_STAGE_VOLUMES] = "volumes", [POD_STAGE_PREPARE] = "prepare",   [POD_STAGE_SETUP] = "setup",
        [POD_STAGE_READY] = "ready",     [POD_STAGE_TEARDOWN] = "teardown", [POD_STAGE_CLEANUP] = "cleanup",
    };
    struct pod_life *l = &p->life;

    static_assert(ARRAY_LEN(names) == POD_STAGE_COUNT, "name every stage");
    assert(l->stage < POD_STAGE_TEARDOWN || next > l->stage); /* there is no way back from the end */
    log_debug("pod's life", LOG_STR("uid", p->uid), LOG_STR("from", names[l->stage]),
              LOG_STR("to", names[next]));
    timer_disarm(&l->timer);
    l->stage = next;
    l->failures = 0;
    l->waiting_ns = 0;
}

/* The stage goes on by itself: nothing is to be begun now. */
static bool is_busy(const struct pod_life *l)
{
    return l->job || l->hook || timer_is_armed(&l->timer);
}

static void try_later(struct node_pod *p)
{
    timer_arm_after(&p->life.timer, pod_retry_ns(++p->life.failures));
}

static void begin_job(struct node_pod *p, struct job *j,
                      void (*done)(void *ctx, struct job *j, int r, const struct error *err))
{
    p->life.job = j;
    job_begin(j, loop_of(p), p->agent->o.pool, done, p);
}

/* It runs no longer, or must not. */
static bool is_ending(const struct node_pod *p)
{
    const struct pod *pod = p->object ? pod_of(p->object) : NULL;

    return !p->is_known || !pod || pod->obj.is_deleting || pod->phase == POD_SUCCEEDED ||
           pod->phase == POD_FAILED;
}

/* --- Volumes --- */

static const char *words_of(const struct node_pod *p, const char *cause, struct buf *out)
{
    pod_volumes_words(p, cause, out);
    return out->failed ? cause : buf_cstr(out);
}

static void warn_of_volumes(struct node_pod *p, const char *words)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(WORDS_BYTES_MAX);

    (void)buf_addf(&text, "Unable to attach or mount volumes: %s", words);
    pod_warn(p, "FailedMount", text.failed ? "Unable to attach or mount volumes" : buf_cstr(&text));
}

/* Told at once, and again when it is something else or was tried anew. */
static void tell_failure(struct node_pod *p)
{
    _cleanup_(buf_done_p) struct buf cause = BUF_INIT(WORDS_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(WORDS_BYTES_MAX);
    struct pod_life *l = &p->life;
    const char *words;
    char *copy;

    for (unsigned i = 0; i < p->errors_count; i++)
        (void)buf_addf(&cause, "%s%s", i ? "; " : "", p->errors[i]);
    words = words_of(p, cause.failed ? "too much to say" : buf_cstr(&cause), &out);
    if (l->told_words && strcmp(l->told_words, words) == 0 && l->told_round == p->failures)
        return;
    copy = strdup(words);
    if (copy) {
        free(l->told_words);
        l->told_words = copy;
    }
    l->told_round = p->failures;
    pod_say(p, pod_volumes_failed, words);
    warn_of_volumes(p, words);
}

static void enter_prepare(struct node_pod *p);

static void look_at_volumes(struct node_pod *p)
{
    struct pod_life *l = &p->life;
    enum volumes_state state = pod_volumes_state(p);

    if (state == VOLUMES_READY) {
        enter_prepare(p);
        return;
    }
    if (!timer_is_armed(&l->timer)) {
        l->waiting_ns = loop_now_ns(loop_of(p));
        timer_arm_after(&l->timer, POD_WAIT_QUIET_NS);
    }
    if (state == VOLUMES_FAILED)
        tell_failure(p);
}

/* The wait is long enough to be said, or too long. */
static void check_wait(struct node_pod *p)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(WORDS_BYTES_MAX);
    struct pod_life *l = &p->life;
    uint64_t now = loop_now_ns(loop_of(p));
    bool is_waiting = pod_volumes_state(p) == VOLUMES_WAITING;

    if (now - l->waiting_ns < POD_WAIT_NS) {
        if (is_waiting)
            pod_say(p, pod_volumes_waiting, words_of(p, "not there yet", &out));
        timer_arm(&l->timer, l->waiting_ns + POD_WAIT_NS);
        return;
    }
    if (is_waiting) {
        pod_say(p, pod_volumes_waiting, words_of(p, "context deadline exceeded", &out));
        warn_of_volumes(p, out.failed ? "context deadline exceeded" : buf_cstr(&out));
    }
    l->waiting_ns = now;
    timer_arm(&l->timer, now + POD_WAIT_NS);
    populate_pod(p);
}

/* --- Prepare --- */

static void enter_setup(struct node_pod *p);
static void enter_ready(struct node_pod *p);

static void prepare_failed(struct node_pod *p, const struct error *err)
{
    pod_say(p, pod_prepare_failed, err->msg);
    pod_warn(p, "Failed", err->msg);
    try_later(p);
}

static void on_prepared(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;

    p->life.job = NULL;
    if (p->life.stage != POD_STAGE_PREPARE) {
        pod_life_look(p); /* its end has waited for this */
        return;
    }
    if (r < 0) {
        if (pod_prepare_detail(j)[0])
            log_warn("cannot prepare a pod", LOG_STR("pod", p->object->name),
                     LOG_STR("error", pod_prepare_detail(j)));
        prepare_failed(p, err);
        return;
    }
    pod_prepare_take_state(j, &p->life.state);
    p->life.is_set_up = hook_is_owed(p->life.state.hook);
    if (p->life.state.hook == HOOK_SETTING_UP && p->agent->o.hook)
        enter_setup(p);
    else
        enter_ready(p);
}

/* The hook's state that the file gets before it is called: from then on its teardown is owed, whatever
 * happens. */
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
    begin_job(p, j, on_prepared);
}

static void enter_prepare(struct node_pod *p)
{
    set_stage(p, POD_STAGE_PREPARE);
    begin_prepare(p);
}

/* A volume may have gone again since the last try. */
static void prepare_again(struct node_pod *p)
{
    if (pod_volumes_state(p) == VOLUMES_READY) {
        begin_prepare(p);
    } else {
        set_stage(p, POD_STAGE_VOLUMES);
        look_at_volumes(p);
    }
}

/* --- The state file --- */

/* Writes it as it is in memory; false, and err, when that could not be begun. */
static bool begin_write(struct node_pod *p,
                        void (*done)(void *ctx, struct job *j, int r, const struct error *err),
                        struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATE_BYTES_MAX);
    char dir[PATH_MAX];
    struct job *j;

    if (layout_pod_dir(p->agent->root, p->uid, dir, err) < 0)
        return false;
    pod_state_write(&p->life.state, &text);
    j = state_file_job(dir, buf_take(&text));
    if (!j) {
        (void)error_no_memory(err);
        return false;
    }
    begin_job(p, j, done);
    return true;
}

/* --- The hook --- */

static void hook_failed(struct node_pod *p, const struct error *err)
{
    if (p->life.stage == POD_STAGE_SETUP)
        pod_say(p, pod_hook_setup_failed, err->msg);
    pod_warn(p, "FailedPodHook", err->msg);
    try_later(p);
}

static bool start_hook(struct node_pod *p, bool is_teardown, process_done_fn done)
{
    char dir[PATH_MAX];
    struct error err = { 0 };
    struct pod_hook_call c = { .loop = loop_of(p),
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
        hook_failed(p, &err);
    return r == 0;
}

static void on_setup_written(void *ctx, struct job *j, int r, const struct error *err)
{
    struct node_pod *p = ctx;

    (void)j;
    p->life.job = NULL;
    if (p->life.stage != POD_STAGE_SETUP)
        pod_life_look(p);
    else if (r < 0)
        hook_failed(p, err);
    else
        enter_ready(p);
}

static void on_setup_done(void *ctx, const struct process_result *result);

/* The hook's setup; then the word on disk that it went well. */
static void continue_setup(struct node_pod *p)
{
    struct error err = { 0 };

    if (p->life.state.hook != HOOK_SET_UP)
        (void)start_hook(p, /* is_teardown= */ false, on_setup_done);
    else if (!begin_write(p, on_setup_written, &err))
        hook_failed(p, &err);
}

static void on_setup_done(void *ctx, const struct process_result *result)
{
    struct node_pod *p = ctx;
    struct error err = { 0 };
    int r = pod_hook_check(result, /* is_teardown= */ false, &err);

    p->life.hook = NULL;
    if (p->life.stage != POD_STAGE_SETUP) {
        pod_life_look(p);
        return;
    }
    if (r < 0) {
        hook_failed(p, &err);
        return;
    }
    pod_state_mark(&p->life.state, /* is_ready= */ true, HOOK_SET_UP);
    continue_setup(p);
}

static void enter_setup(struct node_pod *p)
{
    set_stage(p, POD_STAGE_SETUP);
    continue_setup(p);
}

/* --- Ready --- */

static void enter_ready(struct node_pod *p)
{
    set_stage(p, POD_STAGE_READY);
    pod_say(p, pod_volumes_ready, "");
}

/* A container may be added to a pod that runs: it finds its volumes in the state file. */
static void look_at_ready(struct node_pod *p)
{
    if (pod_of(p->object)->containers_count != p->life.containers) {
        set_stage(p, POD_STAGE_VOLUMES);
        look_at_volumes(p);
    }
}

/* --- Teardown --- */

static void enter_teardown(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    set_stage(p, POD_STAGE_TEARDOWN);
    timer_disarm(&l->again);
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
        begin_job(p, j, on_pod_read);
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
        hook_failed(p, &err);
        return;
    }
    l->is_set_up = false;
    if (!l->state.root) {
        pod_life_look(p);
        return;
    }
    pod_state_mark(&l->state, /* is_ready= */ false, HOOK_TORN_DOWN);
    if (!begin_write(p, on_teardown_written, &err))
        on_teardown_written(p, NULL, -(int)err.code, &err);
}

static void look_at_cleanup(struct node_pod *p);

static void look_at_teardown(struct node_pod *p)
{
    struct pod_life *l = &p->life;

    if (is_busy(l))
        return;
    if (l->is_set_up && !p->agent->o.hook) {
        log_warn("a pod was set up by a hook, and there is none now: not torn down", LOG_STR("uid", p->uid));
        l->is_set_up = false;
    }
    if (l->is_set_up) {
        if (!begin_read_pod(p))
            (void)start_hook(p, /* is_teardown= */ true, on_teardown_done);
        return;
    }
    if (p->is_known && p->object && !pod_is_terminated(pod_of(p->object))) {
        log_info("pod's volumes stay: its containers are not reported to have ended",
                 LOG_STR("namespace", p->object->ns), LOG_STR("pod", p->object->name));
        return; /* its status will change */
    }
    l->is_over = true;
    set_stage(p, POD_STAGE_CLEANUP);
    if (!pod_is_unmounted(p))
        log_info("pod waits for its volumes to be taken away", LOG_STR("uid", p->uid));
    agent_touch(p->agent);
    look_at_cleanup(p);
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
        try_later(p);
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
        try_later(p);
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

/* May be the end of p. */
static void look_at_cleanup(struct node_pod *p)
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
            begin_job(p, j, on_removed);
        else
            try_later(p);
    } else if (l->is_clean && p->is_known && p->object->is_deleting && !l->is_sent) {
        send_delete(p);
    }
}

/* --- What happens --- */

static void look(void *ctx)
{
    struct node_pod *p = ctx;
    const struct agent *a = p->agent;

    if (!a->has_scanned || (!p->is_known && !a->has_pods))
        return;
    if (p->life.stage < POD_STAGE_TEARDOWN && is_ending(p))
        enter_teardown(p);
    if (p->life.stage < POD_STAGE_TEARDOWN)
        pod_tell(p);
    switch (p->life.stage) {
    case POD_STAGE_VOLUMES:
        look_at_volumes(p);
        break;
    case POD_STAGE_PREPARE: /* a job or a timer goes on */
    case POD_STAGE_SETUP:
        break;
    case POD_STAGE_READY:
        look_at_ready(p);
        break;
    case POD_STAGE_TEARDOWN:
        look_at_teardown(p);
        break;
    case POD_STAGE_CLEANUP:
        look_at_cleanup(p);
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
        check_wait(p);
        break;
    case POD_STAGE_PREPARE:
        prepare_again(p);
        break;
    case POD_STAGE_SETUP:
        continue_setup(p);
        break;
    case POD_STAGE_READY:
        break;
    case POD_STAGE_TEARDOWN:
    case POD_STAGE_CLEANUP:
        pod_life_look(p);
        break;
    case POD_STAGE_COUNT:
        assert(!"not a stage");
    }
}
