/* What the tests of FlexVolume share: directories of drivers, volumes, an env. */
#ifndef BERTH_TESTS_TEST_FLEX_H
#define BERTH_TESTS_TEST_FLEX_H

#include "tests/unit/test_mounts.h"

#include "api/config.h"
#include "api/pod.h"
#include "api/volume.h"
#include "base/cleanup.h"
#include "io/file.h"
#include "plugins/flex/driver.h"
#include "plugins/flex/prober.h"

static struct error err;

struct flex_fixture {
    struct test_dir *d;
    char drivers[TEST_PATH_BYTES + 16];
    char root[TEST_PATH_BYTES + 16];
    host_stop stop;
    struct volume_env env;
    struct flex_driver *driver; /* the last one that flex_load() gave */
};

static inline struct flex_fixture *flex_fixture_new(void)
{
    struct flex_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->d = mounts_dir_new();
    (void)snprintf(f->drivers, sizeof f->drivers, "%s/drivers", f->d->path);
    (void)snprintf(f->root, sizeof f->root, "%s/root", f->d->path);
    assert_int_equal(mkdir(f->drivers, 0755), 0);
    assert_int_equal(mkdir(f->root, 0755), 0);
    f->env = (struct volume_env){ .root = f->root, .node_name = "n1", .stop = &f->stop };
    f->env.tools.stop = &f->stop;
    return f;
}

static inline struct flex_fixture *flex_fixture_free(struct flex_fixture *f)
{
    f->driver = flex_driver_free(f->driver);
    f->d = mounts_dir_free(f->d);
    free(f);
    return NULL;
}
DEFINE_CLEANUP(struct flex_fixture, flex_fixture_free)

/* A driver as the shell script of this body, in the directory dir_name; installed at once. */
static inline void install(const struct flex_fixture *f, const char *dir_name, const char *body)
{
    char dir[PATH_MAX], path[PATH_MAX * 2], script[8192];
    const char *tilde = strrchr(dir_name, '~');
    const char *base = tilde ? tilde + 1 : dir_name;

    (void)snprintf(dir, sizeof dir, "%s/%s", f->drivers, dir_name);
    (void)snprintf(path, sizeof path, "%s/%s", dir, base);
    (void)snprintf(script, sizeof script, "#!/bin/sh\n%s\n", body);
    assert_true(mkdir(dir, 0755) == 0 || errno == EEXIST);
    ASSERT_OK(io_replace_file(path, script, strlen(script), 0755, &err));
}

static inline void install_file(const struct flex_fixture *f, const char *dir_name, const char *name)
{
    sh("mkdir -p '%s/%s' && cp -p '%s/%s' '%s/%s/%s'", f->drivers, dir_name, TEST_DRIVERS_DIR, name,
       f->drivers, dir_name, name);
}

static inline struct flex_driver *flex_load(struct flex_fixture *f, const char *dir_name)
{
    f->driver = flex_driver_free(f->driver);
    ASSERT_OK(flex_driver_new(f->drivers, dir_name, &f->env.tools, &f->stop, &f->driver, &err));
    return f->driver;
}

static inline struct object *flex_object(const struct kind_info *kind, const char *text)
{
    struct object *o = NULL;
    struct json d;

    json_init(&d, 4 << 20);
    ASSERT_OK(object_decode(kind, str_of(text), &d, &o, &err));
    json_done(&d);
    return o;
}

/* more: further members of the source, each with a comma in front. */
static inline struct object *flex_volume(const char *driver, const char *more)
{
    char text[4096];

    (void)snprintf(text, sizeof text,
                   "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\",\"metadata\":{\"name\":\"pv1\"},"
                   "\"spec\":{\"flexVolume\":{\"driver\":\"%s\"%s}}}",
                   driver, more);
    return flex_object(&volume_kind, text);
}

#define FLEX_POD                                                                                             \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":" \
    "\"u-1\"},\"spec\":{\"serviceAccountName\":\"runner\"}}"

/* What a file holds, in a buffer of the test's. */
static inline const char *text_of(const char *path)
{
    static char text[1 << 16];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

    text[n] = '\0';
    if (f)
        (void)fclose(f);
    return text;
}

#endif
