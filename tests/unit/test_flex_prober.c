/* Drivers that come, change and go while they are looked for. */
#include "tests/unit/test_flex.h"

#include "host/dirs.h"
#include "plugins/registry.h"

#define SUCCESS "echo '{\"status\":\"Success\"}'"
#define NO_ATTACH "echo '{\"status\":\"Success\",\"capabilities\":{\"attach\":false}}'"
/* Says beside itself, under a name that nobody watches, that it was called. */
#define COUNTED "echo x >> \"${0%/*}/.calls\"\n" SUCCESS

struct world {
    struct flex_fixture *f;
    struct loop *loop;
    struct pool *pool;
    struct flex_prober *prober;
    struct plugin_registry *registry;
};

static const struct volume_plugin *const none[] = { NULL };

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);

    w->f = flex_fixture_new();
    w->loop = new_loop(NULL);
    ASSERT_OK(pool_new(w->loop, 2, 16, &w->pool, &err));
    return w;
}

static struct world *world_free(struct world *w)
{
    w->registry = registry_free(w->registry);
    w->prober = flex_prober_free(w->prober);
    w->pool = pool_free(w->pool);
    w->loop = loop_free(w->loop);
    w->f = flex_fixture_free(w->f);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

static void world_start(struct world *w)
{
    ASSERT_OK(
        flex_prober_new(w->loop, w->pool, w->f->drivers, true, &(struct host_tools){ 0 }, &w->prober, &err));
    ASSERT_OK(registry_new(none, flex_prober_of(w->prober), &w->registry, &err));
}

static const struct volume_plugin *lookup(struct world *w, const char *name)
{
    const struct volume_plugin *p = NULL;
    struct error e = { 0 };

    return registry_by_name(w->registry, name, &p, &e) == 0 ? p : NULL;
}

/* A search begins the calls that are due; they are waited for. */
static void drivers_answer(struct world *w)
{
    (void)lookup(w, "");
    pool_drain(w->pool);
}

/* Lets the loop hear of what changed, and drivers answer. */
static void settle(struct world *w)
{
    while (loop_poll(w->loop))
        ;
    (void)loop_poll(w->loop);
    drivers_answer(w);
}

static unsigned calls_of(const struct world *w, const char *dir_name)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/%s/.calls", w->f->drivers, dir_name);
    return (unsigned)strlen(text_of(path)) / 2;
}

static void run_in(const struct world *w, const char *line)
{
    sh("cd '%s' && %s", w->f->drivers, line);
}

TEST(flex_finds_drivers_that_are_there)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    const struct volume_plugin *p;

    install(w->f, "acme~disk", SUCCESS);
    install(w->f, "plain", NO_ATTACH);
    install(w->f, ".hidden~disk", SUCCESS);
    run_in(w, "echo no driver > file~file && ln -s acme~disk other~disk");
    world_start(w);
    drivers_answer(w);
    p = lookup(w, "acme/disk");
    assert_non_null(p);
    assert_non_null(p->attach);
    assert_non_null(p->devices);
    ASSERT_INT(ACCESS_RWO | ACCESS_ROX, p->access_modes);
    assert_false(p->takes_mount_options);
    p = lookup(w, "plain");
    assert_non_null(p);
    assert_null(p->attach);
    assert_null(p->devices);
    assert_non_null(lookup(w, "other/disk")); /* a link to a directory is one */
    assert_null(lookup(w, "hidden/disk"));
    assert_null(lookup(w, "file/file"));
    ASSERT_STR("", registry_load_error(w->registry));
}

/* A probe begins the call and does not wait for it. */
TEST(flex_probes_do_not_wait)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    install(w->f, "acme~disk", "while [ -e \"${0%/*}/.hold\" ]; do :; done\n" SUCCESS);
    run_in(w, "touch acme~disk/.hold");
    world_start(w);
    assert_null(lookup(w, "acme/disk"));
    assert_null(lookup(w, "acme/disk"));
    run_in(w, "rm acme~disk/.hold");
    pool_drain(w->pool);
    assert_non_null(lookup(w, "acme/disk"));
}

