/* `berth top`: how full volumes and claims are (why/top.h). */
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

struct top {
    struct top_settings settings;
    struct session session;
    struct reply reply;
    struct inventory inventory;
    struct top_table table;
    bool is_json;
    bool is_wide; /* inodes, too */
    bool has_bars;
};

/* --- The table --- */

/* A tab between cells; none behind the last, which is not padded. */
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

static void add_inodes(const struct top *x, const struct usage *u, struct columns *c)
{
    if (!x->is_wide)
        return;
    add_number(c, u->inodes_used, "");
    add_number(c, u->inodes, "");
    add_number(c, usage_percent(u->inodes_used, u->inodes), "%");
}

static void show_volume(const struct top *x, const struct top_line *l, struct columns *c)
{
    const struct usage *u = l->usage;

    if (x->settings.is_everywhere)
        add_cell(c, u->ns);
    add_cell(c, u->pod);
    add_cell(c, u->volume);
    add_cell(c, u->plugin);
    add_cell(c, u->node);
    add_bytes(c, u->used);
    add_bytes(c, u->capacity);
    add_number(c, usage_percent(u->used, u->capacity), "%");
    if (x->has_bars)
        add_bar(c, u->used, u->capacity);
    add_inodes(x, u, c);
    buf_add_char(&c->text, '\n');
}

static void add_asked(const struct claim *claim, struct columns *c)
{
    begin_cell(c);
    if (claim->has_request)
        quantity_format(&claim->request, &c->text);
    else
        buf_add_char(&c->text, '-');
}

static void show_claim(const struct top *x, const struct top_line *l, struct columns *c)
{
    const struct usage *u = l->usage;

    if (x->settings.is_everywhere)
        add_cell(c, l->claim->obj.ns);
    add_cell(c, l->claim->obj.name);
    add_cell(c, l->claim->volume_name);
    add_asked(l->claim, c);
    add_bytes(c, u->used);
    add_bytes(c, u->capacity);
    add_number(c, usage_percent(u->used, u->capacity), "%");
    if (x->has_bars)
        add_bar(c, u->used, u->capacity);
    add_inodes(x, u, c);
    add_cell(c, u->pod);
    if (l->users > 1)
        buf_addf(&c->text, " (+%zu)", l->users - 1);
    buf_add_char(&c->text, '\n');
}

static void add_head(const struct top *x, struct columns *c)
{
    static const char *const of_claims[] = { "NAME", "VOLUME", "ASKED", "USED", "SIZE", "USE%", NULL },
                             *const of_volumes[] = { "POD",  "VOLUME",   "PLUGIN", "NODE",
                                                     "USED", "CAPACITY", "USE%",   NULL };

    if (x->settings.is_everywhere)
        add_cell(c, "NAMESPACE");
    for (const char *const *head = x->table.is_of_claims ? of_claims : of_volumes; *head; head++)
        add_cell(c, *head);
    if (x->has_bars)
        add_cell(c, "FULL");
    if (x->is_wide) {
        add_cell(c, "IUSED");
        add_cell(c, "INODES");
        add_cell(c, "IUSE%");
    }
    if (x->table.is_of_claims)
        add_cell(c, "POD");
    buf_add_char(&c->text, '\n');
}

static int show_table(const struct top *x, struct buf *out, struct error *err)
{
    _cleanup_(columns_done_p) struct columns c;

    columns_init_table(&c);
    c.paint = x->settings.has_no_headers ? NULL : table_paint();
    if (!x->settings.has_no_headers)
        add_head(x, &c);
    for (size_t i = 0; i < x->table.lines.count; i++)
        if (x->table.is_of_claims)
            show_claim(x, &x->table.lines.items[i], &c);
        else
            show_volume(x, &x->table.lines.items[i], &c);
    return columns_flush(&c, out, err);
}

/* --- All of it --- */

static void say_nothing_found(const struct top *x)
{
    const char *what = x->table.is_of_claims ? "claims" : "volumes";

    if (x->settings.is_everywhere)
        (void)fprintf(stderr, "No mounted %s found\n", what);
    else
        (void)fprintf(stderr, "No mounted %s found in %s namespace.\n", what, x->session.ns);
}

