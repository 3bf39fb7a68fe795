/* The rules of `berth check`, one world each: what is found, how bad it is, what to do. */
#include "tests/unit/test_inventory.h"

#include <sys/stat.h>
#include <unistd.h>

#include "cli/check_show.h"
#include "cli/print.h"

#define WHY_PVC "see 'berth why pvc/db -n shop'\n"
#define WHY_PV "see 'berth why pv/pv-1'\n"
#define WHY_POD "see 'berth why pod/web -n shop'\n"

static struct usages usages;
static struct buf out = { .len_max = 1 << 20 };
static char summary[256];

/* The findings; the last line is kept apart. */
static const char *found(const struct checkup *asked)
{
    struct checkup x = *asked;
    char *end;

    buf_clear(&out);
    x.all = &world;
    x.usages = &usages;
    x.now = (struct timestamp){ .seconds = WORLD_NOW_SECONDS };
    x.texts = ARENA_INIT(1 << 20);
    x.stuck_seconds = x.stuck_seconds ? x.stuck_seconds : 300;
    ASSERT_OK(inventory_tie(&world, &err));
    ASSERT_OK(checkup_run(&x, &err));
    checkup_show(&x, /* is_whole= */ false, /* paint= */ NULL, &out);
    for (end = out.data + out.len - 1; end > out.data && end[-1] != '\n';)
        end--;
    (void)snprintf(summary, sizeof summary, "%s", end);
    *end = '\0';
    checkup_done(&x);
    return out.data;
}

static const char *findings(void)
{
    const char *text = found(&(struct checkup){ 0 });

    usages_done(&usages);
    world_end();
    return text;
}

static void begin(void)
{
    usages = USAGES_INIT;
    world_begin();
}

static void put_registered(const char *node, const char *driver)
{
    put(KIND_CSI_NODE, "{'metadata':{'name':'%s'},'spec':{'drivers':[{'name':'%s','nodeID':'1'}]}}", node,
        driver);
}

/* A healthy pair. */
static void put_pair(void)
{
    put_volume("pv-1", "", "Bound", "shop/db", "");
    put_claim("shop/db", "", "Bound", "pv-1", "");
}

TEST(all_is_well)
{
    begin();
    put(KIND_CLASS, "{'metadata':{'name':'fast','annotations':{'storageclass.kubernetes.io/is-default-class':"
                    "'true'}},'provisioner':'disk.example.com'}");
    put(KIND_CSI_DRIVER, "{'metadata':{'name':'disk.example.com'},'spec':{}}");
    put_pair();
    put_pod("shop/web", "db", "n1", "Running", "");
    put_node("n1", true, "");
    put(KIND_LEASE,
        "{'metadata':{'namespace':'kube-node-lease','name':'n1'},'spec':{'leaseDurationSeconds':40,"
        "'renewTime':'2026-01-01T00:59:50.000000Z'}}");
    ASSERT_STR("", findings());
    ASSERT_STR("0 errors, 0 warnings, 0 hints in 1 class, 1 volume, 1 claim, 1 pod and 1 node.\n", summary);
}

TEST(the_summary_counts)
{
    begin();
    put_volume("pv-1", "", "Failed", NULL, "");
    put_volume("pv-2", "", "Failed", NULL, "");
    put_volume("pv-3", "", "Released", NULL, "");
    put_class("a", "kubernetes.io/no-provisioner", "");
    put_class("b", "kubernetes.io/no-provisioner", "");
    (void)findings();
    ASSERT_STR("2 errors, 1 warning, 1 hint in 2 classes, 3 volumes, 0 claims, 0 pods and 0 nodes.\n",
               summary);
}

/* --- Claims --- */

TEST(lost_claims)
{
    begin();
    put_claim("shop/db", "", "Lost", "pv-9", "");
    ASSERT_STR("error: pvc/db -n shop: is Lost: its volume pv-9 does not exist; " WHY_PVC, findings());
    begin();
    put_claim("shop/db", "", "Bound", "pv-9", "");
    ASSERT_STR("error: pvc/db -n shop: is Bound: its volume pv-9 does not exist; " WHY_PVC, findings());
    begin();
    put_volume("pv-1", "", "Bound", "shop/other", "");
    put_claim("shop/other", "", "Bound", "pv-1", "");
    put_claim("shop/db", "", "Lost", "pv-1", "");
    ASSERT_STR("error: pvc/db -n shop: is Lost: its volume pv-1 belongs to shop/other; " WHY_PVC, findings());
    begin();
    put_volume("pv-1", "", "Bound", "shop/db", "");
    put_claim("shop/db", "", "Lost", "pv-1", "");
    ASSERT_STR("error: pvc/db -n shop: is Lost, although its volume pv-1 exists; " WHY_PVC, findings());
    begin();
    put_claim("shop/db", "", "Lost", "", "");
    ASSERT_STR("error: pvc/db -n shop: is Lost: no volume is bound to it; " WHY_PVC, findings());
}

static struct told_cause too_small[] = { { "db", "too-small", "no volume fits" }, { NULL, NULL, NULL } };
static struct told_cause unused[] = { { "db", "waits-for-consumer", "no pod uses it" },
                                      { NULL, NULL, NULL } };

static const char *findings_told(struct told_cause *told, int64_t stuck_seconds)
{
    const char *text = found(&(struct checkup){ .causes = TOLD(told), .stuck_seconds = stuck_seconds });

    usages_done(&usages);
    world_end();
    return text;
}

