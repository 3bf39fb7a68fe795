/* `berth serve`: the control plane on one machine. This is where its parts are put together. */
#include "cli/cli.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/authenticate.h"
#include "apiserver/counts.h"
#include "apiserver/http.h"
#include "apiserver/local_client.h"
#include "apiserver/pki.h"
#include "apiserver/pki_renewal.h"
#include "apiserver/server.h"
#include "apiserver/slow_answer.h"
#include "apiserver/store_facts.h"
#include "base/log.h"
#include "cli/controllers_flags.h"
#include "cli/data_dir.h"
#include "cli/flags.h"
#include "cli/logging.h"
#include "cli/node_flags.h"
#include "cli/settings_file.h"
#include "daemon/manager.h"
#include "daemon/server_status.h"
#include "daemon/supervised.h"
#include "host/system.h"
#include "io/clock.h"
#include "io/env.h"
#include "io/hostname.h"
#include "io/job.h"
#include "io/path.h"
#include "io/random.h"
#include "io/socket.h"
#include "machinery/health.h"
#include "machinery/process_metrics.h"
#include "scheduler/scheduler.h"
#include "store/store.h"
#include "why/events.h"
#include "why/explanation.h"

#define DEFAULT_ADDRESS "127.0.0.1:7443"
#define DEFAULT_EVENT_TTL_SECONDS 3600
#define BIND_TIMEOUT_SECONDS_MAX 86400
/* From SIGTERM to the end: what is still under way then is cut off. */
#define STOP_NS (4 * NS_PER_S)
#define STOP_POLL_NS (20 * NS_PER_MS)
/* How long the parts beside the server are waited for before it is said that it is ready. */
#define READY_NS (10 * NS_PER_S)
#define READY_POLL_NS (20 * NS_PER_MS)
#define STATUS_BYTES_MAX 65536

struct settings {
    const char *data;
    const char *listen;
    const char *without;
    struct node_flags node;
    const char *log_level;
    const char *log_format;
    const char *config;
    const char *event_ttl;
    const char *token_file;
    const char *bind_timeout;
    struct controllers_flags controllers;
    bool is_insecure;
};

#define CONTROLLERS_GROUP "Controllers and scheduler"

static const struct flag serve_flags[] = {
    FLAG(struct settings, data, "data", "DIR",
         "where everything is kept; else $BERTH_DATA, else /var/lib/berth (root) or ~/.local/share/berth"),
    FLAG(struct settings, listen, "listen", "ADDR:PORT", "where the API listens; default " DEFAULT_ADDRESS),
    FLAG_ON(struct settings, is_insecure, "insecure",
            "plain HTTP and no authentication; loopback addresses only"),
    FLAG(struct settings, without, "without", "LIST",
         "parts not to run, with commas between: api, controllers, scheduler, node"),
    FLAG_IN(NODE_GROUP, struct settings, node.name, "node-name", "NAME",
            "what this machine's node is called; default its host name"),
    FLAG_IN(NODE_GROUP, struct settings, node.root, "root", "DIR",
            "where the node keeps pods' volumes; default DATA/node"),
    NODE_FLAGS(struct settings),
    CONTROLLERS_FLAGS(CONTROLLERS_GROUP, struct settings),
    FLAG_IN(CONTROLLERS_GROUP, struct settings, bind_timeout, "bind-timeout", "SECONDS",
            "how long a pod waits for its volumes on a node before it is tried anew; default 600"),
    FLAG(struct settings, event_ttl, "event-ttl", "SECONDS", "how long events are kept; default 3600"),
    FLAG(struct settings, token_file, "token-file", "FILE",
         "static bearer tokens: lines of token,user,uid,\"group1,group2\""),
    FLAG(struct settings, config, "config", "FILE",
         "YAML with these settings by name (data: DIR) and with provisioners; the command line wins"),
    CLI_LOG_FLAGS(struct settings),
    { 0 },
};

