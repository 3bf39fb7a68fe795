#include "tests/unit/test_kind.h"

#include "api/pod_claims.h"

static void keep_key(void *ctx, struct str key)
{
    buf_add_str(ctx, key);
    buf_add_char(ctx, '\n');
}

static struct object *object_of(enum kind kind, const char *text)
{
    _cleanup_(buf_done_p) struct buf quoted = BUF_INIT(1 << 20);
    _cleanup_(json_done_p) struct json d;
    struct object *o;

    json_init(&d, 1 << 20);
    kind_quotes(text, &quoted);
    ASSERT_OK(object_decode(kind_info(kind), buf_str(&quoted), &d, &o, &err));
    return o;
}

#define CLAIM(name) "{'name':'x','persistentVolumeClaim':{'claimName':'" name "'}}"
#define MADE(name) "{'name':'" name "','ephemeral':{'volumeClaimTemplate':{'spec':{}}}}"

static struct object *pod_with(const char *volumes)
{
    char text[2048];

    (void)snprintf(text, sizeof text,
                   "{'metadata':{'name':'p','namespace':'shop','uid':'u1'},'spec':{'volumes':[%s]}}",
                   volumes);
    return object_of(KIND_POD, text);
}

TEST(pod_claims_are_named_or_made)
{
    static const struct {
        const char *volumes;
        const char *keys;
        bool has_ephemeral;
    } rows[] = {
        { "", "", false },
        { "{'name':'e','emptyDir':{}}", "", false },
        { CLAIM("db"), "shop/db\n", false },
        { MADE("tmp"), "shop/p-tmp\n", true },
        { CLAIM("db") ",{'name':'e','emptyDir':{}}," MADE("tmp") "," CLAIM("db"),
          "shop/db\nshop/p-tmp\nshop/db\n", true },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = pod_with(rows[i].volumes);
        _cleanup_(buf_done_p) struct buf keys = BUF_INIT(1 << 16);

        pod_claims(pod_of(o), keep_key, &keys);
        ASSERT_STR(rows[i].keys, buf_cstr(&keys));
        ASSERT_INT(rows[i].has_ephemeral, pod_has_ephemeral_volume(pod_of(o)));
    }
}

/* A name that no server lets in is nobody's. */
TEST(pod_claims_leaves_out_names_without_end)
{
    char volumes[1024], name[601];

    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(volumes, sizeof volumes, "{'name':'x','persistentVolumeClaim':{'claimName':'%s'}},%s",
                   name, CLAIM("db"));
    {
        _cleanup_(object_unref_p) struct object *o = pod_with(volumes);
        _cleanup_(buf_done_p) struct buf keys = BUF_INIT(1 << 16);

        pod_claims(pod_of(o), keep_key, &keys);
        ASSERT_STR("shop/db\n", buf_cstr(&keys));
    }
}

TEST(pod_volume_is_claim_by_name_and_maker)
{
    static const struct {
        const char *volume;
        const char *name;
        const char *ns;
        const char *owner; /* uid of the controller; "" for none */
        bool is;
    } rows[] = {
        { CLAIM("db"), "db", "shop", "", true },
        { CLAIM("db"), "db", "shop", "u2", true },
        { CLAIM("db"), "db2", "shop", "", false },
        { CLAIM("db"), "db", "barn", "", false },
        { MADE("v"), "p-v", "shop", "u1", true },
        { MADE("v"), "p-v", "shop", "u2", false },
        { MADE("v"), "p-v", "shop", "", false },
        { MADE("v"), "p-v", "barn", "u1", false },
        { "{'name':'e','emptyDir':{}}", "e", "shop", "u1", false },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(object_unref_p) struct object *o = pod_with(rows[i].volume), *c = NULL;
        const struct pod *p = pod_of(o);
        char text[512];

        (void)snprintf(
            text, sizeof text,
            "{'metadata':{'name':'%s','namespace':'%s','ownerReferences':[{'apiVersion':'v1','kind':"
            "'Pod','name':'p','uid':'%s','controller':%s}]},'spec':{}}",
            rows[i].name, rows[i].ns, rows[i].owner, rows[i].owner[0] ? "true" : "false");
        c = object_of(KIND_CLAIM, text);
        ASSERT_INT(rows[i].is, pod_volume_is_claim(p, &p->volumes.items[0], claim_of(c)));
        ASSERT_INT(strcmp(rows[i].owner, "u1") == 0, pod_controls_claim(p, claim_of(c)));
    }
}

TEST_MAIN()
