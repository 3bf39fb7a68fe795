/* `berth get`: objects in a table or any other form, and what becomes of them with -w. */
#include "cli/get.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* --- Asking --- */

/* The rest is the same for all that is asked of one resource. */
static struct client_request get_request(const struct get *g, const struct resource *what)
{
    bool is_everywhere = g->settings.is_everywhere || !what->kind->is_namespaced;

    return (struct client_request){
        .verb = what->name ? CLIENT_GET : CLIENT_LIST,
        .kind = what->kind,
        .ns = is_everywhere ? NULL
              : what->ns    ? what->ns
                            : g->session.ns,
        .name = what->name,
        .label_selector = what->name ? NULL : g->settings.labels,
        .field_selector = what->name ? NULL : g->settings.fields,
    };
}

bool get_parse(struct get *g, json_ref *ret)
{
    struct error err;

    if (json_parse(&g->doc, buf_str(&g->reply.text), ret, &err) == 0)
        return true;
    (void)session_complain("the server's answer cannot be read: %s", err.msg);
    g->status = CLI_FAILED;
    return false;
}

/* A selector that is not understood is quoted. */
static void say_what_was_asked(const struct client_request *q, struct reply *a)
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

/* False when there is no answer to show; what went wrong is told. */
static bool ask(struct get *g, const struct client_request *q, json_ref *ret)
{
    if (session_ask(&g->session, q, &g->reply) == 0)
        return get_parse(g, ret);
    if (g->reply.r == -ERR_NOT_FOUND && g->settings.ignores_not_found)
        return false;
    if (q->verb == CLIENT_LIST && g->reply.r == -ERR_BAD_REQUEST && (q->label_selector || q->field_selector))
        say_what_was_asked(q, &g->reply);
    g->status = reply_complain(&g->reply, NULL, NULL);
    return false;
}

/* --- Tables --- */

