/* JSON documents: parse, read, edit, write.
 *
 * A document contains the trees of any number of texts, so that a patch can move subtrees without copying.
 * Values are identified by references (small integers); 0 is "no value", and every reader accepts it: a
 * member of nothing is nothing. Strings are stored decoded, numbers as written, so that 64-bit integers and
 * unknown number formats are preserved. Keys are unique in an object: the last duplicate wins, as in
 * Kubernetes' decoders, and the earlier ones are listed for reports (json_duplicates()).
 *
 * yajl does the parsing; a document is a flat array of nodes (40 bytes each) and an arena of texts. Slices
 * that readers return are valid until json_clear() or json_done(), whatever is added. A document that is
 * reused with json_clear() allocates almost nothing.
 *
 * Everything is bounded: text size by bytes_max, nesting by JSON_DEPTH_MAX, memory by both. Building keeps
 * its first failure, as in buf.h: builders return 0, and json_check() reports it. */
#ifndef BERTH_API_JSON_H
#define BERTH_API_JSON_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 10000
#define JSON_NUMBER_BYTES_MAX 512
#define JSON_DUPLICATES_MAX 64

enum json_type {
    JSON_NONE,
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

typedef uint32_t json_ref;

/* Only public for the inline readers below, which are called about a hundred times per written object. */
struct json_node {
    const char *key; /* of an object's member; else NULL */
    uint32_t key_len;
    json_ref next;
    json_ref parent;
    uint32_t type; /* enum json_type */
    union {
        struct {
            const char *s;
            uint32_t len;
        } text;
        struct {
            json_ref first;
            json_ref last;
            uint32_t count;
            bool is_canonical; /* see json_mark_canonical() */
        } child;
    };
};

struct json {
    struct json_node *nodes; /* nodes[0] is "no value" */
    uint32_t count;
    uint32_t cap;
    struct arena texts;
    size_t bytes_max;
    json_ref duplicates[JSON_DUPLICATES_MAX];
    uint32_t duplicates_count;
    bool has_marks; /* json_int.h: something was marked as canonical */
    enum err failed;
    size_t view_hint; /* object.c: view size of the last object, as a hint for the next */
};

void json_init(struct json *d, size_t bytes_max);
void json_done(struct json *d);
/* Drops all trees; keeps the memory, unless it is more than ordinary documents need. */
void json_clear(struct json *d);

static inline void json_done_p(struct json *d)
{
    json_done(d);
}

/* Adds the tree of one JSON text. Errors contain the byte offset, the field, and the reason. */
int json_parse(struct json *d, struct str text, json_ref *ret, struct error *err);

/* Reading. None of these fails: an absent value or another type reads as 0, "", false or an empty container.
 */
static inline enum json_type json_type(const struct json *d, json_ref v);
/* "object", "array", "string", "number", "bool", "null": the names in Kubernetes' decoding errors. */
const char *json_type_name(enum json_type type);
json_ref json_get_key(const struct json *d, json_ref object, struct str key);
/* Inline, so that the length of a literal key is a constant: the most frequently called function. */
static inline json_ref json_get(const struct json *d, json_ref object, const char *key)
{
    return json_get_key(d, object, str_of(key));
}
/* Through nested objects: json_path(d, root, "spec", "claimRef", "uid"). */
#define json_path(d, v, ...) json_path_((d), (v), (const char *const[]){ __VA_ARGS__, NULL })
json_ref json_path_(const struct json *d, json_ref v, const char *const *keys);
/* The members or items of a container, in order: for (m = json_first(d, v); m; m = json_next(d, m)). */
static inline json_ref json_first(const struct json *d, json_ref container);
static inline json_ref json_next(const struct json *d, json_ref v);
json_ref json_at(const struct json *d, json_ref array, uint32_t index);
static inline uint32_t json_count(const struct json *d, json_ref container);
static inline json_ref json_parent(const struct json *d, json_ref v);
static inline struct str json_key(const struct json *d, json_ref member);
/* A string's characters or a number's digits. */
static inline struct str json_text(const struct json *d, json_ref v);
/* The text of a member that is a string. */
static inline struct str json_get_text(const struct json *d, json_ref object, const char *key);
bool json_is_string(const struct json *d, json_ref v, const char *text);
/* True for a number that is a whole 64-bit integer. */
bool json_int64(const struct json *d, json_ref v, int64_t *ret);
/* Equal values: the order of members is ignored, numbers are compared as text. */
bool json_equal(const struct json *d, json_ref a, json_ref b);
/* Equal including the order of members: both are written identically. */
bool json_is_same(const struct json *d, json_ref a, json_ref b);
/* Appends the path of v below its root: "spec.containers[0].name"; "" for a root. */
void json_path_text(const struct json *d, json_ref v, struct buf *out);
/* Members that were dropped because of a later one with the same key. They keep their key and parent. */
uint32_t json_duplicates(const struct json *d, const json_ref **ret);

/* Building. New values are in no container. */
json_ref json_new_object(struct json *d);
json_ref json_new_array(struct json *d);
json_ref json_new_string(struct json *d, struct str text);
/* The literal is trusted to be a JSON number. */
json_ref json_new_number(struct json *d, struct str literal);
json_ref json_new_int(struct json *d, int64_t value);
json_ref json_new_bool(struct json *d, bool value);
json_ref json_new_null(struct json *d);
/* A deep copy that is in no container. */
json_ref json_copy(struct json *d, json_ref v);
/* The same for a tree in canonical form: schema_normalize() skips the unchanged parts of the copy. */
json_ref json_copy_canonical(struct json *d, json_ref v);

/* Editing. A value is in at most one container: it must be new, copied or unlinked before. */
void json_set(struct json *d, json_ref object, const char *key, json_ref value);
void json_set_key(struct json *d, json_ref object, struct str key, json_ref value);
void json_set_string(struct json *d, json_ref object, const char *key, const char *text);
void json_append(struct json *d, json_ref array, json_ref value);
/* Inserts before `before`, an item of the array; 0 appends. */
void json_insert(struct json *d, json_ref array, json_ref before, json_ref value);
/* Removes v from its container. Its contents stay usable. */
void json_unlink(struct json *d, json_ref v);
bool json_remove(struct json *d, json_ref object, const char *key);
/* Replaces old by value; old is unlinked. Costs a walk over the members before old. */
void json_replace(struct json *d, json_ref old, json_ref value);
/* Adds a member with a key that the object does not have yet: without a search, so that building a map is
 * linear. */
void json_add_member(struct json *d, json_ref object, struct str key, json_ref value);
/* The member; created as an empty object if it does not exist. */
json_ref json_ensure_object(struct json *d, json_ref object, const char *key);
/* Keeps exactly these members, in this order. Dropped ones keep their key and parent. */
void json_keep_members(struct json *d, json_ref object, const json_ref *members, uint32_t count);
void json_sort_members(struct json *d, json_ref object);

int json_check(const struct json *d, struct error *err);

/* Writing: compact, or indented by two spaces. Failures are kept in the buffer. */
void json_write(const struct json *d, json_ref v, struct buf *out);
void json_write_pretty(const struct json *d, json_ref v, struct buf *out);
/* The number of bytes that json_write() writes. Counting stops as soon as it exceeds max; the result is then
 * any number above max. */
size_t json_size(const struct json *d, json_ref v, size_t max);
/* The same for a value at this depth of a document; its first line is not indented. */
void json_write_pretty_at(const struct json *d, json_ref v, unsigned depth, struct buf *out);
/* Writes a JSON string with quotes. Invalid UTF-8 bytes become U+FFFD. */
void json_write_string(struct buf *out, struct str text);
/* Writes the content of a string, escaped and without quotes: for a string that is written in pieces of
 * complete characters. */
void json_write_chars(struct buf *out, struct str text);

/* --- The readers' bodies --- */

static inline const struct json_node *json_node(const struct json *d, json_ref v)
{
    assert(v < d->count);
    return &d->nodes[v];
}

static inline bool json_is_container(const struct json_node *n)
{
    return n->type >= JSON_ARRAY;
}

/* For "no value": the first node, or a constant for a document without nodes. */
static inline const struct json_node *json_read(const struct json *d, json_ref v)
{
    static const struct json_node absent = { .type = JSON_NONE };

    return v ? json_node(d, v) : &absent;
}

static inline enum json_type json_type(const struct json *d, json_ref v)
{
    return (enum json_type)json_read(d, v)->type;
}

static inline json_ref json_first(const struct json *d, json_ref container)
{
    const struct json_node *n = json_read(d, container);

    return json_is_container(n) ? n->child.first : 0;
}

static inline json_ref json_next(const struct json *d, json_ref v)
{
    return json_read(d, v)->next;
}

static inline uint32_t json_count(const struct json *d, json_ref container)
{
    const struct json_node *n = json_read(d, container);

    return json_is_container(n) ? n->child.count : 0;
}

static inline json_ref json_parent(const struct json *d, json_ref v)
{
    return json_read(d, v)->parent;
}

static inline struct str json_key(const struct json *d, json_ref member)
{
    const struct json_node *n = json_read(d, member);

    return n->key ? (struct str){ n->key, n->key_len } : STR_LIT("");
}

static inline struct str json_text(const struct json *d, json_ref v)
{
    const struct json_node *n = json_read(d, v);

    return n->type == JSON_STRING || n->type == JSON_NUMBER ? (struct str){ n->text.s, n->text.len }
                                                            : STR_LIT("");
}

static inline struct str json_get_text(const struct json *d, json_ref object, const char *key)
{
    json_ref v = json_get(d, object, key);

    return json_type(d, v) == JSON_STRING ? json_text(d, v) : STR_LIT("");
}

#endif
