/* For the tests of the attach controller: the frame of all controllers (test_parts.h), a plugin that does as
 * it is told, and a hand that plays nodes and external attachers. */
#ifndef BERTH_TESTS_TEST_ATTACH_H
#define BERTH_TESTS_TEST_ATTACH_H

#include "tests/unit/test_parts.h"

#include <pthread.h>

#include "controllers/attach/attach.h"
#include "io/digest.h"

#define DRIVERS "/apis/storage.k8s.io/v1/csidrivers"
#define DRIVER "d.io"
#define NODE_1 NODES "/n1"
#define NODE_2 NODES "/n2"
#define PATCH_1 "PATCH " NODE_1 "/status\n"
#define POD_P PODS "/p"
#define RWO "'ReadWriteOnce'"

/* --- The plugin: PersistentVolumes and pods' volumes of NFS, by their names --- */

struct script {
    pthread_mutex_t lock; /* workers write */
    unsigned attaches;
    unsigned detaches;
    unsigned checks;
    char attached_to[64];
    char detached_from[64];
    unsigned fails; /* so many attaches and detaches to come */
    enum err fails_with;
    const char *says;
    const char *elsewhere; /* an attach that fails names this node */
    const char *device;
    bool is_lost;       /* verification finds nothing */
    bool cannot_verify; /* … or does not know */
};
extern struct script script;

/* --- The part --- */

extern struct attach_options attach_options; /* what a test wants otherwise */

struct attach_part {
    struct attach *attach;
    struct plugin_registry *registry;
    struct pool *pool;
};

extern const struct part_type attach_type;

void script_clear(void);

void attach_init(struct parts *w);

/* The process ends and another one begins. */
void attach_restart(struct parts *w);

/* --- Objects --- */

/* A request of a person, and what follows from it at once. */
#define ASSERT_DID(w, expected, method, target, body)              \
    do {                                                           \
        ASSERT_SENT(&(w)->served, expected, method, target, body); \
        parts_rest(w);                                             \
    } while (0)

void set_ready(struct parts *w, const char *node, bool is_ready);

#define MANAGED "'annotations':{'volumes.kubernetes.io/controller-managed-attach-detach':'true'}"

void add_node(struct parts *w, const char *name);

/* What the node says it uses: "'a','b'", "" for nothing. Said again, it is another word all the same. */
void set_in_use(struct parts *w, const char *node, const char *names);

/* A claim and its volume, bound to each other. */
void add_pair_in(struct parts *w, const char *ns, const char *claim, const char *volume, const char *modes,
                 const char *source);

void add_pair(struct parts *w, const char *claim, const char *volume, const char *modes, const char *source);

#define CSI(handle) "'csi':{'driver':'" DRIVER "','volumeHandle':'" handle "'}"
#define NFS "'nfs':{'server':'s','path':'/x'}"
#define CSI_V(handle) "kubernetes.io/csi/" DRIVER "^" handle
#define DISK(name) "test.io/disk/" name

void add_pod_in(struct parts *w, const char *ns, const char *pod, const char *node, const char *volumes);

#define CLAIMED(name, claim) "{'name':'" name "','persistentVolumeClaim':{'claimName':'" claim "'}}"

void add_pod(struct parts *w, const char *pod, const char *node, const char *volumes);

void drop_pod(struct parts *w, const char *pod);

void pass_ms(struct parts *w, uint64_t ms);

void pass_s(struct parts *w, uint64_t seconds);

/* --- Attachments, and who serves them --- */

const char *attachment_path(const char *handle, const char *node);

void patch_attachment(struct parts *w, const char *handle, const char *node, const char *sub,
                      const char *body);

#define FINALIZED "{'metadata':{'finalizers':['external-attacher/d-io']}}"

/* The attacher's word: it is attached. */
void grant(struct parts *w, const char *handle, const char *node);

/* … and it is not any more. */
void release(struct parts *w, const char *handle, const char *node);

/* Plays the attacher for all that is asked of it, until nothing is. */
void serve_attachments(struct parts *w);

/* --- What stands there --- */

/* The names in volumesAttached of a node, in order, with a blank behind each. */
const char *attached_to(struct parts *w, const char *node);

#define ASSERT_ATTACHED(w, node, names) ASSERT_STR(names, attached_to(w, node))

void assert_attachment(struct parts *w, const char *handle, const char *node, bool is_there);

/* Which events of that reason an object has. */
unsigned count_of(struct parts *w, const char *pod, const char *reason, const char *message);

#define ASSERT_TOLD(w, times, pod, reason, message)                                    \
    do {                                                                               \
        unsigned told_ = count_of(w, pod, reason, message);                            \
        if (told_ != (times))                                                          \
            fail_msg("%s was told %s %u times, not %u\n%s", pod, reason, told_, times, \
                     buf_cstr(&(w)->served.text));                                     \
    } while (0)

#endif
