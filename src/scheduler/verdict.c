#include "scheduler/verdict.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define LINE_BYTES_MAX 160 /* a number, and the longest of the texts */

const char *const judge_names[] = {
    [JUDGE_NODE_NAME] = "NodeName",
    [JUDGE_UNSCHEDULABLE] = "NodeUnschedulable",
    [JUDGE_TAINTS] = "TaintToleration",
    [JUDGE_AFFINITY] = "NodeAffinity",
    [JUDGE_RESOURCES] = "NodeResourcesFit",
    [JUDGE_RESTRICTIONS] = "VolumeRestrictions",
    [JUDGE_LIMITS] = "NodeVolumeLimits",
    [JUDGE_BINDING] = "VolumeBinding",
    [JUDGE_ZONE] = "VolumeZone",
    [JUDGE_NO_NODES] = "",
};
static_assert(ARRAY_LEN(judge_names) == JUDGE_COUNT, "name every judge");

static const struct {
    enum judge judge;
    const char *word;
    const char *node; /* of one node */
    const char *text; /* of many */
} reasons[] = {
    [REASON_NODE_NAME] = { JUDGE_NODE_NAME, "node-name", "is not the node that the pod names",
                           "node(s) didn't match the requested node name" },
    [REASON_UNSCHEDULABLE] = { JUDGE_UNSCHEDULABLE, "unschedulable", "is closed to new pods (cordoned)",
                               "node(s) were unschedulable" },
    [REASON_TAINT] = { JUDGE_TAINTS, "taint", "has a taint that the pod does not tolerate",
                       "node(s) had untolerated taint(s)" },
    [REASON_AFFINITY] = { JUDGE_AFFINITY, "node-affinity",
                          "is excluded by the pod's nodeSelector or node affinity",
                          "node(s) didn't match Pod's node affinity/selector" },
    [REASON_ABSENT] = { JUDGE_AFFINITY, "other-nodes-named", "is not among the nodes that the pod names",
                        "node(s) didn't satisfy plugin(s) [NodeAffinity]" },
    [REASON_PODS] = { JUDGE_RESOURCES, "too-many-pods", "has as many pods as it takes", "Too many pods" },
    [REASON_CPU] = { JUDGE_RESOURCES, "cpu", "has not enough free cpu", "Insufficient cpu" },
    [REASON_MEMORY] = { JUDGE_RESOURCES, "memory", "has not enough free memory", "Insufficient memory" },
    [REASON_POD_ALONE] = { JUDGE_RESTRICTIONS, "in-use-by-another-pod",
                           "cannot help: another pod has the ReadWriteOncePod claim",
                           "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
                           "mode already in-use by another pod" },
    [REASON_DISK] = { JUDGE_RESTRICTIONS, "disk-in-use", "has a pod with the same disk",
                      "node(s) had no available disk" },
    [REASON_VOLUME_COUNT] = { JUDGE_LIMITS, "volume-limit", "has as many volumes of the driver as it can",
                              "node(s) exceed max volume count" },
    [REASON_VOLUME_AFFINITY] = { JUDGE_BINDING, "volume-affinity", "cannot reach the claim's volume",
                                 "node(s) didn't match PersistentVolume's node affinity" },
    [REASON_NO_VOLUME] = { JUDGE_BINDING, "no-volume", "has no free volume for the claim and can get none",
                           "node(s) didn't find available persistent volumes to bind" },
    [REASON_NO_SPACE] = { JUDGE_BINDING, "no-space", "has not enough free storage for the claim",
                          "node(s) did not have enough free storage" },
    [REASON_VOLUME_GONE] = { JUDGE_BINDING, "volume-gone", "cannot help: the claim's volume does not exist",
                             "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)" },
    [REASON_ZONE] = { JUDGE_ZONE, "zone", "is in another zone than the claim's volume",
                      "node(s) had no available volume zone" },
};
static_assert(ARRAY_LEN(reasons) == REASON_COUNT, "say every reason");

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

enum reason verdict_first(uint32_t mask)
{
    assert(mask != 0);
    return (enum reason)__builtin_ctz(mask);
}

uint32_t verdict_judges(uint32_t mask)
{
    uint32_t judges = 0;

    for (unsigned i = 0; i < REASON_COUNT; i++)
        if (mask & 1U << i)
            judges |= 1U << reasons[i].judge;
    return judges;
}

/* "2 node(s) …": as the sentence has it, and sorts it. */
struct line {
    char text[LINE_BYTES_MAX];
};

/* Fills one line per reason that some node gave. Returns how many. */
static size_t count_reasons(const struct verdict *all, size_t count, struct line *lines)
{
    size_t filled = 0;

    for (unsigned k = 0; k < REASON_COUNT; k++) {
        size_t nodes = 0;

        for (size_t i = 0; i < count; i++)
            nodes += (all[i].reasons & 1U << k) != 0;
        if (nodes > 0)
            (void)snprintf(lines[filled++].text, LINE_BYTES_MAX, "%zu %s", nodes, reasons[k].text);
    }
    return filled;
}

static int line_cmp(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

void verdicts_write(const struct verdict *all, size_t count, struct buf *out)
{
    struct line lines[REASON_COUNT];
    size_t filled = count_reasons(all, count, lines);

    buf_addf(out, "0/%zu nodes are available:", count);
    qsort(lines, filled, sizeof *lines, line_cmp);
    for (size_t i = 0; i < filled; i++)
        buf_addf(out, "%s %s", i ? "," : "", lines[i].text);
    buf_add_char(out, '.');
}
