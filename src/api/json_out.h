/* Writes JSON text into a buffer, member by member: for request bodies, responses and reports.
 *
 *     json_out_object(b, NULL);
 *     json_out_text(b, "name", v->obj.name);
 *     json_out_array(b, "accessModes");
 *     json_out_text(b, NULL, "ReadWriteOnce");
 *     json_out_end_array(b);
 *     json_out_end_object(b);
 *
 * key is the member's name, NULL for an item of an array and for the document itself. The last character of
 * the buffer decides whether a comma is written, so that there is no state: a document starts in an empty
 * buffer, after a newline, or after a space. Failures are kept in the buffer (base/buf.h). Documents that
 * must be read or edited are trees (api/json.h). */
#ifndef BERTH_API_JSON_OUT_H
#define BERTH_API_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/quantity.h"
#include "api/times.h"
#include "base/buf.h"

void json_out_object(struct buf *b, const char *key);
void json_out_end_object(struct buf *b);
void json_out_array(struct buf *b, const char *key);
void json_out_end_array(struct buf *b);

/* text NULL: null. */
void json_out_text(struct buf *b, const char *key, const char *text);
void json_out_str(struct buf *b, const char *key, struct str text);
void json_out_textf(struct buf *b, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void json_out_int(struct buf *b, const char *key, int64_t n);
void json_out_bool(struct buf *b, const char *key, bool is_true);
void json_out_null(struct buf *b, const char *key);
/* RFC 3339: in seconds, for metadata; in microseconds, for leases. */
void json_out_time(struct buf *b, const char *key, struct timestamp t);
void json_out_time_micro(struct buf *b, const char *key, struct timestamp t);
void json_out_quantity(struct buf *b, const char *key, const struct quantity *q);
/* {"storage": q}: a capacity. */
void json_out_storage(struct buf *b, const char *key, const struct quantity *q);
/* A value that is already JSON; trusted. */
void json_out_raw(struct buf *b, const char *key, struct str json);

/* Only the key: the caller writes the value next, with any function that writes JSON. */
void json_out_key(struct buf *b, const char *key);
/* For keys that are not C strings. */
void json_out_key_str(struct buf *b, struct str key);

#endif
