/* Checks of an informer's notifications.
 *
 * A record holds uid and revision of an object as last reported. Records of known objects are found by
 * namespace and name, those of deleted ones by uid; a deletion moves the record. Each notification costs one
 * lookup; informer_checker_compare() visits all objects of the kind. */
#include "sim/informer_checker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_world.h"

struct object_record {
    char key[300];
    char uid[64];
    int64_t revision;
};

static void write_key(const struct object *o, char to[static 300])
{
    (void)snprintf(to, 300, "%s/%s", o->ns, o->name);
}

static struct object_record *find_known(const struct informer_checker *checker, const struct object *o)
{
    char key[300];

    write_key(o, key);
    return map_get(&checker->known, str_of(key));
}

static void report_violation(struct informer_checker *checker, const struct object *o, const char *what)
{
    sim_fail(checker->sim, "informer of %s: %s/%s@%lld: %s", kind_info(checker->kind)->plural, o->ns, o->name,
             (long long)o->revision, what);
}

static void map_put_record(struct map *to, struct object_record *k)
{
    void *old = NULL;

    if (map_put(to, str_of(k->key), k, &old) < 0)
        abort();
    free(old);
}

static void on_add(void *ctx, const struct object *o, bool is_initial)
{
    struct informer_checker *checker = ctx;
    struct object_record *k = find_known(checker, o);
    const struct object_record *deleted = map_get(&checker->deleted, str_of(o->uid));

    if (k) {
        report_violation(checker, o, "added twice");
        return;
    }
    /* An object may leave the selection and return, but only in a newer version. */
    if (deleted && o->revision <= deleted->revision)
        report_violation(checker, o, "added in a version from before it was deleted");
    if (is_initial && checker->was_synced)
        report_violation(checker, o, "initial, after the first list");
    k = sim_alloc(sizeof *k);
    write_key(o, k->key);
    (void)snprintf(k->uid, sizeof k->uid, "%s", o->uid);
    k->revision = o->revision;
    map_put_record(&checker->known, k);
}

static void on_update(void *ctx, const struct object *old, const struct object *o)
{
    struct informer_checker *checker = ctx;
    struct object_record *k = find_known(checker, o);

    if (!k) {
        report_violation(checker, o, "updated, and was never added");
        return;
    }
    if (strcmp(k->uid, o->uid) != 0 || strcmp(old->uid, o->uid) != 0)
        report_violation(checker, o, "updated to another object of the same name");
    if (k->revision != old->revision)
        report_violation(checker, o, "updated from a version that is not the last reported one");
    if (o->revision <= k->revision)
        report_violation(checker, o, "updated to a version that is not newer");
    k->revision = o->revision;
}

static void on_delete(void *ctx, const struct object *o, bool is_final_unknown)
{
    struct informer_checker *checker = ctx;
    struct object_record *k = find_known(checker, o);

    if (!k) {
        report_violation(checker, o, "deleted, and was never added");
        return;
    }
    if (strcmp(k->uid, o->uid) != 0)
        report_violation(checker, o, "deleted, but the known object has another uid");
    if (is_final_unknown ? o->revision != k->revision : o->revision < k->revision)
        report_violation(checker, o, "deleted in a version that is older than the known one");
    (void)map_remove(&checker->known, str_of(k->key));
    (void)snprintf(k->key, sizeof k->key, "%s", k->uid);
    k->revision = o->revision;
    map_put_record(&checker->deleted, k);
}

static void on_synced(void *ctx)
{
    struct informer_checker *checker = ctx;

    if (checker->was_synced)
        sim_fail(checker->sim, "informer of %s: synced twice", kind_info(checker->kind)->plural);
    checker->was_synced = true;
}

void informer_checker_init(struct informer_checker *checker, struct sim *s, struct informer *i, enum kind k,
                           const char *label, const char *value)
{
    *checker =
        (struct informer_checker){ .sim = s, .informer = i, .kind = k, .label = label, .value = value };
    map_init(&checker->known, (struct hash_seed){ 7, 7 });
    map_init(&checker->deleted, (struct hash_seed){ 7, 8 });
    checker->handler = (struct informer_handler){ .on_add = on_add,
                                                  .on_update = on_update,
                                                  .on_delete = on_delete,
                                                  .on_synced = on_synced,
                                                  .ctx = checker };
    informer_add_handler(i, &checker->handler);
}

static void free_records(struct map *all)
{
    struct object_record *k;

    for (size_t at = 0; (k = map_next(all, &at, NULL));)
        free(k);
    map_done(all);
}

void informer_checker_done(struct informer_checker *checker)
{
    informer_remove_handler(&checker->handler);
    free_records(&checker->known);
    free_records(&checker->deleted);
}

static bool is_selected(const struct informer_checker *checker, const struct object *o)
{
    const char *value = checker->label ? object_label(o, checker->label) : NULL;

    return !checker->label || (value && strcmp(value, checker->value) == 0);
}

static int check_object(const struct informer_checker *checker, const struct object *o, struct error *err)
{
    const struct object *cached = informer_get(checker->informer, o->ns, o->name);
    const struct object_record *k = find_known(checker, o);

    if (!cached || cached->revision != o->revision || strcmp(cached->uid, o->uid) != 0)
        return error_set(err, ERR_INTERNAL, "the cache has %s@%lld of %s@%lld", cached ? o->name : "nothing",
                         cached ? (long long)cached->revision : 0, o->name, (long long)o->revision);
    if (!k || k->revision != o->revision)
        return error_set(err, ERR_INTERNAL, "handlers were not notified of %s@%lld", o->name,
                         (long long)o->revision);
    return 0;
}

int informer_checker_compare(const struct informer_checker *checker, struct error *err)
{
    struct store_iter it;
    const struct object *o;
    size_t count = 0;
    int r = store_iter_begin(&it, checker->sim->server.store, checker->kind, NULL, STR_LIT(""), STR_LIT(""),
                             0, err);

    if (r < 0)
        return r;
    while (r == 0 && (o = store_iter_next(&it))) {
        if (!is_selected(checker, o))
            continue;
        r = check_object(checker, o, err);
        count++;
    }
    store_iter_done(&it);
    if (r == 0 && (informer_count(checker->informer) != count || checker->known.count != count))
        r = error_set(err, ERR_INTERNAL, "the cache has %zu objects, handlers know %zu, the server has %zu",
                      informer_count(checker->informer), checker->known.count, count);
    if (r == 0 && !checker->was_synced)
        r = error_set(err, ERR_INTERNAL, "handlers were not notified that it is synced");
    return r < 0 ? error_wrap(err, "%s", kind_info(checker->kind)->plural) : 0;
}
