/* A FlexVolume driver that stands for a cloud: disks that attach to one node at a time.
 *
 * Its state is a directory that several nodes may share: $FLEX_CLOUD, else `.cloud`, a directory or a link to
 * one, beside the executable. In it are
 *
 *   disks/VOLUME    a disk: a directory, which mountdevice binds
 *   attached        lines "VOLUME NODE"
 *   mounted         lines "VOLUME PATH", of mountdevice
 *   running         lines "VOLUME PID", of calls under way
 *   log             lines "BEGIN_NS END_NS COMMAND VOLUME STATUS ARGUMENT…", in the order of their ends
 *   violations      what a careful caller never does: two calls for one volume at a time, a mount of what is
 *                   not attached, a detach of what is mounted
 *   fail-COMMAND    put there by a test: the call answers Failure with this text
 *   hold-COMMAND    put there by a test: the call waits until it is gone
 *
 * Files are changed under an exclusive lock on `lock`, which is not held while a call waits. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/json.h"
#include "base/cleanup.h"

#define LINE_BYTES 8192
#define VOLUME_KEY "kubernetes.io/pvOrVolumeName"
#define HOLD_LOOK_MS 10

static char dir[4096];
static int lock_fd = -1;

static void die(const char *what)
{
    printf("{\"status\":\"Failure\",\"message\":\"cloud: %s: %s\"}\n", what, strerror(errno));
    exit(1);
}

static const char *in_state(const char *name)
{
    static char paths[4][8192];
    static unsigned next;
    char *path = paths[next++ % ARRAY_LEN(paths)];

    (void)snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void lock(void)
{
    if (lock_fd < 0)
        lock_fd = open(in_state("lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd < 0 || flock(lock_fd, LOCK_EX) < 0)
        die("lock");
}

static void unlock(void)
{
    (void)flock(lock_fd, LOCK_UN);
}

/* --- Files of lines "KEY VALUE", under the lock --- */

static void append(const char *file, const char *line)
{
    FILE *f = fopen(in_state(file), "ae");

    if (!f || fprintf(f, "%s\n", line) < 0 || fclose(f) != 0)
        die(file);
}

/* The value of the first line with that key; false for none. */
static bool lookup(const char *file, const char *key, char ret[LINE_BYTES])
{
    FILE *f = fopen(in_state(file), "re");
    size_t key_len = strlen(key);
    bool found = false;

    while (f && !found && fgets(ret, LINE_BYTES, f)) {
        found = strncmp(ret, key, key_len) == 0 && ret[key_len] == ' ';
        if (!found)
            continue;
        ret[strcspn(ret, "\n")] = '\0';
        memmove(ret, ret + key_len + 1, strlen(ret + key_len + 1) + 1);
    }
    if (f)
        (void)fclose(f);
    return found;
}

/* Removes the lines with this key and value. */
static void drop(const char *file, const char *key, const char *value)
{
    FILE *from = fopen(in_state(file), "re"), *to = fopen(in_state("new"), "we");
    char line[LINE_BYTES], goes[LINE_BYTES * 2];

    (void)snprintf(goes, sizeof goes, "%s %s\n", key, value);
    while (from && to && fgets(line, sizeof line, from))
        if (strcmp(line, goes) != 0)
            (void)fputs(line, to);
    if (from)
        (void)fclose(from);
    if (!to || fclose(to) != 0 || rename(in_state("new"), in_state(file)) < 0)
        die(file);
}

static void add(const char *file, const char *key, const char *value)
{
    char line[LINE_BYTES * 2];

    (void)snprintf(line, sizeof line, "%s %s", key, value);
    append(file, line);
}

static void violation(const char *what, const char *volume, const char *detail)
{
    char line[LINE_BYTES * 2];

    (void)snprintf(line, sizeof line, "%s: volume %s: %s", what, volume, detail);
    append("violations", line);
}

/* --- Calls --- */

struct call {
    char **args; /* behind the command */
    int count;
    const char *command;
    char volume[512];
    uint64_t begin_ns;
    const char *status;
    struct buf answer; /* members besides status */
};

static void fail(struct call *c, const char *message, const char *detail)
{
    c->status = "Failure";
    buf_clear(&c->answer);
    buf_add_cstr(&c->answer, ",\"message\":\"");
    json_write_chars(&c->answer, str_of(message));
    json_write_chars(&c->answer, str_of(detail));
    buf_add_cstr(&c->answer, "\"");
}

static void answer_device(struct call *c, const char *device)
{
    buf_add_cstr(&c->answer, ",\"device\":");
    json_write_string(&c->answer, str_of(device));
}

static void read_volume(struct call *c, const char *text)
{
    struct error err = { 0 };
    struct json d;
    json_ref root;

    json_init(&d, (size_t)1 << 20);
    if (json_parse(&d, str_of(text), &root, &err) == 0)
        (void)snprintf(c->volume, sizeof c->volume, "%.*s", STR_ARG(json_get_text(&d, root, VOLUME_KEY)));
    json_done(&d);
}

static const char *disk_of(const struct call *c)
{
    char name[600];

    (void)snprintf(name, sizeof name, "disks/%s", c->volume);
    (void)mkdir(in_state("disks"), 0755);
    (void)mkdir(in_state(name), 0755);
    return in_state(name);
}

static void do_init(struct call *c)
{
    buf_add_cstr(&c->answer, ",\"capabilities\":{\"attach\":true,\"supportsMetrics\":true}");
}

static void do_attach(struct call *c)
{
    char node[LINE_BYTES];

    if (!lookup("attached", c->volume, node))
        add("attached", c->volume, c->args[1]);
    else if (strcmp(node, c->args[1]) != 0)
        return fail(c, "the disk is attached to node ", node);
    answer_device(c, disk_of(c));
}

