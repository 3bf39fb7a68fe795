/* `berth top`: how full volumes and claims are.
 *
 * `top volumes` has a line for each volume of each pod, as nodes tell of them; `top claims` one for each
 * claim, with the numbers of the first of its pods: they all see the same storage. */
#include "cli/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/print.h"
#include "io/env.h"

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

struct top {
    struct top_settings settings;
    struct session session;
    struct reply reply;
    struct inventory inventory;
    struct top_table table;
    enum top_order order;
    bool is_json;
};

/* --- Lines --- */

static bool is_wanted(const struct top *x, const char *ns)
{
    return x->settings.is_everywhere || strcmp(ns, x->session.ns) == 0;
}

static int add_line(struct top *x, struct top_line line, struct error *err)
{
    line.at = x->table.lines.count;
    return vec_push(&x->table.lines, line) < 0 ? error_no_memory(err) : 0;
}

static int add_volumes(struct top *x, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < x->table.usages.items.count && r == 0; i++)
        if (is_wanted(x, x->table.usages.items.items[i].ns))
            r = add_line(x, (struct top_line){ .usage = &x->table.usages.items.items[i] }, err);
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

    for (size_t i = 0; i < x->table.usages.items.count; i++)
        if (x->table.usages.items.items[i].claim[0] &&
            vec_push(&mounted, &x->table.usages.items.items[i]) < 0)
            return error_no_memory(err);
    if (mounted.count)
        qsort(mounted.items, mounted.count, sizeof *mounted.items, compare_claims);
    for (size_t i = 0; i < x->inventory.kinds[KIND_CLAIM].list.count && r == 0; i++) {
        const struct object *o = x->inventory.kinds[KIND_CLAIM].list.items[i];
        size_t users = count_users(mounted.items, mounted.count, &at, o);
        struct top_line line = { .claim = claim_of(o),
                                 .users = users,
                                 .usage = users ? mounted.items[at] : &usage_none };

        if (users || x->settings.shows_all)
            r = add_line(x, line, err);
        at += users;
    }
    return r;
}

static int64_t amount(const struct top_line *l, enum top_order order)
{
    const struct usage *u = l->usage;

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
    const struct top_line *x = a, *y = b;

    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void sort_lines(struct top *x)
{
    for (size_t i = 0; i < x->table.lines.count; i++)
        x->table.lines.items[i].amount = amount(&x->table.lines.items[i], x->order);
    if (x->table.lines.count)
        qsort(x->table.lines.items, x->table.lines.count, sizeof *x->table.lines.items, compare_lines);
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

static int show(struct top *x, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    int r = x->table.is_of_claims ? add_claims(x, err) : add_volumes(x, err);

    if (r < 0)
        return r;
    sort_lines(x);
    usages_complain(&x->table.usages);
    if (!x->is_json && x->table.lines.count == 0) {
        say_nothing_found(x);
        return 0;
    }
    r = x->is_json ? top_show_json(&x->table, &out, err) : top_show(&x->table, &out, err);
    if (r == 0)
        print_out(&out);
    return r;
}

static int look(struct top *x)
{
    const char *ns = x->settings.is_everywhere ? NULL : x->session.ns;
    struct error err;

    /* Without nodes the server's own statistics are all there is. */
    (void)inventory_load(&x->inventory, &x->session, KIND_NODE, /* ns= */ NULL, &x->reply);
    if (x->table.is_of_claims && inventory_load(&x->inventory, &x->session, KIND_CLAIM, ns, &x->reply) < 0)
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
    x->order = (enum top_order)name_index(str_of(by), order_names, TOP_ORDER_COUNT, TOP_ORDER_COUNT);
    if (x->order == TOP_ORDER_COUNT)
        return cli_fail_usage("top: --sort-by is '%s', and not name, used, capacity or percent", by);
    x->table.is_wide = o && strcmp(o, "wide") == 0;
    x->is_json = o && strcmp(o, "json") == 0;
    if (o && !x->table.is_wide && !x->is_json)
        return cli_fail_usage("top: --output is '%s', and not wide or json", o);
    x->table.has_bars = io_stdout_is_terminal();
    x->table.has_no_headers = x->settings.has_no_headers;
    x->table.shows_namespace = x->settings.is_everywhere;
    return CLI_OK;
}

static int top_run(int argc, char **argv)
{
    struct top x = { .table.usages = USAGES_INIT };
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
    vec_done(&x.table.lines);
    usages_done(&x.table.usages);
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