TEST(stuck_claims)
{
    begin();
    put_claim("shop/db", "", "Pending", "", "");
    ASSERT_STR("warning: pvc/db -n shop: has been Pending for 60m: no volume fits; " WHY_PVC,
               findings_told(too_small, 0));
    begin(); /* nobody knows why */
    put_claim("shop/db", "", "Pending", "", "");
    ASSERT_STR("warning: pvc/db -n shop: has been Pending for 60m; " WHY_PVC, findings());
    begin(); /* within its time */
    put_claim("shop/db", "", "Pending", "", "");
    ASSERT_STR("1 claim waiting less than 60 min; --stuck-after 0 lists it\n",
               found(&(struct checkup){ .stuck_seconds = 3601 }));
    assert_non_null(strstr(found(&(struct checkup){ .stuck_seconds = 3600 }), "Pending"));
    usages_done(&usages);
    world_end();
    begin(); /* nobody wants it yet: it may be meant so */
    put_claim("shop/db", "later", "Pending", "", "");
    ASSERT_STR("hint: pvc/db -n shop: has been Pending for 60m: no pod uses it; create a pod that uses it, "
               "or delete the claim\n",
               findings_told(unused, 0));
}

/* What does not come right by waiting is told at once, the rest is counted. */
TEST(what_will_not_come_right_by_waiting)
{
    static const char *const codes[] = { "no-class",      "no-class-set",  "provisioner-disabled",
                                         "named-missing", "no-such-claim", "driver-not-registered",
                                         "node-gone" };
    struct told_cause told[] = { { "db", "too-small", "so" },
                                 { "web", "binding", "so" },
                                 { NULL, NULL, NULL } };

    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        told[0].code = codes[i];
        begin();
        put_claim("shop/db", "", "Pending", "", "");
        put_pod("shop/web", "db", "", "Pending", "");
        ASSERT_STR("warning: pvc/db -n shop: has been Pending for 60m: so; " WHY_PVC
                   "1 pod waiting less than 120 min; --stuck-after 0 lists it\n",
                   findings_told(told, 7200));
    }
    told[0].code = "too-small";
    told[1].code = "no-such-claim";
    begin();
    put_claim("shop/db", "", "Pending", "", "");
    put_claim("shop/other", "", "Pending", "", "");
    put_pod("shop/web", "gone", "", "Pending", "");
    put_pod("shop/more", "db", "", "Pending", "");
    ASSERT_STR("warning: pod/web -n shop: has been waiting for 60m: so; " WHY_POD
               "1 pod and 2 claims waiting less than 120 min; --stuck-after 0 lists them\n",
               findings_told(told, 7200));
}

TEST(claims_that_cannot_grow)
{
    begin();
    put_volume("pv-1", "", "Bound", "shop/db", "");
    put(KIND_CLAIM,
        "{'metadata':{'namespace':'shop','name':'db','uid':'u-shop/db'},'spec':{'volumeName':'pv-1',"
        "'storageClassName':''},'status':{'phase':'Bound','allocatedResourceStatuses':{'storage':"
        "'ControllerResizeInfeasible'}}}");
    ASSERT_STR(
        "warning: pvc/db -n shop: cannot be expanded: ControllerResizeInfeasible; request less, or add space "
        "to the underlying storage\n",
        findings());
}

TEST(deletions_that_take_long)
{
    begin();
    put_volume("pv-1", "", "Bound", "shop/db", "");
    put(KIND_CLAIM, "{'metadata':{'namespace':'shop','name':'db','uid':'u-shop/db','deletionTimestamp':"
                    "'2026-01-01T00:48:00Z','finalizers':['kubernetes.io/pvc-protection','x.example/y']},"
                    "'spec':{'volumeName':'pv-1','storageClassName':''},'status':{'phase':'Bound'}}");
    put_pod("shop/web", "db", "", "Running", "");
    ASSERT_STR("warning: pvc/db -n shop: has been Terminating for 12m, blocked by "
               "kubernetes.io/pvc-protection, x.example/y; "
               "pod web uses it; " WHY_PVC,
               findings());
    begin();
    put(KIND_VOLUME, "{'metadata':{'name':'pv-1','deletionTimestamp':'2026-01-01T00:48:00Z','finalizers':["
                     "'kubernetes.io/pv-protection']},'spec':{},'status':{'phase':'Available'}}");
    put(KIND_VOLUME, "{'metadata':{'name':'pv-2','deletionTimestamp':'2026-01-01T00:59:00Z','finalizers':["
                     "'kubernetes.io/pv-protection']},'spec':{},'status':{'phase':'Available'}}");
    ASSERT_STR(
        "warning: pv/pv-1: has been Terminating for 12m, blocked by kubernetes.io/pv-protection; " WHY_PV,
        findings());
}

/* --- Volumes --- */

