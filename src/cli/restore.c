/* `berth restore`: a data directory made from a backup. */
#include "cli/data_dir.h"

#include <stdio.h>

#include "store/store.h"

static int restore_run(int argc, char **argv)
{
    struct cli_data_args args;
    struct cli_data_progress progress;
    struct error err = { 0 };
    bool has_checksum = true;
    int r = cli_data_args_read(&cli_verb_restore, argc, argv, &args);

    if (r != CLI_OK)
        return r;
    cli_data_progress_begin(&progress, &cli_verb_restore);
    r = store_restore(args.file, args.dir, cli_data_progress_show, &progress, &err);
    cli_data_progress_end(&progress, r == 0);
    if (r < 0)
        return cli_fail("restore: %s%s", err.msg, r == -ERR_EXISTS ? ": give a new one with --data DIR" : "");
    if (store_backup_has_checksum(args.file, &has_checksum, &err) == 0 && !has_checksum)
        (void)cli_fail("restore: warning: '%s' has no checksum, as backups of older releases: damage that "
                       "leaves every object readable does not show",
                       args.file); /* the restore itself has succeeded */
    printf("restored %s from %s\n", args.dir, args.file);
    return CLI_OK;
}

const struct cli_verb cli_verb_restore = {
    .name = "restore",
    .group = CLI_DATA,
    .usage = "restore [--data DIR] FILE",
    .summary = "Make a data directory from a backup; it must be empty",
    .about = "The backup is checked before anything is written: its checksum, the database, every object. A "
             "damaged one is refused. The server that is then started there has "
             "new keys "
             "and certificates.",
    .flags = cli_data_flags,
    .examples = "  berth restore --data /srv/berth-new /backup/berth-monday.db\n"
                "  berth serve --data /srv/berth-new\n",
    .args = "FILE",
    .run = restore_run,
};
