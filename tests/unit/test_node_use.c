/* What comes with a volume, through the whole node: its growth while pods use it, the group that owns it, the
 * turns that pods take, a pool without room. */
#include "tests/unit/test_node.h"

#include <semaphore.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define GIB2 "2147483648"
#define TO_2GI "{'spec':{'capacity':{'storage':'2Gi'}}}"
#define PENDING                                                                                 \
    "{'status':{'allocatedResources':{'storage':'2Gi'},'allocatedResourceStatuses':{'storage':" \
    "'NodeResizePending'}}}"
#define READ_ONLY "{'name':'v','persistentVolumeClaim':{'claimName':'d','readOnly':true}}"
#define V_MOUNT "'volumeMounts':[{'name':'v','mountPath':'/v'}]"
#define GREW "MountVolume.NodeExpandVolume succeeded for volume \"d\" " NODE

/* --- Growth --- */

/* A pod with the volume d of 1 GiB, mounted, and nothing in the logs. */
static void mount_one(const char *mode, char uid[64])
{
    disk.has_device = true;
    bench_open();
    put_disk_as("d", "1Gi", mode, "");
    put_disk_pod("p", "d", uid);
    pass(2);
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    buf_clear(&disk.log);
    buf_clear(&bench.w.log);
}

/* The control plane has done its part. */
static void grow_volume(void)
{
    ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d", TO_2GI);
    ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d/status", PENDING);
}

static unsigned count_on(const char *kind, const char *reason, const char *message)
{
    unsigned found = 0;

    ASSERT_SENT(&bench.w.served, 200, "GET", EVENTS, NULL);
    for (uint32_t i = 0; i < got_items(&bench.w.served); i++) {
        const struct json *d = &bench.w.served.doc;
        json_ref e = json_at(d, json_get(d, bench.w.served.root, "items"), i);

        found += json_is_string(d, json_get(d, e, "reason"), reason) &&
                 json_is_string(d, json_get(d, e, "message"), message) &&
                 json_is_string(d, json_get(d, json_get(d, e, "involvedObject"), "kind"), kind);
    }
    return found;
}

/* node-37: noticed with the next look at the pod, without a restart of anything. */
TEST(volume_in_use_grows)
{
    char uid[64];

    mount_one("ReadWriteOnce", uid);
    grow_volume();
    pass(70);
    ASSERT_CALLS("grow d " GIB2 "\n");
    ASSERT_THERE(&bench.w, "2Gi", CLAIMS "/d", "status/capacity/storage");
    ASSERT_GOT(&bench.w.served, "-", "status/allocatedResourceStatuses/storage");
    ASSERT_INT(1, count_on("Pod", "FileSystemResizeSuccessful", GREW));
    ASSERT_INT(1, count_on("PersistentVolumeClaim", "FileSystemResizeSuccessful", GREW));
    ASSERT_INT(2147483648, bench_mount("d", uid)->volume->bytes);
    pass(200);
    ASSERT_CALLS(""); /* once */
    bench_close();
}

/* node-38: one try for as long as the volume is held; the next pod is another chance. */
TEST(volume_that_cannot_grow_in_use_is_left_alone_until_it_was_away)
{
    char uid[64];

    mount_one("ReadWriteOnce", uid);
    disk_fails("grow", 1, ERR_BUSY, "only when it is free");
    grow_volume();
    pass(400);
    ASSERT_CALLS("grow d " GIB2 "\n");
    assert_true(bench_mount("d", uid)->volume->refuses_growth);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(5);
    ASSERT_CALLS("tear-down d\nunmount-device d\n");
    put_disk_pod("q", "d", uid);
    pass(5);
    ASSERT_CALLS("mount-device d \nset-up d q\ngrow d " GIB2 "\n");
    ASSERT_THERE(&bench.w, "2Gi", CLAIMS "/d", "status/capacity/storage");
    bench_close();
}

/* node-39, and section 8: a failure in use is told to the pod's people. */
TEST(volume_that_can_never_be_so_large_says_so)
{
    char uid[64];

    mount_one("ReadWriteOnce", uid);
    disk_fails("grow", 1000, ERR_INVALID, "out of range");
    grow_volume();
    pass(70);
    ASSERT_THERE(&bench.w, "NodeResizeInfeasible", CLAIMS "/d", "status/allocatedResourceStatuses/storage");
    ASSERT_GOT(&bench.w.served, "NodeResizeError", "status/conditions/0/type");
    ASSERT_GOT(&bench.w.served, "failed to expand pvc with out of range", "status/conditions/0/message");
    ASSERT_GOT(&bench.w.served, "1Gi", "status/capacity/storage");
    ASSERT_INT(1, count_on("Pod", "VolumeResizeFailed",
                           "NodeExpandVolume.NodeExpandVolume failed for volume \"d\" : out of range"));
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state); /* the pod keeps what it has */
    ASSERT_CALLS("grow d " GIB2 "\n");                    /* it is nobody's turn any more */
    bench_close();
}

