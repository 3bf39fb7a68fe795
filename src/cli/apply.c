/* `berth apply`: creates or updates objects so that they match manifests.
 *
 * By default it works as kubectl apply does: an annotation of the object stores the manifest that was applied
 * last, and the patch is computed from three texts (three_way.h). Both programs read and write the same
 * annotation, so that they can be mixed. With --server-side the server merges, by field owner. */
#include "cli/cli.h"

#include <stdio.h>

#include "api/object.h"
#include "cli/change_result.h"
#include "cli/hint.h"
#include "cli/manifests.h"
#include "cli/three_way.h"
#include "io/status_line.h"

struct apply_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    struct change_result_settings result;
    bool is_server_side;
    bool forces_conflicts;
};

struct apply {
    struct apply_settings settings;
    struct session session;
    struct manifests manifests;
    struct change_result result;
    VEC(json_ref) written; /* printed as one List at the end */
    struct progress_bar progress;
};

static int fail_source(const struct manifest *m, const struct error *err)
{
    return session_complain("error when applying \"%s\": %s", m->source, err->msg);
}

/* --- The annotation --- */

/* Stores the manifest without the annotation, in one line, as the value of the annotation. */
static int set_last_applied(struct apply *a, const struct manifest *m, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(MANIFEST_BYTES_MAX);
    struct json *d = &a->manifests.doc;
    json_ref notes = json_ensure_object(d, json_ensure_object(d, m->object, "metadata"), "annotations");
    int r;

    (void)json_remove(d, notes, LAST_APPLIED_ANNOTATION);
    print_sort(d, m->object);
    print_json_compact(d, m->object, &text);
    buf_add_char(&text, '\n');
    r = buf_check(&text, "manifest", err);
    if (r == 0)
        json_set_string(d, notes, LAST_APPLIED_ANNOTATION, buf_cstr(&text));
    return r < 0 ? r : json_check(d, err);
}

/* The manifest that was applied last; 0 when it is not known. */
static int read_last_applied(struct apply *a, const struct manifest *m, json_ref there, json_ref *ret,
                             struct error *err)
{
    struct json *d = &a->manifests.doc;
    struct str text =
        json_get_text(d, json_path(d, there, "metadata", "annotations"), LAST_APPLIED_ANNOTATION);
    int r;

    *ret = 0;
    if (text.len == 0) {
        status_line_clear();
        (void)fprintf(
            stderr,
            "Warning: resource %s/%s is missing the %s annotation which is required by berth apply. berth "
            "apply should only be used on resources created declaratively by either berth create "
            "--save-config or berth apply. The missing annotation will be patched automatically.\n",
            m->kind->plural, m->name, LAST_APPLIED_ANNOTATION);
        return 0;
    }
    r = json_parse(d, text, ret, err);
    return r < 0 ? error_wrap(err, "the annotation %s", LAST_APPLIED_ANNOTATION) : 0;
}

/* --- One object --- */

static int write_object(struct apply *a, const struct manifest *m, struct client_request *q, json_ref body,
                        const char *doing, json_ref *ret)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(CLIENT_REQUEST_BYTES_MAX);
    struct json *d = &a->manifests.doc;
    struct error err;

    json_write(d, body, &text);
    if (buf_check(&text, "manifest", &err) < 0)
        return fail_source(m, &err);
    q->kind = m->kind;
    q->ns = m->ns;
    q->body = buf_str(&text);
    change_result_fill(&a->result, q);
    if (session_ask(&a->session, q) < 0) {
        (void)reply_complain(&a->session.reply, doing, m->source);
        hint_refusal(&a->session.reply, m, d);
        return CLI_FAILED;
    }
    return reply_parse(&a->session.reply, d, ret);
}

static int report_change(struct apply *a, const struct manifest *m, json_ref object, const char *done)
{
    if (print_is_table(&a->result.print) || a->result.print.form == PRINT_NAME)
        return change_result_print(&a->result, m->kind, &a->manifests.doc, object, done);
    return vec_push(&a->written, object) < 0 ? session_complain("out of memory") : CLI_OK;
}

static int apply_change(struct apply *a, const struct manifest *m, json_ref there)
{
    bool is_custom = m->kind->flags & KIND_IS_CUSTOM;
    struct client_request q = { .verb = CLIENT_PATCH,
                                .name = m->name,
                                .patch = is_custom ? CLIENT_PATCH_MERGE : CLIENT_PATCH_STRATEGIC };
    struct json *d = &a->manifests.doc;
    json_ref last, patch, object = there;
    struct error err;

    if (read_last_applied(a, m, there, &last, &err) < 0 ||
        three_way_patch(d, is_custom ? NULL : m->kind->schema, last, m->object, there, &patch, &err) < 0)
        return fail_source(m, &err);
    if (!json_first(d, patch))
        return report_change(a, m, there, "unchanged");
    if (json_path(d, there, "metadata", "deletionTimestamp")) {
        status_line_clear();
        (void)fprintf(stderr, "Warning: Detected changes to resource %s which is currently being deleted.\n",
                      m->name);
    }
    if (a->result.dry != CHANGE_DRY_CLIENT &&
        write_object(a, m, &q, patch, "applying patch from", &object) != CLI_OK)
        return CLI_FAILED;
    return report_change(a, m, object, "configured");
}

