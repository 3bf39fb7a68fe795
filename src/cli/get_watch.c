/* `berth get -w`: a line, or a document, for each event. */
#include "cli/get.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* How long one watch may last: the server ends it then, and the next goes on from the last event. */
#define WATCH_SECONDS 300

static const char *const type_names[] = {
    [CLIENT_ADDED] = "ADDED",
    [CLIENT_MODIFIED] = "MODIFIED",
    [CLIENT_DELETED] = "DELETED",
};

static void show_row(struct get *g, json_ref table, const char *type)
{
    struct error err;
    int r = table_printer_begin(&g->table, &g->doc, table, &err);

    for (json_ref row = json_first(&g->doc, json_get(&g->doc, table, "rows")); row && r == 0;
         row = json_next(&g->doc, row))
        table_printer_add(&g->table, &g->doc, row, type);
    if (r == 0)
        r = table_printer_flush(&g->table, &err);
    if (r < 0)
        g->status = session_complain("%s", err.msg);
}

static void show_object(struct get *g, json_ref object)
{
    json_unlink(&g->doc, object);
    vec_clear(&g->objects);
    if (vec_push(&g->objects, object) < 0) {
        g->status = session_complain("out of memory");
        return;
    }
    if (g->print.form == PRINT_YAML && g->shown++)
        printf("---\n");
    if (get_print_objects(g, /* is_single= */ true) != CLI_OK)
        g->status = CLI_FAILED;
    g->print.has_no_headers = true;
}

static bool on_event(void *ctx, const struct client_event *ev)
{
    struct get *g = ctx;
    struct error err;
    json_ref line;

    if (ev->type == CLIENT_ERROR || ev->type == CLIENT_UNREADABLE) {
        g->status = session_complain("the watch broke off: %s", ev->error->msg);
        return false;
    }
    (void)snprintf(g->version, sizeof g->version, "%s", ev->version);
    json_clear(&g->doc);
    if (ev->type == CLIENT_BOOKMARK)
        return true;
    if (json_parse(&g->doc, ev->text, &line, &err) < 0)
        g->status = session_complain("%s", err.msg);
    else if (print_is_table(&g->print))
        show_row(g, json_get(&g->doc, line, "object"), type_names[ev->type]);
    else
        show_object(g, json_get(&g->doc, line, "object"));
    (void)fflush(stdout); /* cli_main() asks whether it came through */
    return g->status == CLI_OK;
}

void get_watch(struct get *g)
{
    const struct resource *what = &g->resources.items[0];
    const char *ns = what->ns ? what->ns : g->session.ns;
    char one[512];
    struct client_request q = {
        .verb = CLIENT_WATCH,
        .kind = what->kind,
        .ns = g->settings.is_everywhere || !what->kind->is_namespaced ? NULL : ns,
        .label_selector = g->settings.labels,
        .field_selector = g->settings.fields,
        .timeout_seconds = WATCH_SECONDS,
        .accept = print_is_table(&g->print) ? ACCEPT_TABLE : ACCEPT_OBJECT,
    };

    if (what->name) {
        (void)snprintf(one, sizeof one, "metadata.name=%s", what->name);
        q.field_selector = one;
    }
    (void)fflush(stdout);
    g->print.has_no_headers = g->print.has_no_headers || g->objects.count > 0;
    g->shown = g->objects.count;
    while (g->status == CLI_OK) {
        q.resource_version = g->version;
        if (session_watch(&g->session, &q, /* timeout_ns= */ 0, on_event, g, &g->reply) < 0)
            g->status = reply_complain(&g->reply, NULL, NULL);
    }
}
