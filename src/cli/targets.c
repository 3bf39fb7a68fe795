/* Resolves the objects that a verb works on: names from arguments and manifests, or lists by selector. */
#include "cli/targets.h"

#include "cli/cli.h"

void targets_init(struct targets *t, const struct target_settings *settings)
{
    t->settings = settings;
    t->arena = ARENA_INIT(SESSION_BYTES_MAX);
    json_init(&t->doc, SESSION_BYTES_MAX);
    json_init(&t->manifests.doc, SESSION_BYTES_MAX);
}

void targets_done(struct targets *t)
{
    arena_done(&t->arena);
    json_done(&t->doc);
    manifests_done(&t->manifests);
    session_close(&t->session);
}

int targets_open(struct targets *t, int args, char **argv, struct error *err)
{
    const struct target_settings *s = t->settings;
    int r = session_open(&s->session, &t->session, err);

    if (r == 0)
        r = resources_read(args, argv, &t->resources, err);
    if (r == 0 && s->manifests.files.count)
        r = manifests_read(&s->manifests, &t->session, &t->manifests, err);
    return r;
}

int targets_check(const struct targets *t, bool may_be_all)
{
    bool selects = t->settings->labels || t->settings->fields || t->settings->is_all;

    if (t->resources.has_names && selects)
        return session_complain("name cannot be provided when a selector is specified");
    if (t->resources.count && !t->resources.has_names && !selects && !may_be_all)
        return session_complain("resource(s) were provided, but no name was specified");
    return CLI_OK;
}

/* Collects all of them before the first call: fn may reuse the document. */
static int list_targets(struct targets *t, const struct kind_info *k, target_fn *fn, void *ctx)
{
    _cleanup_(vec_done_p) VEC(struct target) found = { 0 };
    struct client_request q = {
        .verb = CLIENT_LIST,
        .kind = k,
        .ns = t->settings->is_everywhere || !k->is_namespaced ? NULL : t->session.ns,
        .label_selector = t->settings->labels,
        .field_selector = t->settings->fields,
    };
    json_ref v;

    json_clear(&t->doc);
    if (session_ask(&t->session, &q) == -ERR_NOT_FOUND && t->ignores_not_found)
        return CLI_OK;
    if (reply_parse(&t->session.reply, &t->doc, &v) != CLI_OK)
        return CLI_FAILED;
    for (json_ref o = json_first(&t->doc, json_get(&t->doc, v, "items")); o; o = json_next(&t->doc, o)) {
        json_ref meta = json_get(&t->doc, o, "metadata");
        struct target one = { .kind = k,
                              .ns = arena_dup(&t->arena, json_get_text(&t->doc, meta, "namespace")),
                              .name = arena_dup(&t->arena, json_get_text(&t->doc, meta, "name")),
                              .uid = arena_dup(&t->arena, json_get_text(&t->doc, meta, "uid")),
                              .object = o };

        if (!one.ns || !one.name || !one.uid || vec_push(&found, one) < 0)
            return session_complain("out of memory");
    }
    for (size_t i = 0; i < found.count; i++)
        fn(ctx, &found.items[i]);
    return CLI_OK;
}

void targets_each(struct targets *t, target_fn *fn, void *ctx)
{
    for (size_t i = 0; i < t->resources.count; i++) {
        const struct cli_resource *what = &t->resources.items[i];

        if (what->name)
            fn(ctx, &(struct target){ .kind = what->kind, .ns = t->session.ns, .name = what->name });
        else if (list_targets(t, what->kind, fn, ctx) != CLI_OK)
            t->failures++;
    }
    for (size_t i = 0; i < t->manifests.items.count; i++) {
        const struct manifest *m = &t->manifests.items.items[i];

        fn(ctx, &(struct target){ .kind = m->kind, .ns = m->ns, .name = m->name, .source = m->source });
    }
}
