/* Copies of requests. The texts of a request are copied into one block of exactly the needed size, since a
 * client may have thousands of requests in flight. */
#include "client/client_request.h"

static const size_t text_offsets[] = {
    offsetof(struct client_request, ns),
    offsetof(struct client_request, name),
    offsetof(struct client_request, subresource),
    offsetof(struct client_request, path),
    offsetof(struct client_request, accept),
    offsetof(struct client_request, label_selector),
    offsetof(struct client_request, field_selector),
    offsetof(struct client_request, resource_version),
    offsetof(struct client_request, version_match),
    offsetof(struct client_request, continue_token),
    offsetof(struct client_request, include_object),
    offsetof(struct client_request, field_manager),
    offsetof(struct client_request, field_validation),
    offsetof(struct client_request, if_uid),
    offsetof(struct client_request, if_version),
    offsetof(struct client_request, propagation),
};

static const char **text_at(struct client_request *q, size_t i)
{
    return (const char **)(void *)((char *)q + text_offsets[i]);
}

/* The body's length is checked by the caller. */
static size_t request_bytes(struct client_request *q)
{
    size_t bytes = q->body.len ? q->body.len + 1 : 0;

    for (size_t i = 0; i < ARRAY_LEN(text_offsets); i++)
        if (*text_at(q, i))
            bytes += strlen(*text_at(q, i)) + 1;
    return bytes;
}

int request_own_texts(struct client_request *q, struct arena *arena, struct error *err)
{
    size_t bytes = q->body.len;

    if (bytes <= CLIENT_REQUEST_BYTES_MAX)
        bytes = request_bytes(q);
    if (bytes > CLIENT_REQUEST_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "request is larger than %zu bytes", CLIENT_REQUEST_BYTES_MAX);
    if (bytes)
        arena_reserve(arena, bytes);
    for (size_t i = 0; i < ARRAY_LEN(text_offsets); i++)
        if (*text_at(q, i))
            *text_at(q, i) = arena_dup(arena, str_of(*text_at(q, i)));
    if (q->body.len)
        q->body.s = arena_dup(arena, q->body);
    return arena_check(arena, err);
}

struct client_answer request_failed(const struct error *e)
{
    return (struct client_answer){
        .r = -(int)e->code,
        .error = *e,
        .retry_after_seconds = -1,
        .list = { .resource_version = "", .continue_token = "", .remaining = -1 },
    };
}
