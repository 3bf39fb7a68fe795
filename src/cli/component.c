#include "cli/component.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/uid.h"
#include "apiserver/health.h"
#include "apiserver/monitor.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/logging.h"
#include "cli/settings_file.h"
#include "daemon/cluster.h"
#include "daemon/manager.h"
#include "daemon/server_status.h"
#include "daemon/supervised.h"
#include "io/clock.h"
#include "io/hostname.h"
#include "io/job.h"
#include "io/random.h"
#include "machinery/health.h"
#include "machinery/leader.h"
#include "machinery/metrics.h"
#include "machinery/process_metrics.h"
#include "machinery/recorder.h"
#include "machinery/server_version.h"
#include "scheduler/scheduler.h"

#define QPS_DEFAULT 200
#define BURST_DEFAULT 400
#define RATE_MAX 1000000
#define SECONDS_MAX 86400
/* From the signal to the end, and of that for events. */
#define STOP_NS (4 * NS_PER_S)
#define FLUSH_NS NS_PER_S
#define STOP_POLL_NS (20 * NS_PER_MS)
/* How often the lease is looked at for something to say. */
#define LEASE_POLL_NS (500 * NS_PER_MS)

#define STATUS_DEADLINE_NS (10 * NS_PER_S)
#define STATUS_BYTES_MAX 65536

#define SAID_BYTES 256
#define IDENTITY_BYTES (IO_HOST_NAME_BYTES + UID_BYTES)

/* What runs, in the order it is made. */
struct running {
    const struct component *type;
    struct component_settings settings;
    struct settings_file file;             /* --config */
    uint64_t lease_ns, renew_ns, retry_ns; /* 0: the default */
    uint64_t qps, burst;
    uint64_t bind_timeout_ns;
    uint64_t sync_ns; /* of a node's pods */
    uint64_t attach_sync_period_ns;
    struct logger logger;
    char host[IO_HOST_NAME_BYTES];
    char identity[IDENTITY_BYTES];
    uint64_t seed;
    struct loop *loop;
    struct metrics *metrics;
    struct health *health;
    struct cluster cluster;
    struct monitor *monitor;
    struct recorder *recorder; /* of the lease's events */
    struct leader *leader;     /* NULL: nobody is elected */
    struct manager *manager;   /* NULL: the server has not been reached */
    struct manager *stopped;   /* the same after its end; workers may still see it */
    struct server_version version;
    struct client_call status_call; /* which parts the server runs itself */
    struct timer lease_timer;
    char said_holder[SAID_BYTES];
    char said_trouble[SAID_BYTES];
    struct supervised supervised;
    struct timer stop_timer;
    uint64_t stop_at_ns;
    uint64_t flush_until_ns; /* 0: the leader is not over yet */
    bool is_stopping;
    int status;
};

/* --- Settings --- */

/* A flag that is a number; CLI_OK, or the complaint made. */
static int read_number(const struct running *r, const char *flag, const char *text, uint64_t least,
                       uint64_t most, uint64_t *ret)
{
    uint64_t n;

    if (!text)
        return CLI_OK;
    if (!str_to_uint64(str_of(text), &n) || n < least || n > most)
        return cli_fail_usage("%s: --%s %s: not a number from %llu to %llu", r->type->verb->name, flag, text,
                              (unsigned long long)least, (unsigned long long)most);
    *ret = n;
    return CLI_OK;
}

/* Unset when it is not given. */
static int read_seconds(const struct running *r, const char *flag, const char *text, uint64_t least,
                        uint64_t *ret_ns)
{
    uint64_t seconds = *ret_ns / NS_PER_S;
    int status = read_number(r, flag, text, least, SECONDS_MAX, &seconds);

    *ret_ns = seconds * NS_PER_S;
    return status;
}

/* Local volumes belong to a machine, and a component may run on any, or lead on another tomorrow. */
static int read_config(struct running *r)
{
    struct component_settings *s = &r->settings;
    const char *verb = r->type->verb->name;
    struct error err;

    if (s->config && settings_file_read(&r->file, s->config, r->type->verb->flags, s, &err) < 0)
        return cli_fail_usage("%s: %s", verb, err.msg);
    if (r->file.provisioners.has_local)
        return cli_fail_usage("%s: settings in '%s': provisioners.local: works in 'berth serve' only, on the "
                              "machine that has the disks",
                              verb, s->config);
    return CLI_OK;
}

