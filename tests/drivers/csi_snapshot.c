/* Snapshots of the driver, and volumes with the data of a snapshot or of another volume. A snapshot is a copy
 * of the volume's directory or image; it is ready after the time of `snapshot-delay`. */
#include "csi_driver.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define NS_PER_MS 1000000
#define ENTRIES_MAX 16384

/* One line of `snapshots`. */
struct kept_snapshot {
    char id[512];
    char volume[512];
    int64_t bytes;
    uint64_t ready_ns;
};

/* --- The record --- */

static bool read_line(FILE *f, struct kept_snapshot *ret)
{
    char line[LINE_BYTES];
    char *words[4], *at = line;

    if (!fgets(line, sizeof line, f))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        words[i] = strsep(&at, " ");
        if (!words[i])
            return false;
    }
    (void)snprintf(ret->id, sizeof ret->id, "%.511s", words[0]);
    (void)snprintf(ret->volume, sizeof ret->volume, "%.511s", words[1]);
    ret->bytes = strtoll(words[2], NULL, 10);
    ret->ready_ns = strtoull(words[3], NULL, 10);
    return true;
}

static bool find_snapshot(const char *id, struct kept_snapshot *ret)
{
    FILE *f = fopen(state_path("snapshots"), "re");
    bool is_found = false;

    while (f && !is_found && read_line(f, ret))
        is_found = strcmp(ret->id, id) == 0;
    if (f)
        (void)fclose(f);
    return is_found;
}

static void write_value(const struct kept_snapshot *s, char ret[LINE_BYTES])
{
    (void)snprintf(ret, LINE_BYTES, "%s %" PRId64 " %" PRIu64, s->volume, s->bytes, s->ready_ns);
}

/* --- Data --- */

/* "DIR/snapshot-data/ID", or the same of a volume. */
static void write_path(const char *dir, const char *name, char ret[LINE_BYTES])
{
    (void)mkdir(state_path(dir), 0755);
    (void)snprintf(ret, LINE_BYTES, "%s/%s/%s", driver_dir, dir, name);
}

static void snapshot_data(const char *snapshot, char ret[LINE_BYTES])
{
    write_path("snapshot-data", snapshot, ret);
}

static void volume_data(const char *volume, char ret[LINE_BYTES])
{
    write_path(disk_is_used() ? "disks" : "volumes", volume, ret);
}

/* What an earlier copy has left goes first. */
static bool copy_data(const char *from, const char *to)
{
    const char *remove[] = { "rm", "-rf", "--one-file-system", to, NULL };
    const char *copy[] = { "cp", "-a", "--sparse=always", from, to, NULL };

    return driver_run(remove) && driver_run(copy);
}

/* --- Calls --- */

static void fill_snapshot(const struct kept_snapshot *s, Csi__V1__Snapshot *ret, Csi__V1__Timestamp *taken)
{
    csi__v1__snapshot__init(ret);
    csi__v1__timestamp__init(taken);
    taken->seconds = 1700000000;
    ret->snapshot_id = (char *)(uintptr_t)s->id;
    ret->source_volume_id = (char *)(uintptr_t)s->volume;
    ret->size_bytes = s->bytes;
    ret->creation_time = taken;
    ret->ready_to_use = now_ns() >= s->ready_ns;
}

static void take_snapshot(struct call *c, const Csi__V1__CreateSnapshotRequest *m, struct kept_snapshot *ret)
{
    char text[LINE_BYTES], from[LINE_BYTES], to[LINE_BYTES];

    volume_data(m->source_volume_id, from);
    snapshot_data(m->name, to);
    if (!creation_is_same(c)) {
        state_violate("snapshot taken again with another request", c->volume);
        call_fail(c, 6, "the snapshot exists with another request");
    } else if (!find_snapshot(m->name, ret)) {
        (void)snprintf(ret->id, sizeof ret->id, "%s", m->name);
        (void)snprintf(ret->volume, sizeof ret->volume, "%s", m->source_volume_id);
        ret->bytes = volume_size(m->source_volume_id);
        ret->ready_ns = now_ns() + strtoull(state_setting("snapshot-delay", "0", text), NULL, 10) * NS_PER_MS;
        if (ret->bytes < 0) {
            call_fail(c, 5, "no such volume");
        } else if (!copy_data(from, to)) {
            call_fail(c, 13, "the volume cannot be copied");
        } else {
            creation_remember(c);
            write_value(ret, text);
            state_add("snapshots", m->name, text);
        }
    }
}

