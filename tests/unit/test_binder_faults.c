/* The binder when requests fail, answers are lost and the process dies: whatever happens to any one request,
 * the world ends as it would have ended without it, nothing untrue is told, and nobody storms the server. */
#include "tests/unit/test_binder.h"

/* --- Scenes: objects, a start, something that happens then, an end --- */

struct scene {
    const char *name;
    void (*before)(struct world *w);
    void (*after)(struct world *w); /* once everything is at rest; NULL: nothing */
    void (*check)(struct world *w);
    const char *may_tell; /* the reason of an event that a fault may lead to, and that is true then */
    bool is_open;         /* more than one end is right: check() knows them */
};

#define ANNOTATIONS(text) "{'metadata':{'annotations':{" text "}}}"
#define NO_FINALIZERS "{'metadata':{'finalizers':null}}"
#define RECLAIM(policy) ",'persistentVolumeReclaimPolicy':'" policy "'"

static void volume_without_guard(struct world *w, const char *name, const char *extra)
{
    add_volume(w, name, "1Gi", RWO, extra);
    patch_volume(w, name, "", NO_FINALIZERS);
}

static void add_class(struct world *w, const char *name, const char *provisioner, const char *extra)
{
    char body[1024];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'storage.k8s.io/v1','kind':'StorageClass','metadata':{'name':'%s'%s},"
                   "'provisioner':'%s'%s}",
                   name,
                   strcmp(extra, "default") == 0
                       ? ",'annotations':{'storageclass.kubernetes.io/is-default-class':'true'}"
                       : "",
                   provisioner, extra[0] == ',' ? extra : "");
    ASSERT_SENT(&w->served, 201, "POST", CLASSES, body);
}

/* Nobody uses it: protection lets it go at once. */
static void delete_claim(struct world *w, const char *name)
{
    char path[512];

    patch_claim(w, name, "", NO_FINALIZERS);
    (void)snprintf(path, sizeof path, CLAIMS "/%s", name);
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
}

static void delete_volume(struct world *w, const char *name)
{
    char path[512];

    patch_volume(w, name, "", NO_FINALIZERS);
    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    ASSERT_SENT(&w->served, 200, "DELETE", path, NULL);
}

static void uid_of_claim(struct world *w, const char *name, char to[static 64])
{
    look_at_claim(w, name);
    uid_of_last(w, to);
}

/* The volume is made over to the claim as the scheduler or an external provisioner would. */
static void add_volume_of(struct world *w, const char *name, const char *claim, bool is_ours,
                          const char *extra)
{
    char uid[64], body[2048];

    uid_of_claim(w, claim, uid);
    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'%s'%s},'spec':{"
                   "'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']," HOST_PATH ",'claimRef':{"
                   "'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'default','name':'%s',"
                   "'uid':'%s'}%s}}",
                   name, is_ours ? ",'annotations':{'" ANN_BOUND_BY_CONTROLLER "':'yes'}" : "", claim, uid,
                   extra);
    ASSERT_SENT(&w->served, 201, "POST", VOLUMES, body);
    patch_volume(w, name, "", NO_FINALIZERS);
}

static bool has_volume(struct world *w, const char *name)
{
    char path[512];

    (void)snprintf(path, sizeof path, VOLUMES "/%s", name);
    return send_request(&w->served, "GET", path, NULL) == 200;
}

/* Plain. */
static void plain_before(struct world *w)
{
    volume_without_guard(w, "p", "");
    add_claim(w, "c", "1Gi", RWO, "");
}

static void plain_check(struct world *w)
{
    assert_bound(w, "c", "p");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "yes");
}

/* Kept by name. */
static void by_name_before(struct world *w)
{
    add_volume(w, "p", "10Gi", RWO, ",'claimRef':{'namespace':'default','name':'c'}");
    add_volume(w, "q", "1Gi", RWO, "");
    add_claim(w, "c", "1Gi", RWO, "");
}

static void by_name_check(struct world *w)
{
    assert_bound(w, "c", "p");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "-");
    ASSERT_VOLUME(w, "q", "Available", "status/phase");
}

