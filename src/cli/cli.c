/* Finds the verb on the command line and runs it; prints errors and suggests a verb for a misspelt one.
 *
 * An error is always one line, whatever the arguments contain. */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "api/object.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/session.h"
#include "cli/suggest.h"
#include "io/status_line.h"

#define USAGE_BYTES_MAX 512 /* limit for an error about arguments, which may have any length */
#define COMMAND_BYTES_MAX 1024

/* Flags that users often try as a verb. */
static const struct {
    const char *flag;
    const char *verb;
} cli_flags[] = {
    { "--help", "help" },
    { "-h", "help" },
    { "--version", "version" },
};

const struct cli_verb *cli_find_verb(const char *name)
{
    for (size_t i = 0; cli_verbs[i]; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

__attribute__((format(printf, 2, 0))) static int cli_complain(enum cli_exit status, const char *fmt,
                                                              va_list args)
{
    char line[ERROR_MSG_BYTES_MAX], usage[USAGE_BYTES_MAX];
    struct buf shown = BUF_ON(usage, sizeof usage);
    int n = vsnprintf(line, sizeof line, fmt, args);

    if (n < 0)
        line[0] = '\0';
    /* Arguments are quoted as given: control characters must not break the line or move the cursor. */
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            *c = '?';
    buf_add_ends(&shown, str_of(line), sizeof usage - 1);
    status_line_clear();
    (void)fprintf(stderr, "berth: %s\n", status == CLI_USAGE ? buf_cstr(&shown) : line);
    return (int)status;
}

int cli_fail(const char *fmt, ...)
{
    va_list args;
    int status;

    va_start(args, fmt);
    status = cli_complain(CLI_FAILED, fmt, args);
    va_end(args);
    return status;
}

int cli_fail_usage(const char *fmt, ...)
{
    va_list args;
    int status;

    va_start(args, fmt);
    status = cli_complain(CLI_USAGE, fmt, args);
    va_end(args);
    return status;
}

/* Verbs that only kubectl has. */
static const char *const kubectl_verbs[] = {
    "api-resources", "api-versions", "attach",  "auth",      "autoscale", "certificate", "cluster-info",
    "config",        "cordon",       "cp",      "debug",     "diff",      "drain",       "edit",
    "exec",          "explain",      "expose",  "kustomize", "logs",      "plugin",      "port-forward",
    "proxy",         "replace",      "rollout", "scale",     "set",       "taint",       "uncordon",
};

static bool kubectl_has_verb(const char *name)
{
    return name_index(str_of(name), kubectl_verbs, (int)ARRAY_LEN(kubectl_verbs), -1) >= 0;
}

/* Quotes a word so that a shell reads it back unchanged. */
static void add_word(struct buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+";

    buf_add_cstr(out, " ");
    if (word[0] && strspn(word, plain) == strlen(word)) {
        buf_add_cstr(out, word);
        return;
    }
    buf_add_cstr(out, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            buf_add_cstr(out, "'\\''");
        else
            buf_add_char(out, *c);
    buf_add_cstr(out, "'");
}

/* For `berth edit pvc data`: "berth: 'edit' is a command of kubectl: kubectl --kubeconfig DATA/kubeconfig
 * edit pvc data". Returns CLI_USAGE. argv[0] is the verb. */
static int kubectl_say_command(int argc, char **argv)
{
    _cleanup_(buf_done) struct buf command = BUF_INIT(COMMAND_BYTES_MAX);
    struct session_settings settings = { 0 };
    char file[PATH_MAX];
    struct error err;

    buf_add_cstr(&command, "kubectl");
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--data") == 0)
            settings.data = argv[i + 1];
    if (session_kubeconfig(&settings, file, &err)) {
        buf_add_cstr(&command, " --kubeconfig");
        add_word(&command, file);
    }
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
            i++;
        else
            add_word(&command, argv[i]);
    }
    if (command.failed)
        return cli_fail_usage("'%s' is a command of kubectl", argv[0]);
    return cli_fail_usage("'%s' is a command of kubectl: %s", argv[0], buf_cstr(&command));
}

int cli_fail_unknown_verb(const char *name)
{
    /* Names that other programs use for the verb that starts them. */
    static const char *const starters[] = { "start", "up", "run", "daemon", "server" };
    struct suggestion s = { .typed = name };

    if (name_index(str_of(name), starters, (int)ARRAY_LEN(starters), -1) >= 0)
        return cli_fail_usage("unknown command '%s': 'berth serve' starts the server", name);
    if (kubectl_has_verb(name))
        return cli_fail_usage("unknown command '%s': it is a kubectl command", name);
    for (size_t i = 0; cli_verbs[i]; i++)
        suggestion_consider(&s, cli_verbs[i]->name);
    if (s.best)
        return cli_fail_usage("unknown command '%s': did you mean '%s'?", name, s.best);
    return cli_fail_usage("unknown command '%s': see 'berth help'", name);
}

int cli_check_args(const struct cli_verb *verb, int argc, char **argv, int args_max)
{
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-')
            return cli_fail_usage("%s: unknown flag '%s': see 'berth help %s'", verb->name, argv[i],
                                  verb->name);
    if (argc - 1 > args_max)
        return cli_fail_usage("%s: unexpected argument '%s': see 'berth help %s'", verb->name,
                              argv[1 + args_max], verb->name);
    return CLI_OK;
}

/* `berth VERB … --help`; after "--" it is an argument like any other. */
static bool cli_wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* The number of arguments before the verb that are an allowed flag: `berth --data DIR get pv`. */
static int cli_leading_flag(int argc, char **argv)
{
    static const char *const flags[] = { "--data", "--kubeconfig", "--context", "--namespace", "-n" };

    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        size_t len = strlen(flags[i]);

        if (strncmp(argv[0], flags[i], len) == 0 && argv[0][len] == '=')
            return 1;
        if (strcmp(argv[0], flags[i]) == 0 && argc > 1)
            return 2;
    }
    return 0;
}

/* Moves flags before the verb to directly after it. */
static void cli_put_verb_first(int argc, char **argv)
{
    int flags = 0, taken = 1;
    char *verb;

    while (flags < argc && taken > 0) {
        taken = argv[flags][0] == '-' ? cli_leading_flag(argc - flags, argv + flags) : 0;
        flags += taken;
    }
    if (flags == argc || flags == 0)
        return;
    verb = argv[flags];
    memmove(argv + 1, argv, (size_t)flags * sizeof *argv);
    argv[0] = verb;
}

static int cli_dispatch(int argc, char **argv)
{
    const char *name;
    const struct cli_verb *verb;

    cli_put_verb_first(argc, argv);
    name = argv[0];
    for (size_t i = 0; i < ARRAY_LEN(cli_flags); i++)
        if (strcmp(cli_flags[i].flag, argv[0]) == 0)
            name = cli_flags[i].verb;
    if (name[0] == '-')
        return cli_fail_usage("unknown flag '%s': see 'berth help'", argv[0]);
    verb = strcmp(name, cli_verb_complete.name) == 0 ? &cli_verb_complete : cli_find_verb(name);
    if (!verb && kubectl_has_verb(name))
        return kubectl_say_command(argc, argv);
    if (!verb)
        return cli_fail_unknown_verb(name);
    if (cli_wants_help(argc, argv))
        return cli_print_verb(verb);
    return verb->run(verb, argc, argv);
}

int cli_main(int argc, char **argv)
{
    int status;

    if (argc < 2)
        return cli_fail_usage("no command given: see 'berth help'");
    status = cli_dispatch(argc - 1, argv + 1);
    /* A full disk behind a redirection is detected only here. */
    if (fflush(stdout) != 0 || ferror(stdout))
        return status == CLI_OK ? cli_fail("cannot write to standard output") : status;
    return status;
}
