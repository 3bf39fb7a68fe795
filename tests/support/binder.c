/* The bodies of what tests/unit/test_binder.h declares. */
#include "tests/unit/test_binder.h"

struct plan plan;

struct world *tapped; /* one at a time: a plugin knows no world */
struct scripted scripted;

/* --- The tap --- */

static void tap_answer(struct client_attempt *a, enum tap_fault f, bool is_write)
{
    static const struct status_info conflict = { .code = 409,
                                                 .reason = "Conflict",
                                                 .message = "tapped",
                                                 .continue_token = "",
                                                 .name = "",
                                                 .group = "",
                                                 .kind = "",
                                                 .uid = "" };
    struct client_answer answer = { .retry_after_seconds = -1 };

    if (f == TAP_CONFLICT) {
        answer.http_status = 409;
        answer.status = &conflict;
        answer.r = error_set(&answer.error, ERR_CONFLICT, "tapped");
    } else if (f == TAP_GONE) {
        answer.http_status = 404;
        answer.r = error_set(&answer.error, ERR_NOT_FOUND, "tapped");
    } else if (f == TAP_ERROR) {
        answer.http_status = 500;
        answer.r = error_set(&answer.error, ERR_INTERNAL, "tapped");
    } else {
        answer.r = error_set(&answer.error, ERR_UNAVAILABLE, "tapped");
        answer.was_connected = f == TAP_LOSE;
        answer.may_have_happened = f == TAP_LOSE && is_write;
    }
    a->on_end(a, &answer);
}

/* An attempt with this for its work is the tap's alone: nobody behind it has heard of it, or not any more. */
static char tap_keeps;

static void tap_fail(void *ctx)
{
    struct tap *t = ctx;
    struct tap_refusal x = t->refused[0];

    t->refused_count--;
    memmove(t->refused, t->refused + 1, t->refused_count * sizeof t->refused[0]);
    if (t->refused_count)
        loop_defer(&t->failing);
    tap_answer(x.attempt, x.fault, request_is_write(x.attempt->request));
}

static void tap_lose(struct client_attempt *a, const struct client_answer *answer)
{
    struct world *w = tapped;
    struct tap *t = w->tap;

    a->on_end = t->on_end;
    if (t->lost_by == TAP_LOSE) {
        tap_answer(a, TAP_LOSE, request_is_write(a->request));
        return;
    }
    a->work = &tap_keeps;
    if (t->lost_by == TAP_CRASH) {
        w->is_crashing = true; /* whoever waits is killed before it hears anything */
    } else {
        t->late = a;
        t->late_answer = *answer;
        t->late_answer.status = NULL;
        t->late_answer.object = answer->object ? object_ref(answer->object) : NULL;
    }
}

static void tap_watch_ended(struct client_attempt *a, const struct client_answer *answer)
{
    struct tap *t = tapped->tap;

    for (unsigned i = 0; i < TAP_WATCHES_MAX; i++)
        if (t->watches[i] == a)
            t->watches[i] = NULL;
    a->on_end = t->on_watch_end;
    a->on_end(a, answer);
}

static void tap_watch(struct tap *t, struct client_attempt *a)
{
    unsigned i = 0;

    for (; t->watches[i]; i++)
        assert_true(i + 1 < TAP_WATCHES_MAX);
    t->watches[i] = a;
    if (t->world->is_deaf) {
        a->work = &tap_keeps;
        return;
    }
    if (a->request->verb == CLIENT_WATCH) {
        t->on_watch_end = a->on_end;
        a->on_end = tap_watch_ended;
    } else {
        t->watches[i] = NULL;
    }
    t->next->type->start(t->next, a);
}

static bool tap_is_faulty(const struct world *w, bool is_write)
{
    unsigned to = w->fault_to ? w->fault_to : w->fault_at;

    if (w->fault == TAP_CONFLICT && !is_write)
        return false;
    return w->fault != TAP_NONE && w->requests >= w->fault_at && w->requests <= to;
}

static bool tap_is_failing(struct world *w, const struct client_request *q)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(4096);

    if (w->fault == TAP_NONE)
        return false;
    if (!w->failing)
        return tap_is_faulty(w, request_is_write(q));
    buf_addf(&line, "%s ", target_method(q));
    target_write(q, &line);
    if (w->failing_count == 0 || strncmp(buf_cstr(&line), w->failing, strlen(w->failing)) != 0)
        return false;
    w->failing_count--;
    return true;
}