/* Kept by uid. */
static void by_uid_before(struct world *w)
{
    add_claim(w, "c", "1Gi", RWO, "");
    add_volume_of(w, "p", "c", false, "");
    add_volume(w, "q", "1Gi", RWO, "");
}

/* Asked for by name. */
static void named_before(struct world *w)
{
    volume_without_guard(w, "p", "");
    volume_without_guard(w, "a", "");
    add_claim(w, "c", "1Gi", RWO, ",'volumeName':'p'");
}

static void named_check(struct world *w)
{
    assert_bound(w, "c", "p");
    look_at_claim(w, "c");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "-");
    ASSERT_VOLUME(w, "a", "Available", "status/phase");
}

/* A default class comes when the claim waits already. */
static void claim_alone(struct world *w)
{
    add_claim(w, "c", "1Gi", RWO, "");
}

static void default_class_after(struct world *w)
{
    add_class(w, "gold", "kubernetes.io/host-path", "default");
}

static void provisioned_check(struct world *w)
{
    char uid[64], name[80];

    uid_of_claim(w, "c", uid);
    (void)snprintf(name, sizeof name, "pvc-%s", uid);
    assert_bound(w, "c", name);
    assert_string_equal(annotation(w, ANN_PROVISIONED_BY), "kubernetes.io/host-path");
    ASSERT_GOT(&w->served, "[\"kubernetes.io/pv-controller\",\"kubernetes.io/pv-protection\"]",
               "metadata/finalizers");
}

/* The scheduler finds the volume. */
static void delayed_before(struct world *w)
{
    add_class(w, "late", "kubernetes.io/no-provisioner", ",'volumeBindingMode':'WaitForFirstConsumer'");
    volume_without_guard(w, "p", ",'storageClassName':'late'");
    add_claim(w, "c", "1Gi", RWO, ",'storageClassName':'late'");
}

static void delayed_after(struct world *w)
{
    char uid[64], body[512];

    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
    uid_of_claim(w, "c", uid);
    (void)snprintf(body, sizeof body,
                   "{'metadata':{'annotations':{'" ANN_BOUND_BY_CONTROLLER "':'yes'}},'spec':{'claimRef':{"
                   "'kind':'PersistentVolumeClaim','apiVersion':'v1','namespace':'default','name':'c',"
                   "'uid':'%s'}}}",
                   uid);
    patch_volume(w, "p", "", body);
}

/* A plugin of ours makes the volume. */
static void in_tree_before(struct world *w)
{
    add_class(w, "gold", "kubernetes.io/host-path", "");
    add_claim(w, "c", "1Gi", RWO, ",'storageClassName':'gold'");
}

/* Somebody outside does. */
static void outside_before(struct world *w)
{
    add_class(w, "far", "vendor.io/x", "");
    add_claim(w, "c", "1Gi", RWO, ",'storageClassName':'far'");
}

static void outside_after(struct world *w)
{
    look_at_claim(w, "c");
    assert_string_equal(annotation(w, ANN_PROVISIONER), "vendor.io/x");
    add_volume_of(w, "p", "c", false, ",'storageClassName':'far'" RECLAIM("Delete"));
    patch_volume(w, "p", "", ANNOTATIONS("'" ANN_PROVISIONED_BY "':'vendor.io/x'"));
}

static void outside_check(struct world *w)
{
    assert_bound(w, "c", "p");
    assert_string_equal(annotation(w, ANN_BOUND_BY_CONTROLLER), "-");
}

/* What becomes of the volume when the claim goes. */
static void delete_before(struct world *w)
{
    volume_without_guard(w, "p", RECLAIM("Delete"));
    add_claim(w, "c", "1Gi", RWO, "");
}

static void claim_goes(struct world *w)
{
    assert_bound(w, "c", "p");
    delete_claim(w, "c");
}

static void delete_check(struct world *w)
{
    assert_false(has_volume(w, "p"));
    assert_true(scripted.removed >= 1);
}