/* node-40 */
TEST(read_only_claim_is_told_and_its_pod_starts)
{
    disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    grow_volume();
    put_pod("p", READ_ONLY, V_MOUNT, NULL);
    pass(5);
    ASSERT_CALLS("mount-device d \nset-up d p\n");
    ASSERT_INT(1, count_on("Pod", "FileSystemResizeFailed",
                           "MountVolume.NodeExpandVolume failed for volume \"d\" requested read-only file "
                           "system"));
    ASSERT_INT(1, count_on("PersistentVolumeClaim", "FileSystemResizeFailed",
                           "MountVolume.NodeExpandVolume failed for volume \"d\" requested read-only file "
                           "system"));
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    pass(200);
    ASSERT_CALLS("");
    bench_close();
}

/* node-41: another node has said that all is done; unless nobody has to, this one grows its own. */
TEST(volume_of_many_nodes_grows_here_too)
{
    static const char exempt[] = "{'metadata':{'annotations':{'volume.kubernetes.io/"
                                 "node-expansion-not-required':'true'}}}";

    for (unsigned row = 0; row < 2; row++) {
        char uid[64];

        mount_one("ReadWriteMany", uid);
        ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d", TO_2GI);
        if (row == 1)
            ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d", exempt);
        ASSERT_SENT(&bench.w.served, 200, "MERGE", CLAIMS "/d/status",
                    "{'status':{'capacity':{'storage':'2Gi'},'allocatedResources':{'storage':'2Gi'}}}");
        pass(70);
        ASSERT_CALLS(row == 0 ? "grow d " GIB2 "\n" : "");
        bench_close();
    }
}

/* Section 6.1, step 9: growth on the way to the pod; while it fails the pod's mount is uncertain. */
TEST(volume_grows_on_its_way_to_the_pod)
{
    char uid[64];

    disk.has_device = true;
    bench_open();
    put_disk("d", "1Gi", "");
    grow_volume();
    disk_fails("grow", 1, ERR_IO, "bad block");
    put_disk_pod("p", "d", uid);
    pass(0);
    ASSERT_CALLS("mount-device d \nset-up d p\ngrow d " GIB2 "\n");
    ASSERT_INT(MOUNT_UNCERTAIN, bench_mount("d", uid)->state);
    ASSERT_EVENT(&bench.w, "Warning", "FailedMount",
                 "MountVolume.Setup failed while expanding volume for volume \"d\" : bad block");
    pass(5);
    ASSERT_CALLS("set-up d p\ngrow d " GIB2 "\n");
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    bench_close();
}

/* --- Groups --- */

static void put_group_pod(const char *name, const char *claim, unsigned group, const char *volume)
{
    char body[2048];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'spec':{'nodeName':'" NODE
                   "','securityContext':{'fsGroup':%u},'containers':[{'name':'c','image':'i'," V_MOUNT
                   "}],'volumes':[{'name':'v',%s%s%s}]}}",
                   name, group, claim[0] ? "'persistentVolumeClaim':{'claimName':'" : volume, claim,
                   claim[0] ? "'}" : "");
    ASSERT_SENT(&bench.w.served, 201, "POST", PODS, body);
}

static gid_t group_of_file(const char *path)
{
    struct stat st;

    ASSERT_INT(0, stat(path, &st));
    return st.st_gid;
}

/* node-19, as the plugins without a driver have it: a local directory is given to the first pod's group
 * whatever its access modes are, and a later one is told; a host's path is never touched. */
