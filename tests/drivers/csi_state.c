/* The state of the driver: files in a directory, and the requests and answers of calls. */
#include "csi_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

const char *driver_dir;
static int lock_fd = -1;

void driver_die(const char *what)
{
    (void)fprintf(stderr, "csi_driver: %s: %s\n", what, strerror(errno));
    exit(1);
}

const char *state_path(const char *name)
{
    static char paths[4][LINE_BYTES];
    static unsigned next;
    char *path = paths[next++ % ARRAY_LEN(paths)];

    (void)snprintf(path, sizeof paths[0], "%s/%s", driver_dir, name);
    return path;
}

uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void state_lock(void)
{
    if (lock_fd < 0)
        lock_fd = open(state_path("lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd < 0 || flock(lock_fd, LOCK_EX) < 0)
        driver_die("lock");
}

void state_unlock(void)
{
    (void)flock(lock_fd, LOCK_UN);
}

/* --- Files --- */

void state_append(const char *file, const char *line)
{
    FILE *f = fopen(state_path(file), "ae");

    if (!f || fprintf(f, "%s\n", line) < 0 || fclose(f) != 0)
        driver_die(file);
}

void state_add(const char *file, const char *key, const char *value)
{
    char line[LINE_BYTES];

    (void)snprintf(line, sizeof line, "%s %s", key, value);
    state_append(file, line);
}

/* Has a line with that key, and if it is not NULL that value. */
bool state_has(const char *file, const char *key, const char *value)
{
    FILE *f = fopen(state_path(file), "re");
    size_t len = strlen(key);
    char line[LINE_BYTES];
    bool found = false;

    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, key, len) == 0 && line[len] == ' ' &&
                (!value || strcmp(line + len + 1, value) == 0);
    }
    if (f)
        (void)fclose(f);
    return found;
}

void state_drop(const char *file, const char *key, const char *value)
{
    FILE *from = fopen(state_path(file), "re"), *to = fopen(state_path("new"), "we");
    char line[LINE_BYTES], goes[LINE_BYTES];

    (void)snprintf(goes, sizeof goes, "%s %s\n", key, value);
    while (from && to && fgets(line, sizeof line, from))
        if (strcmp(line, goes) != 0)
            (void)fputs(line, to);
    if (from)
        (void)fclose(from);
    if (!to || fclose(to) != 0 || rename(state_path("new"), state_path(file)) < 0)
        driver_die(file);
}

/* The first line of the file; fallback when it is not there. */
const char *state_setting(const char *file, const char *fallback, char ret[LINE_BYTES])
{
    FILE *f = fopen(state_path(file), "re");

    (void)snprintf(ret, LINE_BYTES, "%s", f ? "" : fallback);
    if (f && fgets(ret, LINE_BYTES, f))
        ret[strcspn(ret, "\n")] = '\0';
    if (f)
        (void)fclose(f);
    return ret;
}

void state_violate(const char *what, const char *volume)
{
    state_add("violations", volume, what);
}

/* --- Calls --- */

void call_fail(struct call *c, unsigned code, const char *words)
{
    c->code = code;
    (void)snprintf(c->words, sizeof c->words, "%s", words);
}

void call_answer(struct call *c, const ProtobufCMessage *m)
{
    char *data = buf_grow(&c->answer, protobuf_c_message_get_packed_size(m));

    if (data)
        (void)protobuf_c_message_pack(m, (uint8_t *)data);
}

void *call_unpack(struct call *c, const ProtobufCMessageDescriptor *type)
{
    void *m = protobuf_c_message_unpack(type, NULL, c->request.len, (const uint8_t *)c->request.s);

    if (!m)
        driver_die("a request that cannot be read");
    return m;
}

void call_show(struct call *c, const char *key, const char *value)
{
    buf_addf(&c->shown, "%s=%s\n", key, value);
}

void call_show_pairs(struct call *c, const char *what, Csi__V1__Pair **pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(&c->shown, "%s.%s=%s\n", what, pairs[i]->key, pairs[i]->value);
}

void call_show_secrets(struct call *c, Csi__V1__Secret **secrets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(&c->shown, "secret.%s=%.*s\n", secrets[i]->key, (int)secrets[i]->value.len,
                 (const char *)secrets[i]->value.data);
}

bool call_show_capability(struct call *c, const Csi__V1__VolumeCapability *v)
{
    bool is_block = v && v->access_type_case == CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_BLOCK;

    if (!v)
        return false;
    buf_addf(&c->shown, "mode=%d\naccess=%s\n", v->access_mode ? (int)v->access_mode->mode : -1,
             is_block ? "block" : "mount");
    if (v->access_type_case != CSI__V1__VOLUME_CAPABILITY__ACCESS_TYPE_MOUNT)
        return is_block;
    call_show(c, "fs_type", v->mount->fs_type);
    call_show(c, "group", v->mount->volume_mount_group);
    for (size_t i = 0; i < v->mount->n_mount_flags; i++)
        call_show(c, "flag", v->mount->mount_flags[i]);
    return is_block;
}
