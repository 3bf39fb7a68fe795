/* Flags of a verb, as a table: `--name VALUE`, `--name=VALUE`, or `--name` alone for a switch; where a flag
 * has a letter also `-n VALUE`, `-nVALUE`, `-n=VALUE` and, for switches, several in one: `-wA`.
 *
 * The same table parses the command line, reads a file of settings and is what `berth help VERB` prints, so
 * that none of them can know a flag that the others do not. */
#ifndef BERTH_CLI_FLAGS_H
#define BERTH_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

enum flag_type {
    FLAG_TEXT,
    FLAG_SWITCH,
    FLAG_LIST,     /* may come several times */
    FLAG_OPTIONAL, /* `--name` alone stands for a value: .alone */
};

/* What a flag that may come several times was given. */
#define FLAG_VALUES_MAX 256
struct flag_values {
    const char *items[FLAG_VALUES_MAX];
    size_t count;
};

/* Groups that several verbs have. */
#define FLAGS_SERVER "Which server"
#define FLAGS_LOG "Log"

#define FLAG_ALIASES_MAX 2

struct flag {
    const char *name;                          /* without the dashes */
    const char *aliases[FLAG_ALIASES_MAX + 1]; /* other names that are accepted; NULL behind the last */
    enum flag_type type;
    char letter;       /* 0: it has none */
    const char *group; /* the head in the help under which it stands; NULL: "Flags" */
    const char *value; /* what stands for the value in the help: "DIR"; NULL for a switch */
    const char *help;
    /* Where in the verb's struct of settings it goes: a const char *, a bool or a struct flag_values. */
    size_t offset;
    const char *alone; /* of FLAG_OPTIONAL */
};

/* A table ends with a NULL name. */
#define FLAG(settings, field, name_, value_, help_)                             \
    {                                                                           \
        .name = (name_), .type = FLAG_TEXT, .value = (value_), .help = (help_), \
        .offset = offsetof(settings, field)                                     \
    }
#define FLAG_ON(settings, field, name_, help_)                                                     \
    {                                                                                              \
        .name = (name_), .type = FLAG_SWITCH, .help = (help_), .offset = offsetof(settings, field) \
    }
/* The same in a group of their own. */
#define FLAG_IN(group_, settings, field, name_, value_, help_)                                     \
    {                                                                                              \
        .name = (name_), .type = FLAG_TEXT, .group = (group_), .value = (value_), .help = (help_), \
        .offset = offsetof(settings, field)                                                        \
    }
#define FLAG_ON_IN(group_, settings, field, name_, help_)                         \
    {                                                                             \
        .name = (name_), .type = FLAG_SWITCH, .group = (group_), .help = (help_), \
        .offset = offsetof(settings, field)                                       \
    }
/* With a letter, and those that only the verbs for people have. */
#define FLAG_SHORT(settings, field, letter_, name_, value_, help_)                                   \
    {                                                                                                \
        .name = (name_), .type = FLAG_TEXT, .letter = (letter_), .value = (value_), .help = (help_), \
        .offset = offsetof(settings, field)                                                          \
    }
#define FLAG_SHORT_ON(settings, field, letter_, name_, help_)                       \
    {                                                                               \
        .name = (name_), .type = FLAG_SWITCH, .letter = (letter_), .help = (help_), \
        .offset = offsetof(settings, field)                                         \
    }
#define FLAG_MANY(settings, field, letter_, name_, value_, help_)                                    \
    {                                                                                                \
        .name = (name_), .type = FLAG_LIST, .letter = (letter_), .value = (value_), .help = (help_), \
        .offset = offsetof(settings, field)                                                          \
    }
#define FLAG_MAY_STAND_ALONE(settings, field, name_, value_, alone_, help_)                            \
    {                                                                                                  \
        .name = (name_), .type = FLAG_OPTIONAL, .value = (value_), .help = (help_), .alone = (alone_), \
        .offset = offsetof(settings, field)                                                            \
    }

/* The groups of a table in the order in which they begin: the one behind that group, NULL at the end. The
 * flags without one come first: their group is NULL. */
const char *flags_group_after(const struct flag *flags, const char *group);
bool flag_is_in_group(const struct flag *f, const char *group);

/* NULL when the table has none of that name or alias, or letter. */
const struct flag *flag_find(const struct flag *flags, struct str name);
const struct flag *flag_of_letter(const struct flag *flags, char letter);
/* True when the next argument is its value, unless there is one behind an '='. */
bool flag_needs_value(const struct flag *f);

struct cli_verb;

/* Fills in settings. What is no flag is moved to the front of argv (behind argv[0]) and counted in
 * *ret_args. Returns CLI_OK, or CLI_USAGE with the complaint made. A flag given twice takes the last value,
 * unless it may come several times.
 */
int flags_parse(const struct cli_verb *verb, int argc, char **argv, void *settings, int *ret_args);

/* Sets one flag by its name, as a file of settings does, unless it is set already. ERR_INVALID for a flag
 * that there is none of, or a switch that is not "true" or "false". The value is borrowed. */
int flags_set_default(const struct flag *flags, void *settings, const char *name, const char *value,
                      struct error *err);

#endif
