/* Berth's own programs in a simulated world: the components of src/daemon, assembled as in a real process, on
 * a simulated machine. */
#ifndef BERTH_SIM_DAEMON_H
#define BERTH_SIM_DAEMON_H

#include "daemon/components.h"
#include "daemon/settings.h"
#include "sim/sim_world.h"

/* The ctx of the process. */
struct sim_daemon_options {
    const struct daemon_program *program;
    struct daemon_settings settings; /* before daemon_settings_check() */
    const char *host;
};

extern const struct sim_program sim_daemon_program;

#endif
