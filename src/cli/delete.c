/* `berth delete`: objects by name, by label or by manifest; it waits until they are gone. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/await.h"
#include "cli/deed.h"
#include "cli/holders.h"
#include "cli/manifests.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/resources.h"
#include "io/status_line.h"

/* What is not gone by then is kept by something. */
#define DELETE_PATIENCE_NS NS_PER_S

struct delete_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    const char *labels;
    const char *fields;
    const char *output;
    const char *dry_run;
    const char *grace;
    const char *cascade;
    const char *timeout;
    const char *wait;
    bool is_everywhere;
    bool is_all;
    bool is_forced;
    bool is_now;
    bool ignores_not_found;
};

/* One that is going. */
struct doomed {
    const struct kind_info *kind;
    const char *ns;
    const char *name;
    const char *uid;
};

struct deletion {
    struct delete_settings settings;
    struct session session;
    struct resources resources;
    struct manifests manifests;
    struct reply reply;
    struct json doc;
    struct arena arena;
    VEC(struct doomed) doomed;
    enum deed_dry dry;
    bool has_grace;
    uint64_t grace_seconds;
    uint64_t timeout_ns;
    bool waits;
    bool has_found; /* something to delete */
    struct progress progress;
    int status;
};

/* --- One object --- */

static const char *propagation_of(const char *cascade)
{
    if (!cascade || strcmp(cascade, "background") == 0)
        return "Background";
    return strcmp(cascade, "orphan") == 0 ? "Orphan" : "Foreground";
}

static void tell(const struct deletion *x, const struct doomed *o)
{
    _cleanup_(buf_done_p) struct buf line = BUF_INIT(4096);

    if (x->settings.output) {
        print_name(o->kind, str_of(o->name), &line);
    } else {
        print_kind(o->kind, &line);
        buf_addf(&line, " \"%s\" %s%s", o->name, x->settings.is_forced ? "force deleted" : "deleted",
                 deed_dry_words(x->dry));
    }
    buf_add_char(&line, '\n');
    print_out(&line);
    (void)fflush(stdout);
}

/* The server answers with the object, or with a Status that says its uid. */
static const char *uid_of_answer(struct deletion *x)
{
    struct error ignored;
    struct str uid;
    json_ref v;

    json_clear(&x->doc);
    if (json_parse(&x->doc, buf_str(&x->reply.text), &v, &ignored) < 0)
        return "";
    uid = json_get_text(&x->doc, json_get(&x->doc, v, "metadata"), "uid");
    if (uid.len == 0)
        uid = json_get_text(&x->doc, json_get(&x->doc, v, "details"), "uid");
    return arena_dup(&x->arena, uid);
}

static void delete_one(struct deletion *x, struct doomed o, const char *source)
{
    struct client_request q = {
        .verb = CLIENT_DELETE,
        .kind = o.kind,
        .ns = o.kind->is_namespaced ? o.ns : NULL,
        .name = o.name,
        .propagation = propagation_of(x->settings.cascade),
        .has_grace = x->has_grace,
        .grace_seconds = x->grace_seconds,
        .is_dry_run = x->dry == DEED_DRY_SERVER,
    };

    x->has_found = true;
    if (x->dry != DEED_DRY_CLIENT && session_ask(&x->session, &q, &x->reply) < 0) {
        if (x->reply.r != -ERR_NOT_FOUND || !x->settings.ignores_not_found)
            x->status = reply_complain(&x->reply, source ? "deleting" : NULL, source);
        return;
    }
    tell(x, &o);
    if (!x->waits || x->dry != DEED_REAL)
        return;
    o.uid = uid_of_answer(x);
    if (!o.uid || vec_push(&x->doomed, o) < 0)
        x->status = session_complain("out of memory");
}

/* --- Many --- */

