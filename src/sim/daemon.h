/* Berth's own programs in a simulated world: the components of src/daemon, put together as they are in a
 * process, on a simulated machine. */
#ifndef BERTH_SIM_DAEMON_H
#define BERTH_SIM_DAEMON_H

#include "daemon/components.h"
#include "daemon/settings.h"
#include "sim/sim_world.h"

/* What a daemon program is: the ctx of its process. */
struct sim_daemon_options {
    const struct daemon_program *program;
    struct daemon_settings settings; /* as given */
    const char *host;
};

extern const struct sim_program sim_daemon_program;

#endif
