/* State files at the start of an agent's process: of another boot, with mounts that went meanwhile. */
#include "tests/unit/test_mounts.h"

#include "host/system.h"
#include "io/file.h"
#include "node/ready_files.h"

static struct error err;

static struct kit {
    struct test_dir *d;
    char root[TEST_PATH_BYTES * 2];
    char boot_id[HOST_FACT_BYTES];
} kit;

static void kit_open(void)
{
    kit.d = mounts_dir_new();
    (void)snprintf(kit.root, sizeof kit.root, "%s/root", kit.d->path);
    host_boot_id(kit.boot_id);
    assert_true(kit.boot_id[0]);
    sh("mkdir -p '%s/pods'", kit.root);
}

static void kit_close(void)
{
    kit.d = mounts_dir_free(kit.d);
}

static const char *path_in(const char *uid, const char *name)
{
    static char paths[4][TEST_PATH_BYTES * 4];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/pods/%s/%s", kit.root, uid, name);
    return path;
}

static const char *file_text(const char *uid)
{
    static struct buf text = { .len_max = 1 << 20 };

    ASSERT_OK(io_read_file(path_in(uid, "berth.json"), 1 << 20, &text, &err));
    return buf_cstr(&text);
}

/* In the text, BOOT is the id of this boot and DIR the pod's directory. */
static void put_state(const char *uid, const char *text)
{
    sh("mkdir -p '%s' && printf '%%s' '%s' | sed 's#BOOT#%s#; s#DIR#%s/pods/%s#g' > '%s'", path_in(uid, ""),
       text, kit.boot_id, kit.root, uid, path_in(uid, "berth.json"));
}

static ino_t inode_of(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_ino;
}

#define STATE(members) "{\"pod\":{\"name\":\"p\"}," members "}"
#define VOLUME "\"volumes\":[{\"name\":\"v\",\"path\":\"DIR/v\",\"mountPoint\":true}]"
#define PLAIN "\"volumes\":[{\"name\":\"v\",\"path\":\"DIR/v\"}]"
#define PART                                                                                 \
    "\"containers\":[{\"name\":\"c\",\"mounts\":[{\"volume\":\"v\",\"hostPath\":\"DIR/v\"}," \
    "{\"volume\":\"v\",\"hostPath\":\"DIR/volume-subpaths/v/c/1\"}]}]"

/* What is mounted: nothing, the volume, the volume and the subPath. */
enum { NOTHING, WITH_VOLUME, WITH_PART };

static void mount_for(const char *uid, int what)
{
    sh("mkdir -p '%s' '%s'", path_in(uid, "v"), path_in(uid, "volume-subpaths/v/c/1"));
    if (what >= WITH_VOLUME)
        sh("mount -t tmpfs tmpfs '%s'", path_in(uid, "v"));
    if (what >= WITH_PART)
        sh("mount --bind '%s' '%s'", path_in(uid, "v"), path_in(uid, "volume-subpaths/v/c/1"));
}

TEST(readiness_belongs_to_the_boot_and_to_the_mounts)
{
    static const struct {
        const char *text;
        int mounted;
        bool stays; /* as it is */
    } rows[] = {
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"BOOT\"," VOLUME), WITH_VOLUME, true },
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"BOOT\"," VOLUME), NOTHING, false },
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"BOOT\"," VOLUME "," PART), WITH_PART, true },
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"BOOT\"," VOLUME "," PART), WITH_VOLUME,
          false },
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"BOOT\"," PLAIN), NOTHING, true },
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"earlier\"," PLAIN), NOTHING, false },
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"earlier\"," VOLUME), WITH_VOLUME, false },
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"\"," PLAIN), NOTHING, false },
        { STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":7," PLAIN), NOTHING, false },
        { STATE("\"ready\":true,\"hook\":\"none\"," PLAIN), NOTHING, false }, /* of an older agent */
        { STATE("\"ready\":false,\"hook\":\"none\",\"bootID\":\"earlier\"," VOLUME), NOTHING, true },
        { STATE("\"ready\":1,\"hook\":\"none\",\"bootID\":\"earlier\""), NOTHING, true },
        { STATE("\"ready\":true,\"hook\":\"unknown\",\"bootID\":\"earlier\""), NOTHING, true },
        { "{\"ready\":true", NOTHING, true }, /* damaged: the agent reports it */
        { "", NOTHING, true },
    };
    char uid[16], before[4096];

    skip_without_private_mounts();
    kit_open();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        (void)snprintf(uid, sizeof uid, "pod-%zu", i);
        put_state(uid, rows[i].text);
        mount_for(uid, rows[i].mounted);
    }
    ready_files_check(kit.root);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct stat st;

        (void)snprintf(uid, sizeof uid, "pod-%zu", i);
        (void)snprintf(before, sizeof before, "%s", file_text(uid));
        put_state(uid, rows[i].text);
        if (rows[i].stays != (strcmp(before, file_text(uid)) == 0))
            fail_msg("row %zu has become %s", i, before);
        if (rows[i].stays)
            continue;
        assert_non_null(strstr(before, "\"ready\": false,\n  \"hook\": \"none\""));
        put_state(uid, rows[i].text);
        ready_files_check(kit.root);
        assert_int_equal(stat(path_in(uid, "berth.json"), &st), 0);
        ASSERT_INT(0640, st.st_mode & 07777);
    }
    kit_close();
}

