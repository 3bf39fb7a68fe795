/* Checks the invariants of the local provisioner's state. For the simulator.
 *
 * A pass is a scan, then requests one after another; between two passes a timer is armed. If that is
 * violated, discovery stops forever without any other sign. */
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
        return "a scan runs while a write is in flight";
    if (is_started && is_in_pass(l) == timer_is_armed(&l->timer))
        return "no pass is running or scheduled, or one is scheduled during a pass";
    if (l->is_awake && is_in_pass(l))
        return "a pass is scheduled while one is running";
    if (l->is_dirty && !is_in_pass(l) && !l->is_awake)
        return "changes during the last pass did not schedule another";
    if (l->entries_at > l->entries.list.count || l->revised_at > l->revised.count)
        return "a position is beyond the end of its list";
    if (l->revision.volume && !api_write_is_active(&l->write))
        return "a change of a volume has no request in flight";
    if (!is_in_pass(l) && (l->entries.list.count || l->revised.count))
        return "state of a pass is left after its end";
    return NULL;
}

/* The entries are searched by bisection. */
static const char *check_order(const struct local_entries *f)
{
    for (size_t i = 1; i < f->list.count; i++) {
        const struct local_candidate *a = &f->list.items[i - 1], *b = &f->list.items[i];

        if (a->class == b->class && strcmp(a->name, b->name) >= 0)
            return "the entries are out of order";
    }
    return NULL;
}

static const char *check_erasure(const struct local *l, const struct local_erasure *c)
{
    bool has_request = api_write_is_active(&c->write);

    if (c->local != l || !c->volume)
        return "an erasure belongs to another provisioner, or has no volume";
    if (c->is_running && !c->job == !has_request)
        return "a running erasure has not exactly one job or request";
    if (!c->is_running && (c->job || has_request || c->failures == 0))
        return "a waiting erasure has a job or request, or has not failed";
    if (!c->job == timer_is_armed(&c->timer))
        return "the timer for progress is armed without a job, or not armed with one";
    return NULL;
}

static const char *check_erasures(const struct local *l)
{
    const struct local_erasure *c, *other;
    const char *wrong = NULL;
    unsigned running = 0;

    LIST_FOREACH(c, &l->erasures, link) {
        wrong = check_erasure(l, c);
        if (wrong)
            return wrong;
        running += c->is_running;
        for (other = LIST_NEXT(c, link); other; other = LIST_NEXT(other, link))
            if (strcmp(other->volume->name, c->volume->name) == 0)
                return "a volume has two erasures";
    }
    return running > ERASURES_MAX ? "more erasures are running than allowed" : NULL;
}

const char *local_check(const struct local *l)
{
    const char *wrong = check_pass(l);

    if (!wrong)
        wrong = check_order(&l->entries);
    return wrong ? wrong : check_erasures(l);
}