static struct table_settings table_settings(const struct get *g, const struct kind_info *k)
{
    return (struct table_settings){
        .is_wide = g->print.form == PRINT_WIDE,
        .has_no_headers = g->settings.has_no_headers,
        .shows_namespace = g->settings.is_everywhere && k->is_namespaced,
        .shows_kind = g->resources.has_several_types || g->settings.shows_kind,
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

/* Rows of another kind stand in a table of their own. */
void get_open_table(struct get *g, const struct kind_info *k)
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

    if (g->needs_gap && json_first(&g->doc, json_get(&g->doc, table, "rows"))) {
        printf("\n");
        g->needs_gap = false;
    }
    if (g->settings.sort_by && sort_rows(&g->doc, table, g->settings.sort_by, &err) < 0) {
        g->status = session_complain("%s", err.msg);
        return;
    }
    if (table_printer_begin(&g->table, &g->doc, table, &err) < 0) {
        g->status = session_complain("%s", err.msg);
        return;
    }
    for (json_ref row = json_first(&g->doc, json_get(&g->doc, table, "rows")); row;
         row = json_next(&g->doc, row)) {
        table_printer_add(&g->table, &g->doc, row, "ADDED");
        g->shown++;
    }
}

static void keep_version(struct get *g, json_ref answer)
{
    struct str version = json_get_text(&g->doc, json_get(&g->doc, answer, "metadata"), "resourceVersion");

    (void)snprintf(g->version, sizeof g->version, "%.*s", STR_ARG(version));
}

static bool keep_continue(struct get *g, json_ref answer, struct client_request *q)
{
    struct str token = json_get_text(&g->doc, json_get(&g->doc, answer, "metadata"), "continue");

    buf_clear(&g->page);
    buf_add_str(&g->page, token);
    q->continue_token = buf_cstr(&g->page);
    return token.len > 0 && !g->page.failed;
}

static void get_table(struct get *g, const struct resource *what)
{
    struct client_request q = get_request(g, what);
    json_ref answer;

    q.accept = ACCEPT_TABLE;
    q.limit = q.verb == CLIENT_LIST && !g->settings.sort_by ? SESSION_PAGE : 0;
    q.include_object = g->settings.sort_by ? "Object" : NULL;
    get_open_table(g, what->kind);
    do {
        json_clear(&g->doc);
        if (!ask(g, &q, &answer))
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

    if (json_get_text(&g->doc, object, "kind").len == 0) { /* the items of a list do not always say it */
        kind_api_version(k, &version);
        json_set_string(&g->doc, object, "apiVersion", buf_cstr(&version));
        json_set_string(&g->doc, object, "kind", k->name);
    }
    return vec_push(&g->objects, object) == 0;
}

/* Out of their list, from its front, where that costs nothing. */
static bool keep_items(struct get *g, const struct kind_info *k, json_ref items)
{
    for (json_ref o = json_first(&g->doc, items); o; o = json_first(&g->doc, items)) {
        json_unlink(&g->doc, o);
        if (!keep_object(g, k, o))
            return false;
    }
    return true;
}

static void get_objects(struct get *g, const struct resource *what)
{
    struct client_request q = get_request(g, what);
    bool is_kept = true;
    json_ref answer;

    q.limit = q.verb == CLIENT_LIST ? SESSION_PAGE : 0;
    do {
        if (!ask(g, &q, &answer))
            return;
        keep_version(g, answer);
        if (what->name)
            is_kept = keep_object(g, what->kind, answer);
        else
            is_kept = keep_items(g, what->kind, json_get(&g->doc, answer, "items"));
        if (!is_kept)
            g->status = session_complain("out of memory");
    } while (is_kept && keep_continue(g, answer, &q));
}

int get_print_objects(struct get *g, bool is_single)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;

    if (print_objects(&g->print, &g->doc, g->objects.items, g->objects.count, is_single, &out, &err) < 0)
        return session_complain("%s", err.msg);
    print_out(&out);
    return CLI_OK;
}

static void show_objects(struct get *g)
{
    bool is_single = g->resources.count == 1 && g->resources.has_names;
    struct error err;

    if (g->settings.is_watch_only || (is_single && g->objects.count == 0))
        return;
    if (g->settings.sort_by &&
        sort_objects(&g->doc, g->objects.items, g->objects.count, g->settings.sort_by, &err) < 0)
        g->status = session_complain("%s", err.msg);
    else if (get_print_objects(g, is_single) != CLI_OK)
        g->status = CLI_FAILED;
}

/* --- All of it --- */

static void say_nothing_found(const struct get *g)
{
    bool is_in_namespace = !g->settings.is_everywhere;

    for (size_t i = 0; i < g->resources.count; i++)
        is_in_namespace = is_in_namespace && g->resources.items[i].kind->is_namespaced;
    if (is_in_namespace)
        (void)fprintf(stderr, "No resources found in %s namespace.\n", g->session.ns);
    else
        (void)fprintf(stderr, "No resources found\n");
}

static void get_all(struct get *g)
{
    for (size_t i = 0; i < g->resources.count; i++)
        if (print_is_table(&g->print))
            get_table(g, &g->resources.items[i]);
        else
            get_objects(g, &g->resources.items[i]);
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
        say_nothing_found(g);
}

/* Names that stand in files. Borrowed from them. */
static int read_manifest_names(struct get *g, struct error *err)
{
    int r = manifests_read(&g->settings.manifests, &g->session, &g->manifests, err);

    if (r == 0)
        r = manifests_check_kinds(&g->manifests, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < g->manifests.items.count; i++) {
        const struct manifest *m = &g->manifests.items.items[i];

        if (g->resources.count == RESOURCES_MAX)
            return error_set(err, ERR_TOO_LARGE, "more than %d resources are named", RESOURCES_MAX);
        if (i && g->resources.items[0].kind != m->kind)
            g->resources.has_several_types = true;
        g->resources.items[g->resources.count++] = (struct resource){ m->kind, m->name, m->ns };
    }
    g->resources.has_names = true;
    return 0;
}

static int check_combination(const struct get *g)
{
    bool watches = g->settings.is_watch || g->settings.is_watch_only;

    if (g->resources.count == 0)
        return cli_fail_usage("get: no type of resource given: see 'berth help get'");
    if (g->resources.has_pairs && (g->settings.labels || g->settings.fields))
        return session_complain(
            "selectors and the all flag cannot be used when passing resource/name arguments");
    if (g->resources.has_names && (g->settings.labels || g->settings.fields))
        return session_complain("name cannot be provided when a selector is specified");
    if (g->resources.has_names && g->settings.is_everywhere)
        return session_complain("a resource cannot be retrieved by name across all namespaces");
    if (watches && g->resources.count > 1)
        return session_complain("you may only specify a single resource type");
    return CLI_OK;
}

/* `-L a,b` is two columns. */
static int split_label_columns(struct get *g)
{
    const struct flag_values given = g->settings.label_columns;
    struct flag_values *to = &g->settings.label_columns;

    to->count = 0;
    for (size_t i = 0; i < given.count; i++) {
        struct str rest = str_of(given.items[i]);

        while (rest.s) {
            const char *label = arena_dup(&g->texts, str_next(&rest, ','));

            if (!label || to->count == FLAG_VALUES_MAX)
                return session_complain("more than %d columns of labels", FLAG_VALUES_MAX);
            to->items[to->count++] = label;
        }
    }
    return CLI_OK;
}

static int get_open(struct get *g, int args, char **argv)
{
    const struct get_settings *x = &g->settings;
    struct error err;

    if (print_init(&g->print, x->output, &err) < 0)
        return session_complain("%s", err.msg);
    g->print.keeps_managed_fields = x->shows_managed_fields;
    g->print.has_no_headers = x->has_no_headers;
    if (session_open(&x->session, &g->session, &err) < 0 ||
        resources_read(args, argv + 1, &g->resources, &err) < 0 ||
        (x->manifests.files.count && read_manifest_names(g, &err) < 0))
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
    arena_done(&g->texts);
    buf_done(&g->page);
    reply_done(&g->reply);
    json_done(&g->doc);
    manifests_done(&g->manifests);
    print_done(&g->print);
    session_close(&g->session);
}

static int get_run(int argc, char **argv)
{
    struct get g = { .page = BUF_INIT(64 << 10), .texts = ARENA_INIT(1 << 20) };
    int args = 0, status = flags_parse(&cli_verb_get, argc, argv, &g.settings, &args);

    if (status != CLI_OK)
        return status;
    json_init(&g.doc, SESSION_BYTES_MAX);
    json_init(&g.manifests.doc, SESSION_BYTES_MAX);
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
    SESSION_FLAGS(struct get_settings, session),
    FLAG_SHORT_ON(struct get_settings, is_everywhere, 'A', "all-namespaces", "of every namespace"),
    FLAG_SHORT(struct get_settings, labels, 'l', "selector", "SELECTOR", "only those with these labels"),
    FLAG(struct get_settings, fields, "field-selector", "SELECTOR", "only those with these fields"),
    MANIFEST_FLAGS(struct get_settings, manifests),
    FLAG_SHORT_ON(struct get_settings, is_watch, 'w', "watch", "stay, and show what changes"),
    FLAG_ON(struct get_settings, is_watch_only, "watch-only", "show only what changes from now on"),
    FLAG_ON(struct get_settings, shows_events, "output-watch-events", "say what happened to each"),
    FLAG(struct get_settings, sort_by, "sort-by", "PATH", "in the order of this field"),
    FLAG_ON(struct get_settings, has_no_headers, "no-headers", "without the head of the table"),
    FLAG_ON(struct get_settings, shows_labels, "show-labels", "with a column of labels"),
    FLAG_ON(struct get_settings, shows_kind, "show-kind", "with the kind before each name"),
    FLAG_MANY(struct get_settings, label_columns, 'L', "label-columns", "LABEL", "a column for this label"),
    FLAG_ON(struct get_settings, shows_managed_fields, "show-managed-fields", "with metadata.managedFields"),
    FLAG_ON(struct get_settings, ignores_not_found, "ignore-not-found", "what is not there is no failure"),
    { 0 },
};

const struct cli_verb cli_verb_get = {
    .name = "get",
    .usage = "get TYPE[,TYPE...] [NAME...] | TYPE/NAME... | -f FILE",
    .summary = "Show objects",
    .flags = get_flags,
    .about = "TYPE is the name of a kind, in the singular or plural, or its short name: pv, pvc, sc (storage "
             "classes), po, "
             "no, ns, ev (events), cm, sa, secrets, leases, volumeattachments, csinodes, csidrivers, "
             "csistoragecapacities, vac, vs, vsc, vsclass.",
    .examples = "  berth get pv,pvc -A         # volumes and claims, of all namespaces\n"
                "  berth get pvc data -o yaml  # one claim, as it is stored\n"
                "  berth get pv -w             # volumes, and what becomes of them\n"
                "  berth get pv --sort-by=.spec.capacity.storage\n"
                "  berth get pvc -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'\n"
                "  berth get pv -o custom-columns=NAME:.metadata.name,CLAIM:.spec.claimRef.name\n",
    .args = "TYPE",
    .run = get_run,
};
