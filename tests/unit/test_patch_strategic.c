/* Strategic merge patch. */
#include "tests/unit/test_patch.h"

#include "api/meta.h"

/* --- A schema with every list of the merge-key table --- */

#define KEYED(field_name, key, schema)                                                    \
    {                                                                                     \
        field_name, FIELD_LIST, .item = FIELD_OBJECT, .sub = (schema), .merge_key = (key) \
    }

static const struct schema anything = { "Anything", NULL, 0, .open = true };

static const struct field container_fields[] = {
    { "name", FIELD_STRING },
    { "image", FIELD_STRING },
    { "command", FIELD_LIST, .item = FIELD_STRING },
    KEYED("env", "name", &anything),
    KEYED("ports", "containerPort", &anything),
    KEYED("volumeMounts", "mountPath", &anything),
    KEYED("volumeDevices", "devicePath", &anything),
};
static const struct schema container_schema = SCHEMA("Container", container_fields);

static const struct field spec_fields[] = {
    { "volumes", FIELD_LIST, .item = FIELD_OBJECT, .sub = &anything, .merge_key = "name",
      .flags = FIELD_RETAIN_KEYS },
    KEYED("containers", "name", &container_schema),
    KEYED("initContainers", "name", &container_schema),
    KEYED("ephemeralContainers", "name", &container_schema),
    KEYED("imagePullSecrets", "name", &anything),
    KEYED("schedulingGates", "name", &anything),
    KEYED("hostAliases", "ip", &anything),
    KEYED("topologySpreadConstraints", "topologyKey", &anything),
    KEYED("drivers", "name", &anything),
    { "podCIDRs", FIELD_LIST, .item = FIELD_STRING, .flags = FIELD_SET },
    { "tolerations", FIELD_LIST, .item = FIELD_OBJECT, .sub = &anything },
    { "accessModes", FIELD_LIST, .item = FIELD_STRING },
    { "mountOptions", FIELD_LIST, .item = FIELD_STRING },
    { "taints", FIELD_LIST, .item = FIELD_OBJECT, .sub = &anything },
    { "capacity", FIELD_MAP, .item = FIELD_QUANTITY },
    { "claimRef", FIELD_OBJECT, .sub = &object_reference_schema },
    { "volumeMode", FIELD_STRING },
};
static const struct schema spec_schema = SCHEMA("Spec", spec_fields);

static const struct field status_fields[] = {
    KEYED("conditions", "type", &anything),
    KEYED("addresses", "type", &anything),
    KEYED("podIPs", "ip", &anything),
    KEYED("hostIPs", "ip", &anything),
};
static const struct schema status_schema = SCHEMA("Status", status_fields);

static const struct field object_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "spec", FIELD_OBJECT, .sub = &spec_schema },
    { "status", FIELD_OBJECT, .sub = &status_schema },
    { "data", FIELD_MAP, .item = FIELD_STRING },
    KEYED("secrets", "name", &anything),
};
static const struct schema object_schema = SCHEMA("Object", object_fields);

#define ROWS(...)                                                \
    do {                                                         \
        static const struct patch_row rows_[] = { __VA_ARGS__ }; \
        CHECK_ROWS(PATCH_STRATEGIC, &object_schema, rows_);      \
    } while (0)

/* --- Maps --- */

TEST(maps_merge)
{
    ROWS({ "{\"spec\":{\"volumeMode\":\"Block\",\"capacity\":{\"storage\":\"1Gi\"}}}",
           "{\"spec\":{\"capacity\":{\"storage\":\"2Gi\",\"x\":\"1\"}}}",
           "{\"spec\":{\"volumeMode\":\"Block\",\"capacity\":{\"storage\":\"2Gi\",\"x\":\"1\"}}}" },
         { "{\"a\":{\"b\":{\"c\":1,\"d\":2}}}", "{\"a\":{\"b\":{\"d\":3}}}",
           "{\"a\":{\"b\":{\"c\":1,\"d\":3}}}" },
         { "{}", "{}", "{}" }, { "{\"a\":1}", "{}", "{\"a\":1}" },
         { "{\"a\":1}", "{\"a\":\"x\"}", "{\"a\":\"x\"}" },
         { "{\"data\":{\"a\":\"1\"}}", "{\"data\":\"x\"}", "{\"data\":\"x\"}" }, /* types are checked later */
         { "{\"data\":\"x\"}", "{\"data\":{\"a\":\"1\"}}", "{\"data\":{\"a\":\"1\"}}" },
         { "{\"spec\":{\"claimRef\":{\"name\":\"a\",\"uid\":\"u\"}}}",
           "{\"spec\":{\"claimRef\":{\"uid\":null}}}", "{\"spec\":{\"claimRef\":{\"name\":\"a\"}}}" });
}

TEST(null_deletes_a_key)
{
    ROWS({ "{\"a\":1,\"b\":2}", "{\"a\":null}", "{\"b\":2}" }, { "{\"a\":1}", "{\"b\":null}", "{\"a\":1}" },
         { "{\"spec\":{\"claimRef\":{\"name\":\"x\"}}}", "{\"spec\":{\"claimRef\":null}}", "{\"spec\":{}}" },
         { "{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}", "{\"spec\":{\"containers\":null}}",
           "{\"spec\":{}}" },
         { "{\"a\":null}", "{\"b\":1}", "{\"a\":null,\"b\":1}" }, /* the target's own stay */
         /* and in what the patch adds */
         { "{}", "{\"a\":{\"b\":null,\"c\":{\"d\":null,\"e\":1}}}", "{\"a\":{\"c\":{\"e\":1}}}" },
         { "{\"a\":1}", "{\"a\":{\"b\":null}}", "{\"a\":{}}" },
         { "{}", "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":null}]}}",
           "{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}" },
         { "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"x\"}]}}",
           "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":null},{\"name\":\"b\",\"image\":null}]}}",
           "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}" },
         { "{\"spec\":{\"taints\":[]}}", "{\"spec\":{\"taints\":[{\"key\":\"a\",\"value\":null},null]}}",
           "{\"spec\":{\"taints\":[{\"key\":\"a\"},null]}}" }); /* an item that is null is an item */
}

