/* Waiting for what becomes of one object: it is looked at once, then watched. */
#ifndef BERTH_CLI_AWAIT_H
#define BERTH_CLI_AWAIT_H

#include "cli/session.h"

#define AWAIT_FOREVER UINT64_MAX

struct await {
    const struct kind_info *kind;
    const char *ns; /* "" at cluster scope */
    const char *name;
    uint64_t timeout_ns; /* 0: look once */
    /* object 0: there is none of that name. Returns 1 when the wait is over, 0 when it is not, or -ERR_* with
     * *err. */
    int (*look)(void *ctx, struct json *d, json_ref object, struct error *err);
    void *ctx;
};

/* 0 when look() ended it; -ERR_TIMEOUT; or what went wrong, which is in *ret, the server's or look()'s. */
int await_object(struct session *s, const struct await *what, struct reply *ret);

/* A span of time as Go writes it: "90s", "1m30s", "500ms", "0"; negative ones too. */
int await_read_timeout(const char *text, int64_t *ret_ns, struct error *err);

#endif
