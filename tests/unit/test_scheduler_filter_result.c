/* The sentence that says of all nodes why they do not take a pod. */
#include "scheduler/filter_result.h"

#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "base/vec.h"

static const char *written(const struct filter_result *all, size_t count)
{
    static struct buf out = { .len_max = 1 << 20 };
    struct filter_counts counts = { 0 };

    buf_clear(&out);
    for (size_t i = 0; i < count; i++)
        filter_counts_add(&counts, all[i].reasons);
    filter_counts_write(&counts, &out);
    assert_false(out.failed);
    return buf_cstr(&out);
}

static const struct {
    enum reason reason;
    enum filter judge;
    const char *text;
} texts[] = {
    { REASON_NODE_NAME, FILTER_NODE_NAME, "node(s) didn't match the requested node name" },
    { REASON_UNSCHEDULABLE, FILTER_UNSCHEDULABLE, "node(s) were unschedulable" },
    { REASON_AFFINITY, FILTER_AFFINITY, "node(s) didn't match Pod's node affinity/selector" },
    { REASON_ABSENT, FILTER_AFFINITY, "node(s) didn't satisfy plugin(s) [NodeAffinity]" },
    { REASON_PODS, FILTER_RESOURCES, "Too many pods" },
    { REASON_CPU, FILTER_RESOURCES, "Insufficient cpu" },
    { REASON_MEMORY, FILTER_RESOURCES, "Insufficient memory" },
    { REASON_POD_ALONE, FILTER_RESTRICTIONS,
      "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
      "another pod" },
    { REASON_DISK, FILTER_RESTRICTIONS, "node(s) had no available disk" },
    { REASON_VOLUME_COUNT, FILTER_LIMITS, "node(s) exceed max volume count" },
    { REASON_VOLUME_AFFINITY, FILTER_BINDING, "node(s) didn't match PersistentVolume's node affinity" },
    { REASON_NO_VOLUME, FILTER_BINDING, "node(s) didn't find available persistent volumes to bind" },
    { REASON_NO_SPACE, FILTER_BINDING, "node(s) did not have enough free storage" },
    { REASON_VOLUME_GONE, FILTER_BINDING,
      "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)" },
    { REASON_ZONE, FILTER_ZONE, "node(s) had no available volume zone" },
};

TEST(every_reason_has_its_text)
{
    assert_int_equal(ARRAY_LEN(texts), REASON_COUNT - 1); /* the taint's is below */
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct filter_result one = filter_result_of(texts[i].reason);
        char expected[256];

        (void)snprintf(expected, sizeof expected, "0/1 nodes are available: 1 %s.", texts[i].text);
        ASSERT_STR(expected, written(&one, 1));
        ASSERT_INT(1U << texts[i].judge, filter_result_filters(one.reasons));
    }
}

TEST(judges_of_several_reasons)
{
    ASSERT_INT(0, filter_result_filters(0));
    ASSERT_INT(1U << FILTER_TAINTS, filter_result_filters(1U << REASON_TAINT));
    ASSERT_INT(1U << FILTER_BINDING, filter_result_filters(1U << REASON_NO_SPACE | 1U << REASON_VOLUME_GONE));
    ASSERT_INT(1U << FILTER_BINDING | 1U << FILTER_UNSCHEDULABLE,
               filter_result_filters(1U << REASON_NO_VOLUME | 1U << REASON_UNSCHEDULABLE));
}

/* A node with two reasons counts in both; nodes that will do are not spoken of. */
TEST(counts)
{
    const struct filter_result all[] = {
        { .reasons = 1U << REASON_VOLUME_AFFINITY | 1U << REASON_NO_VOLUME },
        { .reasons = 1U << REASON_NO_VOLUME },
        { .reasons = 0 },
    };

    ASSERT_STR("0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, 2 node(s) "
               "didn't find available persistent volumes to bind.",
               written(all, ARRAY_LEN(all)));
}

/* scheduler-10: "10 …" comes before "2 …", and of equal numbers the text decides. */
TEST(order_is_that_of_strings)
{
    struct filter_result all[14];

    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        all[i] = filter_result_of(i < 10 ? REASON_ZONE : i < 12 ? REASON_UNSCHEDULABLE : REASON_DISK);
    ASSERT_STR(
        "0/14 nodes are available: 10 node(s) had no available volume zone, 2 node(s) had no available "
        "disk, 2 node(s) were unschedulable.",
        written(all, ARRAY_LEN(all)));
}

/* One reason, whatever the taints are. */
TEST(taints)
{
    const struct filter_result all[] = { filter_result_of(REASON_TAINT),
                                         filter_result_of(REASON_UNSCHEDULABLE),
                                         filter_result_of(REASON_TAINT) };

    ASSERT_STR("0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s).",
               written(all, ARRAY_LEN(all)));
}

TEST_MAIN()
