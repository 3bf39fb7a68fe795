/* Health of a process: named checks, and what /livez, /readyz and /healthz say of them. */
#ifndef BERTH_MACHINERY_HEALTH_H
#define BERTH_MACHINERY_HEALTH_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

struct health;

enum { HEALTH_LIVE = 1 << 0, HEALTH_READY = 1 << 1 };

/* 0: well; else -ERR_* with words for the log, which do not go out. */
typedef int health_check_fn(void *ctx, struct error *err);

struct health *health_new(void);
struct health *health_free(struct health *h);
DEFINE_CLEANUP(struct health, health_free)

/* Names are literals. */
int health_add(struct health *h, const char *name, unsigned when, health_check_fn *check, void *ctx,
               struct error *err);

/* Answers a path and query such as "/readyz?verbose&exclude=x" or "/livez/ping": the HTTP status, and the
 * text in out. 0 when the path is none of its own. */
int health_answer(const struct health *h, struct str path, struct str query, struct buf *out);

#endif
