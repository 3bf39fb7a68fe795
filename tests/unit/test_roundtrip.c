/* Property: for every kind, decoding and encoding is byte-stable after the first pass and loses no unknown
 * field.
 *
 * Objects are made at random from the kind's own schema, so a new field is covered the day it joins its
 * table. Into every object of the tree go fields that no schema knows, each with a name of its own. */
#include "tests/unit/test.h"

#include "api/json.h"
#include "api/kind.h"
#include "api/object.h"
#include "api/schema.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/rng.h"

#define SEEDS_PER_KIND 200
#define ITEMS_MAX 3
#define UNKNOWN_PREFIX "unknown-"

static struct error err;

struct maker {
    struct json doc;
    struct rng rng;
    unsigned unknown_count;
};

static const char *pick(struct maker *m, const char *const *texts, size_t count)
{
    return texts[rng_below(&m->rng, count)];
}
#define PICK(m, ...) \
    pick(m, (const char *const[]){ __VA_ARGS__ }, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })))

static json_ref make_text(struct maker *m, const char *text)
{
    return json_new_string(&m->doc, str_of(text));
}

/* Whatever JSON: nested, with every type, empty containers and nulls among them. */
static json_ref make_any(struct maker *m, unsigned depth)
{
    json_ref v;

    switch (rng_below(&m->rng, depth ? 8 : 6)) {
    case 0:
        return json_new_null(&m->doc);
    case 1:
        return json_new_bool(&m->doc, rng_chance(&m->rng, 50));
    case 2:
        return json_new_number(&m->doc, str_of(PICK(m, "0", "-1", "1.50", "9223372036854775807",
                                                    "123456789012345678901234567890", "1e5", "0.1")));
    case 3:
    case 4:
        return make_text(
            m, PICK(m, "", "x", "two words", "\"quoted\"\n", "\xC3\xA9\xE2\x82\xAC", "null", "\x01"));
    case 5:
        return rng_chance(&m->rng, 50) ? json_new_object(&m->doc) : json_new_array(&m->doc);
    case 6:
        v = json_new_object(&m->doc);
        for (uint64_t n = rng_below(&m->rng, ITEMS_MAX + 1); n; n--)
            json_set(&m->doc, v, PICK(m, "a", "b", "c/d", "", "name"), make_any(m, depth - 1));
        return v;
    default:
        v = json_new_array(&m->doc);
        for (uint64_t n = rng_below(&m->rng, ITEMS_MAX + 1); n; n--)
            json_append(&m->doc, v, make_any(m, depth - 1));
        return v;
    }
}

static json_ref make_object(struct maker *m, const struct schema *s, unsigned depth);

