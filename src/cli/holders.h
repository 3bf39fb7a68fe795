/* What keeps an object that is being deleted: of a claim the pods that use it, of a volume the claim that is
 * bound to it. The finalizers kubernetes.io/pvc-protection and pv-protection stay as long. */
#ifndef BERTH_CLI_HOLDERS_H
#define BERTH_CLI_HOLDERS_H

#include "api/kind.h"
#include "cli/session.h"

/* "pod p1 uses it", "pods p1, p2 use it", "claim shop/data is bound to it". False when nothing is known to
 * keep it: for other kinds, when it is gone, and when the server does not tell. */
bool holders_write(struct session *s, const struct kind_info *k, const char *ns, const char *name,
                   struct buf *out);

#endif
