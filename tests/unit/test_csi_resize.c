/* Expansion and modification of CSI volumes on the real API core: csi-23 to csi-25. */
#include "tests/unit/test_csi_part.h"

#include "controllers/csi/csi_resize_plan.h"

#define CLAIM CLAIMS "/x"
#define VOLUME VOLUMES "/pv"
#define PENDING_TEXT "Waiting for user to (re-)start a pod to finish file system resize of volume on node."

static void pass(struct parts *w, unsigned seconds)
{
    parts_pass_ns(w, (uint64_t)seconds * NS_PER_S);
}

/* A claim of 1Gi that is bound to a volume of the driver. */
static void put_pair(struct parts *w)
{
    char body[2048];

    ASSERT_SENT(&w->served, 201, "POST", CLASSES,
                "{'metadata':{'name':'c'},'provisioner':'" FAKE_DRIVER "','allowVolumeExpansion':true}");
    ASSERT_SENT(&w->served, 201, "POST", CLAIMS,
                "{'metadata':{'name':'x'},'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'c',"
                "'volumeName':'pv','resources':{'requests':{'storage':'1Gi'}}}}");
    (void)snprintf(
        body, sizeof body,
        "{'metadata':{'name':'pv'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce'],"
        "'storageClassName':'c','claimRef':{'namespace':'default','name':'x','uid':'%s'},'csi':{'driver':"
        "'" FAKE_DRIVER "','volumeHandle':'v'}}}",
        got(&w->served, "metadata/uid"));
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    ASSERT_SENT(&w->served, 200, "MERGE", VOLUME "/status", "{'status':{'phase':'Bound'}}");
    ASSERT_SENT(&w->served, 200, "MERGE", CLAIM "/status",
                "{'status':{'phase':'Bound','capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']}}");
}

static void begin(struct parts *w, void (*on_made)(struct fake_csi *f))
{
    settings = (struct csi_driver_settings){ 0 };
    the_function = &csi_resizer_type;
    fake_on_made = on_made;
    parts_init(w, &csi_part);
    (void)fake_csi_add(fake_of_parts(), "v", INT64_C(1) << 30);
    put_pair(w);
    pass(w, 1);
}

static void request(struct parts *w, const char *size)
{
    char body[256];

    (void)snprintf(body, sizeof body, "{'spec':{'resources':{'requests':{'storage':'%s'}}}}", size);
    ASSERT_SENT(&w->served, 200, "MERGE", CLAIM, body);
}

static void end(struct parts *w)
{
    assert_careful(fake_of_parts());
    parts_done(w);
}

/* --- The table of sizes --- */

