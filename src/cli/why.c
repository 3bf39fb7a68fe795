/* `berth why`: explains the state of a claim, a volume, a pod or an attachment.
 *
 * A Berth server explains from its own caches and knows operations in progress. For any other server, and for
 * users who may not query /why, the same functions run here, with caches filled for this purpose. */
#include "cli/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/print.h"
#include "cli/resources.h"
#include "cli/session.h"
#include "io/env.h"
#include "io/random.h"
#include "scheduler/explain.h"
#include "why/events.h"
#include "why/text.h"
#include "why/why_world.h"

#define POLL_NS (5 * NS_PER_MS)
/* Time limit for required kinds and, once they are loaded, for the others: a refused kind is requested again
 * and again. */
#define NEEDED_NS (60 * NS_PER_S)
#define REST_NS (2 * NS_PER_S)

struct explainer {
    struct session *session;
    const char *ns;       /* NULL: all */
    bool is_here;         /* the server does not explain, or not to this user: local caches are used */
    struct error failure; /* of filling the caches, which is tried once */
    unsigned asked;
    struct informers *informers;
    struct scheduler *scheduler; /* only filters; schedules nothing */
    struct informer *events[2];  /* of the namespace, or all; of cluster-scoped objects, or NULL */
    struct why_world world;
    struct timer timer;
    uint64_t began_ns;
    uint64_t enough_ns; /* since when the required kinds are loaded; 0: not yet */
};

/* --- Local caches --- */

static void check_caches(void *ctx)
{
    struct explainer *explainer = ctx;
    uint64_t now_ns = loop_now_ns(explainer->session->loop);
    bool has_events = informer_is_synced(explainer->events[0]) &&
                      (!explainer->events[1] || informer_is_synced(explainer->events[1]));

    if (!explainer->enough_ns && !why_world_missing(&explainer->world))
        explainer->enough_ns = now_ns;
    if ((informers_are_synced(explainer->informers) && has_events) ||
        (explainer->enough_ns && now_ns - explainer->enough_ns > REST_NS) ||
        now_ns - explainer->began_ns > NEEDED_NS)
        loop_stop(explainer->session->loop);
    else
        timer_arm_after(&explainer->timer, POLL_NS);
}

static void each_event(void *ctx, const struct object *about, struct why_event_slice *slice, why_event_fn *fn,
                       void *fn_ctx)
{
    const struct explainer *explainer = ctx;
    const struct informer *events = explainer->events[about->ns[0] || !explainer->events[1] ? 0 : 1];
    struct informer_cursor at;

    (void)slice; /* everything at once: nothing else runs in this process */
    for (const struct object *o = informer_first(events, &at); o; o = informer_next(&at)) {
        const struct event *e = (const struct event *)(const void *)o;

        if (why_event_is_about(e, about))
            fn(fn_ctx, e);
    }
}

static int open_events(struct explainer *explainer, struct error *err)
{
    const char *ns = explainer->ns && !explainer->ns[0] ? "default" : explainer->ns;
    const char *namespaces[] = { ns, "default" };
    size_t count = explainer->ns && explainer->ns[0] ? ARRAY_LEN(namespaces) : 1;
    int r = 0;

    for (size_t i = 0; i < count && r == 0; i++) {
        struct informer_options o = { .loop = explainer->session->loop,
                                      .client = explainer->session->client,
                                      .kind = kind_info(KIND_EVENT),
                                      .ns = namespaces[i] };

        r = informer_new(&o, &explainer->events[i], err);
    }
    return r;
}

static int open_scheduler(struct explainer *explainer, struct error *err)
{
    struct scheduler_options o = { .part = { .loop = explainer->session->loop,
                                             .clock = explainer->session->clock,
                                             .client = explainer->session->client,
                                             .informers = explainer->informers },
                                   .name = SCHEDULER_NAME,
                                   .host = "" };
    int r = io_random(&o.part.seed, sizeof o.part.seed, err);

    if (r == 0)
        r = scheduler_new(&o, &explainer->scheduler, err);
    if (r < 0)
        return r;
    scheduler_follow(explainer->scheduler);
    explainer->world.scheduler = explainer->scheduler;
    return 0;
}

