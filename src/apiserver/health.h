/* /livez, /readyz and /healthz: liveness and readiness of the server. Also /version. */
#ifndef BERTH_APISERVER_HEALTH_H
#define BERTH_APISERVER_HEALTH_H

#include "apiserver/api_call.h"

struct health;

/* Usage of volumes, if a node agent runs in this process. */
#define STATS_PATH "/stats/volumes"

/* Explanations: /why/pvc/NAMESPACE/NAME, if the controllers run in this process. */
#define WHY_PATH "/why"
#define STATUS_PATH "/status"

/* The server's own checks. */
int server_health_new(struct apiserver *s, struct health **ret, struct error *err);

/* The response to a path for which health_has_path() is true: the HTTP status, and the text in the arena. */
int health_text(const struct health *h, const char *path, const struct params *params, struct arena *a,
                const char **ret_text);
/* Answers the call with it. */
void health_serve(const struct health *h, struct call *c);
void version_serve(struct call *c);

#endif
