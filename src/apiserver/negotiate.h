/* Content negotiation: the format of the response. */
#ifndef BERTH_APISERVER_NEGOTIATE_H
#define BERTH_APISERVER_NEGOTIATE_H

#include "apiserver/api_call.h"

/* Whether responses are indented: requested, or the client is curl, Wget or a browser. Called first, since
 * errors are indented too. */
bool negotiate_is_pretty(const struct call *c);

/* Sets c->view from the Accept header. False when the server has nothing that the client accepts (406). */
bool negotiate_view(struct call *c);

/* Whether the client already has the content of this tag ("\"…\"", with its quotes), by If-None-Match: a
 * list, weak tags count too, `*` is any. */
bool negotiate_has_tag(const struct call *c, const char *etag);

/* One item of an Accept or Content-Type header: `application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9`. */
struct media_type {
    struct str type; /* "application/json" */
    struct str as, version, group;
    int quality; /* thousandths */
};

/* The next item of the list, which it consumes; false at the end. */
bool media_type_next(struct str *list, struct media_type *ret);

#endif
