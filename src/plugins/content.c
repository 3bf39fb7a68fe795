/* Builds the files of volumes that show objects, from objects and tokens that the caller fetched.
 *
 * All files are built or none. Failures of several sources are reported together. Nothing is copied: bytes
 * are borrowed from the objects. */
#include "plugins/content.h"

#include <assert.h>
#include <string.h>

#include "api/config.h"
#include "base/cleanup.h"

#define TOKEN_MODE 0600
#define FAILURES_MAX 8 /* more would not fit an error text */

/* --- Required objects --- */

/* The volume as a list of projections; other volume types are a list of one. */
static struct pod_projected projections_of(const struct pod_volume *v, struct pod_projection *one)
{
    switch (v->type) {
    case POD_VOLUME_SECRET:
        *one = (struct pod_projection){ .keyed = v->keyed, .type = PROJECTION_SECRET };
        return (struct pod_projected){ one, 1, v->keyed->default_mode };
    case POD_VOLUME_CONFIG_MAP:
        *one = (struct pod_projection){ .keyed = v->keyed, .type = PROJECTION_CONFIG_MAP };
        return (struct pod_projected){ one, 1, v->keyed->default_mode };
    case POD_VOLUME_DOWNWARD_API:
        *one = (struct pod_projection){ .downward = v->downward, .type = PROJECTION_DOWNWARD_API };
        return (struct pod_projected){ one, 1, v->downward->default_mode };
    case POD_VOLUME_PROJECTED:
        return *v->projected;
    default:
        return (struct pod_projected){ 0 };
    }
}

int content_needs(const struct volume_spec *s, const struct pod *pod,
                  int (*fn)(void *ctx, const struct content_need *n), void *ctx)
{
    struct pod_projection one;
    struct pod_projected all = s->inlined ? projections_of(s->inlined, &one) : (struct pod_projected){ 0 };
    int r = 0;

    for (uint32_t i = 0; i < all.items_count && r == 0; i++) {
        const struct pod_projection *p = &all.items[i];
        struct content_need n = { .projection = p->type, .index = i, .audience = "" };

        if (p->type == PROJECTION_SECRET || p->type == PROJECTION_CONFIG_MAP) {
            n.name = p->keyed->name;
            n.is_optional = p->keyed->is_optional;
        } else if (p->type == PROJECTION_TOKEN) {
            n.name = pod->service_account;
            n.audience = p->token->audience;
            n.expiration_seconds = p->token->expiration_seconds;
        } else {
            continue;
        }
        r = fn(ctx, &n);
    }
    return r;
}

/* --- Combined failures --- */

struct failures {
    struct error first;
    const char *texts[FAILURES_MAX]; /* each once */
    unsigned count;
    struct arena *arena;
};

static void failures_add(struct failures *f, const struct error *err)
{
    for (unsigned i = 0; i < f->count; i++)
        if (strcmp(f->texts[i], err->msg) == 0)
            return;
    if (f->count == 0)
        f->first = *err;
    if (f->count < FAILURES_MAX)
        f->texts[f->count++] = arena_dup(f->arena, str_of(err->msg));
}

static int failures_report(const struct failures *f, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((FAILURES_MAX + (size_t)1) * ERROR_MSG_BYTES_MAX);

    if (f->count == 0)
        return 0;
    if (f->count == 1) {
        *err = f->first;
        return -(int)err->code;
    }
    for (unsigned i = 0; i < f->count; i++)
        buf_addf(&text, "%s%s", i ? ", " : "[",
                 f->texts[i]); /* a failed buffer is fine: the text is cut anyway */
    buf_add_char(&text, ']');
    return error_set(err, f->first.code, "%s", buf_cstr(&text));
}

/* --- Files --- */

struct build {
    const struct set_up_request *q;
    struct atomic_file *files;
    size_t count;
    size_t bytes;
    int32_t default_mode; /* of the volume */
    struct downward downward;
    struct failures failures;
};

static int add_file(struct build *b, const char *path, struct str bytes, int32_t mode, int64_t uid,
                    struct error *err)
{
    if (bytes.len > CONTENT_BYTES_MAX - b->bytes)
        return error_set(err, ERR_TOO_LARGE, "files of volume '%s' exceed %zu MiB", spec_name(&b->q->spec),
                         CONTENT_BYTES_MAX >> 20);
    b->bytes += bytes.len;
    b->files[b->count++] = (struct atomic_file){ path, bytes, (mode_t)mode, uid };
    return 0;
}

static const struct volume_content *find_content(const struct build *b, uint8_t projection, uint32_t index)
{
    for (uint32_t i = 0; i < b->q->contents_count; i++)
        if (b->q->contents[i].projection == projection && b->q->contents[i].index == index)
            return &b->q->contents[i];
    return NULL;
}

/* The object that was fetched for a projection. *ret is NULL for an optional object that does not exist. */
static int get_content(const struct build *b, uint8_t projection, uint32_t index, bool is_optional,
                       const struct volume_content **ret, struct error *err)
{
    const struct volume_content *c = find_content(b, projection, index);

    if (!c)
        return error_set(err, ERR_INTERNAL, "source %u of volume '%s' was not fetched", (unsigned)index,
                         spec_name(&b->q->spec));
    if (c->r < 0 && !(c->r == -ERR_NOT_FOUND && is_optional)) {
        *err = c->err;
        return c->r;
    }
    *ret = c->r == 0 ? c : NULL;
    return 0;
}

static struct config_entries entries_of(const struct volume_content *c)
{
    if (!c)
        return (struct config_entries){ 0 };
    if (c->projection == PROJECTION_SECRET)
        return secret_of(c->object)->data;
    return config_map_of(c->object)->data;
}