TEST(orphaned_volumes)
{
    begin();
    put_volume("pv-1", "", "Bound", "shop/db", "");
    ASSERT_STR("error: pv/pv-1: is Bound to claim shop/db, which does not exist; " WHY_PV, findings());
    begin();
    put_pair();
    put_volume("pv-2", "", "Bound", "shop/db", "");
    ASSERT_STR(
        "error: pv/pv-2: is Bound to claim shop/db, which is bound to volume pv-1; see 'berth why pv/pv-2'\n",
        findings());
    begin();
    put_pair();
    put_volume("pv-2", "", "Bound", NULL, ",'claimRef':{'namespace':'shop','name':'db','uid':'earlier'}");
    ASSERT_STR("error: pv/pv-2: is Bound to a deleted claim shop/db; the claim with that name now is a "
               "different one; see 'berth why "
               "pv/pv-2'\n",
               findings());
    begin();
    put_volume("pv-1", "", "Bound", "shop/db", "");
    put_claim("shop/db", "", "Bound", "", "");
    ASSERT_STR("error: pv/pv-1: is Bound to claim shop/db, which is not bound to a volume; " WHY_PV,
               findings());
    begin(); /* who knows: claims could not be listed */
    put_volume("pv-1", "", "Bound", "shop/db", "");
    world.kinds[KIND_CLAIM].is_known = false;
    ASSERT_STR("", findings());
}

TEST(volumes_that_are_kept_for_nobody)
{
    begin();
    put_volume("pv-1", "", "Available", NULL, ",'claimRef':{'namespace':'shop','name':'db'}");
    ASSERT_STR("hint: pv/pv-1: is reserved for claim shop/db, which does not exist; create the claim, or "
               "clear spec.claimRef\n",
               findings());
}

TEST(failed_volumes)
{
    begin();
    put_volume("pv-1", "", "Failed", NULL, "");
    ASSERT_STR("error: pv/pv-1: has Failed: the message; " WHY_PV, findings());
}

TEST(released_volumes)
{
    begin();
    put_volume("pv-1", "", "Released", "shop/db", "");
    ASSERT_STR("warning: pv: 1 released volume holds 5Gi that no claim uses: pv-1; save the data that is "
               "needed, then delete them, or clear spec.claimRef to make them Available again\n",
               findings());
    begin();
    for (unsigned i = 1; i <= 5; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "pv-%u", i);
        put_volume(name, "", "Released", "shop/db", "");
    }
    assert_non_null(strstr(findings(),
                           "warning: pv: 5 released volumes hold 25Gi that no claim uses: pv-1, pv-2, pv-3 "
                           "and 2 more; "));
}

TEST(volumes_that_should_be_gone)
{
    static const char row[] = "{'metadata':{'name':'%s'},'spec':{'capacity':{'storage':'5Gi'},'"
                              "persistentVolumeReclaimPolicy':'%s'},"
                              "'status':{'phase':'Released','lastPhaseTransitionTime':'%s'}}";

    begin();
    put(KIND_VOLUME, row, "pv-1", "Delete", "2026-01-01T00:48:00Z");
    put(KIND_VOLUME, row, "pv-2", "Delete", "2026-01-01T00:59:00Z"); /* it may well be on its way */
    put(KIND_VOLUME, row, "pv-3", "Recycle", "2026-01-01T00:50:00Z");
    ASSERT_STR(
        "warning: pv/pv-1: has been Released for 12m and should be deleted by now; " WHY_PV
        "warning: pv/pv-3: has been Released for 10m and should be emptied by now; see 'berth why pv/pv-3'\n"
        "warning: pv: 2 released volumes hold 10Gi that no claim uses: pv-1, pv-3; save the data that is "
        "needed, then delete them, or clear spec.claimRef to make them Available again\n",
        findings());
}

static void put_local_at(const char *name, const char *path, const char *phase, const char *claim,
                         const char *key, const char *value)
{
    char extra[512];

    (void)snprintf(
        extra, sizeof extra,
        ",'local':{'path':'/d/%s'},'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':["
        "{'key':'%s','operator':'In','values':['%s']}]}]}}",
        path, key, value);
    put_volume(name, "", phase, claim, extra);
}

static void put_local(const char *name, const char *phase, const char *claim, const char *key,
                      const char *value)
{
    put_local_at(name, name, phase, claim, key, value);
}

TEST(local_volumes_without_their_node)
{
    begin();
    put_node("n1", true, "");
    put_claim("shop/db", "", "Bound", "pv-1", "");
    put_local("pv-1", "Bound", "shop/db", "kubernetes.io/hostname", "n9");
    put_local("pv-2", "Available", NULL, "kubernetes.io/hostname", "n1");
    put_local("pv-3", "Available", NULL, "zone", "a");
    ASSERT_STR("error: pv/pv-1: needs a node labelled kubernetes.io/hostname=n9, but no such node exists; "
               "add such a "
               "node, or delete the volume if its data is lost\n"
               "warning: pv/pv-3: needs a node labelled zone=a, but no such node exists; add such a node, or "
               "delete the "
               "volume if its data is lost\n",
               findings());
    begin();
    put(KIND_NODE, "{'metadata':{'name':'other','labels':{'kubernetes.io/hostname':'n9','zone':'a'}}}");
    put_local("pv-2", "Available", NULL, "kubernetes.io/hostname", "n9");
    put_local("pv-3", "Available", NULL, "zone", "a");
    ASSERT_STR("", findings());
}

/* A volume of a discovery, with what the node says of its disk. */
static void put_discovered(const char *name, const char *phase, const char *claim, const char *size,
                           const char *annotations)
{
    char ref[128] = "";

    if (claim)
        (void)snprintf(ref, sizeof ref, ",'claimRef':{'namespace':'shop','name':'%s','uid':'u-shop/%s'}",
                       claim, claim);
    put(KIND_VOLUME,
        "{'metadata':{'name':'%s','annotations':{%s}},'spec':{'capacity':{'storage':'%s'},"
        "'accessModes':['ReadWriteOnce'],'persistentVolumeReclaimPolicy':'Delete','local':{'path':'/d/"
        "%s'}%s},"
        "'status':{'phase':'%s'}}",
        name, annotations, size, name, ref, phase);
}

