/* `berth create`: objects from manifests, or a namespace by its name. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/deed.h"
#include "cli/manifests.h"
#include "cli/resources.h"

struct create_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    struct deed_settings deed;
};

struct create {
    struct create_settings settings;
    struct session session;
    struct manifests manifests;
    struct deed deed;
    struct reply reply;
    struct progress progress;
};

static int create_one(struct create *c, const struct manifest *m)
{
    _cleanup_(buf_done_p) struct buf body = BUF_INIT(CLIENT_REQUEST_BYTES_MAX);
    struct client_request q = { .verb = CLIENT_CREATE, .kind = m->kind, .ns = m->ns };
    struct json *d = &c->manifests.doc;
    json_ref answer = m->object;
    struct error err;

    if (c->deed.dry != DEED_DRY_CLIENT) {
        json_write(d, m->object, &body);
        if (buf_check(&body, "manifest", &err) < 0)
            return session_complain("%s: %s", m->source, err.msg);
        q.body = buf_str(&body);
        deed_fill(&c->deed, &q);
        if (session_ask(&c->session, &q, &c->reply) < 0)
            return reply_complain(&c->reply, m->source[0] ? "creating" : NULL, m->source);
        if (json_parse(d, buf_str(&c->reply.text), &answer, &err) < 0)
            return session_complain("the server's answer cannot be read: %s", err.msg);
    }
    return deed_tell(&c->deed, m->kind, d, answer, "created");
}

/* `create namespace NAME`. */
static int make_namespace(struct create *c, int args, char **argv, struct error *err)
{
    struct json *d = &c->manifests.doc;
    const struct kind_info *k = resource_type(str_of(argv[1]));
    json_ref object = json_new_object(d), meta = json_new_object(d);

    if (!k || k->kind != KIND_NAMESPACE)
        return error_set(err, ERR_UNSUPPORTED,
                         "a %s cannot be made from flags: write it down and use -f, - for standard input",
                         argv[1]);
    if (args != 2)
        return error_set(err, ERR_INVALID, "exactly one NAME is required, got %d", args - 1);
    json_set_string(d, object, "apiVersion", "v1");
    json_set_string(d, object, "kind", "Namespace");
    json_set_string(d, meta, "name", argv[2]);
    json_set(d, object, "metadata", meta);
    if (vec_push(&c->manifests.items, (struct manifest){ k, object, "", argv[2], "" }) < 0)
        return error_no_memory(err);
    return json_check(d, err);
}

static int create_all(struct create *c, int args, char **argv)
{
    int status = CLI_OK;
    struct error err;

    if (deed_init(&c->deed, &c->settings.deed, &err) < 0 ||
        session_open(&c->settings.session, &c->session, &err) < 0 ||
        (args ? make_namespace(c, args, argv, &err)
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

static int create_run(int argc, char **argv)
{
    struct create c = { 0 };
    int args = 0, status = flags_parse(&cli_verb_create, argc, argv, &c.settings, &args);

    if (status != CLI_OK)
        return status;
    if ((args == 0) == (c.settings.manifests.files.count == 0))
        return cli_fail_usage("create: give -f FILE, or namespace NAME: see 'berth help create'");
    json_init(&c.manifests.doc, SESSION_BYTES_MAX);
    status = create_all(&c, args, argv);
    reply_done(&c.reply);
    deed_done(&c.deed);
    manifests_done(&c.manifests);
    session_close(&c.session);
    return status;
}

static const struct flag create_flags[] = {
    MANIFEST_FLAGS(struct create_settings, manifests),
    DEED_FLAGS(struct create_settings, deed),
    SESSION_FLAGS(struct create_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_create = {
    .name = "create",
    .usage = "create -f FILE | namespace NAME",
    .summary = "Create objects",
    .flags = create_flags,
    .examples = "  berth create -f claim.yaml             # what the file describes\n"
                "  berth create -f - < claim.yaml         # the same from standard input\n"
                "  berth create -f . -R --dry-run=server  # would the server take them?\n"
                "  berth create namespace shop            # a namespace\n",
    .args = "namespace",
    .run = create_run,
};