static int check_settings(struct running *r)
{
    struct component_settings *s = &r->settings;
    struct error err;

    r->qps = QPS_DEFAULT;
    r->burst = BURST_DEFAULT;
    r->bind_timeout_ns = SCHEDULER_BIND_TIMEOUT_NS;
    if (read_config(r) != CLI_OK)
        return CLI_USAGE;
    if (cli_logger(r->type->verb->name, s->log_level, s->log_format, &r->logger) != CLI_OK ||
        read_number(r, "kube-api-qps", s->qps, 0, RATE_MAX, &r->qps) != CLI_OK ||
        read_number(r, "kube-api-burst", s->burst, 1, RATE_MAX, &r->burst) != CLI_OK ||
        read_seconds(r, "leader-elect-lease-duration", s->lease_duration, 1, &r->lease_ns) != CLI_OK ||
        read_seconds(r, "leader-elect-renew-deadline", s->renew_deadline, 1, &r->renew_ns) != CLI_OK ||
        read_seconds(r, "leader-elect-retry-period", s->retry_period, 1, &r->retry_ns) != CLI_OK ||
        read_seconds(r, "bind-timeout", s->bind_timeout, 0, &r->bind_timeout_ns) != CLI_OK ||
        controllers_flags_check(r->type->verb->name, &s->controllers, &r->attach_sync_period_ns) != CLI_OK ||
        node_flags_check(r->type->verb->name, &s->node, &r->sync_ns) != CLI_OK)
        return CLI_USAGE;
    if (r->type->parts & MANAGER_NODE && !s->node.root)
        return cli_fail_usage("%s: --root is needed: a directory where nothing but this node keeps pods' "
                              "volumes, such as /var/lib/berth/node",
                              r->type->verb->name);
    if (leader_check_times(r->lease_ns, r->renew_ns, r->retry_ns, &err) < 0)
        return cli_fail_usage("%s: %s", r->type->verb->name, err.msg);
    return CLI_OK;
}

/* --- Leading --- */

/* From here on this process may write. */
static void on_started(void *ctx)
{
    struct running *r = ctx;

    log_info("leading", LOG_STR("identity", r->identity), LOG_BOOL("elected", r->leader != NULL));
    manager_start(r->manager);
}

static void stop_manager(struct running *r)
{
    if (r->manager)
        r->stopped = manager_stop(TAKE(r->manager));
}

static void begin_end(struct running *r)
{
    r->is_stopping = true;
    supervised_stopping(&r->supervised);
    stop_manager(r);
    timer_disarm(&r->lease_timer);
    r->stop_at_ns = loop_now_ns(r->loop) + STOP_NS;
    timer_arm_after(&r->stop_timer, 0);
}

/* Keeps the beginning of the text; true when it is another than the one kept before. */
static bool is_news(char kept[SAID_BYTES], const char *text)
{
    if (strncmp(kept, text, SAID_BYTES - 1) == 0)
        return false;
    (void)snprintf(kept, SAID_BYTES, "%s", text);
    return true;
}

/* Who leads and what goes wrong, once each. */
static void watch_lease(void *ctx)
{
    struct running *r = ctx;
    bool is_leading = leader_state(r->leader) == LEADER_LEADING;
    const char *holder = leader_holder(r->leader), *trouble = leader_trouble(r->leader);

    if (is_news(r->said_holder, holder) && !is_leading && holder[0])
        log_info("another leads", LOG_STR("holder", holder));
    if (is_news(r->said_trouble, trouble) && trouble[0])
        log_warn(is_leading ? "the lease could not be renewed" : "the lease could not be taken",
                 LOG_STR("reason", trouble));
    timer_arm_after(&r->lease_timer, LEASE_POLL_NS);
}

static void on_stopped(void *ctx, bool is_lost)
{
    struct running *r = ctx;

    if (is_lost) {
        log_error("the lease is lost, ending", LOG_STR("identity", r->identity),
                  LOG_STR("reason", leader_trouble(r->leader)));
        r->status = CLI_FAILED;
        if (!r->is_stopping)
            begin_end(r);
    } else if (leader_trouble(r->leader)[0]) {
        log_warn("the lease could not be given back", LOG_STR("reason", leader_trouble(r->leader)));
    }
    r->flush_until_ns = loop_now_ns(r->loop) + FLUSH_NS;
}

/* --- Caches --- */