static void provisioned_goes(struct world *w)
{
    char uid[64], name[80];

    uid_of_claim(w, "c", uid);
    (void)snprintf(name, sizeof name, "pvc-%s", uid);
    patch_volume(w, name, "", "{'metadata':{'finalizers':['kubernetes.io/pv-controller']}}");
    delete_claim(w, "c");
}

static void provisioned_gone_check(struct world *w)
{
    ASSERT_SENT(&w->served, 200, "GET", VOLUMES, NULL);
    ASSERT_INT(0, got_items(&w->served));
    ASSERT_INT(1, scripted.provisioned);
}

static void recycle_before(struct world *w)
{
    volume_without_guard(w, "p", RECLAIM("Recycle"));
    add_claim(w, "c", "1Gi", RWO, "");
}

static void recycle_check(struct world *w)
{
    ASSERT_VOLUME(w, "p", "Available", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/claimRef");
    assert_true(scripted.recycled >= 1);
}

static void retain_check(struct world *w)
{
    ASSERT_VOLUME(w, "p", "Released", "status/phase");
    ASSERT_GOT(&w->served, "c", "spec/claimRef/name");
    ASSERT_INT(0, scripted.recycled + scripted.removed);
}

/* Two volumes for one claim. */
static void unbind_before(struct world *w)
{
    add_claim(w, "c", "1Gi", RWO, "");
    add_volume_of(w, "p", "c", true, "");
    add_volume_of(w, "q", "c", true, "");
    add_volume_of(w, "r", "c", false, "");
}

static void unbind_check(struct world *w)
{
    assert_bound(w, "c", "p");
    ASSERT_VOLUME(w, "q", "Available", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/claimRef");
    ASSERT_VOLUME(w, "r", "Available", "status/phase");
    ASSERT_GOT(&w->served, "c", "spec/claimRef/name");
    ASSERT_GOT(&w->served, "-", "spec/claimRef/uid");
}

/* The volume goes, and comes back. */
static void lost_after(struct world *w)
{
    assert_bound(w, "c", "p");
    delete_volume(w, "p");
    world_settle(w);
    ASSERT_CLAIM(w, "c", "Lost", "status/phase");
    volume_without_guard(w, "p", "");
}

/* The guards of reclaiming. */
static void guards_before(struct world *w)
{
    add_volume(w, "p", "1Gi", RWO, RECLAIM("Delete"));
    patch_volume(w, "p", "",
                 "{'metadata':{'annotations':{'" ANN_PROVISIONED_BY "':'kubernetes.io/host-path'},"
                 "'finalizers':['external-provisioner.volume.kubernetes.io/finalizer']}}");
    volume_without_guard(w, "q", RECLAIM("Retain"));
    patch_volume(w, "q", "",
                 "{'metadata':{'annotations':{'" ANN_PROVISIONED_BY "':'kubernetes.io/aws-ebs'},"
                 "'finalizers':['kubernetes.io/pv-controller']}}");
}

static void guards_check(struct world *w)
{
    look_at_volume(w, "p");
    ASSERT_GOT(&w->served, "[\"kubernetes.io/pv-controller\"]", "metadata/finalizers");
    look_at_volume(w, "q");
    ASSERT_GOT(&w->served, "-", "metadata/finalizers");
    assert_string_equal(annotation(w, ANN_MIGRATED_TO), "ebs.csi.aws.com");
}

/* Two claims for one volume. */
static void rivals_before(struct world *w)
{
    volume_without_guard(w, "p", "");
    add_claim(w, "c", "1Gi", RWO, "");
    add_claim(w, "d", "1Gi", RWO, "");
}

static void rivals_check(struct world *w)
{
    bool is_c;

    look_at_volume(w, "p");
    is_c = strcmp(got(&w->served, "spec/claimRef/name"), "c") == 0;
    assert_bound(w, is_c ? "c" : "d", "p");
    ASSERT_CLAIM(w, is_c ? "d" : "c", "Pending", "status/phase");
    ASSERT_GOT(&w->served, "-", "spec/volumeName");
}

/* The claim is gone when the volume has just been made over to it. */
static void jilted_before(struct world *w)
{
    add_claim(w, "c", "5Gi", RWO, "");
    add_volume_of(w, "q", "c", false, RECLAIM("Recycle")); /* too small: it stays at that */
    delete_claim(w, "c");
    add_claim(w, "c", "5Gi", RWO, ""); /* another of that name */
}

static void jilted_check(struct world *w)
{
    ASSERT_VOLUME(w, "q", "Available", "status/phase");
    ASSERT_GOT(&w->served, "c", "spec/claimRef/name");
    ASSERT_GOT(&w->served, "-", "spec/claimRef/uid");
    ASSERT_CLAIM(w, "c", "Pending", "status/phase");
}

static const struct scene scenes[] = {
    { "plain", plain_before, NULL, plain_check, NULL },
    { "kept by name", by_name_before, NULL, by_name_check, NULL },
    { "kept by uid", by_uid_before, NULL, by_name_check, NULL },
    { "named", named_before, NULL, named_check, NULL },
    { "default class later", claim_alone, default_class_after, provisioned_check, NULL },
    { "delayed", delayed_before, delayed_after, plain_check, NULL },
    { "provisioned in tree", in_tree_before, NULL, provisioned_check, NULL },
    { "provisioned outside", outside_before, outside_after, outside_check, "ProvisioningFailed" },
    { "deleted", delete_before, claim_goes, delete_check, "VolumeFailedDelete" },
    { "provisioned and deleted", in_tree_before, provisioned_goes, provisioned_gone_check,
      "VolumeFailedDelete" },
    { "recycled", recycle_before, claim_goes, recycle_check, "VolumeRecycled" },
    { "retained", plain_before, claim_goes, retain_check, NULL },
    { "unbound", unbind_before, NULL, unbind_check, NULL },
    { "lost and found", plain_before, lost_after, plain_check, NULL },
    { "guarded", guards_before, NULL, guards_check, NULL },
    { "two for one", rivals_before, NULL, rivals_check, NULL, .is_open = true },
    { "jilted", jilted_before, NULL, jilted_check, "VolumeRecycled" },
};

/* --- What is left of a world, in words that two runs have in common --- */

#define NAMES_MAX 4

/* uids of claims differ from run to run: their names stand for them. */
struct names {
    char uid[NAMES_MAX][64];
    char name[NAMES_MAX][64];
    unsigned count;
};

static void names_read(struct world *w, struct names *n)
{
    char path[64];

    n->count = 0;
    ASSERT_SENT(&w->served, 200, "GET", CLAIMS, NULL);
    for (size_t i = 0; i < got_items(&w->served); i++, n->count++) {
        assert_true(n->count < NAMES_MAX);
        (void)snprintf(path, sizeof path, "items/%zu/metadata/uid", i);
        (void)snprintf(n->uid[i], sizeof n->uid[i], "%s", got(&w->served, path));
        (void)snprintf(path, sizeof path, "items/%zu/metadata/name", i);
        (void)snprintf(n->name[i], sizeof n->name[i], "<%s>", got(&w->served, path));
    }
}

static const char *name_at(const struct names *n, const char *text, size_t *ret_len)
{
    for (unsigned i = 0; i < n->count; i++)
        if (strncmp(text, n->uid[i], strlen(n->uid[i])) == 0) {
            *ret_len = strlen(n->uid[i]);
            return n->name[i];
        }
    return NULL;
}

static void add_with_names(const struct names *n, const char *text, struct buf *out)
{
    while (*text) {
        size_t len = 0;
        const char *name = name_at(n, text, &len);

        if (name) {
            (void)buf_add_cstr(out, name);
            text += len;
        } else {
            (void)buf_add_char(out, *text++);
        }
    }
}

static void strip(struct world *w, json_ref o, const struct names *n)
{
    static const char *const of_meta[] = { "resourceVersion", "uid", "creationTimestamp", "managedFields",
                                           "generation" };
    struct json *d = &w->served.doc;
    json_ref metadata = json_get(d, o, "metadata"), ref = json_path(d, o, "spec", "claimRef");
    char uid[64];
    size_t len;

    for (size_t i = 0; i < ARRAY_LEN(of_meta); i++)
        (void)json_remove(d, metadata, of_meta[i]);
    if (json_get(d, metadata, "annotations"))
        json_sort_members(d, json_get(d, metadata, "annotations"));
    json_sort_members(d, metadata);
    json_sort_members(d, json_get(d, o, "spec"));
    json_sort_members(d, json_get(d, o, "status"));
    (void)json_remove(d, json_get(d, o, "status"), "lastPhaseTransitionTime");
    if (!ref)
        return;
    (void)json_remove(d, ref, "resourceVersion");
    (void)snprintf(uid, sizeof uid, "%.*s", STR_ARG(json_get_text(d, ref, "uid")));
    if (uid[0] && !name_at(n, uid, &len))
        json_set_string(d, ref, "uid", "of one that is gone");
    json_sort_members(d, ref);
}

static void state_write(struct world *w, struct buf *out)
{
    static const char *const paths[] = { VOLUMES, CLAIMS };
    struct names n;

    names_read(w, &n);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)1 << 20);
        json_ref items;

        ASSERT_SENT(&w->served, 200, "GET", paths[i], NULL);
        items = json_get(&w->served.doc, w->served.root, "items");
        for (json_ref o = json_first(&w->served.doc, items); o; o = json_next(&w->served.doc, o)) {
            strip(w, o, &n);
            json_write(&w->served.doc, o, &text);
            (void)buf_add_char(&text, '\n');
        }
        add_with_names(&n, buf_cstr(&text), out);
    }
}

