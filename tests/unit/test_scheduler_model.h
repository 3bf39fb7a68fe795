/* Small worlds as plain numbers, and what the scheduler has to make of them: the matching of volumes to a
 * pod's claims on a node, written down once more, as simply as it can be, and beside it a search through
 * everything that could be given to whom. Nothing here uses the scheduler's code. */
#ifndef BERTH_TESTS_TEST_SCHEDULER_MODEL_H
#define BERTH_TESTS_TEST_SCHEDULER_MODEL_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/rng.h"

#define NODES_MAX 4
#define VOLUMES_MAX 6
#define CLAIMS_MAX 4
#define CLASSES_COUNT 3
#define CAPACITIES_MAX 3
#define NONE (-1)
#define GIVEN_PROVISION (-2) /* a claim that gets a new volume */

enum { ZONE_NONE, ZONE_A, ZONE_B };
enum reach { REACH_ANY, REACH_NODE, REACH_ZONE, REACH_OTHER_ZONES, REACH_NODE_OR_ZONE, REACH_COUNT };
enum ref { REF_NONE, REF_NAME, REF_UID, REF_OLD_UID, REF_PROMISE };
enum { MODE_ONCE = 1, MODE_MANY_READ = 2 };

struct model_volume {
    int size; /* Gi */
    int class;
    enum reach reach;
    int node, zone; /* of the reach */
    enum ref ref;
    int claim; /* that it is kept for, or promised to; CLAIMS_MAX: of another pod */
    unsigned modes;
    bool is_available, is_block, is_fast, is_deleting;
};

struct model_claim {
    int size;
    int class;
    unsigned modes;
    int volume; /* that it is bound to; VOLUMES_MAX: one that is gone; NONE */
    int node;   /* selected; NODES_MAX: one that is gone; NONE */
    bool is_block, wants_fast;
    bool has_source;       /* it is to be filled: no free volume is */
    bool is_node_promised; /* the node is not written yet */
};

struct model_class {
    bool provisions;
    bool is_limited;     /* its driver publishes capacities */
    int topology;        /* a zone, or ZONE_NONE for all nodes */
    bool has_empty_term; /* which no node matches */
};

struct model_capacity {
    int class;
    int size;     /* 0: none */
    int size_max; /* of one volume; 0: not said */
    int zone;     /* that has access; ZONE_NONE: all nodes; NONE: no node */
};

struct model {
    int nodes_count, volumes_count, claims_count, capacities_count;
    int zones[NODES_MAX];
    struct model_volume volumes[VOLUMES_MAX];
    struct model_claim claims[CLAIMS_MAX];
    struct model_class classes[CLASSES_COUNT];
    struct model_capacity capacities[CAPACITIES_MAX];
};

/* Why a node will not do, and what the claims get where it will: a volume or GIVEN_PROVISION. */
struct model_verdict {
    bool node_conflict, bind_conflict, no_space, volume_gone;
    int given[CLAIMS_MAX];
};

/* --- Chance --- */

static inline int below(struct rng *r, int n)
{
    return (int)rng_below(r, (uint64_t)n);
}

static inline void random_volume(struct rng *r, const struct model *m, struct model_volume *v)
{
    *v = (struct model_volume){ .size = 1 + below(r, 4),
                                .class = below(r, 10) < 7 ? 0 : below(r, CLASSES_COUNT),
                                .reach = (enum reach)below(r, REACH_COUNT),
                                .node = below(r, m->nodes_count),
                                .zone = ZONE_A + below(r, 2),
                                .claim = NONE,
                                .modes = rng_chance(r, 80) ? MODE_ONCE | MODE_MANY_READ : MODE_ONCE,
                                .is_available = rng_chance(r, 90),
                                .is_block = rng_chance(r, 10),
                                .is_fast = rng_chance(r, 70),
                                .is_deleting = rng_chance(r, 5) };
    if (rng_chance(r, 70))
        return;
    v->ref = (enum ref)(REF_NAME + below(r, 4));
    v->claim = below(r, m->claims_count + 1);
    if (v->claim == m->claims_count)
        v->claim = CLAIMS_MAX;
}

static inline void random_claim(struct rng *r, const struct model *m, struct model_claim *c)
{
    *c = (struct model_claim){ .size = 1 + below(r, 1 + below(r, 4)),
                               .class = below(r, 10) < 7 ? 0 : below(r, CLASSES_COUNT),
                               .modes = rng_chance(r, 80) ? MODE_ONCE : MODE_ONCE | MODE_MANY_READ,
                               .volume = NONE,
                               .node = NONE,
                               .is_block = rng_chance(r, 10),
                               .wants_fast = rng_chance(r, 25) };
    if (rng_chance(r, 15))
        c->volume = rng_chance(r, 90) && m->volumes_count > 0 ? below(r, m->volumes_count) : VOLUMES_MAX;
    else if (rng_chance(r, 15))
        c->node = below(r, 10) ? below(r, m->nodes_count) : NODES_MAX;
    c->is_node_promised = c->node != NONE && rng_chance(r, 30);
    c->has_source = rng_chance(r, 15);
}

