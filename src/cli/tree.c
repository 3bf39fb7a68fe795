/* `berth tree`: prints classes, volumes, claims, pods and nodes as a tree. */
#include "cli/cli.h"

#include <string.h>

#include "cli/load.h"
#include "cli/print.h"
#include "cli/print_table.h"
#include "cli/resources.h"
#include "cli/tree_show.h"
#include "cli/why.h"
#include "io/env.h"
#include "why/relation_tree.h"

struct tree_settings {
    struct session_settings session;
    const char *output;
    bool is_everywhere;
    bool is_whole;
};

struct tree_verb {
    struct tree_settings settings;
    struct session session;
    struct inventory inventory;
    struct relation_tree tree;
    struct tree_selection what;
    bool is_json;
    int status;
};

/* class/NAME, pv/NAME, pvc/NAME: "class" is short for a storage class. */
static int read_root(struct tree_verb *tree, const char *argument)
{
    struct str name = str_of(argument), type = str_next(&name, '/');
    const struct kind_info *k = resource_type(type);

    if (!name.s || name.len == 0)
        return cli_fail_usage("tree: invalid object '%s': must be class/NAME, pv/NAME or pvc/NAME", argument);
    if (!k || (k->kind != KIND_CLASS && k->kind != KIND_VOLUME && k->kind != KIND_CLAIM))
        return cli_fail_usage("tree: specify a class, a volume or a claim, not a '%.*s'", STR_ARG(type));
    tree->what.kind = k->kind;
    tree->what.name = name.s;
    return CLI_OK;
}

static int read_settings(struct tree_verb *tree, int args, char **argv)
{
    const char *o = tree->settings.output;

    if (args > 1)
        return cli_fail_usage("tree: unexpected argument '%s': see 'berth help tree'", argv[2]);
    tree->is_json = o && strcmp(o, "json") == 0;
    if (o && !tree->is_json)
        return cli_fail_usage("tree: invalid --output '%s': must be json", o);
    return args ? read_root(tree, argv[1]) : CLI_OK;
}

static void load_objects(struct tree_verb *tree)
{
    static const enum kind kinds[] = { KIND_CLASS, KIND_VOLUME, KIND_CLAIM, KIND_POD, KIND_NODE };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (inventory_load(&tree->inventory, &tree->session, kinds[i], tree->what.ns) < 0)
            tree->status =
                reply_complain(&tree->session.reply, NULL, NULL); /* the other kinds are still shown */
}

static int show_tree(struct tree_verb *tree, struct error *err)
{
    _cleanup_(buf_done_p) struct buf out = BUF_INIT(SESSION_BYTES_MAX);
    struct tree_style how = { .is_ascii = !io_is_utf8(),
                              .is_whole = tree->settings.is_whole,
                              .paint = table_paint() };
    struct explainer *explainer = NULL;
    struct causes causes = { .find = explainer_find_cause };
    _cleanup_(json_done_p) struct json d = { 0 };
    int r = inventory_tie(&tree->inventory, err);

    if (r == 0)
        r = explainer_new(&tree->session, tree->what.ns, &explainer, err);
    causes.ctx = explainer;
    tree->what.causes = inventory_is_explicable(&tree->inventory) ? &causes : NULL;
    tree->what.is_whole = tree->settings.is_whole;
    if (r == 0)
        r = relation_tree_build(&tree->inventory, &tree->what, &tree->tree, err);
    tree->what.causes = NULL;
    explainer = explainer_free(explainer);
    json_init(&d, SESSION_BYTES_MAX);
    if (r == 0 && tree->is_json) {
        r = print_json_checked(&d, relation_tree_as_json(&tree->tree, &d), &out, err);
    } else if (r == 0) {
        tree_show(&tree->tree, &how, &out);
        r = buf_check(&out, "output", err);
    }
    if (r == 0)
        print_out(&out);
    return r;
}

static int run_tree(struct tree_verb *tree)
{
    struct error err;

    if (session_open(&tree->settings.session, &tree->session, &err) < 0)
        return session_complain("%s", err.msg);
    /* Volumes and classes have no namespace; a claim has one. */
    if (!tree->settings.is_everywhere &&
        (!tree->what.name || tree->what.kind == KIND_CLAIM || tree->session.was_ns_given))
        tree->what.ns = tree->session.ns;
    load_objects(tree);
    if (show_tree(tree, &err) < 0)
        return session_complain("%s", err.msg);
    return tree->status;
}

static int tree_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct tree_verb x = { .tree = TREE_INIT };
    int args = 0, status = flags_parse(verb, argc, argv, &x.settings, &args);

    if (status == CLI_OK)
        status = read_settings(&x, args, argv);
    if (status != CLI_OK)
        return status;
    status = run_tree(&x);
    relation_tree_done(&x.tree);
    inventory_done(&x.inventory);
    session_close(&x.session);
    return status;
}

static const struct flag tree_flags[] = {
    FLAG_SHORT_ON(struct tree_settings, is_everywhere, 'A', "all-namespaces", "claims of all namespaces"),
    FLAG_ON(struct tree_settings, is_whole, "all", "list every object, without grouping"),
    FLAG_SHORT(struct tree_settings, output, 'o', "output", "FORM", "json"),
    SESSION_FLAGS(struct tree_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_tree = {
    .name = "tree",
    .group = CLI_ANSWERS,
    .usage = "tree [class/NAME | pv/NAME | pvc/NAME]",
    .summary = "Show how classes, volumes, claims, pods and nodes are related",
    .flags = tree_flags,
    .examples = "  berth tree -A                # all namespaces\n  berth tree class/fast        # one "
                "class\n  berth tree pvc/data -n shop  # one claim, its volume and its pods\n",
    .args = "TYPE/NAME class pv pvc",
    .run = tree_run,
};
