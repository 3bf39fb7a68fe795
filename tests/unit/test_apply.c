/* Server-side apply. */
#include "api/apply.h"

#include "tests/unit/test_managed.h"

static void world_note_conflicts(struct world *w, const struct apply_conflicts *c)
{
    buf_clear(&w->message);
    buf_add_str(&w->message, buf_str(&c->message));
    for (size_t i = 0; i < c->causes.count; i++)
        buf_addf(&w->message, "\n%s: %s: %s", c->causes.items[i].reason, c->causes.items[i].message,
                 c->causes.items[i].field);
    for (size_t i = 0; i < w->message.len; i++)
        w->message.data[i] = w->message.data[i] == '"' ? '\'' : w->message.data[i];
}

enum force { NO_FORCE, FORCE };

/* What apply_merge() returned; on success its result is stored. */
static int world_apply_as(struct world *w, const char *manager, const char *subresource, const char *body,
                          enum force force)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(apply_conflicts_done_p) struct apply_conflicts c = APPLY_CONFLICTS_INIT;
    struct managed_write write = world_write(w, manager, subresource);
    json_ref live, applied, object;
    int r;

    json_init(&d, BYTES_MAX);
    live = world_live(w, &d);
    applied = parse(&d, body);
    ASSERT_OK(schema_normalize_applied(w->kind->schema, &d, applied, SCHEMA_DROP_UNKNOWN, NULL, &err));
    r = apply_merge(&d, live, applied, force == FORCE, &write, &object, &c, &err);
    world_note_conflicts(w, &c);
    if (r < 0)
        return r;
    w->kind->set_defaults(&d, object);
    world_store(w, &d, object, live, subresource);
    return 0;
}

static int world_apply(struct world *w, const char *manager, const char *body)
{
    return world_apply_as(w, manager, "", body, NO_FORCE);
}

/* --- One manager --- */

TEST(first_apply_creates)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_VOLUME);

    ASSERT_OK(
        world_apply(w, "a",
                    "{'kind':'PersistentVolume','apiVersion':'v1','metadata':{'name':'v','labels':{'x':'1'},"
                    "'finalizers':['a/b']},'spec':{'capacity':{'storage':'1024Mi'},'accessModes':"
                    "['ReadWriteOnce'],'nfs':{'server':'s','path':'/p','readOnly':false},'claimRef':{'name':"
                    "'c','namespace':'n'}}}"));
    /* of what contains others only items stand for themselves; nobody owns defaults */
    ASSERT_OWNERS(
        w, "a Apply 1 {'f:metadata':{'f:finalizers':{'v:\\'a/b\\'':{}},'f:labels':{'f:x':{}}},'f:spec':{"
           "'f:accessModes':{},'f:capacity':{'f:storage':{}},'f:claimRef':{'f:name':{},'f:namespace':{}},"
           "'f:nfs':{'f:path':{},'f:readOnly':{},'f:server':{}}}}");
    ASSERT_VALUE(
        w, "spec",
        "{'capacity':{'storage':'1Gi'},'nfs':{'server':'s','path':'/p'},'accessModes':['ReadWriteOnce'],"
        "'claimRef':{'namespace':'n','name':'c'},'persistentVolumeReclaimPolicy':'Retain','volumeMode':"
        "'Filesystem'}");
}

/* A body says what its sender wants: values in canonical form, and nothing that it does not say. */
TEST(bodies_get_no_fields_of_their_own)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096);
    json_ref v;

    json_init(&d, BYTES_MAX);
    v = parse(&d,
              "{'spec':{'resources':{'requests':{'storage':'1024Mi'}},'storageClassName':'','volumeName':'',"
              "'accessModes':[],'selector':{},'volumeMode':null},'apiVersion':'v1'}");
    ASSERT_OK(
        schema_normalize_applied(kind_info(KIND_CLAIM)->schema, &d, v, SCHEMA_DROP_UNKNOWN, NULL, &err));
    show(&d, v, &out);
    ASSERT_STR("{'apiVersion':'v1','spec':{'accessModes':[],'selector':{},'resources':{'requests':{'storage':"
               "'1Gi'}},"
               "'volumeName':'','storageClassName':''}}",
               buf_cstr(&out));
    v = parse(&d, "{'spec':{'accessModes':'x'}}");
    ASSERT_ERR(ERR_BAD_REQUEST, schema_normalize_applied(kind_info(KIND_CLAIM)->schema, &d, v,
                                                         SCHEMA_DROP_UNKNOWN, NULL, &err));
}