/* One line an event: "count object reason message". */
static void events_write(struct world *w, struct buf *out)
{
    static const char *const parts[] = { "count", "involvedObject/name", "type", "reason", "message" };
    struct names n;
    char path[128];

    names_read(w, &n);
    ASSERT_SENT(&w->served, 200, "GET", "/api/v1/events", NULL);
    for (size_t i = 0, count = got_items(&w->served); i < count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
            (void)snprintf(path, sizeof path, "items/%zu/%s", i, parts[k]);
            add_with_names(&n, got(&w->served, path), out);
            (void)buf_add_char(out, k + 1 < ARRAY_LEN(parts) ? ' ' : '\n');
        }
    }
}

/* --- Runs --- */

struct outcome {
    struct buf state;
    struct buf events;
    unsigned requests;
    unsigned made; /* storage */
};

static void outcome_done(struct outcome *o)
{
    buf_done(&o->state);
    buf_done(&o->events);
}

static void play(const struct scene *s, enum tap_fault fault, unsigned at, bool starts_first,
                 struct outcome *ret)
{
    struct world w;

    world_init(&w);
    w.fault = fault;
    w.fault_at = at;
    if (starts_first)
        world_start(&w);
    s->before(&w);
    if (!starts_first)
        world_start(&w);
    world_settle(&w);
    if (s->after) {
        s->after(&w);
        world_settle(&w);
    }
    s->check(&w);
    *ret = (struct outcome){ .state = BUF_INIT((size_t)1 << 20), .events = BUF_INIT((size_t)1 << 20) };
    state_write(&w, &ret->state);
    events_write(&w, &ret->events);
    ret->requests = w.requests;
    ret->made = scripted.provisioned;
    assert_true(binder_is_idle(w.binder));
    world_done(&w);
}

