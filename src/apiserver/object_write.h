/* Writes: from a request to an object in the store.
 *
 * create.c, update.c and patch.c each produce a tree that becomes the object; the rest is common
 * (write_finish_create(), write_finish_update()): field ownership, admission, preparation, validation,
 * commit, response. Everything before the commit happens in one callback on trees in the server's scratch
 * document, on the newest state including writes in flight, so that nothing can change between the check and
 * the write. Only the commit waits.
 *
 * Steps answer the call when they refuse it, and return false. */
#ifndef BERTH_APISERVER_OBJECT_WRITE_H
#define BERTH_APISERVER_OBJECT_WRITE_H

#include "apiserver/api_call.h"
#include "apiserver/body.h"
#include "store/store.h"

/* The longest name with its NUL. */
#define NAME_BYTES_MAX 254

/* How long a commit may take before the client gets a timeout. */
#define WRITE_DEADLINE_NS (34 * NS_PER_S)

/* The limit of etcd, which clients expect. */
#define STORED_OBJECT_BYTES_MAX ((size_t)1536 << 10)

struct object_write_options {
    bool is_dry_run;
    bool is_forced; /* apply: take over fields that others own */
    enum field_validation validation;
    struct str manager; /* field manager */
};

struct object_write {
    struct call *c;
    const struct kind_info *kind; /* as in the path: for events either group */
    struct json *d;
    const struct object *old_object; /* NULL: none, the write creates */
    json_ref old;
    json_ref object;
    enum write_part part;
    bool is_finalize; /* the finalize subresource of namespaces */
    bool is_patch;
    bool is_apply;
    bool is_vetted; /* w->object is normalized, and has no unknown field */
    struct object_write_options options;
    int status;           /* of a successful response */
    bool answers_success; /* with a Status instead of the object */
};

void write_create(struct call *c);
void write_update(struct call *c);
void write_patch(struct call *c);

/* POST pods/NAME/binding, or POST bindings, where the body names the pod: assigns the pod to a node. */
void bind_pod(struct call *c);

/* --- Steps --- */

/* The write in the call's arena, with options read; NULL when the call has been refused. `options` is the
 * name of the options object: "CreateOptions". */
struct object_write *write_begin(struct call *c, const char *options);
/* Finds the stored object, including writes in flight: old_object, and its tree in the form of w->kind. False
 * when it cannot be read; a missing object is not an error. */
bool write_load_old(struct object_write *w);
/* Compares metadata.name and .namespace with the path; the name may only be missing for a new object. */
bool write_check_names(struct object_write *w);
/* Normalizes w->object after edits. */
bool write_normalize(struct object_write *w);
/* Compares the uid and the resourceVersion in w->object, if set, with those of w->old_object. */
bool write_check_preconditions(struct object_write *w);
/* Creates w->object, which is normalized. */
void write_finish_create(struct object_write *w);
/* Replaces w->old by w->object, which is normalized. */
void write_finish_update(struct object_write *w);
/* The end of every write: stores w->object (or removes it), unless nothing would change or it is a dry run,
 * and answers. Its metadata is complete except the resourceVersion, which has a placeholder. */
void write_commit(struct object_write *w, bool is_delete);

/* 409 with the stock message. */
void write_fail_conflict(struct call *c);

/* The object of the call's path, including writes in flight. */
const struct object *write_newest(const struct call *c, const struct kind_info *k);

#endif