TEST(disks_that_are_not_there)
{
    begin();
    put_claim("shop/db", "", "Bound", "pv-1", "");
    put_discovered("pv-1", "Bound", "db", "5Gi",
                   "'volumes.berth.io/disk-problem':'/d is not a valid mount point'");
    put_discovered("pv-2", "Released", "gone", "5Gi",
                   "'volumes.berth.io/disk-problem':'another disk is at /d: uuid:b in place of uuid:a'");
    ASSERT_STR("error: pv/pv-1: cannot be used on its node: /d is not a valid mount point; " WHY_PV
               "warning: pv/pv-2: cannot be used on its node: another disk is at /d: uuid:b in place of "
               "uuid:a; see 'berth why pv/pv-2'\n"
               "warning: pv: 1 released volume holds 5Gi that no claim uses: pv-2; save the data that is "
               "needed, then delete them, or clear spec.claimRef to make them Available again\n",
               findings());
}

TEST(disks_of_another_size)
{
    begin();
    put_claim("shop/db", "", "Bound", "pv-1", "");
    put_discovered("pv-1", "Bound", "db", "5Gi", "'volumes.berth.io/disk-capacity':'8Gi'");
    put_discovered("pv-2", "Available", NULL, "5Gi", "'volumes.berth.io/disk-capacity':'8Gi'");
    put_discovered("pv-3", "Available", NULL, "5Gi", "'volumes.berth.io/disk-capacity':'2Gi'");
    put_discovered("pv-4", "Available", NULL, "5Gi", "'volumes.berth.io/disk-capacity':'4800Mi'");
    put_discovered("pv-5", "Available", NULL, "5Gi", "'volumes.berth.io/disk-capacity':'much'");
    ASSERT_STR("warning: pv/pv-3: has a capacity of 5Gi, 3Gi more than its disk holds; enlarge the disk, or "
               "replace the volume\n"
               "hint: pv/pv-1: has a capacity of 5Gi, but its disk holds 8Gi; berth patch pv pv-1 "
               "--type=merge -p '{\"spec\":{\"capacity\":{\"storage\":\"8Gi\"}}}'\n",
               findings());
}

/* Who deletes the one deletes the other. */
TEST(two_volumes_with_one_path)
{
    begin();
    put_node("n1", true, "");
    put_node("n2", true, "");
    put_local_at("pv-1", "x", "Available", NULL, "kubernetes.io/hostname", "n1");
    put_local_at("pv-2", "x", "Available", NULL, "kubernetes.io/hostname", "n2");
    put_local_at("pv-3", "x/", "Available", NULL, "kubernetes.io/hostname", "n1");
    put_volume("nfs-1", "", "Available", NULL, ",'nfs':{'server':'s','path':'/x'}");
    put_volume("nfs-2", "", "Available", NULL, ",'nfs':{'server':'t','path':'/x'}");
    put_volume("nfs-3", "", "Available", NULL,
               ",'nfs':{'server':'s','path':'/x'},'persistentVolumeReclaimPolicy':'Delete'");
    ASSERT_STR("warning: pv/nfs-3: has the same path as volume nfs-1, s:/x: deleting the claim of one "
               "deletes the data of both; give each its own directory, or set policy Retain on both\n"
               "hint: pv/pv-3: has the same path as volume pv-1, /d/x/: two claims would share the same "
               "data; give each its own directory, or set policy Retain on both\n",
               findings());
}

/* --- Classes --- */

TEST(default_classes)
{
    static const char row[] =
        "{'metadata':{'name':'%s','annotations':{'storageclass.kubernetes.io/is-default-class':'true'}},"
        "'provisioner':'kubernetes.io/no-provisioner'}";

    begin();
    put_class("fast", "kubernetes.io/no-provisioner", "");
    ASSERT_STR(
        "hint: sc: no default StorageClass: claims without a class only bind to volumes without a class; "
        "to set one: berth annotate sc NAME storageclass.kubernetes.io/is-default-class=true\n",
        findings());
    begin();
    put(KIND_CLASS, row, "a");
    put(KIND_CLASS, row, "b");
    ASSERT_STR("warning: sc: 2 default StorageClasses: a, b; claims without a class get a (the newest, then "
               "the first by name); remove the annotation storageclass.kubernetes.io/is-default-class from "
               "all but one\n",
               findings());
}

