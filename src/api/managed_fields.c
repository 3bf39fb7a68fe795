/* Reads, changes and writes metadata.managedFields. At most MANAGED_ENTRIES_MAX entries are read, and at most
 * MANAGED_UPDATES_MAX Update entries are written; older ones are merged into the entry ancient-changes, as in
 * Kubernetes.
 *
 * The entries stay JSON nodes: unchanged sets of fields are neither parsed nor copied. Costs of a write: a
 * pass over the entries and over the changed fields. */
#include "api/managed_fields.h"

#include <assert.h>
#include <stdlib.h>

#include "api/json_int.h"
#include "api/managed_int.h"
#include "api/owned_fields.h"
#include "base/cleanup.h"

#define FIELDS_TYPE "FieldsV1"
#define MANAGER_ANCIENT "ancient-changes"
#define MANAGER_UNKNOWN "unknown"

/* --- Names --- */

/* Control characters and invalid UTF-8 are left out. */
void manager_of_user_agent(struct str user_agent, struct buf *out)
{
    struct str name = str_next(&user_agent, '/');
    size_t start = out->len;

    while (name.len) {
        size_t len = str_utf8_first(name);
        unsigned char c = (unsigned char)name.s[0];
        bool printable = len > 1 || (len == 1 && c >= ' ' && c != 0x7f);
        if (printable && out->len - start + len > MANAGER_BYTES_MAX)
            break;
        if (printable)
            buf_add(out, name.s, len);
        len = len ? len : 1;
        name = (struct str){ name.s + len, name.len - len };
    }
}

static struct str write_manager(const struct managed_write *w)
{
    return w->manager.len ? w->manager : STR_LIT(MANAGER_UNKNOWN);
}

static bool is_api_version(const struct kind_info *k, struct str text)
{
    struct str version = text, group = str_next(&version, '/');

    return version.s ? str_is(group, k->group) && str_is(version, k->version)
                     : !k->group[0] && str_is(text, k->version);
}

struct owned_scope managed_scope(const struct managed_write *w)
{
    return (struct owned_scope){ w->kind, str_is(w->subresource, "status") ? WRITE_STATUS : WRITE_MAIN };
}

/* --- Reading --- */

static bool entry_is_update(const struct managed_entry *e)
{
    return str_eq(e->operation, MANAGED_UPDATE);
}

static bool entry_is(const struct managed_entry *e, struct str manager, struct str operation,
                     struct str subresource)
{
    return str_eq(e->manager, manager) && str_eq(e->operation, operation) &&
           str_eq(e->subresource, subresource);
}

/* Looks up the members of an entry once, because every write reads every entry several times. */
static struct managed_entry entry_of(const struct json *d, json_ref node)
{
    struct managed_entry e = { .node = node };

    for (json_ref v = json_first(d, node); v; v = json_next(d, v)) {
        struct str key = json_key(d, v), text = json_text(d, v);
        if (str_is(key, "manager"))
            e.manager = text;
        else if (str_is(key, "operation"))
            e.operation = text;
        else if (str_is(key, "apiVersion"))
            e.api_version = text;
        else if (str_is(key, "time"))
            e.time = text;
        else if (str_is(key, "fieldsV1"))
            e.fields = v;
        else if (str_is(key, "subresource"))
            e.subresource = text;
    }
    return e;
}

/* True if the entry is valid. Its set of fields may be empty. */
static bool entry_read(struct json *d, json_ref node, struct managed_entry *ret)
{
    struct managed_entry e = entry_of(d, node);

    if (!entry_is_update(&e) && !str_eq(e.operation, MANAGED_APPLY))
        return false;
    if (!e.api_version.len || e.manager.len > MANAGER_BYTES_MAX ||
        !json_is_string(d, json_get(d, node, "fieldsType"), FIELDS_TYPE))
        return false;
    if (e.fields && !owned_check(d, e.fields))
        return false;
    *ret = e;
    return true;
}

