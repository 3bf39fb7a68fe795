/* `berth get`: prints objects as a table or in another form, and watches them with -w. */
#include "cli/cli.h"

#include <stdio.h>

#include "cli/print.h"
#include "cli/print_table.h"
#include "cli/sort.h"
#include "cli/targets.h"

/* Duration of one watch: the server then ends it, and the next one continues after the last event. */
#define WATCH_SECONDS 300

struct get_settings {
    struct target_settings targets;
    const char *output;
    const char *sort_by;
    struct flag_values label_columns;
    bool is_watch;
    bool is_watch_only;
    bool shows_events;
    bool has_no_headers;
    bool shows_labels;
    bool shows_kind;
    bool shows_managed_fields;
    bool ignores_not_found;
};

struct get {
    struct get_settings settings;
    struct targets targets; /* its document has all objects, or one page of a table */
    struct print print;
    VEC(json_ref) objects;
    struct table_printer table;
    bool has_table;
    bool needs_gap;   /* an empty line before the next table */
    size_t shown;     /* printed so far, in all tables */
    struct buf page;  /* token of the next page */
    char version[64]; /* the resourceVersion to watch from */
    int status;       /* enum cli_exit */
};

/* --- Requests --- */

/* The fields that are the same for all requests about one resource. */
static struct client_request get_request(const struct get *g, const struct cli_resource *what)
{
    bool is_everywhere = g->settings.targets.is_everywhere || !what->kind->is_namespaced;

    return (struct client_request){
        .verb = what->name ? CLIENT_GET : CLIENT_LIST,
        .kind = what->kind,
        .ns = is_everywhere ? NULL
              : what->ns    ? what->ns
                            : g->targets.session.ns,
        .name = what->name,
        .label_selector = what->name ? NULL : g->settings.targets.labels,
        .field_selector = what->name ? NULL : g->settings.targets.fields,
    };
}

/* Quotes an invalid selector. */
static void quote_selectors(const struct client_request *q, struct reply *a)
{
    struct buf text = BUF_INIT(SESSION_BYTES_MAX);

    buf_addf(&text,
             "Unable to find \"%s/%s, Resource=%s\" that match label selector \"%s\", field selector "
             "\"%s\": %s",
             q->kind->group, q->kind->version, q->kind->plural, q->label_selector ? q->label_selector : "",
             q->field_selector ? q->field_selector : "", buf_cstr(&a->text));
    buf_done(&a->text);
    a->text = text;
}

/* False when there is no response to show; the error was printed. */
static bool request_objects(struct get *g, const struct client_request *q, json_ref *ret)
{
    if (session_ask(&g->targets.session, q) == -ERR_NOT_FOUND && g->settings.ignores_not_found)
        return false;
    if (q->verb == CLIENT_LIST && g->targets.session.reply.r == -ERR_BAD_REQUEST &&
        (q->label_selector || q->field_selector))
        quote_selectors(q, &g->targets.session.reply);
    if (reply_parse(&g->targets.session.reply, &g->targets.doc, ret) == CLI_OK)
        return true;
    g->status = CLI_FAILED;
    return false;
}

/* --- Tables --- */

static struct table_settings table_settings(const struct get *g, const struct kind_info *k)
{
    return (struct table_settings){
        .is_wide = g->print.form == PRINT_WIDE,
        .has_no_headers = g->settings.has_no_headers,
        .shows_namespace = g->settings.targets.is_everywhere && k->is_namespaced,
        .shows_kind = g->targets.resources.has_several_types || g->settings.shows_kind,
        .shows_labels = g->settings.shows_labels,
        .shows_events = g->settings.shows_events,
        .label_columns = g->settings.label_columns.items,
        .label_columns_count = g->settings.label_columns.count,
    };
}

static void finish_table(struct get *g)
{
    struct error err;

    if (!g->has_table)
        return;
    if (table_printer_flush(&g->table, &err) < 0)
        g->status = session_complain("%s", err.msg);
    table_printer_done(&g->table);
    g->has_table = false;
}

/* Rows of another kind get a separate table. */
static void get_open_table(struct get *g, const struct kind_info *k)
{
    struct table_settings how = table_settings(g, k);

    if (g->has_table && g->table.kind == k)
        return;
    if (g->has_table && g->table.rows)
        g->needs_gap = true;
    finish_table(g);
    table_printer_init(&g->table, k, &how);
    g->has_table = true;
}

