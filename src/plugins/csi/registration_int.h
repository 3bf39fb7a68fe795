/* What a registration is made of: registrar.c is one socket's way, registration.c sees to all of them. */
#ifndef BERTH_PLUGINS_CSI_REGISTRATION_INT_H
#define BERTH_PLUGINS_CSI_REGISTRATION_INT_H

#include "base/rng.h"
#include "base/vec.h"
#include "plugins/csi/csi_int.h"
#include "plugins/csi/install.h"
#include "plugins/csi/registration.h"
#include "plugins/csi/socket_watch.h"

enum registrar_state {
    REGISTRAR_IDLE,
    REGISTRAR_ASKING,
    REGISTRAR_DESCRIBING,
    REGISTRAR_INSTALLING,
    REGISTRAR_UNDOING,
    REGISTRAR_CONFIRMING,
    REGISTRAR_REFUSING,
    REGISTRAR_REGISTERED,
    REGISTRAR_LEAVING,
};

struct registrar {
    struct csi_registration *owner;
    enum registrar_state state;
    bool is_there;             /* the socket, at the last look */
    bool is_told;              /* to on_change: registered */
    bool must_begin_anew;      /* its place in the table is lost */
    struct host_socket there;  /* that one */
    struct host_socket served; /* the one that is being registered */
    struct rpc_call call;
    enum csi_method method; /* of call */
    struct timer retry;
    uint64_t backoff_ns; /* 0: nothing has failed */
    char refusal[ERROR_MSG_BYTES_MAX + 1024];
    char driver[CSI_DRIVER_NAME_BYTES]; /* "" until it is in the table */
    char endpoint[PATH_MAX];
    Csi__V1__NodeGetInfoResponse *info; /* between describing and the end of installing */
    char path[];
};

struct csi_registration {
    struct csi_registration_options o;
    struct socket_watch *watch;
    struct rng rng;
    struct csi_install install;
    struct registrar *installing; /* whose; NULL for the node's own */
    bool is_ready;
    struct timer ready_retry;
    uint64_t ready_backoff_ns;
    VEC(struct registrar *) all;
    struct deferred pump; /* looks at all of them */
    char *node_name;
};

/* --- One socket (registrar.c) --- */

/* Idle. Paths are copied. NULL without memory. */
struct registrar *registrar_new(struct csi_registration *g, const char *path);
/* Takes NULL. */
struct registrar *registrar_free(struct registrar *x);

/* Does another socket stand for the same driver? Then it stays in the API's objects when this one goes. */
bool registrar_has_other(const struct registrar *x);

/* From idle; from registered, when the socket is gone or another; from registered, to hear of changes. */
void registrar_ask(struct registrar *x);
void registrar_leave(struct registrar *x);
void registrar_describe(struct registrar *x);

/* The API's objects are as they should be for its state, or not: err says why. */
void registrar_on_installed(struct registrar *x, int r, const struct error *err);

/* --- Common --- */

void csi_complain(const struct csi_registration *g, const char *about, const char *what);
/* Twice as long each time. */
void csi_retry_later(struct timer *t, uint64_t *backoff_ns, uint64_t first_ns, uint64_t max_ns);

#endif
