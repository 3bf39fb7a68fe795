/* Waits for a state of one object: it is read once, then watched. */
#ifndef BERTH_CLI_AWAIT_H
#define BERTH_CLI_AWAIT_H

#include "cli/session.h"

#define AWAIT_FOREVER UINT64_MAX

struct await {
    const struct kind_info *kind;
    const char *ns; /* "" at cluster scope */
    const char *name;
    uint64_t timeout_ns; /* 0: check once */
    /* object 0: no object has that name. Returns 1 when the wait is over, 0 when it is not, or -ERR_* with
     * *err. */
    int (*check)(void *ctx, struct json *d, json_ref object, struct error *err);
    void *ctx;
};

/* 0 when check() ended the wait; -ERR_TIMEOUT; or another error, with its text in s->reply. */
int await_object(struct session *s, const struct await *what);

/* Parses a duration in Go's form: "90s", "1m30s", "500ms", "0"; may be negative. */
int await_read_timeout(const char *text, int64_t *ret_ns, struct error *err);

#endif
