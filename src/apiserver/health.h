/* /livez, /readyz and /healthz: is the server alive, and can it be asked things. /version too. */
#ifndef BERTH_APISERVER_HEALTH_H
#define BERTH_APISERVER_HEALTH_H

#include "apiserver/call.h"

struct health;

/* How full a node's volumes are, where a node is. */
#define STATS_PATH "/stats/volumes"

/* Why objects are as they are: /why/pvc/NAMESPACE/NAME, where the controllers are in this process. */
#define WHY_PATH "/why"
#define STATUS_PATH "/status"

/* The server's own checks. */
int server_health_new(struct apiserver *s, struct health **ret, struct error *err);

/* The answer to a path that health_has_path(): the HTTP status, and the text in the arena. */
int health_text(const struct health *h, const char *path, const struct params *params, struct arena *a,
                const char **ret_text);
/* Answers the call with it. */
void health_serve(const struct health *h, struct call *c);
void version_serve(struct call *c);

#endif
