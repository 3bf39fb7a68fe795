/* Whom a client certificate names. Apart from call.h, whose `struct params` GnuTLS's header cannot bear. */
#ifndef BERTH_APISERVER_PEER_H
#define BERTH_APISERVER_PEER_H

/* A peer's certificate that the client CA has signed: the carrier has checked it. */
struct peer {
    const char *common_name;
    const char *const *organizations; /* ends with NULL */
};

#endif
