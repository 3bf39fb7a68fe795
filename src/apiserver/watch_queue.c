/* The queue of lines of one watch: a ring of references to shared lines, limited in lines and bytes. */
#include "apiserver/watch_queue.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_FIRST_LINES 4

struct watch_line *watch_line_new(struct str text)
{
    struct watch_line *l = malloc(sizeof *l + text.len);

    if (!l)
        return NULL;
    *l = (struct watch_line){ .len = text.len };
    refcount_init(&l->refs);
    if (text.len)
        memcpy(l->text, text.s, text.len);
    return l;
}

struct watch_line *watch_line_new_object(enum watch_event_type type, const struct object *o)
{
    struct watch_line *l = malloc(sizeof *l);

    if (!l)
        return NULL;
    *l = (struct watch_line){ .type = type, .object = object_ref(o), .len = o->text.len };
    refcount_init(&l->refs);
    return l;
}

struct watch_line *watch_line_ref(struct watch_line *l)
{
    refcount_inc(&l->refs);
    return l;
}

struct watch_line *watch_line_unref(struct watch_line *l)
{
    if (!l || !refcount_dec(&l->refs))
        return NULL;
    (void)object_unref(l->object);
    free(l);
    return NULL;
}

static struct watch_line **queue_slot(const struct watch_queue *q, size_t index)
{
    return &q->ring[(q->first + index) & (q->cap - 1)];
}

struct watch_line *watch_queue_next(struct watch_queue *q)
{
    struct watch_line *l = q->count ? *queue_slot(q, 0) : NULL;

    if (!l)
        return NULL;
    q->bytes -= l->len;
    q->sent = 0;
    q->first = (q->first + 1) & (q->cap - 1);
    q->count--;
    return l;
}

static void queue_drop_first(struct watch_queue *q)
{
    (void)watch_line_unref(watch_queue_next(q));
}

void watch_queue_done(struct watch_queue *q)
{
    while (q->count)
        queue_drop_first(q);
    free(q->ring);
    *q = (struct watch_queue){ 0 };
}

static int queue_grow(struct watch_queue *q)
{
    size_t cap = q->cap ? q->cap * 2 : QUEUE_FIRST_LINES;
    struct watch_line **ring = malloc(cap * sizeof *ring);

    if (!ring)
        return -ERR_NO_MEMORY;
    for (size_t i = 0; i < q->count; i++)
        ring[i] = *queue_slot(q, i);
    free(q->ring);
    q->ring = ring;
    q->cap = cap;
    q->first = 0;
    return 0;
}

int watch_queue_push(struct watch_queue *q, struct watch_line *l)
{
    /* A single line may have any size: the limit of objects bounds it. */
    if (q->count && (q->count >= WATCH_QUEUE_LINES_MAX || l->len > WATCH_QUEUE_BYTES_MAX - q->bytes))
        return -ERR_TOO_LARGE;
    if (q->count == q->cap && queue_grow(q) < 0)
        return -ERR_NO_MEMORY;
    q->count++;
    q->bytes += l->len;
    *queue_slot(q, q->count - 1) = watch_line_ref(l);
    return 0;
}

size_t watch_queue_pull(struct watch_queue *q, char *to, size_t room)
{
    size_t done = 0;

    while (q->count && done < room) {
        const struct watch_line *l = *queue_slot(q, 0);
        size_t part = l->len - q->sent < room - done ? l->len - q->sent : room - done;

        memcpy(to + done, l->text + q->sent, part);
        done += part;
        q->sent += part;
        if (q->sent == l->len)
            queue_drop_first(q);
    }
    return done;
}
