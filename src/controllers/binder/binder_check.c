/* The binder's invariant: its parts, and that whoever holds a volume or waits is still there to go on. */
#include "controllers/binder/binder_int.h"

#include <string.h>

#include "controllers/binder/ops.h"

/* Where there are more volumes, only what is under way is looked at each time. */
#define VOLUMES_CHECKED_MAX 64

/* A hold is a claim's that waits for a write of the volume, or a write's that names the claim. */
static bool hold_is_owned(void *ctx, const struct volume *v, struct str claim_uid)
{
    const struct binder *b = ctx;
    const struct key_state *s;

    if (controller_is_asking(b->queues[BINDER_CLAIMS], &v->obj))
        return true;
    for (size_t at = 0; (s = map_next(&b->states, &at, NULL));)
        if (s->assumed_for && str_is(claim_uid, s->assumed_for) && strcmp(s->offered, v->obj.name) == 0)
            return true;
    return false;
}

static const char *states_check(const struct binder *b)
{
    const struct key_state *s;
    struct str key;

    for (size_t at = 0; (s = map_next(&b->states, &at, &key));) {
        if (!str_is(key, s->key))
            return "the state of a key is stored under another key";
        if (s->assumed_for && !s->offered)
            return "an assumed volume has no name";
        if (s->key[0] == 'v' && (s->offered || s->assumed_for))
            return "a volume key has an assumed volume";
    }
    return NULL;
}

static const char *ops_check(const struct binder *b)
{
    const struct binder_op *op;
    size_t count = 0;

    TAILQ_FOREACH(op, &b->ops, link) {
        count++;
        if (op->binder != b || !op->about || !op->pending)
            return "an operation belongs to another binder";
    }
    return count == operations_pending(b->operations) ? NULL : "the binder does not know a running operation";
}

/* An index that nobody has changed is as right as it was; now and then it is looked at all the same. */
static const char *index_check(const struct binder *b, bool is_thorough)
{
    struct binder *own = (struct binder *)(uintptr_t)b; /* remembers what it has found */
    uint64_t changes = volume_index_changes(b->index);
    const char *wrong;

    if (!is_thorough && changes == b->checked_changes)
        return volume_index_check_holds(b->index, hold_is_owned, own);
    wrong = volume_index_check(b->index, hold_is_owned, own);
    if (!wrong)
        own->checked_changes = changes;
    return wrong;
}

const char *binder_check(const struct binder *b, bool is_thorough)
{
    const char *wrong = operations_check(b->operations);

    if (!wrong)
        wrong = ops_check(b);
    if (wrong || (!is_thorough && volume_index_count(b->index) > VOLUMES_CHECKED_MAX))
        return wrong;
    for (size_t i = 0; i < BINDER_QUEUE_COUNT && !wrong; i++)
        wrong = controller_check(b->queues[i]);
    if (!wrong)
        wrong = waiting_check(b->waiting);
    if (!wrong)
        wrong = states_check(b);
    return wrong ? wrong : index_check(b, is_thorough);
}
