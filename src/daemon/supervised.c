#include "daemon/supervised.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* How often it is asked whether all is well: until it is the first time, and from then on. */
#define POLL_NS (20 * NS_PER_MS)
#define LOOK_NS (5 * NS_PER_S)
/* Of the watcher's patience: one sign of life may get lost. */
#define SIGNS_PER_WATCHDOG 3

/* True when it was told; what was not is tried again later, and no trouble of ours until then. */
static bool tell(const struct supervised *s, const char *lines)
{
    struct error err;

    if (notify_send(s->notify, lines, &err) == 0)
        return true;
    log_debug("the watcher was not told", LOG_ERR(&err));
    return false;
}

/* A line end would begin another message. */
static void flatten(char *text)
{
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

static void tell_state(struct supervised *s)
{
    char words[SUPERVISED_WORDS_BYTES] = "", lines[SUPERVISED_WORDS_BYTES + 32];
    struct error err;
    bool is_ready = s->o.check(s->o.ctx, &err) == 0, is_first = is_ready && !s->is_ready;

    if (is_ready)
        s->o.describe(s->o.ctx, words);
    else
        (void)snprintf(words, sizeof words, "not ready: %.*s", SUPERVISED_WORDS_BYTES / 2, err.msg);
    flatten(words);
    if (!is_first && strcmp(words, s->said) == 0)
        return;
    (void)snprintf(lines, sizeof lines, "%sSTATUS=%s\n", is_first ? "READY=1\n" : "", words);
    if (!tell(s, lines))
        return;
    s->is_ready |= is_ready;
    memcpy(s->said, words, sizeof words);
}

static void on_timer(void *ctx)
{
    struct supervised *s = ctx;
    uint64_t now_ns = loop_now_ns(s->o.loop), next_ns = now_ns + (s->is_ready ? LOOK_NS : POLL_NS);
    uint64_t sign_ns = notify_watchdog_ns(s->notify) / SIGNS_PER_WATCHDOG;

    if (sign_ns && now_ns >= s->alive_at_ns && tell(s, "WATCHDOG=1\n"))
        s->alive_at_ns = now_ns + sign_ns;
    if (s->o.check)
        tell_state(s);
    if (sign_ns && s->alive_at_ns > now_ns && s->alive_at_ns < next_ns)
        next_ns = s->alive_at_ns;
    timer_arm(&s->timer, next_ns);
}

int supervised_init(struct supervised *s, const struct supervised_options *o, struct error *err)
{
    int r = notify_open(&s->notify, err);

    if (r < 0 || !s->notify)
        return r;
    s->o = *o;
    timer_init(&s->timer, o->loop, on_timer, s);
    timer_arm_after(&s->timer, 0);
    return 0;
}

void supervised_done(struct supervised *s)
{
    timer_disarm(&s->timer);
    s->notify = notify_free(s->notify);
}

void supervised_stopping(struct supervised *s)
{
    if (!s->notify)
        return;
    s->o.check = NULL;
    (void)tell(s, "STOPPING=1\nSTATUS=stopping\n"); /* who does not hear it sees the end */
}
