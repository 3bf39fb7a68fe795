/* `berth restore`: a data directory made from a backup. */
#include "cli/data_dir.h"

#include <stdio.h>

#include "store/store.h"

static int restore_run(int argc, char **argv)
{
    struct cli_data_args args;
    struct cli_data_progress progress;
    struct error err = { 0 };
    int r = cli_data_args_read(&cli_verb_restore, argc, argv, &args);

    if (r != CLI_OK)
        return r;
    cli_data_progress_begin(&progress, &cli_verb_restore);
    r = store_restore(args.file, args.dir, cli_data_progress_show, &progress, &err);
    cli_data_progress_end(&progress, r == 0);
    if (r < 0)
        return cli_fail("restore: %s", err.msg);
    printf("restored %s from %s\n", args.dir, args.file);
    return CLI_OK;
}

const struct cli_verb cli_verb_restore = {
    .name = "restore",
    .group = CLI_DATA,
    .usage = "restore [--data DIR] FILE",
    .summary = "Make a data directory from a backup; it must be empty",
    .about = "The backup is checked before anything is written. The server that is then started there has "
             "new keys "
             "and certificates.",
    .flags = cli_data_flags,
    .examples = "  berth restore --data /srv/berth-new /backup/berth-monday.db\n"
                "  berth serve --data /srv/berth-new\n",
    .args = "FILE",
    .run = restore_run,
};
