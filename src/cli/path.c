/* `berth path`: where a claim's files are on the node that has it mounted. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/load.h"
#include "cli/print.h"
#include "cli/resources.h"
#include "cli/session.h"

struct path_settings {
    struct session_settings session;
};

struct search {
    struct path_settings settings;
    struct session session;
    struct resources resources;
    struct reply reply;
    struct inventory inventory;
    struct usages usages;
    const char *ns;
    const char *claim;
};

static int load(struct search *x, struct error *err)
{
    static const enum kind kinds[] = { KIND_CLAIM, KIND_POD, KIND_NODE };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (inventory_load(&x->inventory, &x->session, kinds[i], kinds[i] == KIND_NODE ? NULL : x->ns,
                           &x->reply) < 0)
            return error_set(err, ERR_UNAVAILABLE, "%s", buf_cstr(&x->reply.text));
    if (inventory_tie(&x->inventory, err) < 0)
        return -(int)err->code;
    return usages_load(&x->usages, &x->session, &x->inventory, &x->reply, err);
}

/* Why there is no path to print. */
static int complain(struct search *x)
{
    const struct object *o = inventory_find(&x->inventory, KIND_CLAIM, x->ns, x->claim);
    const struct claim_user *users;
    size_t count = 0;

    if (!o)
        return session_complain("there is no claim '%s' in namespace %s", x->claim, x->ns);
    users = inventory_users(&x->inventory, claim_of(o), &count);
    if (count == 0)
        return session_complain("claim %s is not mounted: no pod uses it", x->claim);
    return session_complain("claim %s is not mounted: see 'berth why pod/%s -n %s'", x->claim,
                            users[0].pod->obj.name, x->ns);
}

/* One line for each place: a claim may be mounted on several nodes, and for several pods of one. */
static int show(struct search *x)
{
    size_t found = 0;

    for (size_t i = 0; i < x->usages.items.count; i++) {
        const struct usage *u = &x->usages.items.items[i];

        if (strcmp(u->claim_ns, x->ns) != 0 || strcmp(u->claim, x->claim) != 0 || !u->path[0])
            continue;
        if (found++ == 0)
            printf("%s\n", u->path);
        else
            (void)fprintf(stderr, "also mounted at %s (pod %s, node %s)\n", u->path, u->pod, u->node);
    }
    return found ? CLI_OK : complain(x);
}

static int find(struct search *x, int args, char **argv)
{
    struct error err;

    if (session_open(&x->settings.session, &x->session, &err) < 0 ||
        resources_read(args, argv + 1, &x->resources, &err) < 0)
        return session_complain("%s", err.msg);
    if (x->resources.count != 1 || !x->resources.items[0].name ||
        x->resources.items[0].kind->kind != KIND_CLAIM)
        return cli_fail_usage("path: name one claim, as pvc/NAME: see 'berth help path'");
    x->ns = x->session.ns;
    x->claim = x->resources.items[0].name;
    if (load(x, &err) < 0)
        return session_complain("%s", err.msg);
    return show(x);
}

static int path_run(int argc, char **argv)
{
    struct search x = { .usages = USAGES_INIT };
    int args = 0, status = flags_parse(&cli_verb_path, argc, argv, &x.settings, &args);

    if (status != CLI_OK)
        return status;
    if (args == 0)
        return cli_fail_usage("path: name a claim, as pvc/NAME: see 'berth help path'");
    status = find(&x, args, argv);
    usages_done(&x.usages);
    inventory_done(&x.inventory);
    reply_done(&x.reply);
    session_close(&x.session);
    return status;
}

static const struct flag path_flags[] = {
    SESSION_FLAGS(struct path_settings, session),
    { 0 },
};

const struct cli_verb cli_verb_path = {
    .name = "path",
    .group = CLI_ANSWERS,
    .usage = "path pvc/NAME",
    .summary = "Print the directory where a claim is mounted on its node",
    .about = "The path is one of the machine that runs the pod. A claim that no pod uses is mounted nowhere.",
    .flags = path_flags,
    .examples = "  berth path pvc/data\n"
                "  ls $(berth path pvc/data)  # on the node itself\n",
    .args = "TYPE/NAME pvc",
    .run = path_run,
};