TEST(patch_directive_in_a_map)
{
    ROWS({ "{\"spec\":{\"claimRef\":{\"name\":\"a\",\"uid\":\"u\"}}}",
           "{\"spec\":{\"claimRef\":{\"$patch\":\"replace\",\"name\":\"b\"}}}",
           "{\"spec\":{\"claimRef\":{\"name\":\"b\"}}}" },
         { "{\"spec\":{\"claimRef\":{\"name\":\"a\"},\"volumeMode\":\"x\"}}",
           "{\"spec\":{\"claimRef\":{\"name\":\"c\",\"$patch\":\"delete\"}}}",
           "{\"spec\":{\"claimRef\":{},\"volumeMode\":\"x\"}}" },
         { "{\"spec\":{\"claimRef\":{\"name\":\"a\",\"uid\":\"u\"}}}",
           "{\"spec\":{\"claimRef\":{\"$patch\":\"merge\",\"name\":\"b\"}}}",
           "{\"spec\":{\"claimRef\":{\"name\":\"b\",\"uid\":\"u\"}}}" },
         { "{\"a\":1}", "{\"$patch\":\"replace\",\"b\":{\"c\":null}}", "{\"b\":{}}" },
         { "{\"a\":1}", "{\"$patch\":\"delete\"}", "{}" },
         { "{\"data\":{\"a\":\"1\"}}", "{\"data\":{\"$patch\":\"replace\"}}", "{\"data\":{}}" },
         /* on what is not there, or not a map */
         { "{}", "{\"data\":{\"$patch\":\"delete\",\"a\":\"1\"}}", "{}" },
         { "{}", "{\"data\":{\"$patch\":\"replace\",\"a\":\"1\"}}", "{\"data\":{\"a\":\"1\"}}" },
         { "{}", "{\"data\":{\"$patch\":\"merge\",\"a\":\"1\"}}", "{\"data\":{\"a\":\"1\"}}" },
         { "{\"data\":3}", "{\"data\":{\"$patch\":\"delete\"}}", "{}" },
         { "{\"data\":3}", "{\"data\":{\"$patch\":\"replace\"}}", "{\"data\":{}}" },
         /* below what is new or replaced */
         { "{}", "{\"a\":{\"b\":{\"$patch\":\"delete\"},\"c\":{\"$patch\":\"replace\",\"d\":1}}}",
           "{\"a\":{\"c\":{\"d\":1}}}" },
         { "{\"a\":{\"x\":1}}",
           "{\"a\":{\"$patch\":\"replace\",\"b\":{\"$patch\":\"delete\"},\"c\":{\"$retainKeys\":"
           "[],\"d\":1}}}",
           "{\"a\":{\"c\":{\"d\":1}}}" },
         { "{\"a\":{\"$patch\":\"x\"}}", "{\"a\":{\"b\":1}}", "{\"a\":{\"$patch\":\"x\",\"b\":1}}" });
}

TEST(unknown_directives_are_refused)
{
    ROWS({ "{}", "{\"$patch\":\"remove\"}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$patch: remove'" },
         { "{\"data\":{}}", "{\"data\":{\"$patch\":null}}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$patch: <nil>'" },
         { "{}", "{\"$patch\":{\"b\":1,\"a\":[2]}}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$patch: map[a:[2] b:1]'" },
         { "{}", "{\"data\":{\"$patch\":\"Replace\"}}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$patch: Replace'" },
         { "{}", "{\"a\":{\"b\":[{\"c\":{\"$patch\":7}}]}}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$patch: 7'" },
         { "{\"spec\":{\"containers\":[]}}",
           "{\"spec\":{\"containers\":[{\"$patch\":\"x\",\"name\":\"a\"}]}}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$patch: x'" },
         { "{\"spec\":{}}", "{\"spec\":{\"$retainKey\":[]}}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$retainKey'" },
         { "{}", "{\"spec\":{\"$setElementOrder\":[]}}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$setElementOrder'" },
         { "{}", "{\"$deleteFromPrimitiveList\":[]}", NULL, ERR_BAD_REQUEST,
           "unknown directive in patch: '$deleteFromPrimitiveList'" },
         /* a free-form map has keys of all kinds */
         { "{\"data\":{}}", "{\"data\":{\"$HOME\":\"1\"}}", "{\"data\":{\"$HOME\":\"1\"}}" },
         { "{}", "{\"data\":{\"$HOME\":\"1\"}}", "{\"data\":{\"$HOME\":\"1\"}}" });
}

TEST(retain_keys)
{
    ROWS({ "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/\"}},{\"name\":\"w\"}]}}",
           "{\"spec\":{\"volumes\":[{\"$retainKeys\":[\"name\",\"emptyDir\"],\"name\":\"v\",\"emptyDir\":{}}]"
           "}}",
           "{\"spec\":{\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}},{\"name\":\"w\"}]}}" },
         { "{\"a\":{\"x\":1,\"y\":2,\"z\":3}}", "{\"a\":{\"$retainKeys\":[\"z\",\"x\"]}}",
           "{\"a\":{\"x\":1,\"z\":3}}" },
         { "{\"a\":{\"x\":1}}", "{\"a\":{\"$retainKeys\":[]}}", "{\"a\":{}}" },
         { "{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"y\":null,\"z\":null,\"$retainKeys\":[\"x\"]}}",
           "{\"a\":{\"x\":1}}" }, /* what the patch deletes need not be named */
         { "{\"a\":{\"x\":{\"p\":1},\"y\":2}}", "{\"a\":{\"$retainKeys\":[\"x\"],\"x\":{\"q\":2}}}",
           "{\"a\":{\"x\":{\"p\":1,\"q\":2}}}" },
         { "{}", "{\"a\":{\"$retainKeys\":[\"x\"],\"x\":1}}", "{\"a\":{\"x\":1}}" },
         { "{\"a\":{}}", "{\"a\":{\"$retainKeys\":[\"x\"],\"y\":1}}", NULL, ERR_BAD_REQUEST,
           "the patch sets 'y', which its $retainKeys does not name" },
         { "{\"a\":{}}", "{\"a\":{\"$retainKeys\":\"x\"}}", NULL, ERR_BAD_REQUEST,
           "'$retainKeys' must be a list of keys" });
}

