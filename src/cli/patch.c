/* `berth patch`: changes objects with one of the API's three patch types. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "api/yaml.h"
#include "cli/change_result.h"
#include "cli/targets.h"
#include "io/file.h"

struct patch_settings {
    struct target_settings targets;
    struct change_result_settings result;
    const char *patch;
    const char *patch_file;
    const char *type;
    const char *subresource;
};

struct patch {
    struct patch_settings settings;
    struct targets targets;
    struct change_result result;
    struct buf body;
    enum client_patch type;
    int status;
};

/* The text of an object without the fields that every write changes; the object is not modified. */
static void write_comparable(struct json *d, json_ref object, struct buf *out)
{
    json_ref copy = json_copy(d, object), meta = json_get(d, copy, "metadata");

    (void)json_remove(d, meta, "managedFields");
    (void)json_remove(d, meta, "resourceVersion");
    json_write(d, copy, out);
}

static int patch_object(struct patch *p, const struct target *what)
{
    _cleanup_(buf_done_p) struct buf before = BUF_INIT(SESSION_BYTES_MAX),
                                     after = BUF_INIT(SESSION_BYTES_MAX);
    struct client_request q = {
        .verb = CLIENT_GET,
        .kind = what->kind,
        .ns = what->kind->is_namespaced ? what->ns : NULL,
        .name = what->name,
        .subresource = p->settings.subresource,
    };
    struct json *d = &p->targets.doc;
    bool is_same;
    json_ref object;

    if (session_read(&p->targets.session, &q, &p->targets.doc, &object) != CLI_OK)
        return CLI_FAILED;
    write_comparable(d, object, &before);
    q.verb = CLIENT_PATCH;
    q.patch = p->type;
    q.body = buf_str(&p->body);
    change_result_fill(&p->result, &q);
    if (p->result.dry == CHANGE_DRY_CLIENT)
        q.is_dry_run = true; /* only the server can apply it: it is sent as a dry run */
    if (session_read(&p->targets.session, &q, &p->targets.doc, &object) != CLI_OK)
        return CLI_FAILED;
    write_comparable(d, object, &after);
    is_same = !after.failed && str_eq(buf_str(&after), buf_str(&before));
    return change_result_print(&p->result, what->kind, d, object,
                               is_same ? "patched (no change)" : "patched");
}

static void patch_target(void *ctx, const struct target *what)
{
    struct patch *p = ctx;

    if (patch_object(p, what) != CLI_OK)
        p->status = CLI_FAILED;
}

/* --- The patch --- */

static int read_type(struct patch *p, struct error *err)
{
    static const struct {
        const char *name;
        enum client_patch type;
    } types[] = { { "strategic", CLIENT_PATCH_STRATEGIC },
                  { "merge", CLIENT_PATCH_MERGE },
                  { "json", CLIENT_PATCH_JSON } };
    const char *name = p->settings.type ? p->settings.type : "strategic";

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strcmp(name, types[i].name) == 0) {
            p->type = types[i].type;
            return 0;
        }
    return error_set(err, ERR_INVALID, "--type must be one of [json merge strategic], not \"%s\"", name);
}

/* YAML or JSON. */
static int read_body(struct patch *p, struct error *err)
{
    _cleanup_(buf_done_p) struct buf file = BUF_INIT(MANIFEST_BYTES_MAX);
    const struct patch_settings *settings = &p->settings;
    json_ref v = 0;
    int r = 0;

    if (settings->patch_file)
        r = io_read_file(strcmp(settings->patch_file, "-") == 0 ? "/dev/stdin" : settings->patch_file,
                         MANIFEST_BYTES_MAX, &file, err);
    if (r == 0)
        r = yaml_or_json_parse(&p->targets.doc,
                               settings->patch_file ? buf_str(&file) : str_of(settings->patch), &v, err);
    if (r < 0)
        return error_wrap(err, "unable to parse the patch");
    json_write(&p->targets.doc, v, &p->body);
    return buf_check(&p->body, "patch", err);
}

/* --- The verb --- */

static int patch_all(struct patch *p, int args, char **argv)
{
    struct targets *t = &p->targets;
    struct error err;

    if (change_result_init(&p->result, &p->settings.result, &err) < 0 || read_type(p, &err) < 0 ||
        targets_open(t, args, argv + 1, &err) < 0 || read_body(p, &err) < 0)
        return session_complain("%s", err.msg);
    if (targets_check(t, /* may_be_all= */ false) == CLI_OK)
        targets_each(t, patch_target, p);
    else
        p->status = CLI_FAILED;
    return manifests_complain(&t->manifests) == CLI_OK ? p->status : CLI_FAILED;
}

static int patch_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct patch p = { .body = BUF_INIT(CLIENT_REQUEST_BYTES_MAX) };
    int args = 0, status = flags_parse(verb, argc, argv, &p.settings, &args);

    if (status != CLI_OK)
        return status;
    if (args == 0 && p.settings.targets.manifests.files.count == 0)
        return cli_fail_usage("patch: no object given: see 'berth help patch'");
    if (!p.settings.patch == !p.settings.patch_file)
        return cli_fail_usage("patch: specify --patch or --patch-file: see 'berth help patch'");
    targets_init(&p.targets, &p.settings.targets);
    status = patch_all(&p, args, argv);
    buf_done(&p.body);
    print_done(&p.result.print);
    targets_done(&p.targets);
    return status;
}

static const struct flag patch_flags[] = {
    FLAG_SHORT(struct patch_settings, patch, 'p', "patch", "PATCH", "the patch, in YAML or JSON"),
    FLAG(struct patch_settings, patch_file, "patch-file", "FILE",
         "a file with the patch, - for standard input"),
    FLAG(struct patch_settings, type, "type", "TYPE", "strategic (the default), merge or json"),
    FLAG(struct patch_settings, subresource, "subresource", "NAME", "patch this subresource: status"),
    MANIFEST_FLAGS(struct patch_settings, targets.manifests),
    CHANGE_FLAGS(struct patch_settings, result),
    SESSION_FLAGS(struct patch_settings, targets.session),
    { 0 },
};

const struct cli_verb cli_verb_patch = {
    .name = "patch",
    .usage = "patch (TYPE NAME | TYPE/NAME | -f FILE) -p PATCH",
    .summary = "Change fields of objects",
    .flags = patch_flags,
    .examples =
        "  berth patch pv disk-1 -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'\n"
        "  berth patch pvc/data --type=merge -p '{\"metadata\":{\"labels\":{\"tier\":\"gold\"}}}'\n"
        "  berth patch pv disk-1 --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/claimRef\"}]'\n",
    .args = "TYPE",
    .run = patch_run,
};
