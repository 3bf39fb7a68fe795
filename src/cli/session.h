/* The connection of one command to an API server: selecting the server, one request after the other, watches.
 *
 * The client verbs request, wait and print, so a request is a blocking call: the loop runs inside. Responses
 * stay texts: what is shown is what the server sent, whether Berth knows the fields or not. Refusals are
 * worded as by kubectl, since users and scripts know that form. */
#ifndef BERTH_CLI_SESSION_H
#define BERTH_CLI_SESSION_H

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/flags.h"
#include "client/client.h"
#include "client/config.h"
#include "io/loop.h"

#define ACCEPT_TABLE "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
#define ACCEPT_OBJECT "application/json"
/* Objects per page of a long list. */
#define SESSION_PAGE 500
/* Limit for everything that one command reads. */
#define SESSION_BYTES_MAX ((size_t)1 << 30)

/* The flags that select server and namespace; the first member of a verb's settings. */
struct session_settings {
    const char *data;
    const char *kubeconfig;
    const char *context;
    const char *ns;
};

#define SESSION_FLAGS(settings, member)                                                           \
    FLAG_SHORT(settings, member.ns, 'n', "namespace", "NS", "namespace; default: the context's"), \
        FLAG_IN(FLAGS_SERVER, settings, member.data, "data", "DIR",                               \
                "data directory of a server on this machine; default $BERTH_DATA"),               \
        FLAG_IN(FLAGS_SERVER, settings, member.kubeconfig, "kubeconfig", "FILE",                  \
                "kubeconfig of the server"),                                                      \
        FLAG_IN(FLAGS_SERVER, settings, member.context, "context", "NAME",                        \
                "context to use instead of the kubeconfig's current one")

struct progress_bar;

/* The response to a request. */
struct reply {
    int r; /* 0, or -ERR_* */
    int http_status;
    struct buf text;    /* the body; for a refusal the server's message */
    char reason[64];    /* for a refusal by the server: "NotFound"; "" for other errors */
    struct buf invalid; /* for a refusal with causes: their text */
};

struct session {
    struct loop *loop;
    struct client_config config;
    struct client *client;
    const struct clock *clock;
    const char *ns; /* --namespace, or else the context's */
    bool was_ns_given;
    struct progress_bar *progress; /* ticks while waiting for a response; NULL for none */
    uint64_t deadline_ns;          /* per request; 0: the default */
    struct reply reply;            /* to the last request */
};

/* Zero it before use; call session_close() also after a failure. Sends no request.
 *
 * The server is that of --kubeconfig; of the kubeconfig in --data, or in $BERTH_DATA; of $KUBECONFIG; of the
 * kubeconfig in the default data directory, if there is one; of ~/.kube/config, or the pod's. */
int session_open(const struct session_settings *settings, struct session *ret, struct error *err);
void session_close(struct session *s);

/* The kubeconfig of the data directory that these settings and the environment select; false when another one
 * is used, or none. */
bool session_kubeconfig(const struct session_settings *settings, char ret[PATH_MAX], struct error *err);

/* The names of the contexts in the files that session_open() would read, with duplicates. */
int session_contexts(const struct session_settings *settings, config_context_fn *fn, void *ctx,
                     struct error *err);

/* Sends a request and waits for its response. q->accept gets a default. Returns s->reply.r. */
int session_ask(struct session *s, const struct client_request *q);
/* The same, and parses the response into d, after its present contents. CLI_OK, or CLI_FAILED after the error
 * was printed. */
int session_read(struct session *s, const struct client_request *q, struct json *d, json_ref *ret);

/* Runs a watch until on_event returns false, the server ends it, or (unless 0) timeout_ns have passed.
 * Returns 1 when on_event ended it, 0 when the server did, -ERR_TIMEOUT, or an error that is in s->reply. */
typedef bool session_event_fn(void *ctx, const struct client_event *ev);
int session_watch(struct session *s, const struct client_request *q, uint64_t timeout_ns,
                  session_event_fn *on_event, void *ctx);

/* Prints "Error from server (NotFound): …" on standard error; doing ("creating") and source ("f.yaml") may be
 * NULL. Returns CLI_FAILED. */
int reply_complain(const struct reply *a, const char *doing, const char *source);
/* Parses the response into d. CLI_OK, or CLI_FAILED after the error was printed, also for a refusal. */
int reply_parse(const struct reply *a, struct json *d, json_ref *ret);
/* Prints "error: …" on standard error, as kubectl does for errors of its own. Returns CLI_FAILED. */
int session_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints "No resources found" on standard error; for all namespaces, or for the session's. */
void session_say_nothing_found(const struct session *s, bool is_everywhere);

/* Prints a line on standard error: `before`, then a text that may come from the server, in which control
 * characters except line ends become '?'. */
void session_print_error(const char *before, struct str text);

#endif