/* --- Lists that are replaced --- */

TEST(other_lists_are_replaced)
{
    ROWS({ "{\"spec\":{\"accessModes\":[\"a\",\"b\"]}}", "{\"spec\":{\"accessModes\":[\"c\"]}}",
           "{\"spec\":{\"accessModes\":[\"c\"]}}" },
         { "{\"spec\":{\"mountOptions\":[\"a\"]}}", "{\"spec\":{\"mountOptions\":[]}}",
           "{\"spec\":{\"mountOptions\":[]}}" },
         { "{\"spec\":{\"taints\":[{\"key\":\"a\",\"effect\":\"x\"}]}}",
           "{\"spec\":{\"taints\":[{\"key\":\"a\"}]}}", "{\"spec\":{\"taints\":[{\"key\":\"a\"}]}}" },
         { "{\"spec\":{\"tolerations\":[{\"key\":\"a\"}]}}", "{\"spec\":{\"tolerations\":[{\"key\":\"b\"}]}}",
           "{\"spec\":{\"tolerations\":[{\"key\":\"b\"}]}}" },
         { "{\"unknown\":[{\"name\":\"a\"}]}", "{\"unknown\":[{\"name\":\"b\"}]}",
           "{\"unknown\":[{\"name\":\"b\"}]}" },
         { "{\"unknown\":{\"list\":[1],\"map\":{\"a\":1}}}", "{\"unknown\":{\"list\":[2],\"map\":{\"b\":2}}}",
           "{\"unknown\":{\"list\":[2],\"map\":{\"a\":1,\"b\":2}}}" },
         { "{\"data\":{\"l\":[1]}}", "{\"data\":{\"l\":[2]}}", "{\"data\":{\"l\":[2]}}" },
         /* directives in them mean nothing and do not stay */
         { "{\"spec\":{\"taints\":[]}}",
           "{\"spec\":{\"taints\":[{\"$patch\":\"replace\"},{\"key\":\"a\",\"$patch\":\"merge\"},{\"key\":"
           "\"b\","
           "\"$patch\":\"delete\"}]}}",
           "{\"spec\":{\"taints\":[{\"key\":\"a\"}]}}" });
}

/* --- Lists that merge by key --- */

TEST(every_keyed_list_merges_by_its_key)
{
    static const struct {
        const char *head, *list, *key, *tail;
        bool number;
    } rows[] = {
        { "{\"metadata\":{", "ownerReferences", "uid", "}}" },
        { "{\"status\":{", "conditions", "type", "}}" },
        { "{\"status\":{", "addresses", "type", "}}" },
        { "{\"spec\":{", "volumes", "name", "}}" },
        { "{\"spec\":{", "containers", "name", "}}" },
        { "{\"spec\":{", "initContainers", "name", "}}" },
        { "{\"spec\":{", "ephemeralContainers", "name", "}}" },
        { "{\"spec\":{", "imagePullSecrets", "name", "}}" },
        { "{\"spec\":{", "schedulingGates", "name", "}}" },
        { "{\"spec\":{\"containers\":[{\"name\":\"c\",", "env", "name", "}]}}" },
        { "{\"spec\":{\"containers\":[{\"name\":\"c\",", "ports", "containerPort", "}]}}", true },
        { "{\"spec\":{\"containers\":[{\"name\":\"c\",", "volumeMounts", "mountPath", "}]}}" },
        { "{\"spec\":{\"containers\":[{\"name\":\"c\",", "volumeDevices", "devicePath", "}]}}" },
        { "{\"spec\":{", "hostAliases", "ip", "}}" },
        { "{\"status\":{", "podIPs", "ip", "}}" },
        { "{\"status\":{", "hostIPs", "ip", "}}" },
        { "{\"spec\":{", "topologySpreadConstraints", "topologyKey", "}}" },
        { "{\"spec\":{", "drivers", "name", "}}" },
        { "{", "secrets", "name", "}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *const items[] = {
            "[{'K':Q1Q,'a':1,'b':{'x':1}},{'K':Q2Q,'a':2}]",
            "[{'K':Q2Q,'$patch':'delete'},{'K':Q3Q,'c':null,'d':4},{'b':{'y':2},'a':null,'K':Q1Q}]",
            "[{'K':Q3Q,'d':4},{'K':Q1Q,'b':{'x':1,'y':2}}]",
        };
        struct buf texts[3] = { BUF_INIT(1000), BUF_INIT(1000), BUF_INIT(1000) };
        for (int n = 0; n < 3; n++) {
            buf_addf(&texts[n], "%s\"%s\":", rows[i].head, rows[i].list);
            for (const char *c = items[n]; *c; c++) {
                if (*c == 'K')
                    buf_add_cstr(&texts[n], rows[i].key);
                else if (*c != 'Q' || !rows[i].number)
                    buf_add_char(&texts[n], *c == '\'' || *c == 'Q' ? '"' : *c);
            }
            buf_add_cstr(&texts[n], rows[i].tail);
        }
        check_row(PATCH_STRATEGIC, &object_schema,
                  &(struct patch_row){ buf_cstr(&texts[0]), buf_cstr(&texts[1]), buf_cstr(&texts[2]) });
        buf_done(&texts[0]);
        buf_done(&texts[1]);
        buf_done(&texts[2]);
    }
}

#define LIST(items) "{\"spec\":{\"containers\":" items "}}"

