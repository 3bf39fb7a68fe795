/* What the parts of a process may be told: the values of flags and of a file of settings. */
#ifndef BERTH_DAEMON_SETTINGS_H
#define BERTH_DAEMON_SETTINGS_H

#include <stdbool.h>

struct controllers_flags {
    const char *flex_dir; /* of a node, too; made if it is not there. NULL: FLEX_DIR, which is not made */
    const char *attach_sync_period;
    bool has_no_attach_sync;
    bool has_no_forced_detach; /* dead nodes keep their volumes until somebody says they are off */
    bool has_hostpath_provisioner;
};

struct node_flags {
    const char *name;
    const char *root;
    const char *hook;
    const char *static_pods;
    const char *sync;
    bool attaches_itself;
};

#endif
