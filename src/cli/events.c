/* `berth events`: what happened, the latest last. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/event_list.h"
#include "cli/print.h"
#include "cli/print_table.h"
#include "cli/resources.h"
#include "cli/session.h"

#define WATCH_SECONDS 300

struct events_settings {
    struct session_settings session;
    const char *about;
    const char *types;
    const char *output;
    bool is_everywhere;
    bool is_watch;
    bool has_no_headers;
};

struct events {
    struct events_settings settings;
    struct session session;
    struct print print;
    struct reply reply;
    struct json doc;
    VEC(json_ref) found;
    struct columns columns;
    char selector[1024]; /* "": all of them */
    char version[64];
    bool has_head;
    int status;
};

/* --- Which --- */

static int read_about(struct events *x, struct error *err)
{
    struct str name = str_of(x->settings.about), type = str_next(&name, '/');
    const struct kind_info *k = resource_type(type);
    int n;

    if (!name.s || name.len == 0 || type.len == 0)
        return error_set(err, ERR_INVALID, "--for must be in resource/name form");
    if (!k)
        return error_set(err, ERR_NOT_FOUND, "the server doesn't have a resource type \"%.*s\"",
                         STR_ARG(type));
    n = snprintf(x->selector, sizeof x->selector, "involvedObject.kind=%s,involvedObject.name=%.*s", k->name,
                 STR_ARG(name));
    if (n < 0 || (size_t)n >= sizeof x->selector)
        return error_set(err, ERR_INVALID, "--for: the name is too long");
    return 0;
}

static bool is_of_type(const struct events *x, json_ref event)
{
    struct str rest = str_of(x->settings.types ? x->settings.types : ""),
               type = json_get_text(&x->doc, event, "type");

    if (rest.len == 0)
        return true;
    while (rest.s) {
        struct str one = str_trim(str_next(&rest, ','));

        if (one.len == type.len && strncasecmp(one.s, type.s, one.len) == 0)
            return true;
    }
    return false;
}

/* --- Lines --- */

static void add_head(struct events *x)
{
    if (x->has_head)
        return;
    x->has_head = true;
    if (x->settings.is_everywhere)
        buf_add_cstr(&x->columns.text, "NAMESPACE\t");
    buf_add_cstr(&x->columns.text, "LAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n");
}

static void add_line(struct events *x, json_ref event)
{
    _cleanup_(buf_done_p) struct buf age = BUF_INIT(256);
    struct columns *c = &x->columns;
    const struct json *d = &x->doc;
    json_ref about = json_get(d, event, "involvedObject");

    if (x->settings.is_everywhere) {
        columns_add_cell(c, json_get_text(d, json_get(d, event, "metadata"), "namespace"));
        buf_add_char(&c->text, '\t');
    }
    event_list_write_age(d, event, timestamp_of_ns(clock_real_ns(x->session.clock)), &age);
    columns_add_cell(c, buf_str(&age));
    buf_add_char(&c->text, '\t');
    columns_add_cell(c, json_get_text(d, event, "type"));
    buf_add_char(&c->text, '\t');
    columns_add_cell(c, json_get_text(d, event, "reason"));
    buf_add_char(&c->text, '\t');
    columns_add_cell(c, json_get_text(d, about, "kind"));
    buf_add_char(&c->text, '/');
    columns_add_cell(c, json_get_text(d, about, "name"));
    buf_add_char(&c->text, '\t');
    columns_add_cell(c, str_trim(json_get_text(d, event, "message")));
    buf_add_char(&c->text, '\n');
}

static void show(struct events *x, bool is_single)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;
    int r;

    if (print_is_table(&x->print)) {
        if (!x->settings.has_no_headers)
            add_head(x);
        for (size_t i = 0; i < x->found.count; i++)
            add_line(x, x->found.items[i]);
        r = columns_flush(&x->columns, &out, &err);
    } else {
        r = print_objects(&x->print, &x->doc, x->found.items, x->found.count, is_single, &out, &err);
    }
    if (r < 0)
        x->status = session_complain("%s", err.msg);
    else
        print_out(&out);
    (void)fflush(stdout); /* cli_main() asks whether it came through */
}

/* --- Asking --- */

static struct client_request request(const struct events *x, enum client_verb verb)
{
    return (struct client_request){
        .verb = verb,
        .kind = kind_info(KIND_EVENT),
        .ns = x->settings.is_everywhere ? NULL : x->session.ns,
        .field_selector = x->selector[0] ? x->selector : NULL,
    };
}

static void keep(struct events *x, json_ref event)
{
    json_set_string(&x->doc, event, "apiVersion", "v1");
    json_set_string(&x->doc, event, "kind", "Event");
    if (is_of_type(x, event) && vec_push(&x->found, event) < 0)
        x->status = session_complain("out of memory");
}