TEST(keyed_lists)
{
    ROWS(
        { LIST("[{\"name\":\"a\",\"image\":\"1\"},{\"name\":\"b\"}]"),
          LIST("[{\"name\":\"b\",\"image\":\"2\"}]"),
          LIST("[{\"name\":\"a\",\"image\":\"1\"},{\"name\":\"b\",\"image\":\"2\"}]") },
        { LIST("[{\"name\":\"a\"}]"), LIST("[{\"name\":\"c\"},{\"name\":\"b\"}]"),
          LIST("[{\"name\":\"c\"},{\"name\":\"b\"},{\"name\":\"a\"}]") }, /* new ones first, as kubectl has it
                                                                           */
        { LIST("[{\"name\":\"a\"},{\"name\":\"z\"}]"), LIST("[{\"name\":\"z\"},{\"name\":\"n\"}]"),
          LIST("[{\"name\":\"a\"},{\"name\":\"z\"},{\"name\":\"n\"}]") }, /* behind what the patch names
                                                                             before */
        { LIST("[{\"name\":\"a\"},{\"name\":\"z\"}]"),
          LIST("[{\"name\":\"a\",\"$patch\":\"delete\"},{\"name\":\"n\"}]"),
          LIST("[{\"name\":\"n\"},{\"name\":\"z\"}]") },
        { LIST("[]"), LIST("[{\"name\":\"a\"}]"), LIST("[{\"name\":\"a\"}]") },
        { LIST("[{\"name\":\"a\"}]"), LIST("[]"), LIST("[{\"name\":\"a\"}]") },
        { "{}", LIST("[{\"name\":\"a\"}]"), LIST("[{\"name\":\"a\"}]") },
        { LIST("3"), LIST("[{\"name\":\"a\"}]"), LIST("[{\"name\":\"a\"}]") },
        { LIST("[{\"name\":\"a\"}]"), LIST("{\"x\":1}"), LIST("{\"x\":1}") },
        { LIST("[{\"name\":\"a\"}]"), LIST("[{\"name\":\"a\",\"$patch\":\"merge\",\"x\":1}]"),
          LIST("[{\"name\":\"a\",\"x\":1}]") },
        { LIST("[]"), LIST("[{\"name\":\"a\",\"$patch\":\"merge\",\"x\":1}]"),
          LIST("[{\"name\":\"a\",\"x\":1}]") },
        /* a number and a text are two keys */
        { LIST("[{\"name\":1},{\"name\":\"1\"}]"), LIST("[{\"name\":\"1\",\"x\":1}]"),
          LIST("[{\"name\":1},{\"name\":\"1\",\"x\":1}]") },
        /* of twins in the target the first is meant */
        { LIST("[{\"name\":\"a\"},{\"name\":\"a\",\"x\":1}]"), LIST("[{\"name\":\"a\",\"x\":2}]"),
          LIST("[{\"name\":\"a\",\"x\":2},{\"name\":\"a\",\"x\":1}]") },
        /* twins in the patch apply one after the other */
        { LIST("[{\"name\":\"a\",\"x\":{\"p\":1}}]"),
          LIST(
              "[{\"name\":\"a\",\"x\":{\"p\":2,\"q\":2}},{\"name\":\"b\"},{\"name\":\"a\",\"x\":{\"p\":3}}]"),
          LIST("[{\"name\":\"a\",\"x\":{\"p\":3,\"q\":2}},{\"name\":\"b\"}]") },
        { LIST("[]"),
          LIST("[{\"name\":\"a\",\"x\":{\"p\":1,\"r\":null}},{\"name\":\"a\",\"x\":{\"p\":null,\"q\":2}}]"),
          LIST("[{\"name\":\"a\",\"x\":{\"q\":2}}]") },
        /* items of the target that have no key are nobody's */
        { LIST("[{\"x\":1},7,null,{\"name\":\"a\"}]"), LIST("[{\"name\":\"a\",\"y\":1}]"),
          LIST("[{\"x\":1},7,null,{\"name\":\"a\",\"y\":1}]") },
        /* lists in items of lists */
        { LIST("[{\"name\":\"a\",\"env\":[{\"name\":\"X\",\"value\":\"1\"}],\"command\":[\"x\"]}]"),
          LIST("[{\"name\":\"a\",\"env\":[{\"name\":\"Y\"},{\"name\":\"X\",\"value\":\"2\"}],\"command\":["
               "\"y\"]}]"),
          LIST("[{\"name\":\"a\",\"env\":[{\"name\":\"Y\"},{\"name\":\"X\",\"value\":\"2\"}],\"command\":["
               "\"y\"]}]") });
}

TEST(deleting_from_keyed_lists)
{
    ROWS({ LIST("[{\"name\":\"a\"},{\"name\":\"b\"}]"), LIST("[{\"$patch\":\"delete\",\"name\":\"a\"}]"),
           LIST("[{\"name\":\"b\"}]") },
         { LIST("[{\"name\":\"a\"}]"), LIST("[{\"name\":\"z\",\"$patch\":\"delete\"}]"),
           LIST("[{\"name\":\"a\"}]") },
         { LIST("[{\"name\":\"a\"}]"), LIST("[{\"name\":\"a\",\"$patch\":\"delete\"}]"), LIST("[]") },
         { LIST("[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"a\"}]"),
           LIST("[{\"name\":\"a\",\"$patch\":\"delete\"}]"),
           LIST("[{\"name\":\"b\"}]") }, /* all that have the key */
         /* deletions come first, wherever they stand */
         { LIST("[{\"name\":\"a\",\"x\":1}]"),
           LIST("[{\"name\":\"a\",\"y\":2},{\"name\":\"a\",\"$patch\":\"delete\"}]"),
           LIST("[{\"name\":\"a\",\"y\":2}]") },
         { "{}", LIST("[{\"name\":\"a\",\"$patch\":\"delete\"},{\"name\":\"b\"}]"),
           LIST("[{\"name\":\"b\"}]") },
         { LIST("[{\"name\":\"a\"}]"), LIST("[{\"$patch\":\"delete\"}]"), NULL, ERR_BAD_REQUEST,
           "map: map[$patch:delete] does not contain declared merge key: name" });
}

