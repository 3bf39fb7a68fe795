/* The commands as documents: docs/reference.md, and the parts of the manual pages that tell of commands and
 * settings. The texts are those of the help, so that no document can know a flag that the program does not.
 *
 * In Markdown and in roff some characters mean something: what comes from the tables is written so that it
 * comes out as it is. */
#include "cli/help.h"

#include <stdbool.h>
#include <string.h>

#include "cli/flags.h"

/* Calls line() with each line of a text, its indent left out. */
static void each_line(const char *text, size_t indent, struct buf *out,
                      void (*line)(struct str text, struct buf *out))
{
    struct str rest = str_of(text ? text : "");

    while (rest.len) {
        struct str l = str_next(&rest, '\n');
        size_t skipped = l.len < indent ? l.len : indent;

        line((struct str){ l.s + skipped, l.len - skipped }, out);
    }
}

/* --- Markdown --- */

static void md_text(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        if (memchr("\\|*_<~`[", text.s[i], 8))
            buf_add_char(out, '\\'); /* a failure sticks */
        buf_add_char(out, text.s[i]);
    }
}

/* In a table a bar would end the cell, also inside of code. */
static void md_code(const char *text, struct buf *out)
{
    buf_add_char(out, '`');
    for (const char *at = text; *at; at++) {
        if (*at == '|')
            buf_add_char(out, '\\');
        buf_add_char(out, *at);
    }
    buf_add_char(out, '`');
}

static void md_row(const char *head, const char *text, struct buf *out)
{
    buf_add_cstr(out, "| ");
    md_code(head, out);
    buf_add_cstr(out, " | ");
    md_text(str_of(text), out);
    buf_add_cstr(out, " |\n");
}

static void md_group(const struct flag *flags, const char *group, struct buf *out)
{
    bool is_first = true;

    for (const struct flag *f = flags; f && f->name; f++) {
        char head[64], text[HELP_FLAG_TEXT_BYTES];

        if (!flag_is_in_group(f, group))
            continue;
        if (is_first)
            buf_addf(out, "\n| %s | |\n| --- | --- |\n", group ? group : "Flags");
        is_first = false;
        help_flag_head(f, head, sizeof head);
        help_flag_text(f, "--", text, sizeof text);
        md_row(head, text, out);
    }
}

static void md_paragraph(struct str text, struct buf *out)
{
    buf_add_char(out, '\n');
    md_text(text, out);
    buf_add_char(out, '\n');
}

static void md_line(struct str text, struct buf *out)
{
    buf_add_str(out, text);
    buf_add_char(out, '\n');
}

static void md_verb(const struct cli_verb *v, struct buf *out)
{
    buf_addf(out, "\n## berth %s\n\n", v->name);
    md_text(str_of(v->summary), out);
    buf_addf(out, ".\n\n```\nberth %s\n```\n", v->usage);
    each_line(v->about, 0, out, md_paragraph);
    for (const struct cli_list *l = v->lists; l && l->title; l++) {
        buf_addf(out, "\n| %s | |\n| --- | --- |\n", l->title);
        for (const struct cli_term *t = l->terms; t->word; t++)
            md_row(t->word, t->text, out);
    }
    md_group(v->flags, NULL, out);
    for (const char *g = NULL; (g = flags_group_after(v->flags, g));)
        md_group(v->flags, g, out);
    if (v->examples) {
        buf_add_cstr(out, "\nExamples:\n\n```sh\n");
        each_line(v->examples, 2, out, md_line);
        buf_add_cstr(out, "```\n");
    }
}

void reference_write_markdown(struct buf *out)
{
    buf_add_cstr(out, "# The commands of Berth\n\n"
                      "Made by `make docs` from the program's own tables: change those, not this page. "
                      "`berth help COMMAND` says the same.\n");
    for (unsigned g = 0; g < CLI_GROUP_COUNT; g++) {
        buf_addf(out, "\n| %s | |\n| --- | --- |\n", help_group_titles[g]);
        for (size_t i = 0; cli_verbs[i]; i++) {
            const struct cli_verb *v = cli_verbs[i];

            if ((unsigned)v->group != g || help_is_hidden(v))
                continue;
            buf_addf(out, "| [%s](#berth-%s) | ", v->name, v->name);
            md_text(str_of(v->summary), out);
            buf_add_cstr(out, " |\n");
        }
    }
    for (unsigned g = 0; g < CLI_GROUP_COUNT; g++)
        for (size_t i = 0; cli_verbs[i]; i++)
            if ((unsigned)cli_verbs[i]->group == g && !help_is_hidden(cli_verbs[i]))
                md_verb(cli_verbs[i], out);
}

/* --- Manual pages --- */

