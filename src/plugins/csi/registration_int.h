/* Internals of the registration: registrar.c handles one socket, registration.c all of them. */
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
    REGISTRAR_STATE_COUNT,
};

struct registrar {
    struct csi_registration *owner;
    enum registrar_state state;
    const struct csi_configured_driver *configured; /* NULL: the socket is a registrar's */
    struct rpc_watch watch;                         /* of the session to a registered configured driver */
    bool is_watched;                                /* it was, since it was registered */
    bool socket_exists;                             /* at the last scan */
    bool is_notified;                               /* on_change() has reported it as registered */
    bool must_restart;                              /* it lost its entry in the table */
    struct socket_id current;                       /* of the existing socket */
    struct socket_id served;                        /* of the socket being registered */
    struct rpc_call call;
    enum csi_method method; /* of the call */
    struct timer retry;
    uint64_t backoff_ns; /* 0: no failure */
    char refusal[ERROR_MSG_BYTES_MAX + 1024];
    char driver[CSI_DRIVER_NAME_BYTES]; /* "" until it is in the table */
    char endpoint[PATH_MAX];
    Csi__V1__NodeGetInfoResponse *info; /* from `describing` until the end of `installing` */
    char path[];
};

struct csi_registration {
    struct csi_registration_options o;
    struct socket_watch *watch;
    struct rng rng;
    struct api api;
    struct csi_install install;
    struct registrar *installing; /* the registrar it works for; NULL: the node itself */
    bool is_ready;
    struct timer ready_retry;
    uint64_t ready_backoff_ns;
    VEC(struct registrar *) all;
    struct deferred pump; /* a pass over all registrars */
    char *node_name;
};

/* --- One socket (registrar.c) --- */

/* Idle. The path is copied. configured: NULL for the socket of a registrar. NULL without memory. */
struct registrar *registrar_new(struct csi_registration *g, const char *path,
                                const struct csi_configured_driver *configured);
/* Accepts NULL. */
struct registrar *registrar_free(struct registrar *registrar);

/* True if another socket has the same driver: then the API objects keep it when this one leaves. */
bool registrar_has_other(const struct registrar *registrar);

/* From idle; from registered, if the socket is gone or replaced; from registered, to refresh the driver's
 * data. */
void registrar_ask(struct registrar *registrar);
void registrar_leave(struct registrar *registrar);
void registrar_describe(struct registrar *registrar);
/* A registered configured driver whose session has ended: connects to it and describes it again. */
void registrar_reconnect(struct registrar *registrar);

/* The API objects match its state, or err has the reason why not. */
void registrar_on_installed(struct registrar *registrar, int r, const struct error *err);

/* --- Common --- */

void csi_report_failure(const struct csi_registration *g, const char *about, const char *what);
/* Doubles the delay each time. */
void csi_retry_later(struct timer *t, uint64_t *backoff_ns, uint64_t first_ns, uint64_t max_ns);

#endif
