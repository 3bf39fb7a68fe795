/* One step is one mount(8): a source, a target, a type, options; errors contain the equivalent command line.
 * A bind takes two steps.
 *
 * libmount in this process is configured to use only its arguments: no fstab, no helpers, no canonical paths
 * (the kernel follows links itself), no table of its own. Options of its user-space map (loop,
 * X-mount.subdir, helper=) make it do more than mount, some of it to the whole process: these, and all types
 * that are not known to need only the kernel, are passed to the command. */
#include "host/mount_syscall.h"

#include <errno.h>
#include <libmount/libmount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "io/env.h"
#include "io/sys.h"

#define OPTIONS_BYTES_MAX 65536
#define OUTPUT_BYTES_MAX 4096
#define MOUNT_LIMIT_NS (120 * NS_PER_S)

struct step {
    const char *source;
    const char *target;
    const char *type;
    const char *options; /* "" for none */
    const char *shown;   /* the same without secrets, for messages */
    uint64_t limit_ns;
};

/* --- Failures --- */

/* exit: "exit status 32". Without the privilege to mount, the text of mount(8) is replaced: it is about
 * something else. */
static int step_fail(const struct step *s, enum err code, const char *exit, const char *output,
                     struct error *err)
{
    struct str said = str_trim(str_of(output));
    char user[IO_USER_NAME_BYTES];

    if (!io_may_mount()) {
        io_user_name(io_user(), user);
        return error_set(err, ERR_DENIED, MOUNT_NOT_PERMITTED ", and this agent runs as %s (uid %u)", user,
                         (unsigned)io_user());
    }
    return error_set(err, code,
                     "mount failed: %s\nMounting command: mount\nMounting arguments: "
                     "%s%s%s%s%s%s%s%s%s\nOutput: %.*s\n",
                     exit, s->type[0] ? "-t " : "", s->type, s->type[0] ? " " : "", s->shown[0] ? "-o " : "",
                     s->shown, s->shown[0] ? " " : "", s->source, s->source[0] ? " " : "", s->target,
                     STR_ARG(said));
}

/* --- In this process --- */

static void context_free(struct libmnt_context **c)
{
    mnt_free_context(*c);
}

static int context_set_up(struct libmnt_context *c, const struct step *s)
{
    int r = mnt_context_set_target(c, s->target);

    if (r == 0 && s->source[0])
        r = mnt_context_set_source(c, s->source);
    if (r == 0 && s->type[0])
        r = mnt_context_set_fstype(c, s->type);
    if (r == 0 && s->options[0])
        r = mnt_context_set_options(c, s->options);
    if (r == 0)
        r = mnt_context_set_optsmode(c, MNT_OMODE_NOTAB);
    if (r == 0)
        r = mnt_context_disable_canonicalize(c, true);
    if (r == 0)
        r = mnt_context_disable_helpers(c, true);
    return r == 0 ? mnt_context_disable_mtab(c, true) : r;
}

static int step_mount(const struct step *s, struct error *err)
{
    _cleanup_(context_free) struct libmnt_context *c = NULL;
    char words[512] = "", output[OUTPUT_BYTES_MAX], exit[32];
    struct error scratch = { .code = ERR_IO };
    int r, code;

    if (sys_here) {
        r = sys_here->calls->mount(sys_here, s->source, s->target, s->type, s->options);
        if (r == 0)
            return 0;
        (void)error_set_errno(&scratch, r, "mount");
        return step_fail(s, scratch.code, "exit status 32", scratch.msg, err);
    }
    c = mnt_new_context();
    if (!c || context_set_up(c, s) != 0)
        return error_no_memory(err);
    r = mnt_context_mount(c);
    code = mnt_context_get_excode(c, r, words, sizeof words);
    if (r == 0 && code == 0)
        return 0;
    (void)snprintf(exit, sizeof exit, "exit status %d", code);
    (void)snprintf(output, sizeof output, "mount: %s: %s.", s->target, words);
    r = mnt_context_get_syscall_errno(c);
    if (r > 0)
        (void)error_set_errno(&scratch, r, "mount");
    return step_fail(s, scratch.code, exit, output, err);
}

/* --- Helpers --- */

#define HELPER_NAME_BYTES 64

/* Types that only their helper can mount: if one of them fails and its helper is missing, that is the cause,
 * whatever mount(8) prints. Packages as Debian names them; NULL: none. */
static const struct {
    const char *type, *package;
} helped[] = {
    { "nfs", "nfs-common" },  { "nfs4", "nfs-common" },  { "cifs", "cifs-utils" },
    { "smb3", "cifs-utils" }, { "ceph", "ceph-common" }, { "glusterfs", "glusterfs-client" },
    { "davfs", "davfs2" },    { "fuse", "fuse3" },       { "lustre", NULL },
};

