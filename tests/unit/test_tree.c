/* The tree of `berth tree`: what hangs on what, in lines and as JSON. */
#include "tests/unit/test_inventory.h"

#include "cli/print.h"
#include "cli/tree_show.h"

static const char *shown(const struct tree_selection *what, const struct tree_style *how)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(relation_tree_done_p) struct relation_tree t = TREE_INIT;

    buf_clear(&out);
    ASSERT_OK(relation_tree_build(&world, what, &t, &err));
    tree_show(&t, how, &out);
    return buf_cstr(&out);
}

static struct told_cause told[] = {
    { "more", "provisioner-silent", "the provisioner has not answered" },
    { "odd", "no-class", "StorageClass \"gone\" does not exist" },
    { "lost", "volume-gone", "its volume pv-9 was deleted" },
    { "new", "too-small", "no volume fits" },
    { "web-1", "cpu", "the only node has not enough free cpu" },
    { "waits", "claim-unbound", "claim more is not bound: the provisioner has not answered" },
    { "ready", "none", "its volumes are ready" },
    { "stray", "no-such-claim", "claim nowhere does not exist" },
    { "plain", "taint", "the only node has a taint" },
    { NULL, NULL, NULL },
};

static const char *text(const char *ns)
{
    return shown(&(struct tree_selection){ .ns = ns, .causes = TOLD(told) }, &(struct tree_style){ 0 });
}

static const char *of(enum kind kind, const char *ns, const char *name)
{
    return shown(&(struct tree_selection){ .ns = ns, .kind = kind, .name = name, .causes = TOLD(told) },
                 &(struct tree_style){ 0 });
}

static void make_shop(void)
{
    world_begin();
    put(KIND_CLASS, "{'metadata':{'name':'fast','annotations':{'storageclass.kubernetes.io/is-default-class':"
                    "'true'}},'provisioner':'example.com/disk','reclaimPolicy':'Delete','volumeBindingMode':"
                    "'Immediate'}");
    put_class("idle", "kubernetes.io/no-provisioner", "");
    put_volume("pv-1", "fast", "Bound", "shop/db", "");
    put_volume("pv-2", "fast", "Available", NULL, "");
    put_volume("pv-3", "", "Bound", "park/old", "");
    put_claim("shop/db", "fast", "Bound", "pv-1", "");
    put_claim("shop/more", "fast", "Pending", "", "");
    put_claim("shop/odd", "gone", "Pending", "", "");
    put_claim("park/lost", "", "Lost", "pv-9", "");
    put_pod("shop/web-0", "db", "n1", "Running", "");
    put_pod("shop/web-1", "db", "", "Pending", "");
    put_pod("shop/web-2", "db", "n9", "Running", "");
    put_node("n1", true, "");
    ASSERT_OK(inventory_tie(&world, &err));
}

TEST(everything)
{
    make_shop();
    ASSERT_STR("class fast: example.com/disk, Delete, Immediate, default\n"
               "├─ volume pv-1: Bound, 5Gi, RWO Retain\n"
               "│  └─ claim shop/db: Bound, 5Gi\n"
               "│     ├─ pod web-0: Running\n"
               "│     │  └─ node n1: Ready\n"
               "│     ├─ pod web-1: Pending, the only node has not enough free cpu\n"
               "│     └─ pod web-2: Running\n"
               "│        └─ node n9: does not exist\n"
               "├─ volume pv-2: Available, 5Gi, RWO Retain\n"
               "└─ claim shop/more: Pending, requests 3Gi: the provisioner has not answered\n"
               "class gone: does not exist\n"
               "└─ claim shop/odd: Pending, requests 3Gi: StorageClass \"gone\" does not exist\n"
               "class idle: kubernetes.io/no-provisioner, Delete, Immediate\n"
               "(no class)\n"
               "├─ volume pv-3: Bound, 5Gi, RWO Retain\n"
               "│  └─ claim park/old: does not exist\n"
               "└─ claim park/lost: Lost, requests 3Gi: its volume pv-9 was deleted\n",
               text(NULL));
    world_end();
}

