/* The table of kinds and lookups in it. Lookups are linear: there are two dozen kinds, and callers on hot
 * paths keep the result. */
#include "api/kind.h"

#include <assert.h>
#include <string.h>

#include "api/attachment.h"
#include "api/attributes_class.h"
#include "api/claim.h"
#include "api/class.h"
#include "api/config.h"
#include "api/csi.h"
#include "api/event.h"
#include "api/group_snapshot.h"
#include "api/json_out.h"
#include "api/lease.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/service.h"
#include "api/snapshot.h"
#include "api/volume.h"
#include "base/cleanup.h"

static const struct kind_info *const kinds[] = {
    [KIND_VOLUME] = &volume_kind,
    [KIND_CLAIM] = &claim_kind,
    [KIND_CLASS] = &class_kind,
    [KIND_ATTACHMENT] = &attachment_kind,
    [KIND_CSI_DRIVER] = &csi_driver_kind,
    [KIND_CSI_NODE] = &csi_node_kind,
    [KIND_CSI_CAPACITY] = &csi_capacity_kind,
    [KIND_ATTRIBUTES_CLASS] = &attributes_class_kind,
    [KIND_POD] = &pod_kind,
    [KIND_NODE] = &node_kind,
    [KIND_NAMESPACE] = &namespace_kind,
    [KIND_EVENT] = &event_kind,
    [KIND_EVENT_V1] = &event_v1_kind,
    [KIND_CONFIG_MAP] = &config_map_kind,
    [KIND_SECRET] = &secret_kind,
    [KIND_SERVICE_ACCOUNT] = &service_account_kind,
    [KIND_LEASE] = &lease_kind,
    [KIND_SNAPSHOT] = &snapshot_kind,
    [KIND_SNAPSHOT_CONTENT] = &snapshot_content_kind,
    [KIND_SNAPSHOT_CLASS] = &snapshot_class_kind,
    [KIND_SERVICE] = &service_kind,
    [KIND_ENDPOINTS] = &endpoints_kind,
    [KIND_ENDPOINT_SLICE] = &endpoint_slice_kind,
    [KIND_GROUP_SNAPSHOT] = &group_snapshot_kind,
    [KIND_GROUP_SNAPSHOT_CONTENT] = &group_snapshot_content_kind,
    [KIND_GROUP_SNAPSHOT_CLASS] = &group_snapshot_class_kind,
};
static_assert(ARRAY_LEN(kinds) == KIND_COUNT, "a row for every kind");

const struct kind_info *kind_info(enum kind kind)
{
    assert(kind < KIND_COUNT);
    assert(kinds[kind]->kind == kind);
    return kinds[kind];
}

const struct kind_info *kind_by_name(struct str group, struct str version, struct str name)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (str_is(name, kinds[i]->name) && str_is(group, kinds[i]->group) &&
            str_is(version, kinds[i]->version))
            return kinds[i];
    return NULL;
}

const struct kind_info *kind_by_plural(struct str group, struct str version, struct str plural)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (str_is(plural, kinds[i]->plural) && str_is(group, kinds[i]->group) &&
            str_is(version, kinds[i]->version))
            return kinds[i];
    return NULL;
}

const struct kind_info *kind_by_api_version(struct str api_version, struct str name)
{
    struct str rest = api_version;
    struct str first = str_next(&rest, '/');

    return rest.s ? kind_by_name(first, rest, name) : kind_by_name(STR_LIT(""), first, name);
}

static bool word_is(struct str word, const char *name)
{
    return word.len == strlen(name) && strncasecmp(word.s, name, word.len) == 0;
}

static bool kind_answers_to(const struct kind_info *k, struct str word)
{
    if (word_is(word, k->plural) || word_is(word, k->name)) /* the singular is the kind in lower case */
        return true;
    for (const char *const *s = k->short_names; s && *s; s++)
        if (word_is(word, *s))
            return true;
    return false;
}

const struct kind_info *kind_by_word(struct str word)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (kind_answers_to(kinds[i], word))
            return kinds[i];
    return NULL;
}

void kind_api_version(const struct kind_info *k, struct buf *out)
{
    buf_addf(out, "%s%s%s", k->group, k->group[0] ? "/" : "", k->version);
}

void kind_write_api_version(const struct kind_info *k, struct buf *out)
{
    json_out_textf(out, "apiVersion", "%s%s%s", k->group, k->group[0] ? "/" : "", k->version);
}

void kind_resource(const struct kind_info *k, struct buf *out)
{
    buf_addf(out, "%s%s%s", k->plural, k->group[0] ? "." : "", k->group);
}
