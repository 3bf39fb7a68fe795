/* The help, the reference and the manual's sections of a made-up table of verbs, and which name was meant. */
#include "tests/unit/test.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/help.h"
#include "cli/suggest.h"

struct settings {
    const char *output;
    const char *way;
    const char *server;
    const char *very;
    bool is_loud;
};

static const struct flag flags[] = {
    FLAG_IN("Where", struct settings, server, "server", "ADDR", "which one|else none"),
    FLAG_SHORT(struct settings, output, 'o', "output", "FORM", "one two three four five six seven"),
    FLAG_MAY_STAND_ALONE(struct settings, way, "dry-run", "WAY", "client", "only so"),
    FLAG_ON_IN("How", struct settings, is_loud, "loud", "*so* that ~all hear"),
    { .name = "a-name-that-is-really-long",
      .aliases = { "short", "old" },
      .type = FLAG_TEXT,
      .group = "Where",
      .value = "LIST",
      .help = ".dots",
      .offset = offsetof(struct settings, very) },
    { 0 },
};

static const struct cli_term terms[] = { { "a", "the first" }, { "longer", "the second" }, { 0 } };
static const struct cli_list lists[] = { { "Kinds", terms }, { 0 } };

static const struct cli_verb full = {
    .name = "full",
    .group = CLI_OBJECTS,
    .usage = "full KIND [FLAG...]",
    .summary = "Do all of it",
    .about = "A paragraph.\nAnother, which is longer than a line of forty characters.",
    .lists = lists,
    .flags = flags,
    .examples = "  berth full a -o 'x y'\n  .dot \\n\n",
};
static const struct cli_verb plain = {
    .name = "plain", .group = CLI_TOOLS, .usage = "plain", .summary = "Do a_little"
};
static const struct cli_verb hidden = { .name = "__hidden", .usage = "x", .summary = "Not told of" };

const struct cli_verb *const cli_verbs[] = { &hidden, &full, &plain, NULL };

static char *written_verb(const struct cli_verb *verb, size_t width)
{
    struct buf out = BUF_INIT(HELP_BYTES_MAX);

    help_write_verb(verb, width, &out);
    return buf_take(&out);
}

TEST(help_of_a_verb)
{
    char *text = written_verb(&full, 40);

    ASSERT_STR("Usage: berth full KIND [FLAG...]\n"
               "\n"
               "Do all of it.\n"
               "\n"
               "A paragraph.\n"
               "\n"
               "Another, which is longer than a line of\n"
               "forty characters.\n"
               "\n"
               "Kinds:\n"
               "  a       the first\n"
               "  longer  the second\n"
               "\n"
               "Flags:\n"
               "  -o, --output FORM    one two three\n"
               "                       four five six\n"
               "                       seven\n"
               "      --dry-run[=WAY]  only so\n"
               "\n"
               "Where:\n"
               "      --server ADDR    which one|else\n"
               "                       none\n"
               "      --a-name-that-is-really-long LIST\n"
               "                       .dots; also\n"
               "                       --short, --old\n"
               "\n"
               "How:\n"
               "      --loud           *so* that ~all\n"
               "                       hear\n"
               "\n"
               "Examples:\n"
               "  berth full a -o 'x y'\n"
               "  .dot \\n\n",
               text);
    free(text);
}

TEST(help_of_a_verb_with_nothing)
{
    char *text = written_verb(&plain, 80);

    ASSERT_STR("Usage: berth plain\n\nDo a_little.\n", text);
    free(text);
}

TEST(a_word_longer_than_the_line_stays_whole)
{
    static const struct cli_verb verb = { .usage = "x", .summary = "one fourteenletters five" };
    char *text = written_verb(&verb, 10);

    ASSERT_STR("Usage: berth x\n\none\nfourteenletters\nfive.\n", text);
    free(text);
}

TEST(help_lists_verbs_by_group_and_not_the_hidden)
{
    struct buf out = BUF_INIT(HELP_BYTES_MAX);

    help_write_all(80, &out);
    ASSERT_STR("Berth: Kubernetes persistent volumes in one small program.\n"
               "\n"
               "Usage: berth COMMAND [ARGUMENT...]\n"
               "\n"
               "Objects:\n"
               "  full   Do all of it\n"
               "\n"
               "Other:\n"
               "  plain  Do a_little\n"
               "\n"
               "See 'berth help COMMAND' for one command, with examples.\n",
               buf_cstr(&out));
    buf_done(&out);
}

TEST(what_does_not_fit_fails)
{
    struct buf out = BUF_INIT(100);
    struct error err;

    help_write_verb(&full, 80, &out);
    ASSERT_ERR(ERR_TOO_LARGE, buf_check(&out, "the help", &err));
    buf_done(&out);
}

static void has(const struct buf *text, const char *part)
{
    if (!strstr(buf_cstr(text), part))
        fail_msg("'%s' is not in:\n%s", part, buf_cstr(text));
}

