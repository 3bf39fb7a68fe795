/* From method and path to what is being asked for. */
#ifndef BERTH_APISERVER_ROUTE_H
#define BERTH_APISERVER_ROUTE_H

#include "apiserver/call.h"

enum route_result {
    ROUTE_OK,
    ROUTE_NO_PATH,     /* 404 as text: nothing of the API is there */
    ROUTE_NO_RESOURCE, /* 404 as a Status: the group version is, the resource or subresource is not */
    ROUTE_NO_METHOD,   /* 405 */
};

/* Reads c->method and c->target into c->route and c->params. Fails for a target that is no path. */
int route_parse(struct call *c, struct error *err);

/* Whether what route_parse() read exists; fills in resource and sub. Of paths outside the resources only
 * what is below /api and /apis is judged: the others are their handlers' (ROUTE_OK). */
enum route_result route_resolve(struct call *c);

#endif
