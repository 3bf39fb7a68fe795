/* Deep copies of client answers and events.
 *
 * A copy owns its texts, in an arena, and references to its objects; objects are immutable and shared. A
 * zeroed struct is an empty copy. Memory is not checked: a simulation that runs out of memory aborts or
 * crashes. */
#include "sim/client_copy.h"

#include "sim/sim_world.h"

#define COPY_BYTES_MAX ((size_t)16 << 20)

static const char *copy_text(struct arena *a, const char *s)
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
    made->message = copy_text(a, s->message);
    made->reason = copy_text(a, s->reason);
    made->continue_token = copy_text(a, s->continue_token);
    made->name = copy_text(a, s->name);
    made->group = copy_text(a, s->group);
    made->kind = copy_text(a, s->kind);
    made->uid = copy_text(a, s->uid);
    causes = arena_array(a, s->causes_count, sizeof *causes);
    for (uint32_t i = 0; i < s->causes_count; i++)
        causes[i] = (struct status_cause){ .reason = copy_text(a, s->causes[i].reason),
                                           .message = copy_text(a, s->causes[i].message),
                                           .field = copy_text(a, s->causes[i].field) };
    made->causes = causes;
    return made;
}

void answer_copy_set(struct answer_copy *copy, const struct client_answer *a)
{
    struct object **items;

    answer_copy_done(copy);
    copy->arena = ARENA_INIT(COPY_BYTES_MAX);
    copy->answer = *a;
    copy->answer.status = copy_status(&copy->arena, a->status);
    copy->answer.object = a->object ? object_ref(a->object) : NULL;
    copy->answer.list.resource_version = copy_text(&copy->arena, a->list.resource_version);
    copy->answer.list.continue_token = copy_text(&copy->arena, a->list.continue_token);
    copy->answer.text.s = arena_dup(&copy->arena, a->text);
    items = arena_array(&copy->arena, a->list.count, sizeof *items);
    for (size_t i = 0; i < a->list.count; i++)
        items[i] = object_ref(a->list.items[i]);
    copy->answer.list.items = items;
}

void answer_copy_set_failure(struct answer_copy *copy, const char *why, bool was_connected,
                             bool may_have_happened)
{
    answer_copy_done(copy);
    copy->arena = ARENA_INIT(COPY_BYTES_MAX);
    copy->answer = (struct client_answer){ .was_connected = was_connected,
                                           .may_have_happened = may_have_happened,
                                           .retry_after_seconds = -1 };
    copy->answer.r = error_set(&copy->answer.error, ERR_UNAVAILABLE, "%s", why);
}

void answer_copy_set_refusal(struct answer_copy *copy, int http_status, const char *reason,
                             const char *message, int64_t retry_after_seconds)
{
    struct status_info s = { .code = http_status,
                             .reason = reason,
                             .message = message,
                             .continue_token = "",
                             .name = "",
                             .group = "",
                             .kind = "",
                             .uid = "" };

    answer_copy_done(copy);
    copy->arena = ARENA_INIT(COPY_BYTES_MAX);
    copy->answer =
        (struct client_answer){ .http_status = http_status, .retry_after_seconds = retry_after_seconds };
    copy->answer.status = copy_status(&copy->arena, &s);
    copy->answer.r = status_error(&s, &copy->answer.error);
}

void answer_copy_done(struct answer_copy *copy)
{
    (void)object_unref(copy->answer.object);
    for (size_t i = 0; i < copy->answer.list.count; i++)
        (void)object_unref(copy->answer.list.items[i]);
    arena_done(&copy->arena);
    *copy = (struct answer_copy){ 0 };
}

void event_copy_set(struct event_copy *copy, const struct client_event *ev)
{
    *copy = (struct event_copy){ .event = *ev, .arena = ARENA_INIT(COPY_BYTES_MAX) };
    copy->event.object = ev->object ? object_ref(ev->object) : NULL;
    copy->event.version = copy_text(&copy->arena, ev->version);
    copy->event.status = copy_status(&copy->arena, ev->status);
    if (ev->error) {
        struct error *error = arena_alloc(&copy->arena, sizeof *error);

        *error = *ev->error;
        copy->event.error = error;
    }
}

void event_copy_done(struct event_copy *copy)
{
    (void)object_unref(copy->event.object);
    arena_done(&copy->arena);
}
