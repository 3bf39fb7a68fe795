/* Backups: whole, of one moment, also beside a server that writes; restored into empty directories alone. */
#include "tests/unit/test_store.h"

#include <dirent.h>
#include <sqlite3.h>

#include "io/pool.h"
#include "io/seal.h"

#define CM KIND_CONFIG_MAP
#define RESTORED_REVISION INT64_C(1000000000)

static unsigned count_entries(const char *path)
{
    DIR *d = opendir(path);
    unsigned count = 0;
    struct dirent *e;

    assert_non_null(d);
    while ((e = readdir(d)))
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(d);
    return count;
}

static struct store *open_in(struct loop *l, const char *dir)
{
    struct store *s = NULL;
    struct error err = { 0 };

    ASSERT_OK(store_open_sqlite(dir, l, NULL, &s, &err));
    return s;
}

static void fill(const char *dir)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(store_free_p) struct store *s = open_in(l, dir);

    ASSERT_INT(0, put_in(l, s, CM, "a", "x", "1"));
    ASSERT_INT(0, put_in(l, s, CM, "a", "y", "2"));
    ASSERT_INT(0, put_in(l, s, CM, "a", "x", "3"));
    ASSERT_INT(0, put_in(l, s, CM, "a", "y", NULL));
}

struct seen {
    unsigned calls, checks;
    uint64_t done;
    uint64_t total;
};

static void see(void *ctx, enum store_phase phase, uint64_t done, uint64_t total)
{
    struct seen *seen = ctx;

    if (phase == STORE_CHECKING) {
        assert_true(done == 0 && total == 0);
        ASSERT_INT(0, seen->calls); /* it comes before copying */
        seen->checks++;
        return;
    }
    seen->calls++;
    assert_true(done <= total);
    assert_true(done >= seen->done);
    seen->done = done;
    seen->total = total;
}

TEST(a_backup_is_restored)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    struct seen seen = { 0 };
    struct stat st;

    fill(in_dir(&d, "data"));
    ASSERT_OK(store_backup(in_dir(&d, "data"), in_dir(&d, "copy"), see, &seen, &err));
    assert_true(seen.calls > 0);
    assert_true(seen.total > 0);
    ASSERT_INT(seen.total, seen.done);
    ASSERT_INT(0, seen.checks);
    assert_int_equal(stat(in_dir(&d, "copy"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    ASSERT_INT(st.st_size, seen.total);   /* in bytes */
    ASSERT_INT(2, count_entries(d.path)); /* no journal, nothing temporary */
    seen = (struct seen){ 0 };
    ASSERT_OK(store_restore(in_dir(&d, "copy"), in_dir(&d, "new/place"), see, &seen, &err));
    assert_true(seen.checks > 0);
    assert_true(seen.calls > 0);
    ASSERT_INT(st.st_size, seen.done);

    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(store_free_p) struct store *s = open_in(l, in_dir(&d, "new/place"));
    ASSERT_STR("a/x=3@3", iter_text(s, CM, NULL, "", "", 0));
    /* What the lost server gave out after the backup is not given out again, nor watched from. */
    ASSERT_INT(RESTORED_REVISION + 4, store_revision(s));
    ASSERT_INT(RESTORED_REVISION + 4, store_history_start(s));
    ASSERT_ERR(ERR_GONE, store_replay(s, CM, 4, replay_to, NULL, &err));
    ASSERT_INT(0, put_in(l, s, CM, "a", "z", "5"));
    ASSERT_STR("+a/z=5@1000000005", replay_text(s, CM, RESTORED_REVISION + 4));
}

TEST(a_backup_replaces_an_older_one)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    fill(in_dir(&d, "data"));
    put_file(in_dir(&d, "copy"), "old");
    ASSERT_OK(store_backup(in_dir(&d, "data"), in_dir(&d, "copy"), NULL, NULL, &err));
    ASSERT_OK(store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err));
}