/* All keys of an object, or those that are listed. */
static int add_keyed(struct build *b, const struct pod_keyed *k, uint8_t projection, uint32_t index,
                     struct error *err)
{
    const struct volume_content *content = NULL;
    struct config_entries entries;
    int r = get_content(b, projection, index, k->is_optional, &content, err);

    if (r < 0)
        return r;
    entries = entries_of(content);
    for (uint32_t i = 0; k->items_count == 0 && i < entries.count && r == 0; i++)
        r = add_file(b, entries.items[i].key, entries.items[i].bytes, b->default_mode, -1, err);
    for (uint32_t i = 0; i < k->items_count && r == 0; i++) {
        const struct pod_key_path *item = &k->items[i];
        const struct config_entry *e = config_find(&entries, item->key);
        if (e)
            r = add_file(b, item->path, e->bytes, item->mode == POD_MODE_UNSET ? b->default_mode : item->mode,
                         -1, err);
        else if (!k->is_optional)
            r = error_set(err, ERR_INVALID,
                          projection == PROJECTION_SECRET
                              ? "references non-existent secret key: %s"
                              : "configmap references non-existent config key: %s",
                          item->key);
    }
    return r;
}

/* Reports each item that fails. */
static int add_downward(struct build *b, const struct pod_downward *w, struct error *err)
{
    int r = 0;

    for (uint32_t i = 0; i < w->items_count && r == 0; i++) {
        const struct pod_downward_item *item = &w->items[i];
        struct str value = { 0 };
        r = downward_value(&b->downward, item, &value, err);
        if (r == 0)
            r = add_file(b, item->path, value, item->mode == POD_MODE_UNSET ? b->default_mode : item->mode,
                         -1, err);
        else if (r != -ERR_NO_MEMORY) {
            failures_add(&b->failures, err);
            r = 0;
        }
    }
    return r;
}

/* Only the owner of the token file or its group can read it. */
static int add_token(struct build *b, const struct pod_token *t, uint32_t index, struct error *err)
{
    bool has_reader = b->q->fs_user >= 0 || b->q->fs_group >= 0;
    const struct volume_content *content = NULL;
    int r = get_content(b, PROJECTION_TOKEN, index, /* is_optional= */ false, &content, err);

    if (r < 0)
        return r;
    assert(content); /* it is not optional */
    return add_file(b, t->path, content->token, has_reader ? TOKEN_MODE : b->default_mode, b->q->fs_user,
                    err);
}

static int add_projection(struct build *b, const struct pod_projection *p, uint32_t index, struct error *err)
{
    switch ((enum pod_projection_type)p->type) {
    case PROJECTION_SECRET:
    case PROJECTION_CONFIG_MAP:
        return add_keyed(b, p->keyed, p->type, index, err);
    case PROJECTION_DOWNWARD_API:
        return add_downward(b, p->downward, err);
    case PROJECTION_TOKEN:
        return add_token(b, p->token, index, err);
    case PROJECTION_TRUST_BUNDLE:
        if (p->trust_bundle->name[0] == '\0' && p->trust_bundle->signer[0] == '\0')
            return error_set(err, ERR_INVALID,
                             "ClusterTrustBundle projection requires either name or signerName to be set");
        return error_set(err, ERR_UNSUPPORTED, "clusterTrustBundle sources are not supported");
    case PROJECTION_CERTIFICATE:
        return error_set(err, ERR_UNSUPPORTED, "podCertificate sources are not supported");
    case PROJECTION_UNKNOWN:
    case PROJECTION_TYPE_COUNT:
        break;
    }
    return error_set(err, ERR_UNSUPPORTED, "source %u of the projected volume has an unknown type",
                     (unsigned)index);
}

/* Reports each source that fails. Later sources override earlier ones. */
static int add_projected(struct build *b, const struct pod_projected *p, struct error *err)
{
    for (uint32_t i = 0; i < p->items_count; i++) {
        int r = add_projection(b, &p->items[i], i, err);
        if (r == -ERR_NO_MEMORY)
            return r;
        if (r < 0)
            failures_add(&b->failures, err);
    }
    return failures_report(&b->failures, err);
}

/* The maximum number of files. */
static size_t count_projected(const struct build *b, const struct pod_projected *p)
{
    size_t count = 0;

    for (uint32_t i = 0; i < p->items_count; i++) {
        const struct pod_projection *one = &p->items[i];
        const struct volume_content *c = find_content(b, one->type, i);

        if (one->type == PROJECTION_DOWNWARD_API)
            count += one->downward->items_count;
        else if (one->type != PROJECTION_SECRET && one->type != PROJECTION_CONFIG_MAP)
            count++;
        else if (one->keyed->items_count)
            count += one->keyed->items_count;
        else if (c && c->r == 0)
            count += entries_of(c).count;
    }
    return count;
}

int content_build(struct arena *a, const struct set_up_request *q, struct atomic_files *ret,
                  struct error *err)
{
    struct pod_projection one;
    const struct pod_projected all = projections_of(q->spec.inlined, &one);
    struct build b = { .q = q, .default_mode = all.default_mode, .failures = { .arena = a } };
    int r;

    if (b.default_mode == POD_MODE_UNSET)
        return error_set(err, ERR_INVALID, "no defaultMode used, not even the default value for it");
    b.files = arena_array(a, count_projected(&b, &all) + 1, sizeof *b.files);
    if (!b.files)
        return arena_check(a, err);
    downward_init(&b.downward, a, q->pod, q->node);
    r = add_projected(&b, &all, err);
    downward_done(&b.downward);
    if (r == 0)
        r = arena_check(a, err);
    if (r == 0)
        *ret = (struct atomic_files){ b.files, b.count };
    return r;
}
