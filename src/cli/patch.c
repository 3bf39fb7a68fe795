/* `berth patch`: a change to objects, in one of the three forms that the API has for it. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "api/yaml.h"
#include "cli/deed.h"
#include "cli/manifests.h"
#include "cli/resources.h"
#include "io/file.h"

struct patch_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    struct deed_settings deed;
    const char *patch;
    const char *patch_file;
    const char *type;
    const char *subresource;
};

struct patch {
    struct patch_settings settings;
    struct session session;
    struct resources resources;
    struct manifests manifests; /* what -f names; the document is also that of patch and answers */
    struct deed deed;
    struct reply reply;
    struct buf body;
    enum client_patch type;
};

/* What it is now, to tell whether anything changes. */
static int read_version(struct patch *p, const struct client_request *patch, struct buf *ret)
{
    struct client_request q = { .verb = CLIENT_GET,
                                .kind = patch->kind,
                                .ns = patch->ns,
                                .name = patch->name,
                                .subresource = patch->subresource };
    json_ref object;
    struct error err;

    if (session_ask(&p->session, &q, &p->reply) < 0)
        return reply_complain(&p->reply, NULL, NULL);
    if (json_parse(&p->manifests.doc, buf_str(&p->reply.text), &object, &err) < 0)
        return session_complain("the server's answer cannot be read: %s", err.msg);
    (void)json_remove(&p->manifests.doc, json_get(&p->manifests.doc, object, "metadata"), "managedFields");
    (void)json_remove(&p->manifests.doc, json_get(&p->manifests.doc, object, "metadata"), "resourceVersion");
    json_write(&p->manifests.doc, object, ret);
    return CLI_OK;
}

static bool is_unchanged(struct patch *p, json_ref answer, const struct buf *before)
{
    _cleanup_(buf_done_p) struct buf after = BUF_INIT(SESSION_BYTES_MAX);
    struct json *d = &p->manifests.doc;
    json_ref copy = json_copy(d, answer);

    (void)json_remove(d, json_get(d, copy, "metadata"), "managedFields");
    (void)json_remove(d, json_get(d, copy, "metadata"), "resourceVersion");
    json_write(d, copy, &after);
    return !after.failed && str_eq(buf_str(&after), buf_str(before));
}

static int patch_one(struct patch *p, const struct kind_info *k, const char *ns, const char *name)
{
    _cleanup_(buf_done_p) struct buf before = BUF_INIT(SESSION_BYTES_MAX);
    struct client_request q = {
        .verb = CLIENT_PATCH,
        .kind = k,
        .ns = k->is_namespaced ? ns : NULL,
        .name = name,
        .subresource = p->settings.subresource,
        .patch = p->type,
        .body = buf_str(&p->body),
    };
    json_ref answer;
    struct error err;

    if (read_version(p, &q, &before) != CLI_OK)
        return CLI_FAILED;
    deed_fill(&p->deed, &q);
    if (p->deed.dry == DEED_DRY_CLIENT)
        q.is_dry_run = true; /* only the server knows how to apply it: it is asked, and changes nothing */
    if (session_ask(&p->session, &q, &p->reply) < 0)
        return reply_complain(&p->reply, NULL, NULL);
    if (json_parse(&p->manifests.doc, buf_str(&p->reply.text), &answer, &err) < 0)
        return session_complain("the server's answer cannot be read: %s", err.msg);
    return deed_tell(&p->deed, k, &p->manifests.doc, answer,
                     is_unchanged(p, answer, &before) ? "patched (no change)" : "patched");
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
    const struct patch_settings *x = &p->settings;
    json_ref v = 0;
    int r = 0;

    if (x->patch_file)
        r = io_read_file(strcmp(x->patch_file, "-") == 0 ? "/dev/stdin" : x->patch_file, MANIFEST_BYTES_MAX,
                         &file, err);
    if (r == 0)
        r = yaml_or_json_parse(&p->manifests.doc, x->patch_file ? buf_str(&file) : str_of(x->patch), &v, err);
    if (r < 0)
        return error_wrap(err, "unable to parse the patch");
    json_write(&p->manifests.doc, v, &p->body);
    return buf_check(&p->body, "patch", err);
}

/* --- All of it --- */

static int patch_named(struct patch *p)
{
    int status = CLI_OK;

    for (size_t i = 0; i < p->resources.count; i++) {
        const struct resource *what = &p->resources.items[i];

        if (!what->name)
            return session_complain("resource(s) were provided, but no name was specified");
        if (patch_one(p, what->kind, p->session.ns, what->name) != CLI_OK)
            status = CLI_FAILED;
    }
    for (size_t i = 0; i < p->manifests.items.count; i++) {
        const struct manifest *m = &p->manifests.items.items[i];

        if (patch_one(p, m->kind, m->ns, m->name) != CLI_OK)
            status = CLI_FAILED;
    }
    return status;
}

static int patch_all(struct patch *p, int args, char **argv)
{
    const struct patch_settings *x = &p->settings;
    struct error err;
    int status;

    if (deed_init(&p->deed, &x->deed, &err) < 0 || read_type(p, &err) < 0 ||
        session_open(&x->session, &p->session, &err) < 0 ||
        resources_read(args, argv + 1, &p->resources, &err) < 0 ||
        (x->manifests.files.count && manifests_read(&x->manifests, &p->session, &p->manifests, &err) < 0) ||
        read_body(p, &err) < 0)
        return session_complain("%s", err.msg);
    status = patch_named(p);
    return manifests_complain(&p->manifests) == CLI_OK ? status : CLI_FAILED;
}

static int patch_run(int argc, char **argv)
{
    struct patch p = { .body = BUF_INIT(CLIENT_REQUEST_BYTES_MAX) };
    int args = 0, status = flags_parse(&cli_verb_patch, argc, argv, &p.settings, &args);

    if (status != CLI_OK)
        return status;
    if (args == 0 && p.settings.manifests.files.count == 0)
        return cli_fail_usage("patch: no object given: see 'berth help patch'");
    if (!p.settings.patch == !p.settings.patch_file)
        return cli_fail_usage("patch: give --patch or --patch-file: see 'berth help patch'");
    json_init(&p.manifests.doc, SESSION_BYTES_MAX);
    status = patch_all(&p, args, argv);
    buf_done(&p.body);
    reply_done(&p.reply);
    deed_done(&p.deed);
    manifests_done(&p.manifests);
    session_close(&p.session);
    return status;
}

static const struct flag patch_flags[] = {
    FLAG_SHORT(struct patch_settings, patch, 'p', "patch", "PATCH", "the change, in YAML or JSON"),
    FLAG(struct patch_settings, patch_file, "patch-file", "FILE",
         "a file with the change, - for standard input"),
    FLAG(struct patch_settings, type, "type", "TYPE", "strategic (the default), merge or json"),
    FLAG(struct patch_settings, subresource, "subresource", "NAME", "of that part: status"),
    MANIFEST_FLAGS(struct patch_settings, manifests),
    DEED_FLAGS(struct patch_settings, deed),
    SESSION_FLAGS(struct patch_settings, session),
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
