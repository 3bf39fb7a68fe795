/* `berth describe`: objects in words, with what belongs to them and what happened. */
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

#include "api/object.h"
#include "api/yaml.h"
#include "cli/cli.h"
#include "cli/manifests.h"
#include "cli/print.h"
#include "cli/resources.h"

struct describe_settings {
    struct session_settings session;
    struct manifest_settings manifests;
    const char *labels;
    bool is_everywhere;
};

struct description {
    struct describe_settings settings;
    struct session session;
    struct resources resources;
    struct manifests manifests;
    struct reply reply;
    struct json doc;
    size_t shown;
    int status;
};

/* --- Kinds without words of their own --- */

/* The rest of the object, as YAML. */
static void add_body(struct describe *x)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX);
    json_ref body = json_copy(&x->doc, x->object);
    struct error ignored;

    (void)json_remove(&x->doc, body, "apiVersion");
    (void)json_remove(&x->doc, body, "kind");
    (void)json_remove(&x->doc, body, "metadata");
    yaml_sort(&x->doc, body);
    if (!json_first(&x->doc, body) || yaml_write(&x->doc, body, &text, &ignored) < 0)
        return;
    columns_add_text(&x->out, buf_str(&text));
}

/* What is secret is not shown: how long it is must do. */
static void add_sizes(struct describe *x)
{
    json_ref data = json_get(&x->doc, x->object, "data");

    describe_member(x, "Type:", x->object, "type", "");
    describe_line(x, "Data:");
    for (json_ref m = json_first(&x->doc, data); m; m = json_next(&x->doc, m)) {
        size_t len = json_text(&x->doc, m).len, padding = 0;

        while (padding < 2 && padding < len && json_text(&x->doc, m).s[len - 1 - padding] == '=')
            padding++;
        buf_add_cstr(&x->out.text, "  ");
        columns_add_cell(&x->out, json_key(&x->doc, m));
        describe_line(x, ":\t%zu bytes", len / 4 * 3 - padding);
    }
}

void describe_generic(struct describe *x)
{
    _cleanup_(buf_done_p) struct buf version = BUF_INIT(256);

    kind_api_version(x->kind, &version);
    describe_text(x, "Name:", json_text(&x->doc, describe_meta(x, "name")));
    if (x->kind->is_namespaced)
        describe_text(x, "Namespace:", json_text(&x->doc, describe_meta(x, "namespace")));
    describe_labels(x, "Labels:", describe_meta(x, "labels"));
    describe_annotations(x, describe_meta(x, "annotations"));
    describe_text(x, "API Version:", buf_str(&version));
    describe_cstr(x, "Kind:", x->kind->name);
    describe_time(x, "Created:", describe_meta(x, "creationTimestamp"));
    if (x->kind->kind == KIND_SECRET)
        add_sizes(x);
    else
        add_body(x);
    describe_events(x);
}

/* --- One object --- */

static const struct {
    enum kind kind;
    void (*describe)(struct describe *x);
} describers[] = {
    { KIND_VOLUME, describe_volume }, { KIND_CLAIM, describe_claim }, { KIND_CLASS, describe_class },
    { KIND_POD, describe_pod },       { KIND_NODE, describe_node },
};

static void describe_kind(struct describe *x)
{
    for (size_t i = 0; i < ARRAY_LEN(describers); i++)
        if (describers[i].kind == x->kind->kind) {
            describers[i].describe(x);
            return;
        }
    describe_generic(x);
}

static void describe_text_of(struct description *y, const struct kind_info *k, struct str text)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct describe x = { .session = &y->session,
                          .kind = k,
                          .now = timestamp_of_ns(clock_real_ns(y->session.clock)),
                          .reply = &y->reply };
    struct error err;
    int r;

    json_init(&x.doc, SESSION_BYTES_MAX);
    columns_init_text(&x.out);
    r = json_parse(&x.doc, text, &x.object, &err);
    if (r == 0) {
        print_sort(&x.doc, json_get(&x.doc, x.object, "metadata"));
        describe_kind(&x);
        r = columns_flush(&x.out, &out, &err);
    }
    if (r < 0) {
        y->status = session_complain("%s", err.msg);
    } else {
        printf("%s", y->shown++ ? "\n\n" : "");
        print_out(&out);
    }
    columns_done(&x.out);
    json_done(&x.doc);
}