/* All names first: deleting uses the document that they stand in. */
static void delete_listed(struct deletion *x, const struct kind_info *k, json_ref list)
{
    _cleanup_(vec_done_p) VEC(struct doomed) found = { 0 };

    for (json_ref o = json_first(&x->doc, json_get(&x->doc, list, "items")); o; o = json_next(&x->doc, o)) {
        json_ref meta = json_get(&x->doc, o, "metadata");
        struct doomed one = { .kind = k,
                              .ns = arena_dup(&x->arena, json_get_text(&x->doc, meta, "namespace")),
                              .name = arena_dup(&x->arena, json_get_text(&x->doc, meta, "name")) };

        if (!one.ns || !one.name || vec_push(&found, one) < 0) {
            x->status = session_complain("out of memory");
            return;
        }
    }
    for (size_t i = 0; i < found.count; i++)
        delete_one(x, found.items[i], NULL);
}

static void delete_selected(struct deletion *x, const struct kind_info *k)
{
    struct client_request q = {
        .verb = CLIENT_LIST,
        .kind = k,
        .ns = x->settings.is_everywhere || !k->is_namespaced ? NULL : x->session.ns,
        .label_selector = x->settings.labels,
        .field_selector = x->settings.fields,
    };
    struct error err;
    json_ref list;

    if (session_ask(&x->session, &q, &x->reply) < 0) {
        x->status = reply_complain(&x->reply, NULL, NULL);
        return;
    }
    json_clear(&x->doc);
    if (json_parse(&x->doc, buf_str(&x->reply.text), &list, &err) < 0)
        x->status = session_complain("the server's answer cannot be read: %s", err.msg);
    else
        delete_listed(x, k, list);
}

/* --- Waiting --- */

static int is_gone(void *ctx, struct json *d, json_ref object, struct error *err)
{
    const char *uid = ctx;

    (void)err;
    return !object || (uid[0] && !json_is_string(d, json_path(d, object, "metadata", "uid"), uid));
}

/* "waiting: pod p1 uses it", where that is known. */
static void tell_what_keeps(struct deletion *x, const struct doomed *o, const char *before)
{
    _cleanup_(buf_done_p) struct buf why = BUF_INIT(4096);

    if (!holders_write(&x->session, o->kind, o->ns, o->name, &why) || why.failed)
        return;
    status_line_clear();
    (void)fputs(before, stderr);
    session_print_error_text(buf_str(&why));
    (void)fputs("\n", stderr);
}

static void await_gone(struct deletion *x, const struct doomed *o)
{
    struct await what = { .kind = o->kind,
                          .ns = o->ns,
                          .name = o->name,
                          .timeout_ns = x->timeout_ns,
                          .look = is_gone,
                          .ctx = (void *)(uintptr_t)o->uid };
    int r = -ERR_TIMEOUT;

    if (what.timeout_ns > DELETE_PATIENCE_NS) {
        what.timeout_ns = DELETE_PATIENCE_NS;
        r = await_object(&x->session, &what, &x->reply);
        if (r == -ERR_TIMEOUT)
            tell_what_keeps(x, o, "waiting: ");
        what.timeout_ns = x->timeout_ns == AWAIT_FOREVER ? AWAIT_FOREVER : x->timeout_ns - DELETE_PATIENCE_NS;
    }
    if (r == -ERR_TIMEOUT)
        r = await_object(&x->session, &what, &x->reply);
    if (r == -ERR_TIMEOUT) {
        x->status =
            session_complain("timed out waiting for the condition on %s/%s", o->kind->plural, o->name);
        tell_what_keeps(x, o, "hint: ");
    } else if (r < 0) {
        x->status = reply_complain(&x->reply, NULL, NULL);
    }
}

