#include "plugins/csi/pooled_call.h"

#include <stdio.h>

#define WORDS_BYTES (ERROR_MSG_BYTES_MAX + 1024)

struct csi_pooled {
    struct pool_work pooled;
    struct pool *pool;
    enum csi_method method;
    struct csi_conn conn;
    host_stop stop;
    bool is_good;
    char words[WORDS_BYTES];
    csi_pooled_fn *done; /* NULL: nobody waits for it any more */
    void *ctx;
    ProtobufCMessage *answer;
    struct error err;
};

/* On a worker. */
static int pooled_run(void *ctx)
{
    struct csi_pooled *c = ctx;
    Csi__V1__Nothing nothing = CSI__V1__NOTHING__INIT;
    Pluginregistration__RegistrationStatus status;
    const ProtobufCMessage *request = &nothing.base;

    if (c->method == CSI_REGISTRATION_NOTIFY) {
        pluginregistration__registration_status__init(&status);
        status.plugin_registered = c->is_good;
        status.error = c->words;
        request = &status.base;
    }
    return csi_call(&c->conn, c->method, request, &c->answer, &c->err);
}

static void pooled_done(void *ctx, int result)
{
    struct csi_pooled *c = ctx;

    if (result == -ERR_CANCELLED && c->err.code == ERR_NONE)
        (void)error_set(&c->err, ERR_CANCELLED, "stopped before it began");
    if (c->done)
        c->done(c->ctx, result, &c->answer, &c->err);
    csi_message_free(&c->answer);
    free(c);
}

int csi_pooled_begin(const struct csi_pooled_options *o, struct csi_pooled **ret, struct error *err)
{
    struct csi_pooled *c = calloc(1, sizeof *c);
    int r;

    if (!c)
        return error_no_memory(err);
    c->pool = o->pool;
    c->method = o->method;
    c->conn.limit_ns = o->limit_ns;
    c->conn.stop = &c->stop;
    c->is_good = !o->refusal;
    c->done = o->done;
    c->ctx = o->ctx;
    (void)snprintf(c->conn.endpoint.socket, sizeof c->conn.endpoint.socket, "%s", o->socket);
    (void)snprintf(c->words, sizeof c->words, "%s", o->refusal ? o->refusal : "");
    r = pool_submit(o->pool, &c->pooled, pooled_run, pooled_done, c, err);
    if (r < 0) {
        free(c);
        return r;
    }
    *ret = c;
    return 0;
}

struct csi_pooled *csi_pooled_drop(struct csi_pooled *c)
{
    if (!c)
        return NULL;
    c->done = NULL;
    atomic_store(&c->stop, 1);
    (void)pool_cancel(c->pool, &c->pooled); /* pooled_done() comes later, and frees */
    return NULL;
}
