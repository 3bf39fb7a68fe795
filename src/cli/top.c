/* `berth top`: prints the usage of volumes and claims (why/top.h). */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/columns.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/print_table.h"
#include "io/env.h"
#include "why/top.h"

#define BAR_WIDTH 10

struct top_settings {
    struct session_settings session;
    const char *sort_by;
    const char *output;
    bool is_everywhere;
    bool shows_all;
    bool has_no_headers;
};

struct top_verb {
    struct top_settings settings;
    struct session session;
    struct inventory inventory;
    struct top_table table;
    bool is_json;
    bool is_wide; /* with inodes */
    bool has_bars;
};

/* --- The table --- */

/* A tab between cells; none after the last, which is not padded. */
static void begin_cell(struct columns *c)
{
    if (c->text.len && c->text.data[c->text.len - 1] != '\n')
        buf_add_char(&c->text, '\t');
}

static void add_cell(struct columns *c, const char *text)
{
    begin_cell(c);
    columns_add_cell(c, str_of(text[0] ? text : "-"));
}

static void add_bytes(struct columns *c, int64_t bytes)
{
    begin_cell(c);
    usage_write_bytes(bytes, &c->text);
}

static void add_number(struct columns *c, int64_t n, const char *unit)
{
    begin_cell(c);
    if (n < 0)
        buf_add_char(&c->text, '-');
    else
        buf_addf(&c->text, "%" PRId64 "%s", n, unit);
}

static void add_bar(struct columns *c, int64_t used, int64_t whole)
{
    int64_t percent = usage_percent(used, whole);
    bool is_utf8 = io_is_utf8();

    begin_cell(c);
    for (int i = 0; i < BAR_WIDTH && percent >= 0; i++) {
        bool is_full = percent > (int64_t)i * 100 / BAR_WIDTH;

        if (is_utf8)
            buf_add_cstr(&c->text, is_full ? "█" : "░");
        else
            buf_add_char(&c->text, is_full ? '#' : '.');
    }
}

static void add_usage(const struct top_verb *top, const struct volume_usage *u, struct columns *c)
{
    add_bytes(c, u->used);
    add_bytes(c, u->capacity);
    add_number(c, usage_percent(u->used, u->capacity), "%");
    if (top->has_bars)
        add_bar(c, u->used, u->capacity);
    if (!top->is_wide)
        return;
    add_number(c, u->inodes_used, "");
    add_number(c, u->inodes, "");
    add_number(c, usage_percent(u->inodes_used, u->inodes), "%");
}

static void show_volume(const struct top_verb *top, const struct top_line *l, struct columns *c)
{
    const struct volume_usage *u = l->usage;

    if (top->settings.is_everywhere)
        add_cell(c, u->ns);
    add_cell(c, u->pod);
    add_cell(c, u->volume);
    add_cell(c, u->plugin);
    add_cell(c, u->node);
    add_usage(top, u, c);
    buf_add_char(&c->text, '\n');
}

static void show_claim(const struct top_verb *top, const struct top_line *l, struct columns *c)
{
    const struct volume_usage *u = l->usage;

    if (top->settings.is_everywhere)
        add_cell(c, l->claim->obj.ns);
    add_cell(c, l->claim->obj.name);
    add_cell(c, l->claim->volume_name);
    begin_cell(c);
    if (l->claim->has_request)
        quantity_format(&l->claim->request, &c->text);
    else
        buf_add_char(&c->text, '-');
    add_usage(top, u, c);
    add_cell(c, u->pod);
    if (l->users > 1)
        buf_addf(&c->text, " (+%zu)", l->users - 1);
    buf_add_char(&c->text, '\n');
}

static void add_head(const struct top_verb *top, struct columns *c)
{
    static const char *const of_claims[] = { "NAME", "VOLUME", "ASKED", "USED", "SIZE", "USE%", NULL },
                             *const of_volumes[] = { "POD",  "VOLUME",   "PLUGIN", "NODE",
                                                     "USED", "CAPACITY", "USE%",   NULL };

    if (top->settings.is_everywhere)
        add_cell(c, "NAMESPACE");
    for (const char *const *head = top->table.is_of_claims ? of_claims : of_volumes; *head; head++)
        add_cell(c, *head);
    if (top->has_bars)
        add_cell(c, "FULL");
    if (top->is_wide) {
        add_cell(c, "IUSED");
        add_cell(c, "INODES");
        add_cell(c, "IUSE%");
    }
    if (top->table.is_of_claims)
        add_cell(c, "POD");
    buf_add_char(&c->text, '\n');
}