/* A conflict needs somebody who wrote: a request that reads is spared. */
static enum tap_fault tap_fault_of(struct world *w, const struct client_request *q)
{
    if (tap_is_failing(w, q))
        return w->fault;
    if (plan.fault == TAP_NONE || w->sent != plan.at)
        return TAP_NONE;
    plan.is_reached = true;
    return plan.fault == TAP_CONFLICT && !request_is_write(q) ? TAP_NONE : plan.fault;
}

static bool tap_is_blind(const struct world *w, const struct client_request *q)
{
    return w->is_blind && q->verb == CLIENT_WATCH && q->kind && q->kind->kind == w->blind_to;
}

static void tap_start(struct client_carrier *c, struct client_attempt *a)
{
    struct tap *t = (void *)c;
    struct world *w = t->world;
    const struct kind_info *kind = a->request->kind;
    bool is_event = kind && (kind->kind == KIND_EVENT || kind->kind == KIND_EVENT_V1);
    enum tap_fault fault;

    if (w->is_crashing || tap_is_blind(w, a->request)) {
        a->work = &tap_keeps; /* and never an answer */
        return;
    }
    if (a->request->verb == CLIENT_WATCH || a->request->verb == CLIENT_LIST) {
        tap_watch(t, a);
        return;
    }
    if (is_event) {
        t->next->type->start(t->next, a);
        return;
    }
    w->requests++;
    w->sent++;
    if (request_is_write(a->request)) {
        w->writes++;
        buf_addf(&w->log, "%s ", target_method(a->request));
        target_write(a->request, &w->log);
        buf_add_char(&w->log, '\n');
    }
    fault = tap_fault_of(w, a->request);
    if (fault == TAP_NONE) {
        t->next->type->start(t->next, a);
    } else if (fault == TAP_LOSE || fault == TAP_CRASH || fault == TAP_LATE) {
        t->lost_by = fault;
        t->on_end = a->on_end;
        a->on_end = tap_lose;
        t->next->type->start(t->next, a);
    } else {
        a->work = &tap_keeps;
        assert_true(t->refused_count < TAP_REFUSED_MAX);
        t->refused[t->refused_count++] = (struct tap_refusal){ a, fault };
        loop_defer(&t->failing);
    }
}

static void tap_forget(struct tap *t, const struct client_attempt *a)
{
    for (unsigned i = 0; i < t->refused_count; i++)
        if (t->refused[i].attempt == a) {
            t->refused_count--;
            memmove(&t->refused[i], &t->refused[i + 1], (t->refused_count - i) * sizeof t->refused[0]);
        }
    for (unsigned i = 0; i < TAP_WATCHES_MAX; i++)
        if (t->watches[i] == a)
            t->watches[i] = NULL;
    if (t->late == a) {
        t->late = NULL;
        (void)object_unref(t->late_answer.object);
    }
    if (t->refused_count == 0)
        loop_undefer(&t->failing);
}

static void tap_cancel(struct client_carrier *c, struct client_attempt *a)
{
    struct tap *t = (void *)c;

    tap_forget(t, a);
    if (a->work != &tap_keeps)
        t->next->type->cancel(t->next, a);
}

static void tap_free(struct client_carrier *c)
{
    struct tap *t = (void *)c;

    loop_undefer(&t->failing);
    t->next->type->free(t->next);
    free(t);
}

static const struct client_carrier_type tap_type = { tap_start, tap_cancel, tap_free };

/* --- The scripted plugin: serves hostPath volumes --- */

static bool scripted_supports(const struct volume_plugin *self, const struct volume_spec *s)
{
    (void)self;
    return spec_source(s).kind == (scripted.is_guarded ? SOURCE_NFS : SOURCE_HOST_PATH);
}

static void scripted_drop(struct plugin_op *op)
{
    struct scripted_work *x = op->work;

    loop_undefer(&x->later);
    if (scripted.slow == x)
        scripted.slow = NULL;
    free(x);
    op->work = NULL;
    op->drop = NULL;
}

static void scripted_done(void *ctx)
{
    struct scripted_work *x = ctx;
    struct plugin_op *op = x->op;
    struct error e = { 0 };
    int r = 0;

    scripted_drop(op);
    if (scripted.fails) {
        scripted.fails--;
        r = error_set(&e, scripted.fails_with, "%s", scripted.says);
    }
    op->done(op, r, &e);
}

