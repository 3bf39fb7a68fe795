/* The store on SQLite: what survives a restart, a kill, a full disk; what is refused. */
#include "tests/unit/test_store.h"

#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "io/file.h"

#define CM KIND_CONFIG_MAP
#define KILL_ROUNDS 6

struct world {
    struct loop *loop;
    struct store *store;
};

static struct world world_open(const char *dir, const struct store_options *o)
{
    struct world w = { .loop = new_loop(NULL) };
    struct error err = { 0 };

    ASSERT_OK(store_open_sqlite(dir, w.loop, o, &w.store, &err));
    return w;
}

static void world_close(struct world *w)
{
    w->store = store_free(w->store);
    w->loop = loop_free(w->loop);
}

static void world_put(struct world *w, enum kind k, const char *ns, const char *name, const char *value)
{
    ASSERT_INT(0, put_in(w->loop, w->store, k, ns, name, value));
}

/* The error of opening; err.msg holds the words. */
static int open_fails(const char *dir, struct error *err)
{
    _cleanup_(loop_free_p) struct loop *l = new_loop(NULL);
    struct store *s = NULL;
    int r = store_open_sqlite(dir, l, NULL, &s, err);

    assert_null(s);
    return r;
}

static void sql(const char *path, const char *statements)
{
    sqlite3 *db = NULL;
    char *msg = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, statements, NULL, NULL, &msg) != SQLITE_OK)
        fail_msg("%s: %s", statements, msg);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int64_t sql_number(const char *path, const char *statement)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *s = NULL;
    int64_t n;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, statement, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    n = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return n;
}

/* --- Restarts --- */

TEST(everything_is_there_after_a_restart)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    const char *dir = in_dir(&d, "deep/data");
    struct world w = world_open(dir, NULL);

    world_put(&w, CM, "a", "x", "1");
    world_put(&w, KIND_CLASS, "", "fast", "2");
    world_put(&w, CM, "a", "y", "3");
    world_put(&w, CM, "a", "x", "4");
    world_put(&w, CM, "a", "y", NULL);
    world_put(&w, KIND_EVENT, "a", "e", "6");
    world_close(&w);

    w = world_open(dir, NULL);
    ASSERT_INT(6, store_revision(w.store));
    ASSERT_INT(0, store_history_start(w.store));
    ASSERT_STR("a/x=4@4", iter_text(w.store, CM, NULL, "", "", 0));
    ASSERT_STR("/fast=2@2", iter_text(w.store, KIND_CLASS, NULL, "", "", 0));
    ASSERT_STR("a/e=6@6", iter_text(w.store, KIND_EVENT, NULL, "", "", 0));
    ASSERT_STR("a/x=4@4 a/y=3@3", iter_text(w.store, CM, NULL, "", "", 4));
    /* Watches go on; a deletion tells the last state with its own revision. */
    ASSERT_STR("+a/y=3@3 ~a/x=4@4<1@1 -a/y=3@5<3@3", replay_text(w.store, CM, 2));
    ASSERT_INT(7, store_reserve(w.store));
    world_close(&w);
}

TEST(the_text_is_the_same_after_a_restart)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    _cleanup_(object_unref_p) struct object *before = NULL;
    struct world w = world_open(d.path, NULL);
    const struct object *after;

    world_put(&w, KIND_NODE, "", "n\\u00e9", "q\\\"\\\\ \\u0001 \\ud83d\\ude00");
    before = object_ref(store_get(w.store, KIND_NODE, "", "n\xc3\xa9"));
    world_close(&w);
    w = world_open(d.path, NULL);
    after = store_get(w.store, KIND_NODE, "", "n\xc3\xa9");
    assert_non_null(after);
    assert_true(str_eq(before->text, after->text));
    world_close(&w);
}

TEST(the_files_are_for_their_owner_alone)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const char *const names[] = { "data", "data/berth.db", "data/berth.db-wal", "data/lock" };
    mode_t old = umask(0);
    struct world w = world_open(in_dir(&d, "data"), NULL);

    world_put(&w, KIND_SECRET, "a", "x", "1");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct stat st;
        assert_int_equal(stat(in_dir(&d, names[i]), &st), 0);
        assert_int_equal(st.st_mode & 077, 0);
    }
    world_close(&w);
    (void)umask(old);
}

