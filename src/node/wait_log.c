/* Logs long waits. One timer per wait; memory for the texts only while waiting. */
#include "node/wait_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void on_long(void *ctx)
{
    struct wait_log *w = ctx;

    w->is_warned = true;
    log_warn("still waiting", LOG_STR(w->what, w->name), LOG_STR("cause", w->cause),
             LOG_UINT("seconds", WAIT_LOG_NS / NS_PER_S));
}

void wait_log_done(struct wait_log *w)
{
    timer_disarm(&w->timer);
    free(w->name);
    free(w->cause);
    *w = (struct wait_log){ 0 };
}

void wait_log_end(struct wait_log *w)
{
    if (w->is_warned)
        log_info("wait is over", LOG_STR(w->what, w->name), LOG_STR("cause", w->cause));
    wait_log_done(w);
}

void wait_log_begin(struct wait_log *w, struct loop *l, const char *what, const char *name, const char *cause)
{
    bool is_warned = w->is_warned;

    if (w->cause && strcmp(w->cause, cause) == 0)
        return;
    wait_log_done(w);
    w->is_warned = is_warned;
    w->what = what;
    w->name = strdup(name);
    w->cause = strdup(cause);
    if (!w->name || !w->cause) {
        wait_log_done(w); /* one log line is lost */
        return;
    }
    log_debug("waiting", LOG_STR(what, name), LOG_STR("cause", cause));
    timer_init(&w->timer, l, on_long, w);
    timer_arm_after(&w->timer, WAIT_LOG_NS);
}
