/* Scores of the nodes that passed all filters: PreferNoSchedule taints, preferred node affinity, and how well
 * the volumes fit. */
#include "scheduler/scheduler_int.h"

#include <string.h>

#define PERCENT 100
#define SHAPE_SCALE 10 /* a shape's scores are 0 to 10, a node's 0 to 100 */

/* Only tolerations with that effect, or with none, count. */
static bool is_tolerated(const struct pod *p, const struct taint *t)
{
    for (uint32_t i = 0; i < p->tolerations.count; i++) {
        const struct toleration *o = &p->tolerations.items[i];

        if ((o->effect == TAINT_EFFECT_NONE || o->effect == TAINT_PREFER_NO_SCHEDULE) &&
            toleration_matches(o, t))
            return true;
    }
    return false;
}

int64_t score_taints(const struct pod *p, const struct node *n)
{
    int64_t count = 0;

    for (uint32_t i = 0; i < n->taints.count; i++)
        count +=
            n->taints.items[i].effect == TAINT_PREFER_NO_SCHEDULE && !is_tolerated(p, &n->taints.items[i]);
    return count;
}

static bool has_terms(const struct node_selector *term)
{
    return term && term->count > 0 && term->terms[0].expressions_count + term->terms[0].fields_count > 0;
}

int64_t score_affinity(const struct pod *p, const struct node *n)
{
    struct error ignored;
    int64_t sum = 0;

    for (uint32_t i = 0; i < p->preferred_affinity_count; i++) {
        const struct node_preference *w = &p->preferred_affinity[i];

        if (w->weight != 0 && has_terms(w->term) &&
            node_selector_matches(w->term, n->obj.labels.items, n->obj.labels.count, n->obj.name, &ignored) ==
                1)
            sum += w->weight;
    }
    return sum;
}

/* --- Volumes --- */

/* The shape's score at a utilization, interpolated linearly between its points, times ten. */
static int64_t shape_at(const struct scheduler_options *o, int64_t percent)
{
    const struct shape_point *p = o->shape;
    int64_t rise;

    for (size_t i = 0; i < o->shape_count; i++) {
        if (percent > p[i].percent)
            continue;
        if (i == 0)
            return (int64_t)p[0].score * SHAPE_SCALE;
        rise = ((int64_t)p[i].score - p[i - 1].score) * SHAPE_SCALE;
        return (int64_t)p[i - 1].score * SHAPE_SCALE +
               rise * (percent - p[i - 1].percent) / (p[i].percent - p[i - 1].percent);
    }
    return (int64_t)p[o->shape_count - 1].score * SHAPE_SCALE;
}

static int64_t class_score(const struct scheduler_options *o, int64_t requested, int64_t capacity)
{
    if (capacity <= 0 || requested > capacity)
        return shape_at(o, PERCENT);
    return shape_at(o, (int64_t)((__int128)requested * PERCENT / capacity));
}

/* An earlier claim has the same class. */
static bool is_class_scored(const struct cycle *c, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (c->chosen.items[i] && strcmp(c->chosen.items[i]->class, c->chosen.items[at]->class) == 0)
            return true;
    return false;
}

static int64_t score_class_of(const struct cycle *c, size_t at)
{
    int64_t requested = 0, capacity = 0;

    for (size_t i = at; i < c->claims.count; i++) {
        if (!c->chosen.items[i] || strcmp(c->chosen.items[i]->class, c->chosen.items[at]->class) != 0)
            continue;
        if (__builtin_add_overflow(requested, quantity_value(&c->claims.items[i].claim->request),
                                   &requested) ||
            __builtin_add_overflow(capacity, quantity_value(&c->chosen.items[i]->capacity), &capacity))
            return class_score(&c->s->o, 1, 0);
    }
    return class_score(&c->s->o, requested, capacity);
}

int64_t score_volumes(const struct cycle *c)
{
    int64_t sum = 0, classes = 0;

    if (c->s->o.shape_count == 0 || !c->has_unbound)
        return -1;
    for (size_t i = 0; i < c->claims.count; i++) {
        if (!c->chosen.items[i] || is_class_scored(c, i))
            continue;
        sum += score_class_of(c, i);
        classes++;
    }
    /* The mean, rounded half up; scores are never negative. */
    return classes == 0 ? -1 : (2 * sum + classes) / (2 * classes);
}