TEST(same_body_again_is_no_write)
{
    static const char body[] = "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':"
                               "['ReadWriteOnce'],'nfs':{'server':'s','path':'/p','readOnly':false}}}";
    _cleanup_(world_free_p) struct world *w = world_new(KIND_VOLUME);
    _cleanup_(freep) char *before = NULL;

    ASSERT_OK(world_apply(w, "a", body));
    before = strdup(buf_cstr(&w->text));
    ASSERT_OK(world_apply(w, "a", body));
    ASSERT_STR(before, buf_cstr(&w->text));
}

struct again_row {
    enum kind kind;
    const char *first, *second;
    const char *path, *want; /* of what is there then */
    const char *owners;
};

/* What the manager no longer names goes, with the struct that held it; what others have there stays. */
static const struct again_row again_rows[] = {
    { KIND_CONFIG_MAP, "{'metadata':{'name':'c'},'data':{'a':'1','b':'1'}}",
      "{'metadata':{'name':'c'},'data':{'b':'2','c':'1'}}", "data", "{'b':'2','c':'1'}",
      "a Apply 2 {'f:data':{'f:b':{},'f:c':{}}}" },
    { KIND_CONFIG_MAP, "{'metadata':{'name':'c','labels':{'x':'y'}},'data':{'a':'1'}}",
      "{'metadata':{'name':'c'}}", "", "", "" },
    { KIND_CONFIG_MAP, "{'metadata':{'name':'c','labels':{'x':'y'}},'data':{'a':'1'}}",
      "{'metadata':{'name':'c','labels':{}},'data':{'a':'1'}}", "metadata.labels", "",
      "a Apply 2 {'f:data':{'f:a':{}},'f:metadata':{'f:labels':{}}}" },
    { KIND_CLASS,
      "{'metadata':{'name':'c'},'provisioner':'p','mountOptions':['a','b'],'allowVolumeExpansion':true}",
      "{'metadata':{'name':'c'},'provisioner':'p','mountOptions':['c']}", "mountOptions", "['c']",
      "a Apply 2 {'f:mountOptions':{},'f:provisioner':{}}" },
    { KIND_CLASS, "{'metadata':{'name':'c'},'provisioner':'p','reclaimPolicy':'Retain'}",
      "{'metadata':{'name':'c'},'provisioner':'p'}", "reclaimPolicy", "'Delete'", /* the default again */
      "a Apply 2 {'f:provisioner':{}}" },
    { KIND_CSI_NODE,
      "{'metadata':{'name':'n'},'spec':{'drivers':[{'name':'a','nodeID':'1'},{'name':'b','nodeID':'1',"
      "'topologyKeys':['x']}]}}",
      "{'metadata':{'name':'n'},'spec':{'drivers':[{'name':'b','nodeID':'2'}]}}", "spec.drivers",
      "[{'name':'b','nodeID':'2'}]",
      "a Apply 2 {'f:spec':{'f:drivers':{'k:{\\'name\\':\\'b\\'}':{'.':{},'f:name':{},'f:nodeID':{}}}}}" },
    { KIND_CONFIG_MAP, "{'metadata':{'name':'c','finalizers':['x/a','x/b']},'data':{'a':'1'}}",
      "{'metadata':{'name':'c','finalizers':['x/b','x/c']},'data':{'a':'1'}}", "metadata.finalizers",
      "['x/b','x/c']",
      "a Apply 2 {'f:data':{'f:a':{}},'f:metadata':{'f:finalizers':{'v:\\'x/b\\'':{},'v:\\'x/c\\'':{}}}}" },
    /* replaced whole */
    { KIND_CLAIM,
      "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadWriteOnce'],'selector':{'matchLabels':{'a':'1'}},"
      "'resources':{'requests':{'storage':'1Gi'}}}}",
      "{'metadata':{'name':'c'},'spec':{'accessModes':['ReadOnlyMany'],'selector':{'matchLabels':{'b':'1'}},"
      "'resources':{'requests':{'storage':'1Gi'}}}}",
      "spec.selector", "{'matchLabels':{'b':'1'}}",
      "a Apply 2 "
      "{'f:spec':{'f:accessModes':{},'f:resources':{'f:requests':{'f:storage':{}}},'f:selector':{}}}" },
};

