/* `berth __complete`: prints the candidates for the word at the cursor. Hidden: only shells call it. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/complete.h"

/* Time limit for all requests together: a user waits at the keyboard. */
#define LIVE_NS_MAX NS_PER_S
/* Limit for printed candidates. */
#define CANDIDATES_MAX 1000
/* Large pages: of many names only matching ones are kept. */
#define PAGE 5000

struct completing {
    struct complete_plan plan;
    size_t count;
};

/* Prints the candidate, after the kept text, if it matches. suffix: "/" or "". */
static void print_candidate(struct completing *c, struct str word, const char *suffix, const char *about)
{
    const struct complete_plan *p = &c->plan;

    if (c->count == CANDIDATES_MAX || word.len < p->prefix.len ||
        memcmp(word.s, p->prefix.s, p->prefix.len) != 0)
        return;
    c->count++;
    printf("%.*s%.*s%s\t%s\n", STR_ARG(p->kept), STR_ARG(word), suffix, about);
}

/* A word from outside the program. */
static void print_foreign(struct completing *c, struct str word, const char *about)
{
    for (size_t i = 0; i < c->plan.taken_count; i++)
        if (str_is(word, c->plan.taken[i]))
            return;
    if (complete_is_plain(word))
        print_candidate(c, word, "", about);
}

static void offer_words(struct completing *c, const char *suffix)
{
    struct str rest = str_of(c->plan.words);

    while (rest.s && c->plan.words[0]) {
        struct str word = str_next(&rest, ' ');
        const struct kind_info *k = suffix[0] ? kind_by_word(word) : NULL;

        print_candidate(c, word, suffix, k ? k->name : "");
    }
}

/* Short names and plurals; of two kinds with one plural, the first. */
static void print_types(struct completing *c, const char *suffix)
{
    for (unsigned i = 0; i < KIND_COUNT; i++) {
        const struct kind_info *k = kind_info((enum kind)i);

        if (kind_by_word(str_of(k->plural)) != k)
            continue;
        for (const char *const *s = k->short_names; s && *s; s++)
            print_candidate(c, str_of(*s), suffix, k->name);
        print_candidate(c, str_of(k->plural), suffix, k->name);
    }
}

/* --- Names from the server --- */

struct live_session {
    struct session session;
    struct json doc;
    struct buf page; /* token of the next page */
};

/* The cell of a row with the name; events have it in the middle. */
static size_t name_column(const struct json *d, json_ref table)
{
    size_t at = 0;

    for (json_ref c = json_first(d, json_get(d, table, "columnDefinitions")); c; c = json_next(d, c), at++)
        if (str_is(json_get_text(d, c, "name"), "Name"))
            return at;
    return 0;
}

static struct str cell_as_text(const struct json *d, json_ref row, size_t column)
{
    json_ref cell = json_first(d, json_get(d, row, "cells"));

    while (cell && column-- > 0)
        cell = json_next(d, cell);
    return json_type(d, cell) == JSON_STRING ? json_text(d, cell) : STR_LIT("");
}

/* A table without objects is the shortest list; a server without tables sends a list. */
static void print_page(struct completing *c, struct live_session *live, json_ref list)
{
    struct json *d = &live->doc;
    size_t column = name_column(d, list);

    for (json_ref row = json_first(d, json_get(d, list, "rows")); row; row = json_next(d, row))
        print_foreign(c, cell_as_text(d, row, column), c->plan.kind->name);
    for (json_ref o = json_first(d, json_get(d, list, "items")); o; o = json_next(d, o))
        print_foreign(c, json_get_text(d, json_get(d, o, "metadata"), "name"), c->plan.kind->name);
    buf_clear(&live->page);
    buf_add_str(&live->page, json_get_text(d, json_get(d, list, "metadata"), "continue"));
}

/* Page by page, until the time limit. */
static void request_names(struct completing *c, struct live_session *live)
{
    const struct complete_plan *p = &c->plan;
    struct client_request q = { .verb = CLIENT_LIST,
                                .kind = p->kind,
                                .ns = p->kind->is_namespaced && !p->is_everywhere ? live->session.ns : NULL,
                                .accept = ACCEPT_TABLE,
                                .include_object = "None",
                                .limit = PAGE };
    uint64_t until_ns = clock_mono_ns(live->session.clock) + LIVE_NS_MAX, now_ns;
    struct error ignored;
    json_ref list;

    do {
        now_ns = clock_mono_ns(live->session.clock);
        live->session.deadline_ns = until_ns - now_ns;
        if (now_ns >= until_ns || session_ask(&live->session, &q) < 0)
            return;
        json_clear(&live->doc);
        if (json_parse(&live->doc, buf_str(&live->session.reply.text), &list, &ignored) < 0)
            return;
        print_page(c, live, list);
        q.continue_token = buf_cstr(&live->page);
    } while (live->page.len && !live->page.failed && c->count < CANDIDATES_MAX);
}

static void offer_names(struct completing *c)
{
    struct live_session x = { .page = BUF_INIT(1 << 16) };
    struct error ignored;

    json_init(&x.doc, SESSION_BYTES_MAX);
    if (session_open(&c->plan.session, &x.session, &ignored) == 0)
        request_names(c, &x);
    buf_done(&x.page);
    json_done(&x.doc);
    session_close(&x.session);
}

static void on_context(void *ctx, struct str name)
{
    print_foreign(ctx, name, "");
}

static void offer_all(struct completing *c)
{
    struct error ignored;

    switch (c->plan.what) {
    case COMPLETE_NOTHING:
        break;
    case COMPLETE_WORDS:
        offer_words(c, "");
        break;
    case COMPLETE_COMMANDS:
        for (size_t i = 0; cli_verbs[i]; i++)
            print_candidate(c, str_of(cli_verbs[i]->name), "", cli_verbs[i]->summary);
        break;
    case COMPLETE_FILES:
        printf(":files\n");
        break;
    case COMPLETE_DIRS:
        printf(":dirs\n");
        break;
    case COMPLETE_TYPES:
        print_types(c, "");
        break;
    case COMPLETE_PAIRS:
        if (c->plan.words)
            offer_words(c, "/");
        else
            print_types(c, "/");
        break;
    case COMPLETE_NAMES:
        offer_names(c);
        break;
    case COMPLETE_CONTEXTS:
        (void)session_contexts(&c->plan.session, on_context, c, &ignored);
        break;
    }
}

/* The words come after "--", so that a --help among them is not interpreted. */
static int complete_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct completing c = { 0 };

    (void)verb;
    if (argc < 3 || strcmp(argv[1], "--") != 0)
        return CLI_OK;
    complete_plan(argv + 2, (size_t)argc - 2, &c.plan);
    offer_all(&c);
    return CLI_OK;
}

const struct cli_verb cli_verb_complete = {
    .name = "__complete",
    .usage = "__complete -- WORD...",
    .summary = "Print the completions at the cursor",
    .run = complete_run,
};
