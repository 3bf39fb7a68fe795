/* Property: an object sent in protobuf is stored as the same object sent in JSON.
 *
 * The messages are read from a table that was written down apart from those of src/api (its notation is in
 * its first lines); that both agree is a test of its own. Objects are made from it at random, in both forms
 * at once and with the freedom that Go's encoders take: plain fields that are not set are sent empty in
 * protobuf and left out in JSON, or the other way round. */
#include "tests/unit/test_protobuf.h"

#include "base/rng.h"

#define SEEDS_PER_KIND 300
#define MESSAGES_MAX 256
#define FIELDS_MAX 1400
#define KINDS_MAX 40
#define ITEMS_MAX 2
#define DEPTH_MAX 12

struct message_field {
    char name[64], type[64];
    unsigned number;
    char container; /* '*', '%' or 0 */
    char mark;      /* '?', '!', '^' or 0 */
};

struct message {
    char name[64];
    const struct message_field *fields;
    size_t count;
};

static struct message_field fields[FIELDS_MAX];
static struct message messages[MESSAGES_MAX];
static struct {
    char api_version[64], kind[64], message[64];
} kinds[KINDS_MAX];
static size_t fields_count, messages_count, kinds_count;

/* --- The table --- */

static void read_field(struct str word)
{
    struct message_field *f = &fields[fields_count++];
    char text[256], type[64];
    size_t len;

    assert_true(fields_count < FIELDS_MAX);
    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(word));
    if (sscanf(text, "%63[^=]=%u:%63s", f->name, &f->number, type) != 3)
        fail_msg("no field: %s", text);
    f->container = type[0];
    if (type[0] != '*' && type[0] != '%')
        f->container = 0;
    (void)snprintf(f->type, sizeof f->type, "%s", type + (f->container != 0));
    len = strlen(f->type);
    f->mark = f->type[len - 1];
    if (strchr("?!^", f->mark))
        f->type[len - 1] = '\0';
    else
        f->mark = 0;
}

static void read_word(struct str word)
{
    struct message *m;

    if (memchr(word.s, '=', word.len)) {
        read_field(word);
        messages[messages_count - 1].count++;
        return;
    }
    m = &messages[messages_count++];
    assert_true(messages_count < MESSAGES_MAX);
    (void)snprintf(m->name, sizeof m->name, "%.*s", STR_ARG(word));
    m->fields = &fields[fields_count];
}

static void load(void)
{
    FILE *file = messages_count ? NULL : fopen(TEST_DATA_DIR "/protobuf.txt", "r");
    char line[512];

    if (messages_count)
        return;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        struct str rest = str_of(line);

        if (line[0] == '#')
            continue;
        if (strncmp(line, "kind ", 5) == 0) {
            assert_int_equal(3, sscanf(line, "kind %63s %63s %63s", kinds[kinds_count].api_version,
                                       kinds[kinds_count].kind, kinds[kinds_count].message));
            assert_true(++kinds_count < KINDS_MAX);
            continue;
        }
        while (rest.s) {
            struct str word = str_next(&rest, ' ');

            while (word.len && strchr("\\\n", word.s[word.len - 1]))
                word.len--;
            if (word.len)
                read_word(word);
        }
    }
    (void)fclose(file);
}

static const struct message *message_of(const char *name)
{
    for (size_t i = 0; i < messages_count; i++)
        if (strcmp(messages[i].name, name) == 0)
            return &messages[i];
    fail_msg("there is no message %s", name);
    return NULL; /* not reached, but the analyzers do not know */
}

static bool is_message(const struct message_field *f)
{
    return f->type[1] != '\0';
}

/* --- Both tables --- */

static enum field_type type_of(const struct message_field *f)
{
    static const struct {
        char letter;
        enum field_type type;
    } types[] = {
        { 's', FIELD_STRING }, { 'b', FIELD_BOOL },       { 'i', FIELD_INT32 },
        { 'l', FIELD_INT64 },  { 'y', FIELD_BYTES },      { 'q', FIELD_QUANTITY },
        { 't', FIELD_TIME },   { 'u', FIELD_MICRO_TIME }, { 'p', FIELD_INT_OR_STRING },
        { 'j', FIELD_ANY },    { 'x', FIELD_LIST },
    };

