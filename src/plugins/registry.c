#include "plugins/registry.h"

#include <string.h>

#include "base/cleanup.h"
#include "plugins/builtin.h"

#define NAMES_BYTES_MAX 400

const struct volume_plugin *const plugins_builtin[] = { &host_path_plugin, &nfs_plugin, NULL };

static const char *const ability_words[] = {
    [PLUGIN_ANY] = "",
    [PLUGIN_PROVISIONS] = "provisionable",
    [PLUGIN_DELETES] = "deletable",
    [PLUGIN_RECYCLES] = "recyclable",
};

static bool is_able(const struct volume_plugin *p, enum plugin_ability a)
{
    switch (a) {
    case PLUGIN_ANY:
        return true;
    case PLUGIN_PROVISIONS:
        return p->provision;
    case PLUGIN_DELETES:
        return p->remove;
    case PLUGIN_RECYCLES:
        return p->recycle;
    }
    return false;
}

static int give(const struct volume_plugin *p, enum plugin_ability a, const struct volume_plugin **ret,
                struct error *err)
{
    if (!is_able(p, a))
        return error_set(err, ERR_UNSUPPORTED, "no %s volume plugin matched", ability_words[a]);
    *ret = p;
    return 0;
}

int plugins_by_source(const struct volume_plugin *const *all, const struct volume_source *s,
                      enum plugin_ability a, const struct volume_plugin **ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf names = BUF_INIT(NAMES_BYTES_MAX);
    const struct volume_plugin *found = NULL;
    unsigned count = 0;

    for (; *all; all++) {
        if (!(*all)->can_support(s))
            continue;
        (void)buf_addf(&names, "%s%s", count++ ? "," : "", (*all)->name); /* cut is fine */
        found = *all;
    }
    if (!found)
        return error_set(err, ERR_NOT_FOUND, "no volume plugin matched");
    if (count > 1)
        return error_set(err, ERR_CONFLICT, "multiple volume plugins matched: %s", buf_cstr(&names));
    return give(found, a, ret, err);
}

int plugins_by_name(const struct volume_plugin *const *all, const char *name, enum plugin_ability a,
                    const struct volume_plugin **ret, struct error *err)
{
    for (; *all; all++)
        if (strcmp((*all)->name, name) == 0)
            return give(*all, a, ret, err);
    return error_set(err, ERR_NOT_FOUND, "no volume plugin matched name: %s", name);
}
