/* The claims that wait after a failure for good, by uid. */
#include "controllers/provisioner/slow_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

struct slow_claim {
    TAILQ_ENTRY(slow_claim) link; /* while it is released */
    struct object *claim, *class;
    uint64_t until_ns; /* loop time */
};

static void slow_claim_free(struct slow_claim *c)
{
    (void)object_unref(c->claim);
    (void)object_unref(c->class);
    free(c);
}

void slow_set_init(struct slow_set *s, struct hash_seed seed)
{
    map_init(&s->claims, seed);
}

void slow_set_done(struct slow_set *s)
{
    struct slow_claim *c;

    for (size_t at = 0; (c = map_next(&s->claims, &at, NULL));)
        slow_claim_free(c);
    map_done(&s->claims);
}

void slow_set_drop(struct slow_set *s, const char *claim_uid)
{
    struct slow_claim *c = map_remove(&s->claims, str_of(claim_uid));

    if (c)
        slow_claim_free(c);
}

void slow_set_put(struct slow_set *s, const struct object *claim, const struct object *class,
                  uint64_t until_ns)
{
    struct slow_claim *c = calloc(1, sizeof *c);

    slow_set_drop(s, claim->uid);
    if (!c)
        return;
    *c = (struct slow_claim){ .claim = object_ref(claim), .class = object_ref(class), .until_ns = until_ns };
    if (map_put(&s->claims, str_of(c->claim->uid), c, NULL) < 0)
        slow_claim_free(c);
}

uint64_t slow_set_until_ns(struct slow_set *s, const struct object *claim, const struct object *class,
                           uint64_t now_ns)
{
    const struct slow_claim *c = map_get(&s->claims, str_of(claim->uid));

    if (c && c->until_ns > now_ns && strcmp(c->class->uid, class->uid) == 0)
        return c->until_ns;
    slow_set_drop(s, claim->uid);
    return 0;
}

void slow_set_release(struct slow_set *s, const struct object *class,
                      void (*fn)(void *ctx, const struct object *claim), void *ctx)
{
    TAILQ_HEAD(, slow_claim) released = TAILQ_HEAD_INITIALIZER(released);
    struct slow_claim *c;

    for (size_t at = 0; (c = map_next(&s->claims, &at, NULL));)
        if (strcmp(c->class->name, class->name) == 0 && strcmp(c->class->uid, class->uid) != 0)
            TAILQ_INSERT_TAIL(&released, c, link);
    while ((c = TAILQ_FIRST(&released))) {
        TAILQ_REMOVE(&released, c, link);
        (void)map_remove(&s->claims, str_of(c->claim->uid));
        fn(ctx, c->claim);
        slow_claim_free(c);
    }
}