static json_ref make_value(struct maker *m, const struct field *f, enum field_type type, unsigned depth)
{
    json_ref v;

    if (rng_chance(&m->rng, 5))
        return json_new_null(&m->doc);
    switch (type) {
    case FIELD_STRING:
        return make_text(m, PICK(m, "", "x", "Some Text", "\"q\"", "\xC3\xA9", "a/b", "ReadWriteOnce"));
    case FIELD_BOOL:
        return json_new_bool(&m->doc, rng_chance(&m->rng, 50));
    case FIELD_INT32:
        return json_new_int(&m->doc, (int32_t)rng_u64(&m->rng));
    case FIELD_INT64:
        return json_new_int(&m->doc, rng_chance(&m->rng, 20) ? 0 : (int64_t)rng_u64(&m->rng));
    case FIELD_QUANTITY:
        return rng_chance(&m->rng, 20)
                   ? json_new_int(&m->doc, (int64_t)rng_below(&m->rng, 5000))
                   : make_text(m, PICK(m, "1Gi", "1024Mi", "0.5Gi", "1500m", " 5 ", "1e3", "+1"));
    case FIELD_TIME:
        return make_text(m, PICK(m, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.999+02:00"));
    case FIELD_MICRO_TIME:
        return make_text(m, PICK(m, "2026-01-02T03:04:05.000000Z", "2026-01-02T03:04:05.123456+02:00"));
    case FIELD_BYTES:
        return make_text(m, PICK(m, "", "AA==", "aGVsbG8=", "aGVs\nbG8="));
    case FIELD_INT_OR_STRING:
        return rng_chance(&m->rng, 50) ? json_new_int(&m->doc, 80) : make_text(m, "http");
    case FIELD_OBJECT:
        return make_object(m, f->sub, depth + 1);
    case FIELD_LIST:
        v = json_new_array(&m->doc);
        for (uint64_t n = rng_below(&m->rng, ITEMS_MAX + 1); n; n--)
            json_append(&m->doc, v, make_value(m, f, f->item, depth));
        return v;
    case FIELD_MAP:
        v = json_new_object(&m->doc);
        for (uint64_t n = rng_below(&m->rng, ITEMS_MAX + 1); n; n--)
            json_set(&m->doc, v, PICK(m, "b", "a", "storage", "x.io/y", "Z"),
                     make_value(m, f, f->item, depth));
        return v;
    case FIELD_ANY:
        return make_any(m, 3);
    case FIELD_TYPE_COUNT:
        break;
    }
    abort();
}

static void add_unknown(struct maker *m, json_ref object)
{
    char name[32];

    snprintf(name, sizeof name, UNKNOWN_PREFIX "%u-", ++m->unknown_count);
    json_set(&m->doc, object, name, make_any(m, 2));
}

static json_ref make_object(struct maker *m, const struct schema *s, unsigned depth)
{
    json_ref v = json_new_object(&m->doc);

    if (rng_chance(&m->rng, 40))
        add_unknown(m, v);
    for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++)
        if (!(f->flags & FIELD_DROPPED) && rng_chance(&m->rng, depth < 2 ? 80 : 35))
            json_set(&m->doc, v, f->name, make_value(m, f, f->type, depth));
    if (rng_chance(&m->rng, 40))
        add_unknown(m, v);
    return v;
}

static unsigned count_unknown(struct str text)
{
    unsigned count = 0;

    for (const char *at = text.s; (at = strstr(at, "\"" UNKNOWN_PREFIX)); at++)
        count++;
    return count;
}

static void check_seed(const struct kind_info *k, uint64_t seed)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(16 << 20);
    _cleanup_(object_unref_p) struct object *first = NULL, *second = NULL;
    _cleanup_(json_done_p) struct json scratch;
    struct maker m = { 0 };

    json_init(&m.doc, 16 << 20);
    json_init(&scratch, 16 << 20);
    rng_init(&m.rng, seed);
    json_write(&m.doc, make_object(&m, k->schema, 0), &text);
    ASSERT_OK(json_check(&m.doc, &err));
    int r = object_decode(k, buf_str(&text), &scratch, &first, &err);
    if (r == 0)
        r = object_decode(k, first->text, &scratch, &second, &err);
    if (r != 0 || !first || !second) {
        fail_msg("%s, seed %llu: %s\n%s", k->name, (unsigned long long)seed, err.msg, buf_cstr(&text));
        return; /* not reached, but the analyzers do not know */
    }
    if (!str_eq(first->text, second->text))
        fail_msg("%s, seed %llu: not stable\n%s\n%s", k->name, (unsigned long long)seed, first->text.s,
                 second->text.s);
    if (count_unknown(first->text) != m.unknown_count)
        fail_msg("%s, seed %llu: %u unknown fields, %u left\n%s\n%s", k->name, (unsigned long long)seed,
                 m.unknown_count, count_unknown(first->text), buf_cstr(&text), first->text.s);
    json_done(&m.doc);
}

TEST(every_kind_is_stable_and_keeps_unknown_fields)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++)
        for (uint64_t seed = 1; seed <= SEEDS_PER_KIND; seed++)
            check_seed(kind_info(kind), (uint64_t)kind * SEEDS_PER_KIND + seed);
}

/* Defaults fill in and never take away: a second pass over what they made changes nothing. */
TEST(defaults_are_idempotent)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        const struct kind_info *k = kind_info(kind);
        for (uint64_t seed = 1; seed <= SEEDS_PER_KIND / 4; seed++) {
            _cleanup_(buf_done_p) struct buf first = BUF_INIT(16 << 20), second = BUF_INIT(16 << 20);
            struct maker m = { 0 };

            json_init(&m.doc, 16 << 20);
            rng_init(&m.rng, seed);
            json_ref v = make_object(&m, k->schema, 0);
            for (int pass = 0; pass < 2; pass++) {
                ASSERT_OK(schema_normalize(k->schema, &m.doc, v, SCHEMA_KEEP_UNKNOWN, NULL, &err));
                k->set_defaults(&m.doc, v);
                ASSERT_OK(schema_normalize(k->schema, &m.doc, v, SCHEMA_KEEP_UNKNOWN, NULL, &err));
                json_write(&m.doc, v, pass ? &second : &first);
            }
            ASSERT_STR(buf_cstr(&first), buf_cstr(&second));
            json_done(&m.doc);
        }
    }
}

TEST_MAIN()