/* The helper of "fuse.sshfs" is mount.fuse.sshfs, or else mount.fuse. */
static bool has_helper(const struct host_tools *t, const char *type)
{
    char name[HELPER_NAME_BYTES];

    (void)snprintf(name, sizeof name, "mount.%s", type); /* no longer one exists */
    return command_exists(t->commands_path, name);
}

/* Checked at each failure, so that an installation takes effect at once. */
static int step_explain(const struct host_tools *t, const struct step *s, const char *exit,
                        const char *output, struct error *err)
{
    struct str rest = str_of(s->type), family = str_next(&rest, '.');

    bool is_bind = mnt_optstr_get_option(s->options, "bind", NULL, NULL) == 0; /* a bind needs no helper */

    for (size_t i = 0; i < ARRAY_LEN(helped) && !is_bind; i++) {
        const char *type = helped[i].type, *package = helped[i].package;

        if (!str_is(family, type))
            continue;
        if (has_helper(t, s->type) || has_helper(t, type))
            break;
        return error_set(err, ERR_IO, "mount.%s" MOUNT_HELPER_MISSING "%s%s", type,
                         package ? MOUNT_HELPER_PACKAGE : "", package ? package : "");
    }
    return step_fail(s, ERR_IO, exit, output, err);
}

/* --- As a command --- */

static int step_run(const struct host_tools *t, const struct step *s, struct error *err)
{
    _cleanup_(buf_done_p) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
    const char *argv[8] = { "mount" };
    struct error failure = { 0 };
    size_t count = 1;
    char exit[32];
    int code = 0, r;
    struct command c = {
        .what = "mount",
        .argv = argv,
        .path = t->commands_path,
        .stop = t->stop,
        .limit_ns = s->limit_ns ? s->limit_ns : MOUNT_LIMIT_NS,
        .output = &output,
        .exit_code = &code,
    };

    if (s->source[0] == '-' || s->target[0] == '-') /* would be parsed as an option */
        return error_set(err, ERR_INVALID, "cannot mount '%s' at '%s': paths must not begin with '-'",
                         s->source, s->target);
    if (s->type[0]) {
        argv[count++] = "-t";
        argv[count++] = s->type;
    }
    if (s->options[0]) {
        argv[count++] = "-o";
        argv[count++] = s->options;
    }
    if (s->source[0])
        argv[count++] = s->source;
    argv[count++] = s->target;
    r = command_run(&c, &failure);
    if (r == -ERR_TIMEOUT || r == -ERR_CANCELLED || r == -ERR_IO) /* it was ended; its helper may still run */
        failure.code = ERR_UNCERTAIN;
    if (r < 0)
        return step_fail(s, failure.code, failure.msg, buf_cstr(&output), err);
    if (code == 0)
        return 0;
    (void)snprintf(exit, sizeof exit, "exit status %d", code);
    return step_explain(t, s, exit, buf_cstr(&output), err);
}

/* Whether all options are for the kernel and the file system. */
static bool has_plain_options(const char *options)
{
    unsigned long asked = 0;
    int r = mnt_optstr_get_flags(options, &asked, mnt_get_builtin_optmap(MNT_USERSPACE_MAP));

    return r == 0 && (asked & ~(unsigned long)(MNT_MS_NETDEV | MNT_MS_NOFAIL | MNT_MS_NOAUTO)) == 0;
}

static bool has_option(struct texts options, const char *name)
{
    for (uint32_t i = 0; i < options.count; i++)
        if (strcmp(options.items[i], name) == 0)
            return true;
    return false;
}

static int step_do(const struct host_tools *t, const struct step *s, struct error *err)
{
    /* "" and "auto": detected by the kernel or libblkid, neither of which detects a network file system. */
    static const char *const own_types[] = { "",     "auto", "none", "tmpfs", "hugetlbfs",
                                             "ext2", "ext3", "ext4", "xfs",   "btrfs" };

    if (has_option((struct texts){ own_types, ARRAY_LEN(own_types) }, s->type) &&
        has_plain_options(s->options))
        return step_mount(s, err);
    return step_run(t, s, err);
}

/* --- Options --- */

static void add_option(struct buf *b, const char *option)
{
    if (option[0] != '\0')
        buf_addf(b, "%s%s", b->len ? "," : "", option); /* failures are sticky; checked at the end */
}

