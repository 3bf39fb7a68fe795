/* The kinds ConfigMap, Secret and ServiceAccount: schemas, validation and decoding.
 *
 * The values of one object may have CONFIG_BYTES_MAX bytes together. Errors about a Secret name keys but
 * never show a value, also not those of the JSON parser. */
#include "api/config.h"

#include <stdlib.h>
#include <string.h>

#include "api/base64.h"
#include "api/defaults.h"
#include "api/meta.h"
#include "api/validate.h"

/* Limit for all values of one object together, decoded. */
#define CONFIG_BYTES_MAX ((size_t)1 << 20)

static const char immutable_detail[] = "field is immutable when `immutable` is set";

/* --- Rules that ConfigMap and Secret share. Maps are in canonical form: sorted by key. --- */

static size_t base64_bytes(struct str text)
{
    size_t padding = str_has_suffix(text, "==") ? 2 : str_has_suffix(text, "=") ? 1 : 0;

    return text.len / 4 * 3 - padding;
}

static void config_validate_key(struct validation *v, const struct field_path *p, struct str key)
{
    struct field_path at = path_key(p, key);

    validate_name(v, &at, NAME_CONFIG_KEY, key);
}

/* Validates the keys of a map of base64 texts; returns the decoded size. */
static size_t config_validate_bytes(struct validation *v, const struct field_path *p, json_ref map)
{
    size_t bytes = 0;

    for (json_ref m = json_first(v->d, map); m; m = json_next(v->d, m)) {
        config_validate_key(v, p, json_key(v->d, m));
        bytes += base64_bytes(json_text(v->d, m));
    }
    return bytes;
}

/* If `immutable` is set, it and the listed members must not change. */
static void config_validate_immutable(struct validation *v, const char *const *keys)
{
    struct field_path immutable_at = path_child(NULL, "immutable");

    if (json_type(v->d, json_get(v->d, v->old, "immutable")) != JSON_TRUE)
        return;
    if (json_type(v->d, json_get(v->d, v->object, "immutable")) != JSON_TRUE)
        errors_forbidden(v->errors, &immutable_at, immutable_detail);
    for (; *keys; keys++) {
        struct field_path at = path_child(NULL, *keys);
        if (!json_equal(v->d, json_get(v->d, v->object, *keys), json_get(v->d, v->old, *keys)))
            errors_forbidden(v->errors, &at, immutable_detail);
    }
}

/* --- Entries --- */

static int entry_cmp(const void *key, const void *entry)
{
    return strcmp(key, ((const struct config_entry *)entry)->key);
}

const struct config_entry *config_find(const struct config_entries *entries, const char *key)
{
    return entries->count ? bsearch(key, entries->items, entries->count, sizeof *entries->items, entry_cmp)
                          : NULL;
}

/* The bytes of a value; scratch is used for base64. */
static struct str decode_bytes(struct decoder *dec, struct str text, bool is_base64, struct buf *scratch)
{
    const char *copy;

    if (dec->r == 0 && is_base64) {
        buf_clear(scratch);
        dec->r = base64_decode(text, scratch, dec->err);
        text = buf_str(scratch);
    }
    copy = dec->r == 0 ? arena_dup(dec->arena, text) : NULL;
    if (!copy && dec->r == 0)
        dec->r = arena_check(dec->arena, dec->err);
    return copy ? (struct str){ copy, text.len } : STR_LIT("");
}

/* Merges two sorted maps, each of which may be 0, into one sorted array. */
static struct config_entries decode_entries(struct decoder *dec, json_ref texts, json_ref base64)
{
    _cleanup_(buf_done_p) struct buf scratch = BUF_INIT(OBJECT_TEXT_BYTES_MAX);
    uint32_t count = json_count(dec->d, texts) + json_count(dec->d, base64), n = 0;
    json_ref t = json_first(dec->d, texts), b = json_first(dec->d, base64);
    struct config_entry *items = decode_room(dec, count, sizeof *items);

