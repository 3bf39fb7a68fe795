#include "plugins/content.h"

#include <string.h>

#include "api/config.h"
#include "base/cleanup.h"

#define TOKEN_MODE 0600
#define FAILURES_MAX 8 /* as many fit an error's text, if at all */

/* --- What is needed --- */

static int need_keyed(const struct pod_keyed *k, uint8_t projection, uint32_t index,
                      int (*fn)(void *ctx, const struct content_need *n), void *ctx)
{
    struct content_need n = {
        .projection = projection,
        .index = index,
        .name = k->name,
        .is_optional = k->is_optional,
        .audience = "",
    };

    return fn(ctx, &n);
}

static int need_projected(const struct pod_projection *p, uint32_t index, const struct pod *pod,
                          int (*fn)(void *ctx, const struct content_need *n), void *ctx)
{
    if (p->type == PROJECTION_SECRET || p->type == PROJECTION_CONFIG_MAP)
        return need_keyed(p->keyed, p->type, index, fn, ctx);
    if (p->type != PROJECTION_TOKEN)
        return 0;
    struct content_need n = {
        .projection = PROJECTION_TOKEN,
        .index = index,
        .name = pod->service_account,
        .audience = p->token->audience,
        .expiration_seconds = p->token->expiration_seconds,
    };
    return fn(ctx, &n);
}

int content_needs(const struct volume_spec *s, const struct pod *pod,
                  int (*fn)(void *ctx, const struct content_need *n), void *ctx)
{
    const struct pod_volume *v = s->inlined;
    int r = 0;

    if (!v)
        return 0;
    if (v->type == POD_VOLUME_SECRET)
        return need_keyed(v->keyed, PROJECTION_SECRET, 0, fn, ctx);
    if (v->type == POD_VOLUME_CONFIG_MAP)
        return need_keyed(v->keyed, PROJECTION_CONFIG_MAP, 0, fn, ctx);
    for (uint32_t i = 0; v->type == POD_VOLUME_PROJECTED && i < v->projected->items_count && r == 0; i++)
        r = need_projected(&v->projected->items[i], i, pod, fn, ctx);
    return r;
}

/* --- Failures that come together --- */

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

static int failures_tell(const struct failures *f, struct error *err)
{
    _cleanup_(buf_done_p) struct buf text = BUF_INIT((FAILURES_MAX + (size_t)1) * ERROR_MSG_BYTES_MAX);

    if (f->count == 0)
        return 0;
    if (f->count == 1) {
        *err = f->first;
        return -(int)err->code;
    }
    for (unsigned i = 0; i < f->count; i++)
        buf_addf(&text, "%s%s", i ? ", " : "[", f->texts[i]); /* failures stick, and it is cut anyway */
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
        return error_set(err, ERR_TOO_LARGE, "the files of volume '%s' have more than %zu MiB",
                         spec_name(&b->q->spec), CONTENT_BYTES_MAX >> 20);
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

/* What was fetched for a projection, as far as it may be used. *ret is NULL for an object that is allowed to
 * be missing, and is. */
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

static int missing_key(uint8_t projection, const char *key, struct error *err)
{
    return error_set(err, ERR_INVALID,
                     projection == PROJECTION_SECRET ? "references non-existent secret key: %s"
                                                     : "configmap references non-existent config key: %s",
                     key);
}

/* The keys of an object, all of them or those that are listed. */
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
            r = missing_key(projection, item->key, err);
    }
    return r;
}

/* Each item that fails is told. */
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

/* Whoever is to read the token is its owner, or of its group: nobody else. */
static int add_token(struct build *b, const struct pod_token *t, uint32_t index, struct error *err)
{
    bool has_reader = b->q->fs_user >= 0 || b->q->fs_group >= 0;
    const struct volume_content *content = NULL;
    int r = get_content(b, PROJECTION_TOKEN, index, /* is_optional= */ false, &content, err);

    if (r < 0)
        return r;
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
        return error_set(err, ERR_UNSUPPORTED, "clusterTrustBundle sources are not supported here");
    case PROJECTION_CERTIFICATE:
        return error_set(err, ERR_UNSUPPORTED, "podCertificate sources are not supported here");
    case PROJECTION_UNKNOWN:
    case PROJECTION_TYPE_COUNT:
        break;
    }
    return error_set(err, ERR_UNSUPPORTED, "source %u of the projected volume is of no kind that is known",
                     (unsigned)index);
}

