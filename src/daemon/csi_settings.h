/* The section `csi` of a configuration file, and the sockets of --csi-endpoint. */
#ifndef BERTH_DAEMON_CSI_SETTINGS_H
#define BERTH_DAEMON_CSI_SETTINGS_H

#include <stdbool.h>

#include "api/json.h"
#include "base/arena.h"
#include "controllers/csi/csi_controllers.h"
#include "plugins/csi/registration.h"

#define CSI_SOCKETS_MAX 16

/* Owns its texts. Zeroed: controllers for all drivers that register. */
struct csi_settings {
    bool is_off; /* no controllers of CSI drivers */
    struct csi_driver_settings drivers[CSI_DRIVERS_MAX];
    size_t drivers_count;
    /* Those with an endpoint. */
    struct csi_configured_driver configured[CSI_DRIVERS_MAX];
    size_t configured_count;
    /* Of --csi-endpoint. */
    const char *sockets[CSI_SOCKETS_MAX];
    size_t sockets_count;
    struct arena arena;
};

/* section: the value of `csi`. Errors begin with the place: `csi.drivers.NAME.timeout: …`. */
int csi_settings_read(const struct json *d, json_ref section, struct csi_settings *ret, struct error *err);
/* Adds the sockets of a value of --csi-endpoint: URLs, separated by commas. */
int csi_settings_add_sockets(struct csi_settings *s, const char *urls, struct error *err);
void csi_settings_done(struct csi_settings *s);

/* The settings name a socket: controllers run without a node agent. */
bool csi_settings_have_sockets(const struct csi_settings *s);

#endif
