/* `berth tree`: classes, their volumes, the claims that have them, their pods and nodes, as a tree. */
#include "cli/cli.h"

#include <string.h>

#include "cli/load.h"
#include "cli/print.h"
#include "cli/print_table.h"
#include "cli/resources.h"
#include "cli/tree_show.h"
#include "cli/why.h"
#include "io/env.h"
#include "why/tree.h"

struct tree_settings {
    struct session_settings session;
    const char *output;
    bool is_everywhere;
    bool is_whole;
};

struct tree_verb {
    struct tree_settings settings;
    struct session session;
    struct reply reply;
    struct inventory inventory;
    struct tree tree;
    struct tree_selection what;
    bool is_json;
    int status;
};

/* class/NAME, pv/NAME, pvc/NAME: "class" is short for what the API calls a storage class. */
static int read_root(struct tree_verb *x, const char *argument)
{
    struct str name = str_of(argument), type = str_next(&name, '/');
    const struct kind_info *k = resource_type(type);

    if (!name.s || name.len == 0)
        return cli_fail_usage("tree: '%s' is not class/NAME, pv/NAME or pvc/NAME", argument);
    if (!k || (k->kind != KIND_CLASS && k->kind != KIND_VOLUME && k->kind != KIND_CLAIM))
        return cli_fail_usage("tree: name a class, a volume or a claim, not a '%.*s'", STR_ARG(type));
    x->what.kind = k->kind;
    x->what.name = name.s;
    return CLI_OK;
}

static int read_settings(struct tree_verb *x, int args, char **argv)
{
    const char *o = x->settings.output;

    if (args > 1)
        return cli_fail_usage("tree: unexpected argument '%s': see 'berth help tree'", argv[2]);
    x->is_json = o && strcmp(o, "json") == 0;
    if (o && !x->is_json)
        return cli_fail_usage("tree: --output is '%s', and not json", o);
    return args ? read_root(x, argv[1]) : CLI_OK;
}

static void load(struct tree_verb *x)
{
    static const enum kind kinds[] = { KIND_CLASS, KIND_VOLUME, KIND_CLAIM, KIND_POD, KIND_NODE };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (inventory_load(&x->inventory, &x->session, kinds[i], x->what.ns, &x->reply) < 0)
            x->status = reply_complain(&x->reply, NULL, NULL); /* and the rest is shown */
}

static int show(struct tree_verb *x, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct tree_look how = { .is_ascii = !io_is_utf8(),
                             .is_whole = x->settings.is_whole,
                             .paint = table_paint() };
    struct explainer *explainer = NULL;
    struct causes causes = { .find = explainer_find_cause };
    _cleanup_(json_done_p) struct json d = { 0 };
    int r = inventory_tie(&x->inventory, err);

    if (r == 0)
        r = explainer_new(&x->session, x->what.ns, &explainer, err);
    causes.ctx = explainer;
    x->what.causes = inventory_is_explicable(&x->inventory) ? &causes : NULL;
    x->what.is_whole = x->settings.is_whole;
    if (r == 0)
        r = tree_build(&x->inventory, &x->what, &x->tree, err);
    x->what.causes = NULL;
    explainer = explainer_free(explainer);
    json_init(&d, SESSION_BYTES_MAX);
    if (r == 0 && x->is_json) {
        r = print_json_checked(&d, tree_as_json(&x->tree, &d), &out, err);
    } else if (r == 0) {
        tree_show(&x->tree, &how, &out);
        r = buf_check(&out, "output", err);
    }
    if (r == 0)
        print_out(&out);
    return r;
}

static int look(struct tree_verb *x)
{
    struct error err;

    if (session_open(&x->settings.session, &x->session, &err) < 0)
        return session_complain("%s", err.msg);
    /* A volume or class is everybody's; a claim has a namespace. */
    if (!x->settings.is_everywhere &&
        (!x->what.name || x->what.kind == KIND_CLAIM || x->session.was_ns_given))
        x->what.ns = x->session.ns;
    load(x);
    if (show(x, &err) < 0)
        return session_complain("%s", err.msg);
    return x->status;
}

static int tree_run(int argc, char **argv)
{
    struct tree_verb x = { .tree = TREE_INIT };
    int args = 0, status = flags_parse(&cli_verb_tree, argc, argv, &x.settings, &args);

    if (status == CLI_OK)
        status = read_settings(&x, args, argv);
    if (status != CLI_OK)
        return status;
    status = look(&x);
    tree_done(&x.tree);
    inventory_done(&x.inventory);
    reply_done(&x.reply);
    session_close(&x.session);
    return status;
}

static const struct flag tree_flags[] = {
    FLAG_SHORT_ON(struct tree_settings, is_everywhere, 'A', "all-namespaces", "claims of every namespace"),
    FLAG_ON(struct tree_settings, is_whole, "all", "one by one, however many there are of a kind"),
    FLAG_SHORT(struct tree_settings, output, 'o', "output", "FORM", "json"),
    SESSION_FLAGS(struct tree_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_tree = {
    .name = "tree",
    .group = CLI_ANSWERS,
    .usage = "tree [class/NAME | pv/NAME | pvc/NAME]",
    .summary = "Show what belongs to what: classes, volumes, claims, pods, nodes",
    .flags = tree_flags,
    .examples = "  berth tree -A                # of all namespaces\n"
                "  berth tree class/fast        # one class\n"
                "  berth tree pvc/data -n shop  # one claim: where it is and who uses it\n",
    .args = "TYPE/NAME class pv pvc",
    .run = tree_run,
};