/* The last entry for the same manager wins. */
static void managed_drop_duplicate(struct managed *m, const struct managed_entry *e)
{
    for (size_t i = 0; i < m->entries.count; i++) {
        if (entry_is(&m->entries.items[i], e->manager, e->operation, e->subresource)) {
            vec_remove(&m->entries, i);
            return;
        }
    }
}

static size_t managed_count(const struct managed *m, struct str operation)
{
    size_t count = 0;

    for (size_t i = 0; i < m->entries.count; i++)
        count += str_eq(m->entries.items[i].operation, operation);
    return count;
}

int managed_read(struct managed *m, json_ref list, struct error *err)
{
    bool readable = json_count(m->d, list) <= MANAGED_ENTRIES_MAX;

    vec_clear(&m->entries);
    for (json_ref v = json_first(m->d, list); v && readable; v = json_next(m->d, v)) {
        struct managed_entry e;
        readable = entry_read(m->d, v, &e);
        if (!readable)
            break;
        if (owned_is_empty(m->d, e.fields) || !is_api_version(m->w->kind, e.api_version))
            continue;
        managed_drop_duplicate(m, &e);
        if (vec_push(&m->entries, e) < 0)
            return error_no_memory(err);
    }
    if (!readable || managed_count(m, MANAGED_APPLY) > MANAGED_APPLIERS_MAX)
        vec_clear(&m->entries);
    return m->entries.count > 0;
}

/* --- Changing --- */

struct managed_entry *managed_find(struct managed *m, struct str operation)
{
    for (size_t i = 0; i < m->entries.count; i++)
        if (entry_is(&m->entries.items[i], write_manager(m->w), operation, m->w->subresource))
            return &m->entries.items[i];
    return NULL;
}

int managed_add(struct managed *m, struct str operation, json_ref fields, struct error *err)
{
    _cleanup_(buf_done_p) struct buf api_version = BUF_INIT(256), time = BUF_INIT(64);
    json_ref node = json_new_object(m->d);
    struct json *d = m->d;
    int r;

    if (str_eq(operation, MANAGED_APPLY) && managed_count(m, operation) >= MANAGED_APPLIERS_MAX)
        return error_set(err, ERR_TOO_LARGE, "more than %d field managers apply this object",
                         MANAGED_APPLIERS_MAX);
    kind_api_version(m->w->kind, &api_version);
    timestamp_format(m->w->now, &time);
    json_add_member(d, node, STR_LIT("manager"), json_new_string(d, write_manager(m->w)));
    json_add_member(d, node, STR_LIT("operation"), json_new_string(d, operation));
    json_add_member(d, node, STR_LIT("apiVersion"), json_new_string(d, buf_str(&api_version)));
    json_add_member(d, node, STR_LIT("time"), json_new_string(d, buf_str(&time)));
    json_add_member(d, node, STR_LIT("fieldsType"), json_new_string(d, STR_LIT(FIELDS_TYPE)));
    json_add_member(d, node, STR_LIT("fieldsV1"), fields);
    if (m->w->subresource.len)
        json_add_member(d, node, STR_LIT("subresource"), json_new_string(d, m->w->subresource));
    r = json_check(d, err);
    if (r < 0)
        return r;
    return vec_push(&m->entries, entry_of(d, node)) < 0 ? error_no_memory(err) : 0;
}

static void entry_set_time(struct managed *m, struct managed_entry *e, struct str text)
{
    json_ref v = json_new_string(m->d, text);

    json_set(m->d, e->node, "time", v);
    e->time = json_text(m->d, v);
}

void managed_touch(struct managed *m, struct managed_entry *e)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT(64);

    timestamp_format(m->w->now, &text);
    entry_set_time(m, e, buf_str(&text));
}

