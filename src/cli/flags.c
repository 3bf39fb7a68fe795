/* Parses the command line of a verb with its table of flags, and suggests a flag for an unknown one. */
#include "cli/flags.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/suggest.h"

const struct flag *flag_find(const struct flag *flags, struct str name)
{
    for (const struct flag *f = flags; f && f->name; f++) {
        if (str_is(name, f->name))
            return f;
        for (const char *const *alias = f->aliases; *alias; alias++)
            if (str_is(name, *alias))
                return f;
    }
    return NULL;
}

const struct flag *flag_of_letter(const struct flag *flags, char letter)
{
    for (const struct flag *f = flags; f && f->name; f++)
        if (f->letter == letter)
            return f;
    return NULL;
}

bool flag_is_in_group(const struct flag *f, const char *group)
{
    return group && f->group ? strcmp(f->group, group) == 0 : group == f->group;
}

const char *flags_group_after(const struct flag *flags, const char *group)
{
    bool is_behind = group == NULL;

    for (const struct flag *f = flags; f && f->name; f++) {
        const struct flag *first = flags;

        while (!flag_is_in_group(first, f->group))
            first++;
        if (!f->group || first != f)
            continue;
        if (is_behind)
            return f->group;
        is_behind = flag_is_in_group(f, group);
    }
    return NULL;
}

static void *flag_place(const struct flag *f, void *settings)
{
    return (char *)settings + f->offset;
}

static void set_text(const struct flag *f, void *settings, const char *value)
{
    memcpy(flag_place(f, settings), &value, sizeof value);
}

static void set_switch(const struct flag *f, void *settings, bool value)
{
    memcpy(flag_place(f, settings), &value, sizeof value);
}

