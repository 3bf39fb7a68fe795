/* The verbs that keep running: serve, controllers, scheduler and node; their flags and settings file, and the
 * start of daemon.h. */
#include "cli/program.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/yaml.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "io/clock.h"
#include "io/file.h"
#include "io/job.h"
#include "plugins/flex/prober.h"
#include "scheduler/scheduler.h"

/* --- The settings file --- */

/* One setting of the file: a flag's value, or a section. */
static int read_setting(struct json *d, json_ref m, const struct daemon_program *program,
                        const struct flag *flags, struct daemon_settings *s, struct error *err)
{
    enum json_type type = json_type(d, m);
    const char *name = arena_dup(&d->texts, json_key(d, m)), *value;
    int r = name ? daemon_read_section(program, name, d, m, s, err) : error_no_memory(err);

    if (r != 0)
        return r < 0 ? r : 0;
    /* An empty value is probably a mistake: it must not mean the default. */
    if (flag_find(flags, str_of(name)) && (type == JSON_ARRAY || type == JSON_OBJECT || type == JSON_NULL))
        return error_set(err, ERR_INVALID, "setting '%s' is not a single value%s", name,
                         type == JSON_ARRAY ? ": write a list as one comma-separated text" : "");
    value = type == JSON_TRUE ? "true" : type == JSON_FALSE ? "false" : arena_dup(&d->texts, json_text(d, m));
    return value ? flags_set_default(flags, s, name, value, err) : error_no_memory(err);
}

/* Parses one document; a file with only comments has none: then *ret stays 0. */
static int parse_settings(struct json *d, struct str text, json_ref *ret, struct error *err)
{
    _cleanup_(yaml_reader_free_p) struct yaml_reader *reader = NULL;
    struct yaml_doc doc = { 0 }, more = { 0 };
    int e = yaml_reader_new(text, &reader, err);

    if (e == 0)
        e = yaml_reader_next(reader, d, &doc, err);
    if (e <= 0)
        return e;
    if (json_type(d, doc.root) != JSON_OBJECT)
        return error_set(err, ERR_BAD_REQUEST, "line %u: expected NAME: VALUE", (unsigned)doc.line);
    *ret = doc.root;
    e = yaml_reader_next(reader, d, &more, err);
    return e > 0
               ? error_set(err, ERR_BAD_REQUEST, "unexpected second document on line %u", (unsigned)more.line)
               : e;
}

int program_read_file(struct json *doc, const char *path, const struct daemon_program *program,
                      const struct flag *flags, struct daemon_settings *s, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(PROGRAM_FILE_BYTES_MAX);
    json_ref root = 0;
    int e = io_read_file(path, PROGRAM_FILE_BYTES_MAX, &text, err);

    if (e == 0)
        e = parse_settings(doc, buf_str(&text), &root, err);
    for (json_ref m = root ? json_first(doc, root) : 0; m && e == 0; m = json_next(doc, m))
        e = read_setting(doc, m, program, flags, s, err);
    return e < 0 ? error_wrap(err, "settings in '%s'", path) : 0;
}

/* --- The command line --- */

static void log_to_stderr(void *ctx, const char *line, size_t len)
{
    (void)ctx;
    (void)fwrite(line, 1, len, stderr); /* a failure cannot be reported anywhere */
}

static int read_logger(const struct daemon_settings *s, struct logger *ret, struct error *err)
{
    struct logger l = { .clock = clock_system(), .sink = log_to_stderr };
    int r = log_level_parse(s->log_level ? s->log_level : "info", &l.level, err);

    if (r == 0)
        r = log_format_parse(s->log_format ? s->log_format : "text", &l.format, err);
    if (r == 0)
        *ret = l;
    return r;
}

/* The command line, then the file that it names. doc: of the file; the settings borrow its texts. */
static int read_settings(const struct cli_verb *verb, const struct daemon_program *program, int argc,
                         char **argv, struct json *doc, struct daemon_settings *s, struct logger *ret_logger)
{
    struct error err;
    int status = flags_parse(verb, argc, argv, s, /* ret_args= */ NULL);

    if (status != CLI_OK)
        return status;
    if ((s->config && program_read_file(doc, s->config, program, verb->flags, s, &err) < 0) ||
        daemon_settings_check(program, s, &err) < 0 || read_logger(s, ret_logger, &err) < 0)
        return cli_fail_usage("%s: %s", verb->name, err.msg);
    return CLI_OK;
}