/* The boot stays in the file: the agent calls the hook again for a pod of another one. */
TEST(the_state_of_the_hook_stays)
{
    kit_open();
    put_state("p", STATE("\"ready\":true,\"hook\":\"setUp\",\"bootID\":\"earlier\",\"more\":[1]"));
    ready_files_check(kit.root);
    ASSERT_STR("{\n"
               "  \"pod\": {\n"
               "    \"name\": \"p\"\n"
               "  },\n"
               "  \"ready\": false,\n"
               "  \"hook\": \"setUp\",\n"
               "  \"bootID\": \"earlier\",\n"
               "  \"more\": [\n"
               "    1\n"
               "  ]\n"
               "}\n",
               file_text("p"));
    kit_close();
}

TEST(true_files_are_not_written)
{
    ino_t before;

    kit_open();
    put_state("p", STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"BOOT\"," PLAIN));
    before = inode_of(path_in("p", "berth.json"));
    ready_files_check(kit.root);
    ASSERT_INT(before, inode_of(path_in("p", "berth.json")));
    kit_close();
}

/* What is no file of a pod is not touched, and does not keep others from being checked. */
TEST(strange_files_are_left_alone)
{
    static const char old[] = STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"earlier\"");

    kit_open();
    put_state("a", old);
    put_state("not a pod", old);
    put_state("z", old);
    sh("cd '%s/pods' && mkdir link dir fifo && mv a ../away && ln -s ../away a && "
       "ln -s ../../away/berth.json link/berth.json && mkdir dir/berth.json && mkfifo fifo/berth.json && "
       "echo x > file",
       kit.root);
    ready_files_check(kit.root);
    assert_non_null(strstr(file_text("z"), "\"ready\": false"));
    ASSERT_STR(old, file_text("not a pod"));
    sh("grep -q '\"ready\":true' '%s/away/berth.json'", kit.root);
    kit_close();
}

TEST(nothing_to_check)
{
    char path[TEST_PATH_BYTES * 3];

    kit_open();
    ready_files_check(kit.root); /* no pod */
    sh("rmdir '%s/pods'", kit.root);
    ready_files_check(kit.root); /* no pods/ */
    (void)snprintf(path, sizeof path, "%s/missing", kit.root);
    ready_files_check(path);
    assert_int_equal(access(path, F_OK), -1);
    kit_close();
}

/* The root may be a link; mounts and files have the names without it. */
TEST(a_root_behind_a_link)
{
    char path[TEST_PATH_BYTES * 3];

    skip_without_private_mounts();
    kit_open();
    put_state("p", STATE("\"ready\":true,\"hook\":\"none\",\"bootID\":\"BOOT\"," VOLUME));
    mount_for("p", WITH_VOLUME);
    sh("ln -s root '%s/link'", kit.d->path);
    (void)snprintf(path, sizeof path, "%s/link", kit.d->path);
    ready_files_check(path);
    assert_non_null(strstr(file_text("p"), "\"ready\":true"));
    sh("umount '%s'", path_in("p", "v"));
    ready_files_check(path);
    assert_non_null(strstr(file_text("p"), "\"ready\": false"));
    kit_close();
}

TEST_MAIN()
