/* `berth delete`: deletes objects by name, label or manifest, and waits until they are removed. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/await.h"
#include "cli/change_result.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/targets.h"

/* After this time, what blocks the deletion is reported. */
#define REPORT_BLOCKERS_AFTER_NS NS_PER_S
/* Pods listed by name; more are counted. */
#define BLOCKERS_NAMED_MAX 3

struct delete_settings {
    struct target_settings targets;
    const char *output;
    const char *dry_run;
    const char *grace;
    const char *cascade;
    const char *timeout;
    const char *wait;
    bool is_forced;
    bool is_now;
    bool ignores_not_found;
};

struct deletion {
    struct delete_settings settings;
    struct targets targets;
    VEC(struct target) deleting; /* targets that are being deleted */
    enum change_result_dry dry;
    bool has_grace;
    uint64_t grace_seconds;
    uint64_t timeout_ns;
    bool waits;
    bool has_found; /* at least one object was found */
    struct progress_bar progress;
    int status;
};

/* --- One object --- */

static const char *propagation_of(const char *cascade)
{
    if (!cascade || strcmp(cascade, "background") == 0)
        return "Background";
    return strcmp(cascade, "orphan") == 0 ? "Orphan" : "Foreground";
}

static void report_deletion(const struct deletion *deletion, const struct target *o)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(4096);

    if (deletion->settings.output) {
        print_name(o->kind, str_of(o->name), &line);
    } else {
        print_kind(o->kind, &line);
        buf_addf(&line, " \"%s\" %s%s", o->name, deletion->settings.is_forced ? "force deleted" : "deleted",
                 change_result_dry_words(deletion->dry));
    }
    buf_add_char(&line, '\n');
    print_out(&line);
    (void)fflush(stdout);
}

/* The server answers with the object, or with a Status that has its uid. */
static const char *uid_of_answer(struct targets *t)
{
    struct error ignored;
    struct str uid;
    json_ref v;

    json_clear(&t->doc);
    if (json_parse(&t->doc, buf_str(&t->session.reply.text), &v, &ignored) < 0)
        return "";
    uid = json_get_text(&t->doc, json_get(&t->doc, v, "metadata"), "uid");
    if (uid.len == 0)
        uid = json_get_text(&t->doc, json_get(&t->doc, v, "details"), "uid");
    return arena_dup(&t->arena, uid);
}

static void delete_target(void *ctx, const struct target *target)
{
    struct deletion *deletion = ctx;
    struct targets *t = &deletion->targets;
    struct target o = *target;
    struct client_request q = {
        .verb = CLIENT_DELETE,
        .kind = o.kind,
        .ns = o.kind->is_namespaced ? o.ns : NULL,
        .name = o.name,
        .propagation = propagation_of(deletion->settings.cascade),
        .has_grace = deletion->has_grace,
        .grace_seconds = deletion->grace_seconds,
        .is_dry_run = deletion->dry == CHANGE_DRY_SERVER,
    };

    deletion->has_found = true;
    if (deletion->dry != CHANGE_DRY_CLIENT && session_ask(&t->session, &q) < 0) {
        if (t->session.reply.r != -ERR_NOT_FOUND || !deletion->settings.ignores_not_found)
            deletion->status = reply_complain(&t->session.reply, o.source ? "deleting" : NULL, o.source);
        return;
    }
    report_deletion(deletion, &o);
    if (!deletion->waits || deletion->dry != CHANGE_REAL)
        return;
    o.uid = uid_of_answer(t);
    if (!o.uid || vec_push(&deletion->deleting, o) < 0)
        deletion->status = session_complain("out of memory");
}

/* --- What blocks a deletion --- */

