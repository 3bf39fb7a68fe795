/* The addresses in a kubeconfig: the server's, and a proxy's.
 *
 * Errors say what is wrong and never repeat the address: it may contain a password. */
#ifndef BERTH_CLIENT_SERVER_URL_H
#define BERTH_CLIENT_SERVER_URL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

/* Appends the server's address as the client uses it: "https://host:6443/prefix", always with a lowercase
 * scheme, nothing after the path and no slash at its end. An address without a scheme is https when
 * tls_is_default. Returns whether it is https. On failure nothing is appended. */
int server_url_normalize(struct str url, bool tls_is_default, struct buf *out, bool *ret_is_tls,
                         struct error *err);

/* http, https and socks5; a user and a password are allowed. */
int server_url_check_proxy(struct str url, struct error *err);

#endif
