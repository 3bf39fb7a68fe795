#include "api/object.h"

#include <assert.h>
#include <string.h>

#include "api/quote.h"

/* --- Decoding helpers --- */

/* what: "" for the value at v, else what about it. */
static void decode_fail_nul(struct decoder *dec, json_ref v, const char *what)
{
    _cleanup_(buf_done_p) struct buf path = BUF_INIT(ERROR_MSG_BYTES_MAX);

    json_path_text(dec->d, v, &path);
    dec->r =
        error_set(dec->err, ERR_BAD_REQUEST, "%s: %smust not contain a NUL character", buf_cstr(&path), what);
}

/* A copy of a text at v, "" when that fails. */
static const char *decode_copy(struct decoder *dec, json_ref v, struct str text, const char *what)
{
    const char *copy;

    if (dec->r < 0 || text.len == 0)
        return "";
    if (memchr(text.s, '\0', text.len)) {
        decode_fail_nul(dec, v, what);
        return "";
    }
    copy = arena_dup(dec->arena, text);
    if (copy)
        return copy;
    dec->r = arena_check(dec->arena, dec->err);
    return "";
}

const char *decode_text(struct decoder *dec, json_ref object, const char *key)
{
    json_ref v = json_get(dec->d, object, key);

    return decode_copy(dec, v, json_type(dec->d, v) == JSON_STRING ? json_text(dec->d, v) : STR_LIT(""), "");
}

const char *decode_key(struct decoder *dec, json_ref member)
{
    return decode_copy(dec, json_parent(dec->d, member), json_key(dec->d, member), "a key ");
}

bool decode_bool(struct decoder *dec, json_ref object, const char *key, bool fallback)
{
    enum json_type type = json_type(dec->d, json_get(dec->d, object, key));

    return type == JSON_TRUE ? true : type == JSON_FALSE ? false : fallback;
}

int64_t decode_int(struct decoder *dec, json_ref object, const char *key, int64_t fallback)
{
    int64_t value;

    return json_int64(dec->d, json_get(dec->d, object, key), &value) ? value : fallback;
}

bool decode_time(struct decoder *dec, json_ref object, const char *key, struct timestamp *ret)
{
    json_ref v = json_get(dec->d, object, key);
    struct timestamp t;
    int r;

    if (dec->r < 0 || json_type(dec->d, v) != JSON_STRING)
        return false;
    r = timestamp_parse(json_text(dec->d, v), &t, dec->err);
    if (r < 0) {
        dec->r = error_wrap(dec->err, "%s", key);
        return false;
    }
    *ret = t;
    return true;
}

bool decode_quantity(struct decoder *dec, json_ref object, const char *key, struct quantity *ret)
{
    json_ref v = json_get(dec->d, object, key);
    struct quantity q;

    if (dec->r < 0 || json_type(dec->d, v) != JSON_STRING)
        return false;
    dec->r = quantity_parse(json_text(dec->d, v), &q, dec->err);
    if (dec->r < 0)
        return false;
    *ret = q;
    return true;
}

void *decode_room(struct decoder *dec, uint32_t count, size_t item_bytes)
{
    void *room = dec->r == 0 && count ? arena_array(dec->arena, count, item_bytes) : NULL;

    if (!room && dec->r == 0 && count)
        dec->r = arena_check(dec->arena, dec->err);
    return room;
}

void *decode_items(struct decoder *dec, json_ref array, size_t item_bytes, uint32_t *ret_count)
{
    uint32_t count = json_count(dec->d, array);
    void *items = decode_room(dec, count, item_bytes);

    *ret_count = items ? count : 0;
    return items;
}

void *decode_new(struct decoder *dec, json_ref member, size_t bytes)
{
    return decode_room(dec, member ? 1 : 0, bytes);
}

struct texts decode_texts(struct decoder *dec, json_ref object, const char *key)
{
    json_ref array = json_get(dec->d, object, key);
    uint32_t count, n = 0;
    const char **items = decode_items(dec, array, sizeof *items, &count);

    for (json_ref v = items ? json_first(dec->d, array) : 0; v; v = json_next(dec->d, v))
        items[n++] = decode_copy(dec, v, json_text(dec->d, v), "");
    assert(n == count);
    return (struct texts){ items, count };
}

struct texts decode_member_texts(struct decoder *dec, json_ref object, const char *key, const char *member)
{
    json_ref array = json_get(dec->d, object, key);
    uint32_t count, n = 0;
    const char **items = decode_items(dec, array, sizeof *items, &count);

    for (json_ref v = items ? json_first(dec->d, array) : 0; v; v = json_next(dec->d, v))
        items[n++] = decode_text(dec, v, member);
    return (struct texts){ items, count };
}

static struct kvs decode_map_but(struct decoder *dec, json_ref object, const char *key, const char *but)
{
    json_ref map = json_get(dec->d, object, key);
    uint32_t count, n = 0;
    struct kv *items = decode_items(dec, map, sizeof *items, &count);

