/* Objects: the metadata's view, decoding with its refusals, what the kinds' decoders are given. */
#include "tests/unit/test_kind.h"

#include "api/claim.h"

static struct json scratch;

static int decode_any(const char *text, struct object **ret)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);

    kind_quotes(text, &quoted);
    return object_decode_any(buf_str(&quoted), &scratch, ret, &err);
}

/* What object_decode() makes of it: "" or the error's message. */
static const char *refusal(enum kind kind, const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);
    struct object *o = NULL;

    kind_quotes(text, &quoted);
    if (object_decode(kind_info(kind), buf_str(&quoted), &scratch, &o, &err) == 0) {
        (void)object_unref(o);
        return "";
    }
    assert_null(o);
    return err.msg;
}

#define META(rest) "{'metadata':{'name':'x'" rest "}}"

TEST(metadata_is_decoded)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_CONFIG_MAP,
        "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'n','generateName':'g-','namespace':'ns',"
        "'uid':'u-1','resourceVersion':'9223372036854775807','generation':9223372036854775806,"
        "'creationTimestamp':'2024-05-01T10:00:00Z','deletionTimestamp':'2024-05-01T12:00:01+01:00',"
        "'deletionGracePeriodSeconds':0,'labels':{'b':'2','a':'1','c':''},'annotations':{'y':'Y','x':'X'},"
        "'finalizers':['f/2','f/1'],'selfLink':'/x','ownerReferences':[{'apiVersion':'v1','kind':'Pod',"
        "'name':'p','uid':'1'},{'apiVersion':'apps/v1','kind':'Set','name':'s','uid':'2',"
        "'controller':true,'blockOwnerDeletion':true}]}}");

    assert_ptr_equal(kind_info(KIND_CONFIG_MAP), o->kind);
    ASSERT_STR("n", o->name);
    ASSERT_STR("g-", o->generate_name);
    ASSERT_STR("ns", o->ns);
    ASSERT_STR("u-1", o->uid);
    assert_true(o->revision == INT64_MAX);
    assert_true(o->generation == INT64_MAX - 1);
    ASSERT_INT(1714557600, o->created.seconds);
    assert_true(o->is_deleting);
    ASSERT_INT(1714557600 + 3601, o->deleted.seconds);
    ASSERT_INT(0, o->deletion_grace_seconds);
    ASSERT_INT(3, o->labels.count);
    ASSERT_STR("a", o->labels.items[0].key); /* sorted */
    ASSERT_STR("2", object_label(o, "b"));
    ASSERT_STR("", object_label(o, "c"));
    assert_null(object_label(o, "d"));
    assert_null(object_label(o, "x"));
    ASSERT_STR("X", object_annotation(o, "x"));
    assert_null(object_annotation(o, "a"));
    ASSERT_INT(2, o->finalizers.count);
    ASSERT_STR("f/2", o->finalizers.items[0]); /* in their order */
    assert_true(object_has_finalizer(o, "f/1"));
    assert_false(object_has_finalizer(o, "f"));
    ASSERT_INT(2, o->owners_count);
    ASSERT_STR("Pod", o->owners[0].kind);
    assert_false(o->owners[0].is_controller);
    assert_false(o->owners[0].blocks_deletion);
    assert_ptr_equal(&o->owners[1], object_controller(o));
    ASSERT_STR("apps/v1", o->owners[1].api_version);
    ASSERT_STR("s", o->owners[1].name);
    ASSERT_STR("2", o->owners[1].uid);
    assert_true(o->owners[1].blocks_deletion);
}

TEST(absent_metadata_is_empty_and_never_null)
{
    static const char *const rows[] = { "{}", "{'metadata':{}}", "{'metadata':null}",
                                        "{'metadata':{'labels':null,'finalizers':[],'name':''}}" };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, rows[i]);
        ASSERT_STR("", o->name);
        ASSERT_STR("", o->ns);
        ASSERT_STR("", o->uid);
        ASSERT_STR("", o->generate_name);
        ASSERT_INT(0, o->revision);
        ASSERT_INT(0, o->generation);
        assert_true(timestamp_is_zero(o->created));
        assert_false(o->is_deleting);
        assert_true(timestamp_is_zero(o->deleted));
        ASSERT_INT(-1, o->deletion_grace_seconds);
        ASSERT_INT(0, o->labels.count + o->annotations.count + o->finalizers.count + o->owners_count);
        assert_null(object_label(o, ""));
        assert_null(object_controller(o));
        assert_false(object_has_finalizer(o, ""));
    }
}

