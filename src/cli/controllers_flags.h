/* The settings of the controllers, as flags of `berth controllers` and of `berth serve`. */
#ifndef BERTH_CLI_CONTROLLERS_FLAGS_H
#define BERTH_CLI_CONTROLLERS_FLAGS_H

#include <stdint.h>

#include "cli/flags.h"
#include "daemon/settings.h"
#include "plugins/flex/prober.h"

/* Of every verb that uses drivers; the aliases are the names of a kubelet and of a controller manager. type:
 * a struct with a `struct controllers_flags controllers`. */
#define FLEX_DIR_FLAG(group_, type_)                                                  \
    {                                                                                 \
        .name = "flex-dir", .type = FLAG_TEXT, .group = (group_),                     \
        .aliases = { "volume-plugin-dir", "flex-volume-plugin-dir" }, .value = "DIR", \
        .help = "where FlexVolume drivers are; default " FLEX_DIR,                    \
        .offset = offsetof(type_, controllers.flex_dir)                               \
    }
#define CONTROLLERS_FLAGS(group, type)                                                                   \
    FLAG_ON_IN(group, type, controllers.has_hostpath_provisioner, "enable-hostpath-provisioner",         \
               "provision hostPath volumes, for tests"),                                                 \
        FLEX_DIR_FLAG(group, type),                                                                      \
        FLAG_IN(group, type, controllers.attach_sync_period, "attach-detach-reconcile-sync-period",      \
                "SECONDS", "how often it is verified what is attached; default 60, 0 for never"),        \
        FLAG_ON_IN(group, type, controllers.has_no_attach_sync, "disable-attach-detach-reconcile-sync",  \
                   "do not verify what is attached"),                                                    \
        FLAG_ON_IN(group, type, controllers.has_no_forced_detach, "disable-force-detach-on-timeout",     \
                   "never detach from a dead node that was using a volume, unless it is tainted out of " \
                   "service")

/* How often attachments are verified, in *ret_ns; 0: never. CLI_OK, or CLI_USAGE after a complaint in the
 * verb's name. */
int controllers_flags_check(const char *verb, const struct controllers_flags *f, uint64_t *ret_ns);

#endif