TEST(a_second_process_is_refused)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct world w = world_open(d.path, NULL);
    struct error err = { 0 };

    ASSERT_ERR(ERR_BUSY, open_fails(d.path, &err));
    assert_non_null(strstr(err.msg, "is in use by process "));
    world_put(&w, CM, "a", "x", "1");
    world_close(&w);
    w = world_open(d.path, NULL); /* and free again afterwards */
    world_close(&w);
}

TEST(the_ring_may_change_its_size_between_runs)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct world w = world_open(d.path, NULL);

    for (unsigned i = 0; i < 20; i++)
        world_put(&w, CM, "a", i % 2 ? "x" : "y", i % 5 == 4 ? NULL : "v");
    const char *all = iter_text(w.store, CM, NULL, "", "", 0);
    char *kept = strdup(all);
    world_close(&w);

    w = world_open(d.path, &(struct store_options){ .history_count = 4 });
    ASSERT_INT(16, store_history_start(w.store));
    ASSERT_STR(kept, iter_text(w.store, CM, NULL, "", "", 0));
    world_close(&w);
    w = world_open(d.path, NULL); /* nothing was dropped yet, so all of it is there again */
    ASSERT_INT(0, store_history_start(w.store));
    ASSERT_STR(kept, iter_text(w.store, CM, NULL, "", "", 0));
    world_close(&w);
    free(kept);
}

/* --- Dropping rows --- */

static void put_many(struct world *w, unsigned count, bool deletes)
{
    struct put *puts = calloc(count, sizeof *puts);
    char name[32];

    assert_non_null(puts);
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "n%u", i % 50);
        put_submit(w->store, &puts[i], CM, "a", name, deletes && i % 100 >= 50 ? NULL : "v");
    }
    run_until(w->loop, &puts[count - 1].is_done);
    for (unsigned i = 0; i < count; i++)
        ASSERT_INT(0, puts[i].r);
    free(puts);
}

TEST(old_rows_are_dropped_and_the_rest_survives)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct store_options o = { .history_count = 100 };
    struct world w = world_open(d.path, &o);
    struct error err = { 0 };

    put_many(&w, 4000, true);
    world_put(&w, CM, "keep", "x", "1");
    put_many(&w, 4000, false);
    pool_drain(w.store->pool);
    world_close(&w);
    assert_true(sql_number(in_dir(&d, "berth.db"), "SELECT count(*) FROM log") < 3500);
    assert_true(sql_number(in_dir(&d, "berth.db"), "SELECT value FROM meta WHERE key='history_start'") >
                4000);

    w = world_open(d.path, &(struct store_options){ .history_count = 100000 });
    ASSERT_INT(8001, store_revision(w.store));
    ASSERT_INT(51, store_count(w.store, CM));
    ASSERT_STR("1", value_of(store_get(w.store, CM, "keep", "x")));
    /* A larger ring does not claim what was dropped. */
    assert_true(store_history_start(w.store) > 4000);
    ASSERT_ERR(ERR_GONE, store_replay(w.store, CM, 4000, replay_to, NULL, &err));
    ASSERT_STR("~a/n49=v@8001<v@7951", replay_text(w.store, CM, 8000));
    world_close(&w);
}

TEST(the_revision_outlives_the_rows)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct world w = world_open(d.path, NULL);

    world_put(&w, CM, "a", "x", "1");
    world_put(&w, CM, "a", "x", NULL);
    world_close(&w);
    sql(in_dir(&d, "berth.db"), "UPDATE meta SET value=2; DELETE FROM log");
    w = world_open(d.path, NULL);
    ASSERT_INT(2, store_revision(w.store));
    ASSERT_INT(2, store_history_start(w.store));
    ASSERT_INT(3, store_reserve(w.store));
    world_close(&w);
}

/* --- Refusals --- */

static void truncate_file(const char *path, off_t size)
{
    assert_int_equal(truncate(path, size), 0);
}

static void overwrite(const char *path, off_t at, const char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, len, at), len);
    assert_int_equal(close(fd), 0);
}

static void make_data(const struct test_dir *d)
{
    struct world w = world_open(d->path, NULL);

    put_many(&w, 1000, false);
    world_close(&w);
}

