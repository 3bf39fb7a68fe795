/* HTTP for the benchmarks: the server listens on loopback, plain or with TLS, in the same thread as its
 * clients. */
#ifndef BERTH_BENCH_BENCH_WIRE_H
#define BERTH_BENCH_BENCH_WIRE_H

#include <stdbool.h>

#include "apiserver/pki.h"
#include "apiserver/server.h"
#include "client/carrier.h"
#include "client/config.h"
#include "http/http.h"

struct bench_wire {
    struct apiserver *server;
    struct http *http;
    struct pki pki;
    char url[128];
    struct client_config config;
};

/* Must be zeroed before, and closed even after a failure. Certificates are stored briefly in a directory
 * below the current one. */
int bench_wire_open(struct bench_wire *wire, struct apiserver *s, bool is_tls, struct error *err);
/* All clients must be freed before. */
void bench_wire_close(struct bench_wire *wire);

int bench_wire_connect(const struct bench_wire *wire, struct client_carrier **ret, struct error *err);

#endif
