/* The store on SQLite: what survives a restart, a kill, a full disk; what is refused. */
#include "tests/unit/test_store.h"

#include <sqlite3.h>
#include <sys/prctl.h>
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

/* Another process that has the store open, until it is killed. */
static pid_t fork_holder(const char *dir)
{
    int fds[2];
    char ready;
    pid_t child;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when this test fails */
        struct world w = world_open(dir, NULL);
        world_put(&w, CM, "a", "x", "1");
        (void)!write(fds[1], "y", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(read(fds[0], &ready, 1), 1);
    assert_int_equal(close(fds[0]), 0);
    return child;
}

static void kill_holder(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void assert_held(const char *dir, pid_t holder)
{
    struct error err = { 0 };
    char words[64];

    (void)snprintf(words, sizeof words, "is in use by process %d: stop that one first", holder);
    ASSERT_ERR(ERR_BUSY, open_fails(dir, &err));
    if (!strstr(err.msg, words))
        fail_msg("%s", err.msg);
}

/* The lock file may be removed by hand, and may not be there at all where else the database shows. */
TEST(the_database_itself_is_held)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    pid_t holder = fork_holder(in_dir(&d, "data"));
    struct world w;

    assert_int_equal(unlink(in_dir(&d, "data/lock")), 0);
    assert_held(in_dir(&d, "data"), holder);
    assert_int_equal(symlink("data", in_dir(&d, "other")), 0);
    assert_held(in_dir(&d, "other"), holder);
    assert_int_equal(mkdir(in_dir(&d, "linked"), 0700), 0);
    assert_int_equal(link(in_dir(&d, "data/berth.db"), in_dir(&d, "linked/berth.db")), 0);
    assert_held(in_dir(&d, "linked"), holder);
    assert_int_equal(unlink(in_dir(&d, "linked/berth.db")), 0);
    ASSERT_OK(
        store_backup(in_dir(&d, "data"), in_dir(&d, "copy"), NULL, NULL, &err)); /* readers are let in */
    kill_holder(holder);
    w = world_open(in_dir(&d, "data"), NULL);
    ASSERT_STR("a/x=1@1", iter_text(w.store, CM, NULL, "", "", 0));
    world_close(&w);
}

TEST(a_database_that_is_mounted_elsewhere_is_held)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    pid_t holder = fork_holder(in_dir(&d, "data"));

    assert_int_equal(mkdir(in_dir(&d, "bound"), 0700), 0);
    put_file(in_dir(&d, "bound/berth.db"), "");
    assert_int_equal(mount(in_dir(&d, "data/berth.db"), in_dir(&d, "bound/berth.db"), "", MS_BIND, NULL), 0);
    assert_held(in_dir(&d, "bound"), holder);
    assert_int_equal(umount(in_dir(&d, "bound/berth.db")), 0);
    kill_holder(holder);
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
        { "PRAGMA user_version=2", "was written by a newer berth (schema 2, this one supports up to 1)" },
        { "DROP TABLE log", "no such table: log" },
        { "DELETE FROM meta", "a value is missing" },
        { "UPDATE log SET resource='things' WHERE revision=5", "revision 5 is damaged: its key is invalid" },
        { "UPDATE log SET name='y' WHERE revision=5", "its object does not match its key" },
        { "UPDATE log SET ns='b' WHERE revision=5", "its object does not match its key" },
        { "UPDATE log SET revision=5000 WHERE revision=5", "its object does not match its key" },
        { "UPDATE log SET ns='' WHERE revision=5", "its namespace does not match its kind" },
        { "UPDATE log SET body='{' WHERE revision=5", "the row of revision 5 is damaged" },
        { "UPDATE log SET body='' WHERE revision=5", "the row of revision 5 is damaged" },
        { "UPDATE log SET body=NULL WHERE revision=1", "it deletes an object that does not exist" },
        { "UPDATE log SET name=x'6100' WHERE revision=1", "its name contains a NUL byte" },
        { "UPDATE log SET revision=-1 WHERE revision=1", "its key is invalid" },
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

/* --- Acknowledged writes that are missing --- */

static void copy_file(const char *from, const char *to)
{
    _cleanup_(buf_done_p) struct buf bytes = BUF_INIT(0);
    struct error err = { 0 };

    ASSERT_OK(io_read_file(from, 64 << 20, &bytes, &err));
    ASSERT_OK(io_replace_file(to, bytes.data, bytes.len, 0600, &err));
}

/* In d/crashed a data directory as kill -9 leaves it: revisions up to 2 are in the database, 3 to 5 in the
 * journal. d/old is the database when it had two, d/new the one that was closed with seven. */
static void make_crashed(const struct test_dir *d)
{
    static const char *const names[] = { "berth.db", "berth.db-wal", "berth.db-acked" };
    struct world w = world_open(in_dir(d, "data"), NULL);
    char name[64];

    world_put(&w, CM, "a", "x", "1");
    world_put(&w, CM, "a", "x", "2");
    world_close(&w);
    copy_file(in_dir(d, "data/berth.db"), in_dir(d, "old"));
    w = world_open(in_dir(d, "data"), NULL);
    world_put(&w, CM, "a", "y", "3");
    world_put(&w, CM, "a", "y", "4");
    world_put(&w, CM, "a", "x", NULL);
    assert_int_equal(mkdir(in_dir(d, "crashed"), 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char from[64];
        (void)snprintf(from, sizeof from, "data/%s", names[i]);
        (void)snprintf(name, sizeof name, "crashed/%s", names[i]);
        copy_file(in_dir(d, from), in_dir(d, name));
    }
    world_put(&w, CM, "a", "z", "6");
    world_put(&w, CM, "a", "z", "7");
    world_close(&w);
    copy_file(in_dir(d, "data/berth.db"), in_dir(d, "new"));
}

/* Another server's database, with ten writes. */
static void make_other(const struct test_dir *d)
{
    struct world w = world_open(in_dir(d, "foreign"), NULL);

    for (unsigned i = 0; i < 10; i++)
        world_put(&w, CM, "b", "o", "other");
    world_close(&w);
}

static void assert_refused(const struct test_dir *d, const char *words)
{
    struct error err = { 0 };

    ASSERT_ERR(ERR_INVALID, open_fails(in_dir(d, "crashed"), &err));
    if (!strstr(err.msg, words))
        fail_msg("'%s' is not in: %s", words, err.msg);
    assert_non_null(strstr(err.msg, in_dir(d, "crashed/berth.db")));
}

static void assert_crashed_opens(const struct test_dir *d)
{
    struct world w = world_open(in_dir(d, "crashed"), NULL);

    ASSERT_STR("a/y=4@4", iter_text(w.store, CM, NULL, "", "", 0));
    ASSERT_INT(5, store_revision(w.store));
    world_close(&w);
}

#define MISSING_3_TO_5 "lacks acknowledged writes, revisions 3 to 5"

TEST(a_crash_loses_nothing)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    make_crashed(&d);
    assert_crashed_opens(&d);
    assert_crashed_opens(&d); /* also without a journal, now that it was closed */
}

TEST(a_journal_that_was_moved_away_is_missed_until_it_is_back)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    make_crashed(&d);
    assert_int_equal(rename(in_dir(&d, "crashed/berth.db-wal"), in_dir(&d, "wal")), 0);
    assert_refused(&d, MISSING_3_TO_5);
    assert_refused(&d, MISSING_3_TO_5);
    assert_int_equal(rename(in_dir(&d, "wal"), in_dir(&d, "crashed/berth.db-wal")), 0);
    assert_crashed_opens(&d);
}