static void on_synced(void *ctx)
{
    struct running *r = ctx;

    if (r->leader) {
        leader_start(r->leader);
        log_info("waiting for the lease", LOG_STR("lease", r->type->lease), LOG_STR("identity", r->identity));
        timer_arm_after(&r->lease_timer, LEASE_POLL_NS);
    } else {
        on_started(r);
    }
}

static int open_manager(struct running *r, const struct server_version *server, struct error *err)
{
    struct manager_options o = { .parts = r->type->parts,
                                 .loop = r->loop,
                                 .clock = clock_system(),
                                 .client = r->cluster.client,
                                 .metrics = r->metrics,
                                 .seed = r->seed,
                                 .server = *server,
                                 .streams_lists = server_version_streams_lists(server),
                                 .scheduler_name = r->settings.scheduler_name,
                                 .bind_timeout_ns = r->bind_timeout_ns,
                                 .controllers = r->settings.controllers,
                                 .provisioners = &r->file.provisioners,
                                 .attach_sync_period_ns = r->attach_sync_period_ns,
                                 .host = r->host,
                                 .node = &r->settings.node,
                                 .node_name = r->settings.node.name ? r->settings.node.name : r->host,
                                 .sync_ns = r->sync_ns,
                                 .on_synced = on_synced,
                                 .ctx = r };

    return manager_new(&o, &r->manager, err);
}

static void fail(struct running *r, const struct error *err)
{
    log_error("cannot start", LOG_ERR(err));
    r->status = CLI_FAILED;
    loop_stop(r->loop);
}

/* A server of ours may run the same part itself: two sets of controllers would work against each other.
 * Another scheduler has pods of its own. */
static int check_server_parts(const struct running *r, struct str answer, struct error *err)
{
    struct server_status s = { 0 };
    const char *part = r->type->verb->name;
    struct error ignored;
    bool is_taken = false;
    struct json d;
    json_ref v;

    json_init(&d, STATUS_BYTES_MAX);
    if (json_parse(&d, answer, &v, &ignored) == 0 && server_status_read(&d, v, &s, &ignored) == 0)
        is_taken = server_status_has_part(&s, part) &&
                   (!r->settings.scheduler_name || strcmp(r->settings.scheduler_name, SCHEDULER_NAME) == 0);
    json_done(&d);
    if (is_taken)
        return error_set(err, ERR_BUSY,
                         "the server at %s runs its own %s: start it with --without %s, or stop "
                         "this process",
                         r->cluster.config.server, part, part);
    return 0;
}

static void begin(struct running *r)
{
    struct error err;

    if (open_manager(r, &r->version, &err) < 0)
        fail(r, &err);
    else
        manager_open(r->manager);
}

static void on_status(void *ctx, const struct client_answer *a)
{
    struct running *r = ctx;
    struct error err;

    if (a->r == 0 && check_server_parts(r, a->text, &err) < 0)
        fail(r, &err);
    else
        begin(r);
}

static void on_reached(void *ctx, const struct server_version *version)
{
    struct running *r = ctx;

    if (r->is_stopping)
        return;
    log_info("the server answers", LOG_STR("server", r->cluster.config.server),
             LOG_INT("major", version->major), LOG_INT("minor", version->minor));
    r->version = *version;
    if (!version->is_berth || r->type->parts & MANAGER_NODE) {
        begin(r);
        return;
    }
    client_send(r->cluster.client, &r->status_call,
                &(struct client_request){
                    .verb = CLIENT_RAW, .path = STATUS_PATH, .deadline_ns = STATUS_DEADLINE_NS },
                on_status, r);
}

/* --- Health --- */

static int check_caches(void *ctx, struct error *err)
{
    const struct running *r = ctx;
    const char *missing = r->manager ? manager_missing(r->manager) : "the server's version";

    return missing ? error_set(err, ERR_UNAVAILABLE, "waiting for %s", missing) : 0;
}

static int check_node(void *ctx, struct error *err)
{
    const struct running *r = ctx;

    return r->manager ? manager_check_node(r->manager, err)
                      : error_set(err, ERR_UNAVAILABLE, "waiting for the server's version");
}

static int check_stopping(void *ctx, struct error *err)
{
    const struct running *r = ctx;

    return r->is_stopping ? error_set(err, ERR_UNAVAILABLE, "stopping") : 0;
}

static int check_leader(void *ctx, struct error *err)
{
    const struct running *r = ctx;

    return r->leader ? leader_check(r->leader, err) : 0;
}