/* Quotes, dashes and the like as they are typed: what people copy from a page must still work. */
static void man_text(struct str text, struct buf *out)
{
    static const struct {
        char c;
        const char *roff;
    } table[] = {
        { '\\', "\\e" },  { '-', "\\-" },   { '\'', "\\(aq" },
        { '`', "\\(ga" }, { '^', "\\(ha" }, { '~', "\\(ti" },
    };

    if (text.len && (text.s[0] == '.' || text.s[0] == '\''))
        buf_add_cstr(out, "\\&"); /* no request */
    for (size_t i = 0; i < text.len; i++) {
        const char *roff = NULL;

        for (size_t k = 0; k < sizeof table / sizeof *table; k++)
            roff = table[k].c == text.s[i] ? table[k].roff : roff;
        if (roff)
            buf_add_cstr(out, roff);
        else
            buf_add_char(out, text.s[i]);
    }
}

/* What is typed as it stands is bold: the words in lower case with dashes before them. The rest are names for
 * what one fills in. */
static void man_head(const struct flag *f, struct buf *out)
{
    const char *before = f->type == FLAG_OPTIONAL ? "[=" : " ", *behind = f->type == FLAG_OPTIONAL ? "]" : "";

    if (f->letter)
        buf_addf(out, "\\fB\\-%c\\fR, ", f->letter);
    buf_add_cstr(out, "\\fB\\-\\-");
    man_text(str_of(f->name), out);
    buf_add_cstr(out, "\\fR");
    if (!f->value)
        return;
    buf_addf(out, "%s\\fI", before);
    man_text(str_of(f->value), out);
    buf_addf(out, "\\fR%s", behind);
}

static void man_line(struct str text, struct buf *out)
{
    man_text(text, out);
    buf_add_char(out, '\n');
}

static void man_paragraph(struct str text, struct buf *out)
{
    buf_add_cstr(out, ".PP\n");
    man_line(text, out);
}

static void man_title(const char *title, struct buf *out)
{
    buf_add_cstr(out, ".PP\n");
    man_text(str_of(title), out);
    buf_add_cstr(out, ":\n");
}

static void man_group(const struct flag *flags, const char *group, struct buf *out)
{
    bool is_first = true;

    for (const struct flag *f = flags; f && f->name; f++) {
        char text[HELP_FLAG_TEXT_BYTES];

        if (!flag_is_in_group(f, group))
            continue;
        if (is_first && group)
            man_title(group, out);
        is_first = false;
        buf_add_cstr(out, ".TP\n");
        man_head(f, out);
        buf_add_char(out, '\n');
        help_flag_text(f, "--", text, sizeof text);
        man_line(str_of(text), out);
    }
}

static void man_list(const struct cli_list *list, struct buf *out)
{
    man_title(list->title, out);
    for (const struct cli_term *t = list->terms; t->word; t++) {
        buf_add_cstr(out, ".TP\n\\fB");
        man_text(str_of(t->word), out);
        buf_add_cstr(out, "\\fR\n");
        man_line(str_of(t->text), out);
    }
}

static void man_verb(const struct cli_verb *v, struct buf *out)
{
    buf_addf(out, ".SS berth %s\n", v->name);
    man_text(str_of(v->summary), out);
    buf_add_cstr(out, ".\n.PP\n\\fBberth\\fR ");
    man_line(str_of(v->usage), out);
    each_line(v->about, 0, out, man_paragraph);
    for (const struct cli_list *l = v->lists; l && l->title; l++)
        man_list(l, out);
    man_group(v->flags, NULL, out);
    for (const char *g = NULL; (g = flags_group_after(v->flags, g));)
        man_group(v->flags, g, out);
    if (v->examples) {
        buf_add_cstr(out, ".PP\nExamples:\n.PP\n.in +4n\n.nf\n");
        each_line(v->examples, 2, out, man_line);
        buf_add_cstr(out, ".fi\n.in\n");
    }
}

void reference_write_man(struct buf *out)
{
    buf_add_cstr(out, ".SH COMMANDS\n");
    for (unsigned g = 0; g < CLI_GROUP_COUNT; g++)
        for (size_t i = 0; cli_verbs[i]; i++)
            if ((unsigned)cli_verbs[i]->group == g && !help_is_hidden(cli_verbs[i]))
                man_verb(cli_verbs[i], out);
}

static void man_settings(const struct flag *flags, const char *group, struct buf *out)
{
    if (group)
        buf_addf(out, ".SS %s\n", group);
    for (const struct flag *f = flags; f && f->name; f++) {
        char text[HELP_FLAG_TEXT_BYTES];

        /* The file cannot name another one. */
        if (!flag_is_in_group(f, group) || strcmp(f->name, "config") == 0)
            continue;
        buf_add_cstr(out, ".TP\n\\fB");
        man_text(str_of(f->name), out);
        buf_add_cstr(out, ":\\fR \\fI");
        man_text(str_of(f->value ? f->value : "true|false"), out);
        buf_add_cstr(out, "\\fR\n");
        help_flag_text(f, "", text, sizeof text);
        man_line(str_of(text), out);
    }
}

void reference_write_settings(struct buf *out)
{
    const struct flag *flags = cli_verb_serve.flags;

    buf_add_cstr(out, ".SH SETTINGS\n");
    man_settings(flags, NULL, out);
    for (const char *g = NULL; (g = flags_group_after(flags, g));)
        man_settings(flags, g, out);
}
