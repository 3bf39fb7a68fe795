/* `berth top`: how full volumes and claims are.
 *
 * `top volumes` has a line for each volume of each pod, as nodes tell of them; `top claims` one for each
 * claim, with the numbers of the first of its pods: they all see the same storage. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "cli/print_table.h"
#include "cli/usage.h"
#include "io/env.h"

#define BAR_WIDTH 10

enum top_order { TOP_BY_NAME, TOP_BY_USED, TOP_BY_CAPACITY, TOP_BY_PERCENT, TOP_ORDER_COUNT };

static const char *const order_names[] = {
    [TOP_BY_NAME] = "name",
    [TOP_BY_USED] = "used",
    [TOP_BY_CAPACITY] = "capacity",
    [TOP_BY_PERCENT] = "percent",
};
static_assert(ARRAY_LEN(order_names) == TOP_ORDER_COUNT, "name every order");

struct top_settings {
    struct session_settings session;
    const char *sort_by;
    const char *output;
    bool is_everywhere;
    bool shows_all;
    bool has_no_headers;
};

/* A line: of a claim, or of a volume of a pod. */
struct line {
    const struct usage *usage; /* NULL: nobody mounts it */
    const struct claim *claim; /* of `top claims` */
    size_t users;              /* of those who mount it */
    size_t at;                 /* in the order of names */
    int64_t amount;            /* that it is sorted by */
};

struct top {
    struct top_settings settings;
    struct session session;
    struct reply reply;
    struct inventory inventory;
    struct usages usages;
    VEC(struct line) lines;
    enum top_order order;
    bool is_of_claims;
    bool is_wide;
    bool is_json;
    bool has_bars;
};

/* Of a claim that nobody mounts. */
static const struct usage nothing = {
    .ns = "",
    .pod = "",
    .volume = "",
    .plugin = "",
    .path = "",
    .node = "",
    .claim_ns = "",
    .claim = "",
    .error = "",
    .capacity = USAGE_UNKNOWN,
    .used = USAGE_UNKNOWN,
    .available = USAGE_UNKNOWN,
    .inodes = USAGE_UNKNOWN,
    .inodes_used = USAGE_UNKNOWN,
    .inodes_free = USAGE_UNKNOWN,
};

/* --- Lines --- */

static bool is_wanted(const struct top *x, const char *ns)
{
    return x->settings.is_everywhere || strcmp(ns, x->session.ns) == 0;
}

static int add_line(struct top *x, struct line line, struct error *err)
{
    line.at = x->lines.count;
    return vec_push(&x->lines, line) < 0 ? error_no_memory(err) : 0;
}

static int add_volumes(struct top *x, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < x->usages.items.count && r == 0; i++)
        if (is_wanted(x, x->usages.items.items[i].ns))
            r = add_line(x, (struct line){ .usage = &x->usages.items.items[i] }, err);
    return r;
}

static int compare_claims(const void *a, const void *b)
{
    const struct usage *const *x = a, *const *y = b;
    int order = strcmp((*x)->claim_ns, (*y)->claim_ns);

    if (order == 0)
        order = strcmp((*x)->claim, (*y)->claim);
    return order ? order : strcmp((*x)->pod, (*y)->pod);
}

/* How many of the usages from `at` on are of this claim: they stand in the order of claims, as the claims do,
 * so that both are walked once. Those of claims in front of it, which are gone, are passed over. */
static size_t count_users(const struct usage *const *items, size_t count, size_t *at, const struct object *o)
{
    size_t users = 0;

    while (*at + users < count) {
        const struct usage *u = items[*at + users];
        int order = strcmp(u->claim_ns, o->ns);

        if (order == 0)
            order = strcmp(u->claim, o->name);
        if (order > 0)
            break;
        if (order == 0)
            users++;
        else
            (*at)++;
    }
    return users;
}