static inline bool is_unbound(const struct model_claim *c)
{
    return c->volume == NONE;
}

/* A volume is bound to one claim, and says so. */
static inline void tidy_bound(struct model *m)
{
    for (int i = 0; i < m->claims_count; i++) {
        struct model_claim *c = &m->claims[i];

        for (int k = 0; k < i; k++)
            if (!is_unbound(c) && m->claims[k].volume == c->volume)
                c->volume = VOLUMES_MAX;
        if (!is_unbound(c) && c->volume != VOLUMES_MAX) {
            m->volumes[c->volume].ref = REF_UID;
            m->volumes[c->volume].claim = i;
        }
    }
}

/* A claim is promised one volume at most, and one that serves it. */
static inline void tidy_promises(struct model *m)
{
    bool has_one[CLAIMS_MAX + 1] = { false };

    for (int i = 0; i < m->volumes_count; i++) {
        struct model_volume *v = &m->volumes[i];
        const struct model_claim *c;

        if (v->ref != REF_PROMISE)
            continue;
        c = v->claim == CLAIMS_MAX ? NULL : &m->claims[v->claim];
        if (has_one[v->claim] || (c && (!is_unbound(c) || c->node != NONE)))
            v->ref = REF_NONE;
        has_one[v->claim] = true;
        if (!c)
            continue;
        v->class = c->class;
        v->size = v->size > c->size ? v->size : c->size;
        v->is_block = c->is_block;
        v->is_deleting = false;
    }
}

static inline void model_random(struct rng *r, struct model *m)
{
    *m = (struct model){ .nodes_count = 1 + below(r, NODES_MAX),
                         .volumes_count = VOLUMES_MAX - below(r, 1 + below(r, VOLUMES_MAX + 1)),
                         .claims_count = 1 + below(r, 1 + below(r, CLAIMS_MAX)),
                         .capacities_count = below(r, CAPACITIES_MAX + 1) };
    for (int i = 0; i < m->nodes_count; i++)
        m->zones[i] = below(r, 3);
    for (int i = 0; i < CLASSES_COUNT; i++)
        m->classes[i] = (struct model_class){ .provisions = i > 0 && rng_chance(r, 70),
                                              .is_limited = rng_chance(r, 40),
                                              .topology = rng_chance(r, 60) ? ZONE_NONE : 1 + below(r, 2),
                                              .has_empty_term = rng_chance(r, 5) };
    for (int i = 0; i < m->capacities_count; i++)
        m->capacities[i] = (struct model_capacity){ .class = below(r, CLASSES_COUNT),
                                                    .size = below(r, 6),
                                                    .size_max = rng_chance(r, 30) ? 1 + below(r, 4) : 0,
                                                    .zone = below(r, 4) - 1 };
    for (int i = 0; i < m->volumes_count; i++)
        random_volume(r, m, &m->volumes[i]);
    for (int i = 0; i < m->claims_count; i++)
        random_claim(r, m, &m->claims[i]);
    tidy_bound(m);
    tidy_promises(m);
}

/* --- One volume, one claim, one node --- */

static inline bool model_reaches(const struct model *m, const struct model_volume *v, int node)
{
    switch (v->reach) {
    case REACH_NODE:
        return v->node == node;
    case REACH_ZONE:
        return m->zones[node] == v->zone;
    case REACH_OTHER_ZONES:
        return m->zones[node] != v->zone;
    case REACH_NODE_OR_ZONE:
        return v->node == node || m->zones[node] == v->zone;
    case REACH_ANY:
    case REACH_COUNT:
        break;
    }
    return true;
}

/* Tests 1 to 5 of the table of static matching, which hold for every volume. */
static inline bool model_may_serve(const struct model *m, int volume, int claim)
{
    const struct model_volume *v = &m->volumes[volume];
    const struct model_claim *c = &m->claims[claim];

    if (v->ref != REF_NONE && (v->claim != claim || v->ref == REF_OLD_UID))
        return false;
    return v->class == c->class && v->size >= c->size && v->is_block == c->is_block && !v->is_deleting;
}

/* Tests 8 to 12, of a volume that is kept for nobody. */
static inline bool model_is_free_for(const struct model *m, int volume, int claim, int node)
{
    const struct model_volume *v = &m->volumes[volume];
    const struct model_claim *c = &m->claims[claim];

    return v->ref == REF_NONE && !c->has_source && model_may_serve(m, volume, claim) && v->is_available &&
           (v->is_fast || !c->wants_fast) && model_reaches(m, v, node) && (c->modes & ~v->modes) == 0;
}

/* What is kept for the claim, by name order, what is only promised last; NONE. Test 7. */
static inline int model_kept_for(const struct model *m, int claim)
{
    int promised = NONE;

    for (int i = 0; i < m->volumes_count; i++) {
        if (m->volumes[i].ref == REF_NONE || !model_may_serve(m, i, claim))
            continue;
        if (m->volumes[i].ref != REF_PROMISE)
            return i;
        promised = i;
    }
    return promised;
}