static void write_stats(void *ctx, struct buf *out)
{
    const struct running *r = ctx;

    manager_write_stats(r->manager, out);
}

static int open_monitor(struct running *r, struct error *err)
{
    struct monitor_options o = {
        .loop = r->loop,
        .address = r->settings.metrics,
        .metrics = r->metrics,
        .health = r->health,
        .write_stats = r->type->parts & MANAGER_NODE ? write_stats : NULL,
        .ctx = r,
    };
    int e = health_add(r->health, "informer-sync", HEALTH_READY, check_caches, r, err);

    if (e == 0 && r->type->parts & MANAGER_NODE)
        e = health_add(r->health, "node", HEALTH_READY, check_node, r, err);
    if (e == 0)
        e = health_add(r->health, "leaderElection", HEALTH_ALL, check_leader, r, err);
    if (e == 0)
        e = health_add(r->health, "shutdown", HEALTH_READY, check_stopping, r, err);
    if (e == 0)
        e = io_random(&o.seed, sizeof o.seed, err);
    if (e == 0 && o.address)
        e = monitor_new(&o, &r->monitor, err);
    return e;
}

/* --- Being watched over --- */

static int check_ready(void *ctx, struct error *err)
{
    const struct running *r = ctx;

    return health_ready(r->health, err);
}

static void describe(void *ctx, char ret[SUPERVISED_WORDS_BYTES])
{
    const struct running *r = ctx;
    const char *holder = r->leader ? leader_holder(r->leader) : "";

    if (!r->leader)
        (void)snprintf(ret, SUPERVISED_WORDS_BYTES, "working");
    else if (leader_state(r->leader) == LEADER_LEADING)
        (void)snprintf(ret, SUPERVISED_WORDS_BYTES, "leading");
    else
        (void)snprintf(ret, SUPERVISED_WORDS_BYTES, "standing by%s%s", holder[0] ? ": leader is " : "",
                       holder); /* the beginning will do */
}

static int watch_over(struct running *r, struct error *err)
{
    struct supervised_options o = { .loop = r->loop, .check = check_ready, .describe = describe, .ctx = r };

    return supervised_init(&r->supervised, &o, err);
}

/* --- Starting --- */

static int open_registry(struct running *r, struct error *err)
{
    uint8_t random[UID_RANDOM_BYTES];
    char uid[UID_BYTES];
    struct hash_seed seed;
    int e = io_random(&seed, sizeof seed, err);

    if (e == 0)
        e = io_random(&r->seed, sizeof r->seed, err);
    if (e == 0)
        e = io_random(random, sizeof random, err);
    if (e == 0)
        e = io_host_name(r->host, err);
    if (e < 0)
        return e;
    uid_make(random, uid);
    (void)snprintf(r->identity, sizeof r->identity, "%s_%s", r->host, uid);
    r->metrics = metrics_new(seed);
    r->health = health_new();
    if (!r->metrics || !r->health)
        return error_no_memory(err);
    return process_metrics_add(r->metrics, err);
}

static int open_cluster(struct running *r, struct error *err)
{
    struct cluster_options o = { .loop = r->loop,
                                 .metrics = r->metrics,
                                 .kubeconfig = r->settings.kubeconfig,
                                 .context = r->settings.context,
                                 .qps = (double)r->qps,
                                 .burst = (unsigned)r->burst,
                                 .seed = r->seed,
                                 .on_reached = on_reached,
                                 .ctx = r };

    return cluster_open(&o, &r->cluster, err);
}

/* Nothing but the lease and its events is written by one who does not lead: the gate sees to it. */
static int open_leader(struct running *r, struct error *err)
{
    struct leader_options o = { .loop = r->loop,
                                .clock = clock_system(),
                                .client = r->cluster.own,
                                .metrics = r->metrics,
                                .seed = r->seed,
                                .ns = r->settings.lease_ns ? r->settings.lease_ns : COMPONENT_LEASE_NAMESPACE,
                                .name = r->type->lease,
                                .identity = r->identity,
                                .lease_ns = r->lease_ns,
                                .renew_ns = r->renew_ns,
                                .retry_ns = r->retry_ns,
                                .on_started = on_started,
                                .on_stopped = on_stopped,
                                .ctx = r };
    int e = recorder_new(&(struct recorder_options){ .loop = r->loop,
                                                     .clock = clock_system(),
                                                     .client = r->cluster.own,
                                                     .metrics = r->metrics,
                                                     .seed = r->seed,
                                                     .dialect = RECORDER_CORE,
                                                     .component = r->type->lease,
                                                     .host = r->host },
                         &r->recorder, err);

    if (e < 0)
        return e;
    o.recorder = r->recorder;
    e = leader_new(&o, &r->leader, err);
    if (e == 0)
        client_set_gate(r->cluster.client, leader_gate, r->leader);
    return e;
}

