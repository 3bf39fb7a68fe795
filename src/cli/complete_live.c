/* `berth __complete`: the candidates for the word at the cursor. Not listed: only shells call it. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/complete.h"

/* For all questions together: a person waits at the keyboard. */
#define LIVE_NS_MAX NS_PER_S
/* More than anybody reads. */
#define CANDIDATES_MAX 1000
/* Large: of many names only those that fit are kept. */
#define PAGE 5000

struct completing {
    struct complete_plan plan;
    size_t count;
};

/* The candidate behind what is kept: printed when it fits. behind: "/" or "". */
static void offer(struct completing *c, struct str word, const char *behind, const char *about)
{
    const struct complete_plan *p = &c->plan;

    if (c->count == CANDIDATES_MAX || word.len < p->prefix.len ||
        memcmp(word.s, p->prefix.s, p->prefix.len) != 0)
        return;
    c->count++;
    printf("%.*s%.*s%s\t%s\n", STR_ARG(p->kept), STR_ARG(word), behind, about);
}

/* A word that comes from elsewhere. */
static void offer_foreign(struct completing *c, struct str word, const char *about)
{
    for (size_t i = 0; i < c->plan.taken_count; i++)
        if (str_is(word, c->plan.taken[i]))
            return;
    if (complete_is_plain(word))
        offer(c, word, "", about);
}

static void offer_words(struct completing *c, const char *behind)
{
    struct str rest = str_of(c->plan.words);

    while (rest.s && c->plan.words[0]) {
        struct str word = str_next(&rest, ' ');
        const struct kind_info *k = behind[0] ? kind_by_word(word) : NULL;

        offer(c, word, behind, k ? k->name : "");
    }
}

static void offer_commands(struct completing *c)
{
    for (size_t i = 0; cli_verbs[i]; i++)
        offer(c, str_of(cli_verbs[i]->name), "", cli_verbs[i]->summary);
}

/* Short names and plurals; of two kinds with one plural the first is meant. */
static void offer_types(struct completing *c, const char *behind)
{
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        const struct kind_info *k = kind_info((enum kind)i);

        if (kind_by_word(str_of(k->plural)) != k)
            continue;
        for (const char *const *s = k->short_names; s && *s; s++)
            offer(c, str_of(*s), behind, k->name);
        offer(c, str_of(k->plural), behind, k->name);
    }
}

/* --- From the server --- */

struct live {
    struct session session;
    struct reply reply;
    struct json doc;
    struct buf page; /* where the next one begins */
};

/* Which cell of a row is the name; events have it in the middle. */
static size_t name_column(const struct json *d, json_ref table)
{
    size_t at = 0;

    for (json_ref c = json_first(d, json_get(d, table, "columnDefinitions")); c; c = json_next(d, c), at++)
        if (str_is(json_get_text(d, c, "name"), "Name"))
            return at;
    return 0;
}

static struct str cell_text(const struct json *d, json_ref row, size_t column)
{
    json_ref cell = json_first(d, json_get(d, row, "cells"));

    while (cell && column-- > 0)
        cell = json_next(d, cell);
    return json_type(d, cell) == JSON_STRING ? json_text(d, cell) : STR_LIT("");
}

/* A table without the objects is the shortest list that there is; a server that makes none sends a list. */
static void offer_page(struct completing *c, struct live *x, json_ref list)
{
    struct json *d = &x->doc;
    size_t column = name_column(d, list);

    for (json_ref row = json_first(d, json_get(d, list, "rows")); row; row = json_next(d, row))
        offer_foreign(c, cell_text(d, row, column), c->plan.kind->name);
    for (json_ref o = json_first(d, json_get(d, list, "items")); o; o = json_next(d, o))
        offer_foreign(c, json_get_text(d, json_get(d, o, "metadata"), "name"), c->plan.kind->name);
    buf_clear(&x->page);
    buf_add_str(&x->page, json_get_text(d, json_get(d, list, "metadata"), "continue"));
}

static bool has_time(struct live *x, uint64_t until_ns)
{
    uint64_t now_ns = clock_mono_ns(x->session.clock);

    x->session.deadline_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    return until_ns > now_ns;
}

/* Page by page, for as long as there is time. */
static void ask_names(struct completing *c, struct live *x)
{
    const struct complete_plan *p = &c->plan;
    struct client_request q = { .verb = CLIENT_LIST,
                                .kind = p->kind,
                                .ns = p->kind->is_namespaced && !p->is_everywhere ? x->session.ns : NULL,
                                .accept = ACCEPT_TABLE,
                                .include_object = "None",
                                .limit = PAGE };
    uint64_t until_ns = clock_mono_ns(x->session.clock) + LIVE_NS_MAX;
    struct error ignored;
    json_ref list;

    do {
        if (!has_time(x, until_ns) || session_ask(&x->session, &q, &x->reply) < 0)
            return;
        json_clear(&x->doc);
        if (json_parse(&x->doc, buf_str(&x->reply.text), &list, &ignored) < 0)
            return;
        offer_page(c, x, list);
        q.continue_token = buf_cstr(&x->page);
    } while (x->page.len && !x->page.failed && c->count < CANDIDATES_MAX);
}

static void offer_names(struct completing *c)
{
    struct live x = { .page = BUF_INIT(1 << 16) };
    struct error ignored;

    json_init(&x.doc, SESSION_BYTES_MAX);
    if (session_open(&c->plan.session, &x.session, &ignored) == 0)
        ask_names(c, &x);
    buf_done(&x.page);
    reply_done(&x.reply);
    json_done(&x.doc);
    session_close(&x.session);
}

static void on_context(void *ctx, struct str name)
{
    offer_foreign(ctx, name, "");
}

static void offer_contexts(struct completing *c)
{
    struct error ignored;

    (void)session_contexts(&c->plan.session, on_context, c, &ignored);
}

static void offer_all(struct completing *c)
{
    switch (c->plan.what) {
    case COMPLETE_NOTHING:
        break;
    case COMPLETE_WORDS:
        offer_words(c, "");
        break;
    case COMPLETE_COMMANDS:
        offer_commands(c);
        break;
    case COMPLETE_FILES:
        printf(":files\n");
        break;
    case COMPLETE_DIRS:
        printf(":dirs\n");
        break;
    case COMPLETE_TYPES:
        offer_types(c, "");
        break;
    case COMPLETE_PAIRS:
        if (c->plan.words)
            offer_words(c, "/");
        else
            offer_types(c, "/");
        break;
    case COMPLETE_NAMES:
        offer_names(c);
        break;
    case COMPLETE_CONTEXTS:
        offer_contexts(c);
        break;
    }
}

/* The words are behind "--", so that a --help among them is nobody's. */
static int complete_run(int argc, char **argv)
{
    struct completing c = { 0 };

    if (argc < 3 || strcmp(argv[1], "--") != 0)
        return CLI_OK;
    complete_plan(argv + 2, (size_t)argc - 2, &c.plan);
    offer_all(&c);
    return CLI_OK;
}

const struct cli_verb cli_verb_complete = {
    .name = "__complete",
    .usage = "__complete -- WORD...",
    .summary = "Print what may stand at the cursor",
    .run = complete_run,
};