void snapshot_do_create(struct call *c)
{
    Csi__V1__CreateSnapshotRequest *m = call_unpack(c, &csi__v1__create_snapshot_request__descriptor);
    Csi__V1__CreateSnapshotResponse out = CSI__V1__CREATE_SNAPSHOT_RESPONSE__INIT;
    struct kept_snapshot kept = { 0 };
    Csi__V1__Snapshot snapshot;
    Csi__V1__Timestamp taken;

    call_show(c, "source", m->source_volume_id);
    call_show_pairs(c, "parameter", m->parameters, m->n_parameters);
    take_snapshot(c, m, &kept);
    call_show_secrets(c, m->secrets, m->n_secrets);
    if (c->code == 0) {
        fill_snapshot(&kept, &snapshot, &taken);
        out.snapshot = &snapshot;
        call_answer(c, &out.base);
    }
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

void snapshot_do_delete(struct call *c)
{
    Csi__V1__DeleteSnapshotRequest *m = call_unpack(c, &csi__v1__delete_snapshot_request__descriptor);
    char text[LINE_BYTES], data[LINE_BYTES];
    const char *remove[] = { "rm", "-rf", "--one-file-system", data, NULL };
    struct kept_snapshot kept;

    snapshot_data(c->volume, data);
    call_show_secrets(c, m->secrets, m->n_secrets);
    if (find_snapshot(c->volume, &kept)) {
        write_value(&kept, text);
        state_drop("snapshots", c->volume, text);
        (void)unlink(creation_file(c->volume));
        if (!driver_run(remove))
            call_fail(c, 13, "the snapshot cannot be removed");
    }
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

struct listed_snapshot {
    struct kept_snapshot kept;
    Csi__V1__ListSnapshotsResponse__Entry entry;
    Csi__V1__Snapshot snapshot;
    Csi__V1__Timestamp taken;
};

/* All, or those with the id or of the volume that the request names; without pages. */
void snapshot_do_list(struct call *c)
{
    Csi__V1__ListSnapshotsRequest *m = call_unpack(c, &csi__v1__list_snapshots_request__descriptor);
    Csi__V1__ListSnapshotsResponse out = CSI__V1__LIST_SNAPSHOTS_RESPONSE__INIT;
    static Csi__V1__ListSnapshotsResponse__Entry *list[ENTRIES_MAX];
    FILE *f = fopen(state_path("snapshots"), "re");
    struct kept_snapshot kept;

    call_show(c, "snapshot", m->snapshot_id);
    call_show_secrets(c, m->secrets, m->n_secrets);
    while (f && out.n_entries < ENTRIES_MAX && read_line(f, &kept)) {
        struct listed_snapshot *s;

        if ((m->snapshot_id[0] && strcmp(m->snapshot_id, kept.id) != 0) ||
            (m->source_volume_id[0] && strcmp(m->source_volume_id, kept.volume) != 0))
            continue;
        s = calloc(1, sizeof *s); /* until the end of the process */
        if (!s)
            driver_die("memory");
        s->kept = kept;
        csi__v1__list_snapshots_response__entry__init(&s->entry);
        fill_snapshot(&s->kept, &s->snapshot, &s->taken);
        s->entry.snapshot = &s->snapshot;
        list[out.n_entries++] = &s->entry;
    }
    if (f)
        (void)fclose(f);
    out.entries = list;
    call_answer(c, &out.base);
    protobuf_c_message_free_unpacked(&m->base, NULL);
}

/* --- Sources of volumes --- */

void snapshot_show_source(struct call *c, const Csi__V1__VolumeContentSource *from)
{
    if (from && from->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT)
        call_show(c, "from-snapshot", from->snapshot->snapshot_id);
    else if (from)
        call_show(c, "from-volume", from->volume->volume_id);
}

/* A volume is never made from a snapshot that is not ready. */
bool snapshot_has_source(const Csi__V1__VolumeContentSource *from)
{
    struct kept_snapshot kept;

    if (!from)
        return true;
    if (from->type_case != CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT)
        return volume_size(from->volume->volume_id) >= 0;
    if (!find_snapshot(from->snapshot->snapshot_id, &kept))
        return false;
    if (now_ns() < kept.ready_ns)
        state_violate("restored before it is ready", kept.id);
    return true;
}

bool snapshot_copy_source(struct call *c, const Csi__V1__VolumeContentSource *from)
{
    char data[LINE_BYTES], to[LINE_BYTES];

    if (!from)
        return true;
    if (from->type_case == CSI__V1__VOLUME_CONTENT_SOURCE__TYPE_SNAPSHOT)
        snapshot_data(from->snapshot->snapshot_id, data);
    else
        volume_data(from->volume->volume_id, data);
    volume_data(c->volume, to);
    return copy_data(data, to);
}
