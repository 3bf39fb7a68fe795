/* The command line: a table of verbs, a dispatcher, and functions that print errors.
 *
 * A verb is a `const struct cli_verb` in a file of cli/, declared here and listed in main.c. Results go to
 * standard output; an error is one line on standard error. */
#ifndef BERTH_CLI_CLI_H
#define BERTH_CLI_CLI_H

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
};

struct flag;

/* The section of `berth help` that lists a verb. */
enum cli_group { CLI_OBJECTS, CLI_ANSWERS, CLI_SERVERS, CLI_DATA, CLI_TOOLS, CLI_GROUP_COUNT };

/* A list in a verb's help, for example the values of its first argument. Both end with a NULL. */
struct cli_term {
    const char *word;
    const char *text;
};
struct cli_list {
    const char *title;
    const struct cli_term *terms;
};

/* Texts are ASCII, since they also become manual pages, and have line ends only where noted. */
struct cli_verb {
    const char *name;
    enum cli_group group;
    const char *usage;            /* as typed, without "berth ": "help [COMMAND]" */
    const char *summary;          /* one line for `berth help`, without a period */
    const char *about;            /* more text, one paragraph per line; NULL for none */
    const struct cli_list *lists; /* NULL for none */
    const struct flag *flags;     /* flags.h; NULL for none */
    /* What shells complete as arguments: "TYPE" (types, then names), "TYPE/NAME" (followed by the allowed
     * types, if not all), "FILE", "COMMAND", or the words themselves; NULL for none. */
    const char *args;
    const char *examples; /* shell lines, each indented by two and ended by a line end; NULL for none */
    /* argv[0] is the verb. Returns the exit status, an enum cli_exit. Never called with `--help`. */
    int (*run)(const struct cli_verb *verb, int argc, char **argv);
};

/* Every verb of this program, NULL at the end. Defined in main.c; help reads it. */
extern const struct cli_verb *const cli_verbs[];

extern const struct cli_verb cli_verb_annotate;
extern const struct cli_verb cli_verb_apply;
extern const struct cli_verb cli_verb_backup;
extern const struct cli_verb cli_verb_bench;
extern const struct cli_verb cli_verb_check;
extern const struct cli_verb cli_verb_completion;
extern const struct cli_verb cli_verb_controllers;
extern const struct cli_verb cli_verb_create;
extern const struct cli_verb cli_verb_delete;
extern const struct cli_verb cli_verb_describe;
extern const struct cli_verb cli_verb_events;
extern const struct cli_verb cli_verb_get;
extern const struct cli_verb cli_verb_help;
extern const struct cli_verb cli_verb_kubeconfig;
extern const struct cli_verb cli_verb_label;
extern const struct cli_verb cli_verb_patch;
extern const struct cli_verb cli_verb_path;
extern const struct cli_verb cli_verb_restore;
extern const struct cli_verb cli_verb_node;
extern const struct cli_verb cli_verb_scheduler;
extern const struct cli_verb cli_verb_serve;
extern const struct cli_verb cli_verb_sim;
extern const struct cli_verb cli_verb_status;
extern const struct cli_verb cli_verb_top;
extern const struct cli_verb cli_verb_tree;
extern const struct cli_verb cli_verb_version;
extern const struct cli_verb cli_verb_wait;
extern const struct cli_verb cli_verb_why;

/* Called by shell completion; not listed. */
extern const struct cli_verb cli_verb_complete;

/* Runs the verb that argv names and returns the exit status of the process. */
int cli_main(int argc, char **argv);

/* NULL when no verb has that name. */
const struct cli_verb *cli_find_verb(const char *name);

/* Prints the text of `berth help VERB`; returns the exit status. */
int cli_print_verb(const struct cli_verb *verb);

/* Prints "berth: MESSAGE" on standard error, as one line whatever the arguments contain. Returns CLI_FAILED
 * (CLI_USAGE). */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Reports an unknown verb, with the closest name if there is one: "unknown command 'gte': did you mean
 * 'get'?", otherwise "…: see 'berth help'". */
int cli_fail_unknown_verb(const char *name);

/* For a verb without flags and with at most args_max arguments: CLI_OK, or CLI_USAGE after an error was
 * printed. */
int cli_check_args(const struct cli_verb *verb, int argc, char **argv, int args_max);

#endif