/* What runs, in the order it is made. */
struct running {
    struct settings settings;
    char data[PATH_MAX];
    char listen[SOCKET_ADDRESS_BYTES];
    int64_t event_ttl_seconds;
    uint64_t bind_timeout_ns;
    struct settings_file file;
    char state_dir[PATH_MAX + 16];
    char node_root[PATH_MAX + 16];
    uint64_t sync_ns;
    uint64_t attach_sync_period_ns;
    struct logger logger;
    struct loop *loop;
    struct metrics *metrics;
    struct store_counts store_counts;
    struct store *store;
    struct pki_options pki_options;
    struct pki pki;
    struct pki_renewal *renewal;
    struct authenticator *authenticator;
    struct apiserver *server;
    struct http *http;
    struct client *client;   /* of the controllers */
    struct manager *manager; /* NULL: --without controllers,scheduler */
    struct manager *stopped; /* the same after its end; workers may still see it */
    struct supervised supervised;
    struct timer stop_timer;
    struct timer ready_timer; /* until the parts beside the server are ready; the ready message follows */
    uint64_t ready_until_ns;
    char url[sizeof "https://" + SOCKET_ADDRESS_BYTES];
    char data_path[PATH_MAX]; /* absolute */
    char kubeconfig[PATH_MAX + 16];
    char user[IO_USER_NAME_BYTES];
    uint64_t stop_at_ns;
    bool is_stopping;
    unsigned parts; /* MANAGER_*: what runs beside the server */
    char host[IO_HOST_NAME_BYTES];
    char reachable[HOST_FACT_BYTES];                         /* as --listen, but never "all addresses" */
    char advertised[HOST_FACT_BYTES + SOCKET_ADDRESS_BYTES]; /* the same with the port that it really has */
};

/* --- Settings --- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0;
}

static int check_parts(const char *without, bool *ret_has_api, unsigned *ret_parts)
{
    static const char *const parts[] = { "api", "controllers", "scheduler", "node", NULL };
    struct str rest = str_of(without);

    *ret_has_api = true;
    *ret_parts = MANAGER_CONTROLLERS | MANAGER_SCHEDULER | MANAGER_NODE;
    while (rest.s && rest.len) {
        struct str part = str_trim(str_next(&rest, ','));
        int i = 0;

        while (parts[i] && !str_is(part, parts[i]))
            i++;
        if (!parts[i])
            return cli_fail_usage(
                "serve: --without: unknown part '%.*s'; parts are api, controllers, scheduler and node",
                STR_ARG(part));
        if (i == 0)
            *ret_has_api = false;
        if (i == 1)
            *ret_parts &= ~(unsigned)MANAGER_CONTROLLERS;
        if (i == 2)
            *ret_parts &= ~(unsigned)MANAGER_SCHEDULER;
        if (i == 3)
            *ret_parts &= ~(unsigned)MANAGER_NODE;
    }
    return CLI_OK;
}

static int check_seconds(struct running *r)
{
    const struct settings *s = &r->settings;
    uint64_t seconds = SCHEDULER_BIND_TIMEOUT_NS / NS_PER_S;

    r->event_ttl_seconds = DEFAULT_EVENT_TTL_SECONDS;
    if (s->event_ttl &&
        (!str_to_int64(str_of(s->event_ttl), &r->event_ttl_seconds) || r->event_ttl_seconds < 1))
        return cli_fail_usage("serve: --event-ttl %s: not a number of seconds", s->event_ttl);
    if (s->bind_timeout &&
        (!str_to_uint64(str_of(s->bind_timeout), &seconds) || seconds > BIND_TIMEOUT_SECONDS_MAX))
        return cli_fail_usage("serve: --bind-timeout %s: not a number of seconds from 0 to %d",
                              s->bind_timeout, BIND_TIMEOUT_SECONDS_MAX);
    r->bind_timeout_ns = seconds * NS_PER_S;
    return CLI_OK;
}

static int check_settings(struct running *r)
{
    struct settings *s = &r->settings;
    struct error err;
    bool has_api;

    if (s->config && settings_file_read(&r->file, s->config, serve_flags, s, &err) < 0)
        return cli_fail_usage("serve: %s", err.msg);
    if (controllers_flags_check("serve", &s->controllers, &r->attach_sync_period_ns) != CLI_OK)
        return CLI_USAGE;
    if (cli_data_dir(s->data, r->data, &err) < 0)
        return cli_fail_usage("serve: %s", err.msg);
    s->data = r->data;
    if (socket_address_read(s->listen ? s->listen : DEFAULT_ADDRESS, r->listen, &err) < 0)
        return cli_fail_usage("serve: %s", err.msg);
    s->listen = r->listen;
    if (s->is_insecure && !is_loopback(s->listen))
        return cli_fail_usage(
            "serve: --insecure listens on loopback addresses only, not on '%s': anybody could "
            "write there; leave out --insecure, or listen on 127.0.0.1:PORT",
            s->listen);
    if (cli_logger("serve", s->log_level, s->log_format, &r->logger) != CLI_OK)
        return CLI_USAGE;
    (void)snprintf(r->node_root, sizeof r->node_root, "%s/node", r->data); /* a path */
    s->node.root = s->node.root ? s->node.root : r->node_root;
    if (check_seconds(r) != CLI_OK || node_flags_check("serve", &s->node, &r->sync_ns) != CLI_OK ||
        check_parts(s->without ? s->without : "", &has_api, &r->parts) != CLI_OK)
        return CLI_USAGE;
    if (!has_api)
        return cli_fail_usage("serve: --without api leaves nothing to run in this version");
    return CLI_OK;
}