/* --- Stopping --- */

static void wait_for_end(void *ctx)
{
    struct running *r = ctx;
    uint64_t now = loop_now_ns(r->loop);
    bool is_flushed =
        r->flush_until_ns && (!r->recorder || recorder_is_idle(r->recorder) || now >= r->flush_until_ns);

    if (is_flushed || now >= r->stop_at_ns)
        loop_stop(r->loop);
    else
        timer_arm_after(&r->stop_timer, STOP_POLL_NS);
}

static void on_signal(void *ctx, int signum)
{
    struct running *r = ctx;

    if (r->is_stopping)
        return;
    log_info("stopping", LOG_STR("signal", signum == SIGTERM ? "SIGTERM" : "SIGINT"));
    begin_end(r);
    if (r->leader)
        leader_stop(r->leader); /* on_stopped() follows */
    else
        r->flush_until_ns = loop_now_ns(r->loop) + FLUSH_NS;
}

static int start(struct running *r, struct error *err)
{
    int e = loop_new(NULL, &r->loop, err);

    if (e < 0)
        return e;
    timer_init(&r->lease_timer, r->loop, watch_lease, r);
    timer_init(&r->stop_timer, r->loop, wait_for_end, r);
    e = loop_on_signal(r->loop, SIGTERM, on_signal, r, err);
    if (e == 0)
        e = loop_on_signal(r->loop, SIGINT, on_signal, r, err);
    if (e == 0)
        e = open_registry(r, err);
    if (e == 0)
        e = open_cluster(r, err);
    if (e == 0)
        e = open_monitor(r, err);
    if (e == 0 && r->settings.is_elected)
        e = open_leader(r, err);
    return e < 0 ? e : watch_over(r, err);
}

/* All but what workers see. */
static void running_stop(struct running *r)
{
    timer_disarm(&r->lease_timer);
    timer_disarm(&r->stop_timer);
    supervised_done(&r->supervised);
    r->monitor = monitor_free(r->monitor);
    stop_manager(r);
    client_cancel(&r->status_call);
    r->leader = leader_free(r->leader);
    r->recorder = recorder_free(r->recorder);
    cluster_close(&r->cluster);
}

static void running_done(struct running *r)
{
    r->stopped = manager_free(r->stopped);
    r->health = health_free(r->health);
    r->metrics = metrics_free(r->metrics);
    r->loop = loop_free(r->loop);
    settings_file_done(&r->file);
}

static void run(struct running *r)
{
    log_info("starting", LOG_STR("server", r->cluster.config.server),
             LOG_STR("config", r->cluster.config.source),
             LOG_STR("metrics", r->monitor ? monitor_address(r->monitor) : NULL),
             LOG_BOOL("leader_elect", r->leader != NULL));
    cluster_reach(&r->cluster);
    loop_run(r->loop);
}

int component_run(const struct component *type, int argc, char **argv)
{
    const char *verb = type->verb->name;
    struct running r = { .type = type };
    struct error err;
    size_t abandoned;
    int args;

    settings_file_init(&r.file);
    r.status = flags_parse(type->verb, argc, argv, &r.settings, &args);
    if (r.status == CLI_OK && args > 0)
        r.status = cli_fail_usage("%s: unexpected argument '%s': see 'berth help %s'", verb, argv[1], verb);
    if (r.status == CLI_OK)
        r.status = check_settings(&r);
    if (r.status == CLI_OK) {
        log_install(&r.logger);
        if (start(&r, &err) < 0)
            r.status = cli_fail("%s: %s", verb, err.msg);
        else
            run(&r);
    }
    running_stop(&r);
    abandoned = job_abandon_all(r.loop);
    if (!abandoned)
        running_done(&r);
    if (r.status == CLI_OK)
        log_info("stopped");
    log_install(NULL);
    if (abandoned)
        job_exit(r.status);
    return r.status;
}
