/* Content negotiation: in what form the client wants its answer. */
#ifndef BERTH_APISERVER_NEGOTIATE_H
#define BERTH_APISERVER_NEGOTIATE_H

#include "apiserver/call.h"

/* Whether answers are indented: asked for, or a person's client. Before everything else, since errors are
 * indented too. */
bool negotiate_is_pretty(const struct call *c);

/* Fills in c->view from the Accept header. False when nothing that the client accepts can be had (406). */
bool negotiate(struct call *c);

/* Whether the client has what this tag ("\"…\"", with its quotes) stands for already, by If-None-Match: a
 * list, weak tags count too, `*` is any. */
bool negotiate_has_tag(const struct call *c, const char *etag);

/* One item of an Accept or Content-Type header: `application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9`. */
struct media_type {
    struct str type; /* "application/json" */
    struct str as, version, group;
    int quality; /* thousandths */
};

/* The next item of a list, which is consumed; false at its end. */
bool media_type_next(struct str *list, struct media_type *ret);

#endif
