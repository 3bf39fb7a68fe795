/* One command's talk with an API server: which server, questions and answers one after the other, watches.
 *
 * The verbs for people ask, wait and print, so here a question is a call that returns with its answer: the
 * loop runs inside. Answers stay texts: what is shown is what the server said, whether Berth knows the fields
 * or not. What a server refuses is worded as kubectl words it, since people and scripts know those words. */
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
/* What is asked for of a long list at a time. */
#define SESSION_PAGE 500
/* Of all that one command reads and holds. */
#define SESSION_BYTES_MAX ((size_t)1 << 30)

/* The flags that say which server and which namespace; the first member of a verb's settings. */
struct session_settings {
    const char *data;
    const char *kubeconfig;
    const char *context;
    const char *ns;
};

#define SESSION_FLAGS(settings, member)                                                                 \
    FLAG_SHORT(settings, member.ns, 'n', "namespace", "NS", "the namespace; else that of the context"), \
        FLAG_IN(FLAGS_SERVER, settings, member.data, "data", "DIR",                                     \
                "the data directory of a server on this machine; else $BERTH_DATA"),                    \
        FLAG_IN(FLAGS_SERVER, settings, member.kubeconfig, "kubeconfig", "FILE",                        \
                "the cluster that this file names"),                                                    \
        FLAG_IN(FLAGS_SERVER, settings, member.context, "context", "NAME",                              \
                "a context other than the file's current one")

struct progress;

struct session {
    struct loop *loop;
    struct client_config config;
    struct client *client;
    const struct clock *clock;
    const char *ns; /* of --namespace, else of the context */
    bool was_ns_given;
    struct progress *progress; /* ticks while an answer is waited for; NULL for none */
    uint64_t deadline_ns;      /* of each question; 0: the usual */
};

/* Zeroed before; session_close() also after a failure. Asks nobody anything.
 *
 * The server is that of --kubeconfig; of the kubeconfig in --data, or in $BERTH_DATA; of $KUBECONFIG; of the
 * kubeconfig in the default data directory, where there is one; of ~/.kube/config, or the pod's. */
int session_open(const struct session_settings *settings, struct session *ret, struct error *err);
void session_close(struct session *s);

/* The kubeconfig of the data directory that these settings and the environment lead to; false when another
 * one is used, or none. */
bool session_kubeconfig(const struct session_settings *settings, char ret[PATH_MAX], struct error *err);

/* The names of the contexts in the files that session_open() would read, as often as they stand there. */
int session_contexts(const struct session_settings *settings, config_context_fn *fn, void *ctx,
                     struct error *err);

static inline void session_close_p(struct session *s)
{
    session_close(s);
}

/* What was answered. Zeroed before its first use; may be used again. */
struct reply {
    int r; /* 0, or -ERR_* */
    int http_status;
    struct buf text; /* the body; of a refusal the server's message */
    char reason[64]; /* of a refusal by the server: "NotFound"; "" when it was not the server that said it */
    struct buf invalid; /* of a refusal with causes: the words for them */
};

void reply_done(struct reply *a);

static inline void reply_done_p(struct reply *a)
{
    reply_done(a);
}

/* Asks and waits. q->accept is filled in where it is not said. Returns a->r. */
int session_ask(struct session *s, const struct client_request *q, struct reply *ret);

/* Runs a watch until on_event returns false, the server ends it, or (unless 0) timeout_ns have passed.
 * Returns 1 when on_event ended it, 0 at the server's end, -ERR_TIMEOUT, or what went wrong, in *ret. */
typedef bool session_event_fn(void *ctx, const struct client_event *ev);
int session_watch(struct session *s, const struct client_request *q, uint64_t timeout_ns,
                  session_event_fn *on_event, void *ctx, struct reply *ret);

/* "Error from server (NotFound): …" on standard error; doing ("creating") and source ("f.yaml") may be NULL.
 * Returns CLI_FAILED. */
int reply_complain(const struct reply *a, const char *doing, const char *source);
/* "error: …" on standard error, as kubectl complains of what it found out itself. Returns CLI_FAILED. */
int session_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A text of the server's for a terminal: control characters but line ends become '?'. */
void session_print_error_text(struct str text);

#endif
