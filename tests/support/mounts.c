/* The bodies of what tests/unit/test_mounts.h declares. */
#include "tests/unit/test_mounts.h"

struct texts texts_of(const char *const *items)
{
    struct texts t = { items, 0 };

    while (items[t.count])
        t.count++;
    return t;
}

/* The calling thread's mounts are its own from now on. False, and a word on why, when we may not. */
static bool in_private_mounts(void)
{
    static bool is_private;

    if (is_private)
        return true;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
        print_message("no mount namespace of our own (%s): skipped\n", strerror(errno));
        return false;
    }
    is_private = true;
    return true;
}

void skip_without_private_mounts(void)
{
    if (!in_private_mounts())
        skip();
}

/* A directory to mount in. */
static struct test_dir mounts_dirs[MOUNTS_DIRS_MAX];

static bool mounts_is_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* From the last mount to the first, so that what is on top goes first. */
static void mounts_unmount_below(const char *dir)
{
    static char points[512][PATH_MAX];
    FILE *f = fopen("/proc/self/mounts", "re");
    char line[PATH_MAX * 2];
    size_t count = 0;

    while (f && count < ARRAY_LEN(points) && fgets(line, sizeof line, f)) {
        char *from = strchr(line, ' '), *to = from ? strchr(from + 1, ' ') : NULL;
        if (!to)
            continue;
        *to = '\0';
        if (mounts_is_below(from + 1, dir))
            (void)snprintf(points[count++], PATH_MAX, "%s", from + 1);
    }
    if (f)
        (void)fclose(f);
    while (count > 0)
        (void)umount2(points[--count], MNT_DETACH | UMOUNT_NOFOLLOW);
}

void loop_file_of(const char *name, char ret[PATH_MAX])
{
    char path[PATH_MAX];
    FILE *f;

    ret[0] = '\0';
    (void)snprintf(path, sizeof path, "/sys/block/%s/loop/backing_file", name);
    f = fopen(path, "re");
    if (f && fgets(ret, PATH_MAX, f))
        ret[strcspn(ret, "\n")] = '\0';
    if (f)
        (void)fclose(f);
}

unsigned loops_below(const char *dir, bool detach)
{
    DIR *all = opendir("/sys/block");
    char file[PATH_MAX], device[PATH_MAX];
    unsigned count = 0;

    for (struct dirent *e; all && (e = readdir(all));) {
        if (strncmp(e->d_name, "loop", 4) != 0)
            continue;
        loop_file_of(e->d_name, file);
        if (!mounts_is_below(file, dir))
            continue;
        count++;
        (void)snprintf(device, sizeof device, "/dev/%s", e->d_name);
        int fd = detach ? open(device, O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0) {
            (void)ioctl(fd, LOOP_CLR_FD, 0);
            (void)close(fd);
        }
    }
    if (all)
        (void)closedir(all);
    return count;
}

static void mounts_dir_end(struct test_dir *d)
{
    /* Before their files lose their names; one that is on top of another goes first, and one that is mounted
     * goes with its mount. */
    for (unsigned tries = 0; tries < 4 && loops_below(d->path, true) > 0; tries++)
        ;
    mounts_unmount_below(d->path);
    for (unsigned tries = 0; tries < 4 && loops_below(d->path, true) > 0; tries++)
        ;
    test_dir_done(d);
    d->path[0] = '\0';
}

static void mounts_dirs_end(void)
{
    for (size_t i = 0; i < MOUNTS_DIRS_MAX; i++)
        if (mounts_dirs[i].path[0])
            mounts_dir_end(&mounts_dirs[i]);
}

struct test_dir *mounts_dir_new(void)
{
    static bool is_registered;

    if (!is_registered)
        assert_int_equal(atexit(mounts_dirs_end), 0);
    is_registered = true;
    for (size_t i = 0; i < MOUNTS_DIRS_MAX; i++) {
        if (mounts_dirs[i].path[0])
            continue;
        mounts_dirs[i] = test_dir_new();
        return &mounts_dirs[i];
    }
    fail_msg("too many directories with mounts");
    return NULL;
}

struct test_dir *mounts_dir_free(struct test_dir *d)
{
    if (d)
        mounts_dir_end(d);
    return NULL;
}

unsigned mounts_in(const char *path)
{
    FILE *f = fopen("/proc/self/mounts", "re");
    char line[PATH_MAX * 2];
    unsigned count = 0;

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        char *from = strchr(line, ' '), *to = from ? strchr(from + 1, ' ') : NULL;
        if (to)
            *to = '\0';
        count += to && mounts_is_below(from + 1, path);
    }
    (void)fclose(f);
    return count;
}

void loop_device_new(const struct test_dir *d, const char *name, off_t bytes, char ret[32])
{
    int file = open(in_dir(d, name), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC), loop = -1;

    assert_true(file >= 0 && control >= 0);
    assert_int_equal(ftruncate(file, bytes), 0);
    for (unsigned tries = 0; tries < 64 && loop < 0; tries++) { /* others look for a free one, too */
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        assert_true(number >= 0);
        (void)snprintf(ret, 32, "/dev/loop%d", number);
        loop = open(ret, O_RDWR | O_CLOEXEC);
        if (loop >= 0 && ioctl(loop, LOOP_SET_FD, file) < 0) {
            (void)close(loop);
            loop = -1;
        }
    }
    assert_true(loop >= 0);
    (void)close(loop);
    (void)close(control);
    (void)close(file);
}

void sh(const char *format, ...)
{
    char line[PATH_MAX * 2];
    va_list args;
    int status;
    pid_t pid;

    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", line, NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        fail_msg("%s: status %#x", line, (unsigned)status);
}
