/* Paths below the root of the node agent. Pure. Names come from objects: every component is checked, so that
 * no path leaves its directory. */
#include "plugins/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "plugins/plugin.h"

/* A single component of a path that does not leave its directory. */
static int check_component(const char *name, const char *what, struct error *err)
{
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strchr(name, '/') ||
        strlen(name) > NAME_MAX)
        return error_set(err, ERR_INVALID, "%s '%s' cannot be the name of a directory", what, name);
    return 0;
}

static int replace_char(const char *from, char what, char with, char ret[NAME_MAX + 1], struct error *err)
{
    size_t len = strlen(from);

    if (len == 0 || len > NAME_MAX)
        return error_set(err, ERR_INVALID, "'%s' is not a valid volume plugin name", from);
    for (size_t i = 0; i <= len; i++)
        ret[i] = from[i] == what ? with : from[i];
    return 0;
}

int layout_escape(const char *plugin, char ret[NAME_MAX + 1], struct error *err)
{
    int r = replace_char(plugin, '/', '~', ret, err);

    return r < 0 ? r : check_component(ret, "volume plugin", err);
}

int layout_unescape(const char *dir_name, char ret[NAME_MAX + 1], struct error *err)
{
    return replace_char(dir_name, '~', '/', ret, err);
}

/* n: the result of snprintf(). */
static int check_length(int n, const char *root, struct error *err)
{
    return n < 0 || n >= PATH_MAX ? error_set(err, ERR_INVALID, "a path below '%s' is too long", root) : 0;
}

int layout_pod_dir(const char *root, const char *pod_uid, char ret[PATH_MAX], struct error *err)
{
    int r = check_component(pod_uid, "pod uid", err);

    if (r < 0)
        return r;
    return check_length(snprintf(ret, PATH_MAX, "%s/pods/%s", root, pod_uid), root, err);
}

int layout_pod_path(const char *root, const char *pod_uid, const char *sub, const char *plugin,
                    const char *volume, char ret[PATH_MAX], struct error *err)
{
    char dir[NAME_MAX + 1];
    int r = check_component(pod_uid, "pod uid", err);

    if (r == 0)
        r = layout_escape(plugin, dir, err);
    if (r == 0 && volume)
        r = check_component(volume, "volume", err);
    if (r < 0)
        return r;
    return check_length(snprintf(ret, PATH_MAX, "%s/pods/%s/%s/%s%s%s", root, pod_uid, sub, dir,
                                 volume ? "/" : "", volume ? volume : ""),
                        root, err);
}

int layout_path_slot(const struct volume_plugin *self, const char *root, const char *pod_uid,
                     const char *name, const struct volume_spec *spec, char ret[PATH_MAX], struct error *err)
{
    (void)spec;
    return layout_pod_path(root, pod_uid, "volumes", self->name, name, ret, err);
}

/* No component may be empty, "." or "..". */
static int check_rest(const char *rest, struct error *err)
{
    struct str left = str_of(rest);

    do {
        const char *slash = memchr(left.s, '/', left.len);
        size_t len = slash ? (size_t)(slash - left.s) : left.len;
        if (len == 0 || len > NAME_MAX || (len == 1 && left.s[0] == '.') ||
            (len == 2 && left.s[0] == '.' && left.s[1] == '.'))
            return error_set(err, ERR_INVALID, "'%s' is outside the plugin's directory", rest);
        left.s += len + (slash ? 1 : 0);
        left.len -= len + (slash ? 1 : 0);
        if (slash && left.len == 0)
            return error_set(err, ERR_INVALID, "'%s' ends with a slash", rest);
    } while (left.len > 0);
    return 0;
}

int layout_plugin_path(const char *root, const char *plugin, const char *rest, char ret[PATH_MAX],
                       struct error *err)
{
    int r = check_rest(plugin, err);

    if (r == 0 && rest)
        r = check_rest(rest, err);
    if (r < 0)
        return r;
    return check_length(
        snprintf(ret, PATH_MAX, "%s/plugins/%s%s%s", root, plugin, rest ? "/" : "", rest ? rest : ""), root,
        err);
}
