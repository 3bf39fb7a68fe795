/* ConfigMap, Secret, ServiceAccount: defaults, rules, what may not change, views. */
#include "tests/unit/test_kind.h"

#include "api/config.h"

#define META "'metadata':{'name':'c','namespace':'ns'}"
#define MAP(rest) "{'kind':'ConfigMap','apiVersion':'v1'," META rest "}"
#define SECRET(rest) "{'kind':'Secret','apiVersion':'v1'," META rest "}"
#define ACCOUNT(rest) "{'kind':'ServiceAccount','apiVersion':'v1'," META rest "}"

#define BAD_KEY                                                                                          \
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " \
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
#define LOCKED "field is immutable when `immutable` is set"

/* An object with one value of `bytes` bytes; base64 of as many zero bytes when the field carries that. The
 * caller frees. */
static char *with_value(const char *before, size_t bytes, bool is_base64, const char *after)
{
    struct buf text = BUF_INIT(16 << 20);
    size_t len = is_base64 ? (bytes + 2) / 3 * 4 : bytes;

    buf_add_cstr(&text, before);
    char *value = buf_grow(&text, len);
    assert_non_null(value);
    memset(value, 'A', len);
    for (size_t i = 0; is_base64 && i < (3 - bytes % 3) % 3; i++)
        value[len - 1 - i] = '=';
    buf_add_cstr(&text, after);
    return buf_take(&text);
}

/* --- ConfigMap --- */

TEST(config_map_canonical_form)
{
    ASSERT_STORED(KIND_CONFIG_MAP,
                  MAP(",'immutable':false,'data':{'a':'','b':'2'},'binaryData':{'c':'AAE='}"),
                  MAP(",'binaryData':{'c':'AA\\nE='},'data':{'b':'2','a':null},'immutable':false"));
    ASSERT_STORED(KIND_CONFIG_MAP, MAP(""), MAP(",'data':{},'binaryData':{},'immutable':null"));
    /* a NUL character is data like any other */
    ASSERT_STORED(KIND_CONFIG_MAP, MAP(",'data':{'a':'x\\u0000y'}"), MAP(",'data':{'a':'x\\u0000y'}"));
}

TEST(config_map_wrong_types)
{
    ASSERT_STR("json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
               kind_text(KIND_CONFIG_MAP, MAP(",'data':{'a':1}")));
    ASSERT_STR("json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string",
               kind_text(KIND_CONFIG_MAP, MAP(",'data':[]")));
    ASSERT_STR("json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool",
               kind_text(KIND_CONFIG_MAP, MAP(",'immutable':'true'")));
    ASSERT_STR("illegal base64 data at input byte 1",
               kind_text(KIND_CONFIG_MAP, MAP(",'binaryData':{'a':'A*'}")));
}

TEST(apiserver_42_unknown_field_of_a_config_map)
{
    ASSERT_STR("unknown field \"bogus\"", kind_report(KIND_CONFIG_MAP, MAP(",'data':{'a':'b'},'bogus':1")));
    ASSERT_STR("duplicate field \"data.a\"", kind_report(KIND_CONFIG_MAP, MAP(",'data':{'a':'b','a':'c'}")));
}

TEST(config_map_rules)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { MAP(""), "" },
        { MAP(",'data':{'a.B-c_1':'x','.dot':'y'},'binaryData':{'z':''}"), "" },
        { MAP(",'data':{'a b':'x'}"), "data[a b]: Invalid value: \"a b\": " BAD_KEY },
        { MAP(",'data':{'':'x'}"), "data[]: Invalid value: \"\": " BAD_KEY },
        { MAP(",'data':{'..':'x','...c':'y'}"),
          "data[..]: Invalid value: \"..\": must not be '..'\n"
          "data[...c]: Invalid value: \"...c\": must not start with '..'" },
        { MAP(",'binaryData':{'a/b':''}"), "binaryData[a/b]: Invalid value: \"a/b\": " BAD_KEY },
        { MAP(",'data':{'a':'1','c':'1','d':'1'},'binaryData':{'b':'','c':'','d':''}"),
          "data[c]: Invalid value: \"c\": duplicate of key present in binaryData\n"
          "data[d]: Invalid value: \"d\": duplicate of key present in binaryData" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_CONFIG_MAP, rows[i].errors, rows[i].text);
}