static void add_options(struct buf *real, struct buf *shown, const struct mount_plan *plan, bool is_bind)
{
    for (uint32_t i = 0; i < plan->options.count; i++) {
        const char *o = plan->options.items[i];
        if (is_bind && (strcmp(o, "bind") == 0 || strcmp(o, "remount") == 0))
            continue; /* set by us */
        add_option(real, o);
        add_option(shown, o);
    }
    for (uint32_t i = 0; i < plan->secret_options.count; i++) {
        add_option(real, plan->secret_options.items[i]);
        add_option(shown, "<masked>");
    }
}

/* Flags that a remount would remove from a mount unless they are repeated; a locked flag cannot be removed,
 * and the remount would fail. */
static int add_flags_of(struct buf *real, struct buf *shown, const char *source, struct error *err)
{
    static const struct {
        unsigned long flag;
        const char *option;
    } flags[] = {
        { ST_RDONLY, "ro" },
        { ST_NODEV, "nodev" },
        { ST_NOEXEC, "noexec" },
        { ST_NOSUID, "nosuid" },
        { ST_NOATIME, "noatime" },
        { ST_RELATIME, "relatime" },
        { ST_NODIRATIME, "nodiratime" },
    };
    struct statvfs st;

    if (sys_statvfs(source, &st) < 0)
        return error_set_errno(err, errno, "cannot examine the file system of '%s'", source);
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (!(st.f_flag & flags[i].flag))
            continue;
        add_option(real, flags[i].option);
        add_option(shown, flags[i].option);
    }
    return 0;
}

/* --- Mounting --- */

static int step_do_with(const struct host_tools *t, struct step *s, const struct buf *real,
                        const struct buf *shown, struct error *err)
{
    int r = buf_check(real, "the mount options", err);

    if (r == 0)
        r = buf_check(shown, "the mount options", err);
    if (r < 0)
        return r;
    s->options = buf_cstr(real);
    s->shown = buf_cstr(shown);
    return step_do(t, s, err);
}

/* The second step of a bind. */
static int remount_bind(const struct host_tools *t, const struct mount_plan *plan, struct step *s,
                        struct buf *real, struct buf *shown, struct error *err)
{
    int r;

    add_option(real, "bind,remount");
    add_option(shown, "bind,remount");
    add_options(real, shown, plan, /* is_bind= */ true);
    r = add_flags_of(real, shown, plan->source, err);
    return r < 0 ? r : step_do_with(t, s, real, shown, err);
}

int host_mount(const struct host_tools *t, const struct mount_plan *plan, struct error *err)
{
    _cleanup_(buf_done_p) struct buf real = BUF_INIT(OPTIONS_BYTES_MAX);
    _cleanup_(buf_done_p) struct buf shown = BUF_INIT(OPTIONS_BYTES_MAX);
    struct step s = { plan->source, plan->target, plan->type, "", "", plan->limit_ns };
    int r;

    if (!has_option(plan->options, "bind")) {
        add_options(&real, &shown, plan, /* is_bind= */ false);
        return step_do_with(t, &s, &real, &shown, err);
    }
    s.options = s.shown = has_option(plan->options, "_netdev") ? "bind,_netdev" : "bind";
    r = step_do(t, &s, err);
    if (r < 0)
        return r;
    r = remount_bind(t, plan, &s, &real, &shown, err);
    if (r < 0)
        (void)sys_umount2(plan->target, MNT_DETACH); /* the failure at hand is the one to report */
    return r;
}

int host_bind_fd(const struct host_tools *t, int fd, const char *target, struct texts options,
                 struct error *err)
{
    char source[32];
    struct mount_plan plan = { .source = source, .target = target, .type = "", .options = options };

    if (!has_option(options, "bind"))
        return error_set(err, ERR_INTERNAL, "a descriptor can only be bind-mounted");
    (void)snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
    return host_mount(t, &plan, err);
}

/* --- Merging --- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int host_join_options(struct arena *a, struct texts user, struct texts ours, struct texts *ret,
                      struct error *err)
{
    const char **all = arena_array(a, (size_t)user.count + ours.count + 1, sizeof *all);
    uint32_t count = 0, kept = 0;

    if (!all)
        return error_no_memory(err);
    for (uint32_t i = 0; i < user.count; i++)
        if (user.items[i][0] != '\0')
            all[count++] = user.items[i];
    for (uint32_t i = 0; i < ours.count; i++)
        all[count++] = ours.items[i];
    if (count > 0)
        qsort(all, count, sizeof *all, compare_texts);
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(all[kept - 1], all[i]) != 0)
            all[kept++] = all[i];
    *ret = (struct texts){ all, kept };
    return 0;
}
