#include "cli/cli.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
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
    (void)buf_add_ends(&shown, str_of(line), sizeof usage - 1);
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

int cli_fail_unknown_verb(const char *name)
{
    struct suggestion s = { .typed = name };

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

static int cli_dispatch(int argc, char **argv)
{
    const char *name = argv[0];
    const struct cli_verb *verb;

    if (name[0] == '-') {
        name = cli_verb_of_flag(argv[0]);
        if (!name)
            return cli_fail_usage("unknown flag '%s': see 'berth help'", argv[0]);
    }
    verb = strcmp(name, cli_verb_complete.name) == 0 ? &cli_verb_complete : cli_find_verb(name);
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