static bool write_pods(const struct claim_user *users, size_t count, struct buf *out)
{
    size_t found = 0, named = 0;

    for (size_t i = 0; i < count; i++)
        found += users[i].pod->node_name[0] != '\0'; /* a pod without a node does not block the claim */
    if (found == 0)
        return false;
    buf_add_cstr(out, found == 1 ? "pod " : "pods ");
    for (size_t i = 0; i < count && named < BLOCKERS_NAMED_MAX; i++)
        if (users[i].pod->node_name[0])
            buf_addf(out, "%s%s", named++ ? ", " : "", users[i].pod->obj.name);
    if (found > named)
        buf_addf(out, " and %zu more", found - named);
    buf_add_cstr(out, found == 1 ? " uses it" : " use it");
    return true;
}

static bool write_users(struct session *s, const char *ns, const char *name, struct buf *out)
{
    _cleanup_(inventory_done_p) struct inventory v = { 0 };
    const struct claim_user *users;
    const struct object *claim;
    struct error err;
    size_t count;

    if (inventory_load(&v, s, KIND_CLAIM, ns) < 0 || inventory_load(&v, s, KIND_POD, ns) < 0 ||
        inventory_tie(&v, &err) < 0)
        return false;
    claim = inventory_find(&v, KIND_CLAIM, ns, name);
    if (!claim || !claim->is_deleting)
        return false;
    users = inventory_users(&v, claim_of(claim), &count);
    return write_pods(users, count, out);
}

static bool write_claim(struct session *s, const char *name, struct buf *out)
{
    _cleanup_(json_done_p) struct json d = { 0 };
    struct client_request q = { .verb = CLIENT_GET, .kind = kind_info(KIND_VOLUME), .name = name };
    json_ref volume, claim;
    struct error err;

    json_init(&d, SESSION_BYTES_MAX);
    if (session_ask(s, &q) < 0 || json_parse(&d, buf_str(&s->reply.text), &volume, &err) < 0)
        return false;
    claim = json_path(&d, volume, "spec", "claimRef");
    if (!claim || !json_path(&d, volume, "metadata", "deletionTimestamp") ||
        !json_is_string(&d, json_path(&d, volume, "status", "phase"), "Bound"))
        return false;
    buf_addf(out, "claim %.*s/%.*s is bound to it", STR_ARG(json_get_text(&d, claim, "namespace")),
             STR_ARG(json_get_text(&d, claim, "name")));
    return true;
}

/* --- Waiting --- */

static int is_gone(void *ctx, struct json *d, json_ref object, struct error *err)
{
    const char *uid = ctx;

    (void)err;
    return !object || (uid[0] && !json_is_string(d, json_path(d, object, "metadata", "uid"), uid));
}

/* Prints "waiting: pod p1 uses it" or "waiting: claim shop/data is bound to it", if known: the finalizers
 * kubernetes.io/pvc-protection and pv-protection remain until then. */
static void report_blockers(struct deletion *deletion, const struct target *o, const char *before)
{
    _cleanup_(buf_done_p) struct buf why = BUF_INIT(4096);
    bool is_known = false;

    if (o->kind->kind == KIND_CLAIM)
        is_known = write_users(&deletion->targets.session, o->ns, o->name, &why);
    else if (o->kind->kind == KIND_VOLUME)
        is_known = write_claim(&deletion->targets.session, o->name, &why);
    if (!is_known || why.failed)
        return;
    session_print_error(before, buf_str(&why));
}

