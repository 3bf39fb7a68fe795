#include "tests/unit/test_kind.h"

#include "apiserver/partial.h"

/* Lives until the next call. */
static const char *partial(const struct object *o, const char *version)
{
    static struct buf out = { .len_max = 1 << 20 };

    buf_clear(&out);
    partial_write(o, version, &out);
    return buf_cstr(&out);
}

#define PARTIAL(meta) "{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1','metadata':" meta "}"

TEST(partial_is_the_metadata_as_it_stands)
{
    static const struct {
        const char *text;
        const char *meta;
    } rows[] = {
        { "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','metadata':{'name':'a','namespace':'n',"
          "'resourceVersion':'7'},'spec':{'holderIdentity':'me'}}",
          "{'name':'a','namespace':'n','resourceVersion':'7'}" },
        /* without kind and apiVersion metadata comes first, and may come last too */
        { "{'metadata':{'name':'a'},'spec':{'holderIdentity':'me'}}", "{'name':'a'}" },
        { "{'metadata':{'name':'a'}}", "{'name':'a'}" },
        { "{}", "{}" },
        { "{'spec':{'holderIdentity':'\\\"metadata\\\":{'}}", "{}" },
        { "{'metadata':{'name':'a','labels':{'b':'c'},'finalizers':['x/"
          "y','z'],'managedFields':[{'manager':'m',"
          "'fieldsV1':{'f:metadata':{'f:labels':{'.':{}}}}}]}}",
          "{'name':'a','labels':{'b':'c'},'finalizers':['x/y','z'],'managedFields':[{'manager':'m',"
          "'fieldsV1':{'f:metadata':{'f:labels':{'.':{}}}}}]}" },
        /* brackets, quotes and backslashes in strings are nothing but text */
        { "{'metadata':{'name':'a','annotations':{'k':'}]\\\\\\\"},{','l':'\\\\'}},'spec':{}}",
          "{'name':'a','annotations':{'k':'}]\\\\\\\"},{','l':'\\\\'}}" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = kind_object(KIND_LEASE, rows[i].text);
        _cleanup_(buf_done_p) struct buf expected = BUF_INIT(4096);
        buf_addf(&expected, PARTIAL("%s"), rows[i].meta);
        ASSERT_STR(kind_row(buf_cstr(&expected)), partial(o, "v1"));
    }
}

TEST(partial_says_its_version)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_LEASE, "{'metadata':{'name':'a'}}");

    ASSERT_STR(kind_row("{'kind':'PartialObjectMetadata','apiVersion':'meta.k8s.io/v1beta1',"
                        "'metadata':{'name':'a'}}"),
               partial(o, "v1beta1"));
}

/* Every beginning of a text, cut anywhere: the scanner stays inside. */
TEST(partial_never_leaves_the_text)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(
        KIND_LEASE, "{'kind':'Lease','metadata':{'name':'a','annotations':{'k':'\\\\\\\"'}},'spec':{}}");
    struct object cut = { .kind = o->kind };

    for (size_t len = 0; len < o->text.len; len++) {
        _cleanup_(freep) char *text = malloc(len); /* no more: a sanitizer sees a read past it */
        assert_non_null(text);
        memcpy(text, o->text.s, len);
        cut.text = (struct str){ text, len };
        assert_true(str_has_suffix(str_of(partial(&cut, "v1")), "}"));
    }
}

TEST(partial_list_frames_the_items)
{
    _cleanup_(object_unref_p) struct object *a = kind_object(KIND_LEASE, "{'metadata':{'name':'a'}}");
    _cleanup_(object_unref_p) struct object *b = kind_object(KIND_LEASE, "{'metadata':{'name':'b'}}");
    struct list_meta meta = { STR_LIT("9"), STR_LIT("more"), 4 };
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(4096), none = BUF_INIT(4096);

    partial_write_list_begin(&meta, "v1", &out);
    partial_write(a, "v1", &out);
    buf_add_char(&out, ',');
    partial_write(b, "v1", &out);
    buf_add_cstr(&out, LIST_WRITE_END);
    ASSERT_STR(kind_row("{'kind':'PartialObjectMetadataList','apiVersion':'meta.k8s.io/v1','metadata':"
                        "{'resourceVersion':'9','continue':'more','remainingItemCount':4},'items':[" PARTIAL(
                            "{'name':'a'}") "," PARTIAL("{'name':'b'}") "]}"),
               buf_cstr(&out));
    meta = (struct list_meta){ STR_LIT("9"), STR_LIT(""), -1 };
    partial_write_list_begin(&meta, "v1beta1", &none);
    buf_add_cstr(&none, LIST_WRITE_END);
    ASSERT_STR(kind_row("{'kind':'PartialObjectMetadataList','apiVersion':'meta.k8s.io/v1beta1','metadata':"
                        "{'resourceVersion':'9'},'items':[]}"),
               buf_cstr(&none));
}

TEST_MAIN()
