/* Implementation of event correlation: three LRU caches, one per step (correlate.h).
 *
 * Keys are built in one buffer, each a prefix of the next. Memory is bounded by CORRELATE_ENTRIES_MAX entries
 * per cache. */
#include "machinery/correlate.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/bucket.h"
#include "base/cleanup.h"

/* Texts of an object and one message; far more than they need. */
#define KEY_BYTES_MAX 8192

/* Messages are stored as digests. If two collide, which is very unlikely, the second is not counted as
 * another message. */
struct group {
    uint64_t last_ns;
    unsigned count;
    uint64_t messages[CORRELATE_MESSAGES_MAX - 1];
};

struct seen {
    int32_t count; /* 0: new */
    int64_t first_real_ns;
    char name[EVENT_NAME_BYTES];
};

/* One text whose prefixes are the keys of the steps. */
struct keys {
    struct str bucket; /* object and type */
    struct str group;  /* and reason */
    struct str event;  /* and message */
};

void correlator_init(struct correlator *c, struct hash_seed seed)
{
    *c = (struct correlator){ .seed = seed, .key = BUF_INIT(KEY_BYTES_MAX) };
    lru_init(&c->groups, sizeof(struct group), CORRELATE_ENTRIES_MAX, seed);
    lru_init(&c->seen, sizeof(struct seen), CORRELATE_ENTRIES_MAX, seed);
    lru_init(&c->buckets, sizeof(struct bucket), CORRELATE_ENTRIES_MAX, seed);
}

void correlator_done(struct correlator *c)
{
    lru_done(&c->groups);
    lru_done(&c->seen);
    lru_done(&c->buckets);
    buf_done(&c->key);
}

static int make_keys(struct correlator *c, const struct correlate_event *e, struct keys *ret,
                     struct error *err)
{
    size_t bucket_len, group_len;
    int r;

    buf_clear(&c->key);
    event_key_object(e->about, &c->key);
    event_key_text(str_of(e->type), &c->key);
    bucket_len = c->key.len;
    event_key_text(str_of(e->reason), &c->key);
    group_len = c->key.len;
    event_key_text(e->message, &c->key);
    r = buf_check(&c->key, "event key", err);
    if (r < 0)
        return r;
    *ret = (struct keys){ { c->key.data, bucket_len }, { c->key.data, group_len }, buf_str(&c->key) };
    return 0;
}

static bool group_has(const struct group *g, uint64_t digest)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->messages[i] == digest)
            return true;
    return false;
}

/* Step 1. Messages that were among the first are still written on their own. */
static int observe_message(struct correlator *c, const struct keys *k, struct str message, uint64_t now_ns,
                           bool *ret_is_combined, struct error *err)
{
    struct group *g = lru_ensure(&c->groups, k->group);
    uint64_t digest = siphash_hash(c->seed, message);

    if (!g)
        return error_no_memory(err);
    if (now_ns - g->last_ns > CORRELATE_QUIET_NS)
        g->count = 0;
    g->last_ns = now_ns;
    *ret_is_combined = false;
    if (group_has(g, digest))
        return 0;
    if (g->count < ARRAY_LEN(g->messages))
        g->messages[g->count++] = digest;
    else
        *ret_is_combined = true;
    return 0;
}

/* Step 2. The stock recorder learns the event's name and count from the server's answer; here both are known
 * before. */
static int count_event(struct correlator *c, struct str key, const char *name, int64_t real_ns,
                       struct correlated *ret, struct error *err)
{
    struct seen *s = lru_ensure(&c->seen, key);

    if (!s)
        return error_no_memory(err);
    if (s->count == 0) {
        s->first_real_ns = real_ns;
        (void)snprintf(s->name, sizeof s->name, "%s", name);
        ret->action = CORRELATE_CREATE;
    } else {
        ret->action = CORRELATE_PATCH;
    }
    if (s->count < INT32_MAX)
        s->count++;
    ret->count = s->count;
    ret->first_real_ns = s->first_real_ns;
    memcpy(ret->name, s->name, sizeof ret->name);
    return 0;
}

/* Step 3. */
static int take_token(struct correlator *c, struct str key, uint64_t now_ns, bool *ret, struct error *err)
{
    struct bucket *b = lru_ensure(&c->buckets, key);

    if (!b)
        return error_no_memory(err);
    if (b->burst < 1)
        bucket_init(b, (double)NS_PER_S / (double)CORRELATE_REFILL_NS, CORRELATE_BURST, now_ns);
    *ret = bucket_take(b, now_ns);
    return 0;
}

int correlator_observe(struct correlator *c, const struct correlate_event *e, uint64_t now_ns,
                       int64_t real_ns, struct correlated *ret, struct error *err)
{
    struct correlated out = { 0 };
    struct keys k;
    bool may_write = false;
    int r;

    assert(strlen(e->name) < EVENT_NAME_BYTES);
    r = make_keys(c, e, &k, err);
    if (r == 0)
        r = observe_message(c, &k, e->message, now_ns, &out.is_combined, err);
    if (r == 0)
        r = count_event(c, out.is_combined ? k.group : k.event, e->name, real_ns, &out, err);
    if (r == 0)
        r = take_token(c, k.bucket, now_ns, &may_write, err);
    if (r < 0)
        return r;
    if (!may_write)
        out.action = CORRELATE_DROP;
    *ret = out;
    return 0;
}
