/* What the machine is: the texts that say so, and the real ones. */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "host/system.h"
#include "host/system_int.h"

static struct error err;

TEST(os_release_says_the_systems_name)
{
    static const char *const rows[][2] = {
        { "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian GNU/Linux\"\n",
          "Debian GNU/Linux 12 (bookworm)" },
        { "NAME=Alpine\nID=alpine\nPRETTY_NAME='Alpine Linux v3.20'", "Alpine Linux v3.20" },
        { "NAME=Alpine\n", "Alpine" },
        { "PRETTY_NAME=\"a \\\"b\\\" \\$c \\\\d\"", "a \"b\" $c \\d" },
        { "PRETTY_NAME='a \\b'", "a \\b" },
        { "  PRETTY_NAME=x  \r\n", "x" },
        { "PRETTY_NAME=\"never ends", "never ends" },
        { "PRETTY_NAME=\"ends in \\", "ends in \\" },
        { "PRETTY_NAME=\nNAME=n\n", "Linux" },
        { "PRETTY_NAME_2=x\n#PRETTY_NAME=y\n", "Linux" },
        { "PRETTY_NAME", "Linux" },
        { "", "Linux" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[HOST_FACT_BYTES] = "untouched";

        system_parse_os_release(str_of(rows[i][0]), name, sizeof name);
        ASSERT_STR(rows[i][1], name);
    }
}

TEST(a_system_name_without_end_is_cut)
{
    char text[1024] = "PRETTY_NAME=\"", name[16];

    memset(text + strlen(text), 'x', 900);
    system_parse_os_release(str_of(text), name, sizeof name);
    ASSERT_STR("xxxxxxxxxxxxxxx", name);
}

TEST(a_line_is_cut_at_a_characters_end)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *expected;
    } rows[] = {
        { "abc", 4, "abc" },      { "abc", 3, "ab" }, { "  a b \nc", 16, "a b" }, { "a\xc3\xa4", 3, "a" },
        { "a\xc3\xa4", 4, "aä" }, { "\n", 4, "" },    { "a\xff\x62", 16, "a" },   { "", 1, "" },
        { "abc", 1, "" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char out[16] = "untouched";

        system_copy_line(str_of(rows[i].text), out, rows[i].bytes);
        ASSERT_STR(rows[i].expected, out);
    }
}

TEST(memory_is_read)
{
    uint64_t bytes = 0;

    ASSERT_OK(system_parse_memory(str_of("MemTotal:       16314520 kB\nMemFree: 1 kB\n"), &bytes, &err));
    ASSERT_INT(UINT64_C(16314520) * 1024, bytes);
    ASSERT_OK(system_parse_memory(str_of("MemFree: 7 kB\nMemTotal: 1 kB"), &bytes, &err));
    ASSERT_INT(1024, bytes);
}

TEST(memory_that_is_no_number_is_refused)
{
    static const char *const rows[][2] = {
        { "", "no memory size in /proc/meminfo" },
        { "MemFree: 1 kB\n", "no memory size in /proc/meminfo" },
        { "MemTotal", "no memory size in /proc/meminfo" },
        { "MemTotal: kB\n", "the memory size in /proc/meminfo is not a number of kB" },
        { "MemTotal: -1 kB\n", "the memory size in /proc/meminfo is not a number of kB" },
        { "MemTotal: 12\n", "the memory size in /proc/meminfo is not a number of kB" },
        { "MemTotal: 12 MB\n", "the memory size in /proc/meminfo is not a number of kB" },
        { "MemTotal: 18014398509481984 kB\n", "the memory size in /proc/meminfo is not a number of kB" },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t bytes = 7;

        ASSERT_ERR(ERR_BAD_REQUEST, system_parse_memory(str_of(rows[i][0]), &bytes, &err));
        ASSERT_STR(rows[i][1], err.msg);
        ASSERT_INT(7, bytes);
    }
}

TEST(sizes_of_huge_pages)
{
    static const struct {
        const char *name;
        uint64_t bytes; /* 0: refused */
    } rows[] = {
        { "hugepages-2048kB", UINT64_C(2) << 20 },
        { "hugepages-1048576kB", UINT64_C(1) << 30 },
        { "hugepages-0kB", 0 },
        { "hugepages-kB", 0 },
        { "hugepages-2048", 0 },
        { "hugepages-2048MB", 0 },
        { "hugepages--1kB", 0 },
        { "hugepages-18014398509481984kB", 0 },
        { "pages-2048kB", 0 },
        { "", 0 },
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t bytes = 0;

        ASSERT_INT(rows[i].bytes != 0, system_parse_page_size(str_of(rows[i].name), &bytes));
        ASSERT_INT(rows[i].bytes, bytes);
    }
}

TEST(architectures_are_called_as_images_call_them)
{
    ASSERT_STR("amd64", system_architecture("x86_64"));
    ASSERT_STR("arm64", system_architecture("aarch64"));
    ASSERT_STR("arm", system_architecture("armv7l"));
    ASSERT_STR("riscv64", system_architecture("riscv64"));
}

TEST(this_machine)
{
    struct host_system s;
    struct utsname u;
    struct in6_addr address;

    ASSERT_OK(host_system_read(&s, &err));
    ASSERT_INT(0, uname(&u));
    ASSERT_STR(u.release, s.kernel);
    ASSERT_STR(system_architecture(u.machine), s.architecture);
    ASSERT_INT(sysconf(_SC_NPROCESSORS_ONLN), s.cpus);
    assert_true(s.memory_bytes > (UINT64_C(1) << 20));
    assert_true(s.os_image[0] != '\0');
    ASSERT_INT(36, strlen(s.boot_id));
    assert_true(inet_pton(AF_INET, s.address, &address) == 1 ||
                inet_pton(AF_INET6, s.address, &address) == 1);
    for (unsigned i = 1; i < s.huge_pages_count; i++)
        assert_true(s.huge_pages[i - 1].page_bytes < s.huge_pages[i].page_bytes);
}

TEST_MAIN()