    if (is_message(f))
        return FIELD_OBJECT;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].letter == f->type[0])
            return types[i].type;
    fail_msg("there is no type %s", f->type);
    return FIELD_TYPE_COUNT; /* not reached, but the analyzers do not know */
}

static unsigned compare_message(const struct message *m, const struct schema *s, unsigned within,
                                unsigned depth);

static void compare_field(const struct message_field *mf, const struct field *f, const struct schema *s,
                          unsigned within, unsigned depth)
{
    enum field_type outer = mf->container == '*'   ? FIELD_LIST
                            : mf->container == '%' ? FIELD_MAP
                                                   : type_of(mf);

    if (f->number != mf->number || f->within != within)
        fail_msg("%s.%s: %u in %u, expected %u in %u", s->go_name, f->name, f->number, f->within, mf->number,
                 within);
    if (f->type != outer || (mf->container && f->item != type_of(mf)))
        fail_msg("%s.%s has another type", s->go_name, f->name);
    if ((mf->mark == '?') != ((f->flags & FIELD_POINTER) != 0) && outer != FIELD_QUANTITY)
        fail_msg("%s.%s: pointer or not", s->go_name, f->name);
    if (is_message(mf)) {
        const struct message *below = message_of(mf->type);
        unsigned found = compare_message(below, f->sub, 0, depth + 1), expected = 0;

        for (const struct field *b = f->sub->fields; b < f->sub->fields + f->sub->fields_count; b++)
            expected += b->number != 0;
        if (found != expected)
            fail_msg("%s has %u fields, expected %u", f->sub->go_name, expected, found);
    }
}

/* Returns how many fields of the schema the message has. */
static unsigned compare_message(const struct message *m, const struct schema *s, unsigned within,
                                unsigned depth)
{
    unsigned found = 0;

    assert_true(depth < DEPTH_MAX);
    for (size_t i = 0; i < m->count; i++) {
        const struct message_field *mf = &m->fields[i];
        const struct field *f = schema_field(s, str_of(mf->name));

        if (mf->mark == '^') {
            found += compare_message(message_of(mf->type), s, mf->number, depth + 1);
            continue;
        }
        if (!f) {
            fail_msg("%s has no field %s", s->go_name, mf->name);
            return 0; /* not reached, but the analyzers do not know */
        }
        compare_field(mf, f, s, within, depth);
        found++;
    }
    return found;
}

TEST(numbers_are_those_of_kubernetes)
{
    load();
    for (size_t i = 0; i < kinds_count; i++) {
        const struct schema *s = protobuf_schema(str_of(kinds[i].api_version), str_of(kinds[i].kind));
        unsigned expected = 0;

        if (!s) {
            fail_msg("%s cannot be sent", kinds[i].kind);
            return; /* not reached, but the analyzers do not know */
        }
        for (const struct field *f = s->fields; f < s->fields + s->fields_count; f++)
            expected += f->number != 0;
        ASSERT_INT(expected, compare_message(message_of(kinds[i].message), s, 0, 0));
    }
}

/* Every kind that can be sent is in the table. */
TEST(no_kind_is_left_out)
{
    unsigned stored = 0;

    load();
    for (size_t i = 0; i < kinds_count; i++)
        stored += kind_by_api_version(str_of(kinds[i].api_version), str_of(kinds[i].kind)) != NULL;
    for (enum kind k = 0; k < KIND_COUNT; k++)
        stored += (kind_info(k)->flags & (KIND_IS_CUSTOM | KIND_IS_READ_ONLY)) != 0;
    ASSERT_INT(KIND_COUNT, stored);
}

/* --- Objects at random --- */

struct maker {
    struct json doc;
    struct rng rng;
    bool sets_nothing; /* inside a struct that nobody has set */
};

static const char *pick(struct maker *m, const char *const *texts, size_t count)
{
    return texts[rng_below(&m->rng, count)];
}
#define PICK(m, ...) \
    pick(m, (const char *const[]){ __VA_ARGS__ }, ARRAY_LEN(((const char *const[]){ __VA_ARGS__ })))

static void make_message(struct maker *m, const struct message *message, unsigned depth, json_ref object,
                         struct buf *out);

static void put_varint(struct buf *out, unsigned number, uint64_t value)
{
    proto_varint(out, (uint64_t)number << 3);
    proto_varint(out, value);
}