/* Later sources win over earlier ones by coming later. */
static int add_projected(struct build *b, const struct pod_projected *p, struct error *err)
{
    for (uint32_t i = 0; i < p->items_count; i++) {
        int r = add_projection(b, &p->items[i], i, err);
        if (r == -ERR_NO_MEMORY)
            return r;
        if (r < 0)
            failures_add(&b->failures, err);
    }
    return 0;
}

/* --- How many files, at most --- */

static size_t count_keyed(const struct build *b, const struct pod_keyed *k, uint8_t projection,
                          uint32_t index)
{
    const struct volume_content *c = find_content(b, projection, index);

    return k->items_count ? k->items_count : c && c->r == 0 ? entries_of(c).count : 0;
}

static size_t count_projected(const struct build *b, const struct pod_projected *p)
{
    size_t count = 0;

    for (uint32_t i = 0; i < p->items_count; i++) {
        const struct pod_projection *one = &p->items[i];
        if (one->type == PROJECTION_SECRET || one->type == PROJECTION_CONFIG_MAP)
            count += count_keyed(b, one->keyed, one->type, i);
        else if (one->type == PROJECTION_DOWNWARD_API)
            count += one->downward->items_count;
        else
            count++;
    }
    return count;
}

/* The volume's kind as a projection; PROJECTION_UNKNOWN for a projected volume itself. */
static uint8_t projection_of(const struct pod_volume *v)
{
    return v->type == POD_VOLUME_SECRET         ? PROJECTION_SECRET
           : v->type == POD_VOLUME_CONFIG_MAP   ? PROJECTION_CONFIG_MAP
           : v->type == POD_VOLUME_DOWNWARD_API ? PROJECTION_DOWNWARD_API
                                                : PROJECTION_UNKNOWN;
}

static size_t count_files(const struct build *b, const struct pod_volume *v)
{
    uint8_t projection = projection_of(v);

    if (projection == PROJECTION_UNKNOWN)
        return count_projected(b, v->projected);
    return projection == PROJECTION_DOWNWARD_API ? v->downward->items_count
                                                 : count_keyed(b, v->keyed, projection, 0);
}

static int32_t default_mode_of(const struct pod_volume *v)
{
    uint8_t projection = projection_of(v);

    return projection == PROJECTION_UNKNOWN        ? v->projected->default_mode
           : projection == PROJECTION_DOWNWARD_API ? v->downward->default_mode
                                                   : v->keyed->default_mode;
}

static int build_files(struct build *b, const struct pod_volume *v, struct error *err)
{
    uint8_t projection = projection_of(v);
    int r;

    if (projection == PROJECTION_UNKNOWN)
        r = add_projected(b, v->projected, err);
    else if (projection == PROJECTION_DOWNWARD_API)
        r = add_downward(b, v->downward, err);
    else
        r = add_keyed(b, v->keyed, projection, 0, err);
    return r < 0 ? r : failures_tell(&b->failures, err);
}

int content_build(struct arena *a, const struct set_up_request *q, struct atomic_files *ret,
                  struct error *err)
{
    const struct pod_volume *v = q->spec.inlined;
    struct build b = { .q = q, .failures = { .arena = a } };
    int r;

    b.default_mode = default_mode_of(v);
    if (b.default_mode == POD_MODE_UNSET)
        return error_set(err, ERR_INVALID, "no defaultMode used, not even the default value for it");
    b.files = arena_array(a, count_files(&b, v) + 1, sizeof *b.files);
    if (!b.files)
        return arena_check(a, err);
    downward_init(&b.downward, a, q->pod, q->node);
    r = build_files(&b, v, err);
    downward_done(&b.downward);
    if (r == 0)
        r = arena_check(a, err);
    if (r == 0)
        *ret = (struct atomic_files){ b.files, b.count };
    return r;
}
