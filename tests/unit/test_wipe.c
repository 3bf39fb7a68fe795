/* Erasing block devices: loop devices, positions that survive, and what is refused. */
#include "tests/unit/test_mounts.h"

#include "host/wipe.h"
#include "io/file.h"

#define MIB 1048576L
#define SIZE (80 * MIB) /* more than one stretch */

static struct error err;

/* A device full of x. */
static struct test_dir *begin(char device[32])
{
    struct test_dir *d = mounts_dir_new();

    loop_device_new(d, "disk", SIZE, device);
    sh("head -c %ld /dev/zero | tr '\\0' x > %s", SIZE, device);
    return d;
}

/* What the MiB consists of: 'x', '0', or '?' for anything else. */
static char mib_of(const char *device, off_t index)
{
    static char bytes[MIB];
    int fd = open(device, O_RDONLY | O_CLOEXEC);
    char first;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, bytes, MIB, index * MIB), MIB);
    (void)close(fd);
    first = bytes[0];
    for (size_t i = 0; i < MIB; i++)
        if (bytes[i] != first)
            return '?';
    return first == 0 ? '0' : first == 'x' ? 'x' : '?';
}

static void assert_mibs(const char *device, const char *first_4_64_79)
{
    ASSERT_INT(first_4_64_79[0], mib_of(device, 0));
    ASSERT_INT(first_4_64_79[1], mib_of(device, 4));
    ASSERT_INT(first_4_64_79[2], mib_of(device, 64));
    ASSERT_INT(first_4_64_79[3], mib_of(device, 79));
}

TEST(wipe_kinds)
{
    skip_without_private_mounts();
    static const struct {
        enum wipe_kind kind;
        const char *mibs;
    } rows[] = {
        { WIPE_QUICK, "0xx0" }, { WIPE_ZERO, "0000" }, { WIPE_RANDOM, "????" }, { WIPE_DISCARD, "0000" }
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char device[32];
        struct test_dir *d = begin(device);
        struct wipe_progress where = { 0 };
        struct wipe w = { .kind = rows[i].kind, .passes = 1, .owner = "o", .where = &where };

        ASSERT_OK(device_wipe(device, &w, &err));
        assert_mibs(device, rows[i].mibs);
        if (rows[i].kind != WIPE_QUICK)
            assert_true(atomic_load(&where.done_bytes) == SIZE && atomic_load(&where.total_bytes) == SIZE);
        d = mounts_dir_free(d);
    }
}

/* Where it goes on; what is no position, or another's, is none. */
TEST(wipe_positions)
{
    skip_without_private_mounts();
    static const struct {
        const char *state, *mibs;
    } rows[] = {
        { "o 83886080 0 67108864\n", "xx00" },
        { "o 83886080 1 0\n", "xxxx" },
        { "p 83886080 0 67108864\n", "0000" },
        { "o 83886081 0 67108864\n", "0000" },
        { "o 83886080 0 83886081\n", "0000" },
        { "o 83886080 2 0\n", "0000" },
        { "o 83886080\n", "0000" },
        { "o\n", "0000" },
        { "", "0000" },
        { "o 83886080 0 -5\n", "0000" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(buf_done_p) struct buf text = BUF_INIT(100);
        char device[32], state[TEST_PATH_BYTES * 2];
        struct test_dir *d = begin(device);
        struct wipe w = { .kind = WIPE_ZERO, .passes = 1, .owner = "o", .state_path = state };

        (void)snprintf(state, sizeof state, "%s", in_dir(d, "state"));
        put_file(state, rows[i].state);
        ASSERT_OK(device_wipe(device, &w, &err));
        assert_mibs(device, rows[i].mibs);
        ASSERT_OK(io_read_file(state, 100, &text, &err));
        ASSERT_STR("o 83886080 1 0\n", buf_cstr(&text)); /* done */
        d = mounts_dir_free(d);
    }
}

TEST(wipe_stops)
{
    skip_without_private_mounts();
    char device[32];
    struct test_dir *d = begin(device);
    host_stop stop = 1;
    struct wipe w = { .kind = WIPE_ZERO, .passes = 1, .owner = "o", .stop = &stop };

    ASSERT_ERR(ERR_CANCELLED, device_wipe(device, &w, &err));
    w.kind = WIPE_DISCARD;
    ASSERT_ERR(ERR_CANCELLED, device_wipe(device, &w, &err));
    assert_mibs(device, "xxxx");
    d = mounts_dir_free(d);
}

TEST(wipe_refusals)
{
    skip_without_private_mounts();
    char device[32];
    struct test_dir *d = begin(device);
    struct wipe w = { .kind = WIPE_ZERO, .passes = 1, .owner = "o" };

    ASSERT_ERR(ERR_NOT_FOUND, device_wipe(in_dir(d, "none"), &w, &err));
    ASSERT_ERR(ERR_INVALID, device_wipe(in_dir(d, "disk"), &w, &err));
    ASSERT_ERR(ERR_INVALID, device_wipe("/dev/null", &w, &err));
    assert_int_equal(mkfifo(in_dir(d, "fifo"), 0600), 0);
    ASSERT_ERR(ERR_INVALID, device_wipe(in_dir(d, "fifo"), &w, &err));
    sh("mkfs.ext4 -q -F %s", device);
    assert_int_equal(mkdir(in_dir(d, "m"), 0755), 0);
    assert_int_equal(mount(device, in_dir(d, "m"), "ext4", 0, NULL), 0);
    put_file(in_dir(d, "m/data"), "x");
    ASSERT_ERR(ERR_BUSY, device_wipe(device, &w, &err));
    assert_int_equal(access(in_dir(d, "m/data"), F_OK), 0);
    d = mounts_dir_free(d);
}

TEST_MAIN()
