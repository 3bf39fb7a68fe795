/* `berth status`: which server this is, what runs in it, and what waits. */
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

struct asking {
    struct status_settings settings;
    struct session session;
    struct reply reply;
    struct json answer; /* of /status; its texts are the status's */
    struct json version;
    struct inventory inventory;
    struct server_status status;
    bool is_foreign; /* a server that is not Berth's, or does not say */
};

static int ask(struct asking *x, const char *path, struct json *d, json_ref *ret)
{
    struct client_request q = { .verb = CLIENT_RAW, .path = path };
    struct error err;

    if (session_ask(&x->session, &q, &x->reply) < 0)
        return x->reply.r;
    return json_parse(d, buf_str(&x->reply.text), ret, &err);
}

/* What any server says of itself, and what a server of ours does. */
static int ask_server(struct asking *x)
{
    json_ref v = 0;
    struct error err;

    if (ask(x, "/version", &x->version, &v) < 0)
        return reply_complain(&x->reply, NULL, NULL);
    x->status.version = json_get_text(&x->version, v, "gitVersion");
    x->status.url = str_of(x->session.config.server);
    if (ask(x, "/status", &x->answer, &v) < 0 || server_status_read(&x->answer, v, &x->status, &err) < 0)
        x->is_foreign = true;
    return CLI_OK;
}

static int count(struct asking *x)
{
    static const enum kind kinds[] = { KIND_CLAIM, KIND_POD, KIND_CSI_DRIVER };
    const struct inventory *v = &x->inventory;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (inventory_load(&x->inventory, &x->session, kinds[i], NULL, &x->reply) < 0)
            return reply_complain(&x->reply, NULL, NULL);
    x->status.has_counts = true;
    for (size_t i = 0; i < v->kinds[KIND_CLAIM].list.count; i++)
        x->status.claims_pending += server_status_claim_waits(claim_of(v->kinds[KIND_CLAIM].list.items[i]));
    for (size_t i = 0; i < v->kinds[KIND_POD].list.count; i++)
        x->status.pods_waiting += server_status_pod_waits(pod_of(v->kinds[KIND_POD].list.items[i]));
    for (size_t i = 0; i < v->kinds[KIND_CSI_DRIVER].list.count; i++)
        server_status_add(&x->status.drivers, str_of(v->kinds[KIND_CSI_DRIVER].list.items[i]->name));
    return CLI_OK;
}

static void write_json(struct asking *x, struct buf *out)
{
    struct server_status *s = &x->status;
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

static int show(struct asking *x)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;

    if (x->settings.output) {
        write_json(x, &out);
    } else {
        buf_addf(&out, "%s %.*s is running at %.*s\n", x->is_foreign ? "Kubernetes" : "Berth",
                 STR_ARG(x->status.version), STR_ARG(x->status.url));
        server_status_write_text(&x->status, &out);
    }
    if (buf_check(&out, "output", &err) < 0)
        return session_complain("%s", err.msg);
    print_out(&out);
    return CLI_OK;
}

static int status_run(int argc, char **argv)
{
    struct asking x = { 0 };
    int args = 0, status = flags_parse(&cli_verb_status, argc, argv, &x.settings, &args);
    struct error err;

    if (status != CLI_OK)
        return status;
    if (args)
        return cli_fail_usage("status: unexpected argument '%s': see 'berth help status'", argv[1]);
    if (x.settings.output && strcmp(x.settings.output, "json") != 0)
        return cli_fail_usage("status: -o is json, not '%s'", x.settings.output);
    json_init(&x.answer, SESSION_BYTES_MAX);
    json_init(&x.version, SESSION_BYTES_MAX);
    if (session_open(&x.settings.session, &x.session, &err) < 0)
        status = session_complain("%s", err.msg);
    if (status == CLI_OK)
        status = ask_server(&x);
    if (status == CLI_OK)
        status = count(&x);
    if (status == CLI_OK)
        status = show(&x);
    inventory_done(&x.inventory);
    json_done(&x.answer);
    json_done(&x.version);
    reply_done(&x.reply);
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
    .summary = "Show which server this is, what runs in it and what waits",
    .flags = status_flags,
    .examples = "  berth status --data ./data\n"
                "  berth status -o json         # for scripts\n",
    .run = status_run,
};
