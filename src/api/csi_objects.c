/* Names of the objects of CSI controllers. Pure. */
#include "api/csi_objects.h"

#include <stdio.h>
#include <string.h>

#include "io/digest.h"

#define MANAGER "external-provisioner"
#define DIGEST_CHARS 40
#define RECORD_PREFIX "berth-csi-"

int csi_capacity_manager(const char *node, char ret[CSI_MANAGER_BYTES], struct error *err)
{
    char digest[SHA256_HEX_BYTES];
    int r;

    if (!node) {
        (void)snprintf(ret, CSI_MANAGER_BYTES, MANAGER);
        return 0;
    }
    if (snprintf(ret, CSI_MANAGER_BYTES, MANAGER "-%s", node) < CSI_MANAGER_BYTES)
        return 0;
    r = sha256_hex(str_of(node), digest, err);
    if (r == 0)
        (void)snprintf(ret, CSI_MANAGER_BYTES, MANAGER "-%.*s", DIGEST_CHARS, digest);
    return r;
}

void csi_record_name(const char *driver, const char *node, struct buf *out)
{
    buf_addf(out, RECORD_PREFIX "%s%s%s", driver, node ? "-" : "", node ? node : "");
}

bool csi_record_is_of_node(struct str name, struct str node)
{
    const size_t prefix = sizeof RECORD_PREFIX - 1;

    return name.len > prefix + 1 + node.len && str_has_prefix(name, RECORD_PREFIX) &&
           name.s[name.len - node.len - 1] == '-' &&
           memcmp(name.s + name.len - node.len, node.s, node.len) == 0;
}