static void list(struct events *x)
{
    struct client_request q = request(x, CLIENT_LIST);
    struct error err;
    json_ref answer;

    if (session_ask(&x->session, &q, &x->reply) < 0) {
        x->status = reply_complain(&x->reply, NULL, NULL);
        return;
    }
    if (json_parse(&x->doc, buf_str(&x->reply.text), &answer, &err) < 0) {
        x->status = session_complain("the server's answer cannot be read: %s", err.msg);
        return;
    }
    (void)snprintf(x->version, sizeof x->version, "%.*s",
                   STR_ARG(json_get_text(&x->doc, json_get(&x->doc, answer, "metadata"), "resourceVersion")));
    for (json_ref e = json_first(&x->doc, json_get(&x->doc, answer, "items")); e; e = json_next(&x->doc, e))
        keep(x, e);
    event_list_sort(&x->doc, x->found.items, x->found.count);
    if (x->found.count || (!x->settings.is_watch && !print_is_table(&x->print)))
        show(x, /* is_single= */ false);
    else if (!x->settings.is_watch && x->settings.is_everywhere)
        (void)fprintf(stderr, "No events found.\n");
    else if (!x->settings.is_watch)
        (void)fprintf(stderr, "No events found in %s namespace.\n", x->session.ns);
}

static bool on_event(void *ctx, const struct client_event *ev)
{
    struct events *x = ctx;
    struct error err;
    json_ref line, event;

    if (ev->type == CLIENT_ERROR || ev->type == CLIENT_UNREADABLE) {
        x->status = session_complain("the watch broke off: %s", ev->error->msg);
        return false;
    }
    (void)snprintf(x->version, sizeof x->version, "%s", ev->version);
    if (ev->type == CLIENT_BOOKMARK || ev->type == CLIENT_DELETED)
        return true; /* that it is forgotten is no news */
    json_clear(&x->doc);
    vec_clear(&x->found);
    if (json_parse(&x->doc, ev->text, &line, &err) < 0) {
        x->status = session_complain("%s", err.msg);
        return false;
    }
    event = json_get(&x->doc, line, "object");
    json_unlink(&x->doc, event);
    keep(x, event);
    if (x->found.count)
        show(x, /* is_single= */ true);
    return x->status == CLI_OK;
}

static void watch(struct events *x)
{
    struct client_request q = request(x, CLIENT_WATCH);

    q.timeout_seconds = WATCH_SECONDS;
    while (x->status == CLI_OK) {
        q.resource_version = x->version;
        if (session_watch(&x->session, &q, /* timeout_ns= */ 0, on_event, x, &x->reply) < 0)
            x->status = reply_complain(&x->reply, NULL, NULL);
    }
}

/* --- All of it --- */

static int events_open(struct events *x)
{
    const struct events_settings *s = &x->settings;
    struct error err;

    if (print_init(&x->print, s->output, &err) < 0 || (s->about && read_about(x, &err) < 0) ||
        session_open(&s->session, &x->session, &err) < 0)
        return session_complain("%s", err.msg);
    x->print.has_no_headers = s->has_no_headers;
    x->columns.paint = s->has_no_headers ? NULL : table_paint();
    return CLI_OK;
}

static int events_run(int argc, char **argv)
{
    struct events x = { 0 };
    int args = 0, status = flags_parse(&cli_verb_events, argc, argv, &x.settings, &args);

    if (status != CLI_OK)
        return status;
    if (args)
        return cli_fail_usage("events: unexpected argument '%s': see 'berth help events'", argv[1]);
    json_init(&x.doc, SESSION_BYTES_MAX);
    columns_init_table(&x.columns);
    status = events_open(&x);
    if (status == CLI_OK) {
        list(&x);
        if (x.settings.is_watch)
            watch(&x);
        status = x.status;
    }
    columns_done(&x.columns);
    vec_done(&x.found);
    json_done(&x.doc);
    reply_done(&x.reply);
    print_done(&x.print);
    session_close(&x.session);
    return status;
}

static const struct flag events_flags[] = {
    FLAG(struct events_settings, about, "for", "TYPE/NAME", "about this object alone"),
    FLAG(struct events_settings, types, "types", "TYPES", "of these types alone: Warning, Normal"),
    FLAG_SHORT_ON(struct events_settings, is_everywhere, 'A', "all-namespaces", "of every namespace"),
    FLAG_SHORT_ON(struct events_settings, is_watch, 'w', "watch", "stay, and show what happens"),
    FLAG_SHORT(struct events_settings, output, 'o', "output", "FORM", "yaml, json, name, jsonpath=TEMPLATE"),
    FLAG_ON(struct events_settings, has_no_headers, "no-headers", "without the head of the table"),
    SESSION_FLAGS(struct events_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_events = {
    .name = "events",
    .usage = "events [--for TYPE/NAME]",
    .summary = "Show what happened",
    .flags = events_flags,
    .examples = "  berth events -A                  # in all namespaces\n"
                "  berth events --for pvc/data      # about one claim\n"
                "  berth events --types=Warning -w  # warnings, as they come\n",
    .run = events_run,
};
