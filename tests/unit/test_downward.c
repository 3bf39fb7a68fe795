/* Fields and resources of a pod as files show them. */
#include "tests/unit/test_plugins.h"

#include "plugins/content.h"

static const char pod_text[] =
    "{'metadata':{'name':'web-0','namespace':'shop','uid':'u-1',"
    "'labels':{'b':'2','a':'1','example.com/c':''},"
    "'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{}\\n','note':'say "
    "\\\\hi\\\\\\ttoday',"
    "'utf':'\xC3\xA9\xC2\xA0\xE2\x82\xAC'}},"
    "'spec':{'initContainers':[{'name':'i','resources':{'limits':{'memory':'5'}}}],"
    "'containers':[{'name':'c','resources':{'limits':{'cpu':'1500m','memory':'100Mi','hugepages-2Mi':'4Mi'},"
    "'requests':{'cpu':'10m','ephemeral-storage':'1Gi'}}},"
    "{'name':'bare','resources':{'limits':{'cpu':'0'}}},"
    "{'name':'fine','resources':{'limits':{'cpu':'1n','memory':'1500m'},'requests':{'memory':'8Ei'}}}],"
    "'ephemeralContainers':[{'name':'e'}]}}";

static const char node_text[] = "{'metadata':{'name':'n'},'status':{'allocatable':{'cpu':'8','memory':'16Gi',"
                                "'ephemeral-storage':'100G','hugepages-2Mi':'64Mi'}}}";

struct scene {
    struct object *pod, *node;
    struct arena arena;
    struct downward w;
};

static void scene_init(struct scene *s, bool has_node)
{
    *s = (struct scene){
        .pod = plugin_object(KIND_POD, "%s", pod_text),
        .node = has_node ? plugin_object(KIND_NODE, "%s", node_text) : NULL,
        .arena = ARENA_INIT(1 << 20),
    };
    downward_init(&s->w, &s->arena, pod_of(s->pod), s->node ? node_of(s->node) : NULL);
}

static void scene_done(struct scene *s)
{
    downward_done(&s->w);
    arena_done(&s->arena);
    s->pod = object_unref(s->pod);
    s->node = object_unref(s->node);
}

TEST(fields)
{
    static const struct {
        const char *path, *expected; /* NULL: an error with these words */
        const char *message;
    } rows[] = {
        { "metadata.name", "web-0", NULL },
        { "metadata.namespace", "shop", NULL },
        { "metadata.uid", "u-1", NULL },
        { "metadata.labels", "a=\"1\"\nb=\"2\"\nexample.com/c=\"\"", NULL },
        { "metadata.labels", "a=\"1\"\nb=\"2\"\nexample.com/c=\"\"", NULL }, /* again, from what is kept */
        { "metadata.annotations",
          "kubectl.kubernetes.io/last-applied-configuration=\"{}\\n\"\nnote=\"say \\\\hi\\\\\\ttoday\"\n"
          "utf=\"\xC3\xA9\\u00a0\xE2\x82\xAC\"",
          NULL },
        { "metadata.labels['a']", "1", NULL },
        { "metadata.labels['example.com/c']", "", NULL },
        { "metadata.labels['none']", "", NULL },
        { "metadata.labels['']", "", NULL },
        { "metadata.annotations['note']", "say \\hi\\\ttoday", NULL }, /* as it is */
        { "metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']", "{}\n", NULL },
        { "metadata.annotations['a']", "", NULL },
        { "metadata.name['a']", NULL, "fieldPath \"metadata.name['a']\" does not support subscript" },
        { "spec.nodeName", NULL, "unsupported fieldPath: spec.nodeName" },
        { "metadata.labels['a'", NULL, "unsupported fieldPath: metadata.labels['a'" },
        { "metadata.labels[']", NULL, "unsupported fieldPath: metadata.labels[']" },
        { "metadata", NULL, "unsupported fieldPath: metadata" },
    };
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, /* has_node= */ false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod_downward_item item = { .field_path = rows[i].path };
        struct str value = { 0 };
        if (rows[i].expected) {
            ASSERT_OK(downward_value(&s.w, &item, &value, &err));
            ASSERT_STR(rows[i].expected, arena_dup(&s.arena, value));
        } else {
            ASSERT_ERR(ERR_INVALID, downward_value(&s.w, &item, &value, &err));
            ASSERT_STR(rows[i].message, err.msg);
        }
    }
}

