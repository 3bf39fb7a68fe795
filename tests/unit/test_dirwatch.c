#include "tests/unit/test_io.h"

#include <sys/mount.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "io/dirwatch.h"
#include "io/file.h"
#include "io/loop.h"

/* What came: each name and a blank, "RESCAN " or "GONE ". */
struct seen {
    struct buf log;
    bool any;
    bool gone;
    struct dirwatch **stop; /* stop it at the first event */
};

static void on_event(void *ctx, enum dirwatch_event event, const char *name)
{
    struct seen *s = ctx;

    s->any = true;
    s->gone = s->gone || event == DIRWATCH_GONE;
    assert_int_equal(name != NULL, event == DIRWATCH_CHANGED);
    buf_addf(&s->log, "%s ", event == DIRWATCH_CHANGED ? name : event == DIRWATCH_RESCAN ? "RESCAN" : "GONE");
    if (s->stop)
        *s->stop = dirwatch_stop(*s->stop);
}

struct world {
    struct loop *loop;
    struct test_dir dir;
    char path[TEST_PATH_BYTES + 8]; /* the watched one, inside dir */
    struct dirwatch *watch;
    struct seen seen;
};

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);
    struct error err = { 0 };

    assert_non_null(w);
    w->loop = new_loop(NULL);
    w->dir = test_dir_new();
    buf_init(&w->seen.log, 1 << 20);
    (void)snprintf(w->path, sizeof w->path, "%s/d", w->dir.path);
    assert_int_equal(mkdir(w->path, 0755), 0);
    ASSERT_OK(dirwatch_start(w->loop, w->path, on_event, &w->seen, &w->watch, &err));
    return w;
}

static struct world *world_free(struct world *w)
{
    dirwatch_stop(w->watch);
    loop_free(w->loop);
    test_dir_done(&w->dir);
    buf_done(&w->seen.log);
    free(w);
    return NULL;
}
DEFINE_CLEANUP(struct world, world_free)

/* Events are in the kernel's queue when the call that made them returns: one turn brings all of them. */
static void assert_seen(struct world *w, const char *expected)
{
    (void)loop_poll(w->loop);
    ASSERT_STR(expected, buf_cstr(&w->seen.log));
    buf_clear(&w->seen.log);
    w->seen.any = false;
}

TEST(nothing_is_said_of_nothing)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    put_file(in_dir(&w->dir, "outside"), "x");
    assert_seen(w, "");
}

TEST(changes_are_named)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    put_file(in_dir(&w->dir, "d/new"), "x");
    assert_seen(w, "new ");
    put_file(in_dir(&w->dir, "d/new"), "y");
    assert_seen(w, "new ");
    assert_int_equal(chmod(in_dir(&w->dir, "d/new"), 0755), 0);
    assert_seen(w, "new ");
    assert_int_equal(mkdir(in_dir(&w->dir, "d/sub"), 0755), 0);
    assert_seen(w, "sub ");
    put_file(in_dir(&w->dir, "d/sub/deep"), "x"); /* not below */
    assert_seen(w, "");
    assert_int_equal(rename(in_dir(&w->dir, "d/new"), in_dir(&w->dir, "d/newer")), 0);
    assert_seen(w, "new newer ");
    assert_int_equal(rename(in_dir(&w->dir, "d/newer"), in_dir(&w->dir, "out")), 0);
    assert_seen(w, "newer ");
    assert_int_equal(rename(in_dir(&w->dir, "out"), in_dir(&w->dir, "d/in")), 0);
    assert_seen(w, "in ");
    assert_int_equal(unlink(in_dir(&w->dir, "d/in")), 0);
    assert_seen(w, "in ");
}

TEST(a_waiting_loop_wakes_up)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    put_file(in_dir(&w->dir, "d/x"), "x");
    run_until(w->loop, &w->seen.any);
}

TEST(names_come_once_a_turn)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    for (unsigned i = 0; i < 100; i++) {
        put_file(in_dir(&w->dir, "d/b"), "x");
        put_file(in_dir(&w->dir, "d/a"), "x");
        assert_int_equal(unlink(in_dir(&w->dir, "d/b")), 0);
    }
    assert_seen(w, "b a ");
}

