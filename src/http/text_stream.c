/* A complete text as a stream: pull() copies the next bytes, and never waits. */
#include "http/text_stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct text_stream {
    struct stream stream;
    char *text;
    size_t len;
    size_t at; /* how much of it was pulled */
};

static struct text_stream *text_of(const struct stream *s)
{
    return CONTAINER_OF((struct stream *)(uintptr_t)s, struct text_stream, stream);
}

static ssize_t text_pull(struct stream *s, char *to, size_t room)
{
    struct text_stream *t = text_of(s);
    size_t left = t->len - t->at, n = left < room ? left : room;

    if (n == 0)
        return STREAM_END;
    memcpy(to, t->text + t->at, n);
    t->at += n;
    return (ssize_t)n;
}

static size_t text_held(const struct stream *s)
{
    return text_of(s)->len;
}

static void text_close(struct stream *s)
{
    free(text_of(s)->text);
    free(text_of(s));
}

struct stream *text_stream_new_take(char *text, size_t len)
{
    struct text_stream *t = calloc(1, sizeof *t);

    if (!t) {
        free(text);
        return NULL;
    }
    t->stream =
        (struct stream){ .pull = text_pull, .close = text_close, .held = text_held, .is_document = true };
    t->text = text;
    t->len = len;
    return &t->stream;
}