TEST(a_namespace_has_its_claims_and_what_is_nobodys)
{
    make_shop();
    ASSERT_STR("class fast: example.com/disk, Delete, Immediate, default\n"
               "└─ volume pv-2: Available, 5Gi, RWO Retain\n"
               "class idle: kubernetes.io/no-provisioner, Delete, Immediate\n"
               "(no class)\n"
               "├─ volume pv-3: Bound, 5Gi, RWO Retain\n"
               "│  └─ claim park/old: does not exist\n"
               "└─ claim park/lost: Lost, requests 3Gi: its volume pv-9 was deleted\n",
               text("park"));
    world_end();
}

TEST(one_object_and_its_way)
{
    struct tree_selection none = { .kind = KIND_VOLUME, .name = "pv-8" };
    _cleanup_(relation_tree_done_p) struct relation_tree t = TREE_INIT, u = TREE_INIT, v = TREE_INIT;

    make_shop();
    ASSERT_STR("class idle: kubernetes.io/no-provisioner, Delete, Immediate\n", of(KIND_CLASS, NULL, "idle"));
    ASSERT_STR("class gone: does not exist\n"
               "└─ claim shop/odd: Pending, requests 3Gi: StorageClass \"gone\" does not exist\n",
               of(KIND_CLASS, NULL, "gone"));
    ASSERT_STR("(no class)\n"
               "└─ volume pv-3: Bound, 5Gi, RWO Retain\n"
               "   └─ claim park/old: does not exist\n",
               of(KIND_VOLUME, NULL, "pv-3"));
    ASSERT_STR("class fast: example.com/disk, Delete, Immediate, default\n"
               "└─ volume pv-1: Bound, 5Gi, RWO Retain\n"
               "   └─ claim shop/db: Bound, 5Gi\n"
               "      ├─ pod web-0: Running\n"
               "      │  └─ node n1: Ready\n"
               "      ├─ pod web-1: Pending, the only node has not enough free cpu\n"
               "      └─ pod web-2: Running\n"
               "         └─ node n9: does not exist\n",
               of(KIND_CLAIM, "shop", "db"));
    ASSERT_STR("(no class)\n"
               "└─ claim park/lost: Lost, requests 3Gi: its volume pv-9 was deleted\n",
               of(KIND_CLAIM, "park", "lost"));
    ASSERT_ERR(ERR_NOT_FOUND, relation_tree_build(&world, &none, &t, &err));
    ASSERT_STR("volume 'pv-8' not found", err.msg);
    none = (struct tree_selection){ .ns = "park", .kind = KIND_CLAIM, .name = "db" };
    ASSERT_ERR(ERR_NOT_FOUND, relation_tree_build(&world, &none, &u, &err));
    ASSERT_STR("claim 'db' not found", err.msg);
    none = (struct tree_selection){ .kind = KIND_CLASS, .name = "none" };
    ASSERT_ERR(ERR_NOT_FOUND, relation_tree_build(&world, &none, &v, &err));
    ASSERT_STR("class 'none' not found", err.msg);
    world_end();
}

/* Pods say why they wait; those without a claim, or with one that is not there, are in it too. */
TEST(pods_and_what_keeps_them)
{
    world_begin();
    put_class("fast", "example.com/disk", "");
    put_claim("shop/more", "fast", "Pending", "", "");
    put_pod("shop/waits", "more", "", "Pending", "");
    put_pod("shop/ready", "more", "", "Pending", "");
    put_pod("shop/stray", "nowhere", "", "Pending", "");
    put(KIND_POD, "{'metadata':{'namespace':'shop','name':'plain'},'status':{'phase':'Pending'}}");
    put(KIND_POD, "{'metadata':{'namespace':'park','name':'other'},'status':{'phase':'Running'}}");
    ASSERT_OK(inventory_tie(&world, &err));
    ASSERT_STR("class fast: example.com/disk, Delete, Immediate\n"
               "└─ claim shop/more: Pending, requests 3Gi: the provisioner has not answered\n"
               "   ├─ pod ready: Pending, its volumes are ready\n"
               "   └─ pod waits: Pending, waits for this claim\n"
               "(no claim)\n"
               "├─ claim shop/nowhere: does not exist\n"
               "│  └─ pod stray: Pending, waits for this claim\n"
               "└─ pod plain: Pending, the only node has a taint\n",
               text("shop"));
    ASSERT_STR("class fast: example.com/disk, Delete, Immediate\n"
               "└─ claim shop/more: Pending, requests 3Gi: the provisioner has not answered\n"
               "   ├─ pod ready: Pending, its volumes are ready\n"
               "   └─ pod waits: Pending, waits for this claim\n",
               of(KIND_CLASS, NULL, "fast"));
    world_end();
}