TEST(first_group_owns_a_local_directory)
{
    char body[1024], uid[64], dir[PATH_MAX], file[PATH_MAX + 8];

    skip_without_private_mounts();
    bench_open();
    (void)snprintf(dir, sizeof dir, "%s/data", bench.d->path);
    (void)snprintf(file, sizeof file, "%s/file", dir);
    sh("mkdir '%s' && touch '%s'", dir, file);
    put_disk("d", "1Gi", "");
    ASSERT_SENT(&bench.w.served, 200, "GET", CLAIMS "/d", NULL);
    (void)snprintf(uid, sizeof uid, "%s", got(&bench.w.served, "metadata/uid"));
    ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d", "{'metadata':{'finalizers':null}}");
    ASSERT_SENT(&bench.w.served, 200, "DELETE", VOLUMES "/d", NULL);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'d'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':["
                   "'ReadWriteMany'],'local':{'path':'%.200s'},'nodeAffinity':{'required':{"
                   "'nodeSelectorTerms':[{'matchExpressions':[{'key':'kubernetes.io/os','operator':'In',"
                   "'values':['linux']}]}]}},'claimRef':{'namespace':'default','name':'d','uid':'%s'}}}",
                   dir, uid);
    ASSERT_SENT(&bench.w.served, 201, "POST", VOLUMES, body);
    put_group_pod("p", "d", 1000, "");
    pass(2);
    ASSERT_THERE(&bench.w, "True", PODS "/p", "status/conditions/0/status");
    ASSERT_INT(1000, group_of_file(file));
    put_group_pod("q", "d", 2000, "");
    pass(7);
    ASSERT_THERE(&bench.w, "True", PODS "/q", "status/conditions/0/status");
    ASSERT_INT(1000, group_of_file(file));
    ASSERT_EVENT(&bench.w, "Warning", "AlreadyMountedVolume",
                 "The requested fsGroup is 2000, but the volume d has GID 1000. The volume may not be "
                 "shareable.");
    (void)snprintf(body, sizeof body, "'hostPath':{'path':'%.200s'}", dir);
    put_group_pod("r", "", 3000, body);
    pass(2);
    ASSERT_THERE(&bench.w, "True", PODS "/r", "status/conditions/0/status");
    ASSERT_INT(1000, group_of_file(file));
    bench_close();
}

