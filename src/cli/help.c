/* `berth help`: lists the commands, or describes one. `berth version`: prints name and version. */
#include "cli/help.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/flags.h"
#include "io/env.h"

/* The rightmost column where descriptions of flags may begin; longer flags get a line of their own. */
#define HEAD_COLUMN_MAX 32

const char *const help_group_titles[CLI_GROUP_COUNT] = {
    [CLI_OBJECTS] = "Objects", [CLI_ANSWERS] = "Answers", [CLI_SERVERS] = "Control plane",
    [CLI_DATA] = "Data",       [CLI_TOOLS] = "Other",
};

/* --- Lines --- */

struct help_page {
    struct buf *out;
    size_t width;
    size_t column;       /* of the next character */
    size_t flags_column; /* where descriptions of flags begin */
};

static size_t count_characters(const char *text, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static void put_bytes(struct help_page *p, const char *text, size_t len)
{
    buf_add(p->out, text, len); /* the buffer records a failure */
    p->column += count_characters(text, len);
}

static void put_text(struct help_page *p, const char *text)
{
    put_bytes(p, text, strlen(text));
}

static void end_line(struct help_page *p)
{
    buf_add_char(p->out, '\n');
    p->column = 0;
}

static void go_to(struct help_page *p, size_t column)
{
    while (p->column < column)
        put_bytes(p, " ", 1);
}

/* Word by word; lines after the first begin at indent. Does not end the last line. */
static void put_words(struct help_page *p, const char *text, size_t indent)
{
    bool is_first = true;

    for (const char *at = text; *at;) {
        size_t len = strcspn(at, " ");

        if (!is_first && p->column + 1 + count_characters(at, len) > p->width) {
            end_line(p);
            go_to(p, indent);
        } else if (!is_first) {
            put_bytes(p, " ", 1);
        }
        put_bytes(p, at, len);
        is_first = false;
        at += len;
        at += strspn(at, " ");
    }
}

/* A term, and its description beside it, or below it if the term is too long. */
static void put_row(struct help_page *p, const char *head, size_t column, const char *text)
{
    go_to(p, 2);
    put_text(p, head);
    if (p->column + 2 > column)
        end_line(p);
    go_to(p, column);
    put_words(p, text, column);
    end_line(p);
}

static void put_title(struct help_page *p, const char *title)
{
    end_line(p);
    put_text(p, title);
    put_text(p, ":");
    end_line(p);
}

/* --- One verb --- */

void help_flag_head(const struct flag *f, char *ret, size_t bytes)
{
    char letter[8] = "";
    const char *before = f->type == FLAG_OPTIONAL ? "[=" : " ", *behind = f->type == FLAG_OPTIONAL ? "]" : "";

    if (f->letter)
        (void)snprintf(letter, sizeof letter, "-%c, ", f->letter);
    (void)snprintf(ret, bytes, "%s--%s%s%s%s", letter, f->name, f->value ? before : "",
                   f->value ? f->value : "", f->value ? behind : "");
}

void help_flag_text(const struct flag *f, const char *dashes, char *ret, size_t bytes)
{
    size_t used = (size_t)snprintf(ret, bytes, "%s", f->help);

    for (size_t i = 0; f->aliases[i] && used < bytes; i++)
        used +=
            (size_t)snprintf(ret + used, bytes - used, "%s%s%s", i ? ", " : "; also ", dashes, f->aliases[i]);
}

/* Aligns the names, with or without a letter. */
static void flag_head_aligned(const struct flag *f, char *ret, size_t bytes)
{
    char head[64];

    help_flag_head(f, head, sizeof head);
    (void)snprintf(ret, bytes, "%s%s", f->letter ? "" : "    ", head);
}

static size_t flags_column(const struct flag *flags)
{
    size_t column = 0;

    for (const struct flag *f = flags; f && f->name; f++) {
        char head[72];
        size_t end;

        flag_head_aligned(f, head, sizeof head);
        end = 2 + strlen(head) + 2;
        if (end > column && end <= HEAD_COLUMN_MAX)
            column = end;
    }
    return column;
}

void help_each_flag(const struct flag *flags, const struct help_flags *fns, void *ctx)
{
    const char *group = NULL;

    do {
        bool is_first = true; /* groups without flags have no title */

        for (const struct flag *f = flags; f && f->name; f++) {
            if (!flag_is_in_group(f, group))
                continue;
            if (is_first)
                fns->title(ctx, group);
            is_first = false;
            fns->row(ctx, f);
        }
    } while ((group = flags_group_after(flags, group)));
}

static void put_flags_title(void *ctx, const char *group)
{
    put_title(ctx, group ? group : "Flags");
}

static void put_flag(void *ctx, const struct flag *f)
{
    struct help_page *p = ctx;
    char head[72], text[HELP_FLAG_TEXT_BYTES];

    flag_head_aligned(f, head, sizeof head);
    help_flag_text(f, "--", text, sizeof text);
    put_row(p, head, p->flags_column, text);
}

static void put_list(struct help_page *p, const struct cli_list *list)
{
    size_t column = 0;

    for (const struct cli_term *t = list->terms; t->word; t++)
        if (2 + strlen(t->word) + 2 > column)
            column = 2 + strlen(t->word) + 2;
    put_title(p, list->title);
    for (const struct cli_term *t = list->terms; t->word; t++)
        put_row(p, t->word, column, t->text);
}

static void put_about(struct help_page *p, const char *about)
{
    for (const char *at = about; at && *at;) {
        char line[1024];
        size_t len = strcspn(at, "\n");

        (void)snprintf(line, sizeof line, "%.*s", (int)len, at);
        end_line(p);
        put_words(p, line, 0);
        end_line(p);
        at += len;
        at += *at == '\n' ? 1 : 0;
    }
}

void help_write_verb(const struct cli_verb *verb, size_t width, struct buf *out)
{
    struct help_page p = { .out = out, .width = width };

    put_text(&p, "Usage: berth ");
    put_words(&p, verb->usage, p.column);
    end_line(&p);
    end_line(&p);
    put_words(&p, verb->summary, 0);
    put_text(&p, ".");
    end_line(&p);
    put_about(&p, verb->about);
    for (const struct cli_list *l = verb->lists; l && l->title; l++)
        put_list(&p, l);
    p.flags_column = flags_column(verb->flags);
    help_each_flag(verb->flags, &(struct help_flags){ put_flags_title, put_flag }, &p);
    if (verb->examples) {
        put_title(&p, "Examples");
        buf_add_cstr(out, verb->examples);
    }
}

/* --- All verbs --- */

bool help_is_hidden(const struct cli_verb *verb)
{
    return verb->name[0] == '_';
}

void help_write_all(size_t width, struct buf *out)
{
    struct help_page p = { .out = out, .width = width };
    size_t column = 0;

    for (size_t i = 0; cli_verbs[i]; i++)
        if (!help_is_hidden(cli_verbs[i]) && 2 + strlen(cli_verbs[i]->name) + 2 > column)
            column = 2 + strlen(cli_verbs[i]->name) + 2;
    put_words(&p, "Berth: Kubernetes persistent volumes in one small program.", 0);
    end_line(&p);
    end_line(&p);
    put_words(&p, "Usage: berth COMMAND [ARGUMENT...]", 0);
    end_line(&p);
    for (unsigned g = 0; g < CLI_GROUP_COUNT; g++) {
        bool is_first = true;

        for (size_t i = 0; cli_verbs[i]; i++) {
            if ((unsigned)cli_verbs[i]->group != g || help_is_hidden(cli_verbs[i]))
                continue;
            if (is_first)
                put_title(&p, help_group_titles[g]);
            is_first = false;
            put_row(&p, cli_verbs[i]->name, column, cli_verbs[i]->summary);
        }
    }
    end_line(&p);
    put_words(&p, "See 'berth help COMMAND' for one command, with examples.", 0);
    end_line(&p);
}

/* --- The verb --- */

static size_t help_width(void)
{
    size_t width = io_stdout_is_terminal() ? io_stdout_columns() : 0;

    if (width == 0)
        return HELP_WIDTH;
    return width < HELP_WIDTH_MIN ? HELP_WIDTH_MIN : width;
}

static int print_help(struct buf *text)
{
    struct error err;

    if (buf_check(text, "the help", &err) < 0)
        return cli_fail("help: %s", err.msg);
    (void)fwrite(buf_cstr(text), 1, text->len, stdout); /* cli_main() checks for errors */
    return CLI_OK;
}

int cli_print_verb(const struct cli_verb *verb)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(HELP_BYTES_MAX);

    help_write_verb(verb, help_width(), &text);
    return print_help(&text);
}