/* value: the text after '=', or the next argument for flags that need one. */
static int set_value(const struct cli_verb *verb, const struct flag *f, void *settings, const char *value)
{
    struct flag_values *list;

    if (f->type == FLAG_SWITCH) {
        if (value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return cli_fail_usage("%s: --%s takes no value, or true or false", verb->name, f->name);
        set_switch(f, settings, !value || strcmp(value, "true") == 0);
    } else if (f->type == FLAG_LIST) {
        list = flag_place(f, settings);
        if (list->count == FLAG_VALUES_MAX)
            return cli_fail_usage("%s: --%s is given more than %d times", verb->name, f->name,
                                  FLAG_VALUES_MAX);
        list->items[list->count++] = value;
    } else {
        set_text(f, settings, value ? value : f->alone);
    }
    return CLI_OK;
}

bool flag_needs_value(const struct flag *f)
{
    return f->type == FLAG_TEXT || f->type == FLAG_LIST;
}

/* Returns the number of arguments used, or -1 after an error was printed. */
static int take_value(const struct cli_verb *verb, const struct flag *f, const char *value,
                      const char *next_argument, void *settings)
{
    int taken = 1;

    if (!value && flag_needs_value(f)) {
        if (!next_argument) {
            (void)cli_fail_usage("%s: --%s requires a value (%s): see 'berth help %s'", verb->name, f->name,
                                 f->value, verb->name);
            return -1;
        }
        value = next_argument;
        taken = 2;
    }
    return set_value(verb, f, settings, value) == CLI_OK ? taken : -1;
}

static const char *suggest_flag(const struct flag *flags, const char *typed)
{
    struct suggestion s = { .typed = typed };

    for (const struct flag *f = flags; f && f->name; f++) {
        suggestion_consider(&s, f->name);
        for (const char *const *alias = f->aliases; *alias; alias++)
            suggestion_consider(&s, *alias);
    }
    return s.best;
}

/* Names of the same setting in other programs. */
static const struct {
    const char *typed;
    const char *name;
} foreign_names[] = {
    { "--port", "listen" },
    { "--address", "listen" },
    { "--bind", "listen" },
    { "--bind-address", "listen" },
    { "--secure-port", "listen" },
    { "--datadir", "data" },
    { "--data-dir", "data" },
    { "-d", "data" },
    { "--hostname-override", "node-name" },
    { "--root-dir", "root" },
    { "--server", "kubeconfig" },
    { "-s", "kubeconfig" },
    { "--v", "log-level" },
    { "-v", "log-level" },
    { "--verbose", "log-level" },
    { "--debug", "log-level" },
    { "--from-literal", "filename" },
    { "--from-file", "filename" },
};

/* name: without dashes; NULL for a single letter, for which nothing is suggested. */
static int complain_unknown(const struct cli_verb *verb, const char *argument, const char *name)
{
    const char *best = name ? suggest_flag(verb->flags, name) : NULL;
    struct str typed = { argument, strcspn(argument, "=") };
    const struct flag *meant = NULL;

    for (size_t i = 0; i < ARRAY_LEN(foreign_names) && !meant; i++)
        if (str_is(typed, foreign_names[i].typed))
            meant = flag_find(verb->flags, str_of(foreign_names[i].name));
    if (meant)
        (void)cli_fail_usage("%s: unknown flag '%s': did you mean '--%s %s'?", verb->name, argument,
                             meant->name, meant->value);
    else if (best)
        (void)cli_fail_usage("%s: unknown flag '%s': did you mean '--%s'?", verb->name, argument, best);
    else
        (void)cli_fail_usage("%s: unknown flag '%s': see 'berth help %s'", verb->name, argument, verb->name);
    return -1;
}

/* `-n VALUE`, `-nVALUE`, `-wA`. */
static int parse_letters(const struct cli_verb *verb, const char *argument, const char *next_argument,
                         void *settings)
{
    for (const char *at = argument + 1; *at; at++) {
        const struct flag *f = flag_of_letter(verb->flags, *at);
        const char *rest = at + 1;

        if (!f)
            return complain_unknown(verb, argument, argument[2] ? argument + 1 : NULL);
        if (f->type != FLAG_SWITCH || *rest == '=' || !*rest) {
            rest += *rest == '=' ? 1 : 0;
            return take_value(verb, f, *rest || at[1] ? rest : NULL, next_argument, settings);
        }
        set_switch(f, settings, true);
    }
    return 1;
}

/* One flag with its value, or some letters; returns the number of arguments used, or -1 after an error was
 * printed. */
static int parse_one(const struct cli_verb *verb, int argc, char **argv, int at, void *settings)
{
    const char *name = argv[at] + 2, *equals, *next = at + 1 < argc ? argv[at + 1] : NULL;
    const struct flag *f;

    if (argv[at][1] != '-')
        return parse_letters(verb, argv[at], next, settings);
    equals = strchr(name, '=');
    f = flag_find(verb->flags, (struct str){ name, equals ? (size_t)(equals - name) : strlen(name) });
    if (!f)
        return complain_unknown(verb, argv[at], name);
    return take_value(verb, f, equals ? equals + 1 : NULL, next, settings);
}

int flags_parse(const struct cli_verb *verb, int argc, char **argv, void *settings, int *ret_args)
{
    int args = 0;
    bool is_over = false; /* after "--": no more flags */

    for (int i = 1; i < argc;) {
        if (!is_over && strcmp(argv[i], "--") == 0) {
            is_over = true;
            i++;
        } else if (is_over || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[1 + args++] = argv[i++];
        } else {
            int taken = parse_one(verb, argc, argv, i, settings);

            if (taken < 0)
                return CLI_USAGE;
            i += taken;
        }
    }
    if (!ret_args && args)
        return cli_fail_usage("%s: unexpected argument '%s': see 'berth help %s'", verb->name, argv[1],
                              verb->name);
    if (ret_args)
        *ret_args = args;
    return CLI_OK;
}

int flags_set_default(const struct flag *flags, void *settings, const char *name, const char *value,
                      struct error *err)
{
    const struct flag *f = flag_find(flags, str_of(name));
    const char *text;
    bool is_on;

    if (!f && suggest_flag(flags, name))
        return error_set(err, ERR_INVALID, "unknown setting '%s': did you mean '%s'?", name,
                         suggest_flag(flags, name));
    if (!f)
        return error_set(err, ERR_INVALID, "unknown setting '%s'", name);
    if (f->type == FLAG_LIST) { /* a file has one value, which may hold several */
        struct flag_values *values = flag_place(f, settings);

        if (values->count == 0)
            values->items[values->count++] = value;
        return 0;
    }
    if (f->type != FLAG_SWITCH) {
        memcpy(&text, flag_place(f, settings), sizeof text);
        if (!text)
            set_text(f, settings, value);
        return 0;
    }
    memcpy(&is_on, flag_place(f, settings), sizeof is_on);
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return error_set(err, ERR_INVALID, "setting '%s' is '%s': must be true or false", name, value);
    set_switch(f, settings, is_on || strcmp(value, "true") == 0);
    return 0;
}
