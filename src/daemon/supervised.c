/* Sends the state of a process to its service manager (sd_notify protocol), from a timer of the loop. A
 * message that could not be sent is sent again later. Without $NOTIFY_SOCKET nothing runs. */
#include "daemon/supervised.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* Interval of readiness checks: before and after the process is ready. */
#define POLL_NS (20 * NS_PER_MS)
#define CHECK_NS (5 * NS_PER_S)
/* Watchdog messages per watchdog period: one of them may be lost. */
#define SIGNS_PER_WATCHDOG 3

/* True when it was sent. A failure is only logged for debugging: the caller retries. */
static bool send_lines(const struct supervised *s, const char *lines)
{
    struct error err;

    if (notify_send(s->notify, lines, &err) == 0)
        return true;
    log_debug("cannot notify service manager", LOG_ERR(&err));
    return false;
}

static void send_state(struct supervised *s)
{
    char words[SUPERVISED_WORDS_BYTES] = "", lines[SUPERVISED_WORDS_BYTES + 32];
    struct error err;
    bool is_ready = s->o.check(s->o.ctx, &err) == 0, is_first = is_ready && !s->is_ready;

    if (is_ready)
        s->o.describe(s->o.ctx, words);
    else
        (void)snprintf(words, sizeof words, "not ready: %.*s", SUPERVISED_WORDS_BYTES / 2, err.msg);
    for (char *c = words; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' '; /* a newline would start another message */
    if (!is_first && strcmp(words, s->sent) == 0)
        return;
    (void)snprintf(lines, sizeof lines, "%sSTATUS=%s\n", is_first ? "READY=1\n" : "", words);
    if (!send_lines(s, lines))
        return;
    s->is_ready |= is_ready;
    memcpy(s->sent, words, sizeof words);
}

static void on_timer(void *ctx)
{
    struct supervised *s = ctx;
    uint64_t now_ns = loop_now_ns(s->o.loop), next_ns = now_ns + (s->is_ready ? CHECK_NS : POLL_NS);
    uint64_t sign_ns = notify_watchdog_ns(s->notify) / SIGNS_PER_WATCHDOG;

    if (sign_ns && now_ns >= s->alive_at_ns && send_lines(s, "WATCHDOG=1\n"))
        s->alive_at_ns = now_ns + sign_ns;
    if (s->o.check)
        send_state(s);
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
    (void)send_lines(
        s, "STOPPING=1\nSTATUS=stopping\n"); /* without this message the manager still notices the exit */
}