/* --- Starting --- */

static void serve_call(void *ctx, struct call *c)
{
    struct running *r = ctx;

    apiserver_serve(r->server, c);
}

static const char *identify_call(void *ctx, struct call *c)
{
    struct running *r = ctx;

    return apiserver_identify(r->server, c);
}

static int open_store(struct running *r, struct error *err)
{
    struct store_options o = { .on_commit = store_counts_commit,
                               .on_refuse = store_counts_refuse,
                               .ctx = &r->store_counts };
    struct hash_seed seed;
    int e = io_random(&seed, sizeof seed, err);

    if (e < 0)
        return e;
    r->metrics = metrics_new(seed);
    if (!r->metrics)
        return error_no_memory(err);
    e = process_metrics_add(r->metrics, err);
    if (e == 0)
        e = store_counts_add(r->metrics, &r->store_counts, err);
    if (e == 0)
        e = store_open_sqlite(r->settings.data, r->loop, &o, &r->store, err);
    return e;
}

/* Where others find a server that listens on all addresses: at the machine's address. */
static void find_reachable(struct running *r)
{
    char machine[HOST_FACT_BYTES];
    const char *port = strrchr(r->settings.listen, ':');

    (void)snprintf(r->reachable, sizeof r->reachable, "%s", r->settings.listen);
    if (!port ||
        (strncmp(r->settings.listen, "0.0.0.0:", 8) != 0 && strncmp(r->settings.listen, "[::]:", 5) != 0))
        return;
    host_address(machine);
    (void)snprintf(r->reachable, sizeof r->reachable, strchr(machine, ':') ? "[%s]%s" : "%s%s", machine,
                   port);
}

static int open_identity(struct running *r, struct error *err)
{
    struct pki_options o = { .dir = r->settings.data,
                             .address = r->reachable,
                             .host_name = r->host,
                             .now = clock_real_ns(clock_system()) / (int64_t)NS_PER_S,
                             .is_insecure = r->settings.is_insecure };
    int e = io_host_name(r->host, err);

    find_reachable(r);
    r->pki_options = o;
    if (e == 0)
        e = pki_open(&o, &r->pki, err);
    if (e == 0)
        e = authenticator_new(&(struct authenticator_options){ .clock = clock_system(),
                                                               .token_key = r->pki.token_key,
                                                               .token_file = r->settings.token_file,
                                                               .facts = store_facts(r->store),
                                                               .is_insecure = r->settings.is_insecure },
                              &r->authenticator, err);
    return e;
}