static void describe_one(struct description *y, const struct kind_info *k, const char *ns, const char *name)
{
    struct client_request q = {
        .verb = CLIENT_GET, .kind = k, .ns = k->is_namespaced ? ns : NULL, .name = name
    };
    struct buf text;

    if (session_ask(&y->session, &q, &y->reply) < 0) {
        y->status = reply_complain(&y->reply, NULL, NULL);
        return;
    }
    text = y->reply.text; /* the reply is used again for what belongs to the object */
    y->reply.text = BUF_INIT(SESSION_BYTES_MAX);
    describe_text_of(y, k, buf_str(&text));
    buf_done(&text);
}

/* --- Many --- */

static void describe_all(struct description *y, const struct kind_info *k)
{
    struct client_request q = {
        .verb = CLIENT_LIST,
        .kind = k,
        .ns = y->settings.is_everywhere || !k->is_namespaced ? NULL : y->session.ns,
        .label_selector = y->settings.labels,
    };
    struct error err;
    json_ref list;

    if (session_ask(&y->session, &q, &y->reply) < 0) {
        y->status = reply_complain(&y->reply, NULL, NULL);
        return;
    }
    json_clear(&y->doc);
    if (json_parse(&y->doc, buf_str(&y->reply.text), &list, &err) < 0) {
        y->status = session_complain("the server's answer cannot be read: %s", err.msg);
        return;
    }
    for (json_ref o = json_first(&y->doc, json_get(&y->doc, list, "items")); o; o = json_next(&y->doc, o)) {
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX);

        json_write(&y->doc, o, &text);
        describe_text_of(y, k, buf_str(&text));
    }
}

static void describe_named(struct description *y)
{
    for (size_t i = 0; i < y->resources.count; i++)
        if (y->resources.items[i].name)
            describe_one(y, y->resources.items[i].kind, y->session.ns, y->resources.items[i].name);
        else
            describe_all(y, y->resources.items[i].kind);
    for (size_t i = 0; i < y->manifests.items.count; i++) {
        const struct manifest *m = &y->manifests.items.items[i];

        describe_one(y, m->kind, m->ns, m->name);
    }
    if (y->shown == 0 && y->status == CLI_OK) {
        const struct kind_info *k = y->resources.count ? y->resources.items[0].kind : NULL;

        if (k && k->is_namespaced && !y->settings.is_everywhere)
            (void)fprintf(stderr, "No resources found in %s namespace.\n", y->session.ns);
        else
            (void)fprintf(stderr, "No resources found\n");
    }
}

static int describe_open(struct description *y, int args, char **argv)
{
    const struct describe_settings *s = &y->settings;
    struct error err;

    if (session_open(&s->session, &y->session, &err) < 0 ||
        resources_read(args, argv + 1, &y->resources, &err) < 0 ||
        (s->manifests.files.count && manifests_read(&s->manifests, &y->session, &y->manifests, &err) < 0) ||
        manifests_check_kinds(&y->manifests, &err) < 0)
        return session_complain("%s", err.msg);
    if (y->resources.has_names && s->labels)
        return session_complain("name cannot be provided when a selector is specified");
    if (y->resources.has_names && s->is_everywhere)
        return session_complain("a resource cannot be retrieved by name across all namespaces");
    return CLI_OK;
}

static int describe_run(int argc, char **argv)
{
    struct description y = { 0 };
    int args = 0, status = flags_parse(&cli_verb_describe, argc, argv, &y.settings, &args);

    if (status != CLI_OK)
        return status;
    if (args == 0 && y.settings.manifests.files.count == 0)
        return cli_fail_usage("describe: no type of resource given: see 'berth help describe'");
    json_init(&y.doc, SESSION_BYTES_MAX);
    json_init(&y.manifests.doc, SESSION_BYTES_MAX);
    status = describe_open(&y, args, argv);
    if (status == CLI_OK) {
        describe_named(&y);
        status = y.status;
    }
    json_done(&y.doc);
    reply_done(&y.reply);
    manifests_done(&y.manifests);
    session_close(&y.session);
    return status;
}

static const struct flag describe_flags[] = {
    FLAG_SHORT(struct describe_settings, labels, 'l', "selector", "SELECTOR", "those with these labels"),
    FLAG_SHORT_ON(struct describe_settings, is_everywhere, 'A', "all-namespaces", "of every namespace"),
    MANIFEST_FLAGS(struct describe_settings, manifests),
    SESSION_FLAGS(struct describe_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_describe = {
    .name = "describe",
    .usage = "describe TYPE [NAME...] | TYPE/NAME... | TYPE -l SELECTOR | -f FILE",
    .summary = "Show objects in words, with what happened to them",
    .flags = describe_flags,
    .examples = "  berth describe pvc data         # one claim, who uses it, its events\n"
                "  berth describe pv -l tier=gold  # volumes with that label\n",
    .args = "TYPE",
    .run = describe_run,
};
