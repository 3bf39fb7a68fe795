/* Reads everything again at each call, which costs well under a millisecond: the files are the kernel's, or
 * in /etc. A value whose file is missing or unreadable is unknown. */
#include "host/system.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "host/dirs.h"
#include "host/system_int.h"
#include "io/file.h"
#include "io/sys.h"

#define SYSTEM_FILE_BYTES_MAX ((size_t)64 << 10)
#define HUGE_PAGES_DIR "/sys/kernel/mm/hugepages"
#define HUGE_PAGES_NAMES_MAX 64
#define KIB UINT64_C(1024)

/* --- Texts --- */

void system_copy_line(struct str text, char *ret, size_t ret_bytes)
{
    struct str line = str_trim(str_next(&text, '\n'));
    size_t len = 0, step;

    /* Stops at invalid UTF-8: the text is written as JSON. */
    while (len < line.len && (step = str_utf8_first((struct str){ line.s + len, line.len - len })) > 0 &&
           len + step < ret_bytes)
        len += step;
    if (len)
        memcpy(ret, line.s, len);
    ret[len] = '\0';
}

/* A value in shell syntax: bare, or in quotes with some characters escaped by a backslash. */
static void copy_shell_value(struct str value, char *ret, size_t ret_bytes)
{
    char plain[HOST_FACT_BYTES];
    size_t len = 0;
    char quote = value.len && (value.s[0] == '"' || value.s[0] == '\'') ? value.s[0] : '\0';

    for (size_t i = quote ? 1 : 0; i < value.len && len < sizeof plain; i++) {
        if (quote && value.s[i] == quote)
            break;
        if (quote != '\'' && value.s[i] == '\\' && i + 1 < value.len)
            i++;
        plain[len++] = value.s[i];
    }
    system_copy_line((struct str){ plain, len }, ret, ret_bytes);
}

void system_parse_os_release(struct str text, char *ret, size_t ret_bytes)
{
    bool is_pretty = false;

    system_copy_line(STR_LIT("Linux"), ret, ret_bytes);
    while (text.s && !is_pretty) {
        struct str value = str_trim(str_next(&text, '\n')), key = str_next(&value, '=');

        is_pretty = str_is(key, "PRETTY_NAME");
        if ((is_pretty || str_is(key, "NAME")) && value.len)
            copy_shell_value(value, ret, ret_bytes);
    }
}

int system_parse_memory(struct str text, uint64_t *ret_bytes, struct error *err)
{
    uint64_t kib;

    while (text.s) {
        struct str value = str_next(&text, '\n'), key = str_next(&value, ':');
        struct str number;

        if (!str_is(key, "MemTotal") || !value.s)
            continue;
        value = str_trim(value);
        number = str_next(&value, ' ');
        if (!str_to_uint64(number, &kib) || !value.s || !str_is(str_trim(value), "kB") ||
            kib > (uint64_t)INT64_MAX / KIB)
            return error_set(err, ERR_BAD_REQUEST, "the memory size in /proc/meminfo is not a number of kB");
        *ret_bytes = kib * KIB;
        return 0;
    }
    return error_set(err, ERR_BAD_REQUEST, "no memory size in /proc/meminfo");
}

bool system_parse_page_size(struct str name, uint64_t *ret_bytes)
{
    static const struct str before = { "hugepages-", 10 }, behind = { "kB", 2 };
    uint64_t kib;

    if (name.len <= before.len + behind.len || !str_has_prefix(name, before.s) ||
        !str_has_suffix(name, behind.s))
        return false;
    if (!str_to_uint64((struct str){ name.s + before.len, name.len - before.len - behind.len }, &kib) ||
        kib == 0 || kib > (uint64_t)INT64_MAX / KIB)
        return false;
    *ret_bytes = kib * KIB;
    return true;
}

const char *system_architecture(const char *machine)
{
    static const char *const names[][2] = {
        { "x86_64", "amd64" }, { "aarch64", "arm64" }, { "armv7l", "arm" },
        { "armv6l", "arm" },   { "i686", "386" },      { "loongarch64", "loong64" },
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(machine, names[i][0]) == 0)
            return names[i][1];
    return machine;
}

/* --- Files --- */

/* "" when it cannot be read. */
static void read_line(const char *path, char ret[HOST_FACT_BYTES])
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SYSTEM_FILE_BYTES_MAX);
    struct error ignored;

    ret[0] = '\0';
    if (io_read_file(path, SYSTEM_FILE_BYTES_MAX, &text, &ignored) == 0)
        system_copy_line(buf_str(&text), ret, HOST_FACT_BYTES);
}

