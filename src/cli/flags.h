/* The flags of a verb, as a table: `--name VALUE`, `--name=VALUE`, or `--name` for a switch; flags with a
 * letter also `-n VALUE`, `-nVALUE`, `-n=VALUE` and, for switches, several in one: `-wA`.
 *
 * The same table parses the command line, reads the settings file and is printed by `berth help VERB`, so
 * that they always agree. */
#ifndef BERTH_CLI_FLAGS_H
#define BERTH_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

enum flag_type {
    FLAG_TEXT,
    FLAG_SWITCH,
    FLAG_LIST,     /* may be repeated */
    FLAG_OPTIONAL, /* `--name` without a value means .alone */
};

/* The values of a flag that may be repeated. */
#define FLAG_VALUES_MAX 256
struct flag_values {
    const char *items[FLAG_VALUES_MAX];
    size_t count;
};

/* Groups that several verbs have. */
#define FLAGS_SERVER "Server selection"
#define FLAGS_LOG "Log"

#define FLAG_ALIASES_MAX 2

struct flag {
    const char *name;                          /* without the dashes */
    const char *aliases[FLAG_ALIASES_MAX + 1]; /* other accepted names; NULL after the last */
    enum flag_type type;
    char letter;       /* 0: none */
    const char *group; /* its heading in the help; NULL: "Flags" */
    const char *value; /* placeholder for the value in the help: "DIR"; NULL for a switch */
    const char *help;
    /* Offset in the verb's settings: of a const char *, a bool or a struct flag_values. */
    size_t offset;
    const char *alone; /* for FLAG_OPTIONAL */
};

/* A table ends with a NULL name. */
#define FLAG_OF(type_, settings, field, name_, help_, ...)                                                  \
    {                                                                                                       \
        .name = (name_), .type = (type_), .help = (help_), .offset = offsetof(settings, field), __VA_ARGS__ \
    }
#define FLAG(settings, field, name, value_, help) \
    FLAG_OF(FLAG_TEXT, settings, field, name, help, .value = (value_))
#define FLAG_ON(settings, field, name, help) FLAG_OF(FLAG_SWITCH, settings, field, name, help, .value = NULL)
/* The same in a separate group. */
#define FLAG_IN(group_, settings, field, name, value_, help) \
    FLAG_OF(FLAG_TEXT, settings, field, name, help, .value = (value_), .group = (group_))
#define FLAG_ON_IN(group_, settings, field, name, help) \
    FLAG_OF(FLAG_SWITCH, settings, field, name, help, .group = (group_))
/* With a letter; and kinds of flags that only the client verbs have. */
#define FLAG_SHORT(settings, field, letter_, name, value_, help) \
    FLAG_OF(FLAG_TEXT, settings, field, name, help, .value = (value_), .letter = (letter_))
#define FLAG_SHORT_ON(settings, field, letter_, name, help) \
    FLAG_OF(FLAG_SWITCH, settings, field, name, help, .letter = (letter_))
#define FLAG_MANY(settings, field, letter_, name, value_, help) \
    FLAG_OF(FLAG_LIST, settings, field, name, help, .value = (value_), .letter = (letter_))
#define FLAG_MAY_STAND_ALONE(settings, field, name, value_, alone_, help) \
    FLAG_OF(FLAG_OPTIONAL, settings, field, name, help, .value = (value_), .alone = (alone_))

/* The groups of a table in the order of their first flags: the one after `group`, NULL at the end. Flags
 * without a group come first: their group is NULL. */
const char *flags_group_after(const struct flag *flags, const char *group);
bool flag_is_in_group(const struct flag *f, const char *group);

/* NULL when the table has no such name, alias or letter. */
const struct flag *flag_find(const struct flag *flags, struct str name);
const struct flag *flag_of_letter(const struct flag *flags, char letter);
/* True when the next argument is its value, unless it follows an '='. */
bool flag_needs_value(const struct flag *f);

struct cli_verb;

/* Fills in settings. Arguments that are not flags are moved to the front of argv (after argv[0]) and counted
 * in *ret_args; NULL: the verb takes no arguments. Returns CLI_OK, or CLI_USAGE after an error was printed.
 * The last value of a repeated flag counts, unless it is a list. */
int flags_parse(const struct cli_verb *verb, int argc, char **argv, void *settings, int *ret_args);

/* Sets one flag by name, as a settings file does, unless it is already set. ERR_INVALID for an unknown flag,
 * or a switch that is neither "true" nor "false". The value is borrowed. */
int flags_set_default(const struct flag *flags, void *settings, const char *name, const char *value,
                      struct error *err);

#endif