static void add_rows(struct get *g, json_ref table)
{
    struct error err;

    if (g->needs_gap && json_first(&g->targets.doc, json_get(&g->targets.doc, table, "rows"))) {
        printf("\n");
        g->needs_gap = false;
    }
    if (g->settings.sort_by && sort_rows(&g->targets.doc, table, g->settings.sort_by, &err) < 0) {
        g->status = session_complain("%s", err.msg);
        return;
    }
    if (table_printer_begin(&g->table, &g->targets.doc, table, &err) < 0) {
        g->status = session_complain("%s", err.msg);
        return;
    }
    for (json_ref row = json_first(&g->targets.doc, json_get(&g->targets.doc, table, "rows")); row;
         row = json_next(&g->targets.doc, row)) {
        table_printer_add(&g->table, &g->targets.doc, row, "ADDED");
        g->shown++;
    }
}

static void keep_version(struct get *g, json_ref answer)
{
    struct str version =
        json_get_text(&g->targets.doc, json_get(&g->targets.doc, answer, "metadata"), "resourceVersion");

    (void)snprintf(g->version, sizeof g->version, "%.*s", STR_ARG(version));
}

static bool keep_continue(struct get *g, json_ref answer, struct client_request *q)
{
    struct str token =
        json_get_text(&g->targets.doc, json_get(&g->targets.doc, answer, "metadata"), "continue");

    buf_clear(&g->page);
    buf_add_str(&g->page, token);
    q->continue_token = buf_cstr(&g->page);
    return token.len > 0 && !g->page.failed;
}

static void get_table(struct get *g, const struct cli_resource *what)
{
    struct client_request q = get_request(g, what);
    json_ref answer;

    q.accept = ACCEPT_TABLE;
    q.limit = q.verb == CLIENT_LIST && !g->settings.sort_by ? SESSION_PAGE : 0;
    q.include_object = g->settings.sort_by ? "Object" : NULL;
    get_open_table(g, what->kind);
    do {
        json_clear(&g->targets.doc);
        if (!request_objects(g, &q, &answer))
            return;
        keep_version(g, answer);
        if (!g->settings.is_watch_only)
            add_rows(g, answer);
    } while (keep_continue(g, answer, &q));
}

/* --- Objects --- */

static bool keep_object(struct get *g, const struct kind_info *k, json_ref object)
{
    _cleanup_(buf_done_p) struct buf version = BUF_INIT(256);

    if (json_get_text(&g->targets.doc, object, "kind").len == 0) { /* the items of a list may lack it */
        kind_api_version(k, &version);
        json_set_string(&g->targets.doc, object, "apiVersion", buf_cstr(&version));
        json_set_string(&g->targets.doc, object, "kind", k->name);
    }
    return vec_push(&g->objects, object) == 0;
}

/* Removes items from the front of their list, which is cheap. */
static bool keep_items(struct get *g, const struct kind_info *k, json_ref items)
{
    for (json_ref o = json_first(&g->targets.doc, items); o; o = json_first(&g->targets.doc, items)) {
        json_unlink(&g->targets.doc, o);
        if (!keep_object(g, k, o))
            return false;
    }
    return true;
}

static void get_objects(struct get *g, const struct cli_resource *what)
{
    struct client_request q = get_request(g, what);
    bool is_kept = true;
    json_ref answer;

    q.limit = q.verb == CLIENT_LIST ? SESSION_PAGE : 0;
    do {
        if (!request_objects(g, &q, &answer))
            return;
        keep_version(g, answer);
        if (what->name)
            is_kept = keep_object(g, what->kind, answer);
        else
            is_kept = keep_items(g, what->kind, json_get(&g->targets.doc, answer, "items"));
        if (!is_kept)
            g->status = session_complain("out of memory");
    } while (is_kept && keep_continue(g, answer, &q));
}

static int get_print_objects(struct get *g, bool is_single)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;

    if (print_objects(&g->print, &g->targets.doc, g->objects.items, g->objects.count, is_single, &out, &err) <
        0)
        return session_complain("%s", err.msg);
    print_out(&out);
    return CLI_OK;
}

static void show_objects(struct get *g)
{
    bool is_single = g->targets.resources.count == 1 && g->targets.resources.has_names;
    struct error err;

    if (g->settings.is_watch_only || (is_single && g->objects.count == 0))
        return;
    if (g->settings.sort_by &&
        sort_objects(&g->targets.doc, g->objects.items, g->objects.count, g->settings.sort_by, &err) < 0)
        g->status = session_complain("%s", err.msg);
    else if (get_print_objects(g, is_single) != CLI_OK)
        g->status = CLI_FAILED;
}

/* --- Watching --- */

static const char *const type_names[] = {
    [CLIENT_ADDED] = "ADDED",
    [CLIENT_MODIFIED] = "MODIFIED",
    [CLIENT_DELETED] = "DELETED",
};

