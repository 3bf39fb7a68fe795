/* The command line: a table of verbs, a dispatcher, and one way to complain.
 *
 * A verb is a file in cli/ that defines one `const struct cli_verb`, declared here and listed in main.c.
 * Results go to standard output; a complaint is one line on standard error. */
#ifndef BERTH_CLI_CLI_H
#define BERTH_CLI_CLI_H

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
};

struct flag;

/* Where `berth help` lists a verb. */
enum cli_group { CLI_OBJECTS, CLI_ANSWERS, CLI_SERVERS, CLI_DATA, CLI_TOOLS, CLI_GROUP_COUNT };

/* A list in a verb's help: what its first argument may be, and the like. Both end with a NULL. */
struct cli_term {
    const char *word;
    const char *text;
};
struct cli_list {
    const char *title;
    const struct cli_term *terms;
};

/* Texts are ASCII, since they become manual pages too, and have no line ends but where it says so. */
struct cli_verb {
    const char *name;
    enum cli_group group;
    const char *usage;            /* as typed, without "berth ": "help [COMMAND]" */
    const char *summary;          /* one line for `berth help`, without a full stop */
    const char *about;            /* more of it, a paragraph a line; NULL for none */
    const struct cli_list *lists; /* NULL for none */
    const struct flag *flags;     /* flags.h; NULL for none */
    /* What its arguments are, for shells that complete them: "TYPE" (types, then names), "TYPE/NAME" (behind
     * it the types, when not all will do), "FILE", "COMMAND", or the words themselves; NULL for none. */
    const char *args;
    const char *examples; /* for a shell: lines, each indented by two and ended; NULL for none */
    /* argv[0] is the verb itself. Returns the exit status, an enum cli_exit. `--help` never arrives here. */
    int (*run)(int argc, char **argv);
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

/* What shells ask for candidates; in no list. */
extern const struct cli_verb cli_verb_complete;

/* Runs the verb that argv names and returns the process's exit status. */
int cli_main(int argc, char **argv);

/* NULL when there is none of that name. */
const struct cli_verb *cli_find_verb(const char *name);

/* What `berth help VERB` says, on standard output; returns the exit status. */
int cli_print_verb(const struct cli_verb *verb);

/* "berth: MESSAGE" on standard error, in one line whatever stands in the arguments. Returns CLI_FAILED
 * (CLI_USAGE). */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int cli_fail_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Wrong usage with a name that there is none of, and the one that was meant, as far as that can be guessed:
 * "unknown command 'gte': did you mean 'get'?", else "…: see 'berth help'". */
int cli_fail_unknown_verb(const char *name);

/* For a verb that takes at most args_max arguments and no flags: CLI_OK, or CLI_USAGE with the complaint
 * made. */
int cli_check_args(const struct cli_verb *verb, int argc, char **argv, int args_max);

#endif
