/* Calls that may have made storage are recorded before they are made, and brought to their end after a crash
 * (csi-7): the provisioning loop with a type that fails as told, and the ConfigMap of its record. */
#include "tests/unit/test_provisioner.h"

#define RECORD MAPS "/berth-calls"

static struct {
    unsigned uncertain; /* so many tries end without a result */
    unsigned made;
    char last[512];
} storage;

static int storage_provision(const void *ctx, const struct provisioner_request *q,
                             struct storage_identity *identity, const host_stop *stop, struct buf *source,
                             enum provision_state *state, struct error *e)
{
    (void)identity;
    (void)ctx;
    (void)stop;
    storage.made++;
    (void)snprintf(storage.last, sizeof storage.last, "%s %s/%s %s", q->volume_name, q->claim->obj.ns,
                   q->claim->obj.name, q->class->obj.name);
    if (storage.uncertain > 0) {
        storage.uncertain--;
        *state = PROVISION_IN_BACKGROUND;
        return error_set(e, ERR_UNCERTAIN, "no answer");
    }
    buf_add_cstr(source, "\"nfs\":{\"server\":\"s\",\"path\":\"/x\"}");
    return 0;
}

static int storage_remove(const void *ctx, const struct volume *v, const struct storage_class *class,
                          const struct host_guard *guard, struct storage_identity *identity,
                          const host_stop *stop, struct error *e)
{
    (void)identity;
    (void)ctx;
    (void)v;
    (void)class;
    (void)guard;
    (void)stop;
    (void)e;
    return 0;
}

static const struct blocking_type storage_type = { storage_provision, storage_remove, NULL };

static int make(const struct component_deps *o, void **ret, struct error *e)
{
    return blocking_open(o, &storage_type, NULL, "berth-calls", ret, e);
}

static void start(void *part)
{
    provisioner_start(part);
}

static void end(void *part)
{
    (void)provisioner_free(part);
    the_pool = pool_free(the_pool);
}

static const struct part_type type = { make, start, end };

static void begin(struct parts *w)
{
    memset(&storage, 0, sizeof storage);
    parts_init(w, &type);
    put_class(w, "c", ",'mountOptions':['hard'],'reclaimPolicy':'Delete'");
}

static void restart(struct parts *w)
{
    w->is_dead = true;
    process_care(w);
    pass(w, 1);
}

TEST(call_record_is_empty_when_all_is_known)
{
    struct parts w;
    char uid[64];

    begin(&w);
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_INT(1, storage.made);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    ASSERT_SENT(&w.served, 200, "GET", RECORD, NULL);
    ASSERT_STR("-", got(&w.served, "data"));
    parts_done(&w);
}

/* The entry has what a repeated call needs, and no more of the claim. */
TEST(call_record_has_claim_and_class)
{
    struct parts w;
    char uid[64], path[128];

    begin(&w);
    storage.uncertain = UINT32_MAX;
    put_claim(&w, "x", ",'secret-annotation':'hidden'", "", uid);
    pass(&w, 1);
    (void)snprintf(path, sizeof path, "data/%s", uid);
    ASSERT_SENT(&w.served, 200, "GET", RECORD, NULL);
    assert_non_null(strstr(got(&w.served, path), "\"name\":\"x\""));
    assert_non_null(strstr(got(&w.served, path), "\"mountOptions\":[\"hard\"]"));
    assert_null(strstr(got(&w.served, path), "hidden"));
    parts_done(&w);
}

/* csi-7: claim and class are deleted, the process ends, and the next one still brings the call to its end. */
TEST(call_record_survives_the_claim_and_a_crash)
{
    char uid[64], text[256];
    struct parts w;

    begin(&w);
    storage.uncertain = 2;
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_INT(1, storage.made);
    drop_claim(&w, CLAIMS "/x");
    ASSERT_SENT(&w.served, 200, "DELETE", CLASSES "/c", NULL);
    restart(&w);
    ASSERT_INT(2, storage.made);
    restart(&w);
    pass(&w, 60);
    ASSERT_INT(3, storage.made);
    (void)snprintf(text, sizeof text, "pvc-%s default/x c", uid);
    ASSERT_STR(text, storage.last);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    ASSERT_GOT(&w.served, uid, "spec/claimRef/uid");
    ASSERT_SENT(&w.served, 200, "GET", RECORD, NULL);
    ASSERT_STR("-", got(&w.served, "data"));
    parts_done(&w);
}