TEST(revisions_that_are_no_number)
{
    static const struct {
        const char *text;
        int64_t revision;
    } rows[] = {
        { "", 0 },
        { ",'resourceVersion':''", 0 },
        { ",'resourceVersion':'0'", 0 },
        { ",'resourceVersion':'12'", 12 },
        { ",'resourceVersion':'abc'", -1 },
        { ",'resourceVersion':'12x'", -1 },
        { ",'resourceVersion':' 12'", -1 },
        { ",'resourceVersion':'9223372036854775808'", -1 },
        { ",'resourceVersion':'1.5'", -1 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "{'metadata':{'name':'x'%s}}", rows[i].text);
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_VOLUME, text);
        assert_true(o->revision == rows[i].revision);
    }
}

TEST(the_text_is_canonical_and_keeps_what_is_unknown)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_VOLUME, "{'zoo':[1, 2.50, 12345678901234567890],'spec':{'future':{'b':1,'a':null},"
                     "'capacity':{'storage':'1024Mi'}},'metadata':{'name':'x','labels':{'b':'','a':''}}}");

    ASSERT_STR(kind_row("{'metadata':{'name':'x','labels':{'a':'','b':''}},'spec':{'capacity':{'storage':"
                        "'1Gi'},'future':{'b':1,'a':null}},'status':{},'zoo':[1,2.50,12345678901234567890]}"),
               o->text.s);
    ASSERT_INT(strlen(o->text.s), o->text.len);
}

TEST(kubectls_copy_is_in_the_text_alone)
{
#define LAST "kubectl.kubernetes.io/last-applied-configuration"
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_CLASS, "{'metadata':{'name':'x','annotations':{'z':'2','" LAST "':'{}','a':'1'}}}");
    _cleanup_(object_unref_p) struct object *label =
        kind_object(KIND_CLASS, "{'metadata':{'name':'x','labels':{'" LAST "':'l'}}}");

    ASSERT_INT(2, o->annotations.count);
    ASSERT_STR("1", object_annotation(o, "a"));
    ASSERT_STR("2", object_annotation(o, "z"));
    assert_null(object_annotation(o, LAST));
    assert_non_null(strstr(o->text.s, "\"" LAST "\":\"{}\""));
    ASSERT_STR("l", object_label(label, LAST));
}

TEST(objects_are_counted)
{
    struct object *o = kind_object(KIND_VOLUME, META(""));
    const struct object *shared = o;
    struct object *second = object_ref(shared);

    assert_ptr_equal(o, second);
    assert_null(object_unref(o));
    ASSERT_STR("x", second->name); /* still there */
    assert_null(object_unref(second));
    assert_null(object_unref(NULL));
}

TEST(the_kind_is_taken_from_the_text)
{
    _cleanup_(object_unref_p) struct object *pv = NULL, *event = NULL, *snapshot = NULL;

    ASSERT_OK(decode_any("{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'x'}}", &pv));
    ASSERT_INT(KIND_VOLUME, pv->kind->kind);
    ASSERT_OK(decode_any("{'metadata':{},'kind':'Event','apiVersion':'events.k8s.io/v1'}", &event));
    ASSERT_INT(KIND_EVENT_V1, event->kind->kind);
    ASSERT_OK(decode_any("{'apiVersion':'snapshot.storage.k8s.io/v1','kind':'VolumeSnapshot'}", &snapshot));
    ASSERT_INT(KIND_SNAPSHOT, snapshot->kind->kind);
}