TEST(markdown)
{
    struct buf out = BUF_INIT(HELP_BYTES_MAX);

    reference_write_markdown(&out);
    has(&out, "| Objects | |\n| --- | --- |\n| [full](#berth-full) | Do all of it |\n");
    has(&out, "\n## berth full\n\nDo all of it.\n\n```\nberth full KIND [FLAG...]\n```\n\nA "
              "paragraph.\n\nAnother, ");
    has(&out, "| Kinds | |\n| --- | --- |\n| `a` | the first |\n");
    has(&out, "| Flags | |\n| --- | --- |\n| `-o, --output FORM` | one two three four five six seven |\n");
    has(&out, "| Where | |\n| --- | --- |\n| `--server ADDR` | which one\\|else none |\n| `--a-name");
    has(&out, "-long LIST` | .dots; also --short, --old |\n");
    has(&out, "| `--loud` | \\*so\\* that \\~all hear |\n");
    has(&out, "```sh\nberth full a -o 'x y'\n.dot \\n\n```\n");
    has(&out, "Do a\\_little");
    assert_null(strstr(buf_cstr(&out), "hidden"));
    buf_done(&out);
}

TEST(manual)
{
    struct buf out = BUF_INIT(HELP_BYTES_MAX);

    reference_write_man(&out);
    has(&out,
        ".SH COMMANDS\n.SS berth full\nDo all of it.\n.PP\n\\fBberth\\fR full KIND [FLAG...]\n.PP\nA par");
    has(&out, ".TP\n\\fBlonger\\fR\nthe second\n");
    has(&out, ".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFORM\\fR\none two");
    has(&out, ".TP\n\\fB\\-\\-dry\\-run\\fR[=\\fIWAY\\fR]\n");
    has(&out, ".PP\nWhere:\n.TP\n\\fB\\-\\-server");
    has(&out, "\\fILIST\\fR\n\\&.dots; also \\-\\-short, \\-\\-old\n");
    has(&out, "that \\(tiall hear\n");
    has(&out, ".nf\nberth full a \\-o \\(aqx y\\(aq\n\\&.dot \\en\n.fi\n");
    assert_null(strstr(buf_cstr(&out), "hidden"));
    buf_done(&out);
}

/* Those of the real `serve`. */
TEST(settings_are_the_flags_but_the_file_itself)
{
    struct buf out = BUF_INIT(HELP_BYTES_MAX);

    reference_write_settings(&out);
    has(&out, ".SH SETTINGS\n.TP\n\\fBdata:\\fR \\fIDIR\\fR\n");
    has(&out, "\\fBinsecure:\\fR \\fItrue|false\\fR\n");
    has(&out, ".SS This node\n.TP\n\\fBnode\\-name:\\fR");
    has(&out, "volume/exec; also volume\\-plugin\\-dir, flex\\-volume\\-plugin\\-dir\n");
    assert_null(strstr(buf_cstr(&out), "config:"));
    for (const struct flag *f = cli_verb_serve.flags; f->name; f++) {
        char name[64];

        if (strcmp(f->name, "config") == 0 || strchr(f->name, '-'))
            continue;
        (void)snprintf(name, sizeof name, "\\fB%s:\\fR", f->name);
        has(&out, name);
    }
    buf_done(&out);
}

TEST(which_name_was_meant)
{
    static const char *const names[] = {
        "get", "describe", "delete", "version", "controllers", "node", NULL
    };
    static const struct {
        const char *typed;
        const char *meant; /* NULL: nobody knows */
    } rows[] = {
        { "gte", "get" },
        { "ge", "get" },
        { "gget", "get" },
        { "GET", NULL },
        { "g", NULL },
        { "", NULL },
        { "=", NULL },
        { "pods", NULL }, /* no node */
        { "nod", "node" },
        { "desc", "describe" },
        { "de", NULL }, /* too short for a beginning */
        { "descrbie", "describe" },
        { "dlete", "delete" },
        { "delete=x", "delete" },
        { "versions", "version" },
        { "control", "controllers" },
        { "kontrolers", "controllers" },
        { "something", NULL },
        { "an-argument-that-is-so-long-that-nobody-can-have-meant-any-of-the-names-with-it", NULL },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct suggestion s = { .typed = rows[i].typed };

        for (size_t k = 0; names[k]; k++)
            suggestion_consider(&s, names[k]);
        if (rows[i].meant ? !s.best || strcmp(s.best, rows[i].meant) != 0 : s.best != NULL)
            fail_msg("'%s': %s", rows[i].typed, s.best ? s.best : "none");
    }
}

TEST(of_equally_near_names_the_first)
{
    struct suggestion s = { .typed = "tost" };

    suggestion_consider(&s, "test");
    suggestion_consider(&s, "toast");
    ASSERT_STR("test", s.best);
    suggestion_consider(&s, "tost");
    ASSERT_STR("tost", s.best);
}

TEST_MAIN()
