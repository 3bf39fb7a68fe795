/* Health of a process: named checks and the answers of /livez, /readyz and /healthz.
 *
 * The API server and processes that only have a monitor use the same texts. The reason of a failed check goes
 * to the log; clients only get the name of the check. */
#ifndef BERTH_MACHINERY_HEALTH_H
#define BERTH_MACHINERY_HEALTH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

struct health;

/* The endpoints that include a check: /livez, /readyz, /healthz. */
enum { HEALTH_LIVE = 1 << 0, HEALTH_READY = 1 << 1, HEALTH_OLD = 1 << 2 };
#define HEALTH_ALL (HEALTH_LIVE | HEALTH_READY | HEALTH_OLD)

/* 0: healthy; else -ERR_* with a text for the log, which is not sent to clients. */
typedef int health_check_fn(void *ctx, struct error *err);

/* Every process has the check "ping", which always passes. NULL without memory. */
struct health *health_new(void);
struct health *health_free(struct health *h);
DEFINE_CLEANUP(struct health, health_free)

/* Checks are answered in the order they were added. Names are literals. ERR_EXISTS if the name is taken. */
int health_add(struct health *h, const char *name, unsigned when, health_check_fn *check, void *ctx,
               struct error *err);

/* The parameters of a request, decoded. */
struct health_ask {
    bool is_verbose;
    const struct str *excluded; /* checks that are ignored */
    size_t excluded_count;
};

/* True for the three endpoints and the paths below them. */
bool health_has_path(struct str path);

/* Answers a path such as "/readyz" or "/livez/ping": returns the HTTP status and writes the text to out,
 * which is empty and has room for a few lines. 404 for an unknown check; 0 if the path is not a health
 * endpoint. */
int health_answer(const struct health *h, struct str path, const struct health_ask *ask, struct buf *out);

/* The first failing check of /readyz, its name in front of the reason; 0 if all pass. */
int health_ready(const struct health *h, struct error *err);

#endif
