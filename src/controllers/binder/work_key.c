/* Keys of the binder's queues and operations as text; see work_key.h. Pure. A name is never empty and
 * contains no '/' besides the one after the namespace, so that the text can be split again. */
#include "controllers/binder/work_key.h"

#include <assert.h>
#include <stdio.h>

static const char letters[] = { [BINDER_CLAIMS] = 'c', [BINDER_VOLUMES] = 'v' };
static_assert(sizeof letters == BINDER_QUEUE_COUNT, "give every queue a letter");

static enum binder_queue queue_of(const struct object *o)
{
    return o->kind->kind == KIND_VOLUME ? BINDER_VOLUMES : BINDER_CLAIMS;
}

struct binder_key work_key_of(const struct object *o, struct buf *name)
{
    object_key(o, name);
    return (struct binder_key){ queue_of(o), buf_str(name) };
}

void work_key_format(struct binder_key k, char to[static WORK_KEY_BYTES_MAX])
{
    (void)snprintf(to, WORK_KEY_BYTES_MAX, "%c/%.*s", letters[k.queue], STR_ARG(k.name));
}

void work_key_format_operation(const struct object *o, struct buf *out)
{
    buf_addf(out, "%c/", letters[queue_of(o)]);
    object_key(o, out);
    buf_addf(out, "/%s", o->uid);
}

struct binder_key work_key_parse_operation(struct str text)
{
    struct binder_key k = { BINDER_CLAIMS, { text.s + 2, text.len - 2 } };

    assert(text.len > 2 && text.s[1] == '/');
    if (text.s[0] == letters[BINDER_VOLUMES])
        k.queue = BINDER_VOLUMES;
    while (k.name.len && k.name.s[k.name.len - 1] != '/') /* the uid follows the last '/' */
        k.name.len--;
    k.name.len -= k.name.len > 0;
    return k;
}