static int add_claims(struct top *x, struct error *err)
{
    _cleanup_(vec_done_p) VEC(const struct usage *) mounted = { 0 };
    size_t at = 0;
    int r = 0;

    for (size_t i = 0; i < x->usages.items.count; i++)
        if (x->usages.items.items[i].claim[0] && vec_push(&mounted, &x->usages.items.items[i]) < 0)
            return error_no_memory(err);
    if (mounted.count)
        qsort(mounted.items, mounted.count, sizeof *mounted.items, compare_claims);
    for (size_t i = 0; i < x->inventory.kinds[KIND_CLAIM].list.count && r == 0; i++) {
        const struct object *o = x->inventory.kinds[KIND_CLAIM].list.items[i];
        size_t users = count_users(mounted.items, mounted.count, &at, o);
        struct line line = { .claim = claim_of(o),
                             .users = users,
                             .usage = users ? mounted.items[at] : NULL };

        if (users || x->settings.shows_all)
            r = add_line(x, line, err);
        at += users;
    }
    return r;
}

static int64_t amount(const struct line *l, enum top_order order)
{
    const struct usage *u = l->usage ? l->usage : &nothing;

    switch (order) {
    case TOP_BY_USED:
        return u->used;
    case TOP_BY_CAPACITY:
        return u->capacity;
    case TOP_BY_PERCENT:
        return usage_percent(u->used, u->capacity);
    case TOP_BY_NAME:
    case TOP_ORDER_COUNT:
        break;
    }
    return 0; /* they stand in that order */
}

/* The largest first, what is not known last. */
static int compare_lines(const void *a, const void *b)
{
    const struct line *x = a, *y = b;

    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_lines(struct top *x)
{
    for (size_t i = 0; i < x->lines.count; i++)
        x->lines.items[i].amount = amount(&x->lines.items[i], x->order);
    if (x->lines.count)
        qsort(x->lines.items, x->lines.count, sizeof *x->lines.items, compare_lines);
}

/* --- The table --- */

static void add_cell(struct columns *c, const char *text)
{
    columns_add_cell(c, str_of(text[0] ? text : "-"));
    (void)buf_add_char(&c->text, '\t');
}

static void add_bytes(struct columns *c, int64_t bytes)
{
    usage_write_bytes(bytes, &c->text);
    (void)buf_add_char(&c->text, '\t');
}

static void add_count(struct columns *c, int64_t count)
{
    (void)(count < 0 ? buf_add_cstr(&c->text, "-\t") : buf_addf(&c->text, "%" PRId64 "\t", count));
}

static void add_percent(struct columns *c, int64_t used, int64_t whole)
{
    int64_t percent = usage_percent(used, whole);

    (void)(percent < 0 ? buf_add_cstr(&c->text, "-\t") : buf_addf(&c->text, "%" PRId64 "%%\t", percent));
}

static void add_bar(struct columns *c, int64_t used, int64_t whole)
{
    int64_t percent = usage_percent(used, whole);
    bool is_utf8 = io_is_utf8();

    for (int i = 0; i < BAR_WIDTH && percent >= 0; i++) {
        bool is_full = percent * BAR_WIDTH > (int64_t)i * 100;

        if (is_utf8)
            (void)buf_add_cstr(&c->text, is_full ? "█" : "░");
        else
            (void)buf_add_char(&c->text, is_full ? '#' : '.');
    }
    (void)buf_add_char(&c->text, '\t');
}

static void add_inodes(const struct top *x, const struct usage *u, struct columns *c)
{
    if (!x->is_wide)
        return;
    add_count(c, u->inodes_used);
    add_count(c, u->inodes);
    add_percent(c, u->inodes_used, u->inodes);
}

/* Ends the line: the last cell is not padded. */
static void end_line(struct columns *c)
{
    if (c->text.len && c->text.data[c->text.len - 1] == '\t')
        c->text.len--;
    (void)buf_add_char(&c->text, '\n');
}

static void show_volume(const struct top *x, const struct line *l, struct columns *c)
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
    add_percent(c, u->used, u->capacity);
    if (x->has_bars)
        add_bar(c, u->used, u->capacity);
    add_inodes(x, u, c);
    end_line(c);
}

static void add_asked(const struct claim *claim, struct columns *c)
{
    if (claim->has_request)
        (void)quantity_format(&claim->request, &c->text);
    else
        (void)buf_add_char(&c->text, '-');
    (void)buf_add_char(&c->text, '\t');
}