    while (items && (t || b)) {
        int order = !t ? 1 : !b ? -1 : str_cmp(json_key(dec->d, t), json_key(dec->d, b));
        json_ref m = order <= 0 ? t : b;
        items[n].key = decode_key(dec, m);
        items[n++].bytes = decode_bytes(dec, json_text(dec->d, m), /* is_base64= */ order > 0, &scratch);
        t = order <= 0 ? json_next(dec->d, t) : t;
        b = order >= 0 ? json_next(dec->d, b) : b;
    }
    return (struct config_entries){ items, n };
}

/* --- ConfigMap --- */

static const struct field config_map_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "immutable", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
    { "data", FIELD_MAP, .item = FIELD_STRING, .number = 2 },
    { "binaryData", FIELD_MAP, .item = FIELD_BYTES, .number = 3 },
};
static const struct schema config_map_schema = SCHEMA("ConfigMap", config_map_fields);

static void config_map_validate(struct validation *v)
{
    struct field_path data_at = path_child(NULL, "data"), binary_at = path_child(NULL, "binaryData");
    struct field_path whole_at = path_key(NULL, STR_LIT("")); /* the total size belongs to no field: "[]" */
    json_ref binary = json_get(v->d, v->object, "binaryData"), b = json_first(v->d, binary);
    size_t bytes = 0;

    for (json_ref m = json_first(v->d, json_get(v->d, v->object, "data")); m; m = json_next(v->d, m)) {
        struct str key = json_key(v->d, m);
        struct field_path at = path_key(&data_at, key);
        config_validate_key(v, &data_at, key);
        while (b && str_cmp(json_key(v->d, b), key) < 0)
            b = json_next(v->d, b);
        if (b && str_eq(json_key(v->d, b), key))
            errors_invalid(v->errors, &at, show_text(v->errors, key),
                           "duplicate of key present in binaryData");
        bytes += json_text(v->d, m).len;
    }
    bytes += config_validate_bytes(v, &binary_at, binary);
    validate_bytes_max(v, &whole_at, bytes, CONFIG_BYTES_MAX);
}

static void config_map_validate_update(struct validation *v)
{
    config_validate_immutable(v, (const char *const[]){ "data", "binaryData", NULL });
}

static void config_map_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct config_map *c = CONTAINER_OF(o, struct config_map, obj);

    c->data = decode_entries(dec, json_get(dec->d, object, "data"), json_get(dec->d, object, "binaryData"));
    c->is_immutable = decode_bool(dec, object, "immutable", false);
}

const struct kind_info config_map_kind = {
    .kind = KIND_CONFIG_MAP,
    .name = "ConfigMap",
    .group = "",
    .version = "v1",
    .plural = "configmaps",
    .short_names = (const char *const[]){ "cm", NULL },
    .is_namespaced = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &config_map_schema,
    .view_bytes = sizeof(struct config_map),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = config_map_validate,
    .validate_update = config_map_validate_update,
    .decode = config_map_decode,
};

/* --- Secret --- */

static const struct field secret_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "immutable", FIELD_BOOL, .flags = FIELD_POINTER, .number = 5 },
    { "data", FIELD_MAP, .item = FIELD_BYTES, .number = 2 },
    { "stringData", FIELD_MAP, .item = FIELD_STRING,
      .number = 4 }, /* write-only: see secret_merge_strings() */
    { "type", FIELD_STRING, .go_type = "v1.SecretType", .number = 3 },
};
static const struct schema secret_schema = SCHEMA("Secret", secret_fields);

static void secret_set_defaults(struct json *d, json_ref object)
{
    default_text(d, object, "type", SECRET_TYPE_OPAQUE);
}

static json_ref json_new_base64(struct json *d, struct str bytes)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(d->bytes_max * 2);

    base64_encode(bytes, &text);
    if (!text.failed)
        return json_new_string(d, buf_str(&text));
    d->failed = d->failed ? d->failed : text.failed; /* without the value the object must not be stored */
    return 0;
}

/* Moves stringData, which is not in base64, to data, where it takes precedence. Both maps are sorted: one
 * pass. */