TEST(a_damaged_journal_is_refused_and_kept)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static const off_t places[] = { 0, 20, 32 + 10, 32 + 24 + 100 }; /* header, salt, first frame, its page */

    make_crashed(&d);
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const char *wal = in_dir(&d, "crashed/berth.db-wal");
        struct stat before, after;
        copy_file(wal, in_dir(&d, "wal"));
        overwrite(wal, places[i], "\xa5\x5a\xa5\x5a", 4);
        assert_int_equal(stat(wal, &before), 0);
        assert_refused(&d, MISSING_3_TO_5);
        wal = in_dir(&d, "crashed/berth.db-wal");
        assert_int_equal(stat(wal, &after), 0);
        ASSERT_INT(before.st_size, after.st_size);
        copy_file(in_dir(&d, "wal"), wal);
    }
    truncate_file(in_dir(&d, "crashed/berth.db-wal"), 0);
    assert_refused(&d, MISSING_3_TO_5);
    copy_file(in_dir(&d, "wal"), in_dir(&d, "crashed/berth.db-wal"));
    assert_crashed_opens(&d);
}

TEST(a_database_that_was_replaced_is_refused)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();

    make_crashed(&d);
    make_other(&d);
    assert_int_equal(unlink(in_dir(&d, "crashed/berth.db-wal")), 0);
    copy_file(in_dir(&d, "old"), in_dir(&d, "crashed/berth.db"));
    assert_refused(&d, MISSING_3_TO_5);
    copy_file(in_dir(&d, "foreign/berth.db"), in_dir(&d, "crashed/berth.db"));
    assert_refused(&d, "is not the database that acknowledged revision 5");
    sql(in_dir(&d, "crashed/berth.db"), "DELETE FROM log WHERE revision=5");
    assert_refused(&d, "is not the database that acknowledged revision 5");
    assert_int_equal(unlink(in_dir(&d, "crashed/berth.db")), 0);
    assert_refused(&d, "is missing, but its record");
    copy_file(in_dir(&d, "new"), in_dir(&d, "crashed/berth.db")); /* it has more, and all that is wanted */
    struct world w = world_open(in_dir(&d, "crashed"), NULL);
    ASSERT_STR("a/y=4@4 a/z=7@7", iter_text(w.store, CM, NULL, "", "", 0));
    world_close(&w);
}

