/* Tokens of pods: requested from the server for the pod's service account, bound to the pod, and cached.
 *
 * At most one request per token is in flight, however many volumes wait for it. A token that is due for
 * renewal is reported as a change of its pod, and setting the volume up fetches it; an unused token is
 * therefore not renewed. */
#include "node/volume_sources_int.h"

#include <stdlib.h>
#include <string.h>

#include "api/json.h"
#include "api/json_out.h"
#include "api/times.h"

#define KEY_BYTES_MAX ((size_t)64 << 10)
#define BODY_BYTES_MAX ((size_t)64 << 10)
#define ANSWER_BYTES_MAX ((size_t)4 << 20)

/* --- Renewal --- */

static int64_t real_now(const struct shown_token *t)
{
    return clock_real_ns(t->pod->contents->o.part.clock);
}

/* Arms the timer for the renewal. Never very soon: a server with a wrong clock issues tokens that are already
 * stale. */
static void token_arm(struct shown_token *t)
{
    int64_t refresh_ns = 0, now_ns = real_now(t);
    uint64_t delay_ns = CONTENTS_TOKEN_RETRY_NS;

    if (tokens_refresh_at(t->pod->contents->tokens, &t->key, &refresh_ns) && refresh_ns > now_ns &&
        (uint64_t)(refresh_ns - now_ns) >= delay_ns)
        delay_ns = (uint64_t)(refresh_ns - now_ns) + 1; /* it is stale only after that time */
    timer_arm_after(&t->refresh, delay_ns);
}

static void token_on_refresh(void *ctx)
{
    struct shown_token *t = ctx;
    struct str token;

    if (tokens_get(t->pod->contents->tokens, &t->key, real_now(t), &token) != TOKEN_FRESH)
        shown_pod_mark(t->pod);
    token_arm(t); /* the wall clock may have been set back, or the next fetch may fail */
}

/* --- Requests --- */

static void write_order(const struct token_key *k, struct buf *out)
{
    json_out_object(out, NULL);
    json_out_text(out, "apiVersion", "authentication.k8s.io/v1");
    json_out_text(out, "kind", "TokenRequest");
    json_out_object(out, "spec");
    json_out_array(out, "audiences");
    if (k->audience[0])
        json_out_text(out, NULL, k->audience);
    json_out_end_array(out);
    if (k->expiration_seconds > 0) /* otherwise the server's default */
        json_out_int(out, "expirationSeconds", k->expiration_seconds);
    json_out_object(out, "boundObjectRef");
    json_out_text(out, "apiVersion", "v1");
    json_out_text(out, "kind", "Pod");
    json_out_text(out, "name", k->pod_name);
    json_out_text(out, "uid", k->pod_uid);
    json_out_end_object(out);
    json_out_end_object(out);
    json_out_end_object(out);
}

/* Stores the response in the cached tokens. */
static int token_take(struct shown_token *t, struct str text, struct error *err)
{
    struct volume_sources *c = t->pod->contents;
    _cleanup_(json_done_p) struct json d;
    struct timestamp expires = { 0 };
    int64_t life_s = 0;
    json_ref root;
    int r;

    json_init(&d, ANSWER_BYTES_MAX);
    r = json_parse(&d, text, &root, err);
    if (r == 0)
        r = timestamp_parse(json_get_text(&d, json_get(&d, root, "status"), "expirationTimestamp"), &expires,
                            err);
    if (r < 0)
        return error_wrap(err, "cannot parse the token response for service account '%s/%s'", t->key.ns,
                          t->key.account);
    if (!json_int64(&d, json_path(&d, root, "spec", "expirationSeconds"), &life_s))
        life_s = t->key.expiration_seconds; /* the requested lifetime */
    r = tokens_put(c->tokens, &t->key, json_get_text(&d, json_get(&d, root, "status"), "token"), life_s,
                   expires.seconds * (int64_t)NS_PER_S, rng_u64(&c->rng), err);
    volume_sources_watch_expiry(c);
    return r;
}