static int open_http(struct running *r, struct error *err)
{
    bool is_plain = r->settings.is_insecure;
    struct http_options o = { .loop = r->loop,
                              .address = r->settings.listen,
                              .serve = serve_call,
                              .identify = identify_call,
                              .ctx = r };
    int e = io_random(&o.seed, sizeof o.seed, err);

    o.key_pem = is_plain ? NULL : buf_cstr(&r->pki.server_key);
    o.cert_pem = is_plain ? NULL : buf_cstr(&r->pki.server_cert);
    o.client_ca_pem = is_plain ? NULL : buf_cstr(&r->pki.ca_cert);
    if (e == 0)
        e = http_new(&o, &r->http, err);
    if (e == -ERR_BUSY)
        return error_set(
            err, ERR_BUSY,
            "cannot listen on %s: another program listens there ('ss -ltnp' shows which); choose "
            "another address with --listen",
            r->settings.listen);
    return e;
}

static void write_stats(void *ctx, struct buf *out)
{
    const struct running *r = ctx;

    manager_write_stats(r->manager, out);
}

/* An explanation that a client waits for. */
struct why_answer {
    struct slow_answer answer;
    const struct running *running;
    const struct manager *manager; /* that it is made from */
    struct explanation *explanation;
};

static int why_answer_step(struct slow_answer *a, struct buf *out, struct error *err)
{
    const struct why_answer *x = CONTAINER_OF(a, struct why_answer, answer);

    if (x->running->manager != x->manager)
        return error_set(err, ERR_UNAVAILABLE, "the controllers have stopped");
    return explanation_step(x->explanation, EXPLANATION_SLICE_LOOKS, out, err);
}

static void why_answer_free(struct slow_answer *a)
{
    struct why_answer *x = CONTAINER_OF(a, struct why_answer, answer);

    x->explanation = explanation_free(x->explanation);
    free(x);
}

static int explain(void *ctx, const char *path, bool all, struct buf *out, struct slow_answer **ret,
                   struct error *err)
{
    _cleanup_(explanation_free_p) struct explanation *explanation = NULL;
    struct why_question q = { .shows_all = all };
    const struct running *r = ctx;
    char names[WHY_PATH_BYTES_MAX];
    struct why_answer *x;
    int e;

    if (strcmp(path, "provisioners") == 0) {
        manager_write_provisioners(r->manager, out);
        return 0;
    }
    e = why_read_path(path, names, &q, err);
    if (e == 0)
        e = manager_explain(r->manager, &q, &explanation, err);
    if (e < 0)
        return e;
    x = malloc(sizeof *x);
    if (!x)
        return error_no_memory(err);
    *x = (struct why_answer){ .answer = { why_answer_step, why_answer_free },
                              .running = r,
                              .manager = r->manager,
                              .explanation = TAKE(explanation) };
    *ret = &x->answer;
    return 0;
}

/* --- What this server is --- */

static void fill_provisioners(const struct running *r, struct server_status_names *ret)
{
    const struct provisioner_settings *p = &r->file.provisioners;

    if (!(r->parts & MANAGER_CONTROLLERS))
        return;
    if (r->settings.controllers.has_hostpath_provisioner)
        server_status_add(ret, STR_LIT("kubernetes.io/host-path"));
    for (unsigned i = 0; i < p->nfs_count; i++)
        server_status_add(ret, str_of(p->nfs[i].name));
    if (p->has_local)
        server_status_add(ret, STR_LIT("local volumes"));
}

static void fill_status(const struct running *r, struct server_status *ret)
{
    *ret = (struct server_status){ .version = STR_LIT(BERTH_VERSION),
                                   .url = str_of(r->url),
                                   .data = str_of(r->data_path),
                                   .kubeconfig = str_of(r->kubeconfig),
                                   .user = str_of(r->user),
                                   .may_mount = io_may_mount() };
    if (r->parts & MANAGER_CONTROLLERS)
        server_status_add(&ret->parts, STR_LIT("controllers"));
    if (r->parts & MANAGER_SCHEDULER)
        server_status_add(&ret->parts, STR_LIT("scheduler"));
    if (r->parts & MANAGER_NODE) {
        server_status_add(&ret->parts, STR_LIT("node"));
        ret->node = str_of(r->settings.node.name ? r->settings.node.name : r->host);
    }
    fill_provisioners(r, &ret->provisioners);
}

static void write_status(void *ctx, struct buf *out)
{
    struct server_status s;

    fill_status(ctx, &s);
    server_status_write_json(&s, out);
}