TEST(replacing_keyed_lists)
{
    ROWS({ LIST("[{\"name\":\"a\"}]"),
           LIST("[{\"$patch\":\"replace\"},{\"name\":\"b\"},{\"name\":\"c\",\"x\":null}]"),
           LIST("[{\"name\":\"b\"},{\"name\":\"c\"}]") },
         { LIST("[{\"name\":\"a\"}]"), LIST("[{\"$patch\":\"replace\"}]"), LIST("[]") },
         { LIST("[{\"name\":\"a\"}]"), LIST("[{\"name\":\"b\"},{\"$patch\":\"replace\"}]"),
           LIST("[{\"name\":\"b\"}]") },
         { LIST("[{\"name\":\"a\"}]"),
           LIST("[{\"$patch\":\"replace\"},{\"name\":\"a\",\"$patch\":\"delete\"},{\"name\":\"b\"}]"),
           LIST("[{\"name\":\"b\"}]") },
         { "{}", LIST("[{\"$patch\":\"replace\"},{\"name\":\"b\"}]"), LIST("[{\"name\":\"b\"}]") });
}

TEST(items_without_their_key_are_refused)
{
    ROWS({ LIST("[]"), LIST("[{\"image\":\"x\",\"args\":[1,true,null,{\"b\":2,\"a\":1.5}],\"env\":{}}]"),
           NULL, ERR_BAD_REQUEST,
           "map: map[args:[1 true <nil> map[a:1.5 b:2]] env:map[] image:x] does not contain declared merge "
           "key: name" },
         { LIST("[]"), LIST("[{}]"), NULL, ERR_BAD_REQUEST,
           "map: map[] does not contain declared merge key: name" },
         { LIST("[]"), LIST("[{\"name\":null}]"), NULL, ERR_BAD_REQUEST,
           "map: map[name:<nil>] does not contain declared merge key: name" },
         { LIST("[]"), LIST("[{\"name\":[]}]"), NULL, ERR_BAD_REQUEST,
           "map: map[name:[]] does not contain declared merge key: name" },
         { "{\"metadata\":{\"ownerReferences\":[]}}",
           "{\"metadata\":{\"ownerReferences\":[{\"name\":\"x\"}]}}", NULL, ERR_BAD_REQUEST,
           "map: map[name:x] does not contain declared merge key: uid" },
         { LIST("[]"), LIST("[\"a\"]"), NULL, ERR_BAD_REQUEST,
           "list 'containers' cannot hold an item of type string" },
         { LIST("[]"), LIST("[[]]"), NULL, ERR_BAD_REQUEST,
           "list 'containers' cannot hold an item of type array" });
}

TEST(a_large_item_without_its_key_is_cut_in_the_message)
{
    _cleanup_(freep) char *patch = large_text("{\"spec\":{\"containers\":[{", "\"k#\":#", 1000, "}]}}");
    int code;

    assert_null(patch_text(PATCH_STRATEGIC, &object_schema, LIST("[]"), patch, &code));
    ASSERT_INT(-ERR_BAD_REQUEST, code);
    assert_non_null(strstr(err.msg, "map: map[k0:0 k1:1 k10:10 k100:100 k101:101"));
    assert_non_null(strstr(err.msg, "… does not contain declared merge key: name"));
}

/* --- Sets --- */

#define FINALIZERS(items) "{\"metadata\":{\"finalizers\":" items "}}"

TEST(sets)
{
    ROWS({ FINALIZERS("[\"a\",\"b\"]"), FINALIZERS("[\"c\",\"a\"]"), FINALIZERS("[\"c\",\"a\",\"b\"]") },
         { FINALIZERS("[\"a\"]"), FINALIZERS("[]"), FINALIZERS("[\"a\"]") }, /* a patch can only add */
         { FINALIZERS("[]"), FINALIZERS("[\"a\",\"a\"]"), FINALIZERS("[\"a\"]") },
         { "{\"metadata\":{}}", FINALIZERS("[\"a\"]"), FINALIZERS("[\"a\"]") },
         { FINALIZERS("[\"a\",\"b\",\"c\"]"),
           "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\",\"c\",\"z\"]}}",
           FINALIZERS("[\"b\"]") },
         { FINALIZERS("[\"a\",\"b\",\"a\"]"),
           "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}", FINALIZERS("[\"b\"]") },
         { FINALIZERS("[\"a\"]"),
           "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"],\"finalizers\":[\"b\"]}}",
           FINALIZERS("[\"b\"]") },
         { FINALIZERS("[\"a\"]"),
           "{\"metadata\":{\"finalizers\":[\"b\"],\"$deleteFromPrimitiveList/finalizers\":[\"b\"]}}",
           FINALIZERS("[\"a\"]") }, /* deleting has the last word */
         { "{\"metadata\":{}}", "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}",
           "{\"metadata\":{}}" },
         { "{}", "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}", "{\"metadata\":{}}" },
         { FINALIZERS("\"x\""), "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}",
           FINALIZERS("\"x\"") },
         { FINALIZERS("[\"a\"]"),
           "{\"metadata\":{\"finalizers\":null,\"$deleteFromPrimitiveList/finalizers\":[\"a\"]}}",
           "{\"metadata\":{}}" },
         /* from any list of scalars */
         { "{\"spec\":{\"accessModes\":[\"a\",\"b\",1]}}",
           "{\"spec\":{\"$deleteFromPrimitiveList/accessModes\":[\"a\",1,{}]}}",
           "{\"spec\":{\"accessModes\":[\"b\"]}}" },
         { "{\"spec\":{\"podCIDRs\":[\"10.0.0.0/24\"]}}",
           "{\"spec\":{\"podCIDRs\":[\"fd00::/64\",\"10.0.0.0/24\"]}}",
           "{\"spec\":{\"podCIDRs\":[\"fd00::/64\",\"10.0.0.0/24\"]}}" },
         { FINALIZERS("[\"a\"]"), "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":\"a\"}}", NULL,
           ERR_BAD_REQUEST, "'$deleteFromPrimitiveList/finalizers' must be a list" },
         { FINALIZERS("[\"a\"]"), FINALIZERS("[{\"x\":1}]"), NULL, ERR_BAD_REQUEST,
           "list 'finalizers' cannot hold an item of type object" },
         { FINALIZERS("[\"a\"]"), FINALIZERS("[null]"), NULL, ERR_BAD_REQUEST,
           "list 'finalizers' cannot hold an item of type null" });
}

/* --- Order --- */