TEST(texts_without_a_known_kind_are_refused)
{
#define MISSING "kind: Required value: must name the kind of the object, for example PersistentVolume"
    static const struct {
        const char *text, *message;
        enum err code;
    } rows[] = {
        { "{}", MISSING, ERR_BAD_REQUEST },
        { "{'apiVersion':'v1'}", MISSING, ERR_BAD_REQUEST },
        { "{'apiVersion':'v1','kind':''}", MISSING, ERR_BAD_REQUEST },
        { "{'apiVersion':'v1','kind':null}", MISSING, ERR_BAD_REQUEST },
        { "{'apiVersion':'v1','kind':5}", MISSING, ERR_BAD_REQUEST },
        { "[]", MISSING, ERR_BAD_REQUEST },
        { "null", MISSING, ERR_BAD_REQUEST },
        { "{'kind':'Pod'}", "no kind \"Pod\" is known in version \"\"", ERR_UNSUPPORTED },
        { "{'kind':'Pod','apiVersion':'v2'}", "no kind \"Pod\" is known in version \"v2\"", ERR_UNSUPPORTED },
        { "{'kind':'Pod','apiVersion':'storage.k8s.io/v1'}",
          "no kind \"Pod\" is known in version \"storage.k8s.io/v1\"", ERR_UNSUPPORTED },
        { "{'kind':'StorageClass','apiVersion':'storage.k8s.io/v1beta1'}",
          "no kind \"StorageClass\" is known in version \"storage.k8s.io/v1beta1\"", ERR_UNSUPPORTED },
        { "{'kind':'pod','apiVersion':'v1'}", "no kind \"pod\" is known in version \"v1\"", ERR_UNSUPPORTED },
        { "{'kind':'Pod\\u0000','apiVersion':'v1'}", "no kind \"Pod\\x00\" is known in version \"v1\"",
          ERR_UNSUPPORTED },
        { "{'kind':'a\\nb','apiVersion':'\\u0007'}", "no kind \"a\\nb\" is known in version \"\\a\"",
          ERR_UNSUPPORTED },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct object *o = NULL;
        ASSERT_ERR(rows[i].code, decode_any(rows[i].text, &o));
        ASSERT_STR(rows[i].message, err.msg);
        assert_null(o);
    }
}

TEST(wrong_types_say_what_cannot_be_handled)
{
    struct object *o = NULL;

    ASSERT_STR("PersistentVolume in version \"v1\" cannot be handled as a PersistentVolume: json: cannot "
               "unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
               refusal(KIND_VOLUME, "{'metadata':{'name':5}}"));
    ASSERT_STR("StorageClass in version \"v1\" cannot be handled as a StorageClass: json: cannot unmarshal "
               "array into Go value of type v1.StorageClass",
               refusal(KIND_CLASS, "[]"));
    ASSERT_ERR(ERR_BAD_REQUEST,
               decode_any("{'apiVersion':'v1','kind':'Pod','metadata':{'finalizers':[1]}}", &o));
    assert_null(o);
    ASSERT_STR("offset 3: lexical error: invalid string in json text.", refusal(KIND_POD, "{ nope"));
}

TEST(a_nul_character_is_refused_with_its_place)
{
    static const char *const rows[][2] = {
        { "{'metadata':{'name':'a\\u0000b'}}", "metadata.name" },
        { "{'metadata':{'namespace':'\\u0000'}}", "metadata.namespace" },
        { "{'metadata':{'uid':'u\\u0000'}}", "metadata.uid" },
        { "{'metadata':{'labels':{'k':'\\u0000'}}}", "metadata.labels.k" },
        { "{'metadata':{'annotations':{'a':'x','k':'\\u0000'}}}", "metadata.annotations.k" },
        { "{'metadata':{'finalizers':['a/b','\\u0000']}}", "metadata.finalizers[1]" },
        { "{'metadata':{'ownerReferences':[{},{'uid':'\\u0000'}]}}", "metadata.ownerReferences[1].uid" },
        { "{'spec':{'volumeName':'\\u0000'}}", "spec.volumeName" },
        { "{'spec':{'storageClassName':'a\\u0000'}}", "spec.storageClassName" },
        /* the first one is told */
        { "{'metadata':{'name':'\\u0000'},'spec':{'volumeName':'\\u0000'}}", "metadata.name" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char want[128];
        (void)snprintf(want, sizeof want, "%s: must not contain a NUL character", rows[i][1]);
        ASSERT_STR(want, refusal(KIND_CLAIM, rows[i][0]));
        ASSERT_INT(ERR_BAD_REQUEST, err.code);
    }
}

TEST(a_nul_that_nobody_reads_stays)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_CLAIM, "{'metadata':{'name':'x'},'future':'a\\u0000b'}");

    assert_non_null(strstr(o->text.s, "\"future\":\"a\\u0000b\""));
    ASSERT_INT(strlen(o->text.s), o->text.len);
}