TEST(damaged_files_are_refused)
{
    struct error err = { 0 };

    for (unsigned i = 0; i < 5; i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        const char *path = in_dir(&d, "berth.db");
        make_data(&d);
        if (i == 0)
            truncate_file(path, 0);
        else if (i == 1)
            truncate_file(path, 100);
        else if (i == 2)
            truncate_file(path, 2 * (off_t)16384);
        else if (i == 3)
            put_file(path, "this is no database, but it is long enough to have a header of one hundred bytes "
                           "and then some more text behind it");
        else
            overwrite(path, 2 * (off_t)16384 + 8, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
        ASSERT_ERR(ERR_INVALID, open_fails(d.path, &err));
        assert_non_null(strstr(err.msg, path));
        assert_non_null(strstr(err.msg, "restore a sound backup into a new directory with 'berth restore'"));
    }
}

TEST(foreign_and_newer_files_are_refused)
{
    static const struct {
        const char *sql;
        const char *words;
    } rows[] = {
        { "PRAGMA application_id=1", "is damaged or not a database of berth" },
        { "PRAGMA user_version=0", "is damaged or not a database of berth" },
        { "PRAGMA user_version=2", "was written by a newer berth (schema 2, this one knows 1)" },
        { "DROP TABLE log", "no such table: log" },
        { "DELETE FROM meta", "a value is missing" },
        { "UPDATE log SET resource='things' WHERE revision=5", "revision 5 is damaged: it names no object" },
        { "UPDATE log SET name='y' WHERE revision=5", "it holds another object than it says" },
        { "UPDATE log SET ns='b' WHERE revision=5", "it holds another object than it says" },
        { "UPDATE log SET revision=5000 WHERE revision=5", "it holds another object than it says" },
        { "UPDATE log SET ns='' WHERE revision=5", "its namespace does not fit its kind" },
        { "UPDATE log SET body='{' WHERE revision=5", "the row of revision 5 is damaged" },
        { "UPDATE log SET body='' WHERE revision=5", "the row of revision 5 is damaged" },
        { "UPDATE log SET body=NULL WHERE revision=1", "it deletes what is not there" },
        { "UPDATE log SET name=x'6100' WHERE revision=1", "its name holds a NUL byte" },
        { "UPDATE log SET revision=-1 WHERE revision=1", "it names no object" },
    };
    struct error err = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
        make_data(&d);
        sql(in_dir(&d, "berth.db"), rows[i].sql);
        assert_true(open_fails(d.path, &err) < 0);
        if (!strstr(err.msg, rows[i].words))
            fail_msg("%s: %s", rows[i].sql, err.msg);
        assert_non_null(strstr(err.msg, in_dir(&d, "berth.db")));
    }
}

/* A journal without its database must not be taken in by a new one. */
TEST(a_lost_database_is_not_replaced_under_its_journal)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    put_file(in_dir(&d, "berth.db-wal"), "left behind");
    ASSERT_ERR(ERR_INVALID, open_fails(d.path, &err));
    assert_non_null(strstr(err.msg, "is missing, but its journal"));
}

TEST(a_torn_journal_loses_only_what_was_never_acknowledged)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    char from[TEST_PATH_BYTES * 3], to[TEST_PATH_BYTES * 3], command[TEST_PATH_BYTES * 8];
    struct world w = world_open(d.path, NULL);
    struct stat st;

    world_put(&w, CM, "a", "x", "1");
    world_put(&w, CM, "a", "y", "2");
    /* A copy as a crash would leave it, with half a frame at the end of the journal. */
    assert_int_equal(mkdir(in_dir(&d, "copy"), 0700), 0);
    (void)snprintf(from, sizeof from, "%s", in_dir(&d, "berth.db"));
    (void)snprintf(to, sizeof to, "%s", in_dir(&d, "copy"));
    (void)snprintf(command, sizeof command, "%s-wal", from);
    assert_int_equal(stat(command, &st), 0);
    for (unsigned i = 0; i < 2; i++) {
        _cleanup_(buf_done_p) struct buf bytes = BUF_INIT(0);
        struct error err = { 0 };
        char name[TEST_PATH_BYTES * 4];
        (void)snprintf(command, sizeof command, "%s%s", from, i ? "-wal" : "");
        ASSERT_OK(io_read_file(command, 64 << 20, &bytes, &err));
        (void)snprintf(name, sizeof name, "%s/berth.db%s", to, i ? "-wal" : "");
        ASSERT_OK(io_replace_file(name, bytes.data, bytes.len, 0600, &err));
        if (i)
            truncate_file(name, st.st_size - 5000);
    }
    world_close(&w);
    w = world_open(in_dir(&d, "copy"), NULL);
    ASSERT_STR("a/x=1@1", iter_text(w.store, CM, NULL, "", "", 0));
    ASSERT_INT(2, store_reserve(w.store));
    world_close(&w);
}

