/* Writes: from a request to an object in the store.
 *
 * create.c, update.c and patch.c each end up with a tree that is to become the object; from there on the way
 * is one (write_finish): field ownership, admission, preparation, validation, commit, answer. Everything up
 * to the commit happens in one callback on trees in the server's scratch document, against the newest state
 * with the writes in flight, so that nothing can come between the check and the write. Only the commit waits.
 *
 * Steps answer the call themselves when they refuse it, and return false. */
#ifndef BERTH_APISERVER_WRITE_H
#define BERTH_APISERVER_WRITE_H

#include "apiserver/body.h"
#include "apiserver/call.h"
#include "store/store.h"

/* No name is longer; with its NUL. */
#define NAME_BYTES_MAX 254

/* How long a commit may take before the client hears that nobody knows. */
#define WRITE_DEADLINE_NS (34 * NS_PER_S)

/* etcd's limit, which clients know. */
#define STORED_OBJECT_BYTES_MAX ((size_t)1536 << 10)

struct write_options {
    bool is_dry_run;
    bool is_forced; /* apply: take over what others own */
    enum field_validation validation;
    struct str manager; /* who will own the fields */
};

struct write {
    struct call *c;
    const struct kind_info *kind; /* as the path has it: of events either form */
    struct json *d;
    const struct object *old_object; /* NULL when there is none: the write creates */
    json_ref old;
    json_ref object;
    enum write_part part;
    bool is_finalize; /* the finalize subresource of namespaces */
    bool is_patch;
    bool is_apply;
    bool is_vetted; /* w->object was brought into form, and has no field that its schema does not know */
    struct write_options options;
    int status;           /* of the answer when all goes well */
    bool answers_success; /* with a Status that says so and not with the object */
};

void write_create(struct call *c);
void write_update(struct call *c);
void write_patch(struct call *c);

/* --- The parts --- */

/* The write in the call's arena, with options read; NULL when the call has been refused. `options` is the
 * name of the object the parameters stand for: "CreateOptions". */
struct write *write_begin(struct call *c, const char *options);
/* Finds what is there, with the writes in flight: old_object, and its tree in the form of w->kind. False when
 * it cannot be read; nothing there is no failure. */
bool write_load_old(struct write *w);
/* metadata.name and .namespace against the path; the name may only be missing when the object is new. */
bool write_check_names(struct write *w);
/* Brings w->object into canonical form after edits. */
bool write_normalize(struct write *w);
/* The uid and the resourceVersion in w->object, if there, are those of w->old_object. */
bool write_check_preconditions(struct write *w);
/* Creates w->object, which is normalized. */
void write_finish_create(struct write *w);
/* Puts w->object, which is normalized, in the place of w->old. */
void write_finish_update(struct write *w);
/* The end of every write: stores w->object (or removes it), unless nothing would change or it is a dry run,
 * and answers. Its metadata is complete but for the resourceVersion, whose place is there. */
void write_commit(struct write *w, bool is_delete);

/* 409 with the words every client knows. */
void write_fail_conflict(struct call *c);

/* What is stored under the call's path, with the writes in flight. */
const struct object *write_newest(const struct call *c, const struct kind_info *k);

#endif
