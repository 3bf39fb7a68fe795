/* Reports of a process about itself: to probes (health), to the service manager (systemd), to `berth status`
 * (/status), and to the terminal of the user who started it (the ready message). */
#include "daemon/daemon_int.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/json_out.h"
#include "apiserver/sliced_answer.h"
#include "base/log.h"
#include "daemon/server_status.h"
#include "http/http.h"
#include "io/path.h"
#include "node/agent.h"
#include "why/explanation.h"
#include "why/why_csi.h"

/* Time limit for the components before the server is reported as ready. */
#define READY_NS (10 * NS_PER_S)
#define READY_POLL_NS (20 * NS_PER_MS)
#define STATUS_BYTES_MAX 65536
/* /why/csi-state/NAME: the state of a CSI driver. */
#define CSI_STATE_PAGE "csi-state/"

/* --- Responses --- */

void report_write_stats(void *ctx, struct buf *out)
{
    const struct daemon *d = ctx;
    struct why_world w = components_world(d->components);

    if (w.agent)
        agent_write_stats(w.agent, out);
    else
        buf_add_cstr(out, "{}");
}

/* An explanation that a client waits for. */
struct why_answer {
    struct sliced_answer answer;
    const struct daemon *daemon;
    const struct components *components; /* the components that it reads */
    struct explanation *explanation;
};

static int why_answer_step(struct sliced_answer *a, struct buf *out, struct error *err)
{
    const struct why_answer *why = CONTAINER_OF(a, struct why_answer, answer);

    if (why->daemon->components != why->components)
        return error_set(err, ERR_UNAVAILABLE, "controllers have stopped");
    return explanation_step(why->explanation, EXPLANATION_SLICE_LOOKS, out, err);
}

static void why_answer_free(struct sliced_answer *a)
{
    struct why_answer *why = CONTAINER_OF(a, struct why_answer, answer);

    why->explanation = explanation_free(why->explanation);
    free(why);
}

int report_explain(void *ctx, const char *path, bool all, struct buf *out, struct sliced_answer **ret,
                   struct error *err)
{
    _cleanup_(explanation_free_p) struct explanation *explanation = NULL;
    struct why_question q = { .shows_all = all };
    const struct daemon *d = ctx;
    struct why_world w = components_world(d->components);
    char names[WHY_PATH_BYTES_MAX];
    struct why_answer *answer;
    int r;

    if (strcmp(path, "provisioners") == 0) {
        json_out_array(out, NULL);
        for (size_t i = 0; w.provisioners[i]; i++)
            json_out_text(out, NULL, w.provisioners[i]);
        json_out_end_array(out);
        return 0;
    }
    if (str_has_prefix(str_of(path), CSI_STATE_PAGE)) {
        why_csi_write_state(&w, path + strlen(CSI_STATE_PAGE), out);
        return 0;
    }
    r = why_read_path(path, names, &q, err);
    if (r == 0 && (!d->components || components_missing(d->components)))
        r = error_set(err, ERR_UNAVAILABLE, "caches are not synced yet");
    if (r == 0)
        r = explanation_new(&w, &q, &explanation, err);
    if (r < 0)
        return r;
    answer = malloc(sizeof *answer);
    if (!answer)
        return error_no_memory(err);
    *answer = (struct why_answer){ .answer = { why_answer_step, why_answer_free },
                                   .daemon = d,
                                   .components = d->components,
                                   .explanation = TAKE(explanation) };
    *ret = &answer->answer;
    return 0;
}

static void fill_status(const struct daemon *d, struct server_status *ret)
{
    const struct daemon_settings *s = d->settings;

    *ret = (struct server_status){ .version = STR_LIT(BERTH_VERSION),
                                   .url = str_of(d->url),
                                   .data = str_of(d->data_path),
                                   .kubeconfig = str_of(d->kubeconfig),
                                   .user = str_of(d->user),
                                   .may_mount = io_may_mount() };
    for (size_t i = 0; daemon_parts[i]; i++)
        if (s->parts & daemon_parts[i]->parts)
            server_status_add(&ret->parts, str_of(daemon_parts[i]->name));
    if (s->parts & DAEMON_NODE)
        ret->node = str_of(s->node.name ? s->node.name : d->host);
    if (!(s->parts & DAEMON_CONTROLLERS))
        return;
    if (s->controllers.has_hostpath_provisioner)
        server_status_add(&ret->provisioners, STR_LIT("kubernetes.io/host-path"));
    for (unsigned i = 0; i < s->provisioners.nfs_count; i++)
        server_status_add(&ret->provisioners, str_of(s->provisioners.nfs[i].name));
    if (s->provisioners.has_local)
        server_status_add(&ret->provisioners, STR_LIT("local volumes"));
}

void report_write_status(void *ctx, struct buf *out)
{
    struct server_status s;

    fill_status(ctx, &s);
    server_status_write_json(&s, out);
}

/* --- Health --- */

static int check_caches(void *ctx, struct error *err)
{
    const struct daemon *d = ctx;
    const char *missing = d->components ? components_missing(d->components) : "the server's version";

    return missing ? error_set(err, ERR_UNAVAILABLE, "waiting for %s", missing) : 0;
}

