/* The elections of the snapshot controller: it works under the lease of the stock one, and only if there is
 * something to do. */
#include "tests/unit/test_parts.h"

#include "api/snapshot.h"
#include "controllers/snapshot/snapshots.h"

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    struct snapshots_options options = { .part = *o, .identity = "me", .lease_ns = "default" };
    struct snapshots *s = NULL;
    int r = snapshots_new(&options, &s, e);

    if (r == 0)
        *ret = s;
    return r;
}

static void start(void *part)
{
    snapshots_start(part);
}

static void end(void *part)
{
    assert_null(snapshots_check(part));
    (void)snapshots_free(part);
}

static const struct part_type snapshots_type = { make, start, end };

#define LEASE LEASES "/" SNAPSHOTS_LEASE
#define STOCK                                                                      \
    "{'metadata':{'name':'" SNAPSHOTS_LEASE "'},'spec':{'holderIdentity':'stock'," \
    "'leaseDurationSeconds':15,'acquireTime':'2023-11-14T22:13:20.000000Z',"       \
    "'renewTime':'2023-11-14T22:13:20.000000Z','leaseTransitions':3}}"
#define IMPORT                                                                                    \
    "{'apiVersion':'snapshot.storage.k8s.io/v1','kind':'VolumeSnapshot','metadata':{'name':'s'}," \
    "'spec':{'source':{'volumeSnapshotContentName':'k'}}}"
#define IS_WORKED_ON "['" FINALIZER_SNAPSHOT_SOURCE "']"

TEST(nothing_is_leased_without_snapshots)
{
    struct parts w;

    parts_init(&w, &snapshots_type);
    ASSERT_DONE(&w, 201, "POST", CLAIMS, "{'metadata':{'name':'c'}," CLAIM_SPEC "}");
    assert_asked(&w, "");
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, IMPORT);
    ASSERT_THERE(&w, IS_WORKED_ON, SNAPSHOTS "/s", "metadata/finalizers");
    ASSERT_THERE(&w, "me", LEASE, "spec/holderIdentity");
    parts_done(&w);
}

/* csi-35: the stock snapshot-controller is waited for. */
TEST(stock_snapshot_controller_is_waited_for)
{
    struct parts w;

    parts_init(&w, &snapshots_type);
    ASSERT_SENT(&w.served, 201, "POST", LEASES, STOCK);
    ASSERT_SENT(&w.served, 201, "POST", SNAPSHOTS, IMPORT);
    for (unsigned i = 0; i < 20; i++) {
        char renewal[128];

        (void)snprintf(renewal, sizeof renewal, "{'spec':{'renewTime':'2023-11-14T22:13:%02u.000000Z'}}",
                       20 + i);
        ASSERT_SENT(&w.served, 200, "MERGE", LEASE, renewal);
        parts_pass_ns(&w, 5 * NS_PER_S);
    }
    ASSERT_THERE(&w, "-", SNAPSHOTS "/s", "metadata/finalizers");
    parts_pass_ns(&w, 30 * NS_PER_S);
    ASSERT_THERE(&w, "me", LEASE, "spec/holderIdentity");
    ASSERT_THERE(&w, IS_WORKED_ON, SNAPSHOTS "/s", "metadata/finalizers");
    parts_done(&w);
}

/* csi-35: it ends with its lease, and stands for election again. */
TEST(lost_lease_ends_the_snapshot_controller)
{
    struct parts w;

    parts_init(&w, &snapshots_type);
    ASSERT_DONE(&w, 201, "POST", SNAPSHOTS, IMPORT);
    ASSERT_SENT(&w.served, 200, "MERGE", LEASE,
                "{'spec':{'holderIdentity':'stock','leaseDurationSeconds':15}}");
    parts_pass_ns(&w, 12 * NS_PER_S);
    ASSERT_SENT(&w.served, 200, "MERGE", SNAPSHOTS "/s", "{'metadata':{'finalizers':null}}");
    parts_pass_ns(&w, 1 * NS_PER_S);
    ASSERT_THERE(&w, "-", SNAPSHOTS "/s", "metadata/finalizers");
    parts_pass_ns(&w, 30 * NS_PER_S);
    ASSERT_THERE(&w, "me", LEASE, "spec/holderIdentity");
    ASSERT_THERE(&w, IS_WORKED_ON, SNAPSHOTS "/s", "metadata/finalizers");
    w.is_down = true; /* no answer: the lease cannot be renewed */
    parts_pass_ns(&w, 30 * NS_PER_S);
    w.is_down = false;
    parts_pass_ns(&w, 60 * NS_PER_S);
    ASSERT_DONE(&w, 200, "DELETE", SNAPSHOTS "/s", NULL);
    ASSERT_GONE(&w, SNAPSHOTS "/s");
    parts_done(&w);
}

TEST_MAIN()