static void scripted_begin(const struct plugin_host *h, struct plugin_op *op)
{
    struct scripted_work *x = calloc(1, sizeof *x);

    assert_non_null(x);
    x->op = op;
    op->work = x;
    op->drop = scripted_drop;
    deferred_init(&x->later, h->loop, scripted_done, x);
    if (scripted.is_slow)
        scripted.slow = x;
    else
        loop_defer(&x->later);
}

void scripted_finish(void)
{
    assert_non_null(scripted.slow);
    loop_defer(&scripted.slow->later);
}

static int scripted_check(const struct plugin_host *h, const struct provision_request *q, struct error *e)
{
    (void)q;
    scripted.checked++;
    return h->provisions_host_path ? 0 : error_set(e, ERR_DENIED, "no provisioning here");
}

static void scripted_provision(const struct plugin_host *h, const struct provision_request *q,
                               struct plugin_op *op)
{
    scripted.provisioned++;
    buf_add_cstr(&op->volume, "{\"metadata\":{\"annotations\":{\"made\":\"yes\"}},\"spec\":{\"accessModes\":["
                              "\"ReadWriteOnce\"],\"capacity\":{\"storage\":\"");
    quantity_format(&q->claim->request, &op->volume);
    buf_add_cstr(&op->volume, "\"},\"hostPath\":{\"path\":\"/tmp/x\"}}}");
    scripted_begin(h, op);
}

static void scripted_ask_guard(const struct plugin_op *op)
{
    static char says[ERROR_MSG_BYTES_MAX];
    struct error e = { 0 };

    assert_non_null(op->guard); /* no storage is touched without one */
    if (!scripted.is_guarded || host_guard_check_export(op->guard, "s", "/x", &e) == 0)
        return;
    (void)snprintf(says, sizeof says, "%s", e.msg);
    scripted.fails = 1;
    scripted.fails_with = e.code;
    scripted.says = says;
}

static void scripted_remove(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    (void)v;
    scripted_ask_guard(op);
    scripted.removed++;
    scripted_begin(h, op);
}

static void scripted_recycle(const struct plugin_host *h, const struct volume *v, struct plugin_op *op)
{
    (void)v;
    scripted_ask_guard(op);
    scripted.recycled++;
    scripted_begin(h, op);
}

static const struct provision_table scripted_provisions = { scripted_check, scripted_provision };
static const struct delete_table scripted_deletes = { scripted_remove };
static const struct recycle_table scripted_recycles = { scripted_recycle };
static const struct volume_plugin scripted_plugin = { .name = "kubernetes.io/host-path",
                                                      .can_support = scripted_supports,
                                                      .provision = &scripted_provisions,
                                                      .remove = &scripted_deletes,
                                                      .recycle = &scripted_recycles };
static const struct volume_plugin *const scripted_plugins[] = { &scripted_plugin, NULL };

/* --- Life --- */

/* The binder's process begins; it does nothing before world_start(). */
static void world_boot(struct world *w)
{
    struct client_options co = { .loop = w->served.loop };
    struct informer_options io = { 0 };
    struct tap *t = calloc(1, sizeof *t);

    assert_non_null(t);
    t->base.type = &tap_type;
    t->world = w;
    deferred_init(&t->failing, w->served.loop, tap_fail, t);
    ASSERT_OK(local_client_new(w->served.server, NULL, &t->next, &err));
    w->tap = t;
    co.carrier = &t->base;
    ASSERT_OK(client_new(&co, &w->client, &err));
    w->metrics = metrics_new((struct hash_seed){ 3, 4 });
    assert_non_null(w->metrics);
    io = (struct informer_options){ .loop = w->served.loop, .client = w->client, .seed = ++w->seed };
    ASSERT_OK(informers_new(&io, &w->informers, &err));
    w->volumes = informers_get(w->informers, KIND_VOLUME, &err);
    assert_non_null(w->volumes);
    w->options.part = (struct component_deps){ .loop = w->served.loop,
                                               .clock = &w->served.clock.clock,
                                               .client = w->client,
                                               .informers = w->informers,
                                               .metrics = w->metrics,
                                               .seed = w->seed,
                                               .server = w->server };
    ASSERT_OK(binder_new(&w->options, &w->binder, &err));
    if (w->scheduling) {
        w->scheduling->part = w->options.part;
        ASSERT_OK(scheduler_new(w->scheduling, &w->scheduler, &err));
    }
}

