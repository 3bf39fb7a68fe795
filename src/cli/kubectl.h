/* Verbs that Berth leaves to kubectl: asked for one, it says the command line to type instead. */
#ifndef BERTH_CLI_KUBECTL_H
#define BERTH_CLI_KUBECTL_H

#include <stdbool.h>

bool kubectl_has_verb(const char *name);

/* For `berth edit pvc data`: "berth: 'edit' is a command of kubectl: kubectl --kubeconfig DATA/kubeconfig
 * edit pvc data". Returns CLI_USAGE. argv[0] is the verb. */
int kubectl_say_command(int argc, char **argv);

#endif