TEST(apiserver_82_config_map_of_more_than_a_mebibyte)
{
    static const char too_long[] = "[]: Too long: may not be more than 1048576 bytes";
    _cleanup_(freep) char *fits = with_value("{" META ",'data':{'a':'", 1 << 20, false, "'}}");
    _cleanup_(freep) char *over = with_value("{" META ",'data':{'a':'", (1 << 20) + 1, false, "'}}");
    _cleanup_(freep) char *both =
        with_value("{" META ",'data':{'b':'x'},'binaryData':{'a':'", 1 << 20, true, "'}}");
    _cleanup_(freep) char *binary = with_value("{" META ",'binaryData':{'a':'", 1 << 20, true, "'}}");

    ASSERT_CREATE(KIND_CONFIG_MAP, "", fits);
    ASSERT_CREATE(KIND_CONFIG_MAP, "", binary);
    ASSERT_CREATE(KIND_CONFIG_MAP, too_long, over);
    ASSERT_CREATE(KIND_CONFIG_MAP, too_long, both);
}

TEST(config_map_updates)
{
    ASSERT_UPDATE(KIND_CONFIG_MAP, "", MAP(",'data':{'a':'1'}"), MAP(",'immutable':true,'data':{'a':'2'}"));
    ASSERT_UPDATE(KIND_CONFIG_MAP, "", MAP(",'immutable':false,'data':{'a':'1'}"), MAP(""));
    ASSERT_UPDATE(KIND_CONFIG_MAP, "", MAP(",'immutable':true,'data':{'a':'1'}"),
                  "{'metadata':{'name':'c','namespace':'ns','labels':{'a':'b'}},'immutable':true,"
                  "'data':{'a':'1'}}");
    ASSERT_UPDATE(KIND_CONFIG_MAP,
                  "immutable: Forbidden: " LOCKED "\ndata: Forbidden: " LOCKED
                  "\nbinaryData: Forbidden: " LOCKED,
                  MAP(",'immutable':true,'data':{'a':'1'}"),
                  MAP(",'immutable':false,'data':{'a':'2'},'binaryData':{'b':''}"));
    ASSERT_UPDATE(KIND_CONFIG_MAP, "immutable: Forbidden: " LOCKED, MAP(",'immutable':true"), MAP(""));
}

TEST(config_map_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_CONFIG_MAP, MAP(",'immutable':true,'data':{'d':'x\\u0000y','a':'','e':'text'},'"
                                         "binaryData':{'b':'AAEC','e':'AA=='}"));
    const struct config_map *c = CONTAINER_OF(o, struct config_map, obj);
    const struct config_entry *entry;

    assert_true(c->is_immutable);
    ASSERT_INT(4, c->data.count);
    ASSERT_STR("a", c->data.items[0].key);
    ASSERT_INT(0, c->data.items[0].bytes.len);
    entry = config_find(&c->data, "b");
    assert_ptr_equal(&c->data.items[1], entry);
    assert_true(str_eq(entry->bytes, STR_LIT("\0\1\2")));
    assert_true(str_eq(config_find(&c->data, "d")->bytes, STR_LIT("x\0y")));
    ASSERT_STR("text", config_find(&c->data, "e")->bytes.s); /* data wins, and ends with a NUL */
    assert_null(config_find(&c->data, "c"));
    assert_null(config_find(&c->data, ""));
    assert_null(object_field(o, "type"));
}

TEST(config_map_view_of_nothing)
{
    _cleanup_(object_unref_p) struct object *o = kind_object(KIND_CONFIG_MAP, MAP(""));
    const struct config_map *c = CONTAINER_OF(o, struct config_map, obj);

    assert_false(c->is_immutable);
    ASSERT_INT(0, c->data.count);
    assert_null(config_find(&c->data, "a"));
}

TEST(config_map_key_with_nul_is_refused)
{
    _cleanup_(json_done_p) struct json scratch;
    struct object *o = NULL;

    json_init(&scratch, 1 << 20);
    ASSERT_ERR(ERR_BAD_REQUEST, object_decode(&config_map_kind, str_of("{\"data\":{\"a\\u0000b\":\"\"}}"),
                                              &scratch, &o, &err));
    ASSERT_STR("data: a key must not contain a NUL character", err.msg);
    assert_null(o);
}