/* A driver that has not answered is neither there nor missing; one whose answer was a failure is missing. */
TEST(flex_says_which_driver_has_not_answered)
{
    static const struct flex_source source = { .driver = "acme/disk" };
    const struct pod_volume inlined = { .name = "v", .type = POD_VOLUME_FLEX, .flex = &source };
    const struct volume_spec spec = { .inlined = &inlined };
    _cleanup_(world_free_p) struct world *w = world_new();
    const struct volume_plugin *p = NULL;

    install(w->f, "acme~disk", "while [ -e \"${0%/*}/.hold\" ]; do :; done\nexit 1");
    run_in(w, "touch acme~disk/.hold");
    world_start(w);
    ASSERT_ERR(ERR_UNAVAILABLE, registry_by_name(w->registry, "acme/disk", &p, &err));
    ASSERT_STR("driver acme/disk is not initialized yet", err.msg);
    ASSERT_ERR(ERR_UNAVAILABLE, registry_by_spec(w->registry, &spec, &p, &err));
    ASSERT_STR("driver acme/disk is not initialized yet", err.msg);
    ASSERT_ERR(ERR_NOT_FOUND, registry_by_name(w->registry, "acme/other", &p, &err));
    run_in(w, "rm acme~disk/.hold");
    pool_drain(w->pool);
    ASSERT_ERR(ERR_NOT_FOUND, registry_by_name(w->registry, "acme/disk", &p, &err));
    ASSERT_STR("no volume plugin matched name: acme/disk", err.msg);
    ASSERT_ERR(ERR_NOT_FOUND, registry_by_spec(w->registry, &spec, &p, &err));
    ASSERT_STR("no volume plugin matched", err.msg);
}

/* Freed with a call under way: it is told to end, and nobody hears of it. */
TEST(flex_ends_while_a_driver_hangs)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    install(w->f, "acme~disk", "sleep 1000");
    world_start(w);
    assert_null(lookup(w, "acme/disk"));
}

TEST(flex_one_bad_driver_holds_up_no_other)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    install(w->f, "acme~disk", SUCCESS);
    install(w->f, "bad~disk", "echo '{\"status\":\"Failure\",\"message\":\"no kernel module\"}'");
    install(w->f, "old~disk", "echo '{\"status\":\"Not supported\"}'");
    run_in(w, "mkdir empty~disk");
    world_start(w);
    drivers_answer(w);
    assert_non_null(lookup(w, "acme/disk"));
    assert_null(lookup(w, "bad/disk"));
    assert_null(lookup(w, "old/disk"));
    assert_non_null(strstr(registry_load_error(w->registry),
                           "error creating Flexvolume plugin from directory bad~disk, skipping. Error: init "
                           "command failed, status: Failure, reason: no kernel module"));
    assert_non_null(strstr(registry_load_error(w->registry), "directory old~disk, skipping."));
    assert_non_null(strstr(registry_load_error(w->registry), "directory empty~disk, skipping."));
    install(w->f, "bad~disk", SUCCESS);
    install(w->f, "old~disk", SUCCESS);
    run_in(w, "rmdir empty~disk");
    settle(w);
    (void)lookup(w, "bad/disk"); /* the failure was pending all the time: an older answer may come first */
    settle(w);
    assert_non_null(lookup(w, "bad/disk"));
    assert_non_null(lookup(w, "old/disk"));
    ASSERT_STR("", registry_load_error(w->registry));
}

/* Somebody still writes it: the kernel does not run it, and its end is an event. */
TEST(flex_waits_for_copies_to_end)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(fd_closep) int fd = -1;
    char path[PATH_MAX];

    install(w->f, "acme~disk", SUCCESS);
    (void)snprintf(path, sizeof path, "%s/acme~disk/disk", w->f->drivers);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    world_start(w);
    drivers_answer(w);
    assert_null(lookup(w, "acme/disk"));
    assert_non_null(
        strstr(registry_load_error(w->registry), "directory acme~disk, skipping. Error: init command"));
    pool_drain(w->pool); /* the call that the search began */
    assert_int_equal(close(take_fd(&fd)), 0);
    settle(w);
    assert_non_null(lookup(w, "acme/disk"));
    ASSERT_STR("", registry_load_error(w->registry));
}