TEST(what_is_no_longer_named_goes)
{
    for (size_t i = 0; i < ARRAY_LEN(again_rows); i++) {
        const struct again_row *row = &again_rows[i];
        _cleanup_(world_free_p) struct world *w = world_new(row->kind);
        ASSERT_OK(world_apply(w, "a", row->first));
        ASSERT_OK(world_apply(w, "a", row->second));
        ASSERT_VALUE(w, row->path, row->want);
        ASSERT_OWNERS(w, row->owners);
    }
}

TEST(what_nobody_owns_stays_beside_it)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);

    world_put(w, "m", "", "{'metadata':{'name':'c','labels':{'u':'1'}},'data':{'k':'1'}}");
    world_patch_as(w, PATCH_JSON, "m", "", "[{'op':'add','path':'/metadata/managedFields','value':[]}]");
    ASSERT_OK(world_apply(w, "a", "{'metadata':{'name':'c','labels':{'x':'1'}},'data':{'a':'1','b':'1'}}"));
    ASSERT_OK(world_apply(w, "a", "{'metadata':{'name':'c'},'data':{'b':'1'}}"));
    ASSERT_VALUE(w, "data", "{'b':'1','k':'1'}");
    ASSERT_VALUE(w, "metadata.labels", ""); /* nobody owns anything in there any more */
}

/* --- Several managers --- */

TEST(what_others_own_too_stays)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);

    ASSERT_OK(world_apply(w, "a", "{'metadata':{'name':'c'},'data':{'x':'1','y':'1'}}"));
    ASSERT_OK(world_apply(w, "b", "{'metadata':{'name':'c'},'data':{'x':'1','z':'1'}}")); /* the same value */
    ASSERT_OWNERS(w, "a Apply 1 {'f:data':{'f:x':{},'f:y':{}}}\nb Apply 2 {'f:data':{'f:x':{},'f:z':{}}}");
    ASSERT_OK(world_apply(w, "a", "{'metadata':{'name':'c'},'data':{'y':'1'}}"));
    ASSERT_VALUE(w, "data", "{'x':'1','y':'1','z':'1'}");
    ASSERT_OWNERS(w, "b Apply 2 {'f:data':{'f:x':{},'f:z':{}}}\na Apply 3 {'f:data':{'f:y':{}}}");
    ASSERT_OK(world_apply(w, "b", "{'metadata':{'name':'c'}}"));
    ASSERT_VALUE(w, "data", "{'y':'1'}");
    ASSERT_OWNERS(w, "a Apply 3 {'f:data':{'f:y':{}}}");
}

#define VOLUME(policy)                                                                               \
    "{'metadata':{'name':'v'},'spec':{'capacity':{'storage':'1Gi'},'accessModes':['ReadWriteOnce']," \
    "'persistentVolumeReclaimPolicy':'" policy "','nfs':{'server':'s','path':'/p'}}}"