/* Runs until it is stopped; argv as for a verb. Returns the exit status. */
static int program_run(const struct cli_verb *verb, int argc, char **argv)
{
    static const struct daemon_program *const programs[] = { &daemon_serve, &daemon_controllers,
                                                             &daemon_scheduler, &daemon_node };
    const struct daemon_program *program = NULL;
    struct daemon_settings s = { 0 };
    struct logger logger;
    struct error err;
    struct json doc;
    struct daemon_end end;
    int status;

    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (strcmp(programs[i]->name, verb->name) == 0)
            program = programs[i];
    assert(program);
    json_init(&doc, PROGRAM_FILE_BYTES_MAX);
    status = read_settings(verb, program, argc, argv, &doc, &s, &logger);
    if (status == CLI_OK) {
        log_install(&logger);
        if (daemon_run(program, &s, &end, &err) < 0)
            status = cli_fail("%s: %s", verb->name, err.msg);
        else if (end.has_failed)
            status = CLI_FAILED;
        else
            log_info("stopped");
        if (end.has_abandoned)
            job_exit(status);
        log_install(NULL);
    }
    daemon_settings_done(&s);
    json_done(&doc);
    return status;
}

/* --- Flags --- */

#define PROGRAM_NODE_GROUP "This node"
#define PROGRAM_LEASE_GROUP "Leader election"
#define PROGRAM_MONITOR_GROUP "Metrics and limits"

#define PROGRAM_FLAG(field, name, value, help) FLAG(struct daemon_settings, field, name, value, help)
#define PROGRAM_FLAG_IN(group, field, name, value, help) \
    FLAG_IN(group, struct daemon_settings, field, name, value, help)
#define PROGRAM_SWITCH_IN(group, field, name, help) \
    FLAG_ON_IN(group, struct daemon_settings, field, name, help)

/* For every program. example: a setting that its file may have, "data: DIR"; more: "" or other contents. */
#define PROGRAM_CONFIG_FLAG(example, more)                                  \
    PROGRAM_FLAG(config, "config", "FILE",                                  \
                 "YAML file with these settings by name (" example ")" more \
                 "; the command line takes precedence")
#define PROGRAM_LOG_FLAGS                                           \
    PROGRAM_FLAG_IN(FLAGS_LOG, log_level, "log-level", "LEVEL",     \
                    "error, warn, info (default), debug or trace"), \
        PROGRAM_FLAG_IN(FLAGS_LOG, log_format, "log-format", "FORMAT", "text (default) or json")

/* For programs that use drivers; the aliases are the names of kubelet and kube-controller-manager. */
#define PROGRAM_FLEX_FLAG(group_)                                                                    \
    FLAG_OF(FLAG_TEXT, struct daemon_settings, controllers.flex_dir, "flex-dir",                     \
            "directory of FlexVolume drivers; default " FLEX_DIR, .value = "DIR", .group = (group_), \
            .aliases = { "volume-plugin-dir", "flex-volume-plugin-dir" })
#define PROGRAM_CONTROLLERS_FLAGS(group)                                                                 \
    PROGRAM_SWITCH_IN(group, controllers.has_hostpath_provisioner, "enable-hostpath-provisioner",        \
                      "provision hostPath volumes, for tests"),                                          \
        PROGRAM_FLEX_FLAG(group),                                                                        \
        PROGRAM_FLAG_IN(group, controllers.attach_sync_period, "attach-detach-reconcile-sync-period",    \
                        "SECONDS", "interval for verifying attached volumes; default 60, 0 for never"),  \
        PROGRAM_SWITCH_IN(group, controllers.has_no_attach_sync, "disable-attach-detach-reconcile-sync", \
                          "do not verify attached volumes"),                                             \
        PROGRAM_SWITCH_IN(                                                                               \
            group, controllers.has_no_forced_detach, "disable-force-detach-on-timeout",                  \
            "never detach a volume in use from a dead node unless the node is tainted out of service")
#define PROGRAM_BIND_TIMEOUT_FLAG(group)                            \
    PROGRAM_FLAG_IN(group, bind_timeout, "bind-timeout", "SECONDS", \
                    "time limit for binding a pod's volumes before the scheduler retries; default 600")
/* Except name and root, whose defaults differ. */
#define PROGRAM_NODE_FLAGS                                                                         \
    PROGRAM_FLAG_IN(                                                                               \
        PROGRAM_NODE_GROUP, node.hook, "pod-hook", "CMD",                                          \
        "command that runs pods: called with setup and teardown, with the pod on standard input"), \
        PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.static_pods, "static-pods", "DIR",                \
                        "directory of manifests, each for a pod on this node"),                    \
        PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.sync, "sync-frequency", "SECONDS",                \
                        "interval between periodic checks of a pod's volumes; default 60"),        \
        PROGRAM_SWITCH_IN(PROGRAM_NODE_GROUP, node.attaches_itself, "node-attaches",               \
                          "the node attaches its volumes instead of the controller")

