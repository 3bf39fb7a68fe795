/* The section `provisioners` of a configuration file. */
#ifndef BERTH_DAEMON_PROVISIONERS_H
#define BERTH_DAEMON_PROVISIONERS_H

#include <stdbool.h>

#include "api/json.h"
#include "base/arena.h"
#include "controllers/local/local.h"
#include "controllers/provisioner/nfs_subdir.h"

#define PROVISIONERS_NFS_MAX 16

struct nfs_settings {
    const char *name; /* as in the provisioner field of classes */
    struct nfs_subdir export;
};

/* Owns its texts. Zeroed, it has no provisioner. */
struct provisioner_settings {
    struct nfs_settings nfs[PROVISIONERS_NFS_MAX];
    unsigned nfs_count;
    bool has_local;
    struct local_config local;
    struct arena arena;
};

/* section: the value of `provisioners`. Errors begin with the place: `provisioners.nfsSubdir[0].server: …`.
 * Values that an nfsSubdir omits are taken from NFS_SERVER, NFS_PATH and PROVISIONER_NAME. */
int provisioners_read(const struct json *d, json_ref section, struct provisioner_settings *ret,
                      struct error *err);
void provisioners_done(struct provisioner_settings *s);

#endif
