/* The lines that a watch still has to send, each encoded once and shared by all watches that send it.
 *
 * A queue is limited, in lines and in bytes, and usually empty: then it costs a few bytes. A watch whose
 * client does not read until the limit is reached is closed; see watches.c. */
#ifndef BERTH_APISERVER_WATCH_QUEUE_H
#define BERTH_APISERVER_WATCH_QUEUE_H

#include <stddef.h>

#include "apiserver/api_call.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/refcount.h"
#include "base/str.h"

#define WATCH_QUEUE_LINES_MAX 1000
#define WATCH_QUEUE_BYTES_MAX ((size_t)8 << 20)

/* One line of a watch: text, or an object for a caller that wants objects. */
struct watch_line {
    struct refcount refs;
    enum watch_event_type type; /* of the object */
    struct object *object;      /* NULL: the line is text */
    size_t len;                 /* of the text; for an object the length of its text, for the limit */
    char text[];
};

/* NULL without memory. */
struct watch_line *watch_line_new(struct str text);
struct watch_line *watch_line_new_object(enum watch_event_type type, const struct object *o);
struct watch_line *watch_line_ref(struct watch_line *l);
struct watch_line *watch_line_unref(struct watch_line *l);
DEFINE_CLEANUP(struct watch_line, watch_line_unref)

/* A zeroed queue is empty. */
struct watch_queue {
    struct watch_line **ring;
    size_t cap; /* a power of two; 0 before the first line */
    size_t first;
    size_t count;
    size_t bytes; /* of all lines in it */
    size_t sent;  /* bytes of the first line that were pulled */
};

void watch_queue_done(struct watch_queue *q);

/* Takes a reference. -ERR_TOO_LARGE when the queue is full, -ERR_NO_MEMORY; nothing changes then. */
int watch_queue_push(struct watch_queue *q, struct watch_line *l);

/* Pulls up to room bytes. 0 when it is empty. The queue must not contain objects. */
size_t watch_queue_pull(struct watch_queue *q, char *to, size_t room);
/* Removes the first line and returns its reference; NULL when it is empty. Not while a line is partly pulled.
 */
struct watch_line *watch_queue_next(struct watch_queue *q);

#endif