/* For a person at a terminal; a log has one line. */
static void show_ready(const struct running *r)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATUS_BYTES_MAX);
    struct server_status s;

    if (!io_stderr_is_terminal() || r->logger.format != LOG_FORMAT_TEXT) {
        log_info("ready", LOG_STR("url", r->url), LOG_STR("kubeconfig", r->kubeconfig));
        return;
    }
    fill_status(r, &s);
    if (r->manager && !manager_missing(r->manager))
        manager_count_waiting(r->manager, &s);
    buf_addf(&text, "\nBerth %s is ready at %s\n", BERTH_VERSION, r->url);
    server_status_write_text(&s, &text);
    buf_addf(&text, "  %-13s export BERTH_DATA=%s; berth get nodes\n\n", "try", r->data_path);
    if (!text.failed)
        (void)fputs(buf_cstr(&text), stderr);
}

static void await_ready(void *ctx)
{
    struct running *r = ctx;
    struct error err;
    bool is_ready =
        !r->manager || (!manager_missing(r->manager) && manager_check_node(r->manager, &err) == 0);

    if (is_ready || loop_now_ns(r->loop) >= r->ready_until_ns)
        show_ready(r);
    else
        timer_arm_after(&r->ready_timer, READY_POLL_NS);
}

static int begin_ready(struct running *r, struct error *err)
{
    int e = io_absolute(r->settings.data, r->data_path, err);

    if (e < 0)
        return e;
    (void)snprintf(r->kubeconfig, sizeof r->kubeconfig, "%s/kubeconfig", r->data_path); /* a path */
    (void)snprintf(r->url, sizeof r->url, "http%s://%s", r->settings.is_insecure ? "" : "s",
                   http_address(r->http)); /* it fits */
    io_user_name(io_user(), r->user);
    if (r->parts & MANAGER_NODE && !io_may_mount())
        log_warn(
            "mounting needs root: volumes are bound, but not mounted on this node; run berth as root, or "
            "with --without node",
            LOG_STR("user", r->user));
    r->ready_until_ns = loop_now_ns(r->loop) + READY_NS;
    timer_arm_after(&r->ready_timer, 0);
    return 0;
}

static const char *advertised_address(struct running *r)
{
    (void)snprintf(r->advertised, sizeof r->advertised, "%.*s%s",
                   (int)(strrchr(r->reachable, ':') - r->reachable), r->reachable,
                   strrchr(http_address(r->http), ':'));
    return r->advertised;
}

static int open_server(struct running *r, struct error *err)
{
    struct apiserver_options o = { .loop = r->loop,
                                   .clock = clock_system(),
                                   .store = r->store,
                                   .metrics = r->metrics,
                                   .authenticator = r->authenticator,
                                   .event_ttl_seconds = r->event_ttl_seconds,
                                   .write_stats = r->parts & MANAGER_NODE ? write_stats : NULL,
                                   .stats_ctx = r,
                                   .explain =
                                       r->parts & (MANAGER_CONTROLLERS | MANAGER_SCHEDULER) ? explain : NULL,
                                   .explain_ctx = r,
                                   .write_status = write_status,
                                   .status_ctx = r };
    int e = io_random(&o.seed, sizeof o.seed, err);

    if (e == 0)
        e = open_http(r, err);
    if (e < 0)
        return e;
    o.address = http_address(r->http);
    o.advertised = advertised_address(r);
    o.ca_pem = buf_cstr(&r->pki.ca_cert);
    o.server_cert_pem = r->settings.is_insecure ? NULL : buf_cstr(&r->pki.server_cert);
    e = apiserver_new(&o, &r->server, err);
    if (e == 0)
        e = pki_write_kubeconfig(&r->pki, r->settings.data, http_address(r->http), err);
    return e;
}

/* --- Certificates while it runs --- */

static int use_certificates(void *ctx, const struct pki *renewed, struct error *err)
{
    const struct running *r = ctx;
    int e = 0;

    if (!r->settings.is_insecure)
        e = http_set_identity(r->http, buf_cstr(&renewed->server_key), buf_cstr(&renewed->server_cert),
                              buf_cstr(&renewed->ca_cert), err);
    return e < 0 ? e : apiserver_set_ca(r->server, buf_cstr(&renewed->ca_cert), err);
}