TEST(longest_names_are_whole)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    char name[256], path[300], expected[300];

    memset(name, 'n', 255);
    name[255] = '\0';
    (void)snprintf(path, sizeof path, "d/%s", name);
    (void)snprintf(expected, sizeof expected, "%s ", name);
    put_file(in_dir(&w->dir, path), "x");
    assert_seen(w, expected);
}

static void make_dirs(struct world *w, char prefix, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "d/%c%u", prefix, i);
        assert_int_equal(mkdir(in_dir(&w->dir, name), 0700), 0);
    }
}

TEST(many_names_melt_into_a_rescan)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    make_dirs(w, 'a', DIRWATCH_NAMES_MAX);
    (void)loop_poll(w->loop);
    assert_null(strstr(buf_cstr(&w->seen.log), "RESCAN"));
    assert_non_null(strstr(buf_cstr(&w->seen.log), "a0 "));
    assert_non_null(strstr(buf_cstr(&w->seen.log), "a63 "));
    buf_clear(&w->seen.log);
    make_dirs(w, 'b', DIRWATCH_NAMES_MAX + 1);
    assert_seen(w, "RESCAN ");
    make_dirs(w, 'c', 1);
    assert_seen(w, "c0 ");
}

static unsigned long kernel_queue_max(void)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(0);
    struct error err = { 0 };

    ASSERT_OK(io_read_file("/proc/sys/fs/inotify/max_queued_events", 64, &text, &err));
    return strtoul(buf_cstr(&text), NULL, 10);
}

/* More events than the kernel keeps: the notice of the loss must come through. */
TEST(overflow_asks_for_a_rescan)
{
    unsigned long events = kernel_queue_max();
    if (events > 100000) {
        print_message("the kernel keeps %lu events: skipped\n", events);
        skip();
    }
    _cleanup_(world_free_p) struct world *w = world_new();

    put_file(in_dir(&w->dir, "d/a"), "");
    put_file(in_dir(&w->dir, "d/b"), "");
    for (unsigned long i = 0; i <= events / 2 + 1; i++) { /* alternating, or the kernel would merge them */
        assert_int_equal(chmod(in_dir(&w->dir, "d/a"), 0600), 0);
        assert_int_equal(chmod(in_dir(&w->dir, "d/b"), 0600), 0);
    }
    while (!strstr(buf_cstr(&w->seen.log), "RESCAN ")) { /* within the turns that empty the queue */
        w->seen.any = false;
        (void)loop_poll(w->loop);
        assert_true(w->seen.any);
    }
}

/* The directory itself */

TEST(removed_directory_is_gone)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    assert_int_equal(rmdir(w->path), 0);
    assert_seen(w, "GONE ");
    assert_int_equal(mkdir(w->path, 0755), 0); /* another one: not ours */
    put_file(in_dir(&w->dir, "d/x"), "x");
    assert_seen(w, "");
}

TEST(removed_directory_is_gone_though_somebody_holds_it)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(fd_closep) int fd = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(rmdir(w->path), 0);
    assert_seen(w, "GONE ");
}

TEST(renamed_directory_is_gone)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    put_file(in_dir(&w->dir, "d/x"), "x"); /* no use naming entries of what is gone */
    assert_int_equal(rename(w->path, in_dir(&w->dir, "elsewhere")), 0);
    assert_seen(w, "GONE ");
}

TEST(a_directory_below_a_renamed_one_is_gone)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct error err = { 0 };

    assert_int_equal(mkdir(in_dir(&w->dir, "d/x"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&w->dir, "d/x/y"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&w->dir, "d/x/y/z"), 0755), 0);
    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start(w->loop, in_dir(&w->dir, "d//x/y/z/"), on_event, &w->seen, &w->watch, &err));
    assert_int_equal(mkdir(in_dir(&w->dir, "d/other"), 0755), 0);
    assert_int_equal(rename(in_dir(&w->dir, "d/other"), in_dir(&w->dir, "d/xx")), 0);
    assert_int_equal(rmdir(in_dir(&w->dir, "d/xx")), 0);
    assert_seen(w, "");
    assert_int_equal(rename(in_dir(&w->dir, "d"), in_dir(&w->dir, "e")), 0);
    assert_seen(w, "GONE ");
}

