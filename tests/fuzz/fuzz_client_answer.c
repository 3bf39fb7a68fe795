/* Any bytes as a server's answer or a line of a watch: what is made of them is whole, says what it is, and
 * objects are what an object's own text says.
 *
 * The first byte tells what was asked, the second which HTTP status came back. */
#include "tests/fuzz/fuzz.h"

#include "base/cleanup.h"
#include "client/client_answer.h"

#define TEXT_BYTES_MAX ((size_t)4 << 20)

static const int http_statuses[] = { 200, 201, 400, 404, 409, 410, 422, 429, 500, 503, 504, 302 };

static void check_object(const struct object *o, const struct kind_info *k, bool keeps_managed_fields)
{
    _cleanup_(json_done_p) struct json d;
    _cleanup_(object_unref_p) struct object *again = NULL;
    struct error err;

    json_init(&d, TEXT_BYTES_MAX);
    FUZZ_CHECK(o->kind == k);
    FUZZ_CHECK(object_decode(k, o->text, &d, &again, &err) == 0);
    FUZZ_CHECK(str_eq(o->text, again->text));
    json_clear(&d);
    json_ref v;
    FUZZ_CHECK(json_parse(&d, o->text, &v, &err) == 0);
    FUZZ_CHECK(keeps_managed_fields || !json_path(&d, v, "metadata", "managedFields"));
}

static void check_status(const struct status_info *s)
{
    FUZZ_CHECK(s->message && s->reason && s->continue_token && s->name && s->group && s->kind && s->uid);
    for (uint32_t i = 0; i < s->causes_count; i++)
        FUZZ_CHECK(s->causes[i].reason && s->causes[i].message && s->causes[i].field);
    (void)client_is_too_large_version(s);
}

static void check_answer(const struct client_request *q, const struct client_answer *a, bool keeps)
{
    FUZZ_CHECK(a->r == -(int)a->error.code);
    FUZZ_CHECK(a->r == 0 || a->error.msg[0] != '\0');
    FUZZ_CHECK(a->r == 0 || (!a->object && a->list.count == 0));
    FUZZ_CHECK(a->list.resource_version && a->list.continue_token);
    FUZZ_CHECK(!a->status || a->r < 0);
    if (a->status)
        check_status(a->status);
    if (a->r == 0 && (q->verb == CLIENT_GET || q->verb == CLIENT_PATCH))
        FUZZ_CHECK(a->object);
    if (a->object)
        check_object(a->object, q->kind, keeps);
    for (size_t i = 0; i < a->list.count; i++)
        check_object(a->list.items[i], q->kind, keeps);
    (void)client_is_conflict(a);
    (void)client_is_terminating(a);
}

struct seen {
    const struct client_request *q;
    bool keeps;
    unsigned count;
};

static void check_event(void *ctx, const struct client_event *ev)
{
    struct seen *seen = ctx;
    bool has_object = ev->type <= CLIENT_DELETED;

    seen->count++;
    FUZZ_CHECK(ev->type < CLIENT_EVENT_TYPE_COUNT);
    FUZZ_CHECK((ev->object != NULL) == has_object);
    FUZZ_CHECK(ev->version && (ev->version[0] != '\0') == (ev->type <= CLIENT_BOOKMARK));
    FUZZ_CHECK(!ev->ends_initial_events || ev->type == CLIENT_BOOKMARK);
    FUZZ_CHECK((ev->error != NULL) == (ev->type >= CLIENT_ERROR));
    FUZZ_CHECK((ev->status != NULL) == (ev->type == CLIENT_ERROR));
    if (ev->error)
        FUZZ_CHECK(ev->error->code != ERR_NONE && ev->error->msg[0] != '\0');
    if (ev->status)
        check_status(ev->status);
    if (ev->object)
        check_object(ev->object, seen->q->kind, seen->keeps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum kind kinds[] = { KIND_CONFIG_MAP, KIND_CLAIM, KIND_EVENT_V1, KIND_SNAPSHOT };
    _cleanup_(json_done_p) struct json scratch;
    struct client_request q = { 0 };
    struct answer_reader reader = { .scratch = &scratch };
    struct seen seen = { .q = &q };

    json_init(&scratch, TEXT_BYTES_MAX);
    if (size < 2)
        return 0;
    q.verb = (enum client_verb)(data[0] % CLIENT_VERB_COUNT);
    q.kind = kind_info(kinds[(data[0] >> 3) % ARRAY_LEN(kinds)]);
    q.subresource = data[0] & 0x40 ? "binding" : NULL;
    seen.keeps = reader.keeps_managed_fields = data[0] & 0x80;
    struct str text = { (const char *)data + 2, size - 2 };
    if (q.verb == CLIENT_WATCH) {
        answer_read_event(&reader, &q, text, check_event, &seen);
        FUZZ_CHECK(seen.count == 1);
    } else {
        struct raw_answer raw = { http_statuses[data[1] % ARRAY_LEN(http_statuses)], text, -1 };
        struct read_answer got = { 0 };
        answer_read(&reader, &q, &raw, &got);
        check_answer(&q, &got.answer, seen.keeps);
        read_answer_done(&got);
    }
    return 0;
}
