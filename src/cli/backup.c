/* `berth backup` copies the database, also while a server uses it. `berth restore` creates a data directory
 * from a backup. */
#include "cli/cli.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "daemon/settings.h"
#include "io/path.h"
#include "store/store.h"

struct data_settings {
    const char *data;
};

static const struct flag data_flags[] = {
    FLAG(struct data_settings, data, "data", "DIR",
         "the data directory; default $BERTH_DATA, or else /var/lib/berth (root) or ~/.local/share/berth"),
    { 0 },
};

struct data_args {
    char dir[PATH_MAX];
    const char *file;
};

/* Progress of a backup or a restore, on standard error. */
struct data_progress {
    const struct cli_verb *verb;
    enum store_phase phase;
    struct progress_bar progress;
    char label[64];
};

/* Reads `VERB [--data DIR] FILE`: CLI_OK, or the exit status after an error was printed. */
static int read_args(const struct cli_verb *verb, int argc, char **argv, struct data_args *ret)
{
    struct data_settings settings = { 0 };
    struct error err;
    int args = 0, status = flags_parse(verb, argc, argv, &settings, &args);

    if (status != CLI_OK)
        return status;
    if (settings.data && !settings.data[0])
        return cli_fail_usage("%s: --data requires a directory: see 'berth help %s'", verb->name, verb->name);
    if (args == 0 || !argv[1][0])
        return cli_fail_usage("%s: no file given: see 'berth help %s'", verb->name, verb->name);
    if (args > 1)
        return cli_fail_usage("%s: unexpected argument '%s': see 'berth help %s'", verb->name, argv[2],
                              verb->name);
    if (daemon_data_dir(settings.data, ret->dir, &err) < 0)
        return cli_fail("%s: %s", verb->name, err.msg);
    ret->file = argv[1];
    return CLI_OK;
}

static void enter_phase(struct data_progress *p, enum store_phase phase)
{
    static const char *const names[] = { [STORE_CHECKING] = "checking", [STORE_COPYING] = "copying" };
    static_assert(ARRAY_LEN(names) == STORE_PHASE_COUNT, "name every phase");
    const struct progress_work work = { .label = p->label, .kind = PROGRESS_BYTES };

    p->phase = phase;
    (void)snprintf(p->label, sizeof p->label, "%s: %s", p->verb->name, names[phase]);
    progress_begin(&p->progress, progress_stderr(), &work);
}

/* For store_backup() and store_restore(); ctx is the progress. */
static void show_progress(void *ctx, enum store_phase phase, uint64_t done, uint64_t total)
{
    struct data_progress *p = ctx;

    if (phase != p->phase) {
        progress_end(&p->progress, /* has_succeeded= */ true);
        enter_phase(p, phase);
    }
    progress_set(&p->progress, done, total);
}

static int backup_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct data_args args = { .file = NULL };
    struct data_progress progress = { .verb = verb };
    struct error err = { 0 };
    bool was_there = false;
    int r = read_args(verb, argc, argv, &args);

    if (r != CLI_OK)
        return r;
    (void)io_exists(args.file, &was_there, &err); /* store_backup() reports a file that cannot be examined */
    enter_phase(&progress, STORE_CHECKING);
    r = store_backup(args.dir, args.file, show_progress, &progress, &err);
    progress_end(&progress.progress, r == 0);
    if (r < 0)
        return cli_fail("backup: %s", err.msg);
    printf("saved %s to %s%s\n", args.dir, args.file, was_there ? " (replaced)" : "");
    return CLI_OK;
}

const struct cli_verb cli_verb_backup = {
    .name = "backup",
    .group = CLI_DATA,
    .usage = "backup [--data DIR] FILE",
    .summary = "Save all objects to a file; works while the server runs",
    .about = "The file contains only the objects: neither the data in volumes nor keys and certificates. It "
             "is written atomically; an existing file is replaced.",
    .flags = data_flags,
    .examples = "  berth backup berth.db  # from the default data directory\n  berth backup --data "
                "/srv/berth /backup/berth-monday.db\n",
    .args = "FILE",
    .run = backup_run,
};

static int restore_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct data_args args = { .file = NULL };
    struct data_progress progress = { .verb = verb };
    struct error err = { 0 };
    bool has_checksum = true;
    int r = read_args(verb, argc, argv, &args);

    if (r != CLI_OK)
        return r;
    enter_phase(&progress, STORE_CHECKING);
    r = store_restore(args.file, args.dir, show_progress, &progress, &err);
    progress_end(&progress.progress, r == 0);
    if (r < 0)
        return cli_fail("restore: %s%s", err.msg,
                        r == -ERR_EXISTS ? ": specify a new one with --data DIR" : "");
    if (store_backup_has_checksum(args.file, &has_checksum, &err) == 0 && !has_checksum)
        (void)cli_fail("restore: warning: '%s' has no checksum, like backups of older releases: damage that "
                       "leaves every object readable is not detected",
                       args.file); /* the restore itself has succeeded */
    printf("restored %s from %s\n", args.dir, args.file);
    return CLI_OK;
}

const struct cli_verb cli_verb_restore = {
    .name = "restore",
    .group = CLI_DATA,
    .usage = "restore [--data DIR] FILE",
    .summary = "Create a data directory from a backup; it must be empty",
    .about =
        "The backup is verified before anything is written: its checksum, the database, every object. A "
        "damaged backup is rejected. The server that you then start there creates new keys and certificates.",
    .flags = data_flags,
    .examples = "  berth restore --data /srv/berth-new /backup/berth-monday.db\n"
                "  berth serve --data /srv/berth-new\n",
    .args = "FILE",
    .run = restore_run,
};
