/* /livez, /readyz and /healthz: is the server alive, and can it be asked things. /version too. */
#ifndef BERTH_APISERVER_HEALTH_H
#define BERTH_APISERVER_HEALTH_H

#include "apiserver/call.h"

/* True for paths that health_serve() answers. */
bool health_has_path(const char *path);
void health_serve(struct call *c);
void version_serve(struct call *c);

#endif