void managed_lose(struct managed *m, const struct managed_entry *except, json_ref set, json_ref gone)
{
    for (size_t i = 0; i < m->entries.count; i++) {
        struct managed_entry *e = &m->entries.items[i];
        if (e != except)
            owned_subtract(m->d, e->fields, set);
        if (e != except)
            owned_subtract(m->d, e->fields, gone);
    }
}

/* --- Writing back --- */

/* Times are in canonical form, so that their texts can be compared; no time is before all others. */
static int entry_cmp(const void *a, const void *b)
{
    const struct managed_entry *left = a, *right = b;
    int c = str_cmp(left->operation, right->operation);

    c = c ? c : str_cmp(left->time, right->time);
    c = c ? c : str_cmp(left->manager, right->manager);
    c = c ? c : str_cmp(left->api_version, right->api_version);
    return c ? c : str_cmp(left->subresource, right->subresource);
}

static void managed_sort(struct managed *m)
{
    if (m->entries.count > 1)
        qsort(m->entries.items, m->entries.count, sizeof *m->entries.items, entry_cmp);
}

static void managed_drop_empty(struct managed *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->entries.count; i++)
        if (!owned_is_empty(m->d, m->entries.items[i].fields))
            m->entries.items[kept++] = m->entries.items[i];
    m->entries.count = kept;
}

/* The entry that old changes are merged into: an existing one, else the oldest Update entry, renamed. */
static size_t managed_ancient(struct managed *m)
{
    size_t oldest = m->entries.count;

    for (size_t i = 0; i < m->entries.count; i++) {
        const struct managed_entry *e = &m->entries.items[i];
        if (entry_is(e, STR_LIT(MANAGER_ANCIENT), MANAGED_UPDATE, STR_LIT("")))
            return i;
        if (oldest == m->entries.count && entry_is_update(e))
            oldest = i;
    }
    json_set_string(m->d, m->entries.items[oldest].node, "manager", MANAGER_ANCIENT);
    (void)json_remove(m->d, m->entries.items[oldest].node, "subresource");
    m->entries.items[oldest] = entry_of(m->d, m->entries.items[oldest].node);
    return oldest;
}

/* Entries are sorted, so that the oldest update comes first. The merged entry has the newest time of its
 * sources. */
static void managed_cap(struct managed *m)
{
    size_t count = managed_count(m, MANAGED_UPDATE), ancient;

    if (count <= MANAGED_UPDATES_MAX)
        return;
    ancient = managed_ancient(m);
    for (size_t i = 0; i < m->entries.count && count > MANAGED_UPDATES_MAX;) {
        struct managed_entry *e = &m->entries.items[i], *into = &m->entries.items[ancient];
        if (i == ancient || !entry_is_update(e)) {
            i++;
            continue;
        }
        owned_add(m->d, into->fields, e->fields);
        if (str_cmp(into->time, e->time) < 0)
            entry_set_time(m, into, e->time);
        vec_remove(&m->entries, i);
        ancient -= ancient > i;
        count--;
    }
    managed_sort(m);
}

int managed_store(struct managed *m, struct error *err)
{
    json_ref list = json_get(m->d, m->meta, "managedFields"), nodes[MANAGED_ENTRIES_MAX + 1];
    uint32_t count;

    managed_drop_empty(m);
    managed_sort(m);
    managed_cap(m);
    count = (uint32_t)m->entries.count;
    assert(count <= MANAGED_ENTRIES_MAX + 1);
    for (uint32_t i = 0; i < count; i++)
        nodes[i] = m->entries.items[i].node;
    if (count && json_type(m->d, list) != JSON_ARRAY) {
        list = json_new_array(m->d);
        json_set(m->d, m->meta, "managedFields", list);
    }
    if (json_check(m->d, err) < 0)
        return -(int)err->code;
    if (count)
        json_relink(m->d, list, nodes, count);
    else
        json_unlink(m->d, list);
    return 0;
}

/* --- Plain writes --- */

