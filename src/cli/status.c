/* `berth status`: prints the server, its components, and how many objects wait. */
#include "cli/cli.h"

#include <string.h>

#include "cli/load.h"
#include "cli/print.h"
#include "cli/session.h"
#include "daemon/server_status.h"

struct status_settings {
    struct session_settings session;
    const char *output;
};

struct status_verb {
    struct status_settings settings;
    struct session session;
    struct json answer; /* parsed /status; status borrows its texts */
    struct json version;
    struct inventory inventory;
    struct server_status status;
    bool is_foreign; /* not a Berth server, or it has no /status */
};

static int request_json(struct status_verb *verb, const char *path, struct json *d, json_ref *ret)
{
    struct client_request q = { .verb = CLIENT_RAW, .path = path };
    struct error err;

    if (session_ask(&verb->session, &q) < 0)
        return verb->session.reply.r;
    return json_parse(d, buf_str(&verb->session.reply.text), ret, &err);
}

/* The version of any server, and the status of a Berth server. */
static int request_status(struct status_verb *verb)
{
    json_ref v = 0;
    struct error err;

    if (request_json(verb, "/version", &verb->version, &v) < 0)
        return reply_complain(&verb->session.reply, NULL, NULL);
    verb->status.version = json_get_text(&verb->version, v, "gitVersion");
    verb->status.url = str_of(verb->session.config.server);
    if (request_json(verb, "/status", &verb->answer, &v) < 0 ||
        server_status_read(&verb->answer, v, &verb->status, &err) < 0)
        verb->is_foreign = true;
    return CLI_OK;
}

static int count_waiting(struct status_verb *verb)
{
    static const enum kind kinds[] = { KIND_CLAIM, KIND_POD, KIND_CSI_DRIVER };
    const struct inventory *v = &verb->inventory;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (inventory_load(&verb->inventory, &verb->session, kinds[i], NULL) < 0)
            return reply_complain(&verb->session.reply, NULL, NULL);
    verb->status.has_counts = true;
    for (size_t i = 0; i < v->kinds[KIND_CLAIM].list.count; i++)
        verb->status.claims_pending +=
            server_status_claim_waits(claim_of(v->kinds[KIND_CLAIM].list.items[i]));
    for (size_t i = 0; i < v->kinds[KIND_POD].list.count; i++)
        verb->status.pods_waiting += server_status_pod_waits(pod_of(v->kinds[KIND_POD].list.items[i]));
    for (size_t i = 0; i < v->kinds[KIND_CSI_DRIVER].list.count; i++)
        server_status_add(&verb->status.drivers, str_of(v->kinds[KIND_CSI_DRIVER].list.items[i]->name));
    return CLI_OK;
}

static void write_json(struct status_verb *verb, struct buf *out)
{
    struct server_status *s = &verb->status;
    json_ref v, drivers;
    struct json d;

    json_init(&d, SESSION_BYTES_MAX);
    v = json_new_object(&d);
    drivers = json_new_array(&d);
    server_status_fill_json(s, &d, v);
    json_set(&d, v, "claimsPending", json_new_int(&d, (int64_t)s->claims_pending));
    json_set(&d, v, "podsWaiting", json_new_int(&d, (int64_t)s->pods_waiting));
    for (size_t i = 0; i < s->drivers.count; i++)
        json_append(&d, drivers, json_new_string(&d, s->drivers.items[i]));
    json_set(&d, v, "drivers", drivers);
    print_json(&d, v, out);
    json_done(&d);
}

static int print_status(struct status_verb *verb)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;

    if (verb->settings.output) {
        write_json(verb, &out);
    } else {
        buf_addf(&out, "%s %.*s is running at %.*s\n", verb->is_foreign ? "Kubernetes" : "Berth",
                 STR_ARG(verb->status.version), STR_ARG(verb->status.url));
        server_status_write_text(&verb->status, &out);
    }
    if (buf_check(&out, "output", &err) < 0)
        return session_complain("%s", err.msg);
    print_out(&out);
    return CLI_OK;
}

static int status_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct status_verb x = { 0 };
    int status = flags_parse(verb, argc, argv, &x.settings, /* ret_args= */ NULL);
    struct error err;

    if (status != CLI_OK)
        return status;
    if (x.settings.output && strcmp(x.settings.output, "json") != 0)
        return cli_fail_usage("status: invalid --output '%s': must be json", x.settings.output);
    json_init(&x.answer, SESSION_BYTES_MAX);
    json_init(&x.version, SESSION_BYTES_MAX);
    if (session_open(&x.settings.session, &x.session, &err) < 0)
        status = session_complain("%s", err.msg);
    if (status == CLI_OK)
        status = request_status(&x);
    if (status == CLI_OK)
        status = count_waiting(&x);
    if (status == CLI_OK)
        status = print_status(&x);
    inventory_done(&x.inventory);
    json_done(&x.answer);
    json_done(&x.version);
    session_close(&x.session);
    return status;
}

static const struct flag status_flags[] = {
    FLAG_SHORT(struct status_settings, output, 'o', "output", "FORM", "json, for scripts"),
    SESSION_FLAGS(struct status_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_status = {
    .name = "status",
    .group = CLI_ANSWERS,
    .usage = "status",
    .summary = "Show the server, its components and what is waiting",
    .flags = status_flags,
    .examples = "  berth status --data ./data\n"
                "  berth status -o json         # for scripts\n",
    .run = status_run,
};