static int open_caches(struct explainer *explainer, struct error *err)
{
    struct informer_options o = { .loop = explainer->session->loop, .client = explainer->session->client };
    int r = informers_new(&o, &explainer->informers, err);

    if (r == 0)
        r = why_world_caches(&explainer->world, explainer->informers, err);
    if (r == 0)
        r = open_scheduler(explainer, err);
    if (r == 0)
        r = open_events(explainer, err);
    if (r < 0)
        return r;
    informers_start(explainer->informers);
    for (size_t i = 0; i < ARRAY_LEN(explainer->events) && explainer->events[i]; i++)
        informer_start(explainer->events[i]);
    explainer->began_ns = loop_now_ns(explainer->session->loop);
    timer_arm_after(&explainer->timer, 0);
    loop_run(explainer->session->loop);
    if (why_world_missing(&explainer->world))
        return error_set(err, ERR_TIMEOUT,
                         "the server does not allow listing its %s, which every explanation requires",
                         why_world_missing(&explainer->world)->plural);
    why_world_drop_missing(&explainer->world);
    if (!explainer->world.caches[KIND_NODE])
        explainer->world.scheduler = NULL; /* without nodes its filters would be wrong */
    return 0;
}

/* --- Explanations --- */

int explainer_new(struct session *s, const char *ns, struct explainer **ret, struct error *err)
{
    struct explainer *explainer = calloc(1, sizeof *explainer);

    if (!explainer)
        return error_no_memory(err);
    explainer->session = s;
    explainer->ns = ns;
    explainer->world.clock = s->clock;
    explainer->world.each_event = each_event;
    explainer->world.ctx = explainer;
    timer_init(&explainer->timer, s->loop, check_caches, explainer);
    *ret = explainer;
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
    free(e);
    return NULL;
}

/* False when the server does not explain, or not to this user. */
static bool request_explanation(struct explainer *e, const struct why_question *q, struct buf *out)
{
    struct client_request request = { .verb = CLIENT_RAW };
    char path[WHY_PATH_BYTES_MAX];
    int len = snprintf(path, sizeof path, "/why/%s%s%s/%s%s", why_type(q->kind), q->ns[0] ? "/" : "", q->ns,
                       q->name, q->shows_all ? "?all=true" : "");

    request.path = path;
    if (len >= (int)sizeof path || session_ask(e->session, &request) < 0)
        return false;
    buf_add_str(out, buf_str(&e->session->reply.text));
    return true;
}

int explainer_ask(struct explainer *e, const struct why_question *q, struct buf *out, struct error *err)
{
    int r = 0;

    if (!e->is_here && request_explanation(e, q, out))
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

/* --- Causes in one sentence --- */

bool explainer_find_cause(void *explainer, const struct object *o, struct cause *ret)
{
    struct explainer *e = explainer;
    const struct why_question q = { .kind = o->kind->kind, .ns = o->ns, .name = o->name };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX),
                                     sentence = BUF_INIT(SESSION_BYTES_MAX);
    _cleanup_(json_done_p) struct json d = { 0 };
    struct error ignored; /* the cause is then unknown */
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

/* --- The verb --- */

struct why_settings {
    struct session_settings session;
    const char *output;
    bool shows_all;
    bool is_verbose;
};

struct why_verb {
    struct why_settings settings;
    struct session session;
    struct resources resources;
    struct why_question question;
    struct buf report; /* JSON */
};

static int show_report(struct why_verb *verb)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct json doc;
    struct error err;
    json_ref report;
    int status = CLI_OK;

    json_init(&doc, SESSION_BYTES_MAX);
    if (json_parse(&doc, buf_str(&verb->report), &report, &err) < 0) {
        status = session_complain("cannot read the server's response: %s", err.msg);
    } else if (verb->settings.output && strcmp(verb->settings.output, "json") == 0) {
        print_json(&doc, report, &out);
    } else {
        const struct why_style style = { .is_verbose = verb->settings.is_verbose, .is_ascii = !io_is_utf8() };

        why_text_write(&doc, report, &style, &out);
    }
    if (status == CLI_OK && buf_check(&out, "explanation", &err) < 0)
        status = session_complain("%s", err.msg);
    if (status == CLI_OK)
        print_out(&out);
    json_done(&doc);
    return status;
}

