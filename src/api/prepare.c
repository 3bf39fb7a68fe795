/* Prepares objects for storing: helpers that the kinds share. An untouched member keeps its canonical form,
 * so that it is not normalized again. */
#include "api/validate.h"

void prepare_create_nothing(struct json *d, json_ref object, struct timestamp now)
{
    (void)d;
    (void)object;
    (void)now;
}

void prepare_update_nothing(struct json *d, json_ref object, json_ref old, enum write_part part,
                            struct timestamp now)
{
    (void)d;
    (void)object;
    (void)old;
    (void)part;
    (void)now;
}

void prepare_keep(struct json *d, json_ref object, json_ref old, const char *key)
{
    json_ref v = json_get(d, old, key), there = json_get(d, object, key);

    if (json_is_same(d, v, there))
        return; /* usually: an unchanged part need not be normalized again */
    if (v)
        json_set(d, object, key, json_copy(d, v));
    else
        (void)json_remove(d, object, key);
}

void prepare_gated(struct json *d, json_ref object, json_ref old, const char *key)
{
    if (json_get(d, object, key) && !json_get(d, old, key))
        (void)json_remove(d, object, key);
}

/* The next member that is neither status nor metadata, from m on. */
static json_ref next_other(const struct json *d, json_ref m)
{
    while (m && (str_is(json_key(d, m), "status") || str_is(json_key(d, m), "metadata")))
        m = json_next(d, m);
    return m;
}

/* True if two objects differ at most in status and metadata. */
static bool others_are_same(const struct json *d, json_ref object, json_ref old)
{
    json_ref m = next_other(d, json_first(d, object)), o = next_other(d, json_first(d, old));

    while (m && o && str_eq(json_key(d, m), json_key(d, o)) && json_is_same(d, m, o)) {
        m = next_other(d, json_next(d, m));
        o = next_other(d, json_next(d, o));
    }
    return !m && !o;
}

static void prepare_parts(struct json *d, json_ref object, json_ref old, enum write_part part,
                          bool keep_metadata)
{
    json_ref status = json_get(d, object, "status");
    json_ref metadata = keep_metadata ? 0 : json_get(d, object, "metadata"), managed;

    if (part == WRITE_MAIN) {
        prepare_keep(d, object, old, "status");
        return;
    }
    if (!keep_metadata && others_are_same(d, object, old))
        return;
    managed = keep_metadata ? json_path(d, object, "metadata", "managedFields") : 0;
    json_unlink(d, managed);
    json_unlink(d, metadata);
    json_unlink(d, status);
    json_keep_members(d, object, NULL, 0);
    json_add_member(d, object, STR_LIT("metadata"), metadata);
    for (json_ref m = json_first(d, old); m; m = json_next(d, m))
        if (!str_is(json_key(d, m), "status") && (keep_metadata || !str_is(json_key(d, m), "metadata")))
            json_add_member(d, object, json_key(d, m), json_copy(d, m));
    json_add_member(d, object, STR_LIT("status"), status);
    if (managed) /* the ownership of the status is not restored from old */
        json_set(d, json_ensure_object(d, object, "metadata"), "managedFields", managed);
}

void prepare_update_parts(struct json *d, json_ref object, json_ref old, enum write_part part,
                          struct timestamp now)
{
    (void)now;
    prepare_parts(d, object, old, part, /* keep_metadata= */ false);
}

void prepare_update_status_only(struct json *d, json_ref object, json_ref old, enum write_part part,
                                struct timestamp now)
{
    (void)now;
    prepare_parts(d, object, old, part, /* keep_metadata= */ true);
}

void prepare_generation(struct json *d, json_ref object, json_ref old, json_ref now_part, json_ref old_part)
{
    int64_t generation = 0;

    (void)json_int64(d, json_path(d, old, "metadata", "generation"), &generation); /* absent counts as 0 */
    if (!json_equal(d, now_part, old_part))
        generation++;
    if (generation)
        json_set(d, json_ensure_object(d, object, "metadata"), "generation", json_new_int(d, generation));
}
