/* Texts of the filters: the reasons of nodes, and the message that counts them over all nodes.
 *
 * The texts of the message and the filter names are those of the stock scheduler. */
#include "scheduler/filter_result.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LINE_BYTES_MAX 160 /* a number and the longest text */

const char *const filter_names[] = {
    [FILTER_NODE_NAME] = "NodeName",
    [FILTER_UNSCHEDULABLE] = "NodeUnschedulable",
    [FILTER_TAINTS] = "TaintToleration",
    [FILTER_AFFINITY] = "NodeAffinity",
    [FILTER_RESOURCES] = "NodeResourcesFit",
    [FILTER_RESTRICTIONS] = "VolumeRestrictions",
    [FILTER_LIMITS] = "NodeVolumeLimits",
    [FILTER_BINDING] = "VolumeBinding",
    [FILTER_ZONE] = "VolumeZone",
    [FILTER_NO_NODES] = "",
};
static_assert(ARRAY_LEN(filter_names) == FILTER_COUNT, "name every filter");

static const struct {
    enum filter filter;
    const char *word;
    const char *node; /* of one node */
    const char *text; /* of many */
} reasons[] = {
    [REASON_NODE_NAME] = { FILTER_NODE_NAME, "node-name", "is not the node that the pod names",
                           "node(s) didn't match the requested node name" },
    [REASON_UNSCHEDULABLE] = { FILTER_UNSCHEDULABLE, "unschedulable", "is closed to new pods (cordoned)",
                               "node(s) were unschedulable" },
    [REASON_TAINT] = { FILTER_TAINTS, "taint", "has a taint that the pod does not tolerate",
                       "node(s) had untolerated taint(s)" },
    [REASON_AFFINITY] = { FILTER_AFFINITY, "node-affinity",
                          "is excluded by the pod's nodeSelector or node affinity",
                          "node(s) didn't match Pod's node affinity/selector" },
    [REASON_ABSENT] = { FILTER_AFFINITY, "other-nodes-named", "is not among the nodes that the pod names",
                        "node(s) didn't satisfy plugin(s) [NodeAffinity]" },
    [REASON_PODS] = { FILTER_RESOURCES, "too-many-pods", "has reached its maximum number of pods",
                      "Too many pods" },
    [REASON_CPU] = { FILTER_RESOURCES, "cpu", "does not have enough free cpu", "Insufficient cpu" },
    [REASON_MEMORY] = { FILTER_RESOURCES, "memory", "does not have enough free memory",
                        "Insufficient memory" },
    [REASON_POD_ALONE] = { FILTER_RESTRICTIONS, "in-use-by-another-pod",
                           "is rejected: another pod uses the ReadWriteOncePod claim",
                           "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
                           "mode already in-use by another pod" },
    [REASON_DISK] = { FILTER_RESTRICTIONS, "disk-in-use", "already has a pod that uses the same disk",
                      "node(s) had no available disk" },
    [REASON_VOLUME_COUNT] = { FILTER_LIMITS, "volume-limit",
                              "has reached the driver's maximum number of volumes",
                              "node(s) exceed max volume count" },
    [REASON_VOLUME_AFFINITY] = { FILTER_BINDING, "volume-affinity", "cannot reach the claim's volume",
                                 "node(s) didn't match PersistentVolume's node affinity" },
    [REASON_NO_VOLUME] = { FILTER_BINDING, "no-volume",
                           "has no available volume for the claim, and none can be provisioned",
                           "node(s) didn't find available persistent volumes to bind" },
    [REASON_NO_SPACE] = { FILTER_BINDING, "no-space", "does not have enough free storage for the claim",
                          "node(s) did not have enough free storage" },
    [REASON_VOLUME_GONE] = { FILTER_BINDING, "volume-gone", "is rejected: the claim's volume does not exist",
                             "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)" },
    [REASON_ZONE] = { FILTER_ZONE, "zone", "is not in the zone of the claim's volume",
                      "node(s) had no available volume zone" },
};
static_assert(ARRAY_LEN(reasons) == REASON_COUNT, "describe every reason");

static const char *const refusal_words[] = {
    [REFUSAL_NONE] = "none",
    [REFUSAL_NO_NODES] = "no-nodes",
    [REFUSAL_NAMES] = "affinity-conflict",
    [REFUSAL_NO_CLAIM] = "no-such-claim",
    [REFUSAL_CLAIM_AWAITED] = "claim-awaited",
    [REFUSAL_CLAIM_LOST] = "claim-lost",
    [REFUSAL_CLAIM_DELETING] = "claim-deleting",
    [REFUSAL_FOREIGN_CLAIM] = "claim-not-owned",
    [REFUSAL_UNBOUND] = "claim-unbound",
    [REFUSAL_NO_CLASS] = "no-such-class",
    [REFUSAL_NO_MODE] = "class-without-mode",
    [REFUSAL_NO_VOLUME] = "volume-gone",
};
static_assert(ARRAY_LEN(refusal_words) == REFUSAL_COUNT, "name every refusal");

const char *reason_word(enum reason r)
{
    return reasons[r].word;
}

const char *refusal_word(enum refusal r)
{
    return refusal_words[r];
}

const char *reason_of_node(enum reason r)
{
    return reasons[r].node;
}

enum reason filter_result_first(uint32_t mask)
{
    assert(mask != 0);
    return (enum reason)__builtin_ctz(mask);
}

uint32_t filter_result_filters(uint32_t mask)
{
    uint32_t filters = 0;

    for (unsigned i = 0; i < REASON_COUNT; i++)
        if (mask & 1U << i)
            filters |= 1U << reasons[i].filter;
    return filters;
}

/* "2 node(s) …": a part of the message; the parts are sorted by text. */
struct line {
    char text[LINE_BYTES_MAX];
};

static int line_cmp(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

void filter_counts_write(const struct filter_counts *c, struct buf *out)
{
    struct line lines[REASON_COUNT] = { 0 };
    size_t filled = 0;

    for (unsigned i = 0; i < REASON_COUNT; i++)
        if (c->by_reason[i] > 0)
            (void)snprintf(lines[filled++].text, LINE_BYTES_MAX, "%" PRIu32 " %s", c->by_reason[i],
                           reasons[i].text);
    buf_addf(out, "0/%" PRIu32 " nodes are available:", c->nodes);
    qsort(lines, filled, sizeof *lines, line_cmp);
    for (size_t i = 0; i < filled; i++)
        buf_addf(out, "%s %s", i ? "," : "", lines[i].text);
    buf_add_char(out, '.');
}
