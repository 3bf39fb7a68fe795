/* Explanations: a server with controllers is asked, which knows what is under way. Where that fails, what the
 * server has is listed into caches once, and the functions that decide are asked here. */
#include "cli/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/env.h"
#include "io/random.h"
#include "scheduler/explain.h"
#include "why/events.h"
#include "why/text.h"

#define POLL_NS (5 * NS_PER_MS)
/* For what cannot be done without; and, once that is there, for the rest: a server that refuses a kind is
 * asked for it again and again. */
#define NEEDED_NS (60 * NS_PER_S)
#define REST_NS (2 * NS_PER_S)

struct explainer {
    struct session *session;
    const char *ns; /* NULL: of all */
    struct reply reply;
    bool is_here;         /* the server does not explain, or not to us: caches are used */
    struct error failure; /* of filling them: once is enough */
    unsigned asked;
    struct informers *informers;
    struct scheduler *scheduler; /* judges, and schedules nothing */
    struct informer *events[2];  /* of the namespace, or all; of objects at cluster scope, or NULL */
    struct why_world world;
    struct timer timer;
    uint64_t began_ns;
    uint64_t enough_ns; /* since when nothing is missing that is needed; 0: something is */
};

static bool has_events(const struct explainer *x)
{
    return informer_is_synced(x->events[0]) && (!x->events[1] || informer_is_synced(x->events[1]));
}

static void look(void *ctx)
{
    struct explainer *x = ctx;
    uint64_t now_ns = loop_now_ns(x->session->loop);

    if (!x->enough_ns && !why_world_missing(&x->world))
        x->enough_ns = now_ns;
    if ((informers_are_synced(x->informers) && has_events(x)) ||
        (x->enough_ns && now_ns - x->enough_ns > REST_NS) || now_ns - x->began_ns > NEEDED_NS)
        loop_stop(x->session->loop);
    else
        timer_arm_after(&x->timer, POLL_NS);
}

static void each_event(void *ctx, const struct object *about, struct why_event_slice *slice, why_event_fn *fn,
                       void *fn_ctx)
{
    const struct explainer *x = ctx;
    const struct informer *events = x->events[about->ns[0] || !x->events[1] ? 0 : 1];
    struct informer_cursor at;

    (void)slice; /* all of them: nothing else waits in this process */
    for (const struct object *o = informer_first(events, &at); o; o = informer_next(&at)) {
        const struct event *e = (const struct event *)(const void *)o;

        if (why_event_is_about(e, about))
            fn(fn_ctx, e);
    }
}

static int open_events(struct explainer *x, struct error *err)
{
    const char *ns = x->ns && !x->ns[0] ? "default" : x->ns;
    const char *namespaces[] = { ns, "default" };
    size_t count = x->ns && x->ns[0] ? ARRAY_LEN(namespaces) : 1;
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++) {
        struct informer_options o = { .loop = x->session->loop,
                                      .client = x->session->client,
                                      .kind = kind_info(KIND_EVENT),
                                      .ns = namespaces[i] };

        r = informer_new(&o, &x->events[i], err);
    }
    return r;
}

static int open_scheduler(struct explainer *x, struct error *err)
{
    struct scheduler_options o = { .part = { .loop = x->session->loop,
                                             .clock = x->session->clock,
                                             .client = x->session->client,
                                             .informers = x->informers },
                                   .name = SCHEDULER_NAME,
                                   .host = "" };
    int r = io_random(&o.part.seed, sizeof o.part.seed, err);

    if (r == 0)
        r = scheduler_new(&o, &x->scheduler, err);
    if (r < 0)
        return r;
    scheduler_follow(x->scheduler);
    x->world.scheduler = x->scheduler;
    return 0;
}

