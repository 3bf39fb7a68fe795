/* OpenAPI: the API described to its clients, from the tables that also serve it.
 *
 *     /openapi/v3                     which documents there are, each with a hash of its contents
 *     /openapi/v3/apis/GROUP/VERSION  the document of one group version
 *     /openapi/v2                     everything in one Swagger document
 *
 * kubectl reads the documents to validate on its side where the server would not, and to explain fields.
 * They follow from the table of resources and the kinds' schemas, so they never change while a process
 * lives: each is made when it is first asked for and kept as text. */
#ifndef BERTH_APISERVER_OPENAPI_H
#define BERTH_APISERVER_OPENAPI_H

#include "apiserver/call.h"
#include "base/cleanup.h"

struct openapi;

int openapi_new(struct openapi **ret, struct error *err);
struct openapi *openapi_free(struct openapi *o);
DEFINE_CLEANUP(struct openapi, openapi_free)

/* Answers a call whose path is /openapi or below it. Reads the Accept header itself: what is offered here is
 * not what the resources offer. */
void openapi_serve(struct openapi *o, struct call *c);

#endif