TEST(provisioners_that_nobody_has_seen)
{
    static const char row[] =
        "{'metadata':{'name':'%s','annotations':{'storageclass.kubernetes.io/is-default-class':'%s'}},"
        "'provisioner':'%s'}";

    begin();
    put(KIND_CLASS, row, "a", "true", "nowhere.example.com");
    put(KIND_CLASS, row, "b", "", "on-node.example.com");
    put(KIND_CLASS, row, "c", "", "made.example.com/x");
    put(KIND_CLASS, row, "d", "", "kubernetes.io/aws-ebs"); /* ebs.csi.aws.com does its work */
    put(KIND_CLASS, row, "e", "", "kubernetes.io/host-path");
    put(KIND_CSI_DRIVER, "{'metadata':{'name':'ebs.csi.aws.com'},'spec':{}}");
    put(KIND_CSI_NODE,
        "{'metadata':{'name':'n1'},'spec':{'drivers':[{'name':'on-node.example.com','nodeID':'n'}]}}");
    put(KIND_VOLUME, "{'metadata':{'name':'pv-1','annotations':{'pv.kubernetes.io/provisioned-by':"
                     "'made.example.com/x'}},'spec':{},'status':{'phase':'Available'}}");
    ASSERT_STR("", found(&(struct checkup){ .provisioners =
                                                (const char *const[]){ "x", "nowhere.example.com", NULL } }));
    ASSERT_STR(
        "hint: sc/a: uses provisioner nowhere.example.com, but nothing shows that it runs: no CSIDriver, no "
        "volume created by it; start the provisioner, or create a new class with the correct name\n",
        findings());
}

/* --- Pods --- */

static struct told_cause mount_fails[] = { { "web", "mount-failed", "no luck" }, { NULL, NULL, NULL } };

TEST(pods_that_wait)
{
    begin();
    put_pair();
    put_pod("shop/web", "db", "", "Pending", "");
    ASSERT_STR("warning: pod/web -n shop: has been waiting for 60m: no luck; " WHY_POD,
               findings_told(mount_fails, 0));
    begin(); /* nobody knows why */
    put_pair();
    put_pod("shop/web", "db", "", "Pending", "");
    ASSERT_STR("warning: pod/web -n shop: has been waiting for 60m; " WHY_POD, findings());
    begin(); /* without a claim, for its volumes all the same */
    put_node("n1", true, "");
    put(KIND_POD, "{'metadata':{'namespace':'shop','name':'web','creationTimestamp':'" WORLD_MADE
                  "'},'spec':{'nodeName':'n1'},'status':{'phase':'Pending','conditions':[{'type':"
                  "'volumes.berth.io/ready','status':'False'}]}}");
    ASSERT_STR("warning: pod/web -n shop: has been waiting for 60m: no luck; " WHY_POD,
               findings_told(mount_fails, 0));
}

TEST(pods_that_do_not_end)
{
    static const char row[] = "{'metadata':{'namespace':'shop','name':'web','deletionTimestamp':'%s'},'spec':"
                              "{'nodeName':'n1'},'status':{'phase':'Running'}}";

    begin();
    put_node("n1", true, "");
    put(KIND_POD, row, WORLD_MADE);
    ASSERT_STR("warning: pod/web -n shop: has been Terminating for 60m: no luck; " WHY_POD,
               findings_told(mount_fails, 0));
    begin();
    put_node("n1", true, "");
    put(KIND_POD, row, "2026-01-01T00:59:00Z");
    ASSERT_STR("", findings_told(mount_fails, 0));
}

TEST(pods_that_do_not_wait)
{
    begin();
    put_pair();
    put_node("n1", true, "");
    put_pod("shop/runs", "none", "n1", "Running", "");
    put_pod("shop/ended", "none", "n1", "Succeeded", "");
    put_pod("shop/ready", "db", "n1", "Pending",
            ",'conditions':[{'type':'volumes.berth.io/ready','status':'True'}]");
    put(KIND_POD, "{'metadata':{'namespace':'shop','name':'plain','creationTimestamp':'" WORLD_MADE
                  "'},'spec':{},'status':{'phase':'Pending'}}"); /* it has no volumes */
    put(KIND_POD,
        "{'metadata':{'namespace':'shop','name':'new','creationTimestamp':'2026-01-01T00:59:00Z'},'spec':"
        "{'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'none'}}]},'status':{'phase':"
        "'Pending'}}");
    ASSERT_STR("1 pod waiting less than 5 min; --stuck-after 0 lists it\n", findings());
}

/* --- Attachments and nodes --- */

TEST(attachments)
{
    static const char row[] = "{'metadata':{'name':'%s'},'spec':{'attacher':'d','nodeName':'%s','source':{'"
                              "persistentVolumeName':'%s'}},"
                              "'status':{'attached':%s%s}}";

    begin();
    put_pair();
    put_node("n1", true, "");
    put_registered("n1", "d");
    put(KIND_ATTACHMENT, row, "a-fine", "n1", "pv-1", "true", "");
    put(KIND_ATTACHMENT, row, "b", "n9", "pv-1", "true", "");
    put(KIND_ATTACHMENT, row, "c", "n1", "pv-9", "true", "");
    put(KIND_ATTACHMENT, row, "d", "n1", "pv-1", "false", ",'attachError':{'message':'no slot'}");
    put(KIND_ATTACHMENT, row, "e", "n1", "pv-1", "true", ",'detachError':{'message':'busy'}");
    ASSERT_STR("warning: volumeattachment/d: cannot attach volume pv-1 to node n1: no slot; see 'berth why "
               "volumeattachment/d'\n"
               "warning: volumeattachment/b: is for node n9, which does not exist; see 'berth why "
               "volumeattachment/b'\n"
               "warning: volumeattachment/c: is for volume pv-9, which does not exist; see 'berth why "
               "volumeattachment/c'\n"
               "warning: volumeattachment/e: cannot detach volume pv-1 from node n1: busy; see 'berth why "
               "volumeattachment/e'\n",
               findings());
}

/* --- CSI --- */

