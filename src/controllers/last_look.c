#include "controllers/last_look.h"

#include <string.h>

#include "machinery/write.h"

bool volume_is_to_go(const struct volume *v)
{
    return v->phase == VOLUME_RELEASED && v->reclaim == RECLAIM_DELETE && !v->obj.is_deleting &&
           v->claim.is_set && v->claim.uid[0] != '\0';
}

void last_look_cancel(struct last_look *l)
{
    client_cancel(&l->call);
    l->seen = object_unref(l->seen);
    l->fresh = object_unref(l->fresh);
}

/* The look may be gone when this returns. */
static void look_end(struct last_look *l, bool may_go, const struct error *err)
{
    _cleanup_(object_unref_p) struct object *fresh = TAKE(l->fresh);

    last_look_cancel(l);
    l->done(l->ctx, may_go ? volume_of(fresh) : NULL, err);
}

static void look_refuse(struct last_look *l, const char *why)
{
    struct error err;

    (void)error_set(&err, ERR_CONFLICT, "volume \"%s\" %s", l->seen->name, why);
    look_end(l, false, &err);
}

static void on_claim(void *ctx, const struct client_answer *a)
{
    struct last_look *l = ctx;

    switch (api_live_of(a, volume_of(l->fresh)->claim.uid)) {
    case LIVE_GONE:
        look_end(l, true, NULL);
        break;
    case LIVE_THERE:
        look_refuse(l, "is still its claim's");
        break;
    case LIVE_UNKNOWN:
        look_end(l, false, &a->error);
        break;
    }
}

static void on_volume(void *ctx, const struct client_answer *a)
{
    struct last_look *l = ctx;
    struct client_request q = { .verb = CLIENT_GET, .kind = kind_info(KIND_CLAIM) };
    const struct volume *v;

    switch (api_live_of(a, l->seen->uid)) {
    case LIVE_GONE:
        look_refuse(l, "is gone");
        return;
    case LIVE_UNKNOWN:
        look_end(l, false, &a->error);
        return;
    case LIVE_THERE:
        break;
    }
    v = volume_of(a->object);
    if (!volume_is_to_go(v)) {
        look_refuse(l, "is not released any more");
        return;
    }
    l->fresh = object_ref(a->object);
    q.ns = v->claim.ns;
    q.name = v->claim.name;
    client_send(l->client, &l->call, &q, on_claim, l);
}

void last_look_begin(struct last_look *l, struct client *c, const struct volume *v)
{
    struct client_request q = { .verb = CLIENT_GET, .kind = v->obj.kind, .name = v->obj.name };

    l->client = c;
    l->seen = object_ref(&v->obj);
    client_send(c, &l->call, &q, on_volume, l);
}