TEST(stored_texts_decode_to_the_same_object)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_CLAIM, "{'metadata':{'name':'x','namespace':'a','resourceVersion':'7','labels':{"
                    "'b':'1','a':'2'}},'spec':{'volumeName':'v'},'future':{'z':[1.50,'\\u00e9']}}");
    _cleanup_(object_unref_p) struct object *again = NULL;

    ASSERT_OK(object_decode_stored(kind_info(KIND_CLAIM), o->text, &scratch, &again, &err));
    assert_true(str_eq(o->text, again->text));
    ASSERT_STR("x", again->name);
    ASSERT_STR("2", object_label(again, "a"));
    ASSERT_INT(7, again->revision);
    ASSERT_STR("v", ((const struct claim *)(const void *)again)->volume_name);
}

TEST(stored_texts_that_are_not_canonical_harm_nobody)
{
    static const char *const texts[] = {
        "[]",
        "7",
        "{}",
        "{'metadata':[]}",
        "{'metadata':{'name':7,'labels':['a'],'finalizers':{'a':1}}}",
        "{'spec':7}",
        "{'spec':{'accessModes':{'a':'b'},'resources':[]}}",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);
        _cleanup_(object_unref_p) struct object *o = NULL;
        kind_quotes(texts[i], &quoted);
        ASSERT_OK(object_decode_stored(kind_info(KIND_CLAIM), buf_str(&quoted), &scratch, &o, &err));
        ASSERT_STR(buf_cstr(&quoted), o->text.s);
    }
    struct object *none = NULL;
    ASSERT_ERR(ERR_BAD_REQUEST,
               object_decode_stored(kind_info(KIND_CLAIM), str_of("{"), &scratch, &none, &err));
    assert_null(none);
}

TEST(the_callers_text_is_left_alone)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"\\u0061\\n\",\"labels\":{\"b\":\"1\",\"a\":\"2\"}}}";
    char copy[sizeof text];
    struct object *o = NULL;

    memcpy(copy, text, sizeof text);
    ASSERT_OK(object_decode(kind_info(KIND_VOLUME), str_of(copy), &scratch, &o, &err));
    assert_memory_equal(copy, text, sizeof text);
    memset(copy, 'x', sizeof copy); /* and the object does not lean on it, nor on the scratch */
    json_clear(&scratch);
    ASSERT_STR("a\n", o->name);
    ASSERT_STR("2", object_label(o, "a"));
    (void)object_unref(o);
}

TEST(fields_for_selectors)
{
    _cleanup_(object_unref_p) struct object *claim =
        kind_object(KIND_CLAIM, "{'metadata':{'name':'c','namespace':'ns'}}");
    _cleanup_(object_unref_p) struct object *node =
        kind_object(KIND_NODE, "{'metadata':{'name':'n'},'spec':{'unschedulable':true}}");
    _cleanup_(object_unref_p) struct object *ns = kind_object(KIND_NAMESPACE, "{'metadata':{'name':'n'}}");
    _cleanup_(object_unref_p) struct object *pv = kind_object(KIND_VOLUME, "{'metadata':{'name':'v'}}");

    ASSERT_STR("c", object_field(claim, "metadata.name"));
    ASSERT_STR("ns", object_field(claim, "metadata.namespace"));
    ASSERT_STR("", object_field(pv, "metadata.namespace"));
    ASSERT_STR("n", object_field(node, "metadata.name"));
    assert_null(object_field(node, "metadata.namespace"));
    ASSERT_STR("true", object_field(node, "spec.unschedulable"));
    ASSERT_STR("n", object_field(ns, "metadata.name"));
    assert_null(object_field(ns, "metadata.namespace"));
    assert_null(object_field(claim, "metadata.uid"));
    assert_null(object_field(claim, "spec.volumeName"));
    assert_null(object_field(claim, ""));
}