/* Others may write the ConfigMap: a damaged entry does not stop the rest. */
TEST(call_record_ignores_what_is_damaged)
{
    char uid[64];
    struct parts w;

    begin(&w);
    ASSERT_SENT(&w.served, 201, "POST", MAPS,
                "{'metadata':{'name':'berth-calls'},'data':{'a':'no JSON','b':'{}','c':'{\\\"claim\\\":{}}',"
                "'d':'[]'}}");
    restart(&w);
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    parts_done(&w);
}

TEST(call_record_is_created_again)
{
    char first[64], second[64], path[128];
    struct parts w;

    begin(&w);
    storage.uncertain = UINT32_MAX;
    put_claim(&w, "x", "", "", first);
    pass(&w, 1);
    ASSERT_SENT(&w.served, 200, "DELETE", RECORD, NULL);
    put_claim(&w, "y", "", "", second);
    pass(&w, 5);
    ASSERT_INT(2, storage.made);
    ASSERT_SENT(&w.served, 200, "GET", RECORD, NULL);
    (void)snprintf(path, sizeof path, "data/%s", first);
    assert_true(got(&w.served, path)[0] != '\0');
    (void)snprintf(path, sizeof path, "data/%s", second);
    assert_true(got(&w.served, path)[0] != '\0');
    parts_done(&w);
}

/* The answer to the creation of the ConfigMap was lost, or another process has created it. */
TEST(call_record_reads_what_exists)
{
    char uid[64];
    struct parts w;

    begin(&w);
    pass(&w, 1);
    ASSERT_SENT(&w.served, 201, "POST", MAPS, "{'metadata':{'name':'berth-calls'}}");
    put_claim(&w, "x", "", "", uid);
    pass(&w, 5);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    ASSERT_SENT(&w.served, 200, "GET", RECORD, NULL);
    ASSERT_STR("-", got(&w.served, "data"));
    parts_done(&w);
}

/* The process ended after the volume was saved, and the claim is bound when the next one reads the record. */
TEST(call_record_ends_with_a_bound_claim)
{
    char uid[64], text[512];
    struct parts w;

    begin(&w);
    storage.uncertain = 1;
    put_claim(&w, "x", "", "", uid);
    pass(&w, 1);
    ASSERT_INT(1, storage.made);
    (void)snprintf(
        text, sizeof text,
        "{'metadata':{'name':'x'},'spec':{'accessModes':['ReadWriteOnce','ReadOnlyMany'],"
        "'storageClassName':'c','resources':{'requests':{'storage':'3Gi'}},'volumeMode':'Filesystem',"
        "'volumeName':'pvc-%s'}}",
        uid);
    ASSERT_SENT(&w.served, 200, "PUT", CLAIMS "/x", text);
    restart(&w);
    pass(&w, 5);
    ASSERT_SENT(&w.served, 200, "GET", volume_path(uid), NULL);
    ASSERT_SENT(&w.served, 200, "GET", RECORD, NULL);
    ASSERT_STR("-", got(&w.served, "data"));
    parts_done(&w);
}

static void one_claim(struct parts *w)
{
    char uid[64];

    memset(&storage, 0, sizeof storage);
    put_class(w, "c", ",'mountOptions':['hard']");
    put_claim(w, "x", "", "", uid);
    pass(w, 100);
    ASSERT_SENT(&w->served, 200, "GET", volume_path(uid), NULL);
    ASSERT_SENT(&w->served, 200, "GET", RECORD, NULL);
    ASSERT_STR("-", got(&w->served, "data"));
}

TEST(call_record_ends_the_same_with_every_fault)
{
    assert_ends_the_same(&type, one_claim);
}

TEST_MAIN()
