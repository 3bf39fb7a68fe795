/* Keys as certificates use them, and conversion of GnuTLS failures to errors. */
#ifndef BERTH_IO_KEYS_INT_H
#define BERTH_IO_KEYS_INT_H

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "io/keys.h"

struct key {
    gnutls_x509_privkey_t x509; /* owns the numbers */
    gnutls_privkey_t private;   /* the same key in the form for signing */
    gnutls_pubkey_t public;
};

/* "cannot WHAT: reason". */
static inline int tls_error(struct error *err, int code, const char *what)
{
    if (code == GNUTLS_E_MEMORY_ERROR)
        return error_no_memory(err);
    return error_set(err, ERR_INTERNAL, "cannot %s: %s", what, gnutls_strerror(code));
}

static inline gnutls_datum_t tls_datum(struct str s)
{
    /* GnuTLS only reads it, though its type is not const. */
    return (gnutls_datum_t){ (unsigned char *)(uintptr_t)s.s, (unsigned)s.len };
}

/* Appends the datum and frees it. */
int tls_add_datum(struct buf *out, gnutls_datum_t *datum, const char *what, struct error *err);

#endif