/* How often the event of this line, "count text", was told in all. */
static long times_told(const struct buf *all, struct str line)
{
    struct str rest = buf_str(all), text = line;
    long count = 0;

    (void)str_next(&text, ' ');
    while (rest.len) {
        struct str other = str_next(&rest, '\n'), number = str_next(&other, ' ');

        if (str_eq(other, text))
            count += strtol(number.s, NULL, 10);
    }
    return count;
}

static void check_events(const struct scene *s, enum tap_fault fault, unsigned at, const struct outcome *good,
                         const struct outcome *bad)
{
    struct str rest = buf_str(&bad->events);

    /* Nothing new but what is true; nothing more often but by another process. */
    while (rest.len) {
        struct str line = str_next(&rest, '\n');
        long usual = times_told(&good->events, line), times = times_told(&bad->events, line);
        bool may_tell = s->may_tell && fault != TAP_CONFLICT &&
                        memmem(line.s, line.len, s->may_tell, strlen(s->may_tell));

        if (!may_tell && (usual == 0 || (times > usual && fault != TAP_CRASH)))
            fail_msg("%s, fault %d at %u: tells\n%.*s\nexpected of\n%s", s->name, fault, at, STR_ARG(line),
                     buf_cstr(&good->events));
    }
    /* Who does not hear of the change that it made cannot tell of it. */
    for (rest = buf_str(&good->events); fault != TAP_LOSE && fault != TAP_CRASH && rest.len;) {
        struct str line = str_next(&rest, '\n');

        if (times_told(&bad->events, line) == 0)
            fail_msg("%s, fault %d at %u: does not tell\n%.*s", s->name, fault, at, STR_ARG(line));
    }
}