static void do_detach(struct call *c)
{
    char path[LINE_BYTES];

    if (lookup("mounted", c->volume, path))
        violation("detached while mounted", c->volume, path);
    drop("attached", c->volume, c->args[1]);
}

static void do_is_attached(struct call *c)
{
    char node[LINE_BYTES];
    bool is = lookup("attached", c->volume, node) && strcmp(node, c->args[1]) == 0;

    buf_addf(&c->answer, ",\"attached\":%s", is ? "true" : "false");
}

static void do_wait(struct call *c)
{
    char node[LINE_BYTES];

    if (!lookup("attached", c->volume, node))
        return fail(c, "the disk is not attached: ", c->volume);
    answer_device(c, c->args[0]);
}

static void do_mount_device(struct call *c)
{
    char node[LINE_BYTES];

    if (!lookup("attached", c->volume, node)) {
        violation("mounted while not attached", c->volume, c->args[0]);
        return fail(c, "the disk is not attached: ", c->volume);
    }
    if (mount(c->args[1], c->args[0], NULL, MS_BIND, NULL) < 0)
        return fail(c, "cannot bind the disk: ", strerror(errno));
    add("mounted", c->volume, c->args[0]);
}

/* The volume is the last part of the path. */
static void do_unmount_device(struct call *c)
{
    if (umount2(c->args[0], UMOUNT_NOFOLLOW) < 0 && errno != EINVAL)
        return fail(c, "cannot unmount the disk: ", strerror(errno));
    drop("mounted", c->volume, c->args[0]);
}

static void do_nothing(struct call *c)
{
    (void)c;
}

/* Mounts for pods are left to the caller, who binds the device's. */
static const struct {
    const char *name;
    void (*run)(struct call *c);
    int args_count;
    int json_at; /* which argument describes the volume; -1: the first names it */
} commands[] = {
    { "init", do_init, 0, -1 },
    { "attach", do_attach, 2, 0 },
    { "detach", do_detach, 2, -1 },
    { "isattached", do_is_attached, 2, 0 },
    { "waitforattach", do_wait, 2, 1 },
    { "mountdevice", do_mount_device, 3, 2 },
    { "unmountdevice", do_unmount_device, 1, -1 },
    { "expandvolume", do_nothing, 4, 0 },
    { "expandfs", do_nothing, 5, 0 },
};

static void begin(struct call *c)
{
    char pid[32], other[LINE_BYTES];

    lock();
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (c->volume[0] && lookup("running", c->volume, other)) {
        if (kill((pid_t)strtol(other, NULL, 10), 0) == 0)
            violation("two calls at a time", c->volume, c->command);
        else
            drop("running", c->volume, other); /* it was killed */
    }
    if (c->volume[0])
        add("running", c->volume, pid);
    unlock();
}

static void end(struct call *c)
{
    char line[LINE_BYTES], pid[32];
    int n = snprintf(line, sizeof line, "%" PRIu64 " %" PRIu64 " %s %s %s", c->begin_ns, now_ns(), c->command,
                     c->volume[0] ? c->volume : "-", c->status);

    for (int i = 0; i < c->count && n > 0 && (size_t)n < sizeof line; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, " %s", c->args[i]);
    append("log", line);
    (void)snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (c->volume[0])
        drop("running", c->volume, pid);
}

static void hold(const struct call *c)
{
    char name[64];

    (void)snprintf(name, sizeof name, "hold-%s", c->command);
    while (access(in_state(name), F_OK) == 0)
        (void)poll(NULL, 0, HOLD_LOOK_MS);
}

static bool is_to_fail(struct call *c)
{
    char name[64], text[512] = "";
    FILE *f;

    (void)snprintf(name, sizeof name, "fail-%s", c->command);
    f = fopen(in_state(name), "re");
    if (!f)
        return false;
    if (!fgets(text, sizeof text, f))
        text[0] = '\0';
    (void)fclose(f);
    text[strcspn(text, "\n")] = '\0';
    fail(c, text, "");
    return true;
}

static int run(struct call *c)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].name, c->command) != 0 || c->count != commands[i].args_count)
            continue;
        if (commands[i].json_at >= 0) {
            read_volume(c, c->args[commands[i].json_at]);
        } else if (c->count > 0) {
            const char *slash = strrchr(c->args[0], '/');
            (void)snprintf(c->volume, sizeof c->volume, "%s", slash ? slash + 1 : c->args[0]);
        }
        begin(c);
        hold(c);
        lock();
        if (!is_to_fail(c))
            commands[i].run(c);
        end(c);
        unlock();
        printf("{\"status\":\"%s\"%s}\n", c->status, buf_cstr(&c->answer));
        return strcmp(c->status, "Success") != 0;
    }
    printf("{\"status\":\"Not supported\"}\n");
    return 1;
}

int main(int argc, char **argv)
{
    const char *given = getenv("FLEX_CLOUD"), *slash = strrchr(argv[0], '/');
    struct call c = { .begin_ns = now_ns(), .status = "Success", .answer = BUF_INIT(1 << 16) };
    int r;

    if (given)
        (void)snprintf(dir, sizeof dir, "%s", given);
    else
        (void)snprintf(dir, sizeof dir, "%.*s.cloud", slash ? (int)(slash + 1 - argv[0]) : 0, argv[0]);
    if (argc < 2 || (mkdir(dir, 0755) < 0 && errno != EEXIST))
        die("cannot begin");
    c.command = argv[1];
    c.args = argv + 2;
    c.count = argc - 2;
    r = run(&c);
    buf_done(&c.answer);
    return r;
}
