/* What the files of the test driver share: its state, and the calls that it serves. */
#ifndef BERTH_TESTS_CSI_DRIVER_H
#define BERTH_TESTS_CSI_DRIVER_H

#include <rpc/proto/csi.pb-c.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define LINE_BYTES 8192
#define MESSAGE_BYTES_MAX ((size_t)16 << 20)

/* --- The state (csi_state.c): changed under the lock --- */

extern const char *driver_dir;

void driver_die(const char *what);
/* One of the last four is overwritten. */
const char *state_path(const char *name);
uint64_t now_ns(void);
void state_lock(void);
void state_unlock(void);

void state_append(const char *file, const char *line);
/* Lines "KEY VALUE". */
void state_add(const char *file, const char *key, const char *value);
bool state_has(const char *file, const char *key, const char *value);
void state_drop(const char *file, const char *key, const char *value);
const char *state_setting(const char *file, const char *fallback, char ret[LINE_BYTES]);
void state_violate(const char *what, const char *volume);

/* --- Calls --- */

struct call {
    const char *method; /* "NodeStageVolume" */
    struct str request;
    struct buf answer; /* a message */
    unsigned code;
    bool is_lost; /* the answer does not arrive */
    char words[LINE_BYTES];
    char volume[512];
    struct buf shown; /* the request, a field a line */
    uint64_t begin_ns;
};

void call_fail(struct call *c, unsigned code, const char *words);
void call_answer(struct call *c, const ProtobufCMessage *m);
void *call_unpack(struct call *c, const ProtobufCMessageDescriptor *type);
/* The request in words, a field a line. */
void call_show(struct call *c, const char *key, const char *value);
void call_show_pairs(struct call *c, const char *what, Csi__V1__Pair **pairs, size_t count);
void call_show_secrets(struct call *c, Csi__V1__Secret **secrets, size_t count);
/* True for a raw volume. */
bool call_show_capability(struct call *c, const Csi__V1__VolumeCapability *v);

/* --- The node service (csi_node.c) --- */

void node_do_stage(struct call *c);
void node_do_unstage(struct call *c);
void node_do_publish(struct call *c);
void node_do_unpublish(struct call *c);
void node_do_stats(struct call *c);
void node_do_expand(struct call *c);
void node_do_capabilities(struct call *c);
void node_do_info(struct call *c);

/* --- The Identity and Controller services (csi_controller.c) --- */

void identity_do_probe(struct call *c);
void identity_do_info(struct call *c);
void identity_do_capabilities(struct call *c);
void controller_do_capabilities(struct call *c);
void controller_do_create(struct call *c);
void controller_do_delete(struct call *c);
void controller_do_publish(struct call *c);
void controller_do_unpublish(struct call *c);
void controller_do_expand(struct call *c);
void controller_do_modify(struct call *c);
void controller_do_capacity(struct call *c);
void controller_do_list(struct call *c);
void controller_do_get_volume(struct call *c);
void controller_do_validate(struct call *c);
bool controller_can(unsigned capability);
/* The bytes of a created volume, -1 for others. */
int64_t volume_size(const char *volume);
/* What the volume or snapshot c->volume was created with: a creation is repeated with the same request. */
const char *creation_file(const char *volume);
void creation_remember(struct call *c);
bool creation_is_same(struct call *c);
/* A call of the node service that needs the volume there. */
void controller_check_use(const struct call *c);

/* --- Snapshots and clones (csi_snapshot.c) --- */

void snapshot_do_create(struct call *c);
void snapshot_do_delete(struct call *c);
void snapshot_do_list(struct call *c);
/* Of a CreateVolume; NULL: there is none. */
void snapshot_show_source(struct call *c, const Csi__V1__VolumeContentSource *from);
bool snapshot_has_source(const Csi__V1__VolumeContentSource *from);
/* The data of the source becomes that of the volume c->volume. */
bool snapshot_copy_source(struct call *c, const Csi__V1__VolumeContentSource *from);

/* --- Volumes on loop files (csi_disk.c) --- */

bool disk_is_used(void);
bool disk_size(const char *volume, int64_t bytes);
const char *disk_device(const char *volume);
bool disk_attach(const char *volume);
void disk_detach(const char *volume);
bool disk_format(const char *volume);
bool disk_grow(const char *volume, bool has_files);
void disk_remove(const char *volume);
/* Runs a command to its end; its output is not shown. True: it succeeded. */
bool driver_run(const char *const *argv);

#endif