/* As many keys as fit a request: a walk that is not linear shows here as a test that does not end. */
TEST(config_map_of_very_many_keys)
{
    struct buf text = BUF_INIT(16 << 20);
    struct buf wide = BUF_INIT(16 << 20);

    buf_add_cstr(&text, "{" META ",'data':{");
    for (int i = 0; i < 100000; i++)
        buf_addf(&text, "%s'k%d':null", i ? "," : "", i);
    buf_add_cstr(&text, "},'binaryData':{");
    for (int i = 0; i < 100000; i++)
        buf_addf(&text, "%s'b%d':'AA=\\n='", i ? "," : "", i);
    buf_add_cstr(&text, "}}");
    ASSERT_CREATE(KIND_CONFIG_MAP, "", buf_cstr(&text));
    buf_done(&text);

    buf_add_cstr(&wide, "{" META ",'stringData':{");
    for (int i = 0; i < 100000; i++)
        buf_addf(&wide, "%s'k%d':'x'", i ? "," : "", i);
    buf_add_cstr(&wide, "},'data':{'a':''}}");
    _cleanup_(json_done_p) struct json d;
    json_ref v;
    json_init(&d, 16 << 20);
    ASSERT_OK(kind_read(KIND_SECRET, buf_cstr(&wide), &d, &v, NULL));
    secret_kind.prepare_create(&d, v, (struct timestamp){ 0 });
    ASSERT_OK(json_check(&d, &err));
    ASSERT_INT(100001, json_count(&d, json_get(&d, v, "data")));
    buf_done(&wide);
}

/* --- Secret --- */

/* The secret as it is stored: prepared as the server prepares it. old: NULL on creation. */
static const char *secret_stored(const char *old, const char *text)
{
    static struct buf out = { .len_max = 1 << 20 };
    _cleanup_(json_done_p) struct json d;
    json_ref v, before;

    json_init(&d, 1 << 20);
    ASSERT_OK(kind_read(KIND_SECRET, text, &d, &v, NULL));
    if (old) {
        ASSERT_OK(kind_read(KIND_SECRET, old, &d, &before, NULL));
        secret_kind.prepare_update(&d, v, before, WRITE_MAIN, (struct timestamp){ 0 });
    } else {
        secret_kind.prepare_create(&d, v, (struct timestamp){ 0 });
    }
    ASSERT_OK(schema_normalize(secret_kind.schema, &d, v, SCHEMA_KEEP_UNKNOWN, NULL, &err));
    buf_clear(&out);
    json_write(&d, v, &out);
    return buf_cstr(&out);
}

TEST(secret_defaults_and_canonical_form)
{
    ASSERT_STORED(KIND_SECRET, SECRET(",'type':'Opaque'"), SECRET(",'data':{},'stringData':{},'type':''"));
    ASSERT_STORED(KIND_SECRET, SECRET(",'immutable':true,'data':{'a':'AA==','b':''},'type':'my.io/type'"),
                  SECRET(",'type':'my.io/type','data':{'b':null,'a':'AA=='},'immutable':true"));
    ASSERT_STR("json: cannot unmarshal number into Go struct field Secret.type of type v1.SecretType",
               kind_text(KIND_SECRET, SECRET(",'type':1")));
    ASSERT_STR("json: cannot unmarshal number into Go struct field Secret.data of type []uint8",
               kind_text(KIND_SECRET, SECRET(",'data':{'a':1}")));
    ASSERT_STR("unknown field \"binaryData\"", kind_report(KIND_SECRET, SECRET(",'binaryData':{}")));
}

TEST(secret_string_data_becomes_data)
{
    static const struct {
        const char *text, *stored;
    } rows[] = {
        { SECRET(""), SECRET(",'type':'Opaque'") },
        { SECRET(",'stringData':{'a':'x'}"), SECRET(",'data':{'a':'eA=='},'type':'Opaque'") },
        { SECRET(",'stringData':{'a':null,'b':'x\\u0000y'}"),
          SECRET(",'data':{'a':'','b':'eAB5'},'type':'Opaque'") },
        /* in front of, between, over and behind what data has */
        { SECRET(",'data':{'b':'AA==','d':'AA==','f':'AA=='},'stringData':{'a':'x','c':'x','d':'x','g':'x'}"),
          SECRET(",'data':{'a':'eA==','b':'AA==','c':'eA==','d':'eA==','f':'AA==','g':'eA=='},"
                 "'type':'Opaque'") },
        { SECRET(",'data':{'x':'AA=='},'stringData':{'a':'x'}"),
          SECRET(",'data':{'a':'eA==','x':'AA=='},'type':'Opaque'") },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ASSERT_STR(kind_row(rows[i].stored), secret_stored(NULL, rows[i].text));
        ASSERT_STR(kind_row(rows[i].stored), secret_stored(SECRET(",'data':{'old':'AA=='}"), rows[i].text));
    }
}