/* csi-23: every row of the size table. */
TEST(csi_resize_size_table)
{
    static const struct {
        const char *volume, *request, *allocated, *status, *size; /* size NULL: nothing to do */
        bool was_final, is_node_only;
    } rows[] = {
        { "1Gi", "3Gi", "", "", "3Gi", false, false },
        { "1Gi", "3Gi", "2Gi", "", "3Gi", false, false },
        { "1Gi", "3Gi", "2Gi", "ControllerResizeInfeasible", "3Gi", false, false },
        { "1Gi", "3Gi", "2Gi", "ControllerResizeInProgress", "2Gi", false, false },
        { "1Gi", "3Gi", "2Gi", "ControllerResizeInProgress", "3Gi", true, false },
        { "1Gi", "3Gi", "2Gi", "NodeResizePending", "2Gi", false, false },
        { "1Gi", "3Gi", "2Gi", "NodeResizeInProgress", "2Gi", false, false },
        { "2Gi", "3Gi", "2Gi", "NodeResizePending", NULL, false, false },
        { "2Gi", "3Gi", "2Gi", "NodeResizeInProgress", NULL, false, false },
        { "1Gi", "3Gi", "2Gi", "NodeResizeInfeasible", "2Gi", false, false },
        { "1Gi", "3Gi", "", "NodeResizeInfeasible", "3Gi", false, false },
        { "5Gi", "3Gi", "5Gi", "NodeResizePending", NULL, false, false },
        { "5Gi", "3Gi", "5Gi", "NodeResizeInProgress", NULL, false, false },
        { "5Gi", "3Gi", "5Gi", "NodeResizeInfeasible", "5Gi", false, false },
        { "5Gi", "3Gi", "5Gi", "NodeResizeInfeasible", "3Gi", false, true },
        { "5Gi", "3Gi", "5Gi", "ControllerResizeInProgress", "5Gi", false, false },
        { "5Gi", "3Gi", "5Gi", "ControllerResizeInfeasible", "5Gi", false, false },
        { "5Gi", "3Gi", "5Gi", "", "5Gi", false, false },
        { "5Gi", "3Gi", "", "", "3Gi", false, false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct volume v = { 0 };
        struct claim c = { 0 };
        struct csi_resize_inputs in = { .claim = &c,
                                        .volume = &v,
                                        .was_final = rows[i].was_final,
                                        .expands_on_controller = !rows[i].is_node_only };
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(256);
        struct quantity size;
        bool is_due;

        ASSERT_OK(quantity_parse(str_of(rows[i].volume), &v.capacity, &err));
        ASSERT_OK(quantity_parse(str_of(rows[i].request), &c.request, &err));
        c.has_allocated = rows[i].allocated[0] != '\0';
        if (c.has_allocated)
            ASSERT_OK(quantity_parse(str_of(rows[i].allocated), &c.allocated, &err));
        c.resize = (uint8_t)resize_status_parse(str_of(rows[i].status));
        is_due = csi_resize_decide(&in, &size);
        print_message("row %zu\n", i);
        assert_int_equal(is_due, rows[i].size != NULL);
        if (is_due) {
            quantity_format(&size, &text);
            ASSERT_STR(rows[i].size, buf_cstr(&text));
        }
    }
}

/* --- Expansion --- */

/* csi-23: the controller expands; nothing is left for the node. */
TEST(csi_resize_on_the_controller)
{
    struct parts w;

    begin(&w, NULL);
    request(&w, "2Gi");
    pass(&w, 1);
    ASSERT_THERE(&w, "2Gi", VOLUME, "spec/capacity/storage");
    ASSERT_THERE(&w, "2Gi", CLAIM, "status/capacity/storage");
    ASSERT_GOT(&w.served, "2Gi", "status/allocatedResources/storage");
    ASSERT_GOT(&w.served, "-", "status/allocatedResourceStatuses");
    ASSERT_GOT(&w.served, "-", "status/conditions");
    assert_non_null(strstr(got(&w.served, "metadata/annotations"), "node-expansion-not-required\":\"true"));
    ASSERT_EVENT(&w, "Normal", "Resizing", "External resizer is resizing volume pv");
    ASSERT_EVENT(&w, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded");
    assert_called(fake_of_parts(), "ControllerExpandVolume v OK\n");
    end(&w);
}

static void with_node_expansion(struct fake_csi *f)
{
    f->is_node_expansion_required = true;
}

/* csi-23: the node finishes. */
TEST(csi_resize_continues_on_the_node)
{
    struct parts w;

    begin(&w, with_node_expansion);
    request(&w, "2Gi");
    pass(&w, 1);
    ASSERT_THERE(&w, "2Gi", VOLUME, "spec/capacity/storage");
    ASSERT_GOT(&w.served, "{'volume.alpha.kubernetes.io/pre-resize-capacity':'1Gi'}", "metadata/annotations");
    ASSERT_THERE(&w, "1Gi", CLAIM, "status/capacity/storage");
    ASSERT_GOT(&w.served, "NodeResizePending", "status/allocatedResourceStatuses/storage");
    assert_non_null(strstr(got(&w.served, "status/conditions"), PENDING_TEXT));
    ASSERT_EVENT(&w, "Normal", "FileSystemResizeRequired", "Require file system resize of volume on node");
    /* As the node writes it. */
    ASSERT_SENT(
        &w.served, 200, "MERGE", CLAIM "/status",
        "{'status':{'capacity':{'storage':'2Gi'},'allocatedResourceStatuses':null,'conditions':null}}");
    pass(&w, 1);
    ASSERT_THERE(&w, "-", VOLUME, "metadata/annotations");
    assert_called(fake_of_parts(), "ControllerExpandVolume v OK\n");
    end(&w);
}

static void node_only(struct fake_csi *f)
{
    f->controller = 0;
}

/* csi-23: a driver that expands only on nodes. */
TEST(csi_resize_only_on_the_node)
{
    struct parts w;

    begin(&w, node_only);
    request(&w, "2Gi");
    pass(&w, 1);
    ASSERT_THERE(&w, "2Gi", VOLUME, "spec/capacity/storage");
    ASSERT_THERE(&w, "NodeResizePending", CLAIM, "status/allocatedResourceStatuses/storage");
    assert_called(fake_of_parts(), "");
    end(&w);
}

/* csi-23: an infeasible size waits five minutes, and a smaller request is tried at once. */
TEST(csi_resize_of_what_is_infeasible)
{
    struct parts w;

    begin(&w, NULL);
    fail_next("ControllerExpandVolume", RPC_OUT_OF_RANGE, "too large", 1);
    request(&w, "9Gi");
    pass(&w, 250);
    ASSERT_INT(1, count_calls("ControllerExpandVolume"));
    ASSERT_THERE(&w, "ControllerResizeInfeasible", CLAIM, "status/allocatedResourceStatuses/storage");
    assert_non_null(strstr(got(&w.served, "status/conditions"),
                           "failed to expand pvc with rpc error: code = OutOfRange desc = too large"));
    ASSERT_EVENT(&w, "Warning", "VolumeResizeFailed",
                 "resize volume \"pv\" by resizer \"" FAKE_DRIVER
                 "\" failed: rpc error: code = OutOfRange desc = too large");
    request(&w, "2Gi");
    pass(&w, 5);
    ASSERT_THERE(&w, "2Gi", CLAIM, "status/capacity/storage");
    ASSERT_GOT(&w.served, "-", "status/conditions");
    end(&w);
}

/* csi-23: offline expansion waits until no pod uses the claim. */
TEST(csi_resize_of_what_is_in_use)
{
    struct parts w;

    begin(&w, NULL);
    ASSERT_SENT(
        &w.served, 201, "POST", PODS,
        "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}],'volumes':[{'name':'d',"
        "'persistentVolumeClaim':{'claimName':'x'}}]}}");
    fail_next("ControllerExpandVolume", RPC_FAILED_PRECONDITION, "in use", 1);
    request(&w, "2Gi");
    pass(&w, 100);
    ASSERT_INT(1, count_calls("ControllerExpandVolume"));
    assert_true(count_events(&w, "Warning", "VolumeResizeFailed",
                             "Unable to expand default/x because CSI driver " FAKE_DRIVER
                             " only supports offline expansion and volume is currently in-use") >= 1);
    ASSERT_SENT(&w.served, 200, "DELETE", PODS "/p?gracePeriodSeconds=0", NULL);
    pass(&w, 310);
    ASSERT_THERE(&w, "2Gi", CLAIM, "status/capacity/storage");
    end(&w);
}

static void expand_once(struct parts *w)
{
    settings = (struct csi_driver_settings){ 0 };
    (void)fake_csi_add(fake_of_parts(), "v", INT64_C(1) << 30);
    put_pair(w);
    pass(w, 1);
    request(w, "2Gi");
    pass(w, 600);
    ASSERT_THERE(w, "2Gi", CLAIM, "status/capacity/storage");
    ASSERT_THERE(w, "2Gi", VOLUME, "spec/capacity/storage");
}

/* csi-24: whatever fails, the end is the same. */
TEST(csi_resize_ends_the_same_with_every_fault)
{
    the_function = &csi_resizer_type;
    fake_on_made = NULL;
    assert_all_ends_the_same(&csi_part, expand_once);
}

/* --- Modification --- */

static void put_attributes(struct parts *w, const char *name, const char *driver)
{
    char body[512];

    (void)snprintf(body, sizeof body,
                   "{'metadata':{'name':'%s'},'driverName':'%s','parameters':{'iops':'%s'}}", name, driver,
                   name);
    ASSERT_SENT(&w->served, 201, "POST", ATTRIBUTES_CLASSES, body);
}

static void choose(struct parts *w, const char *name)
{
    char body[256];

    (void)snprintf(body, sizeof body, "{'spec':{'volumeAttributesClassName':'%s'}}", name);
    ASSERT_SENT(&w->served, 200, "MERGE", CLAIM, body);
}

/* csi-25 */
TEST(csi_modify)
{
    struct parts w;

    begin(&w, NULL);
    put_attributes(&w, "gold", FAKE_DRIVER);
    choose(&w, "gold");
    pass(&w, 1);
    ASSERT_THERE(&w, "gold", VOLUME, "spec/volumeAttributesClassName");
    ASSERT_THERE(&w, "gold", CLAIM, "status/currentVolumeAttributesClassName");
    ASSERT_GOT(&w.served, "-", "status/modifyVolumeStatus");
    ASSERT_GOT(&w.served, "-", "status/conditions");
    ASSERT_EVENT(&w, "Normal", "VolumeModify", "external resizer is modifying volume x with vac gold");
    ASSERT_EVENT(&w, "Normal", "VolumeModifySuccessful",
                 "external resizer modified volume x with vac gold successfully");
    ASSERT_STR("iops=gold ", fake_csi_volume(fake_of_parts(), "v")->parameters);
    end(&w);
}

/* csi-25: a class that does not exist is awaited. */
TEST(csi_modify_awaits_the_class)
{
    struct parts w;

    begin(&w, NULL);
    choose(&w, "gold");
    pass(&w, 1);
    ASSERT_THERE(&w, "{'targetVolumeAttributesClassName':'gold','status':'Pending'}", CLAIM,
                 "status/modifyVolumeStatus");
    assert_true(count_events(&w, "Warning", "VolumeModifyFailed", "VAC \"gold\" does not exist.") >= 1);
    put_attributes(&w, "gold", FAKE_DRIVER);
    pass(&w, 700);
    ASSERT_THERE(&w, "gold", CLAIM, "status/currentVolumeAttributesClassName");
    end(&w);
}

/* csi-25: a target whose call has no result is applied before another one. */
TEST(csi_modify_of_an_uncertain_target)
{
    struct parts w;

    begin(&w, NULL);
    put_attributes(&w, "gold", FAKE_DRIVER);
    put_attributes(&w, "iron", FAKE_DRIVER);
    fail_next("ControllerModifyVolume", RPC_DEADLINE_EXCEEDED, "slow", 1);
    choose(&w, "gold");
    pass(&w, 0);
    choose(&w, "iron");
    pass(&w, 30);
    ASSERT_THERE(&w, "iron", CLAIM, "status/currentVolumeAttributesClassName");
    assert_called(fake_of_parts(), "ControllerModifyVolume  DeadlineExceeded\nControllerModifyVolume v OK\n"
                                   "ControllerModifyVolume v OK\n");
    ASSERT_EVENT(&w, "Normal", "VolumeModifySuccessful",
                 "external resizer modified volume x with vac gold successfully");
    end(&w);
}

/* csi-25: infeasible parameters, then another class. */
TEST(csi_modify_of_what_is_infeasible)
{
    struct parts w;

    begin(&w, NULL);
    put_attributes(&w, "gold", FAKE_DRIVER);
    put_attributes(&w, "iron", FAKE_DRIVER);
    fail_next("ControllerModifyVolume", RPC_INVALID_ARGUMENT, "no gold", 1);
    choose(&w, "gold");
    pass(&w, 100);
    ASSERT_INT(1, count_calls("ControllerModifyVolume"));
    ASSERT_THERE(&w, "{'targetVolumeAttributesClassName':'gold','status':'Infeasible'}", CLAIM,
                 "status/modifyVolumeStatus");
    assert_non_null(strstr(got(&w.served, "status/conditions"), "\"reason\":\"InvalidArgument\""));
    choose(&w, "iron");
    pass(&w, 5);
    ASSERT_THERE(&w, "iron", CLAIM, "status/currentVolumeAttributesClassName");
    ASSERT_GOT(&w.served, "-", "status/conditions");
    end(&w);
}

static void modify_once(struct parts *w)
{
    settings = (struct csi_driver_settings){ 0 };
    (void)fake_csi_add(fake_of_parts(), "v", INT64_C(1) << 30);
    put_pair(w);
    put_attributes(w, "gold", FAKE_DRIVER);
    pass(w, 1);
    choose(w, "gold");
    pass(w, 600);
    ASSERT_THERE(w, "gold", CLAIM, "status/currentVolumeAttributesClassName");
}

/* csi-25: whatever fails, the end is the same. */
TEST(csi_modify_ends_the_same_with_every_fault)
{
    the_function = &csi_resizer_type;
    fake_on_made = NULL;
    assert_all_ends_the_same(&csi_part, modify_once);
}

TEST_MAIN()