TEST(apiserver_40_conflict_with_a_patch)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_VOLUME);

    world_put(w, "kubectl-client-side-apply", "", VOLUME("Delete"));
    ASSERT_OK(world_apply(w, "kubectl", VOLUME("Delete")));
    world_patch(w, "kubectl-patch", "{'spec':{'persistentVolumeReclaimPolicy':'Retain'}}");
    ASSERT_ERR(ERR_CONFLICT, world_apply(w, "kubectl", VOLUME("Delete")));
    ASSERT_STR("Apply failed with 1 conflict: conflict with \"kubectl-patch\" using v1: "
               ".spec.persistentVolumeReclaimPolicy",
               err.msg);
    ASSERT_STR(
        "Apply failed with 1 conflict: conflict with 'kubectl-patch' using v1: "
        ".spec.persistentVolumeReclaimPolicy\nFieldManagerConflict: conflict with 'kubectl-patch' using v1: "
        ".spec.persistentVolumeReclaimPolicy",
        buf_cstr(&w->message));
    ASSERT_VALUE(w, "spec.persistentVolumeReclaimPolicy", "'Retain'");
}

TEST(apiserver_41_conflict_between_appliers)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_VOLUME);

    ASSERT_OK(world_apply(w, "kubectl", VOLUME("Delete")));
    ASSERT_ERR(ERR_CONFLICT, world_apply(w, "other", VOLUME("Retain")));
    ASSERT_STR("Apply failed with 1 conflict: conflict with \"kubectl\": "
               ".spec.persistentVolumeReclaimPolicy",
               err.msg);
    ASSERT_OK(world_apply_as(w, "other", "", VOLUME("Retain"), FORCE));
    ASSERT_VALUE(w, "spec.persistentVolumeReclaimPolicy", "'Retain'");
    ASSERT_OWNERS(
        w, "kubectl Apply 1 {'f:spec':{'f:accessModes':{},'f:capacity':{'f:storage':{}},'f:nfs':{'f:path':"
           "{},'f:server':{}}}}\nother Apply 3 {'f:spec':{'f:accessModes':{},'f:capacity':{'f:storage':{}},"
           "'f:nfs':{'f:path':{},'f:server':{}},'f:persistentVolumeReclaimPolicy':{}}}");
}

TEST(several_conflicts)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CLAIM);

    world_put(w, "z", "",
              "{'metadata':{'name':'c','namespace':'n','finalizers':['a/b'],'labels':{'l.o/l':'1'}},'spec':{"
              "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}}");
    ASSERT_OK(world_apply(w, "b", "{'metadata':{'name':'c','annotations':{'k':'1'}}}"));
    ASSERT_ERR(ERR_CONFLICT,
               world_apply(w, "a",
                           "{'metadata':{'name':'c','annotations':{'k':'2'},'labels':{'l.o/l':'2'}},'spec':{"
                           "'accessModes':['ReadOnlyMany']}}"));
    ASSERT_STR("Apply failed with 3 conflicts: conflicts with 'b':\n- .metadata.annotations.k\n"
               "conflicts with 'z' using v1:\n- .metadata.labels.l.o/l\n- .spec.accessModes\n"
               "FieldManagerConflict: conflict with 'b': .metadata.annotations.k\n"
               "FieldManagerConflict: conflict with 'z' using v1: .metadata.labels.l.o/l\n"
               "FieldManagerConflict: conflict with 'z' using v1: .spec.accessModes",
               buf_cstr(&w->message));
}

TEST(conflicts_in_lists_and_status)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_POD);
    static const char body[] =
        "{'metadata':{'name':'p'},'status':{'conditions':[{'type':'Ready','status':'True'}]}}";

    world_put(w, "a", "",
              "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i:1','ports':[{'"
              "containerPort':80,"
              "'hostPort':81}]}]}}");
    ASSERT_ERR(ERR_CONFLICT,
               world_apply(w, "b",
                           "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','ports':[{"
                           "'containerPort':80,'hostPort':82}]}]}}"));
    ASSERT_STR("Apply failed with 1 conflict: conflict with \"a\" using v1: "
               ".spec.containers[name=\"c\"].ports[containerPort=80,protocol=\"TCP\"].hostPort",
               err.msg);
    ASSERT_OK(world_apply_as(w, "a", "status", body, NO_FORCE));
    ASSERT_ERR(ERR_CONFLICT,
               world_apply_as(
                   w, "b", "status",
                   "{'metadata':{'name':'p'},'status':{'conditions':[{'type':'Ready','status':'False'}]}}",
                   NO_FORCE));
    ASSERT_STR("Apply failed with 1 conflict: conflict with \"a\" with subresource \"status\": "
               ".status.conditions[type=\"Ready\"].status",
               err.msg);
}