#define DOCKER "'type':'kubernetes.io/dockerconfigjson'"
#define NO_JSON "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": "

TEST(secret_rules)
{
    static const struct {
        const char *text, *errors;
    } rows[] = {
        { SECRET(""), "" },
        { SECRET(",'type':'anything','data':{'a':'AA=='}"), "" },
        { SECRET(",'data':{'a b':'AA==','.':''}"),
          "data[.]: Invalid value: \".\": must not be '.'\ndata[a b]: Invalid value: \"a b\": " BAD_KEY },
        { SECRET(",'type':'kubernetes.io/service-account-token'"),
          "metadata.annotations[kubernetes.io/service-account.name]: Required value" },
        { "{'metadata':{'name':'c','namespace':'ns','annotations':{'kubernetes.io/"
          "service-account.name':'x'}},"
          "'type':'kubernetes.io/service-account-token'}",
          "" },
        { SECRET(",'type':'kubernetes.io/dockercfg'"), "data[.dockercfg]: Required value" },
        { SECRET(",'type':'kubernetes.io/dockercfg','data':{'.dockercfg':'e30='}"), "" },
        { SECRET("," DOCKER), "data[.dockerconfigjson]: Required value" },
        { SECRET("," DOCKER ",'data':{'.dockerconfigjson':'e30='}"), "" },     /* {} */
        { SECRET("," DOCKER ",'data':{'.dockerconfigjson':'bnVsbA=='}"), "" }, /* null */
        { SECRET("," DOCKER ",'data':{'.dockerconfigjson':''}"), NO_JSON "unexpected end of JSON input" },
        { SECRET("," DOCKER ",'data':{'.dockerconfigjson':'eyJwYXNzIjp4fQ=='}"), NO_JSON "invalid JSON" },
        { SECRET("," DOCKER ",'data':{'.dockerconfigjson':'W10='}"),
          NO_JSON "json: cannot unmarshal array into Go value of type map[string]interface {}" },
        { SECRET(",'type':'kubernetes.io/basic-auth'"),
          "data[username]: Required value\ndata[password]: Required value" },
        { SECRET(",'type':'kubernetes.io/basic-auth','data':{'username':''}"), "" },
        { SECRET(",'type':'kubernetes.io/basic-auth','data':{'password':'AA=='}"), "" },
        { SECRET(",'type':'kubernetes.io/ssh-auth'"), "data[ssh-privatekey]: Required value" },
        { SECRET(",'type':'kubernetes.io/ssh-auth','data':{'ssh-privatekey':''}"),
          "data[ssh-privatekey]: Required value" },
        { SECRET(",'type':'kubernetes.io/ssh-auth','data':{'ssh-privatekey':'AA=='}"), "" },
        { SECRET(",'type':'kubernetes.io/tls'"),
          "data[tls.crt]: Required value\ndata[tls.key]: Required value" },
        { SECRET(",'type':'kubernetes.io/tls','data':{'tls.crt':''}"), "data[tls.key]: Required value" },
        { SECRET(",'type':'kubernetes.io/tls','data':{'tls.crt':'','tls.key':''}"), "" },
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        ASSERT_CREATE(KIND_SECRET, rows[i].errors, rows[i].text);
}

TEST(secret_of_more_than_a_mebibyte)
{
    for (size_t more = 0; more < 4; more++) {
        _cleanup_(freep) char *text =
            with_value("{" META ",'data':{'a':'", ((size_t)1 << 20) - 2 + more, true, "'}}");
        ASSERT_CREATE(KIND_SECRET, more > 2 ? "data: Too long: may not be more than 1048576 bytes" : "",
                      text);
    }
}

TEST(secret_updates)
{
    ASSERT_UPDATE(KIND_SECRET, "", SECRET(",'data':{'a':'AA=='}"), SECRET(",'immutable':true"));
    ASSERT_UPDATE(KIND_SECRET, "type: Invalid value: \"Opaque\": field is immutable", SECRET(",'type':'x'"),
                  SECRET(""));
    ASSERT_UPDATE(KIND_SECRET, "", SECRET(",'type':'x'"), SECRET(",'type':'x','data':{'a':''}"));
    ASSERT_UPDATE(KIND_SECRET, "immutable: Forbidden: " LOCKED "\ndata: Forbidden: " LOCKED,
                  SECRET(",'immutable':true"), SECRET(",'data':{'a':'AA=='}"));
    ASSERT_UPDATE(KIND_SECRET, "", SECRET(",'immutable':true,'data':{'a':'AA=='}"),
                  SECRET(",'immutable':true,'data':{'a':'AA=='}"));
}

TEST(secret_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_SECRET, SECRET(",'immutable':true,'type':'my.io/t','data':{'b':'eAB5','a':''}"));
    const struct secret *s = CONTAINER_OF(o, struct secret, obj);

    ASSERT_STR("my.io/t", s->type);
    assert_true(s->is_immutable);
    ASSERT_INT(2, s->data.count);
    ASSERT_STR("a", s->data.items[0].key);
    ASSERT_STR("", s->data.items[0].bytes.s);
    assert_true(str_eq(s->data.items[1].bytes, STR_LIT("x\0y")));
    ASSERT_STR("my.io/t", object_field(o, "type"));
    assert_null(object_field(o, "data"));
}

