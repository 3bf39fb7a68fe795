/* `berth version`: the name and the number, for people and scripts. */
#include "cli/cli.h"

#include <stdio.h>

static int version_run(int argc, char **argv)
{
    int r = cli_check_args(&cli_verb_version, argc, argv, /* args_max= */ 0);

    if (r != CLI_OK)
        return r;
    printf("berth %s\n", BERTH_VERSION);
    return CLI_OK;
}

const struct cli_verb cli_verb_version = {
    .name = "version",
    .group = CLI_TOOLS,
    .usage = "version",
    .summary = "Print the version",
    .examples = "  berth version\n",
    .run = version_run,
};
