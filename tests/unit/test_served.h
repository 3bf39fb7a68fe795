/* For the tests of the whole API server: every part of it but the network, on a store that keeps nothing, in
 * time that is moved by hand.
 *
 * A request goes in as method, path and body, and comes back as a status and a tree. The frame counts: each
 * call that was sent is answered, once, or the test fails. Quotes in bodies may be written as '. */
#ifndef BERTH_TESTS_TEST_SERVED_H
#define BERTH_TESTS_TEST_SERVED_H

#include "tests/unit/test_kind.h"

#include <strings.h>

#include "apiserver/authenticate.h"
#include "apiserver/counts.h"
#include "apiserver/server.h"
#include "apiserver/store_lookup.h"
#include "machinery/metrics.h"
#include "store/store.h"
#include "store/store_int.h"

#define SERVED_HEADERS_MAX 8
#define SERVED_START_S INT64_C(1700000000) /* 2023-11-14T22:13:20Z */
#define EVENT_TTL_S 3600

#define MAPS "/api/v1/namespaces/default/configmaps"
#define CLAIMS "/api/v1/namespaces/default/persistentvolumeclaims"
#define VOLUMES "/api/v1/persistentvolumes"
#define PODS "/api/v1/namespaces/default/pods"
#define NODES "/api/v1/nodes"
#define NAMESPACES "/api/v1/namespaces"
#define EVENTS "/api/v1/namespaces/default/events"
#define NEW_EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"
#define CLASSES "/apis/storage.k8s.io/v1/storageclasses"
#define ATTACHMENTS "/apis/storage.k8s.io/v1/volumeattachments"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/default/leases"
#define SNAPSHOTS "/apis/snapshot.storage.k8s.io/v1/namespaces/default/volumesnapshots"
#define SNAPSHOT_CONTENTS "/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents"
#define GROUP_SNAPSHOTS "/apis/groupsnapshot.storage.k8s.io/v1/namespaces/default/volumegroupsnapshots"
#define GROUP_CONTENTS "/apis/groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotcontents"
#define GROUP_CLASSES "/apis/groupsnapshot.storage.k8s.io/v1/volumegroupsnapshotclasses"
#define SNAPSHOT_CLASSES "/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses"

#define POD_SPEC "'spec':{'containers':[{'name':'c','image':'i:1'}]}"
#define POD_ON(node) "'spec':{'nodeName':'" node "','containers':[{'name':'c','image':'i:1'}]}"
#define VOLUME_SPEC \
    "'spec':{'capacity':{'storage':'5Gi'},'accessModes':['ReadWriteOnce'],'hostPath':{'path':'/x'}}"
#define CLAIM_SPEC "'spec':{'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'1Gi'}}}"

/* A log whose appends fail from one count to another. */
struct failing_log {
    unsigned appends;
    unsigned fails_from; /* counted from 1; 0: none fails */
    unsigned fails_to;
};

struct served {
    struct manual_clock clock;
    struct loop *loop;
    struct store *store;
    struct metrics *metrics;
    struct authenticator *authenticator;
    struct apiserver *server;
    struct failing_log log;
    bool is_insecure;
    unsigned sent;
    unsigned answered;
    /* Of the next request: further headers, and who asks when not the administrator. */
    const char *headers[SERVED_HEADERS_MAX];
    const struct peer *peer;
    /* The last answer that was waited for. */
    int status;
    struct buf text;
    struct buf answer_headers; /* "Name: value" lines */
    struct json doc;
    json_ref root;
};

/* A request on its way. */
struct sent {
    struct call call;
    struct served *served;
    char headers[SERVED_HEADERS_MAX][256];
    struct buf body;
    bool is_answered;
    bool is_cut;
};

/* --- Life --- */

void served_settle(struct served *w);

void served_pass(struct served *w, uint64_t seconds);

/* What the servers that are started from then on tell of themselves; NULL: nothing. */
extern const char *served_advertised, *served_ca_pem;

extern const struct key *served_key; /* signs tokens; NULL: none can be had */

/* A server, not yet at work: its duties have done nothing. */
void served_make(struct served *w, bool is_insecure, unsigned fails_from, unsigned fails_to);

/* A server at rest: what every cluster has is there. */
void served_init(struct served *w);

/* Another server on what the first one has stored. */
void served_restart(struct served *w);

void served_done(struct served *w);

/* --- Requests --- */

/* Sends these bytes and waits for nothing. The target must live until sent_done(). */
void send_bytes(struct served *w, struct sent *x, const char *method, const char *target, struct str body);

void send_begin(struct served *w, struct sent *x, const char *method, const char *target, const char *body);

void sent_done(struct sent *x);

int sent_wait(struct sent *x);

/* Sends, waits for the answer and for whatever follows from it; the status. */
int send_request(struct served *w, const char *method, const char *target, const char *body);

/* --- Answers --- */

/* What stands in the last answer under "metadata/name" or "items/0/kind": texts as they are, other values as
 * JSON, "-" for nothing. Lives until the call after next. */
const char *got(const struct served *w, const char *path);

/* How many items the last answer has. */
size_t got_items(const struct served *w);

#define ASSERT_SENT(w, expected, method, target, body)                                                 \
    do {                                                                                               \
        int status_ = send_request(w, method, target, body);                                           \
        if (status_ != (expected))                                                                     \
            fail_msg("%s %s: %d, expected %d\n%s", method, target, status_, expected, (w)->text.data); \
    } while (0)

#define ASSERT_GOT(w, expected, path)                                                                    \
    do {                                                                                                 \
        if (strcmp(got(w, path), kind_row(expected)) != 0)                                               \
            fail_msg("%s: %s, expected %s\n%s", path, got(w, path), kind_row(expected), (w)->text.data); \
    } while (0)

/* The status and the message of a refusal; quotes in the message stand as they are. */
#define ASSERT_REFUSED(w, expected, reason_, message_, method, target, body)                          \
    do {                                                                                              \
        ASSERT_SENT(w, expected, method, target, body);                                               \
        if (strcmp(got(w, "message"), message_) != 0 || strcmp(got(w, "reason"), reason_) != 0)       \
            fail_msg("%s %s: %s\nexpected %s %s", method, target, (w)->text.data, reason_, message_); \
    } while (0)

bool has_header(const struct served *w, const char *line);

#endif
