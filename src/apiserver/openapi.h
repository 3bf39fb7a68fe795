/* OpenAPI: descriptions of the API for its clients, from the tables that also serve it.
 *
 *     /openapi/v3                     the index of documents, each with a hash of its contents
 *     /openapi/v3/apis/GROUP/VERSION  the document of one group version
 *     /openapi/v2                     everything in one Swagger document
 *
 * kubectl reads the documents to validate locally if the server does not, and to explain fields. They follow
 * from the table of resources and the kinds' schemas, so they never change while a process runs: each is
 * created when it is first requested, and kept as text. */
#ifndef BERTH_APISERVER_OPENAPI_H
#define BERTH_APISERVER_OPENAPI_H

#include "apiserver/api_call.h"
#include "base/cleanup.h"

struct openapi;

int openapi_new(struct openapi **ret, struct error *err);
struct openapi *openapi_free(struct openapi *o);
DEFINE_CLEANUP(struct openapi, openapi_free)

/* Answers a call for /openapi or a path below it. Does its own negotiation: the formats differ from those of
 * resources. */
void openapi_serve(struct openapi *o, struct call *c);

#endif
