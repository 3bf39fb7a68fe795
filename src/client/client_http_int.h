/* Shared by the files of the HTTP carrier. */
#ifndef BERTH_CLIENT_CLIENT_HTTP_INT_H
#define BERTH_CLIENT_CLIENT_HTTP_INT_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "client/carrier.h"
#include "client/client_answer.h"
#include "client/config.h"
#include "client/curl.h"
#include "io/loop.h"
#include "io/memory_file.h"

/* --- http_server.c: server and proxy addresses --- */

struct http_server {
    char *base; /* "https://host:6443/prefix"; targets are appended */
    char *host; /* the Host header, if it differs from base's; else NULL */
    /* The address to connect to, when base contains the name that the certificate must have. */
    struct curl_slist *connect_to;
    char *proxy; /* NULL: the environment's, "" none */
    bool is_tls;
};

/* Zeroed before. Refuses unsupported servers and proxies. */
int http_server_init(struct http_server *s, const struct client_config *config, struct error *err);
void http_server_done(struct http_server *s);
/* False when out of memory. */
bool http_server_apply(const struct http_server *s, CURL *easy);

/* --- http_credentials.c: credentials --- */

#define HTTP_TOKEN_AGE_NS_MAX (60 * NS_PER_S)
#define HTTP_FILES_AGE_NS_MAX (300 * NS_PER_S)

/* A PEM text, as a path for libcurl. */
struct http_pem {
    const struct config_file *file;
    const char *name;
    struct buf text;
    int fd; /* -1: none */
    /* The previous one: a request that waits for its connection may still use its path. */
    int fd_before;
    char path[MEMORY_FILE_PATH_BYTES];
};

struct http_credentials {
    const struct client_config *config;
    const struct clock *clock;
    struct http_pem ca;
    struct http_pem cert;
    struct http_pem key;
    uint64_t files_read_ns;
    struct buf authorization; /* value of the header; empty: none */
    uint64_t token_read_ns;
};

/* Zeroed before; call done() after a failure too. */
int http_credentials_init(struct http_credentials *c, const struct client_config *config,
                          const struct clock *clock, struct error *err);
void http_credentials_done(struct http_credentials *c);
/* Reads again what may have changed. If a file cannot be read, or only one of a pair has changed, everything
 * stays as it was: the server rejects it when it has expired. */
void http_credentials_refresh(struct http_credentials *c);
/* Both are false when out of memory. */
bool http_credentials_apply(const struct http_credentials *c, CURL *easy);
bool http_credentials_add_headers(const struct http_credentials *c, struct curl_slist **list);

/* Adds "name: value"; false when out of memory. */
bool http_add_header(struct curl_slist **list, const char *name, const char *value);

/* --- http_multi.c: libcurl's transfers on the loop --- */

struct http_socket;

struct http_multi {
    struct loop *loop;
    CURLM *curl;
    struct timer timer;
    TAILQ_HEAD(, http_socket) sockets;
    /* Transfers made progress, some may have ended. Not called from inside libcurl: everything is allowed. */
    void (*on_moved)(void *ctx, struct http_multi *m);
    /* A transfer that cannot continue. Called from inside libcurl: may only record it. */
    void (*on_stuck)(void *ctx, CURL *easy, const struct error *why);
    void *ctx;
};

/* Zeroed before, callbacks and loop filled in; call done() after a failure too. */
int http_multi_init(struct http_multi *m, long connections_max, struct error *err);
void http_multi_done(struct http_multi *m);

/* --- http_outcome.c: failures as errors --- */

struct http_outcome {
    CURLcode code;
    long os_errno;
    long verify_result;  /* GnuTLS's result for the server's certificate */
    const char *server;  /* its name in messages */
    const char *message; /* libcurl's message */
    bool was_connected;
};

int http_outcome_error(const struct http_outcome *o, struct error *err);

/* --- The carrier and its transfers --- */

/* Limit of a request's path and parameters. */
#define HTTP_TARGET_BYTES_MAX ((size_t)1 << 20)
/* How long after its requested timeout a watch may end. */
#define HTTP_WATCH_LATE_NS_MAX (30 * NS_PER_S)

struct http_client {
    struct client_carrier carrier;
    struct loop *loop;
    const struct client_config *config;
    struct http_server server;
    struct http_credentials credentials;
    struct http_multi requests;
    struct http_multi watches;
    struct json scratch;
    struct answer_reader reader;
    size_t answer_bytes_max;
    size_t line_bytes_max;
    bool has_http2;               /* the last answer used HTTP/2 */
    TAILQ_HEAD(, transfer) ready; /* with something to report */
    struct transfer *reporting;   /* whose events are being reported */
    bool reporting_is_gone;       /* it was cancelled meanwhile */
    unsigned transfers;
    /* Attempts that could not be started: a list linked by their `work`. */
    struct client_attempt *refused;
    struct deferred refusal;
};

struct transfer {
    TAILQ_ENTRY(transfer) link; /* while is_ready */
    bool is_ready;
    struct http_client *client;
    struct http_multi *multi;
    struct client_attempt *attempt;
    CURL *easy;
    struct curl_slist *headers;
    struct buf sent;     /* of a delete: its body */
    struct buf received; /* the body, or the unprocessed lines of a watch */
    size_t line_len;     /* bytes after the last line end */
    unsigned tries;      /* connections on which the request was started */
    bool has_told_warnings;
    struct error failure; /* our reason to end it */
    struct timer quiet;   /* detects a silent watch */
    char message[CURL_ERROR_SIZE];
};

static inline bool http_is_success(int http_status)
{
    return http_status >= 200 && http_status <= 299;
}

/* --- http_transfer.c: creation and libcurl's callbacks --- */

/* NULL when out of memory, or when the request is too long. Not started yet. */
struct transfer *transfer_new(struct http_client *c, struct client_attempt *a);
/* Ends it in any state. Takes NULL. */
struct transfer *transfer_free(struct transfer *t);
DEFINE_CLEANUP(struct transfer, transfer_free)

/* Restarts the time that a watch may be silent. */
void transfer_arm_quiet(struct transfer *t);
/* http_multi's on_stuck. */
void transfer_on_stuck(void *ctx, CURL *easy, const struct error *why);

bool transfer_is_watch(const struct transfer *t);
bool transfer_is_write(const struct transfer *t);
/* 0 while there is none. */
int transfer_http_status(const struct transfer *t);

/* --- http_deliver.c: reporting --- */

/* Both are false when the transfer was cancelled by the callback and freed. At a clean end the last line
 * needs no line end. */
bool transfer_report_warnings(struct transfer *t);
bool transfer_deliver_lines(struct transfer *t, bool is_at_end);
/* The last report of an attempt. Frees the transfer. */
void transfer_end(struct transfer *t, CURLcode code);
/* Callback of the timer. */
void transfer_on_quiet(void *ctx);

#endif
