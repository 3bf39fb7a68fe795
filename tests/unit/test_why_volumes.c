/* Volumes that nobody gets, or that do not go, one situation a test: the true cause comes first. */
#include "tests/unit/test_why_still.h"

#define RETAIN ",'persistentVolumeReclaimPolicy':'Retain'"
#define DELETE ",'persistentVolumeReclaimPolicy':'Delete'"
#define RECYCLE ",'persistentVolumeReclaimPolicy':'Recycle'"
#define BY(who) ",'annotations':{'" ANN_PROVISIONED_BY "':'" who "'}"
#define RESERVED(claim) ",'claimRef':{'namespace':'default','name':'" claim "'}"

static void assert_volume(struct scene *x, const char *cause, const char *sentence)
{
    assert_scene(x, KIND_VOLUME, "pv", cause, sentence);
}

/* --- Nobody has it --- */

TEST(stuck_no_controller)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", ONCE NFS, "");
    assert_volume(&x, "no-controller", "no controller has processed it yet");
    ASSERT_TEXT("pv pv: Pending, because");
    scene_close(&x);
}

TEST(stuck_free_and_refused_by_every_claim)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", CLASSED("fast") NFS, "Available");
    put_claim(&x, "far", "", ",'accessModes':['ReadWriteMany'],'storageClassName':'slow'", "Pending");
    put_claim(&x, "near", "", CLASSED("slow"), "Pending");
    put_claim(&x, "has", ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}", ONCE ",'volumeName':'x'",
              "Bound");
    assert_volume(&x, "class",
                  "none of the 2 waiting claims can use it; the closest is default/near: volume has class "
                  "fast, claim has slow");
    ASSERT_TEXT("Candidates (2):\n  default/far: volume has class fast, claim has slow\n  default/near: "
                "volume has class fast, claim has slow\n");
    ASSERT_TEXT("berth why pvc/near -n default");
    scene_close(&x);
}

TEST(stuck_free_and_its_class_waits_for_a_pod)
{
    struct scene x = { 0 };

    put_class(&x, "slow", NEVER, LATER, "");
    put_volume(&x, "pv", "", CLASSED("slow") NFS, "Available");
    put_claim(&x, "db", "", CLASSED("slow"), "Pending");
    assert_volume(&x, "waits-for-consumer",
                  "the only waiting claim, default/db, cannot use it: free, but its class waits for a pod "
                  "that uses the claim");
    scene_close(&x);
}

TEST(stuck_free_and_about_to_be_bound)
{
    struct scene x = { 0 }, y = { 0 };

    put_volume(&x, "pv", "", ONCE NFS, "Available");
    put_claim(&x, "db", "", ONCE, "Pending");
    assert_volume(&x, "binding", "claim default/db is about to be bound to it");
    scene_close(&x);
    put_volume(&y, "pv", "", ONCE NFS, "Available");
    put_volume(&y, "a", "", ONCE NFS, "Available");
    put_claim(&y, "db", "", ONCE, "Pending");
    assert_volume(&y, WHY_NOTHING, "it is free: claim default/db could use it, and takes a first");
    scene_close(&y);
}

TEST(a_volume_that_no_claim_waits_for_is_free)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", ONCE NFS, "Available");
    assert_volume(&x, WHY_NOTHING, "it is free, and no claim waits for a volume");
    scene_close(&x);
}

/* --- Kept for a claim --- */

TEST(stuck_kept_for_a_claim_that_is_not_there)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", ONCE NFS RESERVED("db"), "Available");
    assert_volume(&x, "claim-missing", "it is reserved for claim default/db, which does not exist");
    scene_close(&x);
}

TEST(stuck_kept_for_a_claim_that_it_does_not_fit)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", ONCE NFS RESERVED("db"), "Available");
    put_claim(&x, "db", "", ONCE ",'volumeMode':'Block'", "Pending");
    assert_volume(&x, "volume-mode",
                  "it is reserved for claim default/db, but does not fit it: Filesystem, Block asked");
    scene_close(&x);
}

TEST(stuck_kept_for_a_claim_that_has_another)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", ONCE NFS RESERVED("db"), "Available");
    put_pair(&x, "db", ONCE, NFS);
    assert_volume(&x, "claim-has-another",
                  "it is reserved for claim default/db, which is bound to volume pv-db");
    scene_close(&x);
}

