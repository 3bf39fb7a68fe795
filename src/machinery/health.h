/* Health of a process: named checks, and what /livez, /readyz and /healthz say of them.
 *
 * One implementation of the texts that probes and people read, for the API server and for a process that only
 * has a monitor. Why a check fails is for the log: outside nobody is told more than its name. */
#ifndef BERTH_MACHINERY_HEALTH_H
#define BERTH_MACHINERY_HEALTH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct health;

/* At which endpoints a check is asked: /livez, /readyz, /healthz. */
enum { HEALTH_LIVE = 1 << 0, HEALTH_READY = 1 << 1, HEALTH_OLD = 1 << 2 };
#define HEALTH_ALL (HEALTH_LIVE | HEALTH_READY | HEALTH_OLD)

/* 0: well; else -ERR_* with words for the log, which do not go out. */
typedef int health_check_fn(void *ctx, struct error *err);

/* Every process has the check "ping", which holds. NULL without memory. */
struct health *health_new(void);
struct health *health_free(struct health *h);
DEFINE_CLEANUP(struct health, health_free)

/* Checks answer in the order they were added. Names are literals. ERR_EXISTS for a name that is taken. */
int health_add(struct health *h, const char *name, unsigned when, health_check_fn *check, void *ctx,
               struct error *err);

/* The parameters of a request, decoded. */
struct health_ask {
    bool is_verbose;
    const struct str *excluded; /* checks that do not count */
    size_t excluded_count;
};

/* True for the three endpoints and what is below them. */
bool health_has_path(struct str path);

/* Answers a path such as "/readyz" or "/livez/ping": the HTTP status, and the text in out, which is
 * empty and has room for a few lines. 404 for a check that is not there; 0 when the path is none of its own.
 */
int health_answer(const struct health *h, struct str path, const struct health_ask *ask, struct buf *out);

/* The first check of /readyz that fails, with its name in front of the words; 0 when none does. */
int health_ready(const struct health *h, struct error *err);

#endif
