/* Connects a verb to an API server: selects the kubeconfig, sends one request at a time with the loop running
 * inside the call, and prints errors as kubectl does. */
#include "cli/session.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "client/client_http.h"
#include "daemon/settings.h"
#include "io/clock.h"
#include "io/env.h"
#include "io/path.h"
#include "io/status_line.h"

#define ASK_DEADLINE_NS (60 * NS_PER_S)
#define TICK_NS (100 * NS_PER_MS)
#define COMPLAINT_BYTES_MAX ((size_t)4 << 20)

/* --- Selecting the server --- */

/* The kubeconfig of a data directory; "" in ret when the default directory has none. */
static int find_kubeconfig(const struct session_settings *settings, char ret[PATH_MAX], bool *ret_found,
                           struct error *err)
{
    bool is_named = settings->data || io_env("BERTH_DATA");
    char dir[PATH_MAX];
    struct error why;
    int n;

    *ret_found = false;
    if (settings->kubeconfig || (!is_named && io_env("KUBECONFIG")))
        return 0;
    if (daemon_data_dir(settings->data, dir, &why) < 0)
        return is_named ? error_pass(err, &why) : 0;
    n = snprintf(ret, PATH_MAX, "%s/kubeconfig", dir);
    if (n < 0 || n >= PATH_MAX)
        return error_set(err, ERR_INVALID, "the data directory's path is too long");
    if (is_named)
        *ret_found = true;
    else if (io_exists(ret, ret_found, &why) < 0)
        *ret_found = false; /* not accessible, for example root's: another kubeconfig may exist */
    return 0;
}

int session_contexts(const struct session_settings *settings, config_context_fn *fn, void *ctx,
                     struct error *err)
{
    char path[PATH_MAX];
    bool is_found;
    int r = find_kubeconfig(settings, path, &is_found, err);

    if (r < 0)
        return r;
    return config_each_context(&(struct config_options){ .file = is_found ? path : settings->kubeconfig }, fn,
                               ctx, err);
}

bool session_kubeconfig(const struct session_settings *settings, char ret[PATH_MAX], struct error *err)
{
    bool is_found;

    return find_kubeconfig(settings, ret, &is_found, err) == 0 && is_found;
}

/* path: the kubeconfig of a data directory that could not be used; err has the reason. */
static int explain_data_dir(char *path, struct error *err)
{
    char owner[IO_USER_NAME_BYTES], user[IO_USER_NAME_BYTES];
    bool is_there = true, may_write;
    struct error ignored;
    uid_t uid;

    (void)io_exists(path, &is_there, &ignored); /* exists, as far as this user may see */
    *strrchr(path, '/') = '\0';
    if (!is_there)
        return error_set(err, ERR_NOT_FOUND,
                         "'%s' is not a data directory of Berth: it contains no kubeconfig", path);
    if (err->code != ERR_DENIED || io_may_write_dir(path, &may_write, &uid, &ignored) < 0)
        return -(int)err->code;
    io_user_name(uid, owner);
    io_user_name(io_user(), user);
    return error_set(err, ERR_DENIED,
                     "the data directory '%s' belongs to %s, and you are %s: use sudo, or a copy of its "
                     "kubeconfig with --kubeconfig",
                     path, owner, user);
}

static int explain_no_config(struct error *err)
{
    char dir[PATH_MAX];
    struct error ignored;

    if (daemon_data_dir(NULL, dir, &ignored) < 0)
        dir[0] = '\0';
    return error_set(err, ERR_NOT_FOUND,
                     "no server is configured: --data and --kubeconfig are not given, $BERTH_DATA and "
                     "$KUBECONFIG are not set, and neither %s nor ~/.kube has a kubeconfig; start a server "
                     "with 'berth serve', or specify its data directory: --data DIR",
                     dir[0] ? dir : "the default data directory");
}

/* $BERTH_DATA takes precedence over $KUBECONFIG, which kubectl uses: warn if they are two servers. */
static void warn_of_two_servers(const struct session_settings *settings, const char *path)
{
    const char *other = io_env("KUBECONFIG");
    bool is_there = false;
    struct error ignored;

    if (settings->data || !other || io_exists(other, &is_there, &ignored) < 0 || !is_there ||
        io_is_same_file(path, other))
        return;
    status_line_clear();
    (void)fprintf(stderr, "Note: using the server of $BERTH_DATA (%s), not $KUBECONFIG\n",
                  io_env("BERTH_DATA"));
}

