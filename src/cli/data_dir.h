/* The arguments of the commands that work on the data directory, and how far they are. */
#ifndef BERTH_CLI_DATA_DIR_H
#define BERTH_CLI_DATA_DIR_H

#include <limits.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/progress.h"
#include "store/store.h"

extern const struct flag cli_data_flags[]; /* of verbs that read their arguments with this: */

struct cli_data_args {
    char dir[PATH_MAX];
    const char *file;
};

/* Reads `VERB [--data DIR] FILE`: CLI_OK, or the exit status with the complaint made. */
int cli_data_args_read(const struct cli_verb *verb, int argc, char **argv, struct cli_data_args *ret);

/* How far a backup or a restore is, on standard error. */
struct cli_data_progress {
    const struct cli_verb *verb;
    enum store_phase phase;
    struct progress progress;
    char label[64];
};

void cli_data_progress_begin(struct cli_data_progress *p, const struct cli_verb *verb);
/* For store_backup() and store_restore(); ctx is the progress. */
void cli_data_progress_show(void *ctx, enum store_phase phase, uint64_t done, uint64_t total);
void cli_data_progress_end(struct cli_data_progress *p, bool has_succeeded);

#endif