void world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    memset(&scripted, 0, sizeof scripted);
    tapped = w;
    served_init(&w->served);
    w->log = BUF_INIT((size_t)1 << 20);
    w->options.host = (struct plugin_host){ .loop = w->served.loop, .provisions_host_path = true };
    w->options.plugins = scripted_plugins;
    w->server = server_version_own();
}

void world_kill(struct world *w)
{
    w->scheduler = scheduler_free(w->scheduler);
    w->binder = binder_free(w->binder);
    w->informers = informers_free(w->informers);
    w->client = client_free(w->client);
    w->metrics = metrics_free(w->metrics);
    w->tap = NULL;
}

void world_done(struct world *w)
{
    if (plan.on_end && w->binder)
        plan.on_end(w);
    world_kill(w);
    buf_done(&w->log);
    served_done(&w->served);
}

void world_start(struct world *w)
{
    unsigned turns = 0;

    world_boot(w);
    informers_start(w->informers);
    while (!informers_are_synced(w->informers)) {
        (void)loop_poll(w->served.loop);
        assert_true(++turns < 10000);
    }
    if (!w->is_alone)
        binder_start(w->binder);
    if (w->scheduler)
        scheduler_start(w->scheduler);
}

void world_rest(struct world *w)
{
    unsigned turns = 0;

    while (loop_poll(w->served.loop) || w->is_crashing) {
        if (w->is_crashing) {
            w->is_crashing = false;
            w->fault = TAP_NONE;
            world_kill(w);
            world_start(w);
        }
        if (++turns > 200000)
            fail_msg("the binder does not come to rest\n%s", buf_cstr(&w->log));
    }
}

void world_settle_for(struct world *w, uint64_t seconds)
{
    uint64_t until = w->served.clock.mono_ns + seconds * NS_PER_S, next;

    world_rest(w);
    while (loop_next_timer_ns(w->served.loop, &next) && next <= until) {
        if (next > w->served.clock.mono_ns)
            manual_clock_advance(&w->served.clock, next - w->served.clock.mono_ns);
        world_rest(w);
    }
}

void world_settle(struct world *w)
{
    world_settle_for(w, 60);
}

void world_still(struct world *w)
{
    if (plan.fault != TAP_NONE)
        world_settle(w);
    else
        world_rest(w);
}

void world_deliver_late(struct world *w)
{
    struct client_attempt *a = TAKE(w->tap->late);
    struct object *o = w->tap->late_answer.object;

    assert_non_null(a);
    a->on_end(a, &w->tap->late_answer);
    (void)object_unref(o);
}

void world_deafen(struct world *w)
{
    struct tap *t = w->tap;

    w->is_deaf = true;
    for (unsigned i = 0; i < TAP_WATCHES_MAX; i++) {
        struct client_attempt *a = TAKE(t->watches[i]);

        if (!a)
            continue;
        t->next->type->cancel(t->next, a);
        a->on_end = t->on_watch_end;
        tap_answer(a, TAP_LOSE, false);
    }
}

void world_hear(struct world *w)
{
    static const struct status_info gone = { .code = 410,
                                             .reason = "Expired",
                                             .message = "tapped",
                                             .continue_token = "",
                                             .name = "",
                                             .group = "",
                                             .kind = "",
                                             .uid = "" };
    struct client_answer answer = { .retry_after_seconds = -1, .http_status = 410, .status = &gone };
    struct tap *t = w->tap;

    w->is_deaf = false;
    answer.r = error_set(&answer.error, ERR_GONE, "tapped");
    for (unsigned i = 0; i < TAP_WATCHES_MAX; i++) {
        struct client_attempt *a = TAKE(t->watches[i]);

        if (a && a->request->verb == CLIENT_WATCH)
            a->on_end(a, &answer);
        else if (a)
            tap_start(&t->base, a);
    }
}

/* --- Objects --- */

void post_volume(struct world *w, const char *name, const char *meta, const char *size, const char *modes,
                 const char *source, const char *spec)
{
    char body[2048];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'%s},'spec':{"
                   "'capacity':{'storage':'%s'},'accessModes':[%s],%s%s}}",
                   name, meta, size, modes, source, spec);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
}

void post_claim(struct world *w, const char *name, const char *meta, const char *size, const char *modes,
                const char *spec)
{
    char body[2048];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'%s'%s},'spec':{"
                   "'accessModes':[%s],'resources':{'requests':{'storage':'%s'}}%s}}",
                   name, meta, modes, size, spec);
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS, body);
}

void add_volume(struct world *w, const char *name, const char *size, const char *modes, const char *extra)
{
    post_volume(w, name, "", size, modes, HOST_PATH, extra);
}