/* csi-36: with the owner of the finalizer. */
TEST(attachments_that_take_too_long)
{
    static const char row[] =
        "{'metadata':{'name':'%s','creationTimestamp':'2026-01-01T00:%s:00Z'%s},'spec':{'attacher':'d',"
        "'nodeName':'n1','source':{'persistentVolumeName':'pv-1'}},'status':{'attached':false}}";
    static struct told_cause told[] = { { "late", "lease-held", "sidecar-1 has to do it" },
                                        { NULL, NULL, NULL } };

    begin();
    put_pair();
    put_node("n1", true, "");
    put_registered("n1", "d");
    put(KIND_ATTACHMENT, row, "new", "58", "");
    put(KIND_ATTACHMENT, row, "late", "48", "");
    put(KIND_ATTACHMENT, row, "stays", "10",
        ",'deletionTimestamp':'2026-01-01T00:30:00Z','finalizers':['external-attacher/d']");
    ASSERT_STR(
        "warning: volumeattachment/late: has been waiting for 12m for volume pv-1 to be attached to "
        "node n1: sidecar-1 has to do it; see 'berth why volumeattachment/late'\n"
        "warning: volumeattachment/stays: has been Terminating for 30m, blocked by external-attacher/d "
        "(of external-attacher for CSI driver d); see 'berth why volumeattachment/stays'\n",
        findings_told(told, 0));
}

TEST(expansions_that_take_too_long)
{
    static const char row[] =
        "{'metadata':{'namespace':'shop','name':'%s','uid':'u-shop/%s'},'spec':{'accessModes':["
        "'ReadWriteOnce'],'resources':{'requests':{'storage':'9Gi'}},'volumeName':'%s'},'status':{'phase':"
        "'Bound','capacity':{'storage':'5Gi'},'conditions':[{'type':'%s','status':'True',"
        "'lastTransitionTime':'2026-01-01T00:%s:00Z'}]}}";

    begin();
    put_registered("n1", "d");
    put_volume("pv-1", "", "Bound", "shop/db", ",'csi':{'driver':'d','volumeHandle':'1'}");
    put_volume("pv-2", "", "Bound", "shop/web", ",'csi':{'driver':'d','volumeHandle':'2'}");
    put_volume("pv-3", "", "Bound", "shop/new", ",'csi':{'driver':'d','volumeHandle':'3'}");
    put(KIND_CLAIM, row, "db", "db", "pv-1", "Resizing", "20");
    put(KIND_CLAIM, row, "web", "web", "pv-2", "ModifyingVolume", "30");
    put(KIND_CLAIM, row, "new", "new", "pv-3", "Resizing", "59");
    ASSERT_STR(
        "warning: pvc/web -n shop: its volume pv-2 has been changing its attributes class for 30m; see "
        "'berth why pvc/web -n shop'\n"
        "warning: pvc/db -n shop: its volume pv-1 has been expanding for 40m; " WHY_PVC,
        findings());
}

#define GONE_ADVICE                                                                                          \
    "; start the driver again; if it is gone for good, delete these objects, then remove the finalizers of " \
    "its controllers, which nothing else does: berth patch pv NAME --type=merge -p "                         \
    "'{\"metadata\":{\"finalizers\":null}}'\n"

TEST(drivers_that_are_gone)
{
    static const char lease[] =
        "{'metadata':{'namespace':'storage','name':'external-resizer-d'},'spec':{'holderIdentity':'x',"
        "'leaseDurationSeconds':15,'renewTime':'2026-01-01T%s.000000Z'}}";

    for (int i = 0; i < 3; i++) {
        begin();
        put_volume("pv-1", "", "Bound", "shop/db", ",'csi':{'driver':'d','volumeHandle':'1'}");
        put_claim("shop/db", "", "Bound", "pv-1", "");
        put_registered("n1", i == 0 ? "d" : "other");
        if (i > 0)
            put(KIND_LEASE, lease, i == 1 ? "00:59:50" : "00:30:00");
        ASSERT_STR(i < 2
                       ? ""
                       : "warning: csidriver/d: is on no node and no process holds its leases, but 1 volume "
                         "and 0 attachments refer to it" GONE_ADVICE,
                   findings());
    }
}

TEST(drivers_that_are_not_ready)
{
    static struct told_cause told[] = { { "d", "driver-not-ready", "CSI driver d is not ready" },
                                        { "e", "no-csi-controller", "no process serves it" },
                                        { NULL, NULL, NULL } };

    begin();
    put(KIND_CSI_DRIVER, "{'metadata':{'name':'d'},'spec':{}}");
    put(KIND_CSI_DRIVER, "{'metadata':{'name':'e'},'spec':{}}");
    ASSERT_STR("warning: csidriver/d: CSI driver d is not ready; see 'berth why csidriver/d'\n",
               findings_told(told, 0));
}

#define NODE_ADVICE                                                          \
    "see 'berth describe node'; if it is shut down for good, add the taint " \
    "node.kubernetes.io/out-of-service\n"

