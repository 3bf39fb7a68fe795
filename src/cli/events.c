/* `berth events`: prints events, the latest last. */
#include "cli/cli.h"

#include <stdio.h>
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
    struct json doc;
    VEC(json_ref) found;
    struct columns columns;
    char selector[1024]; /* "": all events */
    char version[64];
    bool has_head;
    int status;
};

/* --- Selection --- */

static int read_about(struct events *events, struct error *err)
{
    struct str name = str_of(events->settings.about), type = str_next(&name, '/');
    const struct kind_info *k = resource_type(type);
    int n;

    if (!name.s || name.len == 0 || type.len == 0)
        return error_set(err, ERR_INVALID, "--for must be in resource/name form");
    if (!k)
        return error_set(err, ERR_NOT_FOUND, "the server doesn't have a resource type \"%.*s\"",
                         STR_ARG(type));
    n = snprintf(events->selector, sizeof events->selector, "involvedObject.kind=%s,involvedObject.name=%.*s",
                 k->name, STR_ARG(name));
    if (n < 0 || (size_t)n >= sizeof events->selector)
        return error_set(err, ERR_INVALID, "--for: the name is too long");
    return 0;
}

static bool is_of_type(const struct events *events, json_ref event)
{
    struct str rest = str_of(events->settings.types ? events->settings.types : ""),
               type = json_get_text(&events->doc, event, "type");

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

static void add_line(struct events *events, json_ref event)
{
    _cleanup_(buf_done_p) struct buf age = BUF_INIT(256);
    const struct json *d = &events->doc;
    json_ref about = json_get(d, event, "involvedObject");

    if (events->settings.is_everywhere)
        columns_put(&events->columns, "%\t", json_get_text(d, json_get(d, event, "metadata"), "namespace"));
    event_list_write_age(d, event, timestamp_of_ns(clock_real_ns(events->session.clock)), &age);
    columns_put(&events->columns, "%\t%\t%\t%/%\t%\n", buf_str(&age), json_get_text(d, event, "type"),
                json_get_text(d, event, "reason"), json_get_text(d, about, "kind"),
                json_get_text(d, about, "name"), str_trim(json_get_text(d, event, "message")));
}

static void show_events(struct events *events, bool is_single)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;
    int r;

    if (print_is_table(&events->print)) {
        if (!events->settings.has_no_headers && !events->has_head)
            buf_addf(&events->columns.text, "%sLAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n",
                     events->settings.is_everywhere ? "NAMESPACE\t" : "");
        events->has_head = true;
        for (size_t i = 0; i < events->found.count; i++)
            add_line(events, events->found.items[i]);
        r = columns_flush(&events->columns, &out, &err);
    } else {
        r = print_objects(&events->print, &events->doc, events->found.items, events->found.count, is_single,
                          &out, &err);
    }
    if (r < 0)
        events->status = session_complain("%s", err.msg);
    else
        print_out(&out);
    (void)fflush(stdout); /* cli_main() checks for errors */
}

/* --- Requests --- */

static struct client_request events_request(const struct events *events, enum client_verb verb)
{
    return (struct client_request){
        .verb = verb,
        .kind = kind_info(KIND_EVENT),
        .ns = events->settings.is_everywhere ? NULL : events->session.ns,
        .field_selector = events->selector[0] ? events->selector : NULL,
    };
}

static void keep_event(struct events *events, json_ref event)
{
    json_set_string(&events->doc, event, "apiVersion", "v1");
    json_set_string(&events->doc, event, "kind", "Event");
    if (is_of_type(events, event) && vec_push(&events->found, event) < 0)
        events->status = session_complain("out of memory");
}

static void list_events(struct events *events)
{
    struct client_request q = events_request(events, CLIENT_LIST);
    json_ref answer;

    events->status = session_read(&events->session, &q, &events->doc, &answer);
    if (events->status != CLI_OK)
        return;
    (void)snprintf(
        events->version, sizeof events->version, "%.*s",
        STR_ARG(json_get_text(&events->doc, json_get(&events->doc, answer, "metadata"), "resourceVersion")));
    for (json_ref e = json_first(&events->doc, json_get(&events->doc, answer, "items")); e;
         e = json_next(&events->doc, e))
        keep_event(events, e);
    event_list_sort(&events->doc, events->found.items, events->found.count);
    if (events->found.count || (!events->settings.is_watch && !print_is_table(&events->print)))
        show_events(events, /* is_single= */ false);
    else if (!events->settings.is_watch && events->settings.is_everywhere)
        (void)fprintf(stderr, "No events found.\n");
    else if (!events->settings.is_watch)
        (void)fprintf(stderr, "No events found in %s namespace.\n", events->session.ns);
}

