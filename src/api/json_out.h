/* JSON text written member by member into a buffer: the one writer for bodies, answers and reports.
 *
 *     json_out_object(b, NULL);
 *     json_out_text(b, "name", v->obj.name);
 *     json_out_array(b, "accessModes");
 *     json_out_text(b, NULL, "ReadWriteOnce");
 *     json_out_end_array(b);
 *     json_out_end_object(b);
 *
 * key is the member's name, NULL for an item of an array and for the document itself. Commas are placed by
 * what the buffer ends with, so that there is no state: a document begins in an empty buffer, behind a line
 * end, or behind a blank. Failures stick in the buffer (base/buf.h). Documents that must be read or edited
 * are trees (api/json.h). */
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
/* RFC 3339 in whole seconds, as metadata has it; in microseconds, as leases have it. */
void json_out_time(struct buf *b, const char *key, struct timestamp t);
void json_out_time_micro(struct buf *b, const char *key, struct timestamp t);
void json_out_quantity(struct buf *b, const char *key, const struct quantity *q);
/* {"storage": q}: a capacity. */
void json_out_storage(struct buf *b, const char *key, const struct quantity *q);
/* A value that is JSON already; trusted. */
void json_out_raw(struct buf *b, const char *key, struct str json);

/* The key only: the caller writes the value next, by whatever writes JSON. */
void json_out_key(struct buf *b, const char *key);
/* For keys that are not C strings. */
void json_out_key_str(struct buf *b, struct str key);

#endif