#define ORDER(order, items) "{\"spec\":{\"$setElementOrder/containers\":" order ",\"containers\":" items "}}"
#define ORDER_ONLY(order) "{\"spec\":{\"$setElementOrder/containers\":" order "}}"
#define A "{\"name\":\"a\"}"
#define B "{\"name\":\"b\"}"
#define C "{\"name\":\"c\"}"
#define D "{\"name\":\"d\"}"
#define E "{\"name\":\"e\"}"

TEST(set_element_order)
{
    ROWS(
        { LIST("[" A "," B "," C "]"), ORDER_ONLY("[" C "," B "," A "]"), LIST("[" C "," B "," A "]") },
        { LIST("[" A "," B "]"), ORDER("[" A "," C "," B "]", "[" C "]"), LIST("[" A "," C "," B "]") },
        { LIST("[" A "," B "]"), ORDER("[" C "," A "," B "]", "[" C "]"), LIST("[" C "," A "," B "]") },
        { LIST("[" A "," B "," C "]"),
          ORDER("[" B "," C "]", "[{\"name\":\"b\",\"x\":1},{\"name\":\"a\",\"$patch\":\"delete\"}]"),
          LIST("[{\"name\":\"b\",\"x\":1}," C "]") },
        /* what is not listed stays in front of what it stood in front of */
        { LIST("[" A "," B "," C "," D "]"), ORDER_ONLY("[" D "," B "]"), LIST("[" A "," C "," D "," B "]") },
        { LIST("[" A "," B "," C "]"), ORDER_ONLY("[" C "," A "]"), LIST("[" B "," C "," A "]") },
        { LIST("[" A "," B "," C "]"), ORDER_ONLY("[" A "," C "]"), LIST("[" A "," B "," C "]") },
        { LIST("[" A "," B "," C "]"), ORDER_ONLY("[" B "]"), LIST("[" A "," B "," C "]") },
        { LIST("[" A "," B "]"), ORDER_ONLY("[]"), LIST("[" A "," B "]") },
        { LIST("[" A "," B "]"), ORDER_ONLY("[" E "," D "]"), LIST("[" A "," B "]") },
        { LIST("[" A "," B "," C "]"), ORDER("[" D "," C "," E "]", "[" D "," E "]"),
          LIST("[" D "," A "," B "," C "," E "]") },
        /* without a list in the target, or anywhere */
        { "{\"spec\":{}}", ORDER("[" A "," B "]", "[" A "," B "]"), LIST("[" A "," B "]") },
        { LIST("7"), ORDER("[" A "]", "[{\"name\":\"a\",\"x\":null}]"), LIST("[" A "]") },
        { "{}", ORDER("[" B "," A "]", "[" A "," B "]"),
          LIST("[" A "," B "]") }, /* new maps are taken as they are */
        { "{\"spec\":{}}", ORDER_ONLY("[" A "]"), "{\"spec\":{}}" },
        { LIST("7"), ORDER_ONLY("[" A "]"), LIST("7") },
        { LIST("[" A "]"), ORDER("[" B "," C "]", "[{\"$patch\":\"replace\"}," B "," C "]"),
          LIST("[" B "," C "]") },
        { LIST("[" A "," B "]"), "{\"spec\":{\"containers\":null,\"$setElementOrder/containers\":[" A "]}}",
          "{\"spec\":{}}" });
}

TEST(set_element_order_of_other_lists)
{
    ROWS(
        { FINALIZERS("[\"a\",\"b\",\"c\"]"),
          "{\"metadata\":{\"$setElementOrder/finalizers\":[\"d\",\"c\",\"a\"],\"finalizers\":[\"d\"],"
          "\"$deleteFromPrimitiveList/finalizers\":[\"b\"]}}",
          FINALIZERS("[\"d\",\"c\",\"a\"]") },
        { "{\"spec\":{\"accessModes\":[\"a\",\"b\",\"c\"]}}",
          "{\"spec\":{\"$setElementOrder/accessModes\":[\"c\",\"a\"]}}",
          "{\"spec\":{\"accessModes\":[\"b\",\"c\",\"a\"]}}" },
        { "{\"spec\":{\"accessModes\":[\"a\"]}}",
          "{\"spec\":{\"$setElementOrder/accessModes\":[\"c\",\"b\"],\"accessModes\":[\"b\",\"c\"]}}",
          "{\"spec\":{\"accessModes\":[\"c\",\"b\"]}}" },
        { "{\"unknown\":[{\"name\":\"a\"},1]}", "{\"$setElementOrder/unknown\":[1,{\"name\":\"a\"}]}",
          "{\"unknown\":[{\"name\":\"a\"},1]}" }, /* maps without a key cannot be told apart */
        { "{\"spec\":{\"containers\":[{\"name\":\"x\",\"ports\":[{\"containerPort\":1},{\"containerPort\":2}]"
          "}]}}",
          LIST("[{\"name\":\"x\",\"$setElementOrder/ports\":[{\"containerPort\":2},{\"containerPort\":1}]}]"),
          LIST("[{\"name\":\"x\",\"ports\":[{\"containerPort\":2},{\"containerPort\":1}]}]") });
}

TEST(set_element_order_that_contradicts_the_patch)
{
    static const char message[] = "the items of list 'containers' in the patch are not in the order of its "
                                  "'$setElementOrder/containers'";

    ROWS({ LIST("[" A "]"), ORDER("[" A "," B "]", "[" B "," A "]"), NULL, ERR_BAD_REQUEST, message },
         { LIST("[" A "]"), ORDER("[" A "]", "[" B "]"), NULL, ERR_BAD_REQUEST, message },
         { LIST("[" A "]"), ORDER("[{}]", "[" B "]"), NULL, ERR_BAD_REQUEST,
           "map: map[] does not contain declared merge key: name" },
         { LIST("[" A "]"), ORDER_ONLY("[1]"), NULL, ERR_BAD_REQUEST,
           "list 'containers' cannot hold an item of type number" },
         { LIST("[" A "]"), ORDER_ONLY("{}"), NULL, ERR_BAD_REQUEST,
           "'$setElementOrder/containers' must be a list" },
         { LIST("[" A "]"), ORDER("null", "[" B "]"), NULL, ERR_BAD_REQUEST,
           "'$setElementOrder/containers' must be a list" });
}

