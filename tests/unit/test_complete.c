/* What belongs at the cursor: the words typed so far, flags with values behind them or in them. */
#include "tests/unit/test.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/complete.h"

static const struct cli_verb tree = { .name = "tree", .args = "TYPE/NAME class pv pvc" };
static const struct cli_verb why = { .name = "why", .args = "TYPE/NAME pvc pv pod", .flags = NULL };

const struct cli_verb *const cli_verbs[] = {
    &cli_verb_get,
    &cli_verb_delete,
    &cli_verb_wait,
    &cli_verb_events,
    &cli_verb_create,
    &cli_verb_patch,
    &cli_verb_serve,
    &cli_verb_backup,
    &cli_verb_help,
    &cli_verb_completion,
    &cli_verb_bench,
    &tree,
    &why,
    &cli_verb_version,
    NULL,
};

static char typed[512];
static char *words[32];

/* Words with blanks between; a blank at the end: the cursor is at an empty word. */
static void plan(const char *line, struct complete_plan *ret)
{
    size_t count = 0;

    (void)snprintf(typed, sizeof typed, "%s", line);
    for (char *at = typed; at; count++) {
        words[count] = at;
        at = strchr(at, ' ');
        if (at)
            *at++ = '\0';
    }
    complete_plan(words, count, ret);
}

static const char *what_names[] = {
    [COMPLETE_NOTHING] = "-",   [COMPLETE_WORDS] = "words", [COMPLETE_COMMANDS] = "commands",
    [COMPLETE_FILES] = "files", [COMPLETE_DIRS] = "dirs",   [COMPLETE_TYPES] = "types",
    [COMPLETE_PAIRS] = "pairs", [COMPLETE_NAMES] = "names", [COMPLETE_CONTEXTS] = "contexts",
};

/* "names Pod [pod/]we" */
static const char *text_of(const struct complete_plan *p)
{
    static struct buf out = BUF_INIT(4096);

    buf_clear(&out);
    buf_add_cstr(&out, what_names[p->what]);
    if (p->what == COMPLETE_NOTHING)
        return buf_cstr(&out);
    if (p->kind)
        buf_addf(&out, " %s", p->kind->name);
    if (p->words && p->what == COMPLETE_PAIRS)
        buf_addf(&out, " of %s", p->words);
    buf_addf(&out, " [%.*s]%.*s", STR_ARG(p->kept), STR_ARG(p->prefix));
    return buf_cstr(&out);
}