TEST(keys)
{
    _cleanup_(object_unref_p) struct object *claim =
        kind_object(KIND_CLAIM, "{'metadata':{'name':'c','namespace':'ns'}}");
    _cleanup_(object_unref_p) struct object *pv = kind_object(KIND_VOLUME, "{'metadata':{'name':'v'}}");
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(64);

    object_key(claim, &out);
    buf_add_char(&out, ' ');
    object_key(pv, &out);
    ASSERT_STR("ns/c v", buf_cstr(&out));
}

TEST(the_first_controller_is_the_controller)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_POD, "{'metadata':{'ownerReferences':[{'name':'a','controller':false},{'name':'b',"
                              "'controller':true},{'name':'c','controller':true}]}}");
    _cleanup_(object_unref_p) struct object *none =
        kind_object(KIND_POD, "{'metadata':{'ownerReferences':[{'name':'a'}]}}");

    ASSERT_STR("b", object_controller(o)->name);
    ASSERT_STR("", o->owners[0].uid);
    assert_null(object_controller(none));
}

/* --- The decoders' helpers --- */

struct helped {
    struct json d;
    struct arena arena;
    struct decoder x;
    json_ref v;
};

static void helped_init(struct helped *h, const char *text, size_t arena_max)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);

    json_init(&h->d, 1 << 20);
    h->arena = ARENA_INIT(arena_max);
    h->x = (struct decoder){ .d = &h->d, .arena = &h->arena, .err = &err };
    kind_quotes(text, &quoted);
    ASSERT_OK(json_parse(&h->d, buf_str(&quoted), &h->v, &err));
}

static void helped_done(struct helped *h)
{
    json_done(&h->d);
    arena_done(&h->arena);
}

TEST(helpers_read)
{
    static const char *const names[] = { "zero", "one" };
    struct helped h;
    struct timestamp t = { .seconds = 5 };
    struct quantity q;
    uint32_t count;

    helped_init(&h,
                "{'s':'text','b':true,'f':false,'i':-9223372036854775808,'t':'2024-05-01T10:00:00Z',"
                "'q':'1Gi','l':['a',''],'m':{'a':'1','b':'2'},'e':'one','o':'other','x':1.5,'em':[]}",
                1 << 16);
    ASSERT_STR("text", decode_text(&h.x, h.v, "s"));
    ASSERT_STR("", decode_text(&h.x, h.v, "absent"));
    ASSERT_STR("", decode_text(&h.x, h.v, "b"));
    ASSERT_STR("", decode_text(&h.x, 0, "s"));
    assert_true(decode_bool(&h.x, h.v, "b", false));
    assert_false(decode_bool(&h.x, h.v, "f", true));
    assert_true(decode_bool(&h.x, h.v, "absent", true));
    assert_true(decode_int(&h.x, h.v, "i", 7) == INT64_MIN);
    ASSERT_INT(7, decode_int(&h.x, h.v, "x", 7));
    ASSERT_INT(7, decode_int(&h.x, h.v, "absent", 7));
    assert_false(decode_time(&h.x, h.v, "absent", &t));
    ASSERT_INT(5, t.seconds);
    assert_true(decode_time(&h.x, h.v, "t", &t));
    ASSERT_INT(1714557600, t.seconds);
    assert_false(decode_quantity(&h.x, h.v, "absent", &q));
    assert_true(decode_quantity(&h.x, h.v, "q", &q));
    ASSERT_INT(2, decode_texts(&h.x, h.v, "l").count);
    ASSERT_STR("", decode_texts(&h.x, h.v, "l").items[1]);
    ASSERT_INT(0, decode_texts(&h.x, h.v, "absent").count);
    ASSERT_STR("2", decode_map(&h.x, h.v, "m").items[1].value);
    assert_null(decode_items(&h.x, json_get(&h.d, h.v, "em"), 8, &count));
    ASSERT_INT(0, count);
    ASSERT_INT(1, decode_enum(&h.x, h.v, "e", names, 2, -1));
    ASSERT_INT(-1, decode_enum(&h.x, h.v, "o", names, 2, -1));
    ASSERT_INT(-1, decode_enum(&h.x, h.v, "absent", names, 2, -1));
    ASSERT_INT(0, h.x.r);
    helped_done(&h);
}