static int apply_here(struct apply *a, const struct manifest *m)
{
    struct client_request q = { .verb = CLIENT_GET, .kind = m->kind, .ns = m->ns, .name = m->name };
    struct error err;
    json_ref there;

    if (!m->name[0])
        return session_complain("from %s: cannot use generate name with apply", m->source);
    if (set_last_applied(a, m, &err) < 0)
        return fail_source(m, &err);
    if (session_ask(&a->session, &q) == 0) {
        if (json_parse(&a->manifests.doc, buf_str(&a->session.reply.text), &there, &err) < 0)
            return fail_source(m, &err);
        return apply_change(a, m, there);
    }
    if (a->session.reply.r != -ERR_NOT_FOUND)
        return reply_complain(&a->session.reply, "retrieving current configuration of", m->source);
    there = m->object;
    q = (struct client_request){ .verb = CLIENT_CREATE };
    if (a->result.dry != CHANGE_DRY_CLIENT && write_object(a, m, &q, m->object, "creating", &there) != CLI_OK)
        return CLI_FAILED;
    return report_change(a, m, there, "created");
}

static int apply_there(struct apply *a, const struct manifest *m)
{
    struct client_request q = { .verb = CLIENT_PATCH,
                                .name = m->name,
                                .patch = CLIENT_PATCH_APPLY,
                                .is_forced = a->settings.forces_conflicts };
    json_ref object = 0;

    if (write_object(a, m, &q, m->object, "applying", &object) != CLI_OK) {
        if (a->session.reply.r == -ERR_CONFLICT)
            (void)fprintf(
                stderr, "Overwrite these fields with --force-conflicts, or remove them from the manifest.\n");
        return CLI_FAILED;
    }
    return report_change(a, m, object, "serverside-applied");
}

/* --- The verb --- */

static int show_written(struct apply *a)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct error err;

    if (a->written.count == 0)
        return CLI_OK;
    if (print_objects(&a->result.print, &a->manifests.doc, a->written.items, a->written.count,
                      a->manifests.items.count == 1, &out, &err) < 0)
        return session_complain("%s", err.msg);
    print_out(&out);
    return CLI_OK;
}

static int apply_all(struct apply *a)
{
    int status = CLI_OK;
    struct error err;

    if (change_result_init(&a->result, &a->settings.result, &err) < 0 ||
        session_open(&a->settings.session, &a->session, &err) < 0 ||
        manifests_read(&a->settings.manifests, &a->session, &a->manifests, &err) < 0)
        return session_complain("%s", err.msg);
    if (a->settings.is_server_side && a->result.dry == CHANGE_DRY_CLIENT)
        return session_complain(
            "--dry-run=client doesn't work with --server-side (did you mean --dry-run=server "
            "instead?)");
    manifests_progress_begin(&a->progress, &a->session, "apply");
    for (size_t i = 0; i < a->manifests.items.count; i++) {
        const struct manifest *m = &a->manifests.items.items[i];

        progress_set(&a->progress, i, a->manifests.items.count);
        if ((a->settings.is_server_side ? apply_there(a, m) : apply_here(a, m)) != CLI_OK)
            status = CLI_FAILED;
    }
    progress_end(&a->progress, status == CLI_OK);
    if (show_written(a) != CLI_OK || manifests_complain(&a->manifests) != CLI_OK)
        status = CLI_FAILED;
    return status;
}

static int apply_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct apply a = { 0 };
    int args = 0, status = flags_parse(verb, argc, argv, &a.settings, &args);

    if (status != CLI_OK)
        return status;
    if (args)
        return cli_fail_usage("apply: unexpected argument '%s': did you mean -f %s?", argv[1], argv[1]);
    if (a.settings.manifests.files.count == 0)
        return cli_fail_usage("apply: no file given, with -f: see 'berth help apply'");
    json_init(&a.manifests.doc, SESSION_BYTES_MAX);
    status = apply_all(&a);
    vec_done(&a.written);
    print_done(&a.result.print);
    manifests_done(&a.manifests);
    session_close(&a.session);
    return status;
}

static const struct flag apply_flags[] = {
    MANIFEST_FLAGS(struct apply_settings, manifests),
    FLAG_ON(struct apply_settings, is_server_side, "server-side", "merge on the server, by field owner"),
    FLAG_ON(struct apply_settings, forces_conflicts, "force-conflicts",
            "take over fields that other managers own"),
    CHANGE_FLAGS(struct apply_settings, result),
    SESSION_FLAGS(struct apply_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_apply = {
    .name = "apply",
    .usage = "apply -f FILE",
    .summary = "Create or update objects to match a manifest",
    .flags = apply_flags,
    .examples = "  berth apply -f claim.yaml                   # idempotent\n  berth apply -f manifests/ -R  "
                "              # all files of a directory\n  berth apply -f claim.yaml --dry-run=server  # "
                "what would happen?\n",
    .run = apply_run,
};