/* A driver that failed is tried at every search, without any event. */
TEST(flex_retries_at_every_lookup)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    install(w->f, "acme~disk", "[ -e \"${0%/*}/.ready\" ] || exit 1\n" SUCCESS);
    world_start(w);
    drivers_answer(w);
    assert_null(lookup(w, "acme/disk"));
    run_in(w, "touch acme~disk/.ready");
    pool_drain(w->pool); /* that search began a call, before or after the touch */
    (void)lookup(w, "acme/disk");
    pool_drain(w->pool);
    assert_non_null(lookup(w, "acme/disk"));
}

/* plugins-50: a directory that is filled under a hidden name and then renamed is probed once. */
TEST(flex_installs_by_renaming_the_directory)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    world_start(w);
    settle(w);
    run_in(w, "mkdir .acme~d && echo '#!/bin/sh' > .acme~d/d && chmod 755 .acme~d/d");
    settle(w);
    assert_null(lookup(w, "acme/d"));
    ASSERT_STR("", registry_load_error(w->registry));
    put_file(in_dir(w->f->d, "body"), "#!/bin/sh\n" COUNTED "\n");
    run_in(w, "cp ../body .acme~d/d && mv .acme~d acme~d");
    settle(w);
    assert_non_null(lookup(w, "acme/d"));
    ASSERT_INT(1, calls_of(w, "acme~d"));
    settle(w);
    assert_non_null(lookup(w, "acme/d"));
    ASSERT_INT(1, calls_of(w, "acme~d"));
}

/* The other safe way: an executable under a hidden name in its directory. */
TEST(flex_installs_by_renaming_the_executable)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    const struct volume_plugin *old;

    install(w->f, "acme~d", COUNTED);
    world_start(w);
    settle(w);
    old = plugin_ref(lookup(w, "acme/d"));
    assert_non_null(old);
    run_in(w, "cp -p acme~d/d acme~d/.d");
    settle(w);
    assert_ptr_equal(lookup(w, "acme/d"), old); /* half a copy is nothing */
    run_in(w, "mv acme~d/.d acme~d/d");
    settle(w);
    assert_ptr_not_equal(lookup(w, "acme/d"), old);
    ASSERT_INT(2, calls_of(w, "acme~d"));
    old = plugin_unref(old);
}

/* plugins-51: a driver that is removed is not found at the next search. */
TEST(flex_forgets_removed_drivers)
{
    static const char *const ways[] = { "rm -r acme~d", "rm acme~d/d", "mv acme~d .acme~d",
                                        "chmod a-x acme~d/d" };

    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        _cleanup_(world_free_p) struct world *w = world_new();
        _cleanup_(object_unref_p) struct object *pv = flex_volume("acme/d", "");
        struct volume_spec spec = { .volume = volume_of(pv) };
        const struct volume_plugin *p = NULL;
        install(w->f, "acme~d", SUCCESS);
        world_start(w);
        settle(w);
        ASSERT_OK(registry_by_spec(w->registry, &spec, &p, &err));
        run_in(w, ways[i]);
        while (loop_poll(w->loop))
            ;
        (void)loop_poll(w->loop);
        ASSERT_ERR(ERR_NOT_FOUND, registry_by_spec(w->registry, &spec, &p, &err));
        ASSERT_STR("no volume plugin matched", err.msg);
        ASSERT_STR("", registry_load_error(w->registry));
        install(w->f, "acme~d", SUCCESS);
        settle(w);
        (void)lookup(w, "acme/d");
        settle(w);
        assert_non_null(lookup(w, "acme/d"));
    }
}

/* Many changes between two searches: only what is there in the end counts. */
TEST(flex_last_event_wins)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    install(w->f, "acme~d", SUCCESS);
    world_start(w);
    settle(w);
    assert_non_null(lookup(w, "acme/d"));
    for (unsigned i = 0; i < 5; i++) {
        run_in(w, "rm -r acme~d");
        (void)loop_poll(w->loop);
        install(w->f, "acme~d", SUCCESS);
        (void)loop_poll(w->loop);
    }
    settle(w);
    assert_non_null(lookup(w, "acme/d"));
    run_in(w, "rm -r acme~d");
    while (loop_poll(w->loop))
        ;
    assert_null(lookup(w, "acme/d"));
}