TEST(links_in_place_of_files_are_refused)
{
    static const char *const names[] = { "berth.db", "berth.db-wal", "berth.db-shm", "berth.db-acked" };
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };

    make_crashed(&d);
    put_file(in_dir(&d, "crashed/berth.db-shm"), "");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[TEST_PATH_BYTES * 2];
        (void)snprintf(path, sizeof path, "%s/%s", in_dir(&d, "crashed"), names[i]);
        assert_int_equal(link(path, in_dir(&d, "second")), 0);
        ASSERT_ERR(ERR_INVALID, open_fails(in_dir(&d, "crashed"), &err));
        assert_non_null(strstr(err.msg, "has 2 names (hard links)"));
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink("../second", path), 0);
        ASSERT_ERR(ERR_INVALID, open_fails(in_dir(&d, "crashed"), &err));
        assert_non_null(strstr(err.msg, "is a symbolic link"));
        assert_non_null(strstr(err.msg, path));
        assert_int_equal(rename(in_dir(&d, "second"), path), 0);
    }
    assert_crashed_opens(&d);
}

TEST(a_torn_missing_or_older_record_is_no_damage)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    const char *record;
    struct stat st;

    make_crashed(&d);
    record = in_dir(&d, "crashed/berth.db-acked");
    assert_int_equal(stat(record, &st), 0);
    copy_file(record, in_dir(&d, "record"));
    for (off_t i = 0; i < st.st_size; i++) {
        record = in_dir(&d, "crashed/berth.db-acked");
        copy_file(in_dir(&d, "record"), record);
        if (i % 2)
            truncate_file(record, i);
        else
            overwrite(record, i, "~", 1);
        assert_crashed_opens(&d);
    }
    record = in_dir(&d, "crashed/berth.db-acked");
    assert_int_equal(unlink(record), 0); /* as an older release left it */
    assert_crashed_opens(&d);
    assert_int_equal(access(record, F_OK), 0);
    copy_file(record, in_dir(&d, "older"));
    struct world w = world_open(in_dir(&d, "crashed"), NULL);
    world_put(&w, CM, "a", "y", "6");
    world_close(&w);
    copy_file(in_dir(&d, "older"), in_dir(&d, "crashed/berth.db-acked"));
    w = world_open(in_dir(&d, "crashed"), NULL);
    ASSERT_STR("a/y=6@6", iter_text(w.store, CM, NULL, "", "", 0));
    world_close(&w);
}

/* Rows up to the start of history are dropped; the record may name one of them. */
TEST(a_record_of_a_dropped_row_is_no_damage)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct store_options o = { .history_count = 100 };
    struct world w = world_open(in_dir(&d, "data"), &o);

    put_many(&w, 100, true);
    copy_file(in_dir(&d, "data/berth.db-acked"), in_dir(&d, "older"));
    put_many(&w, 4000, true);
    pool_drain(w.store->pool);
    world_close(&w);
    ASSERT_INT(0, sql_number(in_dir(&d, "data/berth.db"), "SELECT count(*) FROM log WHERE revision=100"));
    copy_file(in_dir(&d, "older"), in_dir(&d, "data/berth.db-acked"));
    w = world_open(in_dir(&d, "data"), &o);
    ASSERT_INT(4100, store_revision(w.store));
    world_close(&w);
}

TEST(a_loss_is_accepted_by_backup_and_restore)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    struct world w;

    make_crashed(&d);
    assert_int_equal(rename(in_dir(&d, "crashed/berth.db-wal"), in_dir(&d, "wal")), 0);
    assert_refused(&d, MISSING_3_TO_5);
    ASSERT_OK(store_backup(in_dir(&d, "crashed"), in_dir(&d, "copy"), NULL, NULL, &err));
    ASSERT_OK(store_restore(in_dir(&d, "copy"), in_dir(&d, "accepted"), NULL, NULL, &err));
    w = world_open(in_dir(&d, "accepted"), NULL);
    ASSERT_STR("a/x=2@2", iter_text(w.store, CM, NULL, "", "", 0));
    assert_true(store_reserve(w.store) >
                1000000000); /* what was acknowledged and lost is not given out again */
    world_close(&w);
    assert_int_equal(rename(in_dir(&d, "wal"), in_dir(&d, "crashed/berth.db-wal")), 0);
    assert_crashed_opens(&d); /* and a journal that turns up later still fits */
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