/* --- The rest --- */

TEST(a_patch_is_an_object_for_an_object)
{
    ROWS({ "{}", "[]", NULL, ERR_BAD_REQUEST,
           "a strategic merge patch must be an object for an object, not array for object" },
         { "[]", "{}", NULL, ERR_BAD_REQUEST,
           "a strategic merge patch must be an object for an object, not object for array" },
         { "{}", "{", NULL, ERR_BAD_REQUEST, "error decoding patch: offset 1: parse error: premature EOF" });
}

TEST(object_metadata)
{
    static const char owner[] =
        "{\"metadata\":{\"ownerReferences\":[{\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"1\"}],"
        "\"finalizers\":[\"a\"],\"labels\":{\"x\":\"1\"}}}";
    static const struct patch_row rows[] = {
        { "{\"name\":\"n\",\"finalizers\":[\"kubernetes.io/pv-protection\"]}",
          "{\"finalizers\":[\"x/y\"],\"labels\":{\"a\":\"b\"}}",
          "{\"name\":\"n\",\"finalizers\":[\"x/y\",\"kubernetes.io/"
          "pv-protection\"],\"labels\":{\"a\":\"b\"}}" },
        { "{\"ownerReferences\":[{\"uid\":\"1\",\"name\":\"a\"},{\"uid\":\"2\",\"name\":\"b\"}]}",
          "{\"ownerReferences\":[{\"uid\":\"2\",\"controller\":true},{\"uid\":\"1\",\"$patch\":\"delete\"}]}",
          "{\"ownerReferences\":[{\"uid\":\"2\",\"name\":\"b\",\"controller\":true}]}" },
        { "{\"managedFields\":[{\"manager\":\"a\"}]}", "{\"managedFields\":[{}]}",
          "{\"managedFields\":[{}]}" },
    };

    CHECK_ROWS(PATCH_STRATEGIC, &meta_schema, rows);
    check_row(PATCH_STRATEGIC, &object_schema,
              &(struct patch_row){
                  owner,
                  "{\"metadata\":{\"ownerReferences\":[{\"uid\":\"1\",\"controller\":true}],"
                  "\"finalizers\":[\"b\"],\"labels\":{\"x\":null}}}",
                  "{\"metadata\":{\"ownerReferences\":[{\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"1\","
                  "\"controller\":true}],\"finalizers\":[\"b\",\"a\"],\"labels\":{}}}" });
}

TEST(go_prints_maps_in_order)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        { "null", "<nil>" },
        { "\"a b\"", "a b" },
        { "[]", "[]" },
        { "[[],{},1,\"\"]", "[[] map[] 1 ]" },
        { "{\"b\":{\"d\":true,\"c\":false},\"a\":[1,2.5]}", "map[a:[1 2.5] b:map[c:false d:true]]" },
        { "{\"\":{\"\":null}}", "map[:map[:<nil>]]" },
    };
    _cleanup_(json_done_p) struct json d;
    json_ref v;

    json_init(&d, BYTES_MAX);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf out = BUF_INIT(1000);
        ASSERT_OK(json_parse(&d, str_of(rows[i].text), &v, &err));
        patch_write_go(&d, v, &out);
        ASSERT_STR(rows[i].want, buf_cstr(&out));
    }
}

/* --- Hostile input: these would take minutes if anything were quadratic --- */

struct large_row {
    const char *target_head, *target_item, *target_tail;
    const char *head, *item, *tail;
    const char *want_item; /* NULL: the list is empty afterwards */
    unsigned left;
};

static void check_large(const struct large_row *row, unsigned count)
{
    _cleanup_(freep) char *target = large_text(row->target_head, row->target_item, count, row->target_tail);
    _cleanup_(freep) char *patch = large_text(row->head, row->item, count, row->tail);
    _cleanup_(freep) char *want = large_text(row->target_head, row->want_item ? row->want_item : "",
                                             row->want_item ? row->left : 0, row->target_tail);
    int code;
    _cleanup_(freep) char *have = patch_text(PATCH_STRATEGIC, &object_schema, target, patch, &code);

    if (code < 0)
        fail_msg("%s: %s", row->item, err.msg);
    if (strcmp(want, have) != 0)
        fail_msg("%s: not what was expected", row->item);
}

#define LARGE 100000

TEST(large_maps_and_lists)
{
    static const char head[] = "{\"spec\":{\"volumes\":[", tail[] = "]}}", item[] = "{\"name\":\"v#\"}";
    static const struct large_row rows[] = {
        { "{\"data\":{", "\"k#\":\"#\"", "}}", "{\"data\":{", "\"k#\":\"x\"", "}}", "\"k#\":\"x\"", LARGE },
        { "{\"data\":{", "\"k#\":\"#\"", "}}", "{\"data\":{", "\"k#\":null", "}}", NULL, 0 },
        { head, item, tail, head, "{\"name\":\"v#\",\"a\":#}", tail, "{\"name\":\"v#\",\"a\":#}", LARGE },
        { head, item, tail, head, "{\"name\":\"v#\",\"$patch\":\"delete\"}", tail, NULL, 0 },
        { head, "{\"name\":#}", tail, head, "{\"name\":#,\"a\":{\"b\":null}}", tail, "{\"name\":#,\"a\":{}}",
          LARGE },
        { head, item, tail, "{\"spec\":{\"$setElementOrder/volumes\":[", item, tail, item, LARGE },
        { "{\"metadata\":{\"finalizers\":[", "\"f#\"", tail,
          "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[", "\"f#\"", tail, NULL, 0 },
        { "{\"metadata\":{\"finalizers\":[", "\"f#\"", tail, "{\"metadata\":{\"finalizers\":[", "\"f#\"",
          tail, "\"f#\"", LARGE },
        { "{\"data\":{", "\"k#\":\"#\"", "}}", "{\"data\":{\"$retainKeys\":[", "\"k#\"", "]}}",
          "\"k#\":\"#\"", LARGE },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        check_large(&rows[i], LARGE);
}

TEST(a_list_is_turned_round)
{
    _cleanup_(freep) char *target = large_text("{\"secrets\":[", "{\"name\":#}", LARGE, "]}");
    _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX), want = BUF_INIT(BYTES_MAX);
    int code;

    for (unsigned i = LARGE; i-- > 0;) {
        buf_addf(&patch, "%s{\"name\":%u}", patch.len ? "," : "{\"$setElementOrder/secrets\":[", i);
        buf_addf(&want, "%s{\"name\":%u}", want.len ? "," : "{\"secrets\":[", i);
    }
    buf_add_cstr(&patch, "]}");
    buf_add_cstr(&want, "]}");
    _cleanup_(freep) char *have =
        patch_text(PATCH_STRATEGIC, &object_schema, target, buf_cstr(&patch), &code);
    ASSERT_INT(0, code);
    assert_true(strcmp(have, buf_cstr(&want)) == 0);
}

