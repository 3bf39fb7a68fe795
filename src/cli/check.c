/* `berth check`: loads the objects, runs the rules of why/check.h and prints the findings. */
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
/* Provisioners read from /status. */
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
    struct inventory inventory;
    struct usages usages;
    struct checkup checkup;
    struct explainer *explainer;
    struct causes causes;
    const char *provisioners[PROVISIONERS_MAX + 1];
    bool is_json;
    bool is_incomplete; /* some kind could not be listed */
};

/* The kinds to load, and whether in all namespaces whatever -n says. */
static const struct {
    enum kind kind;
    bool is_everywhere;
} loaded_kinds[] = {
    { KIND_CLASS, false }, { KIND_VOLUME, false },     { KIND_CLAIM, false },
    { KIND_POD, false },   { KIND_ATTACHMENT, false }, { KIND_CSI_DRIVER, false },
    { KIND_NODE, false },  { KIND_CSI_NODE, false },   { KIND_LEASE, true },
};

static int load_objects(struct check *check, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(loaded_kinds); i++) {
        const char *ns = loaded_kinds[i].is_everywhere ? NULL : check->checkup.ns;

        if (inventory_load(&check->inventory, &check->session, loaded_kinds[i].kind, ns) < 0 &&
            (loaded_kinds[i].kind != KIND_LEASE ||
             inventory_load(&check->inventory, &check->session, KIND_LEASE, NODE_LEASE_NAMESPACE) < 0)) {
            (void)reply_complain(&check->session.reply, NULL, NULL); /* the other kinds are still checked */
            check->is_incomplete = true;
        }
    }
    if (inventory_tie(&check->inventory, err) < 0)
        return -(int)err->code;
    if (usages_load(&check->usages, &check->session, &check->inventory, err) < 0)
        return -(int)err->code;
    usages_complain(&check->usages);
    return 0;
}

/* Provisioners in the server's process; another server, or one that does not report them, has none. */
static void request_provisioners(struct check *check)
{
    const struct client_request q = { .verb = CLIENT_RAW, .path = "/why/provisioners" };
    _cleanup_(json_done_p) struct json d = { 0 };
    struct error ignored;
    json_ref names;
    size_t count = 0;

    json_init(&d, SESSION_BYTES_MAX);
    if (session_ask(&check->session, &q) < 0 ||
        json_parse(&d, buf_str(&check->session.reply.text), &names, &ignored) < 0)
        return;
    for (json_ref n = json_first(&d, names); n && count < PROVISIONERS_MAX; n = json_next(&d, n)) {
        const char *name = arena_dup(&check->checkup.texts, json_text(&d, n));

        if (name)
            check->provisioners[count++] = name;
    }
    check->checkup.provisioners = check->provisioners;
}

static int report_findings(struct check *check, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    _cleanup_(json_done_p) struct json d = { 0 };
    int r = checkup_run(&check->checkup, err);

    json_init(&d, SESSION_BYTES_MAX);
    if (r == 0 && check->is_json) {
        r = print_json_checked(&d, checkup_as_json(&check->checkup, &d), &out, err);
    } else if (r == 0) {
        checkup_show(&check->checkup, check->settings.is_whole, table_paint(), &out);
        r = buf_check(&out, "output", err);
    }
    if (r == 0)
        print_out(&out);
    return r;
}

static int run_check(struct check *check)
{
    struct error err;

    if (session_open(&check->settings.session, &check->session, &err) < 0)
        return session_complain("%s", err.msg);
    check->checkup.ns =
        check->session.was_ns_given && !check->settings.is_everywhere ? check->session.ns : NULL;
    check->checkup.now = timestamp_of_ns(clock_real_ns(check->session.clock));
    check->checkup.all = &check->inventory;
    check->checkup.usages = &check->usages;
    if (explainer_new(&check->session, check->checkup.ns, &check->explainer, &err) < 0)
        return session_complain("%s", err.msg);
    check->causes = (struct causes){ explainer_find_cause, check->explainer };
    request_provisioners(check);
    if (load_objects(check, &err) < 0)
        return session_complain("%s", err.msg);
    check->checkup.causes = inventory_is_explicable(&check->inventory) ? &check->causes : NULL;
    if (report_findings(check, &err) < 0)
        return session_complain("%s", err.msg);
    return check->is_incomplete || check->checkup.counts[SEVERITY_ERROR] ||
                   check->checkup.counts[SEVERITY_WARNING]
               ? CLI_FAILED
               : CLI_OK;
}

static int read_settings(struct check *check)
{
    const char *o = check->settings.output, *after = check->settings.stuck_after;
    int64_t minutes = STUCK_MINUTES;

    if (after && (!str_to_int64(str_of(after), &minutes) || minutes < 0 || minutes > STUCK_MINUTES_MAX))
        return cli_fail_usage("check: invalid --stuck-after '%s': must be a number of minutes", after);
    check->checkup.stuck_seconds = minutes * 60;
    check->is_json = o && strcmp(o, "json") == 0;
    if (o && !check->is_json)
        return cli_fail_usage("check: invalid --output '%s': must be json", o);
    return CLI_OK;
}

static int check_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct check x = { .usages = USAGES_INIT, .checkup = { .texts = ARENA_INIT(SESSION_BYTES_MAX) } };
    int status = flags_parse(verb, argc, argv, &x.settings, /* ret_args= */ NULL);

    if (status == CLI_OK)
        status = read_settings(&x);
    if (status != CLI_OK)
        return status;
    status = run_check(&x);
    x.explainer = explainer_free(x.explainer);
    checkup_done(&x.checkup);
    usages_done(&x.usages);
    inventory_done(&x.inventory);
    session_close(&x.session);
    return status;
}

static const struct flag check_flags[] = {
    FLAG(struct check_settings, stuck_after, "stuck-after", "MINUTES",
         "report objects that wait longer than this; default 5"),
    FLAG_SHORT_ON(struct check_settings, is_everywhere, 'A', "all-namespaces",
                  "all namespaces, as without -n"),
    FLAG_ON(struct check_settings, is_whole, "all", "list every finding, without grouping"),
    FLAG_SHORT(struct check_settings, output, 'o', "output", "FORM", "json"),
    SESSION_FLAGS(struct check_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_check = {
    .name = "check",
    .group = CLI_ANSWERS,
    .usage = "check",
    .summary = "Find problems with volumes, claims, pods and nodes",
    .flags = check_flags,
    .examples = "  berth check                           # everything; exits 1 if there are errors\n  berth "
                "check -n shop --stuck-after 30  # one namespace, longer limit\n  berth check -o json        "
                "           # for scripts\n",
    .run = check_run,
};