TEST(the_first_failure_sticks)
{
    struct helped h;
    struct timestamp t = { .seconds = 5 };
    struct quantity q;
    uint32_t count = 9;

    helped_init(&h, "{'n':'\\u0000','s':'text','t':'2024-05-01T10:00:00Z','bad':'noon','q':'1Gi','l':['a']}",
                1 << 16);
    ASSERT_STR("", decode_text(&h.x, h.v, "n"));
    ASSERT_INT(-ERR_BAD_REQUEST, h.x.r);
    ASSERT_STR("", decode_text(&h.x, h.v, "s"));
    assert_false(decode_time(&h.x, h.v, "t", &t));
    assert_false(decode_time(&h.x, h.v, "bad", &t));
    ASSERT_INT(5, t.seconds);
    assert_false(decode_quantity(&h.x, h.v, "q", &q));
    ASSERT_INT(0, decode_texts(&h.x, h.v, "l").count);
    ASSERT_INT(0, decode_map(&h.x, h.v, "l").count);
    assert_null(decode_items(&h.x, json_get(&h.d, h.v, "l"), 8, &count));
    ASSERT_INT(0, count);
    ASSERT_STR("n: must not contain a NUL character", err.msg);
    helped_done(&h);
}

TEST(times_and_quantities_that_do_not_parse_fail)
{
    struct helped h;
    struct timestamp t = { .seconds = 5 };
    struct quantity q;

    helped_init(&h, "{'when':'noon'}", 1 << 16);
    assert_false(decode_time(&h.x, h.v, "when", &t));
    ASSERT_INT(-ERR_BAD_REQUEST, h.x.r);
    assert_non_null(strstr(err.msg, "when: parsing time \"noon\""));
    helped_done(&h);

    helped_init(&h, "{'q':'5GiB'}", 1 << 16);
    assert_false(decode_quantity(&h.x, h.v, "q", &q));
    assert_true(h.x.r < 0);
    helped_done(&h);
}

TEST(helpers_out_of_memory)
{
    struct helped h;
    uint32_t count;

    helped_init(&h, "{'s':'a text of some length','l':['a','b','c'],'m':{'a':'1'}}", 8);
    ASSERT_STR("", decode_text(&h.x, h.v, "s"));
    ASSERT_INT(-ERR_TOO_LARGE, h.x.r);
    helped_done(&h);

    helped_init(&h, "{'l':['a','b','c']}", 8);
    assert_null(decode_items(&h.x, json_get(&h.d, h.v, "l"), 64, &count));
    ASSERT_INT(0, count);
    ASSERT_INT(-ERR_TOO_LARGE, h.x.r);
    helped_done(&h);
}

/* An object whose view does not fit is an error, and nothing stays behind. */
TEST(objects_too_large_are_refused)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((size_t)40 << 20);
    _cleanup_(json_done_p) struct json large;
    struct object *o = NULL;
    size_t filler = ((size_t)33 << 20);
    char *at;

    json_init(&large, (size_t)64 << 20);
    buf_add_cstr(&text, "{\"x\":\"");
    at = buf_grow(&text, filler);
    assert_non_null(at);
    memset(at, 'a', filler);
    buf_add_cstr(&text, "\"}");
    ASSERT_ERR(ERR_TOO_LARGE, object_decode(kind_info(KIND_VOLUME), buf_str(&text), &large, &o, &err));
    assert_null(o);
}

int main(int argc, char **argv)
{
    int r;

    json_init(&scratch, 1 << 20);
    r = tests_run(argc, argv);
    json_done(&scratch);
    return r;
}
