/* `berth path`: prints the directory where a claim is mounted on its node. */
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

struct path_search {
    struct path_settings settings;
    struct session session;
    struct resources resources;
    struct inventory inventory;
    struct usages usages;
    const char *ns;
    const char *claim;
};

static int load_objects(struct path_search *search, struct error *err)
{
    static const enum kind kinds[] = { KIND_CLAIM, KIND_POD, KIND_NODE };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (inventory_load(&search->inventory, &search->session, kinds[i],
                           kinds[i] == KIND_NODE ? NULL : search->ns) < 0)
            return error_set(err, ERR_UNAVAILABLE, "%s", buf_cstr(&search->session.reply.text));
    if (inventory_tie(&search->inventory, err) < 0)
        return -(int)err->code;
    return usages_load(&search->usages, &search->session, &search->inventory, err);
}

/* Reports why there is no path. */
static int report_no_path(struct path_search *search)
{
    const struct object *o = inventory_find(&search->inventory, KIND_CLAIM, search->ns, search->claim);
    const struct claim_user *users;
    size_t count = 0;

    if (!o)
        return session_complain("claim '%s' not found in namespace %s", search->claim, search->ns);
    users = inventory_users(&search->inventory, claim_of(o), &count);
    if (count == 0)
        return session_complain("claim %s is not mounted: no pod uses it", search->claim);
    return session_complain("claim %s is not mounted: see 'berth why pod/%s -n %s'", search->claim,
                            users[0].pod->obj.name, search->ns);
}

/* One line per path: a claim may be mounted on several nodes, and for several pods of one node. */
static int print_paths(struct path_search *search)
{
    size_t found = 0;

    for (size_t i = 0; i < search->usages.items.count; i++) {
        const struct volume_usage *u = &search->usages.items.items[i];

        if (strcmp(u->claim_ns, search->ns) != 0 || strcmp(u->claim, search->claim) != 0 || !u->path[0])
            continue;
        if (found++ == 0)
            printf("%s\n", u->path);
        else
            (void)fprintf(stderr, "also mounted at %s (pod %s, node %s)\n", u->path, u->pod, u->node);
    }
    return found ? CLI_OK : report_no_path(search);
}

static int find_paths(struct path_search *search, int args, char **argv)
{
    struct error err;

    if (session_open(&search->settings.session, &search->session, &err) < 0 ||
        resources_read(args, argv + 1, &search->resources, &err) < 0)
        return session_complain("%s", err.msg);
    if (search->resources.count != 1 || !search->resources.items[0].name ||
        search->resources.items[0].kind->kind != KIND_CLAIM)
        return cli_fail_usage("path: specify one claim, for example pvc/NAME: see 'berth help path'");
    search->ns = search->session.ns;
    search->claim = search->resources.items[0].name;
    if (load_objects(search, &err) < 0)
        return session_complain("%s", err.msg);
    return print_paths(search);
}

static int path_run(const struct cli_verb *verb, int argc, char **argv)
{
    struct path_search x = { .usages = USAGES_INIT };
    int args = 0, status = flags_parse(verb, argc, argv, &x.settings, &args);

    if (status != CLI_OK)
        return status;
    if (args == 0)
        return cli_fail_usage("path: specify a claim, for example pvc/NAME: see 'berth help path'");
    status = find_paths(&x, args, argv);
    usages_done(&x.usages);
    inventory_done(&x.inventory);
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
    .about = "The path is on the machine that runs the pod. A claim that no pod uses is not mounted.",
    .flags = path_flags,
    .examples = "  berth path pvc/data\n  ls $(berth path pvc/data)  # on the node\n",
    .args = "TYPE/NAME pvc",
    .run = path_run,
};
