/* The halves of config.h: config_choose.c turns files already read into one server and one identity, config.c
 * finds the files. Between them no file is opened, so that any text can be tried. */
#ifndef BERTH_CLIENT_CONFIG_INT_H
#define BERTH_CLIENT_CONFIG_INT_H

#include "base/error.h"
#include "client/complaints.h"
#include "client/config.h"
#include "client/kubeconfig.h"

/* What a config may hold: the texts of one entry of each kind, decoded, and the pointers to them. */
#define CONFIG_BYTES_MAX ((size_t)32 << 20)

struct config_choice {
    struct client_config *config; /* zeroed before, but for its arena */
    struct complaints bad;        /* what is wrong with the chosen entries */
    /* Names for messages; "" for none. */
    const char *context;
    const char *cluster;
    const char *user;
};

/* Fills x->config from the context of that name, of current-context when it is NULL. Returns 1, or 0 when no
 * context is chosen at all. What is wrong with entries is added to x->bad, and the config must not be used
 * then. */
int config_choose(const struct kubeconfigs *k, const char *context, struct config_choice *x,
                  struct error *err);

#endif