TEST(what_is_at_the_cursor)
{
    static const struct {
        const char *line, *expected;
    } rows[] = {
        { "", "commands []" },
        { "ge", "commands []ge" },
        { "nonsense x", "-" },
        { "version ", "-" },
        /* Types and names, in both forms. */
        { "get ", "types []" },
        { "get pv,p", "types [pv,]p" },
        { "get pvc ", "names PersistentVolumeClaim []" },
        { "get pvc da", "names PersistentVolumeClaim []da" },
        { "get PVC,pv da", "names PersistentVolumeClaim []da" },
        { "get pvc/da", "names PersistentVolumeClaim [pvc/]da" },
        { "get pvc/", "names PersistentVolumeClaim [pvc/]" },
        { "get pvc/data p", "pairs []p" },
        { "get pvc/data pod/w", "names Pod [pod/]w" },
        { "get pvc data pod/w", "names Pod [pod/]w" },
        { "get nonsense/x", "-" },
        { "get nonsense x", "-" },
        { "get /x", "-" },
        { "get -w -o wide pod w", "names Pod []w" },
        { "get -owide pod w", "names Pod []w" },
        { "get --output=wide pod w", "names Pod []w" },
        { "get --unknown pod w", "names Pod []w" },
        { "get -- pod -w", "names Pod []-w" },
        { "why ", "pairs of pvc pv pod []" },
        { "why pvc/da", "names PersistentVolumeClaim [pvc/]da" },
        { "why persistentvolumes/da", "names PersistentVolume [persistentvolumes/]da" },
        { "why secret/da", "-" },
        { "why pvc/da p", "pairs of pvc pv pod []p" },
        { "tree ", "pairs of class pv pvc []" },
        { "tree class/fa", "names StorageClass [class/]fa" },
        { "tree pod/fa", "-" },
        { "get class/fa", "names StorageClass [class/]fa" },
        /* Other arguments. */
        { "backup ", "files []" },
        { "backup a b", "-" },
        { "help ", "commands []" },
        { "completion z", "words []z" },
        { "completion zsh f", "-" },
        { "bench m", "words []m" },
        { "create n", "words []n" },
        /* Flags themselves are the scripts' own. */
        { "get -", "-" },
        { "get --out", "-" },
        /* Their values: in the next word, behind '=', behind a letter. */
        { "get -n ", "names Namespace []" },
        { "get --namespace sh", "names Namespace []sh" },
        { "get --namespace=sh", "names Namespace [--namespace=]sh" },
        { "get -wn sh", "names Namespace []sh" },
        { "get --context ", "contexts []" },
        { "get --context=a", "contexts [--context=]a" },
        { "get --data ", "dirs []" },
        { "get --kubeconfig=x", "files [--kubeconfig=]x" },
        { "get -f ", "files []" },
        { "serve --node-name ", "names Node []" },
        { "serve --without api,no", "words [api,]no" },
        { "serve --without=api,no", "words [--without=api,]no" },
        { "serve --listen ", "-" },
        { "serve --flex-dir ", "dirs []" },
        { "serve --volume-plugin-dir ", "dirs []" },
        { "serve --flex-volume-plugin-dir=/u", "dirs [--flex-volume-plugin-dir=]/u" },
        { "get -o ", "words []" },
        { "get --output=js", "words [--output=]js" },
        { "wait pvc/x --for=cond", "words [--for=]cond" },
        { "wait pvc/x --for=condition=Re", "words [--for=]condition=Re" },
        { "events --for pvc/da", "names PersistentVolumeClaim [pvc/]da" },
        { "events --for=pvc/da", "names PersistentVolumeClaim [--for=pvc/]da" },
        { "events --for=pv", "pairs [--for=]pv" },
        { "events --types=Normal,W", "words [--types=Normal,]W" },
        { "delete pvc x --dry-run=", "words [--dry-run=]" },
        { "delete --dry-run pvc ", "names PersistentVolumeClaim []" }, /* it may stand alone */
        { "get --nonsense=x", "-" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct complete_plan p;

        plan(rows[i].line, &p);
        if (strcmp(text_of(&p), rows[i].expected) != 0)
            fail_msg("'%s': %s, not %s", rows[i].line, text_of(&p), rows[i].expected);
    }
}

TEST(values_are_the_verbs_own)
{
    struct complete_plan p;

    plan("get -o ", &p);
    assert_non_null(strstr(p.words, "custom-columns="));
    plan("delete -o ", &p);
    ASSERT_STR("name", p.words);
    plan("patch pv x -o ", &p);
    assert_null(strstr(p.words, "wide"));
    plan("patch pv x --type ", &p);
    ASSERT_STR("strategic merge json", p.words);
}

TEST(the_server_is_the_one_that_was_named)
{
    struct complete_plan p;

    plan("get -n shop --data=/d --kubeconfig /k --context c -A pvc ", &p);
    ASSERT_STR("shop", p.session.ns);
    ASSERT_STR("/d", p.session.data);
    ASSERT_STR("/k", p.session.kubeconfig);
    ASSERT_STR("c", p.session.context);
    assert_true(p.is_everywhere);
    plan("get -nshop pvc ", &p);
    ASSERT_STR("shop", p.session.ns);
    plan("get -n=shop pvc ", &p);
    ASSERT_STR("shop", p.session.ns);
    assert_false(p.is_everywhere);
}

TEST(names_that_stand_there_are_no_candidates)
{
    struct complete_plan p;

    plan("delete pvc a -n x b ", &p);
    ASSERT_INT(2, p.taken_count);
    ASSERT_STR("a", p.taken[0]);
    ASSERT_STR("b", p.taken[1]);
}

/* What a shell would obey is nobody's name. */
TEST(hostile_names)
{
    static const struct {
        const char *word;
        bool is_plain;
    } rows[] = {
        { "data", true },       { "pvc-1.x_Y", true }, { "arn:aws:eks:eu/x@y", true },
        { "", false },          { "-rf", false },      { "a b", false },
        { "$(reboot)", false }, { "`reboot`", false }, { "a;reboot", false },
        { "a|b", false },       { "a&", false },       { "a>b", false },
        { "a\nb", false },      { "a\tb", false },     { "a\033[2J", false },
        { "~root", false },     { "*", false },        { "a?", false },
        { "a[b]", false },      { "{a,b}", false },    { "a\\b", false },
        { "a'b", false },       { "a\"b", false },     { "#a", false },
        { "!a", false },        { "\xc3\xa4", false }, { "a^b", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (complete_is_plain(str_of(rows[i].word)) != rows[i].is_plain)
            fail_msg("%s", rows[i].word);
    assert_false(complete_is_plain((struct str){ "a\0b", 3 }));
}

TEST_MAIN()
