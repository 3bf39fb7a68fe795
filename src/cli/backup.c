/* `berth backup`: a copy of the database, also while a server runs on it. */
#include "cli/data_dir.h"

#include <stdio.h>

#include "io/path.h"
#include "store/store.h"

static int backup_run(int argc, char **argv)
{
    struct cli_data_args args;
    struct cli_data_progress progress;
    struct error err = { 0 };
    bool was_there = false;
    int r = cli_data_args_read(&cli_verb_backup, argc, argv, &args);

    if (r != CLI_OK)
        return r;
    (void)io_exists(args.file, &was_there, &err); /* a file that cannot be examined is told of below */
    cli_data_progress_begin(&progress, &cli_verb_backup);
    r = store_backup(args.dir, args.file, cli_data_progress_show, &progress, &err);
    cli_data_progress_end(&progress, r == 0);
    if (r < 0)
        return cli_fail("backup: %s", err.msg);
    printf("saved %s to %s%s\n", args.dir, args.file, was_there ? " (replaced)" : "");
    return CLI_OK;
}

const struct cli_verb cli_verb_backup = {
    .name = "backup",
    .group = CLI_DATA,
    .usage = "backup [--data DIR] FILE",
    .summary = "Save all objects to a file, also while the server runs",
    .about = "The file has the objects alone: neither the data in volumes nor the keys and certificates. It "
             "appears whole or not at all; one that is there is replaced.",
    .flags = cli_data_flags,
    .examples = "  berth backup berth.db  # of the default data directory\n"
                "  berth backup --data /srv/berth /backup/berth-monday.db\n",
    .args = "FILE",
    .run = backup_run,
};
