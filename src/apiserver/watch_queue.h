/* What a watch has yet to send: lines, each encoded once and shared by all watches that send it.
 *
 * A queue is bounded, in lines and in bytes, and empty most of the time: then it costs a few bytes. Whoever
 * does not read until the bound is reached is cut off; see watches.c. */
#ifndef BERTH_APISERVER_WATCH_QUEUE_H
#define BERTH_APISERVER_WATCH_QUEUE_H

#include <stddef.h>

#include "apiserver/call.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/refcount.h"
#include "base/str.h"

#define WATCH_QUEUE_LINES_MAX 1000
#define WATCH_QUEUE_BYTES_MAX ((size_t)8 << 20)

/* One thing a watch tells: in text, or to a caller that wants objects, where there is one, by the object. */
struct watch_line {
    struct refcount refs;
    enum watch_event_type type; /* of the object */
    struct object *object;      /* NULL: it is the text */
    size_t len;                 /* of the text; of an object what its own has, for the queue's bound */
    char text[];
};

/* NULL when there is no memory. */
struct watch_line *watch_line_new(struct str text);
struct watch_line *watch_line_new_object(enum watch_event_type type, const struct object *o);
struct watch_line *watch_line_ref(struct watch_line *l);
struct watch_line *watch_line_unref(struct watch_line *l);
DEFINE_CLEANUP(struct watch_line, watch_line_unref)

/* Zeroed is empty. */
struct watch_queue {
    struct watch_line **ring;
    size_t cap; /* a power of two; 0 before the first line */
    size_t first;
    size_t count;
    size_t bytes; /* of all lines in it */
    size_t sent;  /* of the first line */
};

void watch_queue_done(struct watch_queue *q);

/* Takes a reference of its own. -ERR_TOO_LARGE when the queue is full, -ERR_NO_MEMORY; then nothing changed.
 */
int watch_queue_push(struct watch_queue *q, struct watch_line *l);

/* Takes out up to room bytes. 0 when it is empty. No line in it is an object. */
size_t watch_queue_pull(struct watch_queue *q, char *to, size_t room);
/* Takes out the first line, the reference too; NULL when it is empty. Not between two pulls of a line. */
struct watch_line *watch_queue_next(struct watch_queue *q);

#endif