    for (json_ref v = items ? json_first(dec->d, map) : 0; v; v = json_next(dec->d, v)) {
        if (but && str_is(json_key(dec->d, v), but))
            continue;
        items[n].key = decode_key(dec, v);
        items[n].value = decode_copy(dec, v, json_text(dec->d, v), "");
        n++;
    }
    return (struct kvs){ items, n };
}

struct kvs decode_map(struct decoder *dec, json_ref object, const char *key)
{
    return decode_map_but(dec, object, key, NULL);
}

int name_index(struct str name, const char *const *names, int count, int fallback)
{
    for (int i = 0; i < count; i++)
        if (str_is(name, names[i]))
            return i;
    return fallback;
}

int decode_enum(struct decoder *dec, json_ref object, const char *key, const char *const *names, int count,
                int fallback)
{
    return name_index(json_get_text(dec->d, object, key), names, count, fallback);
}

/* --- Metadata --- */

static const struct owner *decode_owners(struct decoder *dec, json_ref meta, uint32_t *ret_count)
{
    json_ref array = json_get(dec->d, meta, "ownerReferences");
    struct owner *owners = decode_items(dec, array, sizeof *owners, ret_count);
    uint32_t n = 0;

    for (json_ref v = owners ? json_first(dec->d, array) : 0; v; v = json_next(dec->d, v)) {
        owners[n++] = (struct owner){
            .api_version = decode_text(dec, v, "apiVersion"),
            .kind = decode_text(dec, v, "kind"),
            .name = decode_text(dec, v, "name"),
            .uid = decode_text(dec, v, "uid"),
            .is_controller = decode_bool(dec, v, "controller", false),
            .blocks_deletion = decode_bool(dec, v, "blockOwnerDeletion", false),
        };
    }
    return owners;
}

static void decode_meta(struct decoder *dec, json_ref meta, struct object *o)
{
    struct str revision = json_get_text(dec->d, meta, "resourceVersion");

    o->name = decode_text(dec, meta, "name");
    o->ns = decode_text(dec, meta, "namespace");
    o->uid = decode_text(dec, meta, "uid");
    o->generate_name = decode_text(dec, meta, "generateName");
    if (revision.len && !str_to_int64(revision, &o->revision))
        o->revision = -1;
    o->generation = decode_int(dec, meta, "generation", 0);
    (void)decode_time(dec, meta, "creationTimestamp", &o->created); /* absent until the server sets it */
    o->is_deleting = decode_time(dec, meta, "deletionTimestamp", &o->deleted);
    o->deletion_grace_seconds = decode_int(dec, meta, "deletionGracePeriodSeconds", -1);
    o->labels = decode_map(dec, meta, "labels");
    o->annotations = decode_map_but(dec, meta, "annotations", LAST_APPLIED_ANNOTATION);
    o->finalizers = decode_texts(dec, meta, "finalizers");
    o->owners = decode_owners(dec, meta, &o->owners_count);
}

/* --- Objects --- */

/* Decodes into an arena of which `bytes` are reserved at once. */
static int object_build(const struct kind_info *k, const struct json *d, json_ref v, struct str text,
                        size_t bytes, struct object **ret, struct error *err)
{
    struct arena a = ARENA_INIT(OBJECT_MEMORY_BYTES_MAX);
    struct object *o;
    char *copy;

    assert(k->view_bytes >= sizeof *o);
    arena_reserve(&a, bytes);
    o = arena_alloc(&a, k->view_bytes);
    copy = arena_dup(&a, text);
    if (!o || !copy) {
        int r = arena_check(&a, err);
        arena_done(&a);
        return r;
    }
    refcount_init(&o->refs);
    o->kind = k;
    o->text = (struct str){ copy, text.len };
    struct decoder decoder = { .d = d, .arena = &a, .err = err };
    decode_meta(&decoder, json_get(d, v, "metadata"), o);
    k->decode(&decoder, v, o);
    o->arena = a;
    if (decoder.r < 0) {
        (void)object_unref(o);
        return decoder.r;
    }
    *ret = o;
    return 0;
}

/* True when the object fills its one block but for a little. */
static bool object_is_snug(const struct object *o, size_t reserved)
{
    size_t packed = arena_packed_bytes(&o->arena);

    return packed <= reserved && reserved - packed <= packed / 16;
}

/* Objects are kept by the hundred thousand, and how much a view takes is known only when it is made. So it is
 * made to the measure of the one before, and once more, to its own, when that does not fit: in a stream of
 * like objects seldom. */
static int object_make(const struct kind_info *k, struct json *d, json_ref v, struct str text,
                       struct object **ret, struct error *err)
{
    struct object *o = NULL;
    size_t fixed = k->view_bytes + text.len;
    size_t bytes = fixed + (d->view_hint ? d->view_hint : text.len);
    int r = object_build(k, d, v, text, bytes, &o, err);