/* A link on the way makes a directory stand above itself. */
TEST(a_directory_above_itself_is_watched_all_the_same)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct error err = { 0 };

    assert_int_equal(symlink(".", in_dir(&w->dir, "d/self")), 0);
    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start(w->loop, in_dir(&w->dir, "d/self"), on_event, &w->seen, &w->watch, &err));
    put_file(in_dir(&w->dir, "d/new"), "x");
    assert_seen(w, "new ");
    assert_int_equal(unlink(in_dir(&w->dir, "d/self")), 0);
    assert_seen(w, "GONE ");
}

TEST(replaced_directory_is_gone)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct error err = { 0 };

    assert_int_equal(mkdir(in_dir(&w->dir, "next"), 0755), 0);
    assert_int_equal(rename(in_dir(&w->dir, "next"), w->path), 0); /* over the empty one */
    assert_seen(w, "GONE ");
    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start(w->loop, w->path, on_event, &w->seen, &w->watch, &err));
    put_file(in_dir(&w->dir, "d/x"), "x");
    assert_seen(w, "x ");
}

/* Directories that are not there yet */

/* Watches d/x/y/z as far as it is there. */
static bool watch_nearest(struct world *w)
{
    char path[TEST_PATH_BYTES + 16];
    struct error err = { 0 };
    bool is_there;

    (void)snprintf(path, sizeof path, "%s/x/y/z//", w->path);
    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start_nearest(w->loop, path, on_event, &w->seen, &w->watch, &is_there, &err));
    return is_there;
}

TEST(a_missing_directory_is_awaited_part_by_part)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    assert_false(watch_nearest(w));
    put_file(in_dir(&w->dir, "d/other"), "x");
    put_file(in_dir(&w->dir, "d/x"), "no directory");
    assert_int_equal(chmod(w->path, 0700), 0);
    assert_seen(w, "");
    assert_int_equal(unlink(in_dir(&w->dir, "d/x")), 0);
    assert_int_equal(mkdir(in_dir(&w->dir, "d/x"), 0755), 0);
    assert_seen(w, "GONE ");
    assert_false(watch_nearest(w));
    assert_seen(w, "");
    assert_int_equal(mkdir(in_dir(&w->dir, "d/x/y"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&w->dir, "d/x/y/z"), 0755), 0);
    assert_seen(w, "GONE ");
    assert_true(watch_nearest(w));
    put_file(in_dir(&w->dir, "d/x/y/z/new"), "x");
    assert_seen(w, "new ");
}

TEST(a_directory_that_is_removed_is_awaited_again)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(mkdir(in_dir(&w->dir, "d/x"), 0755), 0);
        assert_int_equal(mkdir(in_dir(&w->dir, "d/x/y"), 0755), 0);
        assert_int_equal(mkdir(in_dir(&w->dir, "d/x/y/z"), 0755), 0);
        assert_true(watch_nearest(w));
        assert_int_equal(rmdir(in_dir(&w->dir, "d/x/y/z")), 0);
        assert_seen(w, "GONE ");
        assert_false(watch_nearest(w)); /* in d/x/y, */
        assert_int_equal(rmdir(in_dir(&w->dir, "d/x/y")), 0);
        assert_seen(w, "GONE "); /* which goes too */
        assert_false(watch_nearest(w));
        assert_int_equal(rename(in_dir(&w->dir, "d/x"), in_dir(&w->dir, "elsewhere")), 0);
        assert_seen(w, "GONE ");
        assert_false(watch_nearest(w));
        assert_int_equal(rmdir(in_dir(&w->dir, "elsewhere")), 0);
        assert_seen(w, "");
        assert_int_equal(symlink("..", in_dir(&w->dir, "d/x")), 0); /* a link to a directory is one */
        assert_seen(w, "GONE ");
        assert_false(watch_nearest(w));
        assert_int_equal(unlink(in_dir(&w->dir, "d/x")), 0);
        (void)loop_poll(w->loop);
        buf_clear(&w->seen.log);
    }
}