TEST(resources_are_divided_and_rounded_up)
{
    static const struct {
        const char *container, *resource, *divisor, *expected;
    } rows[] = {
        { "c", "limits.cpu", "", "2" },
        { "c", "limits.cpu", "1", "2" },
        { "c", "limits.cpu", "1m", "1500" },
        { "c", "limits.cpu", "100m", "15" },
        { "c", "limits.cpu", "7m", "215" },
        { "c", "requests.cpu", "1", "1" },
        { "c", "limits.memory", "", "104857600" },
        { "c", "limits.memory", "1Mi", "100" },
        { "c", "limits.memory", "1Gi", "1" },
        { "c", "limits.memory", "1M", "105" },
        { "c", "limits.memory", "1m", "104857600" }, /* a divisor is a whole byte at least */
        { "c", "requests.memory", "", "0" },         /* not made */
        { "c", "requests.ephemeral-storage", "1Mi", "1024" },
        { "c", "limits.ephemeral-storage", "1G", "100" }, /* the node's */
        { "c", "limits.hugepages-2Mi", "2Mi", "2" },
        { "c", "limits.hugepages-1Gi", "", "0" },
        { "bare", "limits.cpu", "", "8" }, /* zero counts as none */
        { "bare", "limits.memory", "1Gi", "16" },
        { "bare", "limits.hugepages-2Mi", "", "0" }, /* never the node's */
        { "bare", "requests.cpu", "", "0" },
        { "fine", "limits.cpu", "1m", "1" },
        { "fine", "limits.memory", "", "2" },
        { "fine", "requests.memory", "", "9223372036854775807" },
        { "fine", "requests.memory", "2", "4611686018427387904" },
        { "i", "limits.memory", "", "5" },
    };
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, /* has_node= */ true);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod_downward_item item = { .field_path = "",
                                          .container = rows[i].container,
                                          .resource = rows[i].resource };
        struct str value = { 0 };
        if (rows[i].divisor[0])
            ASSERT_OK(quantity_parse(str_of(rows[i].divisor), &item.divisor, &err));
        ASSERT_OK(downward_value(&s.w, &item, &value, &err));
        if (!str_is(value, rows[i].expected))
            fail_msg("%s of %s by '%s': %.*s, expected %s", rows[i].resource, rows[i].container,
                     rows[i].divisor, STR_ARG(value), rows[i].expected);
    }
}

TEST(resources_that_cannot_be_told)
{
    static const struct {
        const char *container, *resource, *message;
        enum err code;
    } rows[] = {
        { "nobody", "limits.cpu", "container nobody not found", ERR_INVALID },
        { "e", "limits.cpu", "container e not found", ERR_INVALID },
        { "c", "limits.gpu", "Unsupported container resource : limits.gpu", ERR_INVALID },
        { "c", "cpu", "Unsupported container resource : cpu", ERR_INVALID },
        { "c", "", "Unsupported container resource : ", ERR_INVALID },
        { "c", "limits.", "Unsupported container resource : limits.", ERR_INVALID },
        { "bare", "limits.cpu", "allocatable cpu of the node is not known yet", ERR_UNAVAILABLE },
    };
    _cleanup_(scene_done) struct scene s;

    scene_init(&s, /* has_node= */ false);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct pod_downward_item item = { .field_path = "",
                                          .container = rows[i].container,
                                          .resource = rows[i].resource };
        struct str value = { 0 };
        ASSERT_ERR(rows[i].code, downward_value(&s.w, &item, &value, &err));
        ASSERT_STR(rows[i].message, err.msg);
        assert_null(value.s);
    }
}

/* What a pod may use of memory at once; the base of the size of emptyDirs in memory. */
TEST(limits_of_whole_pods)
{
    static const struct {
        const char *spec;
        int64_t expected;
    } rows[] = {
#define LIMIT(n, more) "{'name':'c','resources':{'limits':{'memory':'" #n "'}}" more "}"
        { "'containers':[" LIMIT(10, "") "," LIMIT(20, "") "]", 30 },
        { "'containers':[" LIMIT(10, "") ",{'name':'d'}]", 10 },
        { "'containers':[{'name':'d'}]", 0 },
        { "'containers':[{'name':'d'}],'overhead':{'memory':'5'}", 0 },
        { "'containers':[" LIMIT(10, "") "],'overhead':{'memory':'5'}", 15 },
        { "'initContainers':[" LIMIT(40, "") "],'containers':[" LIMIT(10, "") "]", 40 },
        { "'initContainers':[" LIMIT(7, ",'restartPolicy':'Always'") "," LIMIT(
              40, "") "],'containers':[" LIMIT(10, "") "]",
          47 },
        { "'initContainers':[" LIMIT(4, "") "," LIMIT(
              7, ",'restartPolicy':'Always'") "],'containers':[" LIMIT(10, "") "]",
          17 },
        { "'resources':{'limits':{'memory':'100'}},'containers':[" LIMIT(10, "") "]", 100 },
        { "'containers':[" LIMIT(9223372036854775807, "") "," LIMIT(20, "") "]", INT64_MAX },
#undef LIMIT
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o =
            plugin_object(KIND_POD, "{'metadata':{'name':'p'},'spec':{%s}}", rows[i].spec);
        ASSERT_INT(rows[i].expected, pod_limit_value(pod_of(o), "memory"));
        ASSERT_INT(0, pod_limit_value(pod_of(o), "cpu"));
    }
}

TEST_MAIN()