static int show_json(const struct top *x, struct buf *out, struct error *err)
{
    _cleanup_(json_done_p) struct json d = { 0 };

    json_init(&d, SESSION_BYTES_MAX);
    return print_json_checked(&d, top_as_json(&x->table, &d), out, err);
}

static int show(struct top *x, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    int r = top_build(&x->table, &x->inventory, err);

    if (r < 0)
        return r;
    usages_complain(&x->table.usages);
    if (!x->is_json && x->table.lines.count == 0) {
        say_nothing_found(x);
        return 0;
    }
    r = x->is_json ? show_json(x, &out, err) : show_table(x, &out, err);
    if (r == 0)
        print_out(&out);
    return r;
}

static int look(struct top *x)
{
    struct error err;

    x->table.ns = x->settings.is_everywhere ? NULL : x->session.ns;
    /* Without nodes the server's own statistics are all there is. */
    (void)inventory_load(&x->inventory, &x->session, KIND_NODE, /* ns= */ NULL, &x->reply);
    if (x->table.is_of_claims &&
        inventory_load(&x->inventory, &x->session, KIND_CLAIM, x->table.ns, &x->reply) < 0)
        return reply_complain(&x->reply, NULL, NULL);
    if (inventory_tie(&x->inventory, &err) < 0 ||
        usages_load(&x->table.usages, &x->session, &x->inventory, &x->reply, &err) < 0 || show(x, &err) < 0)
        return session_complain("%s", err.msg);
    return CLI_OK;
}

static int read_settings(struct top *x, int args, char **argv)
{
    const char *by = x->settings.sort_by ? x->settings.sort_by : "name", *o = x->settings.output;

    if (args != 1 || (strcmp(argv[1], "volumes") != 0 && strcmp(argv[1], "claims") != 0))
        return cli_fail_usage("top: of what, volumes or claims? See 'berth help top'");
    x->table.is_of_claims = strcmp(argv[1], "claims") == 0;
    x->table.order =
        (enum top_order)name_index(str_of(by), top_order_names, TOP_ORDER_COUNT, TOP_ORDER_COUNT);
    if (x->table.order == TOP_ORDER_COUNT)
        return cli_fail_usage("top: --sort-by is '%s', and not name, used, capacity or percent", by);
    x->is_wide = o && strcmp(o, "wide") == 0;
    x->is_json = o && strcmp(o, "json") == 0;
    if (o && !x->is_wide && !x->is_json)
        return cli_fail_usage("top: --output is '%s', and not wide or json", o);
    x->has_bars = io_stdout_is_terminal();
    x->table.shows_all = x->settings.shows_all;
    return CLI_OK;
}

static int top_run(int argc, char **argv)
{
    struct top x = { .table = TOP_TABLE_INIT };
    struct error err;
    int args = 0, status = flags_parse(&cli_verb_top, argc, argv, &x.settings, &args);

    if (status == CLI_OK)
        status = read_settings(&x, args, argv);
    if (status != CLI_OK)
        return status;
    if (session_open(&x.settings.session, &x.session, &err) < 0)
        status = session_complain("%s", err.msg);
    else
        status = look(&x);
    top_done(&x.table);
    inventory_done(&x.inventory);
    reply_done(&x.reply);
    session_close(&x.session);
    return status;
}

static const struct flag top_flags[] = {
    FLAG_SHORT_ON(struct top_settings, is_everywhere, 'A', "all-namespaces", "of every namespace"),
    FLAG(struct top_settings, sort_by, "sort-by", "WHAT",
         "name, or the largest first: used, capacity, percent"),
    FLAG_ON(struct top_settings, shows_all, "all", "claims that nobody mounts, too"),
    FLAG_SHORT(struct top_settings, output, 'o', "output", "FORM", "wide (inodes, too), json"),
    FLAG_ON(struct top_settings, has_no_headers, "no-headers", "without the head of the table"),
    SESSION_FLAGS(struct top_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_top = {
    .name = "top",
    .group = CLI_ANSWERS,
    .usage = "top volumes|claims",
    .summary = "Show how full volumes and claims are",
    .flags = top_flags,
    .examples = "  berth top claims -A --sort-by percent  # the fullest first\n"
                "  berth top volumes -o wide              # of each pod, with inodes\n"
                "  berth top claims --all                 # those that nobody mounts, too\n",
    .args = "volumes claims",
    .run = top_run,
};