static int load_config(const struct session_settings *settings, struct session *s, struct error *err)
{
    char path[PATH_MAX];
    bool is_found;
    int r = find_kubeconfig(settings, path, &is_found, err);

    if (r < 0)
        return r;
    r = config_load(&(struct config_options){ .file = is_found ? path : settings->kubeconfig,
                                              .context = settings->context },
                    &s->config, err);
    if (r < 0 && is_found)
        return explain_data_dir(path, err);
    if (r == -ERR_NOT_FOUND && !settings->kubeconfig && !settings->context && !io_env("KUBECONFIG"))
        return explain_no_config(err);
    if (r == 0 && is_found)
        warn_of_two_servers(settings, path);
    return r;
}

static void on_warning(struct str text)
{
    session_print_error("Warning: ", text);
}

int session_open(const struct session_settings *settings, struct session *ret, struct error *err)
{
    struct session *s = ret;
    struct client_options o = { .on_warning = on_warning };
    int r;

    s->clock = clock_system();
    r = loop_new(/* clock= */ NULL, &s->loop, err);
    if (r == 0)
        r = load_config(settings, s, err);
    if (r == 0)
        r = http_client_new(
            &(struct http_client_options){ .loop = s->loop, .clock = s->clock, .config = &s->config },
            &o.carrier, err);
    o.loop = s->loop;
    if (r == 0)
        r = client_new(&o, &s->client, err);
    if (r < 0)
        return r;
    s->was_ns_given = settings->ns != NULL;
    s->ns = settings->ns ? settings->ns : s->config.ns;
    return 0;
}

void session_close(struct session *s)
{
    buf_done(&s->reply.text);
    buf_done(&s->reply.invalid);
    s->client = client_free(s->client);
    config_done(&s->config);
    s->loop = loop_free(s->loop);
}

/* --- Responses --- */

static void reply_clear(struct reply *a)
{
    buf_done(&a->text);
    buf_done(&a->invalid);
    *a = (struct reply){ .text = BUF_INIT(SESSION_BYTES_MAX), .invalid = BUF_INIT(COMPLAINT_BYTES_MAX) };
}

/* `The PersistentVolume "x" is invalid: spec.a: Required value`, or one line for each of several causes. */
static void word_invalid(const struct status_info *s, struct buf *out)
{
    if (s->kind[0] && s->name[0])
        buf_addf(out, "The %s \"%s\" is invalid", s->kind, s->name);
    else
        buf_add_cstr(out, "The request is invalid");
    if (s->causes_count == 0) {
        if (s->message[0] && !s->kind[0])
            buf_addf(out, ": %s", s->message);
        return;
    }
    buf_add_cstr(out, ": ");
    for (uint32_t i = 0; i < s->causes_count; i++) {
        if (s->causes_count > 1)
            buf_add_cstr(out, "\n* ");
        if (s->causes[i].field[0])
            buf_addf(out, "%s: ", s->causes[i].field);
        buf_add_cstr(out, s->causes[i].message);
    }
}

static void reply_read(struct reply *ret, const struct client_answer *a)
{
    const struct status_info *s = a->status;

    ret->r = a->r;
    ret->http_status = a->http_status;
    if (a->r == 0) {
        buf_add_str(&ret->text, a->text);
        if (ret->text.failed)
            ret->r = -(int)ret->text.failed;
        return;
    }
    buf_add_cstr(&ret->text, s && s->message[0] ? s->message : a->error.msg);
    if (s)
        (void)snprintf(ret->reason, sizeof ret->reason, "%s", s->reason[0] ? s->reason : "Unknown");
    if (s && strcmp(s->reason, "Invalid") == 0)
        word_invalid(s, &ret->invalid);
}

/* --- Requests --- */

struct session_request {
    struct session *session;
    struct client_call call;
    bool is_over;
    struct timer tick; /* for session->progress */
    /* For a watch: */
    struct timer timer;
    session_event_fn *on_event;
    void *ctx;
    bool was_ended; /* by on_event */
};

static void asked_end(struct session_request *request)
{
    request->is_over = true;
    loop_stop(request->session->loop);
}

static void on_answer(void *ctx, const struct client_answer *a)
{
    struct session_request *request = ctx;

    reply_read(&request->session->reply, a);
    asked_end(request);
}

