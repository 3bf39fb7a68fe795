/* Checks the settings of a program and derives values from their texts: numbers, durations, directories and
 * parts. Errors name the flag and the valid values. Also finds the data directory. */
#include "daemon/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "controllers/attach/attach.h"
#include "daemon/components.h"
#include "io/env.h"
#include "io/path.h"
#include "io/process.h"
#include "machinery/leader.h"
#include "node/agent.h"
#include "node/pod_hook.h"
#include "scheduler/scheduler.h"

#define EVENT_TTL_SECONDS 3600
#define RATE 200
#define RATE_BURST 400
#define RATE_MAX 1000000
#define SECONDS_MAX 86400

/* --- Where the data is --- */

int daemon_data_dir(const char *flag, char ret[PATH_MAX], struct error *err)
{
    const char *dir = flag ? flag : io_env("BERTH_DATA");
    const char *home = io_env("HOME");
    int n;

    if (!dir && io_is_root())
        dir = "/var/lib/berth";
    if (!dir && !home)
        return error_set(err, ERR_INVALID, "no data directory: give --data DIR, or set BERTH_DATA or HOME");
    n = dir ? snprintf(ret, PATH_MAX, "%s", dir) : snprintf(ret, PATH_MAX, "%s/.local/share/berth", home);
    if (n < 0 || n >= PATH_MAX)
        return error_set_errno(err, ENAMETOOLONG, "the data directory");
    return 0;
}

int daemon_data_dir_check(const char *dir, struct error *err)
{
    char owner[IO_USER_NAME_BYTES], user[IO_USER_NAME_BYTES];
    struct error why;
    bool may_write;
    uid_t uid;
    int r = io_may_write_dir(dir, &may_write, &uid, &why);

    if (r == -ERR_NOT_FOUND || (r == 0 && may_write))
        return 0;
    if (r < 0)
        return error_pass(err, &why);
    io_user_name(uid, owner);
    io_user_name(io_user(), user);
    return error_set(err, ERR_DENIED,
                     "the data directory '%s' belongs to %s, and you are %s: use sudo, or another directory: "
                     "--data DIR",
                     dir, owner, user);
}

/* --- Numbers --- */

/* Settings that are numbers: their range, and the unit of the value. */
static const struct {
    const char *name;
    size_t text;
    size_t value;
    uint64_t least, most;
    uint64_t fallback; /* used without the setting, in units of the value */
    uint64_t unit;
} numbers[] = {
#define NUMBER(name, text, value, ...)                                                                     \
    {                                                                                                      \
        name, offsetof(struct daemon_settings, text), offsetof(struct daemon_settings, value), __VA_ARGS__ \
    }
    NUMBER("event-ttl", event_ttl, event_ttl_seconds, 1, INT64_MAX, EVENT_TTL_SECONDS, 1),
    NUMBER("kube-api-qps", qps, rate, 0, RATE_MAX, RATE, 1),
    NUMBER("kube-api-burst", burst, rate_burst, 1, RATE_MAX, RATE_BURST, 1),
    NUMBER("leader-elect-lease-duration", lease_duration, lease_duration_ns, 1, SECONDS_MAX, 0, NS_PER_S),
    NUMBER("leader-elect-renew-deadline", renew_deadline, renew_deadline_ns, 1, SECONDS_MAX, 0, NS_PER_S),
    NUMBER("leader-elect-retry-period", retry_period, retry_period_ns, 1, SECONDS_MAX, 0, NS_PER_S),
    NUMBER("bind-timeout", bind_timeout, bind_timeout_ns, 0, SECONDS_MAX, SCHEDULER_BIND_TIMEOUT_NS,
           NS_PER_S),
    NUMBER("attach-detach-reconcile-sync-period", controllers.attach_sync_period, attach_sync_ns, 0,
           SECONDS_MAX, ATTACH_SYNC_PERIOD_NS, NS_PER_S),
    NUMBER("sync-frequency", node.sync, node_sync_ns, 1, SECONDS_MAX, AGENT_SYNC_NS, NS_PER_S),
#undef NUMBER
};

static int read_numbers(struct daemon_settings *s, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        uint64_t value = numbers[i].fallback;
        const char *text;

        memcpy(&text, (const char *)s + numbers[i].text, sizeof text);
        if (text) {
            bool is_valid =
                str_to_uint64(str_of(text), &value) && value >= numbers[i].least && value <= numbers[i].most;

            if (!is_valid && numbers[i].most == INT64_MAX) /* the upper limit is not reached in practice */
                return error_set(err, ERR_INVALID, "--%s %s: not a number of seconds", numbers[i].name, text);
            if (!is_valid)
                return error_set(err, ERR_INVALID, "--%s %s: not a number from %" PRIu64 " to %" PRIu64,
                                 numbers[i].name, text, numbers[i].least, numbers[i].most);
            value *= numbers[i].unit;
        }
        memcpy((char *)s + numbers[i].value, &value, sizeof value);
    }
    if (s->controllers.has_no_attach_sync)
        s->attach_sync_ns = 0;
    return leader_check_times(s->lease_duration_ns, s->renew_deadline_ns, s->retry_period_ns, err);
}