/* A message of texts: number, text, number, text. */
static void put_text_in(struct buf *out, unsigned number, const char *text)
{
    _cleanup_(buf_done_p) struct buf inner = BUF_INIT(BYTES_MAX);

    proto_bytes(&inner, 1, str_of(text));
    proto_bytes(out, number, buf_str(&inner));
}

static json_ref make_int(struct maker *m, bool is_long, unsigned number, struct buf *out)
{
    static const int64_t picks[] = { 0, 1, -1, 7, INT32_MAX, INT32_MIN };
    int64_t value = picks[rng_below(&m->rng, ARRAY_LEN(picks))];

    if (is_long && rng_chance(&m->rng, 30))
        value = (int64_t)(rng_u64(&m->rng) >> 1) * (rng_chance(&m->rng, 50) ? 1 : -1);
    put_varint(out, number, (uint64_t)value);
    return json_new_int(&m->doc, value);
}

static json_ref make_time(struct maker *m, bool is_micro, unsigned number, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf inner = BUF_INIT(BYTES_MAX), text = BUF_INIT(BYTES_MAX);
    struct timestamp t = { (int64_t)rng_below(&m->rng, UINT64_C(1) << 33) + 1,
                           (int32_t)rng_below(&m->rng, 1000000000) };

    put_varint(&inner, 1, (uint64_t)t.seconds);
    put_varint(&inner, 2, (uint64_t)t.nanos);
    proto_bytes(out, number, buf_str(&inner));
    (void)(is_micro ? timestamp_format_micro(t, &text) : timestamp_format(t, &text));
    return json_new_string(&m->doc, buf_str(&text));
}

static json_ref make_port(struct maker *m, unsigned number, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf inner = BUF_INIT(BYTES_MAX);
    bool is_text = rng_chance(&m->rng, 50);
    json_ref v;

    put_varint(&inner, 1, is_text);
    if (is_text) {
        proto_bytes(&inner, 3, STR_LIT("web"));
        v = json_new_string(&m->doc, STR_LIT("web"));
    } else {
        v = make_int(m, /* is_long= */ false, 2, &inner);
    }
    proto_bytes(out, number, buf_str(&inner));
    return v;
}

static json_ref make_bytes(struct maker *m, unsigned number, struct buf *out)
{
    static const struct {
        struct str bytes;
        const char *text;
    } rows[] = {
        { STR_LIT(""), "" },
        { STR_LIT("\0"), "AA==" },
        { STR_LIT("hello"), "aGVsbG8=" },
        { STR_LIT("\xff\xfe\xfd"), "//79" },
    };
    size_t i = rng_below(&m->rng, ARRAY_LEN(rows));

    proto_bytes(out, number, rows[i].bytes);
    return json_new_string(&m->doc, str_of(rows[i].text));
}

static json_ref make_texts(struct maker *m, unsigned number, struct buf *out)
{
    _cleanup_(buf_done_p) struct buf inner = BUF_INIT(BYTES_MAX);
    json_ref list = json_new_array(&m->doc);

    for (uint64_t n = rng_below(&m->rng, ITEMS_MAX + 1); n; n--) {
        const char *text = PICK(m, "", "a", "b");
        proto_bytes(&inner, 1, str_of(text));
        json_append(&m->doc, list, json_new_string(&m->doc, str_of(text)));
    }
    proto_bytes(out, number, buf_str(&inner));
    return list;
}

/* One value of the field's type, in both forms; 0 when the JSON was made elsewhere. */
static json_ref make_value(struct maker *m, const struct message_field *f, unsigned number, unsigned depth,
                           struct buf *out)
{
    _cleanup_(buf_done_p) struct buf inner = BUF_INIT(BYTES_MAX);
    const char *text;
    json_ref v;