static void item_take_token(struct content_wait *w, struct str token)
{
    const struct shown_token *t = w->token;
    char *copy = arena_dup(&w->fetch->arena, token);

    (void)tokens_expires_at(t->pod->contents->tokens, &t->key, &w->item->expires_real_ns);
    if (copy)
        w->item->token = (struct str){ copy, token.len };
    else
        w->fetch->has_failed = true;
}

void shown_token_fall_back(struct shown_token *t, struct content_wait *w, const struct error *cause)
{
    struct str token = { 0 };
    struct error err;

    if (tokens_fall_back(t->pod->contents->tokens, &t->key, real_now(t), cause, &token, &err) == 0)
        item_take_token(w, token);
    else
        content_item_fail(w->item, &err);
    content_wait_end(w);
}

static void token_on_answer(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct shown_token *t = ctx;
    struct error err = a->error;
    int r = outcome != API_DONE ? a->r : token_take(t, a->text, &err);
    struct content_wait *w;
    struct str token;

    while ((w = TAILQ_FIRST(&t->waits))) {
        if (r == 0 && tokens_get(t->pod->contents->tokens, &t->key, real_now(t), &token) != TOKEN_NONE) {
            item_take_token(w, token);
            content_wait_end(w);
        } else {
            shown_token_fall_back(t, w, &err);
        }
    }
    token_arm(t);
}

static void token_send(struct shown_token *t)
{
    struct volume_sources *c = t->pod->contents;
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(BODY_BYTES_MAX);
    struct api_write_options w = { .api = c->api,
                                   .request = { .verb = CLIENT_CREATE,
                                                .kind = kind_info(KIND_SERVICE_ACCOUNT),
                                                .ns = t->key.ns,
                                                .name = t->key.account,
                                                .subresource = "token",
                                                .wants_text = true },
                                   .done = token_on_answer,
                                   .ctx = t };

    write_order(&t->key, &body);
    w.failed = body.failed;
    w.body = buf_str(&body);
    api_write_start(&t->request, &w);
}

void shown_token_fetch(struct shown_token *t, struct content_wait *w)
{
    struct str token;

    w->token = t;
    if (tokens_get(t->pod->contents->tokens, &t->key, real_now(t), &token) == TOKEN_FRESH) {
        item_take_token(w, token);
        return;
    }
    content_wait_begin(w, &t->waits);
    if (!api_write_is_active(&t->request))
        token_send(t);
}

/* --- Start and end --- */

struct shown_token *shown_token_find(const struct shown_pod *p, const struct content_need *n)
{
    struct shown_token *t;

    TAILQ_FOREACH(t, &p->tokens, link)
        if (t->key.expiration_seconds == n->expiration_seconds && strcmp(t->key.audience, n->audience) == 0)
            return t;
    return NULL;
}

struct shown_token *shown_token_new(struct shown_pod *p, const struct object *pod,
                                    const struct content_need *n)
{
    struct shown_token *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->pod = p;
    t->arena = ARENA_INIT(KEY_BYTES_MAX);
    TAILQ_INIT(&t->waits);
    timer_init(&t->refresh, p->contents->o.part.loop, token_on_refresh, t);
    t->key = (struct token_key){
        .ns = arena_dup(&t->arena, str_of(pod->ns)),
        .account = arena_dup(&t->arena, str_of(n->name[0] ? n->name : "default")),
        .audience = arena_dup(&t->arena, str_of(n->audience)),
        .expiration_seconds = n->expiration_seconds,
        .pod_name = arena_dup(&t->arena, str_of(pod->name)),
        .pod_uid = arena_dup(&t->arena, str_of(pod->uid)),
    };
    if (t->arena.failed != ERR_NONE) {
        arena_done(&t->arena);
        free(t);
        return NULL;
    }
    TAILQ_INSERT_TAIL(&p->tokens, t, link);
    p->tokens_count++;
    return t;
}

void shown_token_free(struct shown_token *t)
{
    TAILQ_REMOVE(&t->pod->tokens, t, link);
    t->pod->tokens_count--;
    api_write_cancel(&t->request);
    timer_disarm(&t->refresh);
    arena_done(&t->arena);
    free(t);
}
