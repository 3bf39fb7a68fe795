/* Objects for volumes that were found on disk after a restart: as much as is known of them. */
#ifndef BERTH_PLUGINS_RECONSTRUCT_H
#define BERTH_PLUGINS_RECONSTRUCT_H

#include "api/object.h"
#include "plugins/plugin.h"

/* A Pod with that uid and one volume of that name. source: the source as JSON, `"nfs":{"path":"/x"}`; a
 * buffer that failed is answered as such. Names come from directories and are anything. */
int reconstruct_pod(const char *volume, const char *pod_uid, const struct buf *source, struct object **ret,
                    struct error *err);
/* A PersistentVolume. */
int reconstruct_volume(const char *name, const struct buf *source, bool is_block, struct object **ret,
                       struct error *err);

#endif