TEST(a_backup_that_fails_leaves_nothing)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    ASSERT_ERR(ERR_NOT_FOUND, store_backup(in_dir(&d, "data"), in_dir(&d, "copy"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "data/berth.db"));
    fill(in_dir(&d, "data"));
    ASSERT_ERR(ERR_NOT_FOUND, store_backup(in_dir(&d, "data"), in_dir(&d, "no/copy"), NULL, NULL, &err));
    ASSERT_ERR(ERR_INVALID,
               store_backup(in_dir(&d, "data"), in_dir(&d, "data/../data/berth.db"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "is the database itself"));
    put_file(in_dir(&d, "data/berth.db"),
             "damaged, and longer than the hundred bytes of a database's header, "
             "so that it is read and found to be none");
    ASSERT_ERR(ERR_INVALID, store_backup(in_dir(&d, "data"), in_dir(&d, "copy"), NULL, NULL, &err));
    ASSERT_INT(1, count_entries(d.path));
}

TEST(a_backup_without_space_leaves_nothing)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    fill(in_dir(&d, "data"));
    assert_int_equal(mkdir(in_dir(&d, "small"), 0700), 0);
    assert_int_equal(mount("tmpfs", in_dir(&d, "small"), "tmpfs", 0, "size=32k"), 0);
    ASSERT_ERR(ERR_IO, store_backup(in_dir(&d, "data"), in_dir(&d, "small/copy"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "small/copy': the disk is full"));
    ASSERT_INT(0, count_entries(in_dir(&d, "small")));
    assert_int_equal(umount(in_dir(&d, "small")), 0);
}

/* --- Beside a server --- */

struct busy {
    struct store *store;
    struct put puts[64];
    unsigned next;
};

struct backup_work {
    struct pool_work work;
    const char *dir;
    const char *file;
    struct error err;
    int r;
    bool is_done;
};

static int backup_run(void *ctx)
{
    struct backup_work *b = ctx;

    return store_backup(b->dir, b->file, NULL, NULL, &b->err);
}

static void backup_on_done(void *ctx, int r)
{
    struct backup_work *b = ctx;

    b->r = r;
    b->is_done = true;
}

/* Every name is written with the value of its round; a moment shows at most two neighbouring rounds. */
static void busy_write(struct busy *b)
{
    char name[16], value[16];

    for (unsigned i = 0; i < ARRAY_LEN(b->puts); i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        (void)snprintf(value, sizeof value, "%u", b->next);
        put_submit(b->store, &b->puts[i], CM, "a", name, value);
    }
    b->next++;
}

static void check_one_moment(const char *dir)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    _cleanup_(store_free_p) struct store *s = open_in(l, dir);
    long first = strtol(value_of(store_get(s, CM, "a", "n0")), NULL, 10), before = first;

    /* The names are written one after the other: the first ones may be a round ahead of the others. */
    ASSERT_INT(64, store_count(s, CM));
    for (unsigned i = 0; i < 64; i++) {
        char name[16];
        long value;
        (void)snprintf(name, sizeof name, "n%u", i);
        value = strtol(value_of(store_get(s, CM, "a", name)), NULL, 10);
        assert_true(value == before || (before == first && value == first - 1));
        before = value;
    }
}

TEST(a_backup_beside_a_writing_server_is_of_one_moment)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    char dir[TEST_PATH_BYTES * 2], file[TEST_PATH_BYTES * 2];
    struct loop *l = new_loop(NULL);
    struct pool *pool = NULL;
    struct error err = { 0 };
    struct busy b = { 0 };

    (void)snprintf(dir, sizeof dir, "%s", in_dir(&d, "data"));
    (void)snprintf(file, sizeof file, "%s", in_dir(&d, "copy"));
    b.store = open_in(l, dir);
    ASSERT_OK(pool_new(l, 1, 1, &pool, &err));
    for (unsigned round = 0; round < 4; round++) {
        struct backup_work work = { .dir = dir, .file = file };
        char name[32];
        busy_write(&b);
        run_until(l, &b.puts[63].is_done);
        ASSERT_OK(pool_submit(pool, &work.work, backup_run, backup_on_done, &work, &err));
        while (!work.is_done) {
            busy_write(&b);
            run_until(l, &b.puts[63].is_done);
        }
        if (work.r < 0)
            fail_msg("%s", work.err.msg);
        (void)snprintf(name, sizeof name, "restored%u", round);
        ASSERT_OK(store_restore(file, in_dir(&d, name), NULL, NULL, &err));
        check_one_moment(in_dir(&d, name));
    }
    (void)pool_free(pool);
    (void)store_free(b.store);
    (void)loop_free(l);
}