/* --- A claim's --- */

TEST(a_bound_volume_says_who_has_it)
{
    struct scene x = { 0 };

    put_pair(&x, "db", ONCE, CSI);
    put_node(&x, "n1", "", "", "True");
    put_pod(&x, "web", "", ON_N1 USES("db"), "'phase':'Running'");
    put_pod(&x, "over", "", ON_N1 USES("db"), "'phase':'Succeeded'");
    scene_put(
        &x, KIND_ATTACHMENT,
        "{'apiVersion':'storage.k8s.io/v1','kind':'VolumeAttachment','metadata':{'name':'a','uid':'u-a',"
        "'resourceVersion':'1'},'spec':{'attacher':'d.io','nodeName':'n1','source':"
        "{'persistentVolumeName':'pv-db'}},'status':{'attached':true}}");
    scene_open(&x);
    scene_ask(&x, KIND_VOLUME, "pv-db");
    ASSERT_SAID(WHY_NOTHING, "nothing is wrong");
    ASSERT_TEXT("pv pv-db: Bound to default/db; nothing is wrong\n");
    ASSERT_TEXT("used by pods: web on n1\n");
    ASSERT_TEXT("attached to: n1\n");
    scene_close(&x);
}

TEST(stuck_bound_and_the_claim_is_another)
{
    struct scene x = { 0 }, y = { 0 }, z = { 0 };

    put_volume(&x, "pv", "", ONCE NFS OF_CLAIM("db"), "Bound");
    assert_volume(&x, "claim-gone", "its claim default/db was deleted, and the volume is not released yet");
    scene_close(&x);
    put_volume(&y, "pv", "", ONCE NFS ",'claimRef':{'namespace':'default','name':'db','uid':'u-old'}",
               "Bound");
    put_claim(&y, "db", "", ONCE, "Pending");
    assert_volume(&y, "claim-recreated",
                  "its claim default/db was deleted; the claim with that name now is a different one");
    scene_close(&y);
    put_volume(&z, "pv", "", ONCE NFS OF_CLAIM("db"), "Bound");
    put_claim(&z, "db", "", ONCE, "Pending");
    assert_volume(&z, "half-bound", "it is bound to claim default/db, but the claim is not bound to it yet");
    scene_close(&z);
}

TEST(stuck_local_volume_without_its_node)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", "True");
    put_pair(&x, "db", ONCE, ON_NODE("n9"));
    scene_open(&x);
    scene_ask(&x, KIND_VOLUME, "pv-db");
    ASSERT_SAID("node-gone",
                "no node matches its node affinity: it needs a node labelled kubernetes.io/hostname=n9; the "
                "only node is n1");
    ASSERT_TEXT("pv pv-db: Bound to default/db, but no node matches");
    ASSERT_TEXT("berth delete pvc db -n default");
    scene_close(&x);
}

/* --- Its claim is gone --- */

TEST(stuck_retained)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", ONCE NFS RETAIN ",'claimRef':{'namespace':'default','name':'db','uid':'u-old'}",
               "Released");
    put_claim(&x, "db", "", ONCE, "Pending");
    assert_volume(&x, "retained",
                  "its claim default/db was deleted, and reclaim policy Retain keeps its data");
    ASSERT_TEXT("claim default/db exists again, but it is a different one: uid u-db, not u-old\n");
    ASSERT_TEXT("berth patch pv pv --type=merge -p '{\"spec\":{\"claimRef\":null}}'");
    scene_close(&x);
}

TEST(stuck_nobody_deletes)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", ONCE NFS DELETE OF_CLAIM("db"), "Released");
    scene_open(&x);
    scene_ask(&x, KIND_VOLUME, "pv");
    ASSERT_STR("no-deleter", said_member("cause"));
    ASSERT_TEXT(
        "its claim was deleted, and no plugin can delete its storage: error getting deleter volume plugin");
    scene_close(&x);
}

TEST(stuck_external_provisioner_deletes)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", BY("d.io"), ONCE CSI DELETE OF_CLAIM("db"), "Released");
    assert_volume(&x, "external-deleter",
                  "its claim default/db was deleted, and d.io has to delete its storage");
    scene_close(&x);
}