static void show_row(struct get *g, json_ref table, const char *type)
{
    struct error err;
    int r = table_printer_begin(&g->table, &g->targets.doc, table, &err);

    for (json_ref row = json_first(&g->targets.doc, json_get(&g->targets.doc, table, "rows")); row && r == 0;
         row = json_next(&g->targets.doc, row))
        table_printer_add(&g->table, &g->targets.doc, row, type);
    if (r == 0)
        r = table_printer_flush(&g->table, &err);
    if (r < 0)
        g->status = session_complain("%s", err.msg);
}

static void show_object(struct get *g, json_ref object)
{
    json_unlink(&g->targets.doc, object);
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
        g->status = session_complain("watch interrupted: %s", ev->error->msg);
        return false;
    }
    (void)snprintf(g->version, sizeof g->version, "%s", ev->version);
    json_clear(&g->targets.doc);
    if (ev->type == CLIENT_BOOKMARK)
        return true;
    if (json_parse(&g->targets.doc, ev->text, &line, &err) < 0)
        g->status = session_complain("%s", err.msg);
    else if (print_is_table(&g->print))
        show_row(g, json_get(&g->targets.doc, line, "object"), type_names[ev->type]);
    else
        show_object(g, json_get(&g->targets.doc, line, "object"));
    (void)fflush(stdout); /* cli_main() checks for errors */
    return g->status == CLI_OK;
}

static void get_watch(struct get *g)
{
    const struct cli_resource *what = &g->targets.resources.items[0];
    const char *ns = what->ns ? what->ns : g->targets.session.ns;
    char one[512];
    struct client_request q = {
        .verb = CLIENT_WATCH,
        .kind = what->kind,
        .ns = g->settings.targets.is_everywhere || !what->kind->is_namespaced ? NULL : ns,
        .label_selector = g->settings.targets.labels,
        .field_selector = g->settings.targets.fields,
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
        if (session_watch(&g->targets.session, &q, /* timeout_ns= */ 0, on_event, g) < 0)
            g->status = reply_complain(&g->targets.session.reply, NULL, NULL);
    }
}

/* --- The verb --- */

static void get_all(struct get *g)
{
    bool is_everywhere = g->settings.targets.is_everywhere;

    for (size_t i = 0; i < g->targets.resources.count; i++) {
        is_everywhere |= !g->targets.resources.items[i].kind->is_namespaced;
        if (print_is_table(&g->print))
            get_table(g, &g->targets.resources.items[i]);
        else
            get_objects(g, &g->targets.resources.items[i]);
    }
    if (!print_is_table(&g->print)) {
        show_objects(g);
        return;
    }
    if (!g->settings.is_watch_only && !g->settings.is_watch)
        finish_table(g);
    else if (g->has_table && table_printer_flush(&g->table, &(struct error){ 0 }) < 0)
        g->status = CLI_FAILED;
    if (g->shown == 0 && g->status == CLI_OK && !g->settings.ignores_not_found && !g->settings.is_watch &&
        !g->settings.is_watch_only)
        session_say_nothing_found(&g->targets.session, is_everywhere);
}

/* Names from manifests, borrowed from them. */
static int read_manifest_names(struct get *g, struct error *err)
{
    int r = manifests_check_kinds(&g->targets.manifests, err);

    if (r < 0)
        return r;
    for (size_t i = 0; i < g->targets.manifests.items.count; i++) {
        const struct manifest *m = &g->targets.manifests.items.items[i];

        if (g->targets.resources.count == RESOURCES_MAX)
            return error_set(err, ERR_TOO_LARGE, "more than %d resources given", RESOURCES_MAX);
        if (i && g->targets.resources.items[0].kind != m->kind)
            g->targets.resources.has_several_types = true;
        g->targets.resources.items[g->targets.resources.count++] =
            (struct cli_resource){ m->kind, m->name, m->ns };
    }
    g->targets.resources.has_names |= g->targets.manifests.items.count > 0;
    return 0;
}

static int check_combination(const struct get *g)
{
    bool watches = g->settings.is_watch || g->settings.is_watch_only;

    if (g->targets.resources.count == 0)
        return cli_fail_usage("get: no resource type given: see 'berth help get'");
    if (g->targets.resources.has_pairs && (g->settings.targets.labels || g->settings.targets.fields))
        return session_complain(
            "selectors and the all flag cannot be used when passing resource/name arguments");
    if (g->targets.resources.has_names && (g->settings.targets.labels || g->settings.targets.fields))
        return session_complain("name cannot be provided when a selector is specified");
    if (g->targets.resources.has_names && g->settings.targets.is_everywhere)
        return session_complain("a resource cannot be retrieved by name across all namespaces");
    if (watches && g->targets.resources.count > 1)
        return session_complain("you may only specify a single resource type");
    return CLI_OK;
}