static void secret_merge_strings(struct json *d, json_ref object)
{
    json_ref strings = json_get(d, object, "stringData"), merged;
    json_ref b = json_first(d, json_get(d, object, "data")), s = json_first(d, strings);

    if (!strings)
        return;
    merged = json_new_object(d);
    while ((b || s) && !d->failed) {
        int order = !s ? -1 : !b ? 1 : str_cmp(json_key(d, b), json_key(d, s));
        struct str key = json_key(d, order < 0 ? b : s);
        json_ref value = order < 0 ? json_copy(d, b) : json_new_base64(d, json_text(d, s));
        json_add_member(d, merged, key, value);
        b = order <= 0 ? json_next(d, b) : b;
        s = order >= 0 ? json_next(d, s) : s;
    }
    json_set(d, object, "data", merged);
    (void)json_remove(d, object, "stringData"); /* it is merged */
}

static void secret_prepare_create(struct json *d, json_ref object, struct timestamp now)
{
    (void)now;
    secret_merge_strings(d, object);
}

static void secret_prepare_update(struct json *d, json_ref object, json_ref old, enum write_part part,
                                  struct timestamp now)
{
    (void)old;
    (void)part;
    (void)now;
    secret_merge_strings(d, object);
}

/* Why the text is not a JSON object; NULL if it is. The parser's own messages are not used, because they
 * contain parts of the secret. */
static const char *json_map_problem(struct field_errors *e, struct str text)
{
    _cleanup_(json_done_p) struct json d;
    struct error ignored;
    json_ref root;

    json_init(&d, CONFIG_BYTES_MAX);
    if (str_trim(text).len == 0)
        return "unexpected end of JSON input";
    if (json_parse(&d, text, &root, &ignored) < 0)
        return "invalid JSON";
    if (json_type(&d, root) == JSON_OBJECT || json_type(&d, root) == JSON_NULL)
        return NULL;
    return errors_printf(e, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
                         json_type_name(json_type(&d, root)));
}

static void secret_require(struct validation *v, const struct field_path *p, json_ref data, const char *key)
{
    struct field_path at = path_key(p, str_of(key));

    if (!json_get(v->d, data, key))
        errors_required(v->errors, &at, "");
}

static void secret_validate_docker(struct validation *v, const struct field_path *p, json_ref data,
                                   const char *key)
{
    _cleanup_(buf_done_p) struct buf bytes = BUF_INIT(CONFIG_BYTES_MAX);
    struct field_path at = path_key(p, str_of(key));
    json_ref value = json_get(v->d, data, key);
    struct error ignored; /* canonical form has valid base64; a too long text is reported separately */
    const char *problem;

    if (!value) {
        errors_required(v->errors, &at, "");
    } else if (base64_decode(json_text(v->d, value), &bytes, &ignored) == 0) {
        problem = json_map_problem(v->errors, buf_str(&bytes));
        if (problem)
            errors_invalid(v->errors, &at, "\"<secret contents redacted>\"", problem);
    }
}

/* The required keys of the built-in secret types. Other types are not checked. */
static void secret_validate_type(struct validation *v, const struct field_path *p, json_ref data)
{
    struct str type = json_get_text(v->d, v->object, "type");

    if (str_is(type, SECRET_TYPE_SERVICE_ACCOUNT_TOKEN)) {
        struct field_path meta_at = path_child(NULL, "metadata"),
                          annotations_at = path_child(&meta_at, "annotations");
        struct field_path at = path_key(&annotations_at, STR_LIT(ANN_SERVICE_ACCOUNT_NAME));
        json_ref annotations = json_path(v->d, v->object, "metadata", "annotations");
        if (json_get_text(v->d, annotations, ANN_SERVICE_ACCOUNT_NAME).len == 0)
            errors_required(v->errors, &at, "");
    } else if (str_is(type, SECRET_TYPE_DOCKERCFG)) {
        secret_validate_docker(v, p, data, ".dockercfg");
    } else if (str_is(type, SECRET_TYPE_DOCKER_CONFIG_JSON)) {
        secret_validate_docker(v, p, data, ".dockerconfigjson");
    } else if (str_is(type, SECRET_TYPE_BASIC_AUTH)) {
        if (!json_get(v->d, data, "username") && !json_get(v->d, data, "password")) {
            secret_require(v, p, data, "username");
            secret_require(v, p, data, "password");
        }
    } else if (str_is(type, SECRET_TYPE_SSH_AUTH)) {
        if (json_get_text(v->d, data, "ssh-privatekey").len == 0)
            secret_require(v, p, /* data= */ 0, "ssh-privatekey"); /* an empty key counts as missing */
    } else if (str_is(type, SECRET_TYPE_TLS)) {
        secret_require(v, p, data, "tls.crt");
        secret_require(v, p, data, "tls.key");
    }
}