TEST(plain_writes_take_from_appliers)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);

    ASSERT_OK(world_apply(w, "a", "{'metadata':{'name':'c'},'data':{'x':'1','y':'1'}}"));
    world_patch(w, "b", "{'data':{'x':'2','y':null}}");
    ASSERT_OWNERS(w, "b Update 2 {'f:data':{'f:x':{}}}");
    ASSERT_ERR(ERR_CONFLICT, world_apply(w, "a", "{'metadata':{'name':'c'},'data':{'x':'1','y':'1'}}"));
    ASSERT_OK(world_apply_as(w, "a", "", "{'metadata':{'name':'c'},'data':{'x':'1'}}", FORCE));
    ASSERT_OWNERS(w, "a Apply 4 {'f:data':{'f:x':{}}}");
}

/* --- Lists --- */

struct order_row {
    const char *live, *applied, *want; /* names of finalizers, a letter each */
};

static const struct order_row order_rows[] = {
    { "ab", "ab", "ab" },       { "ab", "ba", "ba" },     { "a", "n", "an" },
    { "ab", "nb", "anb" },      { "", "ab", "ab" },       { "ab", "", "ab" },
    { "abx", "ban", "bxan" },   { "axb", "bna", "xbna" }, { "xyz", "abc", "xyzabc" },
    { "axbyc", "cb", "axycb" }, { "abc", "cnb", "acnb" },
};

static void put_letters(struct buf *out, const char *letters)
{
    buf_clear(out);
    buf_add_cstr(out, "{'metadata':{'name':'c','finalizers':[");
    for (const char *c = letters; *c; c++)
        buf_addf(out, "%s'f/%c'", c == letters ? "" : ",", *c);
    buf_add_cstr(out, "]}}");
}

/* The body's items come in its order, the object's own keep their place in front of what they share. */
TEST(order_of_merged_lists)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(4096), have = BUF_INIT(4096);

    for (size_t i = 0; i < ARRAY_LEN(order_rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
        put_letters(&body, order_rows[i].live);
        world_put(w, "m", "", buf_cstr(&body));
        put_letters(&body, order_rows[i].applied);
        ASSERT_OK(world_apply(w, "a", buf_cstr(&body)));
        buf_clear(&have);
        for (const char *c = world_value(w, "metadata.finalizers"); *c; c++)
            if (c[0] == '/')
                buf_add_char(&have, c[1]);
        ASSERT_STR(order_rows[i].want, buf_cstr(&have));
    }
}

TEST(items_merge_by_their_keys)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_POD);

    world_put(
        w, "m", "",
        "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','image':'i:1','env':[{'name':'X','value':"
        "'1'}]},{'name':'b','image':'i:1'}],'x':{'y':[1],'z':{'u':1}}}}");
    ASSERT_OK(world_apply(
        w, "a",
        "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'b','args':['q']},{'name':'a','env':"
        "[{'name':'Y','value':'2'}]}],'x':{'w':[2],'z':{'v':2}}}}"));
    ASSERT_VALUE(w, "spec.x", "{'y':[1],'z':{'u':1,'v':2},'w':[2]}"); /* nobody knows what these are */
    (void)world_value(w, "spec.containers");
    assert_non_null(strstr(buf_cstr(&w->shown), "[{'name':'b','image':'i:1','args':['q']"));
    assert_non_null(strstr(buf_cstr(&w->shown), "'env':[{'name':'X','value':'1'},{'name':'Y','value':'2'}]"));
    ASSERT_OK(world_apply(w, "a", "{'metadata':{'name':'p'}}"));
    ASSERT_VALUE(w, "spec.x", "{'y':[1],'z':{'u':1}}");
}

struct refused_row {
    const char *body, *message;
};