static void on_tick(void *ctx)
{
    struct session_request *request = ctx;

    progress_tick(request->session->progress);
    timer_arm_after(&request->tick, TICK_NS);
}

static void run_request(struct session_request *request)
{
    timer_init(&request->tick, request->session->loop, on_tick, request);
    if (request->session->progress)
        timer_arm_after(&request->tick, TICK_NS);
    while (!request->is_over)
        loop_run(request->session->loop);
    timer_disarm(&request->tick);
}

int session_ask(struct session *s, const struct client_request *q)
{
    struct session_request x = { .session = s };
    struct client_request asking = *q;

    reply_clear(&s->reply);
    if (!asking.accept)
        asking.accept = ACCEPT_OBJECT;
    asking.deadline_ns = s->deadline_ns ? s->deadline_ns : ASK_DEADLINE_NS;
    client_send(s->client, &x.call, &asking, on_answer, &x);
    run_request(&x);
    return s->reply.r;
}

static void on_watch_event(void *ctx, const struct client_event *ev)
{
    struct session_request *request = ctx;

    if (request->on_event(request->ctx, ev))
        return;
    client_cancel(&request->call);
    request->was_ended = true;
    asked_end(request);
}

static void on_watch_timeout(void *ctx)
{
    struct session_request *request = ctx;

    client_cancel(&request->call);
    request->session->reply.r = -ERR_TIMEOUT;
    buf_add_cstr(&request->session->reply.text, "timed out waiting for the condition");
    asked_end(request);
}

int session_watch(struct session *s, const struct client_request *q, uint64_t timeout_ns,
                  session_event_fn *on_event, void *ctx)
{
    struct session_request x = { .session = s, .on_event = on_event, .ctx = ctx };
    struct client_request asking = *q;

    assert(q->verb == CLIENT_WATCH);
    reply_clear(&s->reply);
    if (!asking.accept)
        asking.accept = ACCEPT_OBJECT;
    timer_init(&x.timer, s->loop, on_watch_timeout, &x);
    if (timeout_ns)
        timer_arm_after(&x.timer, timeout_ns);
    client_watch(s->client, &x.call, &asking, on_watch_event, on_answer, &x);
    run_request(&x);
    timer_disarm(&x.timer);
    return x.was_ended ? 1 : s->reply.r;
}

/* --- Errors --- */

void session_print_error(const char *before, struct str text)
{
    status_line_clear();
    (void)fputs(before, stderr);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.s[i];
        (void)fputc((c < ' ' && c != '\n') || c == 0x7F ? '?' : c, stderr);
    }
    (void)fputc('\n', stderr);
}

int reply_complain(const struct reply *a, const char *doing, const char *source)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(COMPLAINT_BYTES_MAX);

    if (a->invalid.len) {
        buf_add_str(&line, buf_str(&a->invalid));
    } else {
        if (a->reason[0])
            buf_addf(&line, "Error from server (%s): ", a->reason);
        else
            buf_add_cstr(&line, "error: ");
        if (doing && a->reason[0])
            buf_addf(&line, "error when %s \"%s\": ", doing, source);
        buf_add_str(&line, buf_str(&a->text));
    }
    session_print_error("", line.failed ? STR_LIT("error: the message is too long") : buf_str(&line));
    return CLI_FAILED;
}

int reply_parse(const struct reply *a, struct json *d, json_ref *ret)
{
    struct error err;

    if (a->r < 0)
        return reply_complain(a, /* doing= */ NULL, /* source= */ NULL);
    if (json_parse(d, buf_str(&a->text), ret, &err) < 0)
        return session_complain("cannot read the server's response: %s", err.msg);
    return CLI_OK;
}

int session_read(struct session *s, const struct client_request *q, struct json *d, json_ref *ret)
{
    (void)session_ask(s, q); /* reply_parse() prints the error */
    return reply_parse(&s->reply, d, ret);
}

int session_complain(const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(COMPLAINT_BYTES_MAX);
    va_list args;

    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    session_print_error("error: ", buf_str(&line));
    return CLI_FAILED;
}

void session_say_nothing_found(const struct session *s, bool is_everywhere)
{
    if (is_everywhere)
        (void)fprintf(stderr, "No resources found\n");
    else
        (void)fprintf(stderr, "No resources found in %s namespace.\n", s->ns);
}