/* --- Texts --- */

static int check_components(const struct daemon_settings *s, struct error *err)
{
    const char *flex_dir = s->controllers.flex_dir, *name = s->node.name, *hook = s->node.hook;

    if (flex_dir && flex_dir[0] != '/')
        return error_set(err, ERR_INVALID, "--flex-dir %s: not an absolute path", flex_dir);
    if (name && !name_is_valid(NAME_DNS_SUBDOMAIN, str_of(name)))
        return error_set(
            err, ERR_INVALID,
            "--node-name '%s': use lower case letters, digits, '-' and '.', at most 253, with a letter or a "
            "digit at both ends",
            name);
    if (hook && !process_has_program(hook, POD_HOOK_PATH))
        return error_set(err, ERR_INVALID, "--pod-hook: '%s' is not an executable file%s", hook,
                         strchr(hook, '/') ? "" : " in " POD_HOOK_PATH);
    return 0;
}

/* Removes the parts that --without names. */
static int read_without(struct daemon_settings *s, struct error *err)
{
    struct str rest = str_of(s->without ? s->without : "");
    bool has_api = true;

    while (rest.s && rest.len) {
        struct str name = str_trim(str_next(&rest, ','));
        const struct daemon_program *const *part = daemon_parts;

        while (*part && !str_is(name, (*part)->name))
            part++;
        if (*part)
            s->parts &= ~(*part)->parts;
        else if (str_is(name, "api"))
            has_api = false;
        else
            return error_set(err, ERR_INVALID,
                             "--without: unknown part '%.*s'; parts are api, controllers, scheduler and node",
                             STR_ARG(name));
    }
    if (!has_api)
        return error_set(err, ERR_INVALID, "--without api leaves nothing to run in this version");
    return 0;
}

static int check_own_server(struct daemon_settings *s, struct error *err)
{
    int r = daemon_data_dir(s->data, s->data_dir, err);

    if (r == 0)
        r = socket_address_read(s->listen ? s->listen : DAEMON_ADDRESS, s->address, err);
    if (r < 0)
        return r;
    if (s->is_insecure && strncmp(s->address, "127.", 4) != 0 && strncmp(s->address, "[::1]:", 6) != 0)
        return error_set(err, ERR_INVALID,
                         "--insecure listens on loopback addresses only, not on '%s': any client could write "
                         "there; omit --insecure, or listen on 127.0.0.1:PORT",
                         s->address);
    (void)snprintf(s->node_root, sizeof s->node_root, "%s/node", s->data_dir);  /* a path */
    (void)snprintf(s->state_dir, sizeof s->state_dir, "%s/local", s->data_dir); /* the same */
    s->node.root = s->node.root ? s->node.root : s->node_root;
    return read_without(s, err);
}

/* Local volumes belong to one machine, and these programs may run, or lead, on another machine. */
static int check_beside_server(const struct daemon_settings *s, struct error *err)
{
    if (s->provisioners.has_local)
        return error_set(err, ERR_INVALID,
                         "settings in '%s': provisioners.local: works in 'berth serve' only, on the machine "
                         "that has the disks",
                         s->config);
    if (s->parts & DAEMON_NODE && !s->node.root)
        return error_set(err, ERR_INVALID,
                         "--root is required: a directory that only this node agent uses, "
                         "such as /var/lib/berth/node");
    return 0;
}

/* Beside a driver in any cluster: only the controllers of CSI drivers, each with its own lease, and without a
 * limit of requests, as they do the work of several sidecars. */
static int read_csi_sockets(struct daemon_settings *s, struct error *err)
{
    int r = 0;

    if (s->node.csi_kubeconfig && s->csi.is_off)
        return error_set(err, ERR_INVALID, "--csi-kubeconfig contradicts the setting csi.controllers: off");
    for (size_t i = 0; i < s->csi_endpoints.count && r == 0; i++)
        r = csi_settings_add_sockets(&s->csi, s->csi_endpoints.items[i], err);
    if (r < 0 || s->csi.sockets_count == 0)
        return r;
    if (s->csi.is_off)
        return error_set(err, ERR_INVALID, "--csi-endpoint contradicts the setting csi.controllers: off");
    s->parts = DAEMON_CSI;
    s->is_elected = false;
    if (!s->qps)
        s->rate = 0;
    return 0;
}

int daemon_settings_check(const struct daemon_program *p, struct daemon_settings *s, struct error *err)
{
    int r = read_numbers(s, err);

    s->parts = p->parts;
    if (r == 0)
        r = check_components(s, err);
    if (r == 0)
        r = read_csi_sockets(s, err);
    if (r < 0)
        return r;
    return p->has_server ? check_own_server(s, err) : check_beside_server(s, err);
}

void daemon_settings_done(struct daemon_settings *s)
{
    provisioners_done(&s->provisioners);
    csi_settings_done(&s->csi);
}