static int read_arguments(struct why_verb *verb, int args, char **argv)
{
    const struct cli_resource *first = &verb->resources.items[0];
    struct error err;

    if (args == 1 && !strchr(argv[1], '/') && !resource_type(str_of(argv[1])))
        return cli_fail_usage("why: include the type of the object, for example pvc/%s", argv[1]);
    if (resources_read(args, argv + 1, &verb->resources, &err) < 0)
        return session_complain("%s", err.msg);
    if (verb->resources.count != 1 || !first->name)
        return cli_fail_usage("why: specify one object, for example pvc/NAME: see 'berth help why'");
    if (!why_type(first->kind->kind))
        return cli_fail_usage("why: cannot explain a %s: supported are pvc/NAME, pv/NAME, pod/NAME, "
                              "va/NAME and csidriver/NAME",
                              first->kind->name);
    verb->question = (struct why_question){ .kind = first->kind->kind,
                                            .ns = first->kind->is_namespaced ? verb->session.ns : "",
                                            .name = first->name,
                                            .shows_all = verb->settings.shows_all };
    return CLI_OK;
}

static int explain_object(struct why_verb *verb)
{
    const struct kind_info *k = kind_info(verb->question.kind);
    struct client_request q = { .verb = CLIENT_GET,
                                .kind = k,
                                .ns = k->is_namespaced ? verb->question.ns : NULL,
                                .name = verb->question.name };
    struct explainer *explainer = NULL;
    struct error err;
    int status = CLI_OK;

    if (session_ask(&verb->session, &q) < 0) /* a missing object is reported as by other verbs */
        return reply_complain(&verb->session.reply, NULL, NULL);
    if (explainer_new(&verb->session, verb->question.ns, &explainer, &err) < 0 ||
        explainer_ask(explainer, &verb->question, &verb->report, &err) < 0)
        status = session_complain("%s", err.msg);
    explainer = explainer_free(explainer);
    return status == CLI_OK ? show_report(verb) : status;
}

static int why_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct why_verb x = { .report = BUF_INIT(SESSION_BYTES_MAX) };
    int args = 0, status = flags_parse(verb, argc, argv, &x.settings, &args);
    const char *output = x.settings.output;
    struct error err;

    if (status != CLI_OK)
        return status;
    if (args == 0)
        return cli_fail_usage("why: specify an object, for example pvc/NAME: see 'berth help why'");
    if (output && strcmp(output, "json") != 0 && strcmp(output, "text") != 0)
        return cli_fail_usage("why: invalid --output '%s': must be text or json", output);
    status =
        session_open(&x.settings.session, &x.session, &err) < 0 ? session_complain("%s", err.msg) : CLI_OK;
    if (status == CLI_OK)
        status = read_arguments(&x, args, argv);
    if (status == CLI_OK)
        status = explain_object(&x);
    buf_done(&x.report);
    session_close(&x.session);
    return status;
}

static const struct flag why_flags[] = {
    FLAG_SHORT(struct why_settings, output, 'o', "output", "FORM", "text, or json for scripts"),
    FLAG_ON(struct why_settings, shows_all, "all", "every candidate, not only examples"),
    FLAG_SHORT_ON(struct why_settings, is_verbose, 'v', "verbose", "every operation and event"),
    SESSION_FLAGS(struct why_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_why = {
    .name = "why",
    .group = CLI_ANSWERS,
    .usage = "why pvc/NAME | pv/NAME | pod/NAME | va/NAME | csidriver/NAME",
    .summary = "Explain why a claim, volume, pod or attachment is stuck",
    .flags = why_flags,
    .examples = "  berth why pvc/data                # why the claim is Pending, volume by volume\n  berth "
                "why pvc/data -n shop --all  # with every volume\n  berth why pv/disk-3               # "
                "which claim uses the volume, or why none can\n  berth why pod/web-0 -o json       # for "
                "scripts: {\"cause\":\"too-small\",...}\n",
    .args = "TYPE/NAME pvc pv pod va csidriver",
    .run = why_run,
};