TEST(nodes_that_are_down)
{
    begin();
    put_node("idle", false, "");
    put_node("n1", false, "");
    put_node("n2", false, ",'volumesAttached':[{'name':'x','devicePath':''}]");
    put_pair();
    put_pod("shop/web", "db", "n1", "Running", "");
    put_pod("shop/ended", "db", "idle", "Succeeded", "");
    ASSERT_STR(
        "error: node/n1: has not been ready for 12m, and pod shop/web with claims runs on it; " NODE_ADVICE
        "error: node/n2: has not been ready for 12m, and volumes are attached to it; " NODE_ADVICE,
        findings());
    begin();
    put_node("n1", false, "");
    put_pair();
    put_pod("shop/web", "db", "n1", "Running", "");
    put_pod("shop/api", "db", "n1", "Running", "");
    ASSERT_STR("error: node/n1: has not been ready for 12m, and 2 pods with claims run on it: shop/api and "
               "others; " NODE_ADVICE,
               findings());
}

TEST(nodes_that_are_silent)
{
    static const char row[] = "{'metadata':{'namespace':'kube-node-lease','name':'%s'},'spec':{"
                              "'leaseDurationSeconds':40,'renewTime':'2026-01-01T00:%s.000000Z'}}";

    begin();
    put_pair();
    put_node("n1", true, "");
    put_node("n2", true, "");
    put(KIND_LEASE, row, "n1", "57:00");
    put(KIND_LEASE, row, "n2", "58:45");
    put_pod("shop/web", "db", "n1", "Running", "");
    put_pod("shop/web2", "db", "n2", "Running", "");
    ASSERT_STR("warning: node/n1: has not renewed its lease for 3m, and pod shop/web with claims runs on "
               "it; " NODE_ADVICE,
               findings());
}

TEST(nodes_with_unknown_mounts)
{
    static const char row[] =
        "{'metadata':{'name':'%s'},'status':{'conditions':[{'type':'volumes.berth.io/unknown-mounts',"
        "'status':'%s','lastTransitionTime':'2026-01-01T00:48:00Z','reason':'r','message':'/x is "
        "mounted'}]}}";

    begin();
    put(KIND_NODE, row, "n1", "True");
    put(KIND_NODE, row, "n2", "False");
    ASSERT_STR("warning: node/n1: has had unknown mounts for 12m: /x is mounted; unmount them on the node "
               "once nothing uses them; Berth then releases the volumes\n",
               findings());
}

/* --- Statistics --- */

static void read_usage(const char *text)
{
    const char *node;

    ASSERT_OK(usages_read(&usages, str_of(kind_row(text)), &node, &err));
    usages_sort(&usages);
}

TEST(volumes_that_fill_up)
{
    begin();
    put_pair();
    read_usage(
        "{'node':'n1','pods':[{'podRef':{'name':'web','namespace':'shop'},'volumes':["
        "{'name':'data','claim':{'name':'db','namespace':'shop'},'capacityBytes':10240,'availableBytes':1023,"
        "'inodes':100,'inodesFree':0},"
        "{'name':'enough','capacityBytes':10240,'availableBytes':1024,'inodes':100,'inodesFree':10},"
        "{'name':'full','capacityBytes':10240,'availableBytes':0},"
        "{'name':'odd','capacityBytes':0,'availableBytes':0,'inodes':0,'inodesFree':0},"
        "{'name':'keys','plugin':'kubernetes.io/secret','capacityBytes':4096,'availableBytes':0}]},"
        "{'podRef':{'name':'web2','namespace':'shop'},'volumes':[{'name':'data','claim':{'name':'db',"
        "'namespace':'shop'},'capacityBytes':10240,'availableBytes':1023}]}]}");
    ASSERT_STR("error: pvc/db -n shop: has 0 of 100 inodes left in volume data of pod web; free some space, "
               "or request a larger size in its claim\n"
               "error: pod/web -n shop: has 0 bytes of 10Ki left in volume full of pod web; free some space, "
               "or request a larger size in its claim\n"
               "warning: pvc/db -n shop: has 1023 of 10Ki left in volume data of pod web; free some space, "
               "or request a larger size in its claim\n"
               "warning: pvc/db -n shop: has volume pv-1 with a capacity of 5Gi, 5Gi more than the file "
               "system mounted for pod web; enlarge the mounted file system, or replace the volume\n",
               findings());
}

/* What a file system needs for itself is not missing, and one that is being expanded grows yet. */
TEST(volumes_larger_than_what_is_mounted)
{
    static const struct {
        const char *capacity, *more;
        bool is_found;
    } rows[] = {
        { "4700000000", "", false }, /* of 5368709120 bytes */
        { "4600000000", "", true },
        { "0", "", false },
        { "1000000000", ",'annotations':{'volumes.berth.io/disk-capacity':'5Gi'}", false },
        { "120586240", "", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512];

        begin();
        put_claim("shop/db", "", "Bound", "pv-1", "");
        put(KIND_VOLUME,
            "{'metadata':{'name':'pv-1'%s},'spec':{'capacity':{'storage':'5Gi'},'accessModes':["
            "'ReadWriteOnce'],'claimRef':{'namespace':'shop','name':'db','uid':'u-shop/db'}},"
            "'status':{'phase':'Bound'}}",
            rows[i].more);
        (void)snprintf(text, sizeof text,
                       "{'node':'n1','pods':[{'podRef':{'name':'web','namespace':'shop'},'volumes':[{'name':"
                       "'data','claim':{'name':'db','namespace':'shop'},'capacityBytes':%s}]}]}",
                       rows[i].capacity);
        read_usage(text);
        ASSERT_INT(rows[i].is_found,
                   strstr(findings(), "more than the file system mounted for pod web") != NULL);
    }
    begin();
    put_volume("pv-1", "", "Bound", "shop/db", "");
    put(KIND_CLAIM,
        "{'metadata':{'namespace':'shop','name':'db','uid':'u-shop/db'},'spec':{'volumeName':'pv-1'},"
        "'status':{'phase':'Bound','capacity':{'storage':'1Gi'}}}");
    read_usage("{'node':'n1','pods':[{'podRef':{'name':'web','namespace':'shop'},'volumes':[{'name':"
               "'data','claim':{'name':'db','namespace':'shop'},'capacityBytes':1073741824}]}]}");
    ASSERT_STR("", findings());
}

