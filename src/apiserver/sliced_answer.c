/* Responses that are computed in slices: a round robin over all of them, one slice per step of the loop. A
 * response that is finished in its first slice is sent without a stream. */
#include "apiserver/sliced_answer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "apiserver/server.h"
#include "base/cleanup.h"
#include "io/loop.h"

/* Longer responses are not indented or converted to YAML: that would block the loop. */
#define SHAPED_BYTES_MAX ((size_t)64 << 10)

struct sliced_stream {
    struct stream stream;
    TAILQ_ENTRY(sliced_stream) link; /* in the list while the response is computed */
    struct sliced_answers *all;
    struct sliced_answer *answer; /* NULL: finished, or failed */
    struct view view;
    struct buf text;
    size_t sent;
    bool has_failed;
};

struct sliced_answers {
    TAILQ_HEAD(sliced_streams, sliced_stream) streams; /* the first one gets the next slice */
    size_t count;
    struct deferred turn;
};

static struct sliced_stream *sliced_of(const struct stream *s)
{
    return CONTAINER_OF((struct stream *)(uintptr_t)s, struct sliced_stream, stream);
}

static void sliced_end(struct sliced_stream *s)
{
    if (!s->answer)
        return;
    s->answer->free(s->answer);
    s->answer = NULL;
    TAILQ_REMOVE(&s->all->streams, s, link);
    s->all->count--;
}

/* --- The stream --- */

static ssize_t sliced_pull(struct stream *stream, char *to, size_t room)
{
    struct sliced_stream *s = sliced_of(stream);
    size_t left = s->text.len - s->sent, n = left < room ? left : room;

    if (s->has_failed)
        return STREAM_FAILED;
    if (s->answer)
        return 0; /* wake() follows */
    if (n == 0)
        return STREAM_END;
    memcpy(to, buf_cstr(&s->text) + s->sent, n);
    s->sent += n;
    return (ssize_t)n;
}

static size_t sliced_held(const struct stream *stream)
{
    return sliced_of(stream)->answer ? 0 : sliced_of(stream)->text.cap;
}

static void sliced_close(struct stream *stream)
{
    struct sliced_stream *s = sliced_of(stream);

    sliced_end(s);
    buf_done(&s->text);
    free(s);
}

/* --- Slices --- */

static void on_turn(void *ctx)
{
    struct sliced_answers *all = ctx;
    struct sliced_stream *s = TAILQ_FIRST(&all->streams);
    struct error err;
    int r;

    if (!s)
        return;
    r = s->answer->step(s->answer, &s->text, &err);
    if (r == 0) {
        TAILQ_REMOVE(&all->streams, s, link);
        TAILQ_INSERT_TAIL(&all->streams, s, link);
    } else {
        if (s->text.len <= SHAPED_BYTES_MAX)
            view_shape_json(&s->view, &s->text);
        s->has_failed = r < 0 || s->text.failed;
        sliced_end(s);
        s->stream.wake(&s->stream);
    }
    if (!TAILQ_EMPTY(&all->streams))
        loop_defer(&all->turn);
}

struct sliced_answers *sliced_answers_new(struct loop *loop)
{
    struct sliced_answers *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    TAILQ_INIT(&all->streams);
    deferred_init(&all->turn, loop, on_turn, all);
    return all;
}

struct sliced_answers *sliced_answers_free(struct sliced_answers *all)
{
    if (all)
        loop_undefer(&all->turn);
    free(all);
    return NULL;
}

void sliced_answers_stop(struct sliced_answers *all)
{
    struct sliced_stream *s;

    while ((s = TAILQ_FIRST(&all->streams))) {
        s->has_failed = true;
        sliced_end(s);
        s->stream.wake(&s->stream);
    }
}

/* --- Starting --- */

static void answer_stream(struct sliced_answers *all, struct call *c, struct sliced_answer *a)
{
    struct sliced_stream *s = all->count < SLICED_ANSWERS_MAX ? calloc(1, sizeof *s) : NULL;
    struct error err;

    if (!s) {
        a->free(a);
        (void)error_set(&err, ERR_BUSY, "too many explanations in progress, please try again later");
        call_add_header(c, "Retry-After", "1");
        call_fail(c, &err, /* about= */ NULL);
        return;
    }
    s->stream = (struct stream){
        .pull = sliced_pull, .close = sliced_close, .held = sliced_held, .is_document = true
    };
    s->all = all;
    s->answer = a;
    s->view = c->view;
    s->text = c->reply; /* the text so far */
    buf_init(&c->reply, s->text.len_max);
    TAILQ_INSERT_TAIL(&all->streams, s, link);
    all->count++;
    loop_defer(&all->turn);
    call_answer_stream(c, &s->stream, view_content_type(&c->view));
}

void sliced_answer_take(struct sliced_answers *all, struct call *c, struct sliced_answer *a)
{
    struct error err;
    int r = a->step(a, &c->reply, &err);

    while (r == 0 && !c->carrier->takes_documents)
        r = a->step(a, &c->reply, &err);
    if (r == 0) {
        answer_stream(all, c, a);
        return;
    }
    a->free(a);
    if (r < 0)
        call_fail(c, &err, /* about= */ NULL);
    else
        call_answer_json_reply(c, 200);
}