static int open_caches(struct explainer *x, struct error *err)
{
    struct informer_options o = { .loop = x->session->loop, .client = x->session->client };
    int r = informers_new(&o, &x->informers, err);

    if (r == 0)
        r = why_world_caches(&x->world, x->informers, err);
    if (r == 0)
        r = open_scheduler(x, err);
    if (r == 0)
        r = open_events(x, err);
    if (r < 0)
        return r;
    informers_start(x->informers);
    for (size_t i = 0; i < ARRAY_LEN(x->events) && x->events[i]; i++)
        informer_start(x->events[i]);
    x->began_ns = loop_now_ns(x->session->loop);
    timer_arm_after(&x->timer, 0);
    loop_run(x->session->loop);
    if (why_world_missing(&x->world))
        return error_set(err, ERR_TIMEOUT,
                         "the server does not show its %s: nothing can be explained without",
                         why_world_missing(&x->world)->plural);
    why_world_drop_missing(&x->world);
    if (!x->world.caches[KIND_NODE])
        x->world.scheduler = NULL; /* it would judge from nodes that it cannot see */
    return 0;
}

/* --- Asking --- */

int explainer_new(struct session *s, const char *ns, struct explainer **ret, struct error *err)
{
    struct explainer *x = calloc(1, sizeof *x);

    if (!x)
        return error_no_memory(err);
    x->session = s;
    x->ns = ns;
    x->world.clock = s->clock;
    x->world.each_event = each_event;
    x->world.ctx = x;
    timer_init(&x->timer, s->loop, look, x);
    *ret = x;
    return 0;
}

struct explainer *explainer_free(struct explainer *e)
{
    if (!e)
        return NULL;
    timer_disarm(&e->timer);
    for (size_t i = 0; i < ARRAY_LEN(e->events); i++)
        e->events[i] = informer_free(e->events[i]);
    e->scheduler = scheduler_free(e->scheduler);
    e->informers = informers_free(e->informers);
    reply_done(&e->reply);
    free(e);
    return NULL;
}

/* False when the server does not explain, or not to us. */
static bool ask_server(struct explainer *e, const struct why_question *q, struct buf *out)
{
    struct client_request request = { .verb = CLIENT_RAW };
    char path[WHY_PATH_BYTES_MAX];
    int len = snprintf(path, sizeof path, "/why/%s%s%s/%s%s", why_type(q->kind), q->ns[0] ? "/" : "", q->ns,
                       q->name, q->shows_all ? "?all=true" : "");

    request.path = path;
    if (len >= (int)sizeof path || session_ask(e->session, &request, &e->reply) < 0)
        return false;
    buf_add_str(out, buf_str(&e->reply.text));
    return true;
}

int explainer_ask(struct explainer *e, const struct why_question *q, struct buf *out, struct error *err)
{
    int r = 0;

    if (!e->is_here && ask_server(e, q, out))
        return 0;
    e->is_here = true;
    if (!e->informers) {
        r = open_caches(e, err);
        if (r < 0)
            e->failure = *err;
    } else if (e->failure.code) {
        *err = e->failure;
        r = -(int)err->code;
    }
    return r < 0 ? r : why_explain(&e->world, q, out, err);
}

/* --- In one sentence --- */

bool explainer_find_cause(void *explainer, const struct object *o, struct cause *ret)
{
    struct explainer *e = explainer;
    const struct why_question q = { .kind = o->kind->kind, .ns = o->ns, .name = o->name };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX),
                                     sentence = BUF_INIT(SESSION_BYTES_MAX);
    _cleanup_(json_done_p) struct json d = { 0 };
    struct error ignored; /* the cause is not known then */
    json_ref report;

    if (e->asked >= CAUSES_MAX)
        return false;
    e->asked++;
    json_init(&d, SESSION_BYTES_MAX);
    if (explainer_ask(e, &q, &text, &ignored) < 0 || json_parse(&d, buf_str(&text), &report, &ignored) < 0)
        return false;
    (void)snprintf(ret->code, sizeof ret->code, "%.*s", STR_ARG(json_get_text(&d, report, "cause")));
    why_text_add(json_get_text(&d, report, "sentence"), &(struct why_style){ .is_ascii = !io_is_utf8() },
                 &sentence);
    (void)snprintf(ret->sentence, sizeof ret->sentence, "%s", buf_cstr(&sentence));
    return ret->sentence[0] != '\0';
}
