#include "cli/session.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "client/http.h"
#include "daemon/settings.h"
#include "io/clock.h"
#include "io/env.h"
#include "io/path.h"
#include "io/status_line.h"

#define ASK_DEADLINE_NS (60 * NS_PER_S)
#define TICK_NS (100 * NS_PER_MS)
#define COMPLAINT_BYTES_MAX ((size_t)4 << 20)

/* --- Which server --- */

/* The kubeconfig of a data directory; NULL from this function's ret when the default one has none. */
static int find_kubeconfig(const struct session_settings *x, char ret[PATH_MAX], bool *ret_found,
                           struct error *err)
{
    bool is_named = x->data || io_env("BERTH_DATA");
    char dir[PATH_MAX];
    struct error why;
    int n;

    *ret_found = false;
    if (x->kubeconfig || (!is_named && io_env("KUBECONFIG")))
        return 0;
    if (daemon_data_dir(x->data, dir, &why) < 0)
        return is_named ? error_pass(err, &why) : 0;
    n = snprintf(ret, PATH_MAX, "%s/kubeconfig", dir);
    if (n < 0 || n >= PATH_MAX)
        return error_set(err, ERR_INVALID, "the data directory's path is too long");
    if (is_named)
        *ret_found = true;
    else if (io_exists(ret, ret_found, &why) < 0)
        *ret_found = false; /* a directory of root's, say: there may be others */
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

/* path: the kubeconfig of a data directory, which could not be used; err says why. */
static int explain_data_dir(char *path, struct error *err)
{
    char owner[IO_USER_NAME_BYTES], user[IO_USER_NAME_BYTES];
    bool is_there = true, may_write;
    struct error ignored;
    uid_t uid;

    (void)io_exists(path, &is_there, &ignored); /* there, as far as this user may see */
    *strrchr(path, '/') = '\0';
    if (!is_there)
        return error_set(err, ERR_NOT_FOUND,
                         "'%s' is not a data directory of Berth: there is no kubeconfig in it", path);
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
    return error_set(
        err, ERR_NOT_FOUND,
        "no server is configured: --data and --kubeconfig are not given, $BERTH_DATA and "
        "$KUBECONFIG are not set, and there is no kubeconfig in %s and in ~/.kube; start a server "
        "with 'berth serve', or name its data directory: --data DIR",
        dir[0] ? dir : "the default data directory");
}

/* $BERTH_DATA wins over $KUBECONFIG, which kubectl uses: say so when they are two servers. */
static void warn_of_two_servers(const struct session_settings *x, const char *path)
{
    const char *other = io_env("KUBECONFIG");
    bool is_there = false;
    struct error ignored;

    if (x->data || !other || io_exists(other, &is_there, &ignored) < 0 || !is_there ||
        io_is_same_file(path, other))
        return;
    status_line_clear();
    (void)fprintf(stderr, "Note: using the server of $BERTH_DATA (%s), not $KUBECONFIG\n",
                  io_env("BERTH_DATA"));
}

static int load_config(const struct session_settings *x, struct session *s, struct error *err)
{
    char path[PATH_MAX];
    bool is_found;
    int r = find_kubeconfig(x, path, &is_found, err);

    if (r < 0)
        return r;
    r = config_load(
        &(struct config_options){ .file = is_found ? path : x->kubeconfig, .context = x->context },
        &s->config, err);
    if (r < 0 && is_found)
        return explain_data_dir(path, err);
    if (r == -ERR_NOT_FOUND && !x->kubeconfig && !x->context && !io_env("KUBECONFIG"))
        return explain_no_config(err);
    if (r == 0 && is_found)
        warn_of_two_servers(x, path);
    return r;
}

static void on_warning(struct str text)
{
    status_line_clear();
    (void)fputs("Warning: ", stderr);
    session_print_error_text(text);
    (void)fputs("\n", stderr);
}

static int open_client(struct session *s, struct error *err)
{
    struct http_client_options h = { .loop = s->loop, .clock = s->clock, .config = &s->config };
    struct client_options o = { .loop = s->loop, .on_warning = on_warning };
    int r = http_client_new(&h, &o.carrier, err);

    return r < 0 ? r : client_new(&o, &s->client, err);
}

int session_open(const struct session_settings *settings, struct session *ret, struct error *err)
{
    struct session *s = ret;
    int r;

    s->clock = clock_system();
    r = loop_new(/* clock= */ NULL, &s->loop, err);
    if (r == 0)
        r = load_config(settings, s, err);
    if (r == 0)
        r = open_client(s, err);
    if (r < 0)
        return r;
    s->was_ns_given = settings->ns != NULL;
    s->ns = settings->ns ? settings->ns : s->config.ns;
    return 0;
}

void session_close(struct session *s)
{
    s->client = client_free(s->client);
    config_done(&s->config);
    s->loop = loop_free(s->loop);
}

/* --- Answers --- */

void reply_done(struct reply *a)
{
    buf_done(&a->text);
    buf_done(&a->invalid);
}

static void reply_clear(struct reply *a)
{
    reply_done(a);
    *a = (struct reply){ .text = BUF_INIT(SESSION_BYTES_MAX), .invalid = BUF_INIT(COMPLAINT_BYTES_MAX) };
}

/* `The PersistentVolume "x" is invalid: spec.a: Required value`, or a line for each of several. */
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

/* --- Asking --- */

struct asked {
    struct session *session;
    struct client_call call;
    struct reply *reply;
    bool is_over;
    struct timer tick; /* of session->progress */
    /* Of a watch: */
    struct timer timer;
    session_event_fn *on_event;
    void *ctx;
    bool was_ended; /* by on_event */
};

static void asked_end(struct asked *x)
{
    x->is_over = true;
    loop_stop(x->session->loop);
}

static void on_answer(void *ctx, const struct client_answer *a)
{
    struct asked *x = ctx;

    reply_read(x->reply, a);
    asked_end(x);
}

static void on_tick(void *ctx)
{
    struct asked *x = ctx;

    progress_tick(x->session->progress);
    timer_arm_after(&x->tick, TICK_NS);
}

static void run(struct asked *x)
{
    timer_init(&x->tick, x->session->loop, on_tick, x);
    if (x->session->progress)
        timer_arm_after(&x->tick, TICK_NS);
    while (!x->is_over)
        loop_run(x->session->loop);
    timer_disarm(&x->tick);
}

int session_ask(struct session *s, const struct client_request *q, struct reply *ret)
{
    struct asked x = { .session = s, .reply = ret };
    struct client_request asking = *q;

    reply_clear(ret);
    if (!asking.accept)
        asking.accept = ACCEPT_OBJECT;
    asking.deadline_ns = s->deadline_ns ? s->deadline_ns : ASK_DEADLINE_NS;
    client_send(s->client, &x.call, &asking, on_answer, &x);
    run(&x);
    return ret->r;
}

static void on_watch_event(void *ctx, const struct client_event *ev)
{
    struct asked *x = ctx;

    if (x->on_event(x->ctx, ev))
        return;
    client_cancel(&x->call);
    x->was_ended = true;
    asked_end(x);
}

static void on_watch_timeout(void *ctx)
{
    struct asked *x = ctx;

    client_cancel(&x->call);
    x->reply->r = -ERR_TIMEOUT;
    buf_add_cstr(&x->reply->text, "timed out waiting for the condition");
    asked_end(x);
}

int session_watch(struct session *s, const struct client_request *q, uint64_t timeout_ns,
                  session_event_fn *on_event, void *ctx, struct reply *ret)
{
    struct asked x = { .session = s, .reply = ret, .on_event = on_event, .ctx = ctx };
    struct client_request asking = *q;

    assert(q->verb == CLIENT_WATCH);
    reply_clear(ret);
    if (!asking.accept)
        asking.accept = ACCEPT_OBJECT;
    timer_init(&x.timer, s->loop, on_watch_timeout, &x);
    if (timeout_ns)
        timer_arm_after(&x.timer, timeout_ns);
    client_watch(s->client, &x.call, &asking, on_watch_event, on_answer, &x);
    run(&x);
    timer_disarm(&x.timer);
    return x.was_ended ? 1 : ret->r;
}

/* --- Complaints --- */

void session_print_error_text(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.s[i];
        (void)fputc((c < ' ' && c != '\n') || c == 0x7F ? '?' : c, stderr);
    }
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
    status_line_clear();
    session_print_error_text(line.failed ? STR_LIT("error: the complaint is too long") : buf_str(&line));
    (void)fputs("\n", stderr);
    return CLI_FAILED;
}

int session_complain(const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(COMPLAINT_BYTES_MAX);
    va_list args;

    va_start(args, fmt);
    buf_addv(&line, fmt, args);
    va_end(args);
    status_line_clear();
    (void)fputs("error: ", stderr);
    session_print_error_text(buf_str(&line));
    (void)fputs("\n", stderr);
    return CLI_FAILED;
}