TEST(mounts_that_are_broken)
{
    char dir[] = "/tmp/berth-check-XXXXXX", path[256], text[1024];

    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/pods", dir);
    ASSERT_INT(0, mkdir(path, 0700));
    (void)snprintf(path, sizeof path, "%s/pods/u1", dir);
    ASSERT_INT(0, mkdir(path, 0700));
    (void)snprintf(text, sizeof text,
                   "{'node':'n1','pods':[{'podRef':{'name':'web','namespace':'shop'},'volumes':["
                   "{'name':'hung','error':'no answer','path':'/nowhere'},"
                   "{'name':'there','path':'%s/pods/u1/'},"
                   "{'name':'gone','path':'%s/pods/u1/volumes/x','claim':{'name':'db','namespace':'shop'}},"
                   "{'name':'elsewhere','path':'%s/pods/u2/volumes/x'},"
                   "{'name':'relative','path':'pods/u1/volumes/x'}]}]}",
                   dir, dir, dir);
    begin();
    put_pair();
    read_usage(text);
    (void)snprintf(text, sizeof text,
                   "error: pvc/db -n shop: should be mounted for pod web at %s/pods/u1/volumes/x, but "
                   "nothing is mounted there; "
                   "see 'berth why pvc/db -n shop'\n"
                   "error: pod/web -n shop: cannot be accessed as volume hung of pod web on node n1: no "
                   "answer; see 'berth "
                   "why pod/web -n shop'\n",
                   dir);
    ASSERT_STR(text, findings());
    ASSERT_INT(0, rmdir(path));
    (void)snprintf(path, sizeof path, "%s/pods", dir);
    ASSERT_INT(0, rmdir(path));
    ASSERT_INT(0, rmdir(dir));
}

/* --- Words --- */

TEST(one_namespace)
{
    begin();
    put_volume("pv-1", "", "Bound", "park/gone", "");
    put_volume("pv-2", "", "Failed", NULL, "");
    put_volume("pv-3", "", "Released", "park/gone", "");
    read_usage("{'node':'n','pods':[{'podRef':{'name':'p','namespace':'park'},'volumes':[{'name':'v','error':"
               "'e'}]}]}");
    ASSERT_STR("error: pv/pv-2: has Failed: the message; see 'berth why pv/pv-2'\n",
               found(&(struct checkup){ .ns = "shop" }));
    usages_done(&usages);
    world_end();
}

TEST(many_of_a_rule_are_counted)
{
    const char *text;
    size_t lines = 0;

    begin();
    for (unsigned i = 0; i < 25; i++) {
        char name[8];

        (void)snprintf(name, sizeof name, "v%02u", i);
        put_volume(name, "", "Failed", NULL, "");
    }
    text = findings();
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    ASSERT_INT(21, lines);
    assert_non_null(strstr(text, "\nerror: 5 more like these (volume-failed); see 'berth check --all'\n"));
}

TEST(as_json)
{
    struct checkup x = {
        .all = &world, .usages = &usages, .texts = ARENA_INIT(1 << 20), .stuck_seconds = 300
    };
    _cleanup_(json_done_p) struct json d = { 0 };

    begin();
    put_volume("pv-1", "", "Failed", NULL, "");
    put_class("a", "kubernetes.io/no-provisioner", "");
    ASSERT_OK(inventory_tie(&world, &err));
    ASSERT_OK(checkup_run(&x, &err));
    buf_clear(&out);
    json_init(&d, 1 << 20);
    ASSERT_OK(print_json_checked(&d, checkup_as_json(&x, &d), &out, &err));
    ASSERT_STR("{\n"
               "    \"errors\": 1,\n"
               "    \"warnings\": 0,\n"
               "    \"hints\": 1,\n"
               "    \"waitingPods\": 0,\n"
               "    \"waitingClaims\": 0,\n"
               "    \"findings\": [\n"
               "        {\n"
               "            \"severity\": \"error\",\n"
               "            \"rule\": \"volume-failed\",\n"
               "            \"kind\": \"PersistentVolume\",\n"
               "            \"name\": \"pv-1\",\n"
               "            \"message\": \"has Failed: the message\",\n"
               "            \"advice\": \"see 'berth why pv/pv-1'\"\n"
               "        },\n"
               "        {\n"
               "            \"severity\": \"hint\",\n"
               "            \"rule\": \"class-default\",\n"
               "            \"kind\": \"StorageClass\",\n"
               "            \"message\": \"no default StorageClass: claims without a class only bind to "
               "volumes without a class\",\n"
               "            \"advice\": \"to set one: berth annotate sc NAME "
               "storageclass.kubernetes.io/is-default-class=true\"\n"
               "        }\n"
               "    ]\n"
               "}\n",
               buf_cstr(&out));
    checkup_done(&x);
    world_end();
}

TEST_MAIN()
