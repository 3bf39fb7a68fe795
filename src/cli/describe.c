/* `berth describe`: prints objects in detail, with related objects and events. */
#include "cli/describe.h"

#include <stdio.h>

#include "api/object.h"
#include "api/yaml.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "cli/targets.h"

struct description {
    struct target_settings settings;
    struct targets targets;
    size_t shown;
    int status;
};

/* --- Kinds without their own layout --- */

/* The rest of the object, as YAML. */
static void add_body(struct describe *page)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX);
    json_ref body = json_copy(&page->doc, page->object);
    struct error ignored;

    (void)json_remove(&page->doc, body, "apiVersion");
    (void)json_remove(&page->doc, body, "kind");
    (void)json_remove(&page->doc, body, "metadata");
    yaml_sort(&page->doc, body);
    if (!json_first(&page->doc, body) || yaml_write(&page->doc, body, &text, &ignored) < 0)
        return;
    columns_add_text(&page->out, buf_str(&text));
}

/* Secret values are not shown, only their length. */
static void add_sizes(struct describe *page)
{
    json_ref data = json_get(&page->doc, page->object, "data");

    describe_member(page, "Type:", page->object, "type", "");
    describe_line(page, "Data:");
    for (json_ref m = json_first(&page->doc, data); m; m = json_next(&page->doc, m)) {
        size_t len = json_text(&page->doc, m).len, padding = 0;

        while (padding < 2 && padding < len && json_text(&page->doc, m).s[len - 1 - padding] == '=')
            padding++;
        columns_put(&page->out, "  %", json_key(&page->doc, m));
        describe_line(page, ":\t%zu bytes", len / 4 * 3 - padding);
    }
}

void describe_object(struct describe *page)
{
    _cleanup_(buf_done_p) struct buf version = BUF_INIT(256);

    kind_api_version(page->kind, &version);
    describe_text(page, "Name:", json_text(&page->doc, describe_meta(page, "name")));
    if (page->kind->is_namespaced)
        describe_text(page, "Namespace:", json_text(&page->doc, describe_meta(page, "namespace")));
    describe_labels(page, "Labels:", describe_meta(page, "labels"));
    describe_annotations(page, describe_meta(page, "annotations"));
    describe_text(page, "API Version:", buf_str(&version));
    describe_cstr(page, "Kind:", page->kind->name);
    describe_time(page, "Created:", describe_meta(page, "creationTimestamp"));
    if (page->kind->kind == KIND_SECRET)
        add_sizes(page);
    else
        add_body(page);
}

void describe_generic(struct describe *page)
{
    describe_object(page);
    describe_events(page);
}

/* --- One object --- */

static const struct {
    enum kind kind;
    void (*describe)(struct describe *page);
} describers[] = {
    { KIND_VOLUME, describe_volume }, { KIND_CLAIM, describe_claim }, { KIND_CLASS, describe_class },
    { KIND_POD, describe_pod },       { KIND_NODE, describe_node },   { KIND_CSI_DRIVER, describe_driver },
};

static void describe_text_of(struct description *y, const struct kind_info *k, struct str text)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct session *s = &y->targets.session;
    struct describe x = { .session = s, .kind = k, .now = timestamp_of_ns(clock_real_ns(s->clock)) };
    void (*describe)(struct describe * x) = describe_generic;
    struct error err;
    int r;

    for (size_t i = 0; i < ARRAY_LEN(describers); i++)
        if (describers[i].kind == k->kind)
            describe = describers[i].describe;
    json_init(&x.doc, SESSION_BYTES_MAX);
    columns_init_text(&x.out);
    r = json_parse(&x.doc, text, &x.object, &err);
    if (r == 0) {
        print_sort(&x.doc, json_get(&x.doc, x.object, "metadata"));
        describe(&x);
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

static void describe_target(void *ctx, const struct target *what)
{
    struct description *y = ctx;
    struct targets *t = &y->targets;
    struct client_request q = { .verb = CLIENT_GET,
                                .kind = what->kind,
                                .ns = what->kind->is_namespaced ? what->ns : NULL,
                                .name = what->name };
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SESSION_BYTES_MAX);

    if (what->object) {
        json_write(&t->doc, what->object, &text);
    } else if (session_ask(&t->session, &q) < 0) {
        y->status = reply_complain(&t->session.reply, NULL, NULL);
        return;
    } else { /* the reply is reused for related objects */
        text = t->session.reply.text;
        t->session.reply.text = BUF_INIT(SESSION_BYTES_MAX);
    }
    describe_text_of(y, what->kind, buf_str(&text));
}

static void describe_all(struct description *y)
{
    struct targets *t = &y->targets;

    targets_each(t, describe_target, y);
    if (t->failures)
        y->status = CLI_FAILED;
    if (y->shown || y->status != CLI_OK)
        return;
    session_say_nothing_found(&t->session, t->resources.count == 0 || t->settings->is_everywhere ||
                                               !t->resources.items[0].kind->is_namespaced);
}

static int describe_open(struct description *y, int args, char **argv)
{
    struct targets *t = &y->targets;
    struct error err;

    if (targets_open(t, args, argv + 1, &err) < 0 || manifests_check_kinds(&t->manifests, &err) < 0)
        return session_complain("%s", err.msg);
    if (targets_check(t, /* may_be_all= */ true) != CLI_OK)
        return CLI_FAILED;
    if (t->resources.has_names && t->settings->is_everywhere)
        return session_complain("a resource cannot be retrieved by name across all namespaces");
    return CLI_OK;
}

static int describe_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct description y = { 0 };
    int args = 0, status = flags_parse(verb, argc, argv, &y.settings, &args);

    if (status != CLI_OK)
        return status;
    if (args == 0 && y.settings.manifests.files.count == 0)
        return cli_fail_usage("describe: no resource type given: see 'berth help describe'");
    targets_init(&y.targets, &y.settings);
    status = describe_open(&y, args, argv);
    if (status == CLI_OK) {
        describe_all(&y);
        status = y.status;
    }
    targets_done(&y.targets);
    return status;
}

static const struct flag describe_flags[] = {
    FLAG_SHORT(struct target_settings, labels, 'l', "selector", "SELECTOR", "only objects with these labels"),
    FLAG_SHORT_ON(struct target_settings, is_everywhere, 'A', "all-namespaces", "all namespaces"),
    MANIFEST_FLAGS(struct target_settings, manifests),
    SESSION_FLAGS(struct target_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_describe = {
    .name = "describe",
    .usage = "describe TYPE [NAME...] | TYPE/NAME... | TYPE -l SELECTOR | -f FILE",
    .summary = "Show objects in detail, with their events",
    .flags = describe_flags,
    .examples = "  berth describe pvc data         # one claim, the pods that use it, its events\n  berth "
                "describe pv -l tier=gold  # volumes with that label\n  berth describe csidriver NAME   # "
                "with the state "
                "of its controllers, leases and nodes\n",
    .args = "TYPE",
    .run = describe_run,
};
