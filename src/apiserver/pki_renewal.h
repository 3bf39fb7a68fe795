/* Renewal of certificates while the server runs.
 *
 * Every PKI_CHECK_NS the dates of the certificates in use are compared with the clock, which also detects a
 * clock that was changed. When one is due, a worker loads all of them again, renews those that are due
 * (pki.h) and writes the kubeconfig; then the server uses the new ones for new connections. A failure is
 * logged and retried after PKI_RETRY_NS. */
#ifndef BERTH_APISERVER_PKI_RENEWAL_H
#define BERTH_APISERVER_PKI_RENEWAL_H

#include "apiserver/pki.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/loop.h"

#define PKI_CHECK_NS (60 * NS_PER_S)
#define PKI_RETRY_NS (3600 * NS_PER_S)

struct pki_renewal;

/* On the loop. The certificates replace those in options.pki when it returns 0. */
typedef int pki_use_fn(void *ctx, const struct pki *renewed, struct error *err);

struct pki_renewal_options {
    struct loop *loop;
    const struct clock *clock;
    struct pki_options pki; /* as at the start; texts are borrowed, `now` is not used */
    const char *address;    /* address that the server really has, for the kubeconfig; borrowed */
    struct pki *current;    /* certificates in use; token_key stays */
    pki_use_fn *use;
    void *ctx;
};

int pki_renewal_new(const struct pki_renewal_options *o, struct pki_renewal **ret, struct error *err);
/* Waits for a renewal in progress. Accepts NULL. */
struct pki_renewal *pki_renewal_free(struct pki_renewal *p);
DEFINE_CLEANUP(struct pki_renewal, pki_renewal_free)

#endif
