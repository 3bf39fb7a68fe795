/* What reflectors and caches count, by resource. Internal to informers. */
#ifndef BERTH_MACHINERY_REFLECTOR_METRICS_H
#define BERTH_MACHINERY_REFLECTOR_METRICS_H

#include "api/kind.h"
#include "base/error.h"

struct metric;
struct metrics;

enum reflector_count {
    REFLECTOR_LISTS,         /* berth_reflector_lists_total: lists begun, however many pages */
    REFLECTOR_WATCHES,       /* berth_reflector_watches_total: watches begun */
    REFLECTOR_SHORT_WATCHES, /* berth_reflector_watch_short_total */
    REFLECTOR_EXPIRED,       /* berth_reflector_relist_expired_total */
    REFLECTOR_STALE,         /* berth_reflector_stale_events_total */
    REFLECTOR_UNREADABLE,    /* berth_watch_decode_errors_total */
    CACHE_OBJECTS,           /* berth_cache_objects */
    CACHE_SYNCED,            /* berth_cache_synced */
    REFLECTOR_COUNT_COUNT,
};

/* All zeroes count nowhere. */
struct reflector_metrics {
    struct metric *of[REFLECTOR_COUNT_COUNT];
};

/* Finds or makes the families. m: NULL for none. */
int reflector_metrics_init(struct reflector_metrics *rm, struct metrics *m, const struct kind_info *k,
                           struct error *err);
void reflector_metrics_add(const struct reflector_metrics *rm, enum reflector_count what, double amount);

#endif