/* What is renamed into its place comes with all that is below it. */
TEST(an_awaited_directory_may_come_with_the_ones_below)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    assert_int_equal(mkdir(in_dir(&w->dir, "new"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&w->dir, "new/y"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&w->dir, "new/y/z"), 0755), 0);
    assert_false(watch_nearest(w));
    assert_int_equal(rename(in_dir(&w->dir, "new"), in_dir(&w->dir, "d/x")), 0);
    assert_seen(w, "GONE ");
    assert_true(watch_nearest(w));
}

/* The root is above everything. */
TEST(a_path_of_which_nothing_is_there_is_awaited_in_the_root)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct error err = { 0 };
    bool is_there = true;

    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start_nearest(w->loop, "/no-such-directory/a/b", on_event, &w->seen, &w->watch,
                                     &is_there, &err));
    assert_false(is_there);
    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start_nearest(w->loop, "/", on_event, &w->seen, &w->watch, &is_there, &err));
    assert_true(is_there);
}

TEST(swapped_link_is_gone)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct error err = { 0 };

    assert_int_equal(mkdir(in_dir(&w->dir, "one"), 0755), 0);
    assert_int_equal(mkdir(in_dir(&w->dir, "two"), 0755), 0);
    assert_int_equal(symlink("one", in_dir(&w->dir, "link")), 0);
    assert_int_equal(symlink("two", in_dir(&w->dir, "next")), 0);
    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start(w->loop, in_dir(&w->dir, "link"), on_event, &w->seen, &w->watch, &err));
    assert_int_equal(rename(in_dir(&w->dir, "next"), in_dir(&w->dir, "link")), 0);
    assert_seen(w, "GONE ");
}

TEST(renamed_parent_takes_the_directory_along)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct error err = { 0 };

    assert_int_equal(mkdir(in_dir(&w->dir, "d/sub"), 0755), 0);
    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start(w->loop, in_dir(&w->dir, "d/sub//"), on_event, &w->seen, &w->watch, &err));
    assert_int_equal(rename(w->path, in_dir(&w->dir, "e")), 0);
    assert_seen(w, "GONE ");
}

/* What happens beside the directory, to others and to names like its own, does not concern it. */
TEST(siblings_are_of_no_interest)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    assert_int_equal(mkdir(in_dir(&w->dir, "dd"), 0755), 0);
    assert_int_equal(rename(in_dir(&w->dir, "dd"), in_dir(&w->dir, "e")), 0);
    assert_int_equal(rmdir(in_dir(&w->dir, "e")), 0);
    assert_int_equal(mkdir(in_dir(&w->dir, "d/d"), 0755), 0);
    assert_int_equal(rmdir(in_dir(&w->dir, "d/d")), 0);
    assert_seen(w, "d ");
}