static const struct refused_row refused_rows[] = {
    { "{'metadata':{'name':'p'},'spec':{'containers':[{'image':'i'}]}}",
      "spec.containers[0]: the item lacks the keys that identify it" },
    { "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a','ports':[{'protocol':'TCP'}]}]}}",
      "spec.containers[0].ports[0]: the item lacks the keys that identify it" },
    { "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'a'}]}}",
      "spec.containers[2]: an earlier item of the list has the same keys" },
    { "{'metadata':{'name':'p','finalizers':['a/b','a/b']}}",
      "metadata.finalizers[1]: an earlier item of the list has the same keys" },
    { "{'metadata':{'name':'p','managedFields':[{'manager':'x'}]}}", "metadata.managedFields must be nil" },
};

TEST(bodies_that_are_refused)
{
    for (size_t i = 0; i < ARRAY_LEN(refused_rows); i++) {
        _cleanup_(world_free_p) struct world *w = world_new(KIND_POD);
        ASSERT_ERR(ERR_BAD_REQUEST, world_apply(w, "a", refused_rows[i].body));
        ASSERT_STR(refused_rows[i].message, err.msg);
    }
}

/* --- Subresources, what is not theirs to own --- */

TEST(parts_of_an_apply)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_VOLUME);

    ASSERT_OK(world_apply(w, "a",
                          "{'metadata':{'name':'v','uid':'u'},'spec':{'storageClassName':'s'},'status':{"
                          "'phase':'Bound'}}"));
    ASSERT_OWNERS(w, "a Apply 1 {'f:spec':{'f:storageClassName':{}}}");
    ASSERT_VALUE(w, "status.phase", "'Pending'");
    ASSERT_OK(world_apply_as(
        w, "a", "status",
        "{'metadata':{'name':'v'},'spec':{'storageClassName':'t'},'status':{'phase':'Bound'}}", NO_FORCE));
    ASSERT_OWNERS(w, "a Apply 1 {'f:spec':{'f:storageClassName':{}}}\n"
                     "a Apply/status 2 {'f:status':{'f:phase':{}}}");
    ASSERT_VALUE(w, "spec.storageClassName", "'s'");
    ASSERT_OK(
        world_apply_as(w, "a", "status", "{'metadata':{'name':'v'},'status':{'message':'m'}}", NO_FORCE));
    ASSERT_VALUE(w, "status.message", "'m'");
    ASSERT_OWNERS(w, "a Apply 1 {'f:spec':{'f:storageClassName':{}}}\n"
                     "a Apply/status 3 {'f:status':{'f:message':{}}}");
}

/* A set that says it owned the server's own fields takes none of them away. */
TEST(hostile_sets_prune_nothing_of_the_servers)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);

    world_put(w, "m", "",
              "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'c','namespace':'n','uid':'u-1','"
              "managedFields':"
              "[{'manager':'a','operation':'Apply','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:"
              "kind':{},"
              "'f:apiVersion':{},'f:data':{'f:x':{}},'f:metadata':{'.':{},'f:name':{},'f:uid':{},'v:1':{}},'"
              "k:{\\'a\\':1}':"
              "{}}}]}}");
    ASSERT_OK(world_apply(w, "a", "{'metadata':{'name':'c'},'data':{'y':'1'}}"));
    ASSERT_VALUE(w, "metadata.uid", "'u-1'");
    ASSERT_VALUE(w, "kind", "'ConfigMap'");
    ASSERT_VALUE(w, "metadata.name", "'c'");
}

TEST(appliers_have_an_end)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
    char manager[16];

    for (int i = 0; i < MANAGED_APPLIERS_MAX; i++) {
        (void)snprintf(manager, sizeof manager, "m%d", i);
        ASSERT_OK(world_apply(w, manager, "{'metadata':{'name':'c'},'data':{'x':'1'}}"));
    }
    ASSERT_ERR(ERR_TOO_LARGE, world_apply(w, "more", "{'metadata':{'name':'c'},'data':{'x':'1'}}"));
    ASSERT_STR("more than 100 field managers apply this object", err.msg);
    ASSERT_OK(world_apply(w, "m0", "{'metadata':{'name':'c'},'data':{'y':'1'}}"));
    world_patch(w, "u", "{'data':{'x':'2'}}"); /* nobody owns x beside it */
    ASSERT_OWNERS(w, "m0 Apply 102 {'f:data':{'f:y':{}}}\nu Update 103 {'f:data':{'f:x':{}}}");
}