/* For programs that run against another server. */
#define PROGRAM_SERVER_FLAGS                                                                            \
    PROGRAM_FLAG_IN(                                                                                    \
        FLAGS_SERVER, kubeconfig, "kubeconfig", "FILE",                                                 \
        "kubeconfig of the server; default $KUBECONFIG, ~/.kube/config, or the pod's service account"), \
        PROGRAM_FLAG_IN(FLAGS_SERVER, context, "context", "NAME",                                       \
                        "context to use instead of the kubeconfig's current one")
#define PROGRAM_LEASE_FLAGS                                                                            \
    PROGRAM_SWITCH_IN(PROGRAM_LEASE_GROUP, is_elected, "leader-elect",                                 \
                      "work only while holding a lease, so that one of several instances is active"),  \
        PROGRAM_FLAG_IN(PROGRAM_LEASE_GROUP, lease_ns, "leader-elect-namespace", "NS",                 \
                        "namespace of the lease; default " DAEMON_LEASE_NAMESPACE),                    \
        PROGRAM_FLAG_IN(PROGRAM_LEASE_GROUP, lease_duration, "leader-elect-lease-duration", "SECONDS", \
                        "lease duration: time until other instances take over; default 15"),           \
        PROGRAM_FLAG_IN(PROGRAM_LEASE_GROUP, renew_deadline, "leader-elect-renew-deadline", "SECONDS", \
                        "time in which the leader must renew its lease before it stops; default 10"),  \
        PROGRAM_FLAG_IN(PROGRAM_LEASE_GROUP, retry_period, "leader-elect-retry-period", "SECONDS",     \
                        "interval between attempts; default 2")
#define PROGRAM_MONITOR_FLAGS                                                                          \
    PROGRAM_FLAG_IN(PROGRAM_MONITOR_GROUP, metrics, "metrics", "ADDR:PORT",                            \
                    "serve /metrics, /livez, /readyz and /healthz here over plain HTTP; default off"), \
        PROGRAM_FLAG_IN(PROGRAM_MONITOR_GROUP, qps, "kube-api-qps", "N",                               \
                        "requests per second; default 200, 0 for no limit"),                           \
        PROGRAM_FLAG_IN(PROGRAM_MONITOR_GROUP, burst, "kube-api-burst", "N",                           \
                        "requests allowed in a burst; default 400")

/* --- berth serve: the control plane on one machine --- */

#define CONTROLLERS_GROUP "Controllers and scheduler"

static const struct flag serve_flags[] = {
    PROGRAM_FLAG(
        data, "data", "DIR",
        "data directory; default $BERTH_DATA, or else /var/lib/berth (root) or ~/.local/share/berth"),
    PROGRAM_FLAG(listen, "listen", "ADDR:PORT", "address of the API server; default " DAEMON_ADDRESS),
    FLAG_ON(struct daemon_settings, is_insecure, "insecure",
            "plain HTTP without authentication; only on loopback addresses"),
    PROGRAM_FLAG(without, "without", "LIST",
                 "comma-separated components to disable: api, controllers, scheduler, node"),
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.name, "node-name", "NAME",
                    "name of this machine's node; default: host name"),
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.root, "root", "DIR",
                    "directory for pod volumes; default DATA/node"),
    PROGRAM_NODE_FLAGS,
    PROGRAM_CONTROLLERS_FLAGS(CONTROLLERS_GROUP),
    PROGRAM_BIND_TIMEOUT_FLAG(CONTROLLERS_GROUP),
    PROGRAM_FLAG(event_ttl, "event-ttl", "SECONDS", "time to keep events; default 3600"),
    PROGRAM_FLAG(token_file, "token-file", "FILE",
                 "static bearer tokens: lines of token,user,uid,\"group1,group2\""),
    PROGRAM_CONFIG_FLAG("data: DIR", " and with provisioners"),
    PROGRAM_LOG_FLAGS,
    { 0 },
};

const struct cli_verb cli_verb_serve = {
    .name = "serve",
    .group = CLI_SERVERS,
    .usage = "serve [FLAG...]",
    .summary = "Run the control plane on this machine: API server, controllers, scheduler, node",
    .about = "All state is stored in the data directory. The first start creates a certificate authority and "
             "an administrator's kubeconfig there, for 'kubectl --kubeconfig DATA/kubeconfig' and for "
             "Berth's own commands. Stop it with SIGTERM or Ctrl-C.\nWithout root, everything except "
             "mounting works: a warning at startup, the Node's condition and the pods' events report it.",
    .flags = serve_flags,
    .examples = "  berth serve                                 # in the default data directory\n  berth "
                "serve --data ./data --listen 127.0.0.1:8000\n  berth serve --without node                  "
                "# without mounting\n  berth serve --enable-hostpath-provisioner   # to try storage "
                "classes\n  berth serve --config /etc/berth/berth.conf  # see berth.conf(5)\n",
    .run = program_run,
};

