#include "cli/cli.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/kubectl.h"
#include "cli/suggest.h"
#include "io/status_line.h"

#define USAGE_BYTES_MAX 512 /* of a complaint about arguments, which may be of any length */

/* What people type before they have read anything. */
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
    /* Arguments are quoted as they came: one with a line end in it must not make two lines, nor move the
     * cursor. */
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

/* What other programs call the command that starts them. */
static bool starts_a_server(const char *name)
{
    static const char *const words[] = { "start", "up", "run", "daemon", "server" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

int cli_fail_unknown_verb(const char *name)
{
    struct suggestion s = { .typed = name };

    if (starts_a_server(name))
        return cli_fail_usage("unknown command '%s': 'berth serve' starts the server", name);
    if (kubectl_has_verb(name))
        return cli_fail_usage("unknown command '%s': it is one of kubectl's", name);
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

static const char *cli_verb_of_flag(const char *flag)
{
    for (size_t i = 0; i < ARRAY_LEN(cli_flags); i++)
        if (strcmp(cli_flags[i].flag, flag) == 0)
            return cli_flags[i].verb;
    return NULL;
}

/* `berth VERB … --help`; behind "--" it is an argument like any other. */
static bool cli_wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* How many arguments in front of the verb are a flag that may stand there: `berth --data DIR get pv`. */
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

/* Moves the first count arguments behind the others. */
static void cli_rotate(int argc, char **argv, int count)
{
    for (; count > 0; count--) {
        char *first = argv[0];

        memmove(argv, argv + 1, (size_t)(argc - 1) * sizeof *argv);
        argv[argc - 1] = first;
    }
}

/* Flags in front of the verb go directly behind it. */
static void cli_put_verb_first(int argc, char **argv)
{
    int flags = 0, taken = 1;

    while (flags < argc && taken > 0) {
        taken = argv[flags][0] == '-' ? cli_leading_flag(argc - flags, argv + flags) : 0;
        flags += taken;
    }
    if (flags < argc)
        cli_rotate(flags + 1, argv, flags);
}

static int cli_dispatch(int argc, char **argv)
{
    const char *name;
    const struct cli_verb *verb;

    cli_put_verb_first(argc, argv);
    name = argv[0];
    if (name[0] == '-') {
        name = cli_verb_of_flag(argv[0]);
        if (!name)
            return cli_fail_usage("unknown flag '%s': see 'berth help'", argv[0]);
    }
    verb = strcmp(name, cli_verb_complete.name) == 0 ? &cli_verb_complete : cli_find_verb(name);
    if (!verb && kubectl_has_verb(name))
        return kubectl_say_command(argc, argv);
    if (!verb)
        return cli_fail_unknown_verb(name);
    if (cli_wants_help(argc, argv))
        return cli_print_verb(verb);
    return verb->run(argc, argv);
}

int cli_main(int argc, char **argv)
{
    int status;

    if (argc < 2)
        return cli_fail_usage("no command given: see 'berth help'");
    status = cli_dispatch(argc - 1, argv + 1);
    /* A full disk behind a redirection is found out here or never. */
    if (fflush(stdout) != 0 || ferror(stdout))
        return status == CLI_OK ? cli_fail("cannot write to standard output") : status;
    return status;
}
