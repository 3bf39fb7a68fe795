/* Where the node agent keeps what. */
#include "tests/unit/test.h"

#include "base/cleanup.h"
#include "plugins/layout.h"

static struct error err;
static char long_name[NAME_MAX + 2]; /* one byte too long */

TEST(names_of_plugins_become_names_of_directories)
{
    char name[NAME_MAX + 1];

    memset(long_name, 'a', NAME_MAX + 1);
    ASSERT_OK(layout_escape("kubernetes.io/empty-dir", name, &err));
    ASSERT_STR("kubernetes.io~empty-dir", name);
    ASSERT_OK(layout_unescape(name, name, &err));
    ASSERT_STR("kubernetes.io/empty-dir", name);
    ASSERT_OK(layout_escape("plain", name, &err));
    ASSERT_STR("plain", name);
    ASSERT_ERR(ERR_INVALID, layout_escape("", name, &err));
    ASSERT_ERR(ERR_INVALID, layout_escape("..", name, &err));
    ASSERT_ERR(ERR_INVALID, layout_escape(long_name, name, &err));
    ASSERT_ERR(ERR_INVALID, layout_unescape("", name, &err));
}

TEST(paths_of_pods)
{
    char path[PATH_MAX];

    ASSERT_OK(layout_pod_dir("/r", "u-1", path, &err));
    ASSERT_STR("/r/pods/u-1", path);
    ASSERT_OK(layout_pod_path("/r", "u-1", "volumes", "kubernetes.io/nfs", "data", path, &err));
    ASSERT_STR("/r/pods/u-1/volumes/kubernetes.io~nfs/data", path);
    ASSERT_OK(layout_pod_path("/r", "u-1", "plugins", "kubernetes.io/nfs", NULL, path, &err));
    ASSERT_STR("/r/pods/u-1/plugins/kubernetes.io~nfs", path);
}

/* Names come from objects: none leads out of its directory. */
TEST(names_that_are_refused)
{
    static const char *const names[] = { "", ".", "..", "a/b", "/", "../x", long_name };
    char path[PATH_MAX];

    memset(long_name, 'a', NAME_MAX + 1);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        ASSERT_ERR(ERR_INVALID, layout_pod_dir("/r", names[i], path, &err));
        ASSERT_ERR(ERR_INVALID, layout_pod_path("/r", names[i], "volumes", "p/q", "v", path, &err));
        ASSERT_ERR(ERR_INVALID, layout_pod_path("/r", "u", "volumes", "p/q", names[i], path, &err));
    }
}

TEST(paths_of_plugins)
{
    static const char *const refused[] = { "", ".", "..", "a/../b", "/a", "a/", "a//b", "a/./b", "../a" };
    char path[PATH_MAX];

    ASSERT_OK(layout_plugin_path("/r", "kubernetes.io/local-volume", "mounts/pv", path, &err));
    ASSERT_STR("/r/plugins/kubernetes.io/local-volume/mounts/pv", path);
    ASSERT_OK(layout_plugin_path("/r", "kubernetes.io/local-volume", NULL, path, &err));
    ASSERT_STR("/r/plugins/kubernetes.io/local-volume", path);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        ASSERT_ERR(ERR_INVALID, layout_plugin_path("/r", "p/q", refused[i], path, &err));
        ASSERT_ERR(ERR_INVALID, layout_plugin_path("/r", refused[i], NULL, path, &err));
    }
}

TEST_MAIN()