static int check_node(void *ctx, struct error *err)
{
    const struct daemon *d = ctx;
    struct why_world w = components_world(d->components);

    if (!d->components)
        return error_set(err, ERR_UNAVAILABLE, "waiting for the server's version");
    return w.agent ? agent_check(w.agent, err) : 0;
}

static int check_leader(void *ctx, struct error *err)
{
    const struct daemon *d = ctx;

    return d->remote.leader ? leader_check(d->remote.leader, err) : 0;
}

static int check_stopping(void *ctx, struct error *err)
{
    const struct daemon *d = ctx;

    return d->is_stopping ? error_set(err, ERR_UNAVAILABLE, "stopping") : 0;
}

int report_add_checks(struct daemon *d, struct error *err)
{
    int r = health_add(d->health, "informer-sync", HEALTH_READY, check_caches, d, err);

    if (r == 0 && d->settings->parts & DAEMON_NODE)
        r = health_add(d->health, "node", HEALTH_READY, check_node, d, err);
    if (r == 0)
        r = health_add(d->health, "leaderElection", HEALTH_ALL, check_leader, d, err);
    return r < 0 ? r : health_add(d->health, "shutdown", HEALTH_READY, check_stopping, d, err);
}

/* --- To the service manager --- */

static int check_ready(void *ctx, struct error *err)
{
    const struct daemon *d = ctx;

    return health_ready(d->health ? d->health : d->embedded.server->health, err);
}

/* 0, or an error that names what the components of a server still wait for. */
static int check_components(struct daemon *d, struct error *err)
{
    const char *missing = d->components ? components_missing(d->components) : NULL;

    if (missing)
        return error_set(err, ERR_UNAVAILABLE, "waiting for caches: %s", missing);
    return d->components ? check_node(d, err) : 0;
}

static void describe_process(void *ctx, char ret[SUPERVISED_WORDS_BYTES])
{
    struct daemon *d = ctx;
    struct error err;

    if (!d->program->has_server)
        remote_describe(&d->remote, ret, SUPERVISED_WORDS_BYTES);
    else if (check_components(d, &err) < 0)
        (void)snprintf(ret, SUPERVISED_WORDS_BYTES, "serving on %s; %.*s", http_address(d->embedded.http),
                       SUPERVISED_WORDS_BYTES / 2, err.msg);
    else
        (void)snprintf(ret, SUPERVISED_WORDS_BYTES, "serving on %s", http_address(d->embedded.http));
}

int report_supervise(struct daemon *d, struct error *err)
{
    struct supervised_options o = {
        .loop = d->loop, .check = check_ready, .describe = describe_process, .ctx = d
    };

    return supervised_init(&d->supervised, &o, err);
}

/* --- To the user who started a server --- */

/* Prints a summary on a terminal, otherwise one log line. */
static void show_ready(const struct daemon *d)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(STATUS_BYTES_MAX);
    const char *format = d->settings->log_format;
    struct server_status s;

    if (!io_stderr_is_terminal() || (format && strcmp(format, "text") != 0)) {
        log_info("ready", LOG_STR("url", d->url), LOG_STR("kubeconfig", d->kubeconfig));
        return;
    }
    fill_status(d, &s);
    if (d->components && !components_missing(d->components))
        components_count_waiting(d->components, &s);
    buf_addf(&text, "\nBerth %s is ready at %s\n", BERTH_VERSION, d->url);
    server_status_write_text(&s, &text);
    buf_addf(&text, "  %-13s export BERTH_DATA=%s; berth get nodes\n\n", "try", d->data_path);
    if (!text.failed)
        (void)fputs(buf_cstr(&text), stderr);
}

static void await_ready(void *ctx)
{
    struct daemon *d = ctx;
    struct error err;

    if (check_components(d, &err) == 0 || loop_now_ns(d->loop) >= d->ready_until_ns)
        show_ready(d);
    else
        timer_arm_after(&d->ready_timer, READY_POLL_NS);
}

int report_await_ready(struct daemon *d, struct error *err)
{
    int r = io_absolute(d->settings->data_dir, d->data_path, err);

    if (r < 0)
        return r;
    (void)snprintf(d->kubeconfig, sizeof d->kubeconfig, "%s/kubeconfig", d->data_path); /* a path */
    (void)snprintf(d->url, sizeof d->url, "http%s://%s", d->settings->is_insecure ? "" : "s",
                   http_address(d->embedded.http)); /* it fits */
    io_user_name(io_user(), d->user);
    if (d->settings->parts & DAEMON_NODE && !io_may_mount())
        log_warn(
            "mounting needs root: volumes are bound, but not mounted on this node; run berth as root, or "
            "with --without node",
            LOG_STR("user", d->user));
    d->ready_until_ns = loop_now_ns(d->loop) + READY_NS;
    timer_init(&d->ready_timer, d->loop, await_ready, d);
    timer_arm_after(&d->ready_timer, 0);
    return 0;
}

void report_stopping(struct daemon *d)
{
    supervised_stopping(&d->supervised);
    timer_disarm(&d->ready_timer);
}