TEST(paths_without_a_parent_in_them_can_be_watched)
{
    static const char *const paths[] = { "/", "//", ".", "..", "sub", "sub/", "sub/.", "sub/.." };
    _cleanup_(world_free_p) struct world *w = world_new();
    _cleanup_(fd_closep) int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct error err = { 0 };

    assert_int_equal(chdir(w->path), 0);
    assert_int_equal(mkdir("sub", 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct dirwatch *watch = NULL;
        ASSERT_OK(dirwatch_start(w->loop, paths[i], on_event, &w->seen, &watch, &err));
        dirwatch_stop(watch);
    }
    dirwatch_stop(w->watch);
    ASSERT_OK(dirwatch_start(w->loop, "sub", on_event, &w->seen, &w->watch, &err));
    put_file("sub/x", "x");
    assert_seen(w, "x ");
    assert_int_equal(rename("sub", "gone"), 0);
    assert_seen(w, "GONE ");
    assert_int_equal(fchdir(back), 0);
}

/* In a child without root's power: the parent may be entered, not read. */
static int watch_below_unreadable(struct world *w)
{
    struct seen seen = { .log = BUF_INIT(1000) };
    struct dirwatch *watch = NULL;
    struct error err = { 0 };
    struct loop *l = NULL;

    if (setgid(65534) < 0 || setuid(65534) < 0)
        return 1;
    if (loop_new(NULL, &l, &err) < 0 || dirwatch_start(l, w->path, on_event, &seen, &watch, &err) < 0)
        return 2;
    put_file(in_dir(&w->dir, "d/x"), "x");
    (void)loop_poll(l);
    return strcmp(buf_cstr(&seen.log), "x ") == 0 ? 0 : 3;
}

TEST(directory_below_an_unreadable_parent_can_be_watched)
{
    if (geteuid() != 0) {
        print_message("needs root to become somebody else: skipped\n");
        skip();
    }
    _cleanup_(world_free_p) struct world *w = world_new();
    int status;

    assert_int_equal(chmod(w->dir.path, 0711), 0);
    assert_int_equal(chmod(w->path, 0777), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(watch_below_unreadable(w));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(unmounted_directory_is_gone)
{
    skip_without_mounts();
    _cleanup_(world_free_p) struct world *w = world_new();
    struct error err = { 0 };

    assert_int_equal(mount("tmpfs", w->path, "tmpfs", 0, "size=64k"), 0);
    dirwatch_stop(w->watch);
    w->watch = NULL;
    int r = dirwatch_start(w->loop, w->path, on_event, &w->seen, &w->watch, &err);
    assert_int_equal(umount(w->path), 0);
    ASSERT_OK(r);
    run_until(w->loop,
              &w->seen.any); /* later, if the mount was copied into the namespace of another process */
    assert_seen(w, "GONE ");
}

TEST(changed_attributes_of_the_directory_ask_for_a_rescan)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    assert_int_equal(chmod(w->path, 0700), 0);
    assert_seen(w, "RESCAN ");
}

TEST(atomic_replacement_inside_names_the_file)
{
    _cleanup_(world_free_p) struct world *w = world_new();
    struct error err = { 0 };

    for (unsigned i = 0; i < 3; i++) {
        ASSERT_OK(io_replace_file(in_dir(&w->dir, "d/conf"), "x", 1, 0600, &err));
        (void)loop_poll(w->loop);
        assert_non_null(strstr(buf_cstr(&w->seen.log), " conf ")); /* beside the temporary file's name */
        assert_null(strstr(buf_cstr(&w->seen.log), "GONE"));
        buf_clear(&w->seen.log);
    }
}

/* Stopping */

TEST(stopped_watch_is_silent)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    put_file(in_dir(&w->dir, "d/x"), "x");
    w->watch = dirwatch_stop(w->watch);
    assert_null(w->watch);
    assert_seen(w, "");
    assert_null(dirwatch_stop(NULL));
}

TEST(callback_may_stop_its_watch)
{
    _cleanup_(world_free_p) struct world *w = world_new();

    w->seen.stop = &w->watch;
    put_file(in_dir(&w->dir, "d/x"), "x");
    put_file(in_dir(&w->dir, "d/y"), "x");
    assert_seen(w, "x ");
    assert_null(w->watch);
}

TEST(what_cannot_be_watched_is_refused)
{
    static const struct {
        const char *path;
        enum err code;
        const char *msg;
    } rows[] = {
        { "/nonexistent", ERR_NOT_FOUND, "cannot watch directory '/nonexistent': No such file or directory" },
        { "/etc/passwd", ERR_IO, "cannot watch directory '/etc/passwd': Not a directory" },
        { "", ERR_NOT_FOUND, "cannot watch directory '': No such file or directory" },
    };
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dirwatch *watch = NULL;
        struct error err = { 0 };
        ASSERT_ERR(rows[i].code, dirwatch_start(l, rows[i].path, on_event, NULL, &watch, &err));
        ASSERT_STR(rows[i].msg, err.msg);
        assert_null(watch);
    }
}

TEST_MAIN()