void host_boot_id(char ret[HOST_FACT_BYTES])
{
    read_line("/proc/sys/kernel/random/boot_id", ret);
}

static void read_names(struct host_system *s)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SYSTEM_FILE_BYTES_MAX);
    struct error ignored;
    struct utsname u;

    if (uname(&u) == 0) {
        system_copy_line(str_of(u.release), s->kernel, sizeof s->kernel);
        system_copy_line(str_of(system_architecture(u.machine)), s->architecture, sizeof s->architecture);
    }
    if (io_read_file("/etc/os-release", SYSTEM_FILE_BYTES_MAX, &text, &ignored) < 0)
        buf_clear(&text);
    system_parse_os_release(buf_str(&text), s->os_image, sizeof s->os_image);
    read_line("/etc/machine-id", s->machine_id);
    read_line("/sys/class/dmi/id/product_uuid", s->system_uuid);
    if (s->system_uuid[0] == '\0')
        system_copy_line(str_of(s->machine_id), s->system_uuid, sizeof s->system_uuid);
    host_boot_id(s->boot_id);
}

static int cmp_pages(const void *a, const void *b)
{
    const struct host_huge_pages *left = a, *right = b;

    return (left->page_bytes > right->page_bytes) - (left->page_bytes < right->page_bytes);
}

static void read_huge_pages(struct host_system *s)
{
    _cleanup_(arena_done_p) struct arena a = ARENA_INIT(SYSTEM_FILE_BYTES_MAX);
    struct texts names = { 0 };
    struct error ignored;

    if (host_list_dir(HUGE_PAGES_DIR, &a, HUGE_PAGES_NAMES_MAX, &names, &ignored) < 0)
        return;
    for (uint32_t i = 0; i < names.count && s->huge_pages_count < HOST_HUGE_PAGES_MAX; i++) {
        struct host_huge_pages *p = &s->huge_pages[s->huge_pages_count];
        char path[512], count[HOST_FACT_BYTES];
        uint64_t n;

        (void)snprintf(path, sizeof path, HUGE_PAGES_DIR "/%.256s/nr_hugepages", names.items[i]);
        read_line(path, count);
        if (system_parse_page_size(str_of(names.items[i]), &p->page_bytes) &&
            str_to_uint64(str_of(count), &n) && !__builtin_mul_overflow(n, p->page_bytes, &p->total_bytes) &&
            p->total_bytes <= INT64_MAX)
            s->huge_pages_count++;
    }
    qsort(s->huge_pages, s->huge_pages_count, sizeof *s->huge_pages, cmp_pages);
}

/* --- The address --- */

/* 0: not reachable for others; else the larger the better. */
static int rank_of(const struct ifaddrs *i)
{
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK))
        return 0;
    if (i->ifa_addr->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)i->ifa_addr;
        return (ntohl(v4->sin_addr.s_addr) >> 16) == 0xA9FE ? 0 : 2; /* 169.254: link-local */
    }
    if (i->ifa_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)i->ifa_addr;
        return IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ? 0 : 1;
    }
    return 0;
}

void host_address(char ret[HOST_FACT_BYTES])
{
    struct ifaddrs *all = NULL;
    const struct ifaddrs *best = NULL;
    const void *bytes;

    system_copy_line(STR_LIT("127.0.0.1"), ret, HOST_FACT_BYTES);
    if (getifaddrs(&all) < 0)
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (rank_of(i) > (best ? rank_of(best) : 0))
            best = i;
    if (best) {
        bytes = best->ifa_addr->sa_family == AF_INET
                    ? (const void *)&((const struct sockaddr_in *)(const void *)best->ifa_addr)->sin_addr
                    : (const void *)&((const struct sockaddr_in6 *)(const void *)best->ifa_addr)->sin6_addr;
        (void)inet_ntop(best->ifa_addr->sa_family, bytes, ret, HOST_FACT_BYTES);
    }
    freeifaddrs(all);
}

/* --- All properties --- */

int host_system_read(struct host_system *ret, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(SYSTEM_FILE_BYTES_MAX);
    struct host_system s = { 0 };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int r;

    if (sys_here)
        return sys_here->calls->system_read(sys_here, ret, err);
    r = io_read_file("/proc/meminfo", SYSTEM_FILE_BYTES_MAX, &text, err);
    if (r == 0)
        r = system_parse_memory(buf_str(&text), &s.memory_bytes, err);
    if (r < 0)
        return r;
    s.cpus = cpus > 0 ? (uint64_t)cpus : 1;
    read_names(&s);
    read_huge_pages(&s);
    host_address(s.address);
    *ret = s;
    return 0;
}
