/* The table of commands. Each verb is a file in cli/. */
#include <stddef.h>

#include "cli/cli.h"

/* One verb per line, in the order in which `berth help` lists them. */
/* clang-format off */
const struct cli_verb *const cli_verbs[] = {
    &cli_verb_get,
    &cli_verb_describe,
    &cli_verb_apply,
    &cli_verb_create,
    &cli_verb_delete,
    &cli_verb_patch,
    &cli_verb_label,
    &cli_verb_annotate,
    &cli_verb_wait,
    &cli_verb_events,
    &cli_verb_why,
    &cli_verb_tree,
    &cli_verb_top,
    &cli_verb_check,
    &cli_verb_status,
    &cli_verb_path,
    &cli_verb_kubeconfig,
    &cli_verb_serve,
    &cli_verb_controllers,
    &cli_verb_scheduler,
    &cli_verb_node,
    &cli_verb_backup,
    &cli_verb_restore,
    &cli_verb_bench,
    &cli_verb_sim,
    &cli_verb_completion,
    &cli_verb_version,
    &cli_verb_help,
    NULL,
};
/* clang-format on */

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
