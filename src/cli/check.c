/* `berth check`: what is wrong with the storage of a cluster, and what to do about it. */
#include "cli/cli.h"

#include <string.h>

#include "cli/check_show.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/print_table.h"
#include "cli/why.h"
#include "node/node_lease.h"
#include "why/check.h"

#define STUCK_MINUTES 5
#define STUCK_MINUTES_MAX 1000000
/* Of a server, that are asked for by name. */
#define PROVISIONERS_MAX 64

struct check_settings {
    struct session_settings session;
    const char *stuck_after;
    const char *output;
    bool is_everywhere;
    bool is_whole;
};

struct check {
    struct check_settings settings;
    struct session session;
    struct reply reply;
    struct inventory inventory;
    struct usages usages;
    struct checkup checkup;
    struct explainer *explainer;
    struct causes causes;
    const char *provisioners[PROVISIONERS_MAX + 1];
    bool is_json;
    bool is_incomplete; /* something could not be looked at */
};

/* What is looked at, and in which namespace if not the one that is asked for. */
static const struct {
    enum kind kind;
    const char *ns;
} looked_at[] = {
    { KIND_CLASS, NULL }, { KIND_VOLUME, NULL },     { KIND_CLAIM, NULL },
    { KIND_POD, NULL },   { KIND_ATTACHMENT, NULL }, { KIND_CSI_DRIVER, NULL },
    { KIND_NODE, NULL },  { KIND_CSI_NODE, NULL },   { KIND_LEASE, NODE_LEASE_NAMESPACE },
};

static int look(struct check *x, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(looked_at); i++) {
        const char *ns = looked_at[i].ns ? looked_at[i].ns : x->checkup.ns;

        if (inventory_load(&x->inventory, &x->session, looked_at[i].kind, ns, &x->reply) < 0) {
            (void)reply_complain(&x->reply, NULL, NULL); /* and the rest is looked at */
            x->is_incomplete = true;
        }
    }
    if (inventory_tie(&x->inventory, err) < 0)
        return -(int)err->code;
    if (usages_load(&x->usages, &x->session, &x->inventory, &x->reply, err) < 0)
        return -(int)err->code;
    usages_complain(&x->usages);
    return 0;
}

/* Those of the server's own process; a server that does not tell has none that we know of. */
static void ask_provisioners(struct check *x)
{
    const struct client_request q = { .verb = CLIENT_RAW, .path = "/why/provisioners" };
    _cleanup_(json_done_p) struct json d = { 0 };
    struct error ignored;
    json_ref names;
    size_t count = 0;

    json_init(&d, SESSION_BYTES_MAX);
    if (session_ask(&x->session, &q, &x->reply) < 0 ||
        json_parse(&d, buf_str(&x->reply.text), &names, &ignored) < 0)
        return;
    for (json_ref n = json_first(&d, names); n && count < PROVISIONERS_MAX; n = json_next(&d, n)) {
        const char *name = arena_dup(&x->checkup.texts, json_text(&d, n));

        if (name)
            x->provisioners[count++] = name;
    }
    x->checkup.provisioners = x->provisioners;
}

static int report(struct check *x, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    _cleanup_(json_done_p) struct json d = { 0 };
    int r = checkup_run(&x->checkup, err);

    json_init(&d, SESSION_BYTES_MAX);
    if (r == 0 && x->is_json) {
        r = print_json_checked(&d, checkup_as_json(&x->checkup, &d), &out, err);
    } else if (r == 0) {
        checkup_show(&x->checkup, x->settings.is_whole, table_paint(), &out);
        r = buf_check(&out, "output", err);
    }
    if (r == 0)
        print_out(&out);
    return r;
}

static int check(struct check *x)
{
    struct error err;

    if (session_open(&x->settings.session, &x->session, &err) < 0)
        return session_complain("%s", err.msg);
    x->checkup.ns = x->session.was_ns_given && !x->settings.is_everywhere ? x->session.ns : NULL;
    x->checkup.now = timestamp_of_ns(clock_real_ns(x->session.clock));
    x->checkup.all = &x->inventory;
    x->checkup.usages = &x->usages;
    if (explainer_new(&x->session, x->checkup.ns, &x->explainer, &err) < 0)
        return session_complain("%s", err.msg);
    x->causes = (struct causes){ explainer_find_cause, x->explainer };
    ask_provisioners(x);
    if (look(x, &err) < 0)
        return session_complain("%s", err.msg);
    x->checkup.causes = inventory_is_explicable(&x->inventory) ? &x->causes : NULL;
    if (report(x, &err) < 0)
        return session_complain("%s", err.msg);
    return x->is_incomplete || x->checkup.counts[SEVERITY_ERROR] || x->checkup.counts[SEVERITY_WARNING]
               ? CLI_FAILED
               : CLI_OK;
}

static int read_settings(struct check *x, int args, char **argv)
{
    const char *o = x->settings.output, *after = x->settings.stuck_after;
    int64_t minutes = STUCK_MINUTES;

    if (args)
        return cli_fail_usage("check: unexpected argument '%s': see 'berth help check'", argv[1]);
    if (after && (!str_to_int64(str_of(after), &minutes) || minutes < 0 || minutes > STUCK_MINUTES_MAX))
        return cli_fail_usage("check: --stuck-after is '%s', and not a number of minutes", after);
    x->checkup.stuck_seconds = minutes * 60;
    x->is_json = o && strcmp(o, "json") == 0;
    if (o && !x->is_json)
        return cli_fail_usage("check: --output is '%s', and not json", o);
    return CLI_OK;
}

static int check_run(int argc, char **argv)
{
    struct check x = { .usages = USAGES_INIT, .checkup = { .texts = ARENA_INIT(SESSION_BYTES_MAX) } };
    int args = 0, status = flags_parse(&cli_verb_check, argc, argv, &x.settings, &args);

    if (status == CLI_OK)
        status = read_settings(&x, args, argv);
    if (status != CLI_OK)
        return status;
    status = check(&x);
    x.explainer = explainer_free(x.explainer);
    checkup_done(&x.checkup);
    usages_done(&x.usages);
    inventory_done(&x.inventory);
    reply_done(&x.reply);
    session_close(&x.session);
    return status;
}

static const struct flag check_flags[] = {
    FLAG(struct check_settings, stuck_after, "stuck-after", "MINUTES", "how long may be waited; else 5"),
    FLAG_SHORT_ON(struct check_settings, is_everywhere, 'A', "all-namespaces",
                  "of every namespace, as without -n"),
    FLAG_ON(struct check_settings, is_whole, "all", "every finding, however many there are of a kind"),
    FLAG_SHORT(struct check_settings, output, 'o', "output", "FORM", "json"),
    SESSION_FLAGS(struct check_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_check = {
    .name = "check",
    .group = CLI_ANSWERS,
    .usage = "check",
    .summary = "Look for what is wrong with volumes, claims, pods and nodes",
    .flags = check_flags,
    .examples = "  berth check                           # everything; exits 1 when something is wrong\n"
                "  berth check -n shop --stuck-after 30  # one namespace, with more patience\n"
                "  berth check -o json                   # for scripts\n",
    .run = check_run,
};
