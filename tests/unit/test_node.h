/* For the tests of the node: the whole API server and an agent with real directories, in time that is moved
 * by hand, and a plugin that does what a test tells it.
 *
 * The scripted plugin stands for whatever has a device, is attached, shows objects or can grow; it serves the
 * FlexVolume driver test.io/disk. Every call is logged: "set-up disk-1 POD". */
#ifndef BERTH_TESTS_TEST_NODE_H
#define BERTH_TESTS_TEST_NODE_H

#include "tests/unit/test_mounts.h"
#include "tests/unit/test_parts.h"

#include <pthread.h>
#include <sys/mount.h>

#include "host/files.h"
#include "host/mount_syscall.h"
#include "host/safe_path.h"
#include "io/pool.h"
#include "node/agent.h"
#include "node/node_int.h"
#include "plugins/layout.h"
#include "plugins/registry.h"

#define NODE "n1"
#define NODE_PATH "/api/v1/nodes/" NODE
#define DISK "test.io/disk"
#define SLOT_FAILS_MAX 8

/* --- The scripted plugin --- */

/* What goes wrong: the next `times` calls of a slot ("set-up"), after `spared` that go well, end so. */
struct slot_failure {
    const char *slot;
    enum err code;
    const char *words;
    unsigned times;
    bool is_done; /* it did its work all the same */
    unsigned spared;
};

struct disk {
    bool is_attachable;
    bool has_device;
    bool requires_remount;
    bool grows;
    bool mounts; /* set up and mount-device mount a tmpfs; else they make a directory */
    struct slot_failure fails[SLOT_FAILS_MAX];
    unsigned fails_count;
    struct buf log;
    pthread_mutex_t lock;
};
extern struct disk disk;

void disk_fails(const char *slot, unsigned times, enum err code, const char *words);

/* The calls since the last time, each on a line. */
#define ASSERT_CALLS(expected)                     \
    do {                                           \
        pthread_mutex_lock(&disk.lock);            \
        ASSERT_STR(expected, buf_cstr(&disk.log)); \
        buf_clear(&disk.log);                      \
        pthread_mutex_unlock(&disk.lock);          \
    } while (0)

extern struct volume_plugin disk_plugin;

/* --- The bench --- */

struct node_bench {
    struct parts w;
    struct test_dir *d;
    struct pool *pool;
    struct plugin_registry *plugins;
    struct rpc_client *rpc;
    struct agent_options o; /* what a test wants to be different */
    char root[TEST_PATH_BYTES * 2];
    bool is_stopped;          /* the agent does not run */
    bool (*is_calling)(void); /* a driver over gRPC; NULL: nobody does */
};
extern struct node_bench bench;

extern const struct part_type bench_type;

/* What the last operation that failed for the volume complained of; NULL for nothing. */
const char *bench_complaint(const char *volume);

struct agent *bench_agent(void);

/* Waits for the workers and for drivers. Calls of drivers need the loop, which takes turns meanwhile. */
void bench_drain(void);

/* Lets seconds pass; what workers do takes no time. */
void pass(unsigned seconds);

/* A world with this node in it, at rest. */
void bench_open(void);

void bench_close(void);

/* The agent ends as by kill -9; its directories stay as they are. */
void bench_kill(void);

/* It starts anew. */
void bench_revive(void);

void bench_restart(void);

/* --- Objects --- */

/* A volume of the scripted plugin with a bound claim of the same name. more: of the volume's spec. */
void put_disk_as(const char *name, const char *size, const char *mode, const char *more);

void put_disk(const char *name, const char *size, const char *more);

/* A pod on the node with one container that uses all its volumes; volumes as JSON. ret_uid: 64 bytes. */
void put_pod(const char *name, const char *volumes, const char *mounts, char *ret_uid);

/* A pod with one claim, mounted. */
void put_disk_pod(const char *name, const char *claim, char *ret_uid);

/* What the attach controller would do: the volume is in the node's status. */
void report_attached(const char *name);

struct node_mount *bench_mount(const char *volume, const char *pod_uid);

/* How many events have that reason, whatever they say. */
unsigned count_reason(const char *reason);

#endif