static void secret_validate(struct validation *v)
{
    struct field_path data_at = path_child(NULL, "data");
    json_ref data = json_get(v->d, v->object, "data");

    validate_bytes_max(v, &data_at, config_validate_bytes(v, &data_at, data), CONFIG_BYTES_MAX);
    secret_validate_type(v, &data_at, data);
}

static void secret_validate_update(struct validation *v)
{
    struct field_path type_at = path_child(NULL, "type");

    validate_immutable(v, &type_at, json_get(v->d, v->object, "type"), json_get(v->d, v->old, "type"));
    config_validate_immutable(v, (const char *const[]){ "data", NULL });
}

static void secret_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct secret *s = CONTAINER_OF(o, struct secret, obj);

    s->type = decode_text(dec, object, "type");
    s->data = decode_entries(dec, /* texts= */ 0, json_get(dec->d, object, "data"));
    s->is_immutable = decode_bool(dec, object, "immutable", false);
}

static const char *secret_select_type(const struct object *o)
{
    const struct secret *s = (const void *)o; /* the object is the secret's first member */

    return s->type;
}

const struct kind_info secret_kind = {
    .kind = KIND_SECRET,
    .name = "Secret",
    .group = "",
    .version = "v1",
    .plural = "secrets",
    .is_namespaced = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &secret_schema,
    .view_bytes = sizeof(struct secret),
    .set_defaults = secret_set_defaults,
    .prepare_create = secret_prepare_create,
    .prepare_update = secret_prepare_update,
    .validate = secret_validate,
    .validate_update = secret_validate_update,
    .decode = secret_decode,
    .selectable = (const struct selectable[]){ { "type", secret_select_type }, { 0 } },
};

/* --- ServiceAccount --- */

static const struct field service_account_fields[] = {
    SCHEMA_OBJECT_FIELDS,
    { "secrets", LIST_OF(object_reference_schema), .merge_key = "name", .number = 2 },
    { "imagePullSecrets", LIST_OF(local_object_reference_schema), .number = 3 },
    { "automountServiceAccountToken", FIELD_BOOL, .flags = FIELD_POINTER, .number = 4 },
};
static const struct schema service_account_schema = SCHEMA("ServiceAccount", service_account_fields);

static void service_account_decode(struct decoder *dec, json_ref object, struct object *o)
{
    struct service_account *s = CONTAINER_OF(o, struct service_account, obj);

    s->secrets = decode_member_texts(dec, object, "secrets", "name");
    s->image_pull_secrets = decode_member_texts(dec, object, "imagePullSecrets", "name");
    s->automounts_token = decode_bool(dec, object, "automountServiceAccountToken", true);
}

const struct kind_info service_account_kind = {
    .kind = KIND_SERVICE_ACCOUNT,
    .name = "ServiceAccount",
    .group = "",
    .version = "v1",
    .plural = "serviceaccounts",
    .short_names = (const char *const[]){ "sa", NULL },
    .is_namespaced = true,
    .flags = KIND_UPDATES_UNCONDITIONALLY | KIND_DELETE_ANSWERS_OBJECT,
    .name_rule = NAME_DNS_SUBDOMAIN,
    .schema = &service_account_schema,
    .view_bytes = sizeof(struct service_account),
    .set_defaults = default_nothing,
    .prepare_create = prepare_create_nothing,
    .prepare_update = prepare_update_nothing,
    .validate = validate_nothing,
    .validate_update = validate_nothing,
    .decode = service_account_decode,
};