void add_claim(struct world *w, const char *name, const char *size, const char *modes, const char *extra)
{
    post_claim(w, name, "", size, modes, extra);
}

void patch_volume(struct world *w, const char *name, const char *sub, const char *body)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s%s%s", name, sub[0] ? "/" : "", sub);
    ASSERT_SENT(&w->served, 200, "MERGE", path, body);
}

void patch_claim(struct world *w, const char *name, const char *sub, const char *body)
{
    char path[512];

    (void)snprintf(path, sizeof path, CLAIMS "/%s%s%s", name, sub[0] ? "/" : "", sub);
    ASSERT_SENT(&w->served, 200, "MERGE", path, body);
}

void set_phase(struct world *w, const char *volume, const char *phase)
{
    char body[128];

    (void)snprintf(body, sizeof body, "{'status':{'phase':'%s'}}", phase);
    patch_volume(w, volume, "status", body);
}

void look_at_volume(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
}

void look_at_claim(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, CLAIMS "/%s", name);
    ASSERT_SENT(&w->served, 200, "GET", path, NULL);
}

void uid_of_last(struct world *w, char to[static 64])
{
    (void)snprintf(to, 64, "%s", got(&w->served, "metadata/uid"));
}

const char *annotation(const struct world *w, const char *key)
{
    json_ref metadata = json_get(&w->served.doc, w->served.root, "metadata");
    json_ref v = json_get(&w->served.doc, json_get(&w->served.doc, metadata, "annotations"), key);
    static char text[512];

    if (!v)
        return "-";
    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(json_text(&w->served.doc, v)));
    return text;
}

void assert_bound(struct world *w, const char *claim, const char *volume)
{
    char uid[64];

    look_at_claim(w, claim);
    uid_of_last(w, uid);
    ASSERT_GOT(&w->served, volume, "spec/volumeName");
    ASSERT_GOT(&w->served, "Bound", "status/phase");
    assert_string_equal(annotation(w, ANN_BIND_COMPLETED), "yes");
    look_at_volume(w, volume);
    ASSERT_GOT(&w->served, "Bound", "status/phase");
    ASSERT_GOT(&w->served, uid, "spec/claimRef/uid");
    ASSERT_GOT(&w->served, claim, "spec/claimRef/name");
}

/* --- What a fault may change --- */

void assert_writes(const struct world *w, unsigned expected)
{
    if (plan.fault == TAP_NONE || expected == 0)
        ASSERT_INT(expected, w->writes);
}

void assert_requests(const struct world *w, unsigned expected)
{
    if (plan.fault == TAP_NONE || expected == 0)
        ASSERT_INT(expected, w->requests);
}

void assert_requests_below(const struct world *w, unsigned limit)
{
    assert_true(w->requests < limit + (plan.fault == TAP_NONE ? 0 : REPLAY_EXTRA_MAX));
}

void assert_done(unsigned expected, unsigned times)
{
    if (plan.fault == TAP_NONE || expected == 0)
        ASSERT_INT(expected, times);
    else
        assert_true(times >= expected);
}

void assert_times(unsigned expected, unsigned times)
{
    if (plan.fault == TAP_NONE || expected == 0)
        ASSERT_INT(expected, times);
    else if (plan.fault != TAP_LOSE && plan.fault != TAP_CRASH)
        assert_true(times >= 1);
}

void assert_number(double expected, double number)
{
    if (plan.fault == TAP_NONE)
        ASSERT_INT((int)expected, (int)number);
}

bool is_told_of_fault(const char *message)
{
    return plan.fault != TAP_NONE && strstr(message, "tapped");
}

const char *event_text(const struct world *w, size_t i, const char *member)
{
    char path[128];

    (void)snprintf(path, sizeof path, "items/%zu/%s", i, member);
    return got(&w->served, path);
}

bool event_is(const struct world *w, size_t i, const char *object, const char *reason)
{
    return strcmp(event_text(w, i, "involvedObject/name"), object) == 0 &&
           (!reason || strcmp(event_text(w, i, "reason"), reason) == 0) &&
           !is_told_of_fault(event_text(w, i, "message"));
}

unsigned count_events(struct world *w, const char *object, const char *reason, const char *message)
{
    unsigned count = 0;

    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (size_t i = 0, n = got_items(&w->served); i < n; i++)
        count +=
            event_is(w, i, object, reason) && (!message || strcmp(event_text(w, i, "message"), message) == 0);
    return count;
}