    switch (type_of(f)) {
    case FIELD_STRING:
        text = PICK(m, "", "x", "Some Text", "\"q\"\n", "\xC3\xA9", "a/b", "ReadWriteOnce");
        proto_bytes(out, number, str_of(text));
        return json_new_string(&m->doc, str_of(text));
    case FIELD_BOOL:
        v = json_new_bool(&m->doc, rng_chance(&m->rng, 50));
        put_varint(out, number, json_type(&m->doc, v) == JSON_TRUE);
        return v;
    case FIELD_INT32:
    case FIELD_INT64:
        return make_int(m, type_of(f) == FIELD_INT64, number, out);
    case FIELD_BYTES:
        return make_bytes(m, number, out);
    case FIELD_QUANTITY:
        text = PICK(m, "1Gi", "1024Mi", "0.5Gi", "1500m", "0", "1e3", "-5");
        put_text_in(out, number, text);
        return json_new_string(&m->doc, str_of(text));
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return make_time(m, type_of(f) == FIELD_MICRO_TIME, number, out);
    case FIELD_INT_OR_STRING:
        return make_port(m, number, out);
    case FIELD_ANY:
        put_text_in(out, number, "{\"f:spec\":{\".\":{}}}");
        ASSERT_OK(json_parse(&m->doc, STR_LIT("{\"f:spec\":{\".\":{}}}"), &v, &err));
        return v;
    case FIELD_LIST:
        return make_texts(m, number, out);
    case FIELD_OBJECT:
        v = json_new_object(&m->doc);
        make_message(m, message_of(f->type), depth + 1, v, &inner);
        proto_bytes(out, number, buf_str(&inner));
        return v;
    case FIELD_MAP:
    case FIELD_TYPE_COUNT:
        break;
    }
    abort();
}

static void make_map(struct maker *m, const struct message_field *f, json_ref object, struct buf *out)
{
    static const char *const keys[] = { "b", "a", "", "storage", "x.io/y" };
    json_ref map = json_new_object(&m->doc);

    for (size_t i = rng_below(&m->rng, ARRAY_LEN(keys)); i < ARRAY_LEN(keys); i++) {
        _cleanup_(buf_done_p) struct buf entry = BUF_INIT(BYTES_MAX);
        json_ref v;

        proto_bytes(&entry, 1, str_of(keys[i]));
        v = make_value(m, f, 2, DEPTH_MAX, &entry);
        proto_bytes(out, f->number, buf_str(&entry));
        json_add_member(&m->doc, map, str_of(keys[i]), v);
    }
    json_set(&m->doc, object, f->name, map);
}

/* A field that nobody has set: what a Go program sends all the same. */
static void make_unset(struct maker *m, const struct message_field *f, json_ref object, struct buf *out)
{
    bool is_sent = f->mark != '?' && !f->container && rng_chance(&m->rng, 80);
    bool is_said = f->mark != '?' && rng_chance(&m->rng, 20);

    switch (type_of(f)) {
    case FIELD_STRING:
        if (is_sent)
            proto_bytes(out, f->number, STR_LIT(""));
        if (is_said && !f->container)
            json_set_string(&m->doc, object, f->name, "");
        break;
    case FIELD_BOOL:
    case FIELD_INT32:
    case FIELD_INT64:
        if (is_sent)
            put_varint(out, f->number, 0);
        break;
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        if (is_sent)
            proto_bytes(out, f->number, rng_chance(&m->rng, 50) ? STR_LIT("") : STR_LIT("\x08\x00\x10\x00"));
        if (is_said)
            json_set(&m->doc, object, f->name, json_new_null(&m->doc));
        break;
    case FIELD_BYTES:
    case FIELD_QUANTITY:
    case FIELD_INT_OR_STRING:
    case FIELD_ANY:
    case FIELD_OBJECT:
    case FIELD_LIST:
    case FIELD_MAP:
    case FIELD_TYPE_COUNT:
        break;
    }
}

/* A struct by value that nobody has set: its own plain fields are sent, and JSON may say {}. */
static void make_unset_struct(struct maker *m, const struct message_field *f, unsigned depth, json_ref object,
                              struct buf *out)
{
    bool was_set = !m->sets_nothing;
    json_ref v;

    m->sets_nothing = true;
    v = make_value(m, f, f->number, depth, out);
    m->sets_nothing = !was_set;
    if (rng_chance(&m->rng, 50))
        json_set(&m->doc, object, f->name, v);
}

static void make_field(struct maker *m, const struct message_field *f, unsigned depth, json_ref object,
                       struct buf *out)
{
    bool is_set = !m->sets_nothing && rng_chance(&m->rng, depth < 3 ? 75 : depth < 7 ? 30 : 10);
    json_ref list;

