/* `berth create`: creates objects from manifests, a namespace by name, or a claim by size. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/change_result.h"
#include "cli/hint.h"
#include "cli/manifests.h"
#include "cli/resources.h"

struct create_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    struct change_result_settings result;
    const char *size;
    const char *class;
    const char *access_mode;
    const char *volume;
};

struct create {
    struct create_settings settings;
    struct session session;
    struct manifests manifests;
    struct change_result result;
    struct progress_bar progress;
};

static int create_one(struct create *c, const struct manifest *m)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(CLIENT_REQUEST_BYTES_MAX);
    struct client_request q = { .verb = CLIENT_CREATE, .kind = m->kind, .ns = m->ns };
    struct json *d = &c->manifests.doc;
    json_ref answer = m->object;
    struct error err;

    if (c->result.dry != CHANGE_DRY_CLIENT) {
        json_write(d, m->object, &body);
        if (buf_check(&body, "manifest", &err) < 0)
            return session_complain("%s: %s", m->source, err.msg);
        q.body = buf_str(&body);
        change_result_fill(&c->result, &q);
        if (session_ask(&c->session, &q) < 0) {
            (void)reply_complain(&c->session.reply, m->source[0] ? "creating" : NULL, m->source);
            hint_refusal(&c->session.reply, m, d);
            return CLI_FAILED;
        }
        if (reply_parse(&c->session.reply, d, &answer) != CLI_OK)
            return CLI_FAILED;
    }
    return change_result_print(&c->result, m->kind, d, answer, "created");
}

/* Fills in a claim from the flags. Access modes may be abbreviated: RWO. */
static int fill_claim(struct create *c, json_ref object, struct error *err)
{
    static const char *const modes[][2] = { { "RWO", "ReadWriteOnce" },
                                            { "ROX", "ReadOnlyMany" },
                                            { "RWX", "ReadWriteMany" },
                                            { "RWOP", "ReadWriteOncePod" } };
    const struct create_settings *settings = &c->settings;
    const char *mode = settings->access_mode ? settings->access_mode : "ReadWriteOnce";
    struct json *d = &c->manifests.doc;
    json_ref spec = json_ensure_object(d, object, "spec"), list = json_new_array(d);

    if (!settings->size)
        return error_set(err, ERR_INVALID, "a claim requires a size: --size 1Gi");
    for (size_t i = 0; i < ARRAY_LEN(modes); i++)
        if (strcmp(mode, modes[i][0]) == 0)
            mode = modes[i][1];
    json_append(d, list, json_new_string(d, str_of(mode)));
    json_set(d, spec, "accessModes", list);
    json_set_string(d, json_ensure_object(d, json_ensure_object(d, spec, "resources"), "requests"), "storage",
                    settings->size);
    if (settings->class)
        json_set_string(d, spec, "storageClassName", settings->class);
    if (settings->volume)
        json_set_string(d, spec, "volumeName", settings->volume);
    return 0;
}

/* `create namespace NAME`, `create pvc NAME --size 1Gi`. */
static int make_from_flags(struct create *c, int args, char **argv, struct error *err)
{
    struct json *d = &c->manifests.doc;
    const struct kind_info *k = resource_type(str_of(argv[1]));
    json_ref object = json_new_object(d), meta = json_new_object(d);
    struct manifest item;
    int r = 0;

    if (args != 2)
        return error_set(err, ERR_INVALID, "exactly one NAME is required, got %d", args - 1);
    json_set_string(d, object, "apiVersion", "v1");
    json_set_string(d, object, "kind", k->name);
    json_set_string(d, meta, "name", argv[2]);
    if (k->is_namespaced)
        json_set_string(d, meta, "namespace", c->session.ns);
    json_set(d, object, "metadata", meta);
    if (k->kind == KIND_CLAIM)
        r = fill_claim(c, object, err);
    item = (struct manifest){ k, object, "", argv[2], k->is_namespaced ? c->session.ns : "" };
    if (r == 0 && vec_push(&c->manifests.items, item) < 0)
        return error_no_memory(err);
    return r < 0 ? r : json_check(d, err);
}