/* --- kubectl --- */

#define APPLIED(value)                                               \
    "{'metadata':{'name':'c','annotations':{'kubectl.kubernetes.io/" \
    "last-applied-configuration':'{\\'kind\\':"                      \
    "\\'ConfigMap\\',\\'data\\':{\\'x\\':\\'" value "\\'}}'}},'data':{'x':'1'}}"

static const char *copy_of(struct world *w)
{
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    v = json_path(&d, world_live(w, &d), "metadata", "annotations",
                  "kubectl.kubernetes.io/last-applied-configuration");
    buf_clear(&w->shown);
    buf_add_str(&w->shown, json_text(&d, v));
    return buf_cstr(&w->shown);
}

TEST(kubectl_may_change_what_it_applied_itself)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);

    world_put(w, "kubectl-client-side-apply", "", APPLIED("1"));
    ASSERT_ERR(ERR_CONFLICT, world_apply(w, "other", "{'metadata':{'name':'c'},'data':{'x':'2'}}"));
    ASSERT_OK(world_apply(w, "kubectl", "{'metadata':{'name':'c'},'data':{'x':'2'}}"));
    ASSERT_VALUE(w, "data.x", "'2'");
    ASSERT_STR("{\"metadata\":{\"name\":\"c\"},\"data\":{\"x\":\"2\"}}\n", copy_of(w));

    /* not what somebody changed since, and not by a copy that is no copy */
    world_put(w, "kubectl-client-side-apply", "", APPLIED("9"));
    ASSERT_ERR(ERR_CONFLICT, world_apply(w, "kubectl", "{'metadata':{'name':'c'},'data':{'x':'2'}}"));
    world_put(w, "kubectl-client-side-apply", "", APPLIED("1\\\\"));
    ASSERT_ERR(ERR_CONFLICT, world_apply(w, "kubectl", "{'metadata':{'name':'c'},'data':{'x':'2'}}"));
}

/* What kubectl apply --server-side does to an object that it applied on its own side before. */
TEST(kubectl_moves_to_server_side_apply)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
    static const char body[] = "{'metadata':{'name':'c'},'data':{'x':'1'}}";

    world_put(w, "kubectl-client-side-apply", "", APPLIED("1"));
    ASSERT_OK(world_apply(w, "kubectl", body));
    ASSERT_OK(world_apply(
        w, "kubectl-last-applied",
        "{'metadata':{'name':'c','annotations':{'kubectl.kubernetes.io/last-applied-configuration':"
        "'{\\'metadata\\':{\\'name\\':\\'c\\'},\\'data\\':{\\'x\\':\\'1\\'}}\\n'}}}"));
    world_patch_as(
        w, PATCH_JSON, "kubectl", "",
        "[{'op':'replace','path':'/metadata/managedFields','value':[{'manager':'kubectl','operation':'Apply',"
        "'apiVersion':'v1','time':'1970-01-01T00:00:02Z','fieldsType':'FieldsV1','fieldsV1':{'f:data':{"
        "'.':{},'f:x':{}}}},{'manager':'kubectl-last-applied','operation':'Apply','apiVersion':'v1','time':"
        "'1970-01-01T00:00:03Z','fieldsType':'FieldsV1','fieldsV1':{'f:metadata':{'f:annotations':{'f:"
        "kubectl.kubernetes.io/last-applied-configuration':{}}}}}]}]");
    ASSERT_OK(world_apply(w, "kubectl", body));
    ASSERT_OWNERS(w, "kubectl-last-applied Apply 3 {'f:metadata':{'f:annotations':{'f:kubectl.kubernetes.io/"
                     "last-applied-configuration':{}}}}\nkubectl Apply 5 {'f:data':{'f:x':{}}}");
    ASSERT_OK(world_apply(w, "kubectl", "{'metadata':{'name':'c'},'data':{'y':'1'}}"));
    ASSERT_VALUE(w, "data", "{'y':'1'}");
}