TEST(many_members_merge_as_few_do)
{
    for (unsigned n = 1; n < 40; n++) { /* both sides of the size where sorting begins */
        static const struct large_row row = { "{\"secrets\":[",
                                              "{\"name\":\"s#\",\"x\":#}",
                                              "]}",
                                              "{\"secrets\":[",
                                              "{\"name\":\"s#\",\"x\":null}",
                                              "]}",
                                              "{\"name\":\"s#\"}",
                                              0 };
        struct large_row sized = row;
        sized.left = n;
        check_large(&sized, n);
    }
}

TEST(one_item_patched_too_often_is_refused)
{
    static const struct {
        const char *head, *tail, *item;
        bool refused;
    } rows[] = {
        { "{\"secrets\":[{\"name\":\"a\",\"x\":{", "}}]}", "{\"name\":\"a\",\"x\":{\"y\":#}}", true },
        { "{\"secrets\":[{", ",\"name\":\"a\"}]}", "{\"name\":\"a\",\"$deleteFromPrimitiveList/x\":[]}",
          true },
        { "{\"secrets\":[{", ",\"name\":\"a\"}]}", "{\"name\":\"a\",\"$retainKeys\":[\"name\"]}", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *target = large_text(rows[i].head, "\"k#\":0", 50000, rows[i].tail);
        _cleanup_(freep) char *patch = large_text("{\"secrets\":[", rows[i].item, 50000, "]}");
        int code;
        _cleanup_(freep) char *have = patch_text(PATCH_STRATEGIC, &object_schema, target, patch, &code);
        ASSERT_INT(rows[i].refused ? -ERR_TOO_LARGE : 0, code);
        if (rows[i].refused)
            ASSERT_STR("the patch takes more than 20000000 steps to apply", err.msg);
        else
            ASSERT_STR("{\"secrets\":[{\"name\":\"a\"}]}", have);
    }
}

TEST(lists_worked_on_too_often_are_refused)
{
    static const char *const items[] = {
        "{\"name\":\"a\",\"ports\":[{\"containerPort\":#}]}",
        "{\"name\":\"a\",\"$setElementOrder/ports\":[]}",
        "{\"name\":\"a\",\"$deleteFromPrimitiveList/ports\":[]}",
    };
    _cleanup_(freep) char *target = large_text("{\"spec\":{\"containers\":[{\"name\":\"a\",\"ports\":[",
                                               "{\"containerPort\":#}", 30000, "]}]}}");

    for (size_t i = 0; i < ARRAY_LEN(items); i++) {
        _cleanup_(freep) char *patch = large_text("{\"spec\":{\"containers\":[", items[i], 30000, "]}}");
        int code;
        assert_null(patch_text(PATCH_STRATEGIC, &object_schema, target, patch, &code));
        ASSERT_INT(-ERR_TOO_LARGE, code);
    }
}

TEST(deep_patches)
{
    _cleanup_(freep) char *deep = nested_text("{\"a\":", JSON_DEPTH_MAX, "1", "}");
    _cleanup_(freep) char *other = nested_text("{\"a\":", JSON_DEPTH_MAX, "2", "}");
    _cleanup_(freep) char *gone = nested_text("{\"a\":", JSON_DEPTH_MAX, "null", "}");
    _cleanup_(freep) char *empty = nested_text("{\"a\":", JSON_DEPTH_MAX - 1, "{}", "}");
    _cleanup_(freep) char *dropped =
        nested_text("{\"a\":", JSON_DEPTH_MAX - 1, "{\"$patch\":\"delete\"}", "}");
    _cleanup_(freep) char *shorter = nested_text("{\"a\":", JSON_DEPTH_MAX - 2, "{}", "}");
    _cleanup_(freep) char *lists = nested_text("[", JSON_DEPTH_MAX - 1, "", "]");
    _cleanup_(buf_done_p) struct buf list = BUF_INIT(BYTES_MAX);

    buf_addf(&list, "{\"a\":%s}", lists);
    struct patch_row rows[] = {
        { deep, other, other },
        { "{}", deep, deep },
        { deep, gone, empty },
        { "{}", gone, empty },
        { deep, deep, deep },
        { "{\"a\":1}", deep, deep },
        { "{}", dropped, shorter },
        { empty, dropped, empty },
        { "{}", buf_cstr(&list), buf_cstr(&list) },
        { deep, buf_cstr(&list), buf_cstr(&list) },
        { buf_cstr(&list), deep, deep },
    };
    CHECK_ROWS(PATCH_STRATEGIC, &object_schema, rows);
}

TEST(a_deep_item_without_its_key_is_refused)
{
    _cleanup_(freep) char *lists = nested_text("[", JSON_DEPTH_MAX - 4, "", "]");
    _cleanup_(buf_done_p) struct buf patch = BUF_INIT(BYTES_MAX);
    int code;

    buf_addf(&patch, LIST("[{\"x\":%s}]"), lists);
    assert_null(patch_text(PATCH_STRATEGIC, &object_schema, LIST("[]"), buf_cstr(&patch), &code));
    ASSERT_INT(-ERR_BAD_REQUEST, code);
}

TEST_MAIN()
