#include "machinery/reflector_metrics.h"

#include <assert.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "machinery/metrics.h"

static const char *const labels[] = { "resource", NULL };

static const struct metric_desc descs[] = {
    [REFLECTOR_LISTS] = { "berth_reflector_lists_total", "Lists begun, however many pages they took.",
                          METRIC_COUNTER, labels },
    [REFLECTOR_WATCHES] = { "berth_reflector_watches_total", "Watches begun.", METRIC_COUNTER, labels },
    [REFLECTOR_SHORT_WATCHES] = { "berth_reflector_watch_short_total",
                                  "Watches that ended within a second without an event.", METRIC_COUNTER,
                                  labels },
    [REFLECTOR_EXPIRED] = { "berth_reflector_relist_expired_total",
                            "Lists made again because a version had expired.", METRIC_COUNTER, labels },
    [REFLECTOR_STALE] = { "berth_reflector_stale_events_total",
                          "Events that were older than what the cache had.", METRIC_COUNTER, labels },
    [REFLECTOR_UNREADABLE] = { "berth_watch_decode_errors_total",
                               "Events and listed objects that could not be read.", METRIC_COUNTER, labels },
    [CACHE_OBJECTS] = { "berth_cache_objects", "Objects in the cache.", METRIC_GAUGE, labels },
    [CACHE_SYNCED] = { "berth_cache_synced", "Caches that have got their first list.", METRIC_GAUGE, labels },
};
static_assert(ARRAY_LEN(descs) == REFLECTOR_COUNT_COUNT, "describe every count");

int reflector_metrics_init(struct reflector_metrics *rm, struct metrics *m, const struct kind_info *k,
                           struct error *err)
{
    _cleanup_(buf_done_p) struct buf resource = BUF_INIT(METRIC_LABELS_BYTES_MAX);
    struct reflector_metrics made = { 0 };

    kind_resource(k, &resource);
    for (size_t i = 0; m && i < ARRAY_LEN(descs); i++) {
        struct metric_family *f;
        int r = metrics_share_family(m, &descs[i], &f, err);

        if (r < 0)
            return r;
        made.of[i] = metric_of(f, buf_cstr(&resource));
    }
    *rm = made;
    return buf_check(&resource, "resource", err);
}

void reflector_metrics_add(const struct reflector_metrics *rm, enum reflector_count what, double amount)
{
    if (rm->of[what])
        metric_add(rm->of[what], amount);
}