enum made { MADE, MADE_NOT, MADE_NO_SPACE };

/* The provision check and the capacities. */
static inline enum made model_provision(const struct model *m, int claim, int node)
{
    const struct model_claim *c = &m->claims[claim];
    const struct model_class *k = &m->classes[c->class];

    if (!k->provisions)
        return MADE_NOT;
    if (k->has_empty_term || (k->topology != ZONE_NONE && k->topology != m->zones[node]))
        return MADE_NOT;
    if (!k->is_limited)
        return MADE;
    for (int i = 0; i < m->capacities_count; i++) {
        const struct model_capacity *a = &m->capacities[i];
        int limit = a->size_max ? a->size_max : a->size;

        if (a->class == c->class && limit >= c->size && a->zone != NONE &&
            (a->zone == ZONE_NONE || a->zone == m->zones[node]))
            return MADE;
    }
    return MADE_NO_SPACE;
}

/* --- The pod on a node, as it is to be decided --- */

static inline int model_match(const struct model *m, int claim, int node, const int *given)
{
    int best = NONE, kept = model_kept_for(m, claim);

    if (kept != NONE)
        return model_reaches(m, &m->volumes[kept], node) ? kept : NONE;
    for (int i = 0; i < m->volumes_count; i++) {
        bool is_taken = false;

        for (int k = 0; k < m->claims_count; k++)
            is_taken |= given[k] == i;
        if (!is_taken && model_is_free_for(m, i, claim, node) &&
            (best == NONE || m->volumes[i].size < m->volumes[best].size))
            best = i;
    }
    return best;
}

static inline void model_judge_bound(const struct model *m, int node, struct model_verdict *v)
{
    for (int i = 0; i < m->claims_count; i++) {
        int volume = m->claims[i].volume;

        if (is_unbound(&m->claims[i]))
            continue;
        v->volume_gone = volume == VOLUMES_MAX;
        v->node_conflict = !v->volume_gone && !model_reaches(m, &m->volumes[volume], node);
        if (v->volume_gone || v->node_conflict)
            return;
    }
}

/* False: no more is looked at. */
static inline bool model_make(const struct model *m, int claim, int node, struct model_verdict *v)
{
    enum made made = model_provision(m, claim, node);

    v->given[claim] = GIVEN_PROVISION;
    v->bind_conflict = made == MADE_NOT;
    v->no_space = made == MADE_NO_SPACE;
    return made == MADE;
}

static inline struct model_verdict model_judge(const struct model *m, int node)
{
    struct model_verdict v = { .given = { NONE, NONE, NONE, NONE } };
    bool goes_on = true;

    model_judge_bound(m, node, &v);
    for (int i = 0; i < m->claims_count; i++)
        if (is_unbound(&m->claims[i]) && m->claims[i].node != NONE && m->claims[i].node != node) {
            v.bind_conflict = true;
            return v;
        }
    for (int size = 0; size <= 4; size++)
        for (int i = 0; i < m->claims_count; i++)
            if (is_unbound(&m->claims[i]) && m->claims[i].node == NONE && m->claims[i].size == size)
                v.given[i] = model_match(m, i, node, v.given);
    for (int i = 0; i < m->claims_count && goes_on; i++)
        if (is_unbound(&m->claims[i]) && m->claims[i].node != NONE)
            goes_on = model_make(m, i, node, &v);
    for (int size = 0; size <= 4; size++)
        for (int i = 0; i < m->claims_count && goes_on; i++)
            if (is_unbound(&m->claims[i]) && m->claims[i].node == NONE && m->claims[i].size == size &&
                v.given[i] == NONE)
                goes_on = model_make(m, i, node, &v);
    return v;
}

static inline bool model_fits(const struct model_verdict *v)
{
    return !v->node_conflict && !v->bind_conflict && !v->no_space && !v->volume_gone;
}

/* --- The pod on a node, everything tried --- */

static inline bool model_may_get(const struct model *m, int claim, int volume, int node)
{
    int kept = model_kept_for(m, claim);

    return kept == NONE ? model_is_free_for(m, volume, claim, node)
                        : kept == volume && model_reaches(m, &m->volumes[kept], node);
}

/* Is there any way to serve the claims from this one on, without the volumes of the bits in taken? */
static inline bool model_search(const struct model *m, int node, int claim, unsigned taken)
{
    const struct model_claim *c = &m->claims[claim];

    if (claim == m->claims_count)
        return true;
    if (c->volume != NONE)
        return c->volume != VOLUMES_MAX && model_reaches(m, &m->volumes[c->volume], node) &&
               model_search(m, node, claim + 1, taken);
    if (c->node != NONE)
        return c->node == node && model_provision(m, claim, node) == MADE &&
               model_search(m, node, claim + 1, taken);
    for (int i = 0; i < m->volumes_count; i++)
        if (!(taken & 1U << i) && model_may_get(m, claim, i, node) &&
            model_search(m, node, claim + 1, taken | 1U << i))
            return true;
    return model_provision(m, claim, node) == MADE && model_search(m, node, claim + 1, taken);
}

#endif