TEST(stuck_external_provisioner_fails)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", BY("d.io"), ONCE CSI DELETE OF_CLAIM("db"), "Released");
    put_event(&x, "PersistentVolume", "pv", "VolumeFailedDelete", "no such pool");
    assert_volume(&x, "failing", "deleting it fails: no such pool");
    ASSERT_TEXT("its claim default/db was deleted, and d.io has to delete its storage\n");
    scene_close(&x);
}

TEST(stuck_attached_while_to_be_deleted)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", BY("d.io"), ONCE CSI DELETE OF_CLAIM("db"), "Released");
    scene_put(
        &x, KIND_ATTACHMENT,
        "{'apiVersion':'storage.k8s.io/v1','kind':'VolumeAttachment','metadata':{'name':'a','uid':'u-a',"
        "'resourceVersion':'1'},'spec':{'attacher':'d.io','nodeName':'n1','source':"
        "{'persistentVolumeName':'pv'}},'status':{'attached':true}}");
    assert_volume(&x, "attached",
                  "its claim was deleted, and the volume cannot be deleted while it is attached to n1");
    scene_close(&x);
}

TEST(stuck_local_volume_is_cleaned)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", "True");
    put_volume(&x, "pv", BY("local-volume-provisioner-n1-u"), ONCE ON_NODE("n1") DELETE OF_CLAIM("db"),
               "Released");
    put_event(&x, "PersistentVolume", "pv", "VolumeDelete", "Cleanup of Block PV pv: 3 of 9 MiB");
    assert_volume(
        &x, "cleaning",
        "its claim default/db was deleted, and its node has to clean it: local-volume-provisioner-n1-u");
    ASSERT_TEXT("Cleanup of Block PV pv: 3 of 9 MiB");
    ASSERT_TEXT("it can be used from: n1\n");
    scene_close(&x);
}

/* The node was registered again: its volume carries the old uid, and is taken over. */
TEST(stuck_local_volume_of_an_earlier_registration)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", "True");
    put_volume(&x, "pv", BY("local-volume-provisioner-n1-11111111-1111-4111-8111-111111111111"),
               ONCE ON_NODE("n1") DELETE OF_CLAIM("db"), "Released");
    assert_volume(&x, "cleaning",
                  "its claim default/db was deleted, and its node has to clean it: "
                  "local-volume-provisioner-n1-11111111-1111-4111-8111-111111111111");
    ASSERT_TEXT("node n1 was registered again since it created the volume\n");
    ASSERT_TEXT("the node adopts the volume when it has found the same disk");
    scene_close(&x);
}

#define DISK(key, value) ",'annotations':{'volumes.berth.io/disk" key "':'" value "'}"

static void put_without_disk(struct scene *x)
{
    put_node(x, "n1", "", "", "True");
    put_claim(x, "db", ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}", ONCE ",'volumeName':'pv'", "Bound");
    put_volume(x, "pv", DISK("-problem", "/x is not a valid mount point"),
               ONCE ON_NODE("n1") DELETE OF_CLAIM("db"), "Bound");
}

TEST(stuck_local_volume_without_its_disk)
{
    struct scene x = { 0 }, y = { 0 }, z = { 0 };

    put_without_disk(&x);
    assert_volume(&x, "disk-missing", "its disk cannot be used: /x is not a valid mount point");
    ASSERT_TEXT("Mount its disk on its node.");
    scene_close(&x);
    put_without_disk(&z);
    assert_scene(&z, KIND_CLAIM, "db", "disk-missing",
                 "the disk of its volume pv cannot be used: /x is not a valid mount point");
    ASSERT_TEXT("berth why pv/pv");
    scene_close(&z);
    put_node(&y, "n1", "", "", "True");
    put_volume(&y, "pv", DISK("-problem", "another disk is at /x: uuid:b in place of uuid:a"),
               ONCE ON_NODE("n1") DELETE OF_CLAIM("db"), "Released");
    assert_volume(&y, "disk-replaced",
                  "its disk cannot be used: another disk is at /x: uuid:b in place of uuid:a");
    ASSERT_TEXT("berth patch pv pv --type=merge -p "
                "'{\"metadata\":{\"annotations\":{\"volumes.berth.io/disk\":null}}}'");
    ASSERT_TEXT("it is used again, or cleaned, when its disk is available");
    scene_close(&y);
}