TEST(claims_that_are_not_the_volumes_own)
{
    world_begin();
    put_volume("a", "", "Bound", NULL, ",'claimRef':{'namespace':'shop','name':'db','uid':'earlier'}");
    put_volume("b", "", "Bound", "shop/db", "");
    put_volume("c", "", "Bound", "shop/db", "");
    put_volume("d", "", "Available", NULL, ",'claimRef':{'namespace':'shop','name':'new'}");
    put_claim("shop/db", "", "Bound", "c", "");
    put_claim("shop/new", "", "Pending", "", "");
    ASSERT_OK(inventory_tie(&world, &err));
    ASSERT_STR("(no class)\n"
               "├─ volume a: Bound, 5Gi, RWO Retain\n"
               "│  └─ claim shop/db: is a different claim with that name\n"
               "├─ volume b: Bound, 5Gi, RWO Retain\n"
               "│  └─ claim shop/db: is bound to volume c\n"
               "├─ volume c: Bound, 5Gi, RWO Retain\n"
               "│  └─ claim shop/db: Bound, 5Gi\n"
               "└─ volume d: Available, 5Gi, RWO Retain\n"
               "   └─ claim shop/new: Pending, requests 3Gi: no volume fits\n",
               text(NULL));
    world_end();
}

TEST(states_of_what_goes_and_what_failed)
{
    world_begin();
    put_volume("bad", "", "Failed", NULL, "");
    put(KIND_VOLUME, "{'metadata':{'name':'going','deletionTimestamp':'" WORLD_MADE
                     "','finalizers':['x/y']},'spec':{},'status':{'phase':'Available'}}");
    ASSERT_OK(inventory_tie(&world, &err));
    ASSERT_STR("(no class)\n"
               "├─ volume bad: Failed, 5Gi, RWO Retain, the message\n"
               "└─ volume going: Terminating, Retain\n",
               text(NULL));
    world_end();
}

TEST(nothing_at_all)
{
    world_begin();
    ASSERT_OK(inventory_tie(&world, &err));
    ASSERT_STR("", text(NULL));
    world_end();
}

static void make_many(unsigned volumes, unsigned pods)
{
    char name[32];

    world_begin();
    for (unsigned i = 0; i < volumes; i++) {
        (void)snprintf(name, sizeof name, "v%05u", i);
        put_volume(name, "", "Available", NULL, "");
    }
    put_volume("z", "", "Bound", "shop/db", "");
    put_claim("shop/db", "", "Bound", "z", "");
    for (unsigned i = 0; i < pods; i++) {
        (void)snprintf(name, sizeof name, "shop/p%05u", i);
        put_pod(name, "db", "", "Pending", "");
    }
    ASSERT_OK(inventory_tie(&world, &err));
}

static size_t count_lines(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += *s == '\n';
    return n;
}

TEST(many_that_are_alike_are_counted)
{
    const char *out;

    make_many(TREE_ALIKE_MAX + 1234, TREE_ALIKE_MAX + 2);
    out = text(NULL);
    ASSERT_INT(1 + TREE_ALIKE_MAX + 1 + 1 + 1 + TREE_ALIKE_MAX + 1, count_lines(out));
    assert_non_null(strstr(out, "├─ volume v00009: Available, 5Gi, RWO Retain\n├─ volume z: Bound"));
    assert_non_null(strstr(out, "│     └─ … 2 more pods, Pending\n└─ … 1,234 more volumes, Available\n"));
    out = shown(&(struct tree_selection){ 0 }, &(struct tree_style){ .is_whole = true });
    ASSERT_INT(1 + TREE_ALIKE_MAX + 1234 + 2 + TREE_ALIKE_MAX + 2, count_lines(out));
    world_end();
}