static void show_claim(const struct top *x, const struct line *l, struct columns *c)
{
    const struct usage *u = l->usage ? l->usage : &nothing;

    if (x->settings.is_everywhere)
        add_cell(c, l->claim->obj.ns);
    add_cell(c, l->claim->obj.name);
    add_cell(c, l->claim->volume_name);
    add_asked(l->claim, c);
    add_bytes(c, u->used);
    add_bytes(c, u->capacity);
    add_percent(c, u->used, u->capacity);
    if (x->has_bars)
        add_bar(c, u->used, u->capacity);
    add_inodes(x, u, c);
    columns_add_cell(c, str_of(u->pod[0] ? u->pod : "-"));
    if (l->users > 1)
        (void)buf_addf(&c->text, " (+%zu)", l->users - 1);
    end_line(c);
}

static void add_head(const struct top *x, struct columns *c)
{
    const char *bar = x->has_bars ? "FULL\t" : "", *inodes = x->is_wide ? "IUSED\tINODES\tIUSE%\t" : "";

    if (x->settings.has_no_headers)
        return;
    if (x->settings.is_everywhere)
        (void)buf_add_cstr(&c->text, "NAMESPACE\t");
    if (x->is_of_claims)
        (void)buf_addf(&c->text, "NAME\tVOLUME\tASKED\tUSED\tSIZE\tUSE%%\t%s%sPOD\n", bar, inodes);
    else
        (void)buf_addf(&c->text, "POD\tVOLUME\tPLUGIN\tNODE\tUSED\tCAPACITY\tUSE%%\t%s%s", bar, inodes);
    if (!x->is_of_claims)
        end_line(c);
}

static int show_table(const struct top *x, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    _cleanup_(columns_done_p) struct columns c;
    int r;

    columns_init_table(&c);
    c.paint = x->settings.has_no_headers ? NULL : table_paint();
    add_head(x, &c);
    for (size_t i = 0; i < x->lines.count; i++)
        if (x->is_of_claims)
            show_claim(x, &x->lines.items[i], &c);
        else
            show_volume(x, &x->lines.items[i], &c);
    r = columns_flush(&c, &out, err);
    if (r == 0)
        print_out(&out);
    return r;
}

/* --- JSON --- */

static void set_number(struct json *d, json_ref object, const char *key, int64_t n)
{
    if (n >= 0)
        json_set(d, object, key, json_new_int(d, n));
}

static void set_text(struct json *d, json_ref object, const char *key, const char *text)
{
    if (text[0])
        json_set_string(d, object, key, text);
}

static void set_usage(struct json *d, json_ref o, const struct usage *u)
{
    set_number(d, o, "usedBytes", u->used);
    set_number(d, o, "availableBytes", u->available);
    set_number(d, o, "capacityBytes", u->capacity);
    set_number(d, o, "percent", usage_percent(u->used, u->capacity));
    set_number(d, o, "inodesUsed", u->inodes_used);
    set_number(d, o, "inodesFree", u->inodes_free);
    set_number(d, o, "inodes", u->inodes);
    set_text(d, o, "error", u->error);
}

static json_ref line_as_json(struct json *d, const struct line *l)
{
    const struct usage *u = l->usage ? l->usage : &nothing;
    json_ref o = json_new_object(d);
    _cleanup_(buf_done_p) struct buf asked = BUF_INIT(QUANTITY_TEXT_BYTES_MAX);

    if (l->claim) {
        json_set_string(d, o, "namespace", l->claim->obj.ns);
        json_set_string(d, o, "name", l->claim->obj.name);
        set_text(d, o, "volume", l->claim->volume_name);
        if (l->claim->has_request && quantity_format(&l->claim->request, &asked) == 0)
            json_set_string(d, o, "asked", buf_cstr(&asked));
        set_number(d, o, "pods", (int64_t)l->users);
    } else {
        json_set_string(d, o, "namespace", u->ns);
        json_set_string(d, o, "volume", u->volume);
        set_text(d, o, "plugin", u->plugin);
        set_text(d, o, "claim", u->claim);
    }
    set_text(d, o, "pod", u->pod);
    set_text(d, o, "node", u->node);
    set_usage(d, o, u);
    return o;
}

