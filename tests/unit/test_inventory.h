/* For the tests of verbs that look at everything: a world of objects, without a server. Quotes in texts may
 * be written as '. Everything was made at 00:00 on the first day of 2026; the tests look at 01:00. */
#ifndef BERTH_TESTS_TEST_INVENTORY_H
#define BERTH_TESTS_TEST_INVENTORY_H

#include "tests/unit/test_kind.h"

#include "cli/cli.h"
#include "cli/why.h"
#include "why/inventory.h"

#define WORLD_MADE "2026-01-01T00:00:00Z"
#define WORLD_NOW_SECONDS 1767229200

const struct cli_verb *const cli_verbs[] = { NULL };

static struct inventory world;

/* What is said of objects, by name; ends with an empty row. */
struct told_cause {
    const char *name, *code, *sentence;
};

static inline bool find_told_cause(void *ctx, const struct object *o, struct cause *ret)
{
    for (const struct told_cause *row = ctx; row->name; row++)
        if (strcmp(row->name, o->name) == 0) {
            (void)snprintf(ret->code, sizeof ret->code, "%s", row->code);
            (void)snprintf(ret->sentence, sizeof ret->sentence, "%s", row->sentence);
            return true;
        }
    return false;
}
#define TOLD(rows) (&(struct causes){ find_told_cause, (rows) })

/* Every kind was listed, and in all namespaces. */
static inline void world_begin(void)
{
    world = (struct inventory){ 0 };
    for (unsigned k = 0; k < KIND_COUNT; k++)
        world.kinds[k].is_known = world.kinds[k].is_whole = true;
}

static inline void world_end(void)
{
    inventory_done(&world);
}

__attribute__((format(printf, 2, 3))) static inline void put(enum kind kind, const char *fmt, ...)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(65536);
    va_list args;

    va_start(args, fmt);
    buf_addv(&text, fmt, args);
    va_end(args);
    ASSERT_OK(inventory_add_take(&world, kind_object(kind, buf_cstr(&text)), &err));
}

/* extra, here and below: further members of the spec (of a class: of the object), each with a comma in front;
 * "" for none. */
static inline void put_class(const char *name, const char *provisioner, const char *extra)
{
    put(KIND_CLASS,
        "{'metadata':{'name':'%s','creationTimestamp':'" WORLD_MADE "'},'provisioner':'%s',"
        "'reclaimPolicy':'Delete','volumeBindingMode':'Immediate'%s}",
        name, provisioner, extra);
}

/* claim: "ns/name", with the uid that put_claim() gives it; NULL for none. */
static inline void put_volume(const char *name, const char *class, const char *phase, const char *claim,
                              const char *extra)
{
    const char *slash = claim ? strchr(claim, '/') : NULL;
    char ref[256] = "";

    if (claim)
        (void)snprintf(ref, sizeof ref, ",'claimRef':{'namespace':'%.*s','name':'%s','uid':'u-%s'}",
                       (int)(slash - claim), claim, slash + 1, claim);
    put(KIND_VOLUME,
        "{'metadata':{'name':'%s','creationTimestamp':'" WORLD_MADE "'},'spec':{'capacity':{'storage':'5Gi'},"
        "'accessModes':['ReadWriteOnce'],'persistentVolumeReclaimPolicy':'Retain','storageClassName':'%s'%s%"
        "s},"
        "'status':{'phase':'%s','message':'the message'}}",
        name, class, ref, extra, phase);
}

static inline void put_claim(const char *key, const char *class, const char *phase, const char *volume,
                             const char *extra)
{
    const char *slash = strchr(key, '/');

    put(KIND_CLAIM,
        "{'metadata':{'namespace':'%.*s','name':'%s','uid':'u-%s','creationTimestamp':'" WORLD_MADE
        "'},'spec':{"
        "'accessModes':['ReadWriteOnce'],'resources':{'requests':{'storage':'3Gi'}},'storageClassName':'%s',"
        "'volumeName':'%s'%s},'status':{'phase':'%s'%s}}",
        (int)(slash - key), key, slash + 1, key, class, volume, extra, phase,
        strcmp(phase, "Bound") == 0 ? ",'capacity':{'storage':'5Gi'}" : "");
}

/* status: further members of it, as above. */
static inline void put_pod(const char *key, const char *claim, const char *node, const char *phase,
                           const char *status)
{
    const char *slash = strchr(key, '/');

    put(KIND_POD,
        "{'metadata':{'namespace':'%.*s','name':'%s','creationTimestamp':'" WORLD_MADE
        "'},'spec':{'nodeName':'%s',"
        "'containers':[{'name':'c','image':'i'}],'volumes':[{'name':'data','persistentVolumeClaim':"
        "{'claimName':'%s'}}]},'status':{'phase':'%s'%s}}",
        (int)(slash - key), key, slash + 1, node, claim, phase, status);
}

static inline void put_node(const char *name, bool is_ready, const char *status)
{
    put(KIND_NODE,
        "{'metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s'}},'status':{'conditions':[{'type':"
        "'Ready','status':'%s','lastTransitionTime':'2026-01-01T00:48:00Z'}]%s}}",
        name, name, is_ready ? "True" : "False", status);
}

#endif