/* --- Damaged backups --- */

#define FLIPS 200
#define OLD_FLIPS 40 /* each of them may be restored, and synced */

/* Flips one bit; the same again puts it right. */
static void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    unsigned char byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= (unsigned char)(1U << at % 7);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    assert_int_equal(close(fd), 0);
}

static void make_backup(const struct test_dir *d, off_t *ret_size)
{
    struct error err = { 0 };
    struct stat st;

    fill(in_dir(d, "data"));
    ASSERT_OK(store_backup(in_dir(d, "data"), in_dir(d, "copy"), NULL, NULL, &err));
    assert_int_equal(stat(in_dir(d, "copy"), &st), 0);
    *ret_size = st.st_size;
}

TEST(a_backup_with_any_flipped_bit_is_refused)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    off_t size;

    make_backup(&d, &size);
    assert_int_equal(mkdir(in_dir(&d, "new"), 0700), 0);
    /* Spread over the pages, and then every byte of the checksum. */
    for (off_t at = 0; at < size; at += at < size - SEAL_BYTES - size / FLIPS ? size / FLIPS : 1) {
        flip(in_dir(&d, "copy"), at);
        if (store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err) == 0)
            fail_msg("a flipped bit at byte %jd of %jd is not noticed", (intmax_t)at, (intmax_t)size);
        ASSERT_INT(0, count_entries(in_dir(&d, "new")));
        flip(in_dir(&d, "copy"), at);
    }
    ASSERT_OK(store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err));
}

TEST(a_backup_that_is_cut_off_is_refused)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    off_t size;

    make_backup(&d, &size);
    for (off_t left = size - 1; left > 0; left -= 997) {
        assert_int_equal(truncate(in_dir(&d, "copy"), left), 0);
        if (left == size - SEAL_BYTES)
            continue; /* as an older release made it */
        if (store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err) == 0)
            fail_msg("%jd of %jd bytes are taken for a backup", (intmax_t)left, (intmax_t)size);
    }
    ASSERT_INT(-1, access(in_dir(&d, "new"), F_OK));
}

/* Without a checksum not every flipped bit shows, but what is restored opens. */
TEST(a_backup_of_an_older_release_is_checked_row_by_row)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    unsigned refused = 0;
    bool has_checksum;
    off_t size;

    make_backup(&d, &size);
    ASSERT_OK(store_backup_has_checksum(in_dir(&d, "copy"), &has_checksum, &err));
    assert_true(has_checksum);
    size -= SEAL_BYTES;
    assert_int_equal(truncate(in_dir(&d, "copy"), size), 0);
    ASSERT_OK(store_backup_has_checksum(in_dir(&d, "copy"), &has_checksum, &err));
    assert_false(has_checksum);
    for (off_t at = 0; at < size; at += size / OLD_FLIPS) {
        char name[32];
        (void)snprintf(name, sizeof name, "new%jd", (intmax_t)at);
        flip(in_dir(&d, "copy"), at);
        if (store_restore(in_dir(&d, "copy"), in_dir(&d, name), NULL, NULL, &err) == 0) {
            struct loop *l = new_loop(NULL);
            (void)store_free(open_in(l, in_dir(&d, name)));
            (void)loop_free(l);
        } else {
            refused++;
        }
        flip(in_dir(&d, "copy"), at);
    }
    assert_true(refused > 0);
    ASSERT_OK(store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err));
}