static int create_all(struct create *c, int args, char **argv)
{
    int status = CLI_OK;
    struct error err;

    if (change_result_init(&c->result, &c->settings.result, &err) < 0 ||
        session_open(&c->settings.session, &c->session, &err) < 0 ||
        (args ? make_from_flags(c, args, argv, &err)
              : manifests_read(&c->settings.manifests, &c->session, &c->manifests, &err)) < 0)
        return session_complain("%s", err.msg);
    manifests_progress_begin(&c->progress, &c->session, "create");
    for (size_t i = 0; i < c->manifests.items.count; i++) {
        progress_set(&c->progress, i, c->manifests.items.count);
        if (create_one(c, &c->manifests.items.items[i]) != CLI_OK)
            status = CLI_FAILED;
    }
    progress_end(&c->progress, status == CLI_OK);
    return manifests_complain(&c->manifests) == CLI_OK ? status : CLI_FAILED;
}

/* Called before the flags are parsed: an error about a flag of kubectl's `create configmap` would be less
 * helpful. */
static int check_type(const char *type)
{
    const struct kind_info *k = resource_type(str_of(type));

    if (manifest_is_file_name(type))
        return cli_fail_usage("create: unexpected argument '%s': did you mean -f %s?", type, type);
    if (!k || (k->kind != KIND_NAMESPACE && k->kind != KIND_CLAIM))
        return session_complain("cannot create a %s from flags: use -f FILE, or -f - for standard input",
                                type);
    return CLI_OK;
}

static int create_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct create c = { 0 };
    int args = 0, status = argc > 1 && argv[1][0] != '-' ? check_type(argv[1]) : CLI_OK;

    if (status == CLI_OK)
        status = flags_parse(verb, argc, argv, &c.settings, &args);
    if (status == CLI_OK && args && argv[1][0] != '-')
        status = check_type(argv[1]);
    if (status != CLI_OK)
        return status;
    if ((args == 0) == (c.settings.manifests.files.count == 0))
        return cli_fail_usage(
            "create: specify -f FILE, namespace NAME or pvc NAME --size 1Gi: see 'berth help create'");
    json_init(&c.manifests.doc, SESSION_BYTES_MAX);
    status = create_all(&c, args, argv);
    print_done(&c.result.print);
    manifests_done(&c.manifests);
    session_close(&c.session);
    return status;
}

#define CLAIM_GROUP "Claims"

static const struct flag create_flags[] = {
    MANIFEST_FLAGS(struct create_settings, manifests),
    CHANGE_FLAGS(struct create_settings, result),
    FLAG_IN(CLAIM_GROUP, struct create_settings, size, "size", "SIZE", "requested size: 1Gi"),
    FLAG_IN(CLAIM_GROUP, struct create_settings, class, "class", "NAME",
            "storage class; default: the cluster's default class, \"\" for none"),
    FLAG_IN(CLAIM_GROUP, struct create_settings, access_mode, "access-mode", "MODE",
            "RWO (the default), ROX, RWX or RWOP"),
    FLAG_IN(CLAIM_GROUP, struct create_settings, volume, "volume", "NAME", "bind to this volume"),
    SESSION_FLAGS(struct create_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_create = {
    .name = "create",
    .usage = "create -f FILE | namespace NAME | pvc NAME --size SIZE",
    .summary = "Create objects",
    .flags = create_flags,
    .examples = "  berth create -f claim.yaml             # from a file\n  berth create -f - < claim.yaml    "
                "     # from standard input\n  berth create -f . -R --dry-run=server  # would the server "
                "accept them?\n  berth create namespace shop            # a namespace\n  berth create pvc "
                "data --size 1Gi       # a claim of the default class\n",
    .args = "namespace pvc",
    .run = create_run,
};