/* The whole directory may go: it is made anew and watched. */
TEST(flex_makes_its_directory_again)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct stat st;

    install(w->f, "acme~d", SUCCESS);
    world_start(w);
    settle(w);
    assert_non_null(lookup(w, "acme/d"));
    sh("rm -r '%s'", w->f->drivers);
    while (loop_poll(w->loop))
        ;
    (void)loop_poll(w->loop);
    assert_null(lookup(w, "acme/d"));
    assert_int_equal(stat(w->f->drivers, &st), 0);
    ASSERT_INT(0755, st.st_mode & 07777);
    install(w->f, "acme~d", SUCCESS);
    settle(w);
    assert_non_null(lookup(w, "acme/d"));
}

/* What cannot be read is complained of, and what is known stays. */
TEST(flex_complains_of_a_directory_it_cannot_read)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    install(w->f, "acme~d", SUCCESS);
    world_start(w);
    settle(w);
    assert_non_null(lookup(w, "acme/d"));
    sh("cd '%s' && mkdir $(seq %d)", w->f->drivers, HOST_DIRS_MAX);
    while (loop_poll(w->loop))
        ;
    (void)loop_poll(w->loop);
    assert_non_null(lookup(w, "acme/d"));
    assert_non_null(strstr(registry_load_error(w->registry), "error reading the Flexvolume directory: "));
    sh("cd '%s' && rmdir $(seq %d)", w->f->drivers, HOST_DIRS_MAX);
    settle(w);
    assert_non_null(lookup(w, "acme/d"));
    ASSERT_STR("", registry_load_error(w->registry));
}

/* plugins-5: no directory, no prober; and a directory that is lost later is complained of. */
TEST(flex_needs_a_directory)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct flex_prober *p = NULL;

    put_file(in_dir(w->f->d, "file"), "");
    assert_true(flex_prober_new(w->loop, w->pool, in_dir(w->f->d, "file/drivers"), true, &w->f->env.tools, &p,
                                &err) < 0);
    assert_non_null(strstr(err.msg, "error (re-)creating driver directory: "));
    assert_null(p);
    world_start(w);
    settle(w);
    sh("rm -r '%s' && touch '%s'", w->f->drivers, w->f->drivers);
    while (loop_poll(w->loop))
        ;
    (void)loop_poll(w->loop);
    assert_null(lookup(w, "acme/d"));
    assert_non_null(strstr(registry_load_error(w->registry), "error (re-)creating driver directory: "));
    sh("rm '%s'", w->f->drivers);
    install_file(w->f, "berth~cloud", "cloud");
    (void)lookup(w, "berth/cloud");
    settle(w);
    assert_non_null(lookup(w, "berth/cloud"));
}

/* A directory that is not ours to make: it is found when it comes, and its parents with it. */
TEST(flex_waits_for_a_directory_it_does_not_make)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct stat st;

    (void)snprintf(w->f->drivers, sizeof w->f->drivers, "%s/a/b/c", w->f->d->path);
    ASSERT_OK(
        flex_prober_new(w->loop, w->pool, w->f->drivers, false, &(struct host_tools){ 0 }, &w->prober, &err));
    ASSERT_OK(registry_new(none, flex_prober_of(w->prober), &w->registry, &err));
    settle(w);
    for (unsigned i = 0; i < 3; i++) {
        assert_null(lookup(w, "acme/d"));
        ASSERT_STR("", registry_load_error(w->registry)); /* no drivers are no trouble */
        assert_int_equal(stat(w->f->drivers, &st), -1);
        sh("mkdir -p '%s/a'", w->f->d->path);
        settle(w);
        assert_null(lookup(w, "acme/d"));
        sh("mkdir -p '%s'", w->f->drivers);
        install(w->f, "acme~d", SUCCESS);
        settle(w);
        assert_non_null(lookup(w, "acme/d"));
        if (i == 0)
            sh("rm -r '%s/a/b'", w->f->d->path);
        else
            sh("mv '%s/a' '%s/old.%u'", w->f->d->path, w->f->d->path, i);
        settle(w);
    }
}

TEST_MAIN()