static off_t reserve_bytes(const struct test_dir *d)
{
    struct stat st;

    assert_int_equal(stat(in_dir(d, "berth.db-reserve"), &st), 0);
    return st.st_size;
}

/* Takes all the room there is, as another program would. */
static void fill_disk(const struct test_dir *d)
{
    static const char block[4096];
    int fd = open(in_dir(d, "filler"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    while (write(fd, block, sizeof block) > 0)
        ;
    assert_int_equal(close(fd), 0);
}

TEST(a_full_disk_lets_objects_be_removed)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static char big[20001];
    struct error err = { 0 };
    struct world w;
    char name[16];
    off_t whole;

    memset(big, 'v', sizeof big - 1);
    assert_int_equal(mount("tmpfs", d.path, "tmpfs", 0, "size=16m"), 0);
    w = world_open(d.path, NULL);
    whole = reserve_bytes(&d);
    assert_true(whole > 500000);
    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof name, "n%u", i);
        world_put(&w, CM, "a", name, big);
    }
    fill_disk(&d);
    while (try_put(&w, "more", big, &err) == 0)
        ; /* the journal has some room left */
    assert_non_null(strstr(err.msg, "the disk is full"));
    ASSERT_INT(whole, reserve_bytes(&d));
    for (unsigned i = 0; i < 40; i++) {
        fill_disk(&d); /* nobody else leaves it anything */
        (void)snprintf(name, sizeof name, "n%u", i);
        if (try_put(&w, name, i % 2 ? NULL : "less", &err) < 0)
            fail_msg("removal %u, reserve %jd: %s", i, (intmax_t)reserve_bytes(&d), err.msg);
    }
    assert_true(reserve_bytes(&d) < whole);
    ASSERT_ERR(ERR_IO, store_check(w.store, &err));
    world_close(&w); /* and it starts there */
    w = world_open(d.path, NULL);
    ASSERT_STR("less", value_of(store_get(w.store, CM, "a", "n0")));
    assert_null(store_get(w.store, CM, "a", "n1"));
    assert_int_equal(unlink(in_dir(&d, "filler")), 0);
    ASSERT_INT(0, try_put(&w, "grows", big, &err));
    assert_int_equal(mount("tmpfs", d.path, "tmpfs", MS_REMOUNT, "size=64m"), 0);
    put_many(&w, 11500, false); /* so much that rows are dropped: then it looks for more room */
    world_close(&w);
    assert_true(reserve_bytes(&d) > whole);
    assert_int_equal(umount(d.path), 0);
}

TEST(a_used_up_reserve_is_filled_again)
{
    skip_without_mounts();
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    static char big[20001];
    struct error err = { 0 };
    struct world w;
    unsigned removed = 0;
    off_t whole;

    memset(big, 'v', sizeof big - 1);
    assert_int_equal(mount("tmpfs", d.path, "tmpfs", 0, "size=8m"), 0);
    w = world_open(d.path, NULL);
    whole = reserve_bytes(&d);
    world_put(&w, CM, "a", "x", big);
    do
        fill_disk(&d);
    while (try_put(&w, "more", big, &err) == 0);
    do {
        fill_disk(&d);
        big[19000 - 10 * removed] = '\0';
    } while (try_put(&w, "x", big, &err) == 0 && ++removed < 1900);
    assert_true(removed > 5);
    ASSERT_INT(0, reserve_bytes(&d));
    assert_non_null(strstr(err.msg, "the disk is full"));
    assert_int_equal(unlink(in_dir(&d, "filler")), 0);
    ASSERT_INT(0, try_put(&w, "more", "1", &err));
    ASSERT_INT(whole, reserve_bytes(&d));
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

/* The record of what was acknowledged may be older than the database, never newer. */
TEST(a_failed_write_is_not_recorded)
{
    _cleanup_(test_dir_done) struct test_dir d = test_dir_new();
    struct error err = { 0 };
    struct world w = world_open(in_dir(&d, "data"), NULL);
    struct rlimit old, tight;

    ASSERT_INT(0, try_put(&w, "x", "1", &err));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = old;
    tight.rlim_cur = 16384;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    ASSERT_INT(-ERR_IO, try_put(&w, "x", "2", &err));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(mkdir(in_dir(&d, "crashed"), 0700), 0);
    copy_file(in_dir(&d, "data/berth.db"), in_dir(&d, "crashed/berth.db"));
    copy_file(in_dir(&d, "data/berth.db-wal"), in_dir(&d, "crashed/berth.db-wal"));
    copy_file(in_dir(&d, "data/berth.db-acked"), in_dir(&d, "crashed/berth.db-acked"));
    world_close(&w);
    w = world_open(in_dir(&d, "crashed"), NULL);
    ASSERT_STR("a/x=1@1", iter_text(w.store, CM, NULL, "", "", 0));
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
