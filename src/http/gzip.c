/* A stream that compresses another with zlib. Each pull compresses at most GZIP_INPUT_BYTES, so that one
 * answer cannot block the loop. */
#include "http/gzip.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"

#define GZIP_LEVEL 1
#define GZIP_WINDOW_BITS (15 + 16) /* + 16: the gzip format instead of zlib's */
#define GZIP_MEMORY_LEVEL 8
/* Input per step: about a third of a millisecond. */
#define GZIP_INPUT_BYTES 32768U

struct gzip {
    struct stream stream;
    struct stream *source;
    z_stream z;
    bool source_is_at_end;
    bool is_at_end;
    char input[GZIP_INPUT_BYTES];
};

/* "q=0", "q=0.0", …: not acceptable. */
static bool weight_is_zero(struct str parameter)
{
    struct str name = str_trim(str_next(&parameter, '='));
    struct str value = parameter.s ? str_trim(parameter) : STR_LIT("1");

    if (!str_is(name, "q") && !str_is(name, "Q"))
        return false;
    for (size_t i = 0; i < value.len; i++)
        if (value.s[i] != '0' && value.s[i] != '.')
            return false;
    return value.len > 0;
}

bool gzip_is_accepted(struct str accept_encoding)
{
    struct str rest = accept_encoding;

    while (rest.s) {
        struct str item = str_next(&rest, ',');
        struct str name = str_trim(str_next(&item, ';'));
        bool is_wanted = str_is(name, "gzip");

        while (item.s) {
            struct str parameter = str_trim(str_next(&item, ';'));
            is_wanted = is_wanted && !weight_is_zero(parameter);
        }
        if (is_wanted)
            return true;
    }
    return false;
}

static struct gzip *gzip_of(const struct stream *s)
{
    return CONTAINER_OF((struct stream *)(uintptr_t)s, struct gzip, stream);
}

/* Pulls more from the source when all input is compressed. 1, or what pull() returned instead of a count. */
static ssize_t gzip_fill(struct gzip *g)
{
    ssize_t n;

    if (g->z.avail_in > 0 || g->source_is_at_end)
        return 1;
    n = g->source->pull(g->source, g->input, sizeof g->input);
    if (n == STREAM_END)
        g->source_is_at_end = true;
    else if (n <= 0)
        return n;
    g->z.next_in = (Bytef *)g->input;
    g->z.avail_in = n > 0 ? (unsigned)n : 0;
    return 1;
}

static ssize_t gzip_pull(struct stream *s, char *to, size_t room)
{
    struct gzip *g = gzip_of(s);
    unsigned asked = room < UINT_MAX ? (unsigned)room : UINT_MAX;

    assert(room > 0);
    g->z.next_out = (Bytef *)to;
    g->z.avail_out = asked;
    while (!g->is_at_end && g->z.avail_out == asked) {
        ssize_t r = gzip_fill(g);

        if (r <= 0)
            return r;
        g->is_at_end = deflate(&g->z, g->source_is_at_end ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_END;
    }
    return g->z.avail_out < asked ? (ssize_t)(asked - g->z.avail_out) : STREAM_END;
}

static size_t gzip_held(const struct stream *s)
{
    const struct gzip *g = gzip_of(s);

    return GZIP_HELD_BYTES + (g->source->held ? g->source->held(g->source) : 0);
}

static void gzip_close(struct stream *s)
{
    struct gzip *g = gzip_of(s);

    (void)deflateEnd(&g->z); /* fails only when the stream was not finished */
    g->source->close(g->source);
    free(g);
}

/* The source's carrier is this stream, whose own carrier is woken. */
static void source_wake(struct stream *source)
{
    struct gzip *g = source->carrier;

    g->stream.wake(&g->stream);
}

static void source_cut(struct stream *source)
{
    struct gzip *g = source->carrier;

    g->stream.cut(&g->stream);
}

struct stream *gzip_stream_new_take(struct stream *source)
{
    struct gzip *g = calloc(1, sizeof *g);

    if (!g || deflateInit2(&g->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL,
                           Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        source->close(source);
        return NULL;
    }
    g->stream =
        (struct stream){ .pull = gzip_pull, .close = gzip_close, .held = gzip_held, .is_document = true };
    g->source = source;
    source->carrier = g;
    source->wake = source_wake;
    source->cut = source_cut;
    return &g->stream;
}