TEST(copies_too_large_are_left_out)
{
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BYTES_MAX);

    world_put(w, "kubectl-client-side-apply", "", APPLIED("1"));
    buf_add_cstr(&body, "{'metadata':{'name':'c'},'data':{'x':'1','y':'");
    for (int i = 0; i < 300000; i++)
        buf_add_char(&body, 'a');
    buf_add_cstr(&body, "'}}");
    ASSERT_OK(world_apply(w, "kubectl", buf_cstr(&body)));
    ASSERT_VALUE(w, "metadata.annotations", "");
}

/* --- Size --- */

#define KEYS 20000

static void put_many(struct buf *out, int first, int step, int value)
{
    buf_add_cstr(out, "{'metadata':{'name':'c'},'data':{");
    for (int i = 0; i < KEYS; i++)
        buf_addf(out, "%s'%d':'%d'", i ? "," : "", first + i * step, value);
    buf_add_cstr(out, "}}");
}

/* However little room the document has, an apply ends well or says that there was too little. */
TEST(too_little_room_is_an_error)
{
    static const char live[] =
        "{'metadata':{'name':'p','managedFields':[{'manager':'a','operation':'Apply','apiVersion':'v1','"
        "fieldsType':"
        "'FieldsV1','fieldsV1':{'f:spec':{'f:x':{},'f:containers':{'k:{\\'name\\':\\'c\\'}':{'.':{},'f:name':"
        "{}}}}}},"
        "{'manager':'b','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV1','fieldsV1':{'f:spec':{"
        "'f:y':{}}}}]},'spec':{'containers':[{'name':'c'},{'name':'d'}],'x':1,'y':2}}";
    static const char body[] =
        "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'d','image':'i'},{'name':'e'}],"
        "'y':3}}";
    struct managed_write write = { .kind = kind_info(KIND_POD), .manager = STR_LIT("a") };
    unsigned failed = 0, done = 0;

    for (size_t room = sizeof live; room < 2 * sizeof live; room++) {
        _cleanup_(json_done_p) struct json d;
        _cleanup_(apply_conflicts_done_p) struct apply_conflicts c = APPLY_CONFLICTS_INIT;
        json_ref object = 0, old, now;
        int r;

        json_init(&d, room);
        d.texts.used_max = room + sizeof body + (room - sizeof live) * 4;
        old = parse(&d, live);
        now = parse(&d, body);
        r = apply_merge(&d, old, now, /* force= */ room % 2, &write, &object, &c, &err);
        if (r == 0 || r == -ERR_CONFLICT) {
            ASSERT_INT(room % 2 ? 0 : -ERR_CONFLICT, r);
            done++;
        } else {
            ASSERT_INT(-ERR_TOO_LARGE, r);
            ASSERT_INT(0, object);
            failed++;
        }
    }
    assert_true(failed > 10 && done > 10);
}

/* In a moment, and not all told. */
TEST(many_conflicts)
{
    static const char begins[] =
        "Apply failed with 20000 conflicts: conflicts with \"m\" using v1:\n- .data.0\n";
    _cleanup_(world_free_p) struct world *w = world_new(KIND_CONFIG_MAP);
    _cleanup_(buf_done_p) struct buf first = BUF_INIT(BYTES_MAX), second = BUF_INIT(BYTES_MAX);

    put_many(&first, KEYS - 1, -1, 1);
    put_many(&second, 0, 1, 2);
    world_put(w, "m", "", buf_cstr(&first));
    ASSERT_ERR(ERR_CONFLICT, world_apply(w, "a", buf_cstr(&second)));
    assert_memory_equal(err.msg, begins, sizeof begins - 1);
    ASSERT_OK(world_apply_as(w, "a", "", buf_cstr(&second), FORCE));
    ASSERT_VALUE(w, "data.17777", "'2'");
}

TEST_MAIN()
