#include "sim/kept.h"

#include "sim/sim_world.h"

#define KEPT_BYTES_MAX ((size_t)16 << 20)

static const char *copy(struct arena *a, const char *s)
{
    return s ? arena_dup(a, str_of(s)) : NULL;
}

static const struct status_info *copy_status(struct arena *a, const struct status_info *s)
{
    struct status_info *made;
    struct status_cause *causes;

    if (!s)
        return NULL;
    made = arena_alloc(a, sizeof *made);
    *made = *s;
    made->message = copy(a, s->message);
    made->reason = copy(a, s->reason);
    made->continue_token = copy(a, s->continue_token);
    made->name = copy(a, s->name);
    made->group = copy(a, s->group);
    made->kind = copy(a, s->kind);
    made->uid = copy(a, s->uid);
    causes = arena_array(a, s->causes_count, sizeof *causes);
    for (uint32_t i = 0; i < s->causes_count; i++)
        causes[i] = (struct status_cause){ .reason = copy(a, s->causes[i].reason),
                                           .message = copy(a, s->causes[i].message),
                                           .field = copy(a, s->causes[i].field) };
    made->causes = causes;
    return made;
}

void kept_answer_set(struct kept_answer *k, const struct client_answer *a)
{
    struct object **items;

    kept_answer_done(k);
    k->arena = ARENA_INIT(KEPT_BYTES_MAX);
    k->answer = *a;
    k->answer.status = copy_status(&k->arena, a->status);
    k->answer.object = a->object ? object_ref(a->object) : NULL;
    k->answer.list.resource_version = copy(&k->arena, a->list.resource_version);
    k->answer.list.continue_token = copy(&k->arena, a->list.continue_token);
    k->answer.text.s = arena_dup(&k->arena, a->text);
    items = arena_array(&k->arena, a->list.count, sizeof *items);
    for (size_t i = 0; i < a->list.count; i++)
        items[i] = object_ref(a->list.items[i]);
    k->answer.list.items = items;
}

void kept_answer_fail(struct kept_answer *k, const char *why, bool was_connected, bool may_have_happened)
{
    kept_answer_done(k);
    k->arena = ARENA_INIT(KEPT_BYTES_MAX);
    k->answer = (struct client_answer){ .was_connected = was_connected,
                                        .may_have_happened = may_have_happened,
                                        .retry_after_seconds = -1 };
    k->answer.r = error_set(&k->answer.error, ERR_UNAVAILABLE, "%s", why);
}

void kept_answer_refuse(struct kept_answer *k, int http_status, const char *reason, const char *message,
                        int64_t retry_after_seconds)
{
    struct status_info s = { .code = http_status,
                             .reason = reason,
                             .message = message,
                             .continue_token = "",
                             .name = "",
                             .group = "",
                             .kind = "",
                             .uid = "" };

    kept_answer_done(k);
    k->arena = ARENA_INIT(KEPT_BYTES_MAX);
    k->answer =
        (struct client_answer){ .http_status = http_status, .retry_after_seconds = retry_after_seconds };
    k->answer.status = copy_status(&k->arena, &s);
    k->answer.r = status_error(&s, &k->answer.error);
}

void kept_answer_done(struct kept_answer *k)
{
    (void)object_unref(k->answer.object);
    for (size_t i = 0; i < k->answer.list.count; i++)
        (void)object_unref(k->answer.list.items[i]);
    arena_done(&k->arena);
    *k = (struct kept_answer){ 0 };
}

void kept_event_set(struct kept_event *k, const struct client_event *ev)
{
    *k = (struct kept_event){ .event = *ev, .arena = ARENA_INIT(KEPT_BYTES_MAX) };
    k->event.object = ev->object ? object_ref(ev->object) : NULL;
    k->event.version = copy(&k->arena, ev->version);
    k->event.status = copy_status(&k->arena, ev->status);
    if (ev->error) {
        struct error *error = arena_alloc(&k->arena, sizeof *error);

        *error = *ev->error;
        k->event.error = error;
    }
}

void kept_event_done(struct kept_event *k)
{
    (void)object_unref(k->event.object);
    arena_done(&k->arena);
}