static void await_gone(struct deletion *deletion, const struct target *o)
{
    struct await what = { .kind = o->kind,
                          .ns = o->ns,
                          .name = o->name,
                          .timeout_ns = deletion->timeout_ns,
                          .check = is_gone,
                          .ctx = (void *)(uintptr_t)o->uid };
    int r = -ERR_TIMEOUT;

    if (what.timeout_ns > REPORT_BLOCKERS_AFTER_NS) {
        what.timeout_ns = REPORT_BLOCKERS_AFTER_NS;
        r = await_object(&deletion->targets.session, &what);
        if (r == -ERR_TIMEOUT)
            report_blockers(deletion, o, "waiting: ");
        what.timeout_ns = deletion->timeout_ns == AWAIT_FOREVER
                              ? AWAIT_FOREVER
                              : deletion->timeout_ns - REPORT_BLOCKERS_AFTER_NS;
    }
    if (r == -ERR_TIMEOUT)
        r = await_object(&deletion->targets.session, &what);
    if (r == -ERR_TIMEOUT) {
        deletion->status =
            session_complain("timed out waiting for the condition on %s/%s", o->kind->plural, o->name);
        report_blockers(deletion, o, "hint: ");
    } else if (r < 0) {
        deletion->status = reply_complain(&deletion->targets.session.reply, NULL, NULL);
    }
}

/* Each object has the whole timeout, so no end is shown. */
static void await_all_gone(struct deletion *deletion)
{
    const struct progress_work work = { .label = "deleting",
                                        .kind = PROGRESS_WAIT,
                                        .timeout_ns = deletion->deleting.count == 1 ? deletion->timeout_ns
                                                                                    : PROGRESS_FOREVER };

    progress_begin(&deletion->progress, progress_stderr(), &work);
    deletion->targets.session.progress = &deletion->progress;
    for (size_t i = 0; i < deletion->deleting.count; i++) {
        progress_set(&deletion->progress, i, deletion->deleting.count);
        await_gone(deletion, &deletion->deleting.items[i]);
    }
    progress_end(&deletion->progress, deletion->status == CLI_OK);
}

/* --- The verb --- */

static int read_grace(struct deletion *deletion, struct error *err)
{
    const struct delete_settings *s = &deletion->settings;
    int64_t seconds = -1;

    if (s->grace && !str_to_int64(str_of(s->grace), &seconds))
        return error_set(err, ERR_INVALID, "invalid argument \"%s\" for \"--grace-period\" flag", s->grace);
    if (s->is_now && s->grace)
        return error_set(err, ERR_INVALID, "--now and --grace-period cannot be specified together");
    if (s->is_now)
        seconds = 1;
    if (seconds == 0 && !s->is_forced)
        seconds = 1; /* without --force the shortest safe period is used */
    if (s->is_forced && seconds < 0)
        seconds = 0;
    if (s->is_forced && seconds > 0)
        return error_set(err, ERR_INVALID,
                         "--force and --grace-period greater than 0 cannot be specified together");
    deletion->has_grace = seconds >= 0;
    deletion->grace_seconds = seconds > 0 ? (uint64_t)seconds : 0;
    return 0;
}

static int read_settings(struct deletion *deletion, struct error *err)
{
    const struct delete_settings *s = &deletion->settings;
    int64_t timeout_ns = 0;
    int r = change_result_read_dry(s->dry_run, &deletion->dry, err);

    if (r == 0)
        r = read_grace(deletion, err);
    if (r == 0 && s->timeout)
        r = await_read_timeout(s->timeout, &timeout_ns, err);
    if (r < 0)
        return r;
    deletion->timeout_ns = timeout_ns > 0 ? (uint64_t)timeout_ns : AWAIT_FOREVER;
    deletion->waits = !s->wait || strcmp(s->wait, "true") == 0;
    if (s->wait && !deletion->waits && strcmp(s->wait, "false") != 0)
        return error_set(err, ERR_INVALID, "invalid --wait \"%s\": must be true or false", s->wait);
    if (s->is_forced && !s->wait)
        deletion->waits = false; /* with --force the object may never be removed */
    if (s->output && strcmp(s->output, "name") != 0)
        return error_set(err, ERR_INVALID, "unexpected -o output mode: %s. We only support '-o name'",
                         s->output);
    if (s->cascade && strcmp(s->cascade, "background") != 0 && strcmp(s->cascade, "orphan") != 0 &&
        strcmp(s->cascade, "foreground") != 0)
        return error_set(err, ERR_INVALID,
                         "invalid cascade value (%s). Must be \"background\", \"foreground\", or \"orphan\"",
                         s->cascade);
    return 0;
}