/* SQLite finds nothing wrong with these. */
TEST(rows_that_the_server_would_refuse_are_refused)
{
    static const char *const statements[] = {
        "UPDATE log SET body='{' WHERE revision=3",      "UPDATE log SET name='other' WHERE revision=3",
        "UPDATE log SET resource='x' WHERE revision=3",  "UPDATE log SET ns='' WHERE revision=3",
        "UPDATE meta SET value=-1 WHERE key='revision'", "UPDATE meta SET value=9e18 WHERE key='revision'",
        "UPDATE log SET revision=9 WHERE revision=3",    "DELETE FROM meta",
    };
    struct error err = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        sqlite3 *db = NULL;
        off_t size;
        make_backup(&d, &size);
        assert_int_equal(truncate(in_dir(&d, "copy"), size - SEAL_BYTES), 0);
        assert_int_equal(sqlite3_open(in_dir(&d, "copy"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, statements[i], NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        if (store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err) == 0)
            fail_msg("%s", statements[i]);
        assert_non_null(strstr(err.msg, in_dir(&d, "copy")));
        ASSERT_INT(-1, access(in_dir(&d, "new"), F_OK));
    }
}

/* --- Refusals of restore --- */

TEST(restore_wants_an_empty_directory)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    fill(in_dir(&d, "data"));
    ASSERT_OK(store_backup(in_dir(&d, "data"), in_dir(&d, "copy"), NULL, NULL, &err));
    ASSERT_ERR(ERR_EXISTS, store_restore(in_dir(&d, "copy"), in_dir(&d, "data"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "is not empty: a backup is restored into an empty directory only"));
    assert_int_equal(mkdir(in_dir(&d, "other"), 0700), 0);
    put_file(in_dir(&d, "other/kubeconfig"), "x");
    ASSERT_ERR(ERR_EXISTS, store_restore(in_dir(&d, "copy"), in_dir(&d, "other"), NULL, NULL, &err));
    /* What a restore that failed leaves behind does not stand in the way. */
    assert_int_equal(mkdir(in_dir(&d, "tried"), 0700), 0);
    put_file(in_dir(&d, "tried/lock"), "1\n");
    put_file(in_dir(&d, "tried/.berth-tmp-0123"), "x");
    ASSERT_OK(store_restore(in_dir(&d, "copy"), in_dir(&d, "tried"), NULL, NULL, &err));
    put_file(in_dir(&d, "file"), "x");
    assert_true(store_restore(in_dir(&d, "copy"), in_dir(&d, "file"), NULL, NULL, &err) < 0);
}

TEST(restore_checks_the_backup)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    sqlite3 *db = NULL;
    int fd;

    ASSERT_ERR(ERR_NOT_FOUND, store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err));
    fill(in_dir(&d, "data"));
    ASSERT_OK(store_backup(in_dir(&d, "data"), in_dir(&d, "copy"), NULL, NULL, &err));
    assert_int_equal(sqlite3_open(in_dir(&d, "copy"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=9", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    ASSERT_ERR(ERR_INVALID, store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err));
    assert_non_null(strstr(err.msg, "was written by a newer berth (schema 9, this one supports up to 1)"));

    ASSERT_OK(store_backup(in_dir(&d, "data"), in_dir(&d, "copy"), NULL, NULL, &err));
    fd = open(in_dir(&d, "copy"), O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, 16384 + 2), 8);
    assert_int_equal(close(fd), 0);
    ASSERT_ERR(ERR_INVALID, store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err));
    put_file(in_dir(&d, "copy"),
             "not a database at all, but long enough to have a header that can be read and "
             "found to be of another kind");
    ASSERT_ERR(ERR_INVALID, store_restore(in_dir(&d, "copy"), in_dir(&d, "new"), NULL, NULL, &err));
    ASSERT_INT(-1, access(in_dir(&d, "new"), F_OK)); /* nothing was made */
}

TEST_MAIN()