/* --- Full and read-only disks --- */

/* Waits for a write that may fail. */
static int try_put(struct world *w, const char *name, const char *value, struct error *ret)
{
    struct put p = { 0 };

    put_submit(w->store, &p, CM, "a", name, value);
    run_until(w->loop, &p.is_done);
    *ret = p.err;
    return p.r;
}

TEST(a_full_disk_refuses_writes_until_there_is_space)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static char big[100001];
    struct error err = { 0 }, health = { 0 };
    struct world w;
    unsigned written = 0;
    int r = 0;

    memset(big, 'v', sizeof big - 1);
    assert_int_equal(mount("tmpfs", d.path, "tmpfs", 0, "size=4m"), 0);
    w = world_open(d.path, NULL);
    while (written < 200 && (r = try_put(&w, written % 2 ? "x" : "y", big, &err)) == 0)
        written++;
    assert_true(written > 5);
    ASSERT_INT(-ERR_IO, r);
    assert_non_null(strstr(err.msg, "the disk is full"));
    ASSERT_INT(-ERR_IO, store_check(w.store, &health));
    /* Reads go on; another try fails in the same way; what failed is not there. */
    ASSERT_INT(written, store_revision(w.store));
    ASSERT_INT(2, store_count(w.store, CM));
    ASSERT_INT(-ERR_IO, try_put(&w, "z", big, &err));
    assert_null(store_get(w.store, CM, "a", "z"));
    assert_int_equal(mount("tmpfs", d.path, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    ASSERT_INT(0, try_put(&w, "z", big, &err));
    ASSERT_INT(written + 3, store_revision(w.store));
    ASSERT_OK(store_check(w.store, &health));
    world_close(&w);
    w = world_open(d.path, NULL);
    ASSERT_INT(3, store_count(w.store, CM));
    ASSERT_INT(written + 3, store_revision(w.store));
    world_close(&w);
    assert_int_equal(umount(d.path), 0);
}

TEST(a_read_only_disk_is_refused)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    struct world w;

    assert_int_equal(mount("tmpfs", d.path, "tmpfs", 0, "size=4m"), 0);
    w = world_open(d.path, NULL);
    ASSERT_INT(0, try_put(&w, "x", "1", &err));
    world_close(&w);
    assert_int_equal(mount("tmpfs", d.path, "tmpfs", MS_REMOUNT | MS_RDONLY, NULL), 0);
    ASSERT_INT(-ERR_IO, open_fails(d.path, &err));
    assert_non_null(strstr(err.msg, "Read-only file system"));
    assert_int_equal(umount(d.path), 0);
}

/* A limit on the size of files is as good as a disk that answers with an error. */
TEST(an_error_of_the_disk_refuses_writes_until_it_is_over)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 }, health = { 0 };
    struct world w = world_open(d.path, NULL);
    struct rlimit old, tight;

    ASSERT_INT(0, try_put(&w, "x", "1", &err));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 16384;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    ASSERT_INT(-ERR_IO, try_put(&w, "x", "2", &err));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_non_null(strstr(err.msg, in_dir(&d, "berth.db")));
    if (!strstr(err.msg, "File too large"))
        fail_msg("%s", err.msg);
    ASSERT_INT(-ERR_IO, store_check(w.store, &health));
    ASSERT_STR("1", value_of(store_get(w.store, CM, "a", "x")));
    ASSERT_INT(0, try_put(&w, "x", "3", &err));
    world_close(&w);
    w = world_open(d.path, NULL);
    ASSERT_STR("a/x=3@3", iter_text(w.store, CM, NULL, "", "", 0));
    world_close(&w);
}

/* --- kill -9 --- */

/* Writes without end and tells each acknowledged revision, with the name it went under. */
struct killed {
    struct world w;
    int fd;
    uint64_t count;
};