static bool is_reset(const struct json *d, json_ref list)
{
    json_ref only = json_first(d, list);

    return json_type(d, list) == JSON_ARRAY && json_count(d, list) <= 1 && json_count(d, only) == 0;
}

void managed_fields_keep_reset(struct json *d, json_ref object)
{
    json_ref list = json_path(d, object, "metadata", "managedFields");

    if (json_type(d, list) == JSON_ARRAY && json_count(d, list) == 0)
        json_append(d, list, json_new_object(d));
}

/* The initial entries: those in the request, if it may contain any and they are valid, else those of the
 * stored object. */
static int managed_start(struct managed *m, json_ref old, struct error *err)
{
    json_ref sent = json_get(m->d, m->meta, "managedFields");
    json_ref kept = json_path(m->d, old, "metadata", "managedFields");
    int r = 0;

    if (!m->w->subresource.len) {
        if (is_reset(m->d, sent))
            return 0;
        r = managed_read(m, sent, err);
    }
    if (r != 0 || !kept)
        return r;
    if (!json_is_same(m->d, sent, kept)) {
        sent = json_copy(m->d, kept);
        json_set(m->d, m->meta, "managedFields", sent);
    }
    return managed_read(m, sent, err);
}

/* Adds the changed fields to the writer's entry. */
static int managed_gain(struct managed *m, json_ref set, struct error *err)
{
    struct managed_entry *own = managed_find(m, MANAGED_UPDATE);

    if (!own)
        return managed_add(m, MANAGED_UPDATE, set, err);
    owned_add(m->d, own->fields, set);
    managed_touch(m, own);
    return 0;
}

int managed_fields_update(struct json *d, json_ref object, json_ref old, const struct managed_write *w,
                          struct error *err)
{
    _cleanup_(managed_done_p) struct managed m = { .d = d, .w = w };
    struct owned_scope scope = managed_scope(w);
    json_ref set, gone;
    int r;

    m.meta = json_ensure_object(d, object, "metadata");
    r = managed_start(&m, old, err);
    if (r >= 0)
        r = owned_diff(d, &scope, old, object, &set, &gone, err);
    if (r < 0)
        return r;
    managed_lose(&m, /* except= */ NULL, set, gone);
    if (set)
        r = managed_gain(&m, set, err);
    return r < 0 ? r : managed_store(&m, err);
}

/* --- Nothing to store --- */

#define MEMBERS_SOUGHT_MAX 64

/* Members of two stored objects have the same order. If not, a member is searched, unless there are too many
 * members: then the objects count as different, and the write is performed. */
static bool members_equal(const struct json *d, json_ref a, json_ref b, const char *except)
{
    bool many = json_count(d, a) > MEMBERS_SOUGHT_MAX;
    json_ref at = json_first(d, b);
    uint32_t same = 0;

    for (json_ref v = json_first(d, a); v; v = json_next(d, v)) {
        struct str key = json_key(d, v);
        json_ref other = at && str_eq(json_key(d, at), key) ? at : many ? 0 : json_get_key(d, b, key);
        at = json_next(d, other);
        if (str_is(key, except))
            continue;
        if (!other || !json_equal(d, v, other))
            return false;
        same++;
    }
    return same == json_count(d, b) - (json_get(d, b, except) != 0);
}

bool managed_fields_is_noop(const struct json *d, json_ref object, json_ref old)
{
    json_ref a = json_get(d, object, "metadata"), b = json_get(d, old, "metadata"), v, u;

    if (!members_equal(d, object, old, "metadata") || !members_equal(d, a, b, "managedFields"))
        return false;
    a = json_get(d, a, "managedFields");
    b = json_get(d, b, "managedFields");
    if (json_count(d, a) != json_count(d, b))
        return false;
    for (v = json_first(d, a), u = json_first(d, b); v; v = json_next(d, v), u = json_next(d, u))
        if (!members_equal(d, v, u, "time"))
            return false;
    return true;
}