static void compare(const struct scene *s, enum tap_fault fault, unsigned at, const struct outcome *good,
                    const struct outcome *bad)
{
    if (!s->is_open && !str_eq(buf_str(&good->state), buf_str(&bad->state)))
        fail_msg("%s, fault %d at %u: ends as\n%sand without as\n%s", s->name, fault, at,
                 buf_cstr(&bad->state), buf_cstr(&good->state));
    if (!s->is_open)
        check_events(s, fault, at, good, bad);
    if (bad->requests > good->requests + 12)
        fail_msg("%s, fault %d at %u: %u requests instead of %u", s->name, fault, at, bad->requests,
                 good->requests);
    if (fault != TAP_CRASH && bad->made != good->made)
        fail_msg("%s, fault %d at %u: %u storages instead of %u", s->name, fault, at, bad->made, good->made);
}

/* Every request once, until there is none left to fail. */
static void fail_each(const struct scene *s, enum tap_fault fault, bool starts_first)
{
    struct outcome good, bad;
    unsigned at = 0;

    play(s, TAP_NONE, 0, starts_first, &good);
    do {
        play(s, fault, ++at, starts_first, &bad);
        compare(s, fault, at, &good, &bad);
        outcome_done(&bad);
        assert_true(at < 100);
    } while (bad.requests >= at);
    assert_true(at > 1);
    outcome_done(&good);
}

static void fail_all(enum tap_fault fault)
{
    for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
        fail_each(&scenes[i], fault, false);
        fail_each(&scenes[i], fault, true);
    }
}

TEST(every_request_refused_once)
{
    fail_all(TAP_REFUSE);
}

TEST(every_request_failed_once)
{
    fail_all(TAP_ERROR);
}

TEST(every_request_in_conflict_once)
{
    fail_all(TAP_CONFLICT);
}

TEST(every_answer_lost_once)
{
    fail_all(TAP_LOSE);
}

TEST(killed_behind_every_request)
{
    fail_all(TAP_CRASH);
}

/* --- By number --- */

TEST(S145_a_conflict_at_each_of_the_four_writes)
{
    struct world w;

    for (unsigned at = 1; at <= 4; at++) {
        world_init(&w);
        plain_before(&w);
        set_phase(&w, "p", "Available");
        w.fault = TAP_CONFLICT;
        w.fault_at = at;
        world_start(&w);
        world_settle_for(&w, 1); /* at once: no backoff */
        assert_bound(&w, "c", "p");
        ASSERT_INT(5, w.writes);
        ASSERT_INT(1, count_events(&w, "c", "Bound", "Bound to PV p"));
        ASSERT_INT(0, count_events(&w, "c", "FailedBinding", NULL));
        world_done(&w);
    }
}

TEST(S146_killed_after_each_of_the_four_writes)
{
    struct world w;

    for (unsigned at = 1; at <= 4; at++) {
        world_init(&w);
        plain_before(&w);
        set_phase(&w, "p", "Available");
        w.fault = TAP_CRASH;
        w.fault_at = at;
        world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        ASSERT_INT(4, w.writes); /* none is made again */
        world_done(&w);
    }
}