/* Each has the whole time to go, so the time that is shown has no end. */
static void await_all_gone(struct deletion *x)
{
    const struct progress_work work = { .label = "deleting",
                                        .kind = PROGRESS_WAIT,
                                        .timeout_ns =
                                            x->doomed.count == 1 ? x->timeout_ns : PROGRESS_FOREVER };

    progress_begin(&x->progress, progress_stderr(), &work);
    x->session.progress = &x->progress;
    for (size_t i = 0; i < x->doomed.count; i++) {
        progress_set(&x->progress, i, x->doomed.count);
        await_gone(x, &x->doomed.items[i]);
    }
    progress_end(&x->progress, x->status == CLI_OK);
}

/* --- All of it --- */

static void delete_all(struct deletion *x)
{
    for (size_t i = 0; i < x->resources.count; i++) {
        const struct resource *what = &x->resources.items[i];

        if (what->name)
            delete_one(x, (struct doomed){ .kind = what->kind, .ns = x->session.ns, .name = what->name },
                       NULL);
        else
            delete_selected(x, what->kind);
    }
    for (size_t i = 0; i < x->manifests.items.count; i++) {
        const struct manifest *m = &x->manifests.items.items[i];

        delete_one(x, (struct doomed){ .kind = m->kind, .ns = m->ns, .name = m->name }, m->source);
    }
    if (!x->has_found && x->status == CLI_OK)
        printf("No resources found\n");
    await_all_gone(x);
}

static int read_grace(struct deletion *x, struct error *err)
{
    const struct delete_settings *s = &x->settings;
    int64_t seconds = -1;

    if (s->grace && !str_to_int64(str_of(s->grace), &seconds))
        return error_set(err, ERR_INVALID, "invalid argument \"%s\" for \"--grace-period\" flag", s->grace);
    if (s->is_now && s->grace)
        return error_set(err, ERR_INVALID, "--now and --grace-period cannot be specified together");
    if (s->is_now)
        seconds = 1;
    if (seconds == 0 && !s->is_forced)
        seconds = 1; /* who does not insist gets the shortest that is safe */
    if (s->is_forced && seconds < 0)
        seconds = 0;
    if (s->is_forced && seconds > 0)
        return error_set(err, ERR_INVALID,
                         "--force and --grace-period greater than 0 cannot be specified together");
    x->has_grace = seconds >= 0;
    x->grace_seconds = seconds > 0 ? (uint64_t)seconds : 0;
    return 0;
}

