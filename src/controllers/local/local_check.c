/* What the local provisioner has in memory: does it fit together? For the simulator.
 *
 * A pass is a scan, then requests one after the other; between two passes a timer is armed. Whatever breaks
 * that ends the discovery of disks for good, and nothing shows it. */
#include "controllers/local/local_int.h"

#include <string.h>

static bool is_in_pass(const struct local *l)
{
    return l->scan || api_write_is_active(&l->write);
}

static const char *check_pass(const struct local *l)
{
    bool is_started = l->volumes_handler.informer != NULL;

    if (l->scan && api_write_is_active(&l->write))
        return "disks are searched for while a volume is written";
    if (is_started && is_in_pass(l) == timer_is_armed(&l->timer))
        return "no pass is under way or to come, or one comes during another";
    if (l->is_awake && is_in_pass(l))
        return "a pass is to come soon, and one is under way";
    if (l->is_dirty && !is_in_pass(l) && !l->is_awake)
        return "something happened during the last pass, and none is to come soon";
    if (l->finds_at > l->finds.list.count || l->revised_at > l->revised.count)
        return "a position is behind the end of its list";
    if (l->revision.volume && !api_write_is_active(&l->write))
        return "a volume is being changed, and no request is under way";
    if (!is_in_pass(l) && (l->finds.list.count || l->revised.count))
        return "no pass is under way, and something is left of one";
    return NULL;
}

/* They are searched by halves. */
static const char *check_order(const struct finds *f)
{
    for (size_t i = 1; i < f->list.count; i++) {
        const struct local_candidate *a = &f->list.items[i - 1], *b = &f->list.items[i];

        if (a->class == b->class && strcmp(a->name, b->name) >= 0)
            return "what was found is not in its order";
    }
    return NULL;
}

static const char *check_cleaning(const struct local *l, const struct local_cleaning *c)
{
    bool asks = api_write_is_active(&c->write);

    if (c->local != l || !c->volume)
        return "an erasure has no owner, or no volume";
    if (c->is_running && !c->job == !asks)
        return "a volume is being cleaned, and not one thing is under way for it";
    if (!c->is_running && (c->job || asks || c->failures == 0))
        return "a volume waits to be cleaned again, and is being cleaned or has not failed";
    if (!c->job == timer_is_armed(&c->timer))
        return "an erasure has no timer for its progress, or a timer runs without one";
    return NULL;
}

static const char *check_cleanings(const struct local *l)
{
    const struct local_cleaning *c, *other;
    const char *wrong = NULL;
    unsigned running = 0;

    LIST_FOREACH(c, &l->cleanings, link) {
        wrong = check_cleaning(l, c);
        if (wrong)
            return wrong;
        running += c->is_running;
        for (other = LIST_NEXT(c, link); other; other = LIST_NEXT(other, link))
            if (strcmp(other->volume->name, c->volume->name) == 0)
                return "a volume is cleaned twice";
    }
    return running > CLEANINGS_MAX ? "more volumes are cleaned at once than may be" : NULL;
}

const char *local_check(const struct local *l)
{
    const char *wrong = check_pass(l);

    if (!wrong)
        wrong = check_order(&l->finds);
    return wrong ? wrong : check_cleanings(l);
}
