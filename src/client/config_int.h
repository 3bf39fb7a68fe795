/* The two halves of config.h: config_choose.c selects one server and one identity from parsed files, config.c
 * finds and reads the files. The first opens no file, so that tests can use any text. */
#ifndef BERTH_CLIENT_CONFIG_INT_H
#define BERTH_CLIENT_CONFIG_INT_H

#include "base/error.h"
#include "client/config.h"
#include "client/error_list.h"
#include "client/kubeconfig.h"

/* Limit of a config: the texts of one entry of each kind, decoded, and the pointers to them. */
#define CONFIG_BYTES_MAX ((size_t)32 << 20)

struct config_choice {
    struct client_config *config; /* zeroed before, except for its arena */
    struct error_list bad;        /* errors in the chosen entries */
    /* Names for messages; "" for none. */
    const char *context;
    const char *cluster;
    const char *user;
};

/* Fills choice->config from the context of that name, or of current-context when it is NULL. Returns 1, or 0
 * when no context is chosen. Errors in entries are added to choice->bad, and the config must not be used
 * then. */
int config_choose(const struct kubeconfigs *k, const char *context, struct config_choice *choice,
                  struct error *err);

#endif