/* --- berth controllers: the controllers against any Kubernetes API server --- */

static_assert(sizeof(struct daemon_values) == sizeof(struct flag_values), "csi_endpoints is a flag's");

static const struct flag controllers_flags[] = {
    FLAG_MANY(
        struct daemon_settings, csi_endpoints, 0, "csi-endpoint", "URL",
        "run only the CSI controllers, for the driver at this socket (unix:///csi/csi.sock); repeatable"),
    PROGRAM_CONTROLLERS_FLAGS(/* group= */ NULL),
    PROGRAM_CONFIG_FLAG("metrics: ADDR:PORT", " and with provisioners.nfsSubdir"),
    PROGRAM_SERVER_FLAGS,
    PROGRAM_LEASE_FLAGS,
    PROGRAM_MONITOR_FLAGS,
    PROGRAM_LOG_FLAGS,
    { 0 },
};

const struct cli_verb cli_verb_controllers = {
    .name = "controllers",
    .group = CLI_SERVERS,
    .usage = "controllers [FLAG...]",
    .summary = "Run the controllers against any Kubernetes API server",
    .about = "Binds, provisions, reclaims, expands, attaches and protects volumes, in place of the storage "
             "controllers of kube-controller-manager: disable those first. Waits for a server that is not "
             "running yet; exits with status 1 when it loses its lease.",
    .flags = controllers_flags,
    .examples = "  berth controllers --kubeconfig ~/.kube/config\n"
                "  berth controllers --leader-elect --metrics 0.0.0.0:9090  # in a pod\n",
    .run = program_run,
};

/* --- berth scheduler: the scheduler against any Kubernetes API server --- */

static const struct flag scheduler_flags[] = {
    PROGRAM_FLAG(scheduler_name, "scheduler-name", "NAME",
                 "schedule pods with this spec.schedulerName; default " SCHEDULER_NAME),
    PROGRAM_BIND_TIMEOUT_FLAG(/* group= */ NULL),
    PROGRAM_CONFIG_FLAG("metrics: ADDR:PORT", ""),
    PROGRAM_SERVER_FLAGS,
    PROGRAM_LEASE_FLAGS,
    PROGRAM_MONITOR_FLAGS,
    PROGRAM_LOG_FLAGS,
    { 0 },
};

const struct cli_verb cli_verb_scheduler = {
    .name = "scheduler",
    .group = CLI_SERVERS,
    .usage = "scheduler [FLAG...]",
    .summary = "Run the volume-aware scheduler against any Kubernetes API server",
    .about = "Assigns pods to nodes together with the volumes of their claims. It schedules only pods with "
             "its own spec.schedulerName, so that it can run beside another scheduler.",
    .flags = scheduler_flags,
    .examples = "  berth scheduler --kubeconfig ~/.kube/config --scheduler-name berth\n"
                "  berth scheduler --leader-elect --metrics 0.0.0.0:9091  # in a pod\n",
    .run = program_run,
};

/* --- berth node: the node agent against any Kubernetes API server --- */

static const struct flag node_flags[] = {
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.name, "node-name", "NAME",
                    "name of this node; default: host name"),
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.root, "root", "DIR",
                    "directory for pod volumes; required; must not be shared with a kubelet"),
    PROGRAM_NODE_FLAGS,
    PROGRAM_FLAG_IN(
        PROGRAM_NODE_GROUP, node.csi_kubeconfig, "csi-kubeconfig", "FILE",
        "create and delete volumes of CSI drivers that are deployed per node, as the user of this "
        "kubeconfig: berth:csi-node:NAME"),
    PROGRAM_FLEX_FLAG(PROGRAM_NODE_GROUP),
    PROGRAM_CONFIG_FLAG("root: DIR", ""),
    PROGRAM_SERVER_FLAGS,
    PROGRAM_MONITOR_FLAGS,
    PROGRAM_LOG_FLAGS,
    { 0 },
};

const struct cli_verb cli_verb_node = {
    .name = "node",
    .group = CLI_SERVERS,
    .usage = "node --root DIR [FLAG...]",
    .summary = "Run the node agent: mount the volumes of this machine's pods",
    .about = "Registers the Node, mounts and maps the volumes of its pods, and unmounts them when the pods "
             "end. Mounting requires root; without it the pods' events report the failure. Stop it with "
             "SIGTERM: volumes stay mounted, and the next start recovers them.",
    .flags = node_flags,
    .examples = "  berth node --kubeconfig node.conf --root /var/lib/berth/node\n"
                "  berth node --kubeconfig node.conf --root /srv/node --node-name n2\n",
    .run = program_run,
};