static int show_json(const struct top *x, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    _cleanup_(json_done_p) struct json d = { 0 };
    json_ref root, lines, silent;
    int r;

    json_init(&d, SESSION_BYTES_MAX);
    root = json_new_object(&d);
    lines = json_new_array(&d);
    silent = json_new_array(&d);
    for (size_t i = 0; i < x->lines.count; i++)
        json_append(&d, lines, line_as_json(&d, &x->lines.items[i]));
    for (size_t i = 0; i < x->usages.silent.count; i++) {
        json_ref o = json_new_object(&d);

        json_set_string(&d, o, "node", x->usages.silent.items[i].name);
        json_set_string(&d, o, "error", x->usages.silent.items[i].why);
        json_append(&d, silent, o);
    }
    json_set(&d, root, x->is_of_claims ? "claims" : "volumes", lines);
    json_set(&d, root, "silentNodes", silent);
    r = json_check(&d, err);
    if (r == 0) {
        print_json(&d, root, &out);
        r = buf_check(&out, "output", err);
    }
    if (r == 0)
        print_out(&out);
    return r;
}

/* --- All of it --- */

static void say_nothing_found(const struct top *x)
{
    const char *what = x->is_of_claims ? "claims" : "volumes";

    if (x->settings.is_everywhere)
        fprintf(stderr, "No mounted %s found\n", what);
    else
        fprintf(stderr, "No mounted %s found in %s namespace.\n", what, x->session.ns);
}

static int show(struct top *x)
{
    struct error err;
    int r = x->is_of_claims ? add_claims(x, &err) : add_volumes(x, &err);

    if (r == 0) {
        sort_lines(x);
        usages_complain(&x->usages);
        if (x->is_json)
            r = show_json(x, &err);
        else if (x->lines.count)
            r = show_table(x, &err);
        else
            say_nothing_found(x);
    }
    return r < 0 ? session_complain("%s", err.msg) : CLI_OK;
}

static int look(struct top *x)
{
    const char *ns = x->settings.is_everywhere ? NULL : x->session.ns;
    struct error err;

    /* Without nodes the server's own statistics are all there is. */
    (void)inventory_load(&x->inventory, &x->session, KIND_NODE, /* ns= */ NULL, &x->reply);
    if (x->is_of_claims && inventory_load(&x->inventory, &x->session, KIND_CLAIM, ns, &x->reply) < 0)
        return reply_complain(&x->reply, NULL, NULL);
    if (inventory_tie(&x->inventory, &err) < 0 ||
        usages_load(&x->usages, &x->session, &x->inventory, &x->reply, &err) < 0)
        return session_complain("%s", err.msg);
    return show(x);
}

static int read_settings(struct top *x, int args, char **argv)
{
    const char *by = x->settings.sort_by ? x->settings.sort_by : "name", *o = x->settings.output;

    if (args != 1 || (strcmp(argv[1], "volumes") != 0 && strcmp(argv[1], "claims") != 0))
        return cli_fail_usage("top: of what, volumes or claims? See 'berth help top'");
    x->is_of_claims = strcmp(argv[1], "claims") == 0;
    x->order = (enum top_order)name_index(str_of(by), order_names, TOP_ORDER_COUNT, TOP_ORDER_COUNT);
    if (x->order == TOP_ORDER_COUNT)
        return cli_fail_usage("top: --sort-by is '%s', and not name, used, capacity or percent", by);
    x->is_wide = o && strcmp(o, "wide") == 0;
    x->is_json = o && strcmp(o, "json") == 0;
    if (o && !x->is_wide && !x->is_json)
        return cli_fail_usage("top: --output is '%s', and not wide or json", o);
    x->has_bars = io_stdout_is_terminal();
    return CLI_OK;
}

static int top_run(int argc, char **argv)
{
    struct top x = { .usages = USAGES_INIT };
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
    vec_done(&x.lines);
    usages_done(&x.usages);
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
    .usage = "top volumes|claims",
    .summary = "Show how full volumes and claims are",
    .flags = top_flags,
    .examples = "  berth top claims -A --sort-by percent        the fullest first\n"
                "  berth top volumes -o wide                    of each pod, with inodes\n"
                "  berth top claims --all                       those that nobody mounts, too\n",
    .run = top_run,
};