struct told {
    int64_t revision;
    uint32_t name;
    uint32_t is_delete;
};

static void killed_next(struct killed *k, unsigned i);

struct killed_slot {
    struct killed *k;
    struct store_write write;
    struct told told;
    unsigned i;
};

static struct killed_slot killed_slots[16];

static void killed_on_done(void *ctx, int r, const struct error *err)
{
    struct killed_slot *slot = ctx;

    (void)err;
    if (r < 0 || write(slot->k->fd, &slot->told, sizeof slot->told) != (ssize_t)sizeof slot->told)
        _exit(3);
    killed_next(slot->k, slot->i);
}

static void killed_next(struct killed *k, unsigned i)
{
    struct killed_slot *slot = &killed_slots[i];
    char name[16];
    struct object *o;

    slot->k = k;
    slot->i = i;
    slot->told.revision = store_reserve(k->w.store);
    slot->told.name = i * 8 + (uint32_t)(k->count % 8);
    (void)snprintf(name, sizeof name, "n%u", slot->told.name);
    slot->told.is_delete = k->count++ % 7 == 3 && store_get_newest(k->w.store, CM, "a", name);
    o = make_object(CM, "a", name, slot->told.revision, "v");
    store_submit(k->w.store, &slot->write, o, slot->told.is_delete, killed_on_done, slot);
    (void)object_unref(o);
}

static _Noreturn void killed_child(const char *dir, int fd)
{
    static struct killed k;

    k.fd = fd;
    k.w = world_open(dir, &(struct store_options){ .history_count = 300 });
    for (unsigned i = 0; i < ARRAY_LEN(killed_slots); i++)
        killed_next(&k, i);
    for (;;)
        loop_run_once(k.w.loop);
}

#define TOLD_MAX 100000

struct tolds {
    struct told all[TOLD_MAX];
    size_t count;
};

/* Runs the child until it has told `count` ends, kills it, takes in what it told. */
static void kill_round(const char *dir, unsigned count, struct tolds *ret)
{
    int fds[2];
    struct told t;
    pid_t child;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(fds[0]);
        killed_child(dir, fds[1]);
    }
    assert_int_equal(close(fds[1]), 0);
    ret->count = 0;
    while (read(fds[0], &t, sizeof t) == (ssize_t)sizeof t) {
        assert_true(ret->count < TOLD_MAX);
        ret->all[ret->count++] = t;
        if (ret->count == count)
            assert_int_equal(kill(child, SIGKILL), 0); /* and the pipe still holds what was told by then */
    }
    assert_true(ret->count >= count);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(close(fds[0]), 0);
}

/* Goes through history beside what was told: both are in order of revision. */
struct compared {
    const struct tolds *told;
    size_t at;
};

static bool compare_event(void *ctx, const struct store_event *ev)
{
    struct compared *c = ctx;
    const struct told *t = &c->told->all[c->at];
    char name[16];

    if (c->at == c->told->count || t->revision > ev->revision)
        return true; /* committed and not told */
    (void)snprintf(name, sizeof name, "n%u", t->name);
    ASSERT_INT(ev->revision, t->revision); /* less: a revision that was told is missing */
    ASSERT_STR(name, ev->object->name);
    ASSERT_INT(ev->is_delete, t->is_delete != 0);
    c->at++;
    return true;
}

/* Scenario 87: every acknowledged write is there with its revision, and none is given out again. */
TEST(a_killed_writer_loses_nothing_acknowledged)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static struct tolds told;
    struct error err = { 0 };
    int64_t newest = 0;

    for (unsigned round = 0; round < KILL_ROUNDS; round++) {
        kill_round(d.path, 150 + round * 331, &told);
        assert_true(told.all[0].revision > newest); /* of all rounds before */
        newest = told.all[told.count - 1].revision;
        struct world w = world_open(d.path, NULL);
        struct compared c = { &told, 0 };
        while (told.all[c.at].revision <= store_history_start(w.store))
            c.at++;
        ASSERT_OK(store_replay(w.store, CM, store_history_start(w.store), compare_event, &c, &err));
        ASSERT_INT(told.count, c.at);
        assert_true(store_revision(w.store) >= newest);
        newest = store_revision(w.store);
        ASSERT_INT(newest + 1, store_reserve(w.store));
        world_close(&w);
    }
}

TEST_MAIN()