static int open_renewal(struct running *r, struct error *err)
{
    struct pki_renewal_options o = { .loop = r->loop,
                                     .clock = clock_system(),
                                     .pki = r->pki_options,
                                     .address = http_address(r->http),
                                     .current = &r->pki,
                                     .use = use_certificates,
                                     .ctx = r };

    return pki_renewal_new(&o, &r->renewal, err);
}

/* --- Controllers --- */

static void on_synced(void *ctx)
{
    struct running *r = ctx;

    manager_start(r->manager);
}

static int open_manager(struct running *r, struct error *err)
{
    struct client_options c = { .loop = r->loop };
    struct manager_options o = { .parts = r->parts,
                                 .loop = r->loop,
                                 .host = r->host,
                                 .bind_timeout_ns = r->bind_timeout_ns,
                                 .clock = clock_system(),
                                 .metrics = r->metrics,
                                 .is_local = true,
                                 .server = server_version_own(),
                                 .controllers = r->settings.controllers,
                                 .provisioners = &r->file.provisioners,
                                 .attach_sync_period_ns = r->attach_sync_period_ns,
                                 .node_name = r->settings.node.name ? r->settings.node.name : r->host,
                                 .node = &r->settings.node,
                                 .sync_ns = r->sync_ns,
                                 .data_dir = r->settings.data,
                                 .state_dir = r->state_dir,
                                 .each_event = why_each_stored_event,
                                 .events_ctx = r->store,
                                 .on_synced = on_synced,
                                 .ctx = r };
    int e = io_random(&o.seed, sizeof o.seed, err);

    (void)snprintf(r->state_dir, sizeof r->state_dir, "%s/local", r->settings.data); /* a path */
    if (e == 0)
        e = local_client_new(r->server, NULL, &c.carrier, err);
    if (e == 0)
        e = client_new(&c, &r->client, err);
    o.client = r->client;
    if (e == 0)
        e = manager_new(&o, &r->manager, err);
    if (e == 0)
        manager_open(r->manager);
    return e;
}

/* --- Being watched over --- */

static int check_ready(void *ctx, struct error *err)
{
    const struct running *r = ctx;

    return health_ready(r->server->health, err);
}

/* The server answers; the parts beside it may have some way to go. */
static void describe(void *ctx, char ret[SUPERVISED_WORDS_BYTES])
{
    const struct running *r = ctx;
    const char *missing = r->manager ? manager_missing(r->manager) : NULL;
    struct error err = { 0 };

    if (missing)
        (void)error_set(&err, ERR_UNAVAILABLE, "waiting for the caches: %s", missing);
    else if (r->manager)
        (void)manager_check_node(r->manager, &err);
    (void)snprintf(ret, SUPERVISED_WORDS_BYTES, "serving on %s%s%.*s", http_address(r->http),
                   err.msg[0] ? "; " : "", SUPERVISED_WORDS_BYTES / 2, err.msg);
}

static int watch_over(struct running *r, struct error *err)
{
    struct supervised_options o = { .loop = r->loop, .check = check_ready, .describe = describe, .ctx = r };

    return supervised_init(&r->supervised, &o, err);
}

/* --- Stopping --- */

static void stop_manager(struct running *r)
{
    if (r->manager)
        r->stopped = manager_stop(TAKE(r->manager));
}

/* Lets what is under way come to its end, for a while. */
static void wait_for_end(void *ctx)
{
    struct running *r = ctx;

    if (http_connections(r->http) == 0 || loop_now_ns(r->loop) >= r->stop_at_ns)
        loop_stop(r->loop);
    else
        timer_arm_after(&r->stop_timer, STOP_POLL_NS);
}

static void on_signal(void *ctx, int signum)
{
    struct running *r = ctx;

    if (r->is_stopping)
        return;
    r->is_stopping = true;
    log_info("stopping", LOG_STR("signal", signum == SIGTERM ? "SIGTERM" : "SIGINT"));
    supervised_stopping(&r->supervised);
    timer_disarm(&r->ready_timer);
    stop_manager(r); /* what it has sent is carried out */
    apiserver_stop(r->server);
    http_quiesce(r->http);
    r->stop_at_ns = loop_now_ns(r->loop) + STOP_NS;
    timer_arm_after(&r->stop_timer, 0);
}