struct settings {
    const char *reference;
};

static const struct flag help_flags[] = {
    FLAG_MAY_STAND_ALONE(struct settings, reference, "reference", "FORM", "markdown",
                         "print all commands as a document: markdown; man for the sections of berth(1), "
                         "settings for those of berth.conf(5)"),
    { 0 },
};

static int print_reference(const char *form)
{
    static const struct {
        const char *form;
        void (*write)(struct buf *out);
    } forms[] = {
        { "markdown", reference_write_markdown },
        { "man", reference_write_man },
        { "settings", reference_write_settings },
    };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(HELP_BYTES_MAX);

    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (strcmp(forms[i].form, form) == 0) {
            forms[i].write(&text);
            return print_help(&text);
        }
    }
    return cli_fail_usage("help: invalid --reference '%s': must be markdown, man or settings", form);
}

static int help_run(const struct cli_verb *verb, int argc, char **argv)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(HELP_BYTES_MAX);
    struct settings s = { 0 };
    const struct cli_verb *about;
    int args, r = flags_parse(verb, argc, argv, &s, &args);

    if (r != CLI_OK)
        return r;
    if (args > (s.reference ? 0 : 1))
        return cli_fail_usage("help: unexpected argument '%s': see 'berth help help'",
                              argv[s.reference ? 1 : 2]);
    if (s.reference)
        return print_reference(s.reference);
    if (args == 0) {
        help_write_all(help_width(), &text);
        return print_help(&text);
    }
    about = cli_find_verb(argv[1]);
    return about ? cli_print_verb(about) : cli_fail_unknown_verb(argv[1]);
}

const struct cli_verb cli_verb_help = {
    .name = "help",
    .group = CLI_TOOLS,
    .usage = "help [COMMAND] | --reference[=FORM]",
    .summary = "List the commands, or explain one",
    .flags = help_flags,
    .examples = "  berth help              # all commands\n  berth help get          # one, with its flags "
                "and examples\n  berth get --help        # the same\n  berth help --reference  # everything, "
                "in Markdown\n",
    .args = "COMMAND",
    .run = help_run,
};

static int version_run(const struct cli_verb *verb, int argc, char **argv)
{
    int r = cli_check_args(verb, argc, argv, /* args_max= */ 0);

    if (r != CLI_OK)
        return r;
    printf("berth %s\n", BERTH_VERSION);
    return CLI_OK;
}

const struct cli_verb cli_verb_version = {
    .name = "version",
    .group = CLI_TOOLS,
    .usage = "version",
    .summary = "Print the version",
    .examples = "  berth version\n",
    .run = version_run,
};