static int show_table(const struct top_verb *top, struct buf *out, struct error *err)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_table(&c);
    c.paint = top->settings.has_no_headers ? NULL : table_paint();
    if (!top->settings.has_no_headers)
        add_head(top, &c);
    for (size_t i = 0; i < top->table.lines.count; i++)
        if (top->table.is_of_claims)
            show_claim(top, &top->table.lines.items[i], &c);
        else
            show_volume(top, &top->table.lines.items[i], &c);
    return columns_flush(&c, out, err);
}

/* --- The verb --- */

static int show_usages(struct top_verb *top, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    _cleanup_(json_done_p) struct json d = { 0 };
    const char *what = top->table.is_of_claims ? "claims" : "volumes";
    int r = top_build(&top->table, &top->inventory, err);

    if (r < 0)
        return r;
    usages_complain(&top->table.usages);
    if (!top->is_json && top->table.lines.count == 0) {
        if (top->settings.is_everywhere)
            (void)fprintf(stderr, "No mounted %s found\n", what);
        else
            (void)fprintf(stderr, "No mounted %s found in %s namespace.\n", what, top->session.ns);
        return 0;
    }
    json_init(&d, SESSION_BYTES_MAX);
    r = top->is_json ? print_json_checked(&d, top_as_json(&top->table, &d), &out, err)
                     : show_table(top, &out, err);
    if (r == 0)
        print_out(&out);
    return r;
}

static int load_usages(struct top_verb *top)
{
    struct error err;

    top->table.ns = top->settings.is_everywhere ? NULL : top->session.ns;
    /* Without nodes only the server's own statistics are used. */
    (void)inventory_load(&top->inventory, &top->session, KIND_NODE, /* ns= */ NULL);
    if (top->table.is_of_claims &&
        inventory_load(&top->inventory, &top->session, KIND_CLAIM, top->table.ns) < 0)
        return reply_complain(&top->session.reply, NULL, NULL);
    if (inventory_tie(&top->inventory, &err) < 0 ||
        usages_load(&top->table.usages, &top->session, &top->inventory, &err) < 0 ||
        show_usages(top, &err) < 0)
        return session_complain("%s", err.msg);
    return CLI_OK;
}

static int read_settings(struct top_verb *top, int args, char **argv)
{
    const char *by = top->settings.sort_by ? top->settings.sort_by : "name", *o = top->settings.output;

    if (args != 1 || (strcmp(argv[1], "volumes") != 0 && strcmp(argv[1], "claims") != 0))
        return cli_fail_usage("top: specify 'volumes' or 'claims': see 'berth help top'");
    top->table.is_of_claims = strcmp(argv[1], "claims") == 0;
    top->table.order =
        (enum top_order)name_index(str_of(by), top_order_names, TOP_ORDER_COUNT, TOP_ORDER_COUNT);
    if (top->table.order == TOP_ORDER_COUNT)
        return cli_fail_usage("top: invalid --sort-by '%s': must be name, used, capacity or percent", by);
    top->is_wide = o && strcmp(o, "wide") == 0;
    top->is_json = o && strcmp(o, "json") == 0;
    if (o && !top->is_wide && !top->is_json)
        return cli_fail_usage("top: invalid --output '%s': must be wide or json", o);
    top->has_bars = io_stdout_is_terminal();
    top->table.shows_all = top->settings.shows_all;
    return CLI_OK;
}

static int top_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct top_verb x = { .table = TOP_TABLE_INIT };
    struct error err;
    int args = 0, status = flags_parse(verb, argc, argv, &x.settings, &args);

    if (status == CLI_OK)
        status = read_settings(&x, args, argv);
    if (status != CLI_OK)
        return status;
    if (session_open(&x.settings.session, &x.session, &err) < 0)
        status = session_complain("%s", err.msg);
    else
        status = load_usages(&x);
    top_done(&x.table);
    inventory_done(&x.inventory);
    session_close(&x.session);
    return status;
}

static const struct flag top_flags[] = {
    FLAG_SHORT_ON(struct top_settings, is_everywhere, 'A', "all-namespaces", "all namespaces"),
    FLAG(struct top_settings, sort_by, "sort-by", "WHAT",
         "name, or in descending order: used, capacity, percent"),
    FLAG_ON(struct top_settings, shows_all, "all", "include claims that are not mounted"),
    FLAG_SHORT(struct top_settings, output, 'o', "output", "FORM", "wide (with inodes), json"),
    FLAG_ON(struct top_settings, has_no_headers, "no-headers", "do not print column headers"),
    SESSION_FLAGS(struct top_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_top = {
    .name = "top",
    .group = CLI_ANSWERS,
    .usage = "top volumes|claims",
    .summary = "Show the usage of volumes and claims",
    .flags = top_flags,
    .examples = "  berth top claims -A --sort-by percent  # the fullest first\n  berth top volumes -o wide   "
                "           # per pod, with inodes\n  berth top claims --all                 # also claims "
                "that are not mounted\n",
    .args = "volumes claims",
    .run = top_run,
};