static int read_settings(struct deletion *x, struct error *err)
{
    const struct delete_settings *s = &x->settings;
    int64_t timeout_ns = 0;
    int r = deed_read_dry(s->dry_run, &x->dry, err);

    if (r == 0)
        r = read_grace(x, err);
    if (r == 0 && s->timeout)
        r = await_read_timeout(s->timeout, &timeout_ns, err);
    if (r < 0)
        return r;
    x->timeout_ns = timeout_ns > 0 ? (uint64_t)timeout_ns : AWAIT_FOREVER;
    x->waits = !s->wait || strcmp(s->wait, "true") == 0;
    if (s->wait && !x->waits && strcmp(s->wait, "false") != 0)
        return error_set(err, ERR_INVALID, "--wait is true or false, not \"%s\"", s->wait);
    if (s->is_forced && !s->wait)
        x->waits = false; /* whoever forces does not trust the object to go */
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

static int check_combination(const struct deletion *x)
{
    const struct delete_settings *s = &x->settings;
    bool selects = s->labels || s->fields || s->is_all;

    if (x->resources.count == 0 && x->manifests.items.count == 0)
        return cli_fail_usage("delete: nothing given to delete: see 'berth help delete'");
    if (x->resources.has_names && selects)
        return session_complain("name cannot be provided when a selector is specified");
    if (x->resources.count && !x->resources.has_names && !selects)
        return session_complain("resource(s) were provided, but no name was specified");
    if (s->is_everywhere && x->resources.has_names)
        return session_complain("a resource cannot be retrieved by name across all namespaces");
    return CLI_OK;
}

static int delete_open(struct deletion *x, int args, char **argv)
{
    const struct delete_settings *s = &x->settings;
    struct error err;

    if (read_settings(x, &err) < 0 || session_open(&s->session, &x->session, &err) < 0 ||
        resources_read(args, argv + 1, &x->resources, &err) < 0 ||
        (s->manifests.files.count && manifests_read(&s->manifests, &x->session, &x->manifests, &err) < 0))
        return session_complain("%s", err.msg);
    if (check_combination(x) != CLI_OK)
        return x->resources.count || x->manifests.items.count ? CLI_FAILED : CLI_USAGE;
    if (x->has_grace && x->grace_seconds == 0 && s->is_forced)
        (void)fprintf(
            stderr,
            "Warning: Immediate deletion does not wait for confirmation that the running resource has "
            "been terminated. The resource may continue to run on the cluster indefinitely.\n");
    return CLI_OK;
}

static int delete_run(int argc, char **argv)
{
    struct deletion x = { .arena = ARENA_INIT(SESSION_BYTES_MAX) };
    int args = 0, status = flags_parse(&cli_verb_delete, argc, argv, &x.settings, &args);

    if (status != CLI_OK)
        return status;
    json_init(&x.doc, SESSION_BYTES_MAX);
    json_init(&x.manifests.doc, SESSION_BYTES_MAX);
    status = delete_open(&x, args, argv);
    if (status == CLI_OK) {
        delete_all(&x);
        status = manifests_complain(&x.manifests) == CLI_OK ? x.status : CLI_FAILED;
    }
    vec_done(&x.doomed);
    arena_done(&x.arena);
    json_done(&x.doc);
    reply_done(&x.reply);
    manifests_done(&x.manifests);
    session_close(&x.session);
    return status;
}

static const struct flag delete_flags[] = {
    MANIFEST_FLAGS(struct delete_settings, manifests),
    FLAG_SHORT(struct delete_settings, labels, 'l', "selector", "SELECTOR", "those with these labels"),
    FLAG(struct delete_settings, fields, "field-selector", "SELECTOR", "those with these fields"),
    FLAG_ON(struct delete_settings, is_all, "all", "all of that type in the namespace"),
    FLAG_SHORT_ON(struct delete_settings, is_everywhere, 'A', "all-namespaces", "in every namespace"),
    FLAG_MAY_STAND_ALONE(struct delete_settings, wait, "wait", "BOOL", "true",
                         "wait until they are gone; false: only ask"),
    FLAG(struct delete_settings, timeout, "timeout", "TIME", "wait no longer than this: 30s, 5m"),
    FLAG(struct delete_settings, grace, "grace-period", "SECONDS", "what a pod has to end in peace"),
    FLAG_ON(struct delete_settings, is_now, "now", "the same as --grace-period=1"),
    FLAG_ON(struct delete_settings, is_forced, "force", "do not wait for a pod's node: no second chance"),
    FLAG_MAY_STAND_ALONE(struct delete_settings, cascade, "cascade", "WAY", "background",
                         "what it owns: background, foreground or orphan"),
    FLAG_ON(struct delete_settings, ignores_not_found, "ignore-not-found", "what is not there is no failure"),
    FLAG_MAY_STAND_ALONE(struct delete_settings, dry_run, "dry-run", "WAY", "client",
                         "none, client (ask nobody) or server (change nothing)"),
    FLAG_SHORT(struct delete_settings, output, 'o', "output", "FORM", "name: only the names"),
    SESSION_FLAGS(struct delete_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_delete = {
    .name = "delete",
    .usage = "delete TYPE NAME... | TYPE/NAME... | TYPE -l SELECTOR | TYPE --all | -f FILE",
    .summary = "Delete objects",
    .flags = delete_flags,
    .examples = "  berth delete pvc data               # and wait until it is gone\n"
                "  berth delete pvc data --wait=false  # without waiting\n"
                "  berth delete pv -l set=old          # all with that label\n"
                "  berth delete -f claim.yaml --ignore-not-found\n",
    .args = "TYPE",
    .run = delete_run,
};