    if (f->mark == '^') {
        _cleanup_(buf_done_p) struct buf inner = BUF_INIT(BYTES_MAX);

        make_message(m, message_of(f->type), depth, object, &inner);
        proto_bytes(out, f->number, buf_str(&inner));
    } else if (!is_set) {
        if (f->mark == '!')
            make_unset_struct(m, f, depth, object, out);
        else
            make_unset(m, f, object, out);
    } else if (f->container == '%') {
        make_map(m, f, object, out);
    } else if (f->container == '*') {
        list = json_new_array(&m->doc);
        for (uint64_t n = rng_below(&m->rng, ITEMS_MAX + 1); n; n--)
            json_append(&m->doc, list, make_value(m, f, f->number, depth, out));
        json_set(&m->doc, object, f->name, list);
    } else {
        json_set(&m->doc, object, f->name, make_value(m, f, f->number, depth, out));
    }
}

static void make_message(struct maker *m, const struct message *message, unsigned depth, json_ref object,
                         struct buf *out)
{
    for (size_t i = 0; i < message->count; i++) {
        if (rng_chance(&m->rng, 5))
            proto_bytes(out, 1000 + rng_below(&m->rng, 1000), STR_LIT("of a later version"));
        make_field(m, &message->fields[i], depth, object, out);
    }
}

/* As the server keeps it: canonical, with defaults. */
static void settle(struct json *d, json_ref v, const struct schema *s, const struct kind_info *k,
                   struct buf *out)
{
    _cleanup_(field_report_done_p) struct field_report report = FIELD_REPORT_INIT;

    ASSERT_OK(schema_normalize(s, d, v, SCHEMA_DROP_UNKNOWN, &report, &err));
    if (report.count)
        fail_msg("%s", field_report_next(&report, NULL));
    if (k) {
        k->set_defaults(d, v);
        ASSERT_OK(schema_normalize(s, d, v, SCHEMA_KEEP_UNKNOWN, NULL, &err));
    }
    json_write(d, v, out);
}

static void check_seed(const char *api_version, const char *kind, const char *message, uint64_t seed)
{
    _cleanup_(buf_done_p) struct buf raw = BUF_INIT(BYTES_MAX * 8), body = BUF_INIT(BYTES_MAX * 8),
                                     text = BUF_INIT(BYTES_MAX * 8), by_json = BUF_INIT(BYTES_MAX * 8),
                                     by_protobuf = BUF_INIT(BYTES_MAX * 8);
    const struct schema *s = protobuf_schema(str_of(api_version), str_of(kind));
    const struct kind_info *k = kind_by_api_version(str_of(api_version), str_of(kind));
    _cleanup_(json_done_p) struct json d;
    struct maker m = { 0 };
    json_ref object, v;

    json_init(&d, BYTES_MAX * 64);
    json_init(&m.doc, BYTES_MAX * 64);
    rng_init(&m.rng, seed);
    object = json_new_object(&m.doc);
    json_set_string(&m.doc, object, "kind", kind);
    json_set_string(&m.doc, object, "apiVersion", api_version);
    make_message(&m, message_of(message), 0, object, &raw);
    json_write(&m.doc, object, &text);
    ASSERT_OK(json_check(&m.doc, &err));
    json_done(&m.doc);
    proto_body(api_version, kind, buf_str(&raw), &body);
    ASSERT_OK(buf_check(&body, "body", &err));

    ASSERT_OK(json_parse(&d, buf_str(&text), &v, &err));
    settle(&d, v, s, k, &by_json);
    if (proto_decode(&d, buf_str(&body), &v) < 0)
        fail_msg("%s, seed %llu: %s", kind, (unsigned long long)seed, err.msg);
    settle(&d, v, s, k, &by_protobuf);
    if (!str_eq(buf_str(&by_json), buf_str(&by_protobuf)))
        fail_msg("%s, seed %llu:\n%s\n%s", kind, (unsigned long long)seed, buf_cstr(&by_json),
                 buf_cstr(&by_protobuf));
}

TEST(protobuf_says_what_json_says)
{
    load();
    for (size_t i = 0; i < kinds_count; i++)
        for (uint64_t seed = 1; seed <= SEEDS_PER_KIND; seed++)
            check_seed(kinds[i].api_version, kinds[i].kind, kinds[i].message, i * SEEDS_PER_KIND + seed);
}

TEST_MAIN()