TEST(a_local_volume_on_a_grown_disk)
{
    struct scene x = { 0 };

    put_node(&x, "n1", "", "", "True");
    put_claim(&x, "db", ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}", ONCE ",'volumeName':'pv'",
              "Bound");
    put_volume(&x, "pv", DISK("-capacity", "3Gi"), ONCE ON_NODE("n1") DELETE OF_CLAIM("db"), "Bound");
    assert_volume(&x, WHY_NOTHING, "nothing is wrong");
    ASSERT_TEXT("its disk holds 3Gi\n");
    ASSERT_TEXT("berth patch pv pv --type=merge -p '{\"spec\":{\"capacity\":{\"storage\":\"3Gi\"}}}'");
    scene_close(&x);
}

TEST(stuck_recycling_has_failed)
{
    struct scene x = { 0 };

    scene_put(
        &x, KIND_VOLUME,
        "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'pv','uid':'u-pv',"
        "'resourceVersion':'1'},'spec':{'capacity':{'storage':'1Gi'}" ONCE NFS RECYCLE OF_CLAIM(
            "db") "},'status':{'phase':'Failed','message':'No recycler plugin found for the volume!'}}");
    assert_volume(&x, "failing", "recycling it fails: No recycler plugin found for the volume!");
    ASSERT_TEXT("its status message: No recycler plugin found for the volume!\n");
    scene_close(&x);
}

TEST(stuck_recycling_has_not_begun)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", "", ONCE NFS RECYCLE OF_CLAIM("db"), "Released");
    assert_volume(&x, "reclaiming", "its claim was deleted, and recycling it is about to begin");
    scene_close(&x);
}

/* With the binder at work: the plugin fails, and provisioning is retried. */
TEST(stuck_deleting_fails_again_and_again)
{
    struct world w;

    world_init(&w);
    scripted.fails = 100;
    scripted.fails_with = ERR_IO;
    scripted.says = "the disk is on fire";
    world_start(&w);
    add_volume(&w, "pv", "1Gi", RWO, ",'persistentVolumeReclaimPolicy':'Delete'");
    add_claim(&w, "c", "1Gi", RWO, "");
    world_settle_for(&w, 5);
    drop_claim(&w, "c");
    world_settle_for(&w, 5);
    ask_about(&w, KIND_VOLUME, "", "pv", false);
    ASSERT_SAID("failing", "deleting it fails: the disk is on fire");
    ASSERT_TEXT("delete");
    said_clear();
    world_done(&w);
}

/* --- It does not go --- */

TEST(stuck_deleting_while_bound)
{
    struct scene x = { 0 };

    put_volume(&x, "pv", DELETED ",'finalizers':['" FINALIZER_VOLUME_PROTECTION "']", ONCE NFS OF_CLAIM("db"),
               "Bound");
    put_claim(&x, "db", ",'annotations':{'" ANN_BIND_COMPLETED "':'yes'}", ONCE ",'volumeName':'pv'",
              "Bound");
    assert_volume(&x, "bound", "it is being deleted, and is kept while claim default/db is bound to it");
    ASSERT_TEXT("pv pv: Terminating, because");
    scene_close(&x);
}

/* {finalizers, what holds it} */
TEST(stuck_finalizers)
{
    static const struct {
        const char *finalizers;
        const char *cause;
        const char *sentence;
    } rows[] = {
        { "'" FINALIZER_VOLUME_PROTECTION "'", "protection",
          "it is being deleted, and the controllers have to remove the "
          "finalizer " FINALIZER_VOLUME_PROTECTION },
        { "'" FINALIZER_VOLUME_PROTECTION "','a.io/b'", "finalizer",
          "it is being deleted, and waits for the component that set finalizer a.io/b" },
        { "'" FINALIZER_EXTERNAL_RECLAIM "'", "storage-there",
          "it is being deleted, and its storage has to be deleted first: by d.io" },
        { "'" FINALIZER_RECLAIM "'", "storage-there",
          "it is being deleted, and its storage has to be deleted first: by d.io" },
        { "", "going", "it is being deleted, and nothing blocks it" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct scene x = { 0 };
        char meta[512];

        (void)snprintf(meta, sizeof meta, DELETED BY("d.io") ",'finalizers':[%s]", rows[i].finalizers);
        put_volume(&x, "pv", meta, ONCE CSI RETAIN, "Available");
        assert_volume(&x, rows[i].cause, rows[i].sentence);
        scene_close(&x);
    }
}

TEST_MAIN()
