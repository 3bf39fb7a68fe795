/* Renews certificates while the server runs: a timer compares dates, a worker thread reads and writes files,
 * and the loop installs the result. */
#include "apiserver/pki_renewal.h"

#include <stdlib.h>

#include "base/log.h"
#include "io/pool.h"

struct pki_renewal {
    struct pki_renewal_options o;
    struct timer timer;
    struct pool *pool; /* one thread, started when needed */
    struct pool_work work;
    struct pki renewed;     /* used by the worker while it runs */
    struct error error;     /* the same */
    struct pki_options pki; /* the same */
};

static int renew_work(void *ctx)
{
    struct pki_renewal *p = ctx;
    int r = pki_open(&p->pki, &p->renewed, &p->error);

    return r < 0 ? r : pki_write_kubeconfig(&p->renewed, p->pki.dir, p->o.address, &p->error);
}

/* The key of tokens is unchanged: others hold pointers to the old one. */
static void take_renewed(struct pki_renewal *p)
{
    struct key *token_key = TAKE(p->o.current->token_key);

    pki_done(p->o.current);
    p->renewed.token_key = key_free(p->renewed.token_key);
    *p->o.current = p->renewed;
    p->o.current->token_key = token_key;
    p->renewed = (struct pki){ 0 };
}

static void renew_done(void *ctx, int result)
{
    struct pki_renewal *p = ctx;

    if (result == -ERR_CANCELLED) /* the server is stopping */
        return;
    if (result == 0)
        result = p->o.use(p->o.ctx, &p->renewed, &p->error);
    if (result == 0)
        take_renewed(p);
    else
        log_error("cannot renew certificates, retrying later", LOG_ERR(&p->error),
                  LOG_UINT("retry_seconds", PKI_RETRY_NS / NS_PER_S));
    pki_done(&p->renewed);
    p->renewed = (struct pki){ 0 };
    timer_arm_after(&p->timer, result == 0 ? PKI_CHECK_NS : PKI_RETRY_NS);
}

static void check_dates(void *ctx)
{
    struct pki_renewal *p = ctx;
    int64_t now = clock_real_ns(p->o.clock) / (int64_t)NS_PER_S;

    if (!pki_is_due(p->o.current, now)) {
        timer_arm_after(&p->timer, PKI_CHECK_NS);
        return;
    }
    p->pki = p->o.pki;
    p->pki.now = now;
    if (pool_submit(p->pool, &p->work, renew_work, renew_done, p, &p->error) < 0)
        renew_done(p, -(int)p->error.code);
}

int pki_renewal_new(const struct pki_renewal_options *o, struct pki_renewal **ret, struct error *err)
{
    _cleanup_(pki_renewal_free_p) struct pki_renewal *p = calloc(1, sizeof *p);
    int r;

    if (!p)
        return error_no_memory(err);
    p->o = *o;
    timer_init(&p->timer, o->loop, check_dates, p);
    r = pool_new(o->loop, /* threads= */ 1, /* queued_max= */ 1, &p->pool, err);
    if (r < 0)
        return r;
    timer_arm_after(&p->timer, PKI_CHECK_NS);
    *ret = TAKE(p);
    return 0;
}

struct pki_renewal *pki_renewal_free(struct pki_renewal *p)
{
    if (!p)
        return NULL;
    p->pool = pool_free(p->pool);
    timer_disarm(&p->timer);
    pki_done(&p->renewed);
    free(p);
    return NULL;
}
