/* Routing: from method and path to the requested resource. */
#ifndef BERTH_APISERVER_ROUTE_H
#define BERTH_APISERVER_ROUTE_H

#include "apiserver/api_call.h"

enum route_result {
    ROUTE_OK,
    ROUTE_NO_PATH,     /* 404 as text: not a path of the API */
    ROUTE_NO_RESOURCE, /* 404 as a Status: the group version exists, the resource or subresource does not */
    ROUTE_NO_METHOD,   /* 405 */
};

/* Reads c->method and c->target into c->route and c->params. Fails for a target that is not a path. */
int route_parse(struct call *c, struct error *err);

/* Whether the result of route_parse() exists; sets resource and sub. Of paths that are not resources only
 * those below /api and /apis are checked: the handlers check the others (ROUTE_OK). */
enum route_result route_resolve(struct call *c);

#endif