TEST(one_more_is_shown_rather_than_counted)
{
    make_many(TREE_ALIKE_MAX + 1, 0);
    assert_null(strstr(text(NULL), "more"));
    world_end();
}

static const char *paint(size_t line, struct str state)
{
    (void)line;
    return str_is(state, "Available") ? "<green>" : NULL;
}

TEST(letters_alone_and_colours)
{
    make_many(TREE_ALIKE_MAX + 5, 1);
    ASSERT_STR("(no class)\n"
               "`- volume z: Bound, 5Gi, RWO Retain\n"
               "   `- claim shop/db: Bound, 5Gi\n"
               "      `- pod p00000: Pending, not scheduled\n",
               shown(&(struct tree_selection){ .kind = KIND_VOLUME, .name = "z" },
                     &(struct tree_style){ .is_ascii = true }));
    assert_non_null(strstr(shown(&(struct tree_selection){ 0 }, &(struct tree_style){ .is_ascii = true }),
                           "`- ... 5 more volumes, Available\n"));
    assert_non_null(strstr(shown(&(struct tree_selection){ 0 }, &(struct tree_style){ .paint = paint }),
                           "v00000: <green>Available\x1b[0m, 5Gi"));
    world_end();
}

TEST(texts_of_objects_do_not_rule_the_terminal)
{
    world_begin();
    put(KIND_VOLUME, "{'metadata':{'name':'a'},'spec':{},'status':{'phase':'Failed','message':"
                     "'\\u001b[2Jred\\nnext'}}");
    ASSERT_OK(inventory_tie(&world, &err));
    ASSERT_STR("(no class)\n└─ volume a: Failed, Retain, ^[[2Jred...\n", text(NULL));
    world_end();
}

TEST(as_json)
{
    _cleanup_(relation_tree_done_p) struct relation_tree t = TREE_INIT;
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d = { 0 };

    make_many(TREE_ALIKE_MAX + 5, 1);
    ASSERT_OK(relation_tree_build(
        &world, &(struct tree_selection){ .kind = KIND_CLAIM, .ns = "shop", .name = "db" }, &t, &err));
    json_init(&d, 1 << 20);
    ASSERT_OK(print_json_checked(&d, relation_tree_as_json(&t, &d), &out, &err));
    ASSERT_STR(kind_row("{\n"
                        "    'classes': [\n"
                        "        {\n"
                        "            'kind': 'StorageClass',\n"
                        "            'name': '',\n"
                        "            'children': [\n"
                        "                {\n"
                        "                    'kind': 'PersistentVolume',\n"
                        "                    'name': 'z',\n"
                        "                    'state': 'Bound',\n"
                        "                    'capacity': '5Gi',\n"
                        "                    'note': 'RWO Retain',\n"
                        "                    'children': [\n"
                        "                        {\n"
                        "                            'kind': 'PersistentVolumeClaim',\n"
                        "                            'namespace': 'shop',\n"
                        "                            'name': 'db',\n"
                        "                            'state': 'Bound',\n"
                        "                            'capacity': '5Gi',\n"
                        "                            'children': [\n"
                        "                                {\n"
                        "                                    'kind': 'Pod',\n"
                        "                                    'namespace': 'shop',\n"
                        "                                    'name': 'p00000',\n"
                        "                                    'state': 'Pending',\n"
                        "                                    'note': 'not scheduled'\n"
                        "                                }\n"
                        "                            ]\n"
                        "                        }\n"
                        "                    ]\n"
                        "                }\n"
                        "            ]\n"
                        "        }\n"
                        "    ]\n"
                        "}\n"),
               buf_cstr(&out));
    world_end();
}

TEST_MAIN()