static int start(struct running *r, struct error *err)
{
    int e = loop_new(NULL, &r->loop, err);

    if (e < 0)
        return e;
    timer_init(&r->stop_timer, r->loop, wait_for_end, r);
    timer_init(&r->ready_timer, r->loop, await_ready, r);
    e = loop_on_signal(r->loop, SIGTERM, on_signal, r, err);
    if (e == 0)
        e = loop_on_signal(r->loop, SIGINT, on_signal, r, err);
    if (e == 0)
        e = open_store(r, err);
    if (e == 0)
        e = open_identity(r, err);
    if (e == 0)
        e = open_server(r, err);
    if (e == 0)
        e = open_renewal(r, err);
    if (e == 0 && r->parts)
        e = open_manager(r, err);
    if (e == 0)
        e = begin_ready(r, err);
    return e < 0 ? e : watch_over(r, err);
}

/* All but what workers see. */
static void running_stop(struct running *r)
{
    timer_disarm(&r->stop_timer);
    timer_disarm(&r->ready_timer);
    supervised_done(&r->supervised);
    stop_manager(r);
    r->client = client_free(r->client);
    r->renewal = pki_renewal_free(r->renewal);
    r->http = http_free(r->http);
    /* Writes under way are answered while the server is there to hear it. */
    if (r->store)
        store_finish(r->store);
    r->server = apiserver_free(r->server);
    r->store = store_free(r->store);
}

static void running_done(struct running *r)
{
    r->stopped = manager_free(r->stopped);
    r->authenticator = authenticator_free(r->authenticator);
    pki_done(&r->pki);
    r->metrics = metrics_free(r->metrics);
    r->loop = loop_free(r->loop);
    settings_file_done(&r->file);
}

static int serve_run(int argc, char **argv)
{
    struct running r = { 0 };
    struct error err;
    size_t abandoned;
    int args, status;

    settings_file_init(&r.file);
    status = flags_parse(&cli_verb_serve, argc, argv, &r.settings, &args);
    if (status == CLI_OK && args > 0)
        status = cli_fail_usage("serve: unexpected argument '%s': see 'berth help serve'", argv[1]);
    if (status == CLI_OK)
        status = check_settings(&r);
    if (status == CLI_OK) {
        log_install(&r.logger);
        if (cli_data_dir_check(r.data, &err) < 0 || start(&r, &err) < 0) {
            status = cli_fail("serve: %s", err.msg);
        } else {
            log_info("serving", LOG_STR("address", http_address(r.http)), LOG_STR("data", r.settings.data),
                     LOG_BOOL("insecure", r.settings.is_insecure));
            loop_run(r.loop);
        }
    }
    running_stop(&r);
    abandoned = job_abandon_all(r.loop);
    if (!abandoned)
        running_done(&r);
    if (status == CLI_OK)
        log_info("stopped");
    log_install(NULL);
    if (abandoned)
        job_exit(status);
    return status;
}

const struct cli_verb cli_verb_serve = {
    .name = "serve",
    .group = CLI_SERVERS,
    .usage = "serve [FLAG...]",
    .summary = "Run the control plane on this machine: API server, controllers, scheduler, node",
    .about =
        "Everything is kept in the data directory. At the first start a certificate authority and a "
        "kubeconfig for "
        "the administrator are made there: 'kubectl --kubeconfig DATA/kubeconfig' and Berth's own "
        "commands use it. "
        "Stop it with SIGTERM or Ctrl-C.\n"
        "Without root everything works but mounting: a warning at the start, the Node's condition and the "
        "pods' events say so.",
    .flags = serve_flags,
    .examples = "  berth serve                                 # in the default data directory\n"
                "  berth serve --data ./data --listen 127.0.0.1:8000\n"
                "  berth serve --without node                  # it mounts nothing\n"
                "  berth serve --enable-hostpath-provisioner   # for a first try of classes\n"
                "  berth serve --config /etc/berth/berth.conf  # see berth.conf(5)\n",
    .run = serve_run,
};
