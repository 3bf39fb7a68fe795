/* Events as a user reads them: age, count and source, sorted by time.
 *
 * Reads the JSON of core/v1 events, old style (first and last time, count) and new style (eventTime, series).
 */
#ifndef BERTH_CLI_EVENT_LIST_H
#define BERTH_CLI_EVENT_LIST_H

#include "api/json.h"
#include "api/times.h"
#include "base/buf.h"

/* The time of the last occurrence; zero if not set. */
struct timestamp event_list_time(const struct json *d, json_ref event);
/* Sorts by that time, then by namespace and name. */
void event_list_sort(const struct json *d, json_ref *events, size_t count);

/* "3m", "3m (x5 over 10m)", "<unknown>". */
void event_list_write_age(const struct json *d, json_ref event, struct timestamp now, struct buf *out);
/* "component, host". */
void event_list_write_from(const struct json *d, json_ref event, struct buf *out);

#endif