/* Section 3: the group that the volume's annotation names, unless the pod has it or it is no number. */
TEST(group_of_an_annotation_comes_with_the_volume)
{
    static const struct {
        const char *annotation, *groups;
        int64_t group;
    } rows[] = {
        { "1234", "", 1234 },      { "1234", "'supplementalGroups':[7,1234]", -1 },
        { "12x", "", -1 },         { "-5", "", -1 },
        { "99999999999", "", -1 }, { "0", "", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char body[1024], uid[64];

        bench_open();
        put_disk("d", "1Gi", "");
        (void)snprintf(body, sizeof body, "{'metadata':{'annotations':{'pv.beta.kubernetes.io/gid':'%s'}}}",
                       rows[i].annotation);
        ASSERT_SENT(&bench.w.served, 200, "MERGE", VOLUMES "/d", body);
        (void)snprintf(body, sizeof body,
                       "{'metadata':{'name':'p'},'spec':{'nodeName':'" NODE
                       "','securityContext':{%s},'containers':[{'name':'c','image':'i'," V_MOUNT
                       "}],'volumes':[{'name':'v','persistentVolumeClaim':{'claimName':'d'}}]}}",
                       rows[i].groups);
        ASSERT_SENT(&bench.w.served, 201, "POST", PODS, body);
        (void)snprintf(uid, sizeof uid, "%s", got(&bench.w.served, "metadata/uid"));
        pass(2);
        ASSERT_INT(rows[i].group, bench_mount("d", uid)->held_group);
        bench_close();
    }
}

/* --- A node with too much to do --- */

static sem_t gate;

static int wait_at_gate(void *ctx)
{
    (void)ctx;
    while (sem_wait(&gate) < 0)
        ;
    return 0;
}

static void on_gate_passed(void *ctx, int r)
{
    (void)ctx;
    (void)r;
}

/* Work that the pool does not take never began: a mount that may be there stays so, and is brought later. */
TEST(full_pool_changes_nothing)
{
    static struct pool_work work[1024];
    unsigned count = 0;
    struct error full;
    char uid[64];

    bench_open();
    ASSERT_INT(0, sem_init(&gate, 0, 0));
    put_disk("d", "1Gi", "");
    disk_fails("set-up", 1, ERR_UNCERTAIN, "slow");
    put_disk_pod("p", "d", uid);
    pass(0);
    ASSERT_INT(MOUNT_UNCERTAIN, bench_mount("d", uid)->state);
    while (pool_submit(bench.pool, &work[count], wait_at_gate, on_gate_passed, NULL, &full) == 0)
        count++;
    parts_pass_ns(&bench.w, 2 * NS_PER_S);
    ASSERT_INT(MOUNT_UNCERTAIN, bench_mount("d", uid)->state);
    ASSERT_CALLS("set-up d p\n");
    for (unsigned i = 0; i < count; i++)
        (void)sem_post(&gate);
    pass(10);
    ASSERT_CALLS("set-up d p\n");
    ASSERT_INT(MOUNT_DONE, bench_mount("d", uid)->state);
    bench_close();
}

/* An attachment whose answer did not come is asked for again, and detached when nobody wants it. */
TEST(node_detaches_what_it_may_have_attached)
{
    disk.is_attachable = true;
    bench.o.attaches_itself = true;
    bench_open();
    put_disk("d", "1Gi", "");
    disk_fails("attach", 1000, ERR_UNCERTAIN, "slow");
    put_disk_pod("p", "d", NULL);
    pass(1);
    ASSERT_INT(ATTACH_UNCERTAIN, node_world_find_volume(&bench_agent()->world, DISK "/d")->attach);
    buf_clear(&disk.log);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(2);
    ASSERT_CALLS("detach d\n");
    assert_null(node_world_find_volume(&bench_agent()->world, DISK "/d"));
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* --- Memory that follows the pod --- */

/* The tmpfs of the pod's volume has this size. */
static void assert_memory(const char *uid, unsigned mib)
{
    char path[PATH_MAX];
    struct statvfs fs;

    (void)snprintf(path, sizeof path, "%s/pods/%s/volumes/kubernetes.io~empty-dir/v", bench.root, uid);
    assert_int_equal(statvfs(path, &fs), 0);
    ASSERT_INT(mib, fs.f_blocks * fs.f_frsize >> 20);
}

/* As a server that resizes pods says it: the same pod with other limits, by the watch. This one does not. */
static void resize_pod(const char *name, const char *from, const char *to)
{
    _cleanup_(object_unref_p) struct object *o = NULL;
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(1 << 20);
    static unsigned revision = 100000;
    char path[128];
    json_ref root, meta;
    const char *at;

    (void)snprintf(path, sizeof path, PODS "/%s", name);
    ASSERT_SENT(&bench.w.served, 200, "GET", path, NULL);
    at = strstr(buf_cstr(&bench.w.served.text), from);
    assert_non_null(at);
    buf_add(&text, buf_cstr(&bench.w.served.text), (size_t)(at - buf_cstr(&bench.w.served.text)));
    buf_addf(&text, "%s%s", to, at + strlen(from));
    json_init(&d, 1 << 20);
    ASSERT_OK(json_parse(&d, buf_str(&text), &root, &err));
    meta = json_get(&d, root, "metadata");
    (void)snprintf(path, sizeof path, "%u", ++revision);
    json_set_string(&d, meta, "resourceVersion", path);
    json_set(&d, meta, "generation", json_new_int(&d, revision));
    buf_clear(&text);
    json_write(&d, root, &text);
    ASSERT_OK(object_decode(&pod_kind, buf_str(&text), &d, &o, &err));
    informer_observe(bench_agent()->pods, o);
    pass(2);
}

TEST(memory_follows_the_limits_of_its_pod)
{
    skip_without_private_mounts();
    char uid[64];

    bench_open();
    ASSERT_SENT(&bench.w.served, 201, "POST", PODS,
                "{'metadata':{'name':'p'},'spec':{'nodeName':'" NODE
                "','containers':[{'name':'c','image':'i',"
                "'resources':{'limits':{'memory':'32Mi'}}," V_MOUNT "}],"
                "'volumes':[{'name':'v','emptyDir':{'medium':'Memory','sizeLimit':'64Mi'}}]}}");
    (void)snprintf(uid, sizeof uid, "%s", got(&bench.w.served, "metadata/uid"));
    pass(2);
    assert_memory(uid, 32);
    resize_pod("p", "\"memory\":\"32Mi\"", "\"memory\":\"48Mi\"");
    assert_memory(uid, 48);
    resize_pod("p", "\"memory\":\"32Mi\"", "\"memory\":\"4Gi\""); /* more than the volume may have */
    assert_memory(uid, 64);
    resize_pod("p", "\"sizeLimit\":\"64Mi\"", "\"sizeLimit\":\"16Mi\"");
    assert_memory(uid, 16);
    process_kill(
        &bench.w); /* what changed meanwhile is found after a restart: here, back to what the server has */
    process_start(&bench.w);
    pass(3);
    assert_memory(uid, 32);
    ASSERT_SENT(&bench.w.served, 200, "DELETE", PODS "/p", NULL);
    pass(5);
    ASSERT_GONE(&bench.w, PODS "/p");
    bench_close();
}

/* Many pods at once, each with volumes of its own; and none is left. */
TEST(many_pods_come_and_go)
{
    enum { COUNT = 60 };
    char name[16], path[64];

    bench_open();
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(name, sizeof name, "d%u", i);
        put_disk(name, "1Gi", "");
        put_disk_pod(name, name, NULL);
    }
    pass(10);
    ASSERT_INT(COUNT, bench_agent()->world.volumes.count);
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(path, sizeof path, PODS "/d%u", i);
        ASSERT_THERE(&bench.w, "True", path, "status/conditions/0/status");
        ASSERT_SENT(&bench.w.served, 200, "DELETE", path, NULL);
    }
    pass(10);
    ASSERT_INT(0, bench_agent()->world.volumes.count);
    ASSERT_INT(0, bench_agent()->world.pods.count);
    bench_close();
}

TEST_MAIN()
