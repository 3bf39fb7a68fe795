/* Reads the annotations of discovered local volumes. Pure. The annotations are untrusted: a value that does
 * not parse counts as absent. */
#include "api/local_volume.h"

#include <string.h>

#include "api/uid.h"

enum local_owner local_owner_of(const struct volume *v, const char *node_name, const char *identity)
{
    const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);
    size_t prefix = strlen(LOCAL_PROVISIONER), name = strlen(node_name);

    if (!by || !identity || identity[0] == '\0')
        return LOCAL_OWNER_NONE;
    if (strcmp(by, identity) == 0)
        return LOCAL_OWNER_THIS;
    if (strncmp(by, LOCAL_PROVISIONER, prefix) != 0 || strncmp(by + prefix, node_name, name) != 0)
        return LOCAL_OWNER_NONE;
    by += prefix + name;
    return by[0] == '\0' || (by[0] == '-' && uid_is_valid(str_of(by + 1))) ? LOCAL_OWNER_EARLIER
                                                                           : LOCAL_OWNER_NONE;
}

bool local_volume_maker(const struct volume *v, struct str *ret_node, struct str *ret_uid)
{
    const char *by = object_annotation(&v->obj, ANN_PROVISIONED_BY);
    struct str rest;

    if (v->source.kind != SOURCE_LOCAL || !by ||
        strncmp(by, LOCAL_PROVISIONER, strlen(LOCAL_PROVISIONER)) != 0)
        return false;
    rest = str_of(by + strlen(LOCAL_PROVISIONER));
    *ret_node = rest;
    *ret_uid = str_of("");
    if (rest.len > UID_BYTES && rest.s[rest.len - UID_BYTES] == '-' &&
        uid_is_valid(str_of(rest.s + rest.len - UID_BYTES + 1))) {
        ret_node->len -= UID_BYTES;
        *ret_uid = str_of(rest.s + rest.len - UID_BYTES + 1);
    }
    return true;
}

bool local_disk_capacity(const struct volume *v, struct quantity *ret)
{
    const char *text = object_annotation(&v->obj, ANN_DISK_CAPACITY);
    struct error ignored;

    return text && quantity_parse(str_of(text), ret, &ignored) == 0;
}

bool local_disk_is_replaced(const struct volume *v)
{
    const char *problem = object_annotation(&v->obj, ANN_DISK_PROBLEM);

    return problem && strncmp(problem, LOCAL_DISK_REPLACED, strlen(LOCAL_DISK_REPLACED)) == 0;
}