TEST(S147_errors_for_a_while)
{
    struct world w;

    world_init(&w);
    plain_before(&w);
    add_volume(&w, "q", "2Gi", RWO, "");
    add_claim(&w, "d", "2Gi", RWO, "");
    w.fault = TAP_ERROR;
    w.fault_at = 1;
    w.fault_to = 20;
    world_start(&w);
    world_settle(&w);
    assert_true(w.requests > 20);
    assert_true(w.requests < 60);
    assert_bound(&w, "c", "p");
    assert_bound(&w, "d", "q");
    world_done(&w);
}

TEST(S148_a_delete_that_no_watch_told)
{
    struct world w;

    world_init(&w);
    plain_before(&w);
    world_start(&w);
    world_settle(&w);
    assert_bound(&w, "c", "p");
    world_deafen(&w);
    delete_claim(&w, "c");
    world_settle_for(&w, 1);
    ASSERT_VOLUME(&w, "p", "Bound", "status/phase"); /* it does not know */
    world_hear(&w);
    world_settle(&w);
    ASSERT_VOLUME(&w, "p", "Released", "status/phase");
    /* The same for a volume: its claim has lost it. */
    volume_without_guard(&w, "q", "");
    add_claim(&w, "d", "1Gi", RWO, "");
    world_settle(&w);
    assert_bound(&w, "d", "q");
    world_deafen(&w);
    delete_volume(&w, "q");
    world_hear(&w);
    world_settle(&w);
    ASSERT_CLAIM(&w, "d", "Lost", "status/phase");
    world_done(&w);
}

TEST(S149_another_claim_of_the_same_name)
{
    struct world w;

    for (int is_told = 0; is_told < 2; is_told++) {
        world_init(&w);
        plain_before(&w);
        volume_without_guard(&w, "q", "");
        world_start(&w);
        world_settle(&w);
        assert_bound(&w, "c", "p");
        if (!is_told)
            world_deafen(&w);
        delete_claim(&w, "c");
        add_claim(&w, "c", "1Gi", RWO, "");
        if (!is_told)
            world_hear(&w);
        world_settle(&w);
        ASSERT_VOLUME(&w, "p", "Released", "status/phase");
        assert_bound(&w, "c", "q");
        world_done(&w);
    }
}

TEST(S150_an_answer_after_the_end)
{
    struct world w;

    world_init(&w);
    plain_before(&w);
    set_phase(&w, "p", "Available");
    w.fault = TAP_LATE;
    w.fault_at = 1;
    world_start(&w);
    world_still(&w);
    assert_non_null(w.tap->late);
    delete_volume(&w, "p");
    world_still(&w);
    world_deliver_late(&w);
    world_settle(&w);
    /* Were the volume back in the cache, the claim would be told that it has one. */
    ASSERT_CLAIM(&w, "c", "-", "spec/volumeName");
    ASSERT_GOT(&w.served, "Pending", "status/phase");
    ASSERT_INT(1, w.writes);
    ASSERT_INT(1, count_events(&w, "c", "FailedBinding", NULL));
    volume_without_guard(&w, "p", "");
    world_settle(&w);
    assert_bound(&w, "c", "p");
    world_done(&w);
}

/* The claim goes after each of the requests that bind it. */
TEST(a_claim_goes_while_it_is_bound)
{
    struct world w;

    for (unsigned at = 1; at <= 4; at++) {
        struct sent x;
        unsigned turns = 0;

        world_init(&w);
        plain_before(&w);
        patch_claim(&w, "c", "", NO_FINALIZERS);
        set_phase(&w, "p", "Available");
        world_start(&w);
        while (w.requests < at) {
            (void)loop_poll(w.served.loop);
            assert_true(++turns < 10000);
        }
        send_begin(&w.served, &x, "DELETE", CLAIMS "/c", NULL);
        (void)sent_wait(&x);
        sent_done(&x);
        world_settle(&w);
        ASSERT_VOLUME(&w, "p", "Released", "status/phase");
        ASSERT_INT(404, send_request(&w.served, "GET", CLAIMS "/c", NULL));
        assert_true(w.requests < 12);
        world_done(&w);
    }
}

TEST_MAIN()