/* `-L a,b` means two columns. */
static int split_label_columns(struct get *g)
{
    const struct flag_values given = g->settings.label_columns;
    struct flag_values *to = &g->settings.label_columns;

    to->count = 0;
    for (size_t i = 0; i < given.count; i++) {
        struct str rest = str_of(given.items[i]);

        while (rest.s) {
            const char *label = arena_dup(&g->targets.arena, str_next(&rest, ','));

            if (!label || to->count == FLAG_VALUES_MAX)
                return session_complain("more than %d label columns", FLAG_VALUES_MAX);
            to->items[to->count++] = label;
        }
    }
    return CLI_OK;
}

static int get_open(struct get *g, int args, char **argv)
{
    const struct get_settings *settings = &g->settings;
    struct error err;

    if (print_init(&g->print, settings->output, &err) < 0)
        return session_complain("%s", err.msg);
    g->print.keeps_managed_fields = settings->shows_managed_fields;
    g->print.has_no_headers = settings->has_no_headers;
    if (targets_open(&g->targets, args, argv + 1, &err) < 0 || read_manifest_names(g, &err) < 0)
        return session_complain("%s", err.msg);
    if (split_label_columns(g) != CLI_OK)
        return CLI_FAILED;
    return check_combination(g);
}

static void get_close(struct get *g)
{
    if (g->has_table)
        table_printer_done(&g->table);
    vec_done(&g->objects);
    buf_done(&g->page);
    print_done(&g->print);
    targets_done(&g->targets);
}

static int get_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct get g = { .page = BUF_INIT(64 << 10) };
    int args = 0, status = flags_parse(verb, argc, argv, &g.settings, &args);

    if (status != CLI_OK)
        return status;
    targets_init(&g.targets, &g.settings.targets);
    status = get_open(&g, args, argv);
    if (status == CLI_OK) {
        get_all(&g);
        if (g.status == CLI_OK && (g.settings.is_watch || g.settings.is_watch_only))
            get_watch(&g);
        status = g.status;
    }
    get_close(&g);
    return status;
}

static const struct flag get_flags[] = {
    FLAG_SHORT(struct get_settings, output, 'o', "output", "FORM",
               "table, wide, yaml, json, name, jsonpath=TEMPLATE or custom-columns=HEAD:PATH,..."),
    SESSION_FLAGS(struct get_settings, targets.session),
    FLAG_SHORT_ON(struct get_settings, targets.is_everywhere, 'A', "all-namespaces", "all namespaces"),
    FLAG_SHORT(struct get_settings, targets.labels, 'l', "selector", "SELECTOR",
               "only objects with these labels"),
    FLAG(struct get_settings, targets.fields, "field-selector", "SELECTOR", "only objects with these fields"),
    MANIFEST_FLAGS(struct get_settings, targets.manifests),
    FLAG_SHORT_ON(struct get_settings, is_watch, 'w', "watch", "print the objects, then watch for changes"),
    FLAG_ON(struct get_settings, is_watch_only, "watch-only",
            "watch for changes without printing the objects first"),
    FLAG_ON(struct get_settings, shows_events, "output-watch-events", "print the type of each change"),
    FLAG(struct get_settings, sort_by, "sort-by", "PATH", "sort by this field"),
    FLAG_ON(struct get_settings, has_no_headers, "no-headers", "do not print column headers"),
    FLAG_ON(struct get_settings, shows_labels, "show-labels", "print labels in a column"),
    FLAG_ON(struct get_settings, shows_kind, "show-kind", "print the kind before each name"),
    FLAG_MANY(struct get_settings, label_columns, 'L', "label-columns", "LABEL",
              "print this label in a column"),
    FLAG_ON(struct get_settings, shows_managed_fields, "show-managed-fields",
            "include metadata.managedFields"),
    FLAG_ON(struct get_settings, ignores_not_found, "ignore-not-found", "exit 0 if an object does not exist"),
    { 0 },
};

const struct cli_verb cli_verb_get = {
    .name = "get",
    .usage = "get TYPE[,TYPE...] [NAME...] | TYPE/NAME... | -f FILE",
    .summary = "Show objects",
    .flags = get_flags,
    .about = "TYPE is the singular, plural or short name of a kind: pv, pvc, sc (storage classes), po, no, "
             "ns, ev (events), cm, sa, secrets, leases, volumeattachments, csinodes, csidrivers, "
             "csistoragecapacities, vac, vs, vsc, vsclass.",
    .examples = "  berth get pv,pvc -A         # volumes and claims in all namespaces\n  berth get pvc data "
                "-o yaml  # one claim, as stored\n  berth get pv -w             # volumes, and their "
                "changes\n  berth get pv --sort-by=.spec.capacity.storage\n  berth get pvc -o "
                "jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'\n  berth get pv -o "
                "custom-columns=NAME:.metadata.name,CLAIM:.spec.claimRef.name\n",
    .args = "TYPE",
    .run = get_run,
};
