/* `berth help`: which commands there are, and how one is called. */
#include "cli/cli.h"

#include <stddef.h>
#include <stdio.h>

#include "cli/flags.h"

/* "-n, --namespace NS"; "--dry-run[=WAY]" where it may stand alone. */
static void print_head(const struct flag *f, char *ret, size_t bytes)
{
    char letter[8] = "";
    const char *before = f->type == FLAG_OPTIONAL ? "[=" : " ", *behind = f->type == FLAG_OPTIONAL ? "]" : "";

    if (f->letter)
        (void)snprintf(letter, sizeof letter, "-%c, ", f->letter);
    (void)snprintf(ret, bytes, "%s--%s%s%s%s", letter, f->name, f->value ? before : "",
                   f->value ? f->value : "", f->value ? behind : "");
}

void cli_print_verb(const struct cli_verb *verb)
{
    printf("Usage: berth %s\n\n%s.\n", verb->usage, verb->summary);
    if (verb->flags)
        printf("\nFlags:\n");
    for (const struct flag *f = verb->flags; f && f->name; f++) {
        char head[64];

        print_head(f, head, sizeof head);
        printf("  %-32s %s\n", head, f->help);
    }
    if (verb->examples)
        printf("\nExamples:\n%s", verb->examples);
}

static void help_print_all(void)
{
    printf("Berth: Kubernetes persistent volumes in one small program.\n\n"
           "Usage: berth COMMAND [ARGUMENT...]\n\n"
           "Commands:\n");
    for (size_t i = 0; cli_verbs[i]; i++)
        printf("  %-12s %s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    printf("\nSee 'berth help COMMAND' for one command.\n");
}

static int help_run(int argc, char **argv)
{
    const struct cli_verb *verb;
    int r = cli_check_args(&cli_verb_help, argc, argv, /* args_max= */ 1);

    if (r != CLI_OK)
        return r;
    if (argc < 2) {
        help_print_all();
        return CLI_OK;
    }
    verb = cli_find_verb(argv[1]);
    if (!verb)
        return cli_fail_usage("unknown command '%s': see 'berth help'", argv[1]);
    cli_print_verb(verb);
    return CLI_OK;
}

const struct cli_verb cli_verb_help = {
    .name = "help",
    .usage = "help [COMMAND]",
    .summary = "List the commands, or explain one",
    .args = "COMMAND",
    .run = help_run,
};