    if (r < 0)
        return r;
    if (!object_is_snug(o, bytes)) {
        bytes = arena_packed_bytes(&o->arena);
        (void)object_unref(o);
        r = object_build(k, d, v, text, bytes, &o, err);
    }
    if (r < 0)
        return r;
    d->view_hint = arena_packed_bytes(&o->arena) - fixed;
    *ret = o;
    return 0;
}

int object_new(const struct kind_info *k, struct json *d, json_ref v, struct object **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(OBJECT_TEXT_BYTES_MAX);
    int r;

    json_write(d, v, &text);
    r = buf_check(&text, k->name, err);
    return r < 0 ? r : object_make(k, d, v, buf_str(&text), ret, err);
}

static int object_decode_tree(const struct kind_info *k, struct json *d, json_ref v, struct object **ret,
                              struct error *err)
{
    int r = schema_normalize(k->schema, d, v, SCHEMA_KEEP_UNKNOWN, /* report= */ NULL, err);

    if (r < 0)
        return error_wrap(err, "%s in version \"%s\" cannot be handled as a %s", k->name, k->version,
                          k->name);
    return object_new(k, d, v, ret, err);
}

int object_decode(const struct kind_info *k, struct str text, struct json *scratch, struct object **ret,
                  struct error *err)
{
    json_ref v;
    int r;

    json_clear(scratch);
    r = json_parse(scratch, text, &v, err);
    return r < 0 ? r : object_decode_tree(k, scratch, v, ret, err);
}

int object_decode_stored(const struct kind_info *k, struct str text, struct json *scratch,
                         struct object **ret, struct error *err)
{
    json_ref v;
    int r;

    json_clear(scratch);
    r = json_parse(scratch, text, &v, err);
    return r < 0 ? r : object_make(k, scratch, v, text, ret, err);
}

static int object_refuse_kind(struct str api_version, struct str name, struct error *err)
{
    char kind[ERROR_MSG_BYTES_MAX / 2], version[ERROR_MSG_BYTES_MAX / 2];

    return error_set(err, ERR_UNSUPPORTED, "no kind %s is known in version %s",
                     quote_text(kind, sizeof kind, name), quote_text(version, sizeof version, api_version));
}

int object_decode_any(struct str text, struct json *scratch, struct object **ret, struct error *err)
{
    const struct kind_info *k;
    struct str api_version, name;
    json_ref v;
    int r;

    json_clear(scratch);
    r = json_parse(scratch, text, &v, err);
    if (r < 0)
        return r;
    api_version = json_get_text(scratch, v, "apiVersion");
    name = json_get_text(scratch, v, "kind");
    if (name.len == 0)
        return error_set(
            err, ERR_BAD_REQUEST,
            "kind: Required value: must name the kind of the object, for example PersistentVolume");
    k = kind_by_api_version(api_version, name);
    if (!k)
        return object_refuse_kind(api_version, name, err);
    return object_decode_tree(k, scratch, v, ret, err);
}

struct object *object_ref(const struct object *o)
{
    union {
        const struct object *in;
        struct object *out;
    } shared = { o }; /* the count is the one thing about a published object that changes */

    refcount_inc(&shared.out->refs);
    return shared.out;
}

struct object *object_unref(struct object *o)
{
    if (o && refcount_dec(&o->refs)) {
        struct arena a = o->arena; /* the object lives in it */
        arena_done(&a);
    }
    return NULL;
}

const char *object_annotation(const struct object *o, const char *key)
{
    return kv_get(o->annotations.items, o->annotations.count, key);
}

bool object_annotation_is(const struct object *o, const char *key, const char *value)
{
    const char *found = object_annotation(o, key);

    return found && strcmp(found, value) == 0;
}

const char *object_label(const struct object *o, const char *key)
{
    return kv_get(o->labels.items, o->labels.count, key);
}

bool texts_have(const struct texts *texts, const char *text)
{
    for (uint32_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0)
            return true;
    return false;
}

bool object_has_finalizer(const struct object *o, const char *finalizer)
{
    return texts_have(&o->finalizers, finalizer);
}

const struct owner *object_controller(const struct object *o)
{
    for (uint32_t i = 0; i < o->owners_count; i++)
        if (o->owners[i].is_controller)
            return &o->owners[i];
    return NULL;
}

const char *object_field(const struct object *o, const char *field)
{
    if (strcmp(field, "metadata.name") == 0)
        return o->name;
    if (strcmp(field, "metadata.namespace") == 0 && o->kind->kind != KIND_NODE &&
        o->kind->kind != KIND_NAMESPACE)
        return o->ns;
    for (const struct selectable *s = o->kind->selectable; s && s->name; s++)
        if (strcmp(field, s->name) == 0)
            return s->get(o);
    return NULL;
}

void object_key(const struct object *o, struct buf *out)
{
    if (o->ns[0] != '\0')
        buf_addf(out, "%s/", o->ns);
    buf_add_cstr(out, o->name);
}

bool kvs_equal(const struct kvs *a, const struct kvs *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i].key, b->items[i].key) != 0 ||
            strcmp(a->items[i].value, b->items[i].value) != 0)
            return false;
    return true;
}