/* --- ServiceAccount --- */

TEST(service_account_canonical_form)
{
    ASSERT_STORED(KIND_SERVICE_ACCOUNT,
                  ACCOUNT(",'secrets':[{'name':'s'}],'imagePullSecrets':[{'name':'p'},{}],"
                          "'automountServiceAccountToken':false"),
                  ACCOUNT(",'automountServiceAccountToken':false,'imagePullSecrets':[{'name':'p'},null],"
                          "'secrets':[{'name':'s'}]"));
    ASSERT_STORED(KIND_SERVICE_ACCOUNT, ACCOUNT(""), ACCOUNT(",'secrets':[],'imagePullSecrets':null"));
    ASSERT_STR("json: cannot unmarshal string into Go struct field ServiceAccount.secrets of type "
               "v1.ObjectReference",
               kind_text(KIND_SERVICE_ACCOUNT, ACCOUNT(",'secrets':['s']")));
    ASSERT_STR("unknown field \"imagePullSecrets[0].namespace\"",
               kind_report(KIND_SERVICE_ACCOUNT, ACCOUNT(",'imagePullSecrets':[{'namespace':'x'}]")));
}

TEST(service_account_rules)
{
    ASSERT_CREATE(KIND_SERVICE_ACCOUNT, "", ACCOUNT(",'secrets':[{'name':'s'},{'name':'s'}]"));
    ASSERT_UPDATE(KIND_SERVICE_ACCOUNT, "", ACCOUNT(",'secrets':[{'name':'s'}]"), ACCOUNT(""));
    ASSERT_CREATE(KIND_SERVICE_ACCOUNT, "metadata.namespace: Required value",
                  "{'metadata':{'name':'default'}}");
}

TEST(service_account_view)
{
    _cleanup_(object_unref_p) struct object *o =
        kind_object(KIND_SERVICE_ACCOUNT, ACCOUNT(",'secrets':[{'name':'s'},{'kind':'Secret'}],"
                                                  "'imagePullSecrets':[{'name':'p'}],"
                                                  "'automountServiceAccountToken':false"));
    _cleanup_(object_unref_p) struct object *plain = kind_object(KIND_SERVICE_ACCOUNT, ACCOUNT(""));
    const struct service_account *s = CONTAINER_OF(o, struct service_account, obj);

    ASSERT_INT(2, s->secrets.count);
    ASSERT_STR("s", s->secrets.items[0]);
    ASSERT_STR("", s->secrets.items[1]);
    ASSERT_INT(1, s->image_pull_secrets.count);
    ASSERT_STR("p", s->image_pull_secrets.items[0]);
    assert_false(s->automounts_token);
    assert_true(CONTAINER_OF(plain, struct service_account, obj)->automounts_token);
}

TEST(config_kinds_answer_to_their_words)
{
    assert_ptr_equal(&config_map_kind, kind_by_word(STR_LIT("cm")));
    assert_ptr_equal(&secret_kind, kind_by_word(STR_LIT("Secret")));
    assert_ptr_equal(&service_account_kind, kind_by_word(STR_LIT("sa")));
}

TEST_MAIN()