static bool on_event(void *ctx, const struct client_event *ev)
{
    struct events *events = ctx;
    struct error err;
    json_ref line, event;

    if (ev->type == CLIENT_ERROR || ev->type == CLIENT_UNREADABLE) {
        events->status = session_complain("watch interrupted: %s", ev->error->msg);
        return false;
    }
    (void)snprintf(events->version, sizeof events->version, "%s", ev->version);
    if (ev->type == CLIENT_BOOKMARK || ev->type == CLIENT_DELETED)
        return true; /* an expired event is not printed */
    json_clear(&events->doc);
    vec_clear(&events->found);
    if (json_parse(&events->doc, ev->text, &line, &err) < 0) {
        events->status = session_complain("%s", err.msg);
        return false;
    }
    event = json_get(&events->doc, line, "object");
    json_unlink(&events->doc, event);
    keep_event(events, event);
    if (events->found.count)
        show_events(events, /* is_single= */ true);
    return events->status == CLI_OK;
}

static void watch_events(struct events *events)
{
    struct client_request q = events_request(events, CLIENT_WATCH);

    q.timeout_seconds = WATCH_SECONDS;
    while (events->status == CLI_OK) {
        q.resource_version = events->version;
        if (session_watch(&events->session, &q, /* timeout_ns= */ 0, on_event, events) < 0)
            events->status = reply_complain(&events->session.reply, NULL, NULL);
    }
}

/* --- The verb --- */

static int events_open(struct events *events)
{
    const struct events_settings *s = &events->settings;
    struct error err;

    if (print_init(&events->print, s->output, &err) < 0 || (s->about && read_about(events, &err) < 0) ||
        session_open(&s->session, &events->session, &err) < 0)
        return session_complain("%s", err.msg);
    events->print.has_no_headers = s->has_no_headers;
    events->columns.paint = s->has_no_headers ? NULL : table_paint();
    return CLI_OK;
}

static int events_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct events x = { 0 };
    int status = flags_parse(verb, argc, argv, &x.settings, /* ret_args= */ NULL);

    if (status != CLI_OK)
        return status;
    json_init(&x.doc, SESSION_BYTES_MAX);
    columns_init_table(&x.columns);
    status = events_open(&x);
    if (status == CLI_OK) {
        list_events(&x);
        if (x.settings.is_watch)
            watch_events(&x);
        status = x.status;
    }
    columns_done(&x.columns);
    vec_done(&x.found);
    json_done(&x.doc);
    print_done(&x.print);
    session_close(&x.session);
    return status;
}

static const struct flag events_flags[] = {
    FLAG(struct events_settings, about, "for", "TYPE/NAME", "only events about this object"),
    FLAG(struct events_settings, types, "types", "TYPES", "only events of these types: Warning, Normal"),
    FLAG_SHORT_ON(struct events_settings, is_everywhere, 'A', "all-namespaces", "all namespaces"),
    FLAG_SHORT_ON(struct events_settings, is_watch, 'w', "watch", "keep watching for new events"),
    FLAG_SHORT(struct events_settings, output, 'o', "output", "FORM", "yaml, json, name, jsonpath=TEMPLATE"),
    FLAG_ON(struct events_settings, has_no_headers, "no-headers", "do not print column headers"),
    SESSION_FLAGS(struct events_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_events = {
    .name = "events",
    .usage = "events [--for TYPE/NAME]",
    .summary = "Show events",
    .flags = events_flags,
    .examples = "  berth events -A                  # in all namespaces\n  berth events --for pvc/data      "
                "# about one claim\n  berth events --types=Warning -w  # watch for warnings\n",
    .run = events_run,
};