static int delete_open(struct deletion *deletion, int args, char **argv)
{
    struct targets *t = &deletion->targets;
    struct error err;

    if (read_settings(deletion, &err) < 0 || targets_open(t, args, argv + 1, &err) < 0)
        return session_complain("%s", err.msg);
    if (t->resources.count == 0 && t->manifests.items.count == 0)
        return cli_fail_usage("delete: no object given: see 'berth help delete'");
    if (targets_check(t, /* may_be_all= */ false) != CLI_OK)
        return CLI_FAILED;
    if (t->settings->is_everywhere && t->resources.has_names)
        return session_complain("a resource cannot be retrieved by name across all namespaces");
    if (deletion->has_grace && deletion->grace_seconds == 0 && deletion->settings.is_forced)
        (void)fprintf(
            stderr,
            "Warning: Immediate deletion does not wait for confirmation that the running resource has "
            "been terminated. The resource may continue to run on the cluster indefinitely.\n");
    return CLI_OK;
}

static int delete_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct deletion x = { 0 };
    int args = 0, status = flags_parse(verb, argc, argv, &x.settings, &args);

    if (status != CLI_OK)
        return status;
    targets_init(&x.targets, &x.settings.targets);
    status = delete_open(&x, args, argv);
    if (status == CLI_OK) {
        targets_each(&x.targets, delete_target, &x);
        if (x.targets.failures)
            x.status = CLI_FAILED;
        if (!x.has_found && x.status == CLI_OK)
            printf("No resources found\n");
        await_all_gone(&x);
        status = manifests_complain(&x.targets.manifests) == CLI_OK ? x.status : CLI_FAILED;
    }
    vec_done(&x.deleting);
    targets_done(&x.targets);
    return status;
}

static const struct flag delete_flags[] = {
    TARGET_FLAGS(struct delete_settings, targets),
    FLAG_MAY_STAND_ALONE(struct delete_settings, wait, "wait", "BOOL", "true",
                         "wait until the objects are deleted; false: return immediately"),
    FLAG(struct delete_settings, timeout, "timeout", "TIME", "stop waiting after this time: 30s, 5m"),
    FLAG(struct delete_settings, grace, "grace-period", "SECONDS", "seconds given to a pod to shut down"),
    FLAG_ON(struct delete_settings, is_now, "now", "the same as --grace-period=1"),
    FLAG_ON(struct delete_settings, is_forced, "force",
            "remove pods from the API without waiting for their node (cannot be undone)"),
    FLAG_MAY_STAND_ALONE(struct delete_settings, cascade, "cascade", "WAY", "background",
                         "dependents: background, foreground or orphan"),
    FLAG_ON(struct delete_settings, ignores_not_found, "ignore-not-found",
            "exit 0 if an object does not exist"),
    FLAG_MAY_STAND_ALONE(struct delete_settings, dry_run, "dry-run", "WAY", "client",
                         "none, client (send nothing) or server (change nothing)"),
    FLAG_SHORT(struct delete_settings, output, 'o', "output", "FORM", "name: print only the names"),
    SESSION_FLAGS(struct delete_settings, targets.session),
    { 0 },
};

const struct cli_verb cli_verb_delete = {
    .name = "delete",
    .usage = "delete TYPE NAME... | TYPE/NAME... | TYPE -l SELECTOR | TYPE --all | -f FILE",
    .summary = "Delete objects",
    .flags = delete_flags,
    .examples = "  berth delete pvc data               # and wait until it is deleted\n  berth delete pvc "
                "data --wait=false  # without waiting\n  berth delete pv -l set=old          # all with that "
                "label\n  berth delete -f claim.yaml --ignore-not-found\n",
    .args = "TYPE",
    .run = delete_run,
};
