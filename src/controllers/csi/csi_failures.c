/* Remembers failed calls (csi_failures.h). */
#include "controllers/csi/csi_failures.h"

#include <stdlib.h>
#include <string.h>

void csi_failures_init(struct csi_failures *f)
{
    TAILQ_INIT(&f->all);
    f->count = 0;
}

static void failure_free(struct csi_failures *f, struct csi_failure *failure)
{
    TAILQ_REMOVE(&f->all, failure, link);
    f->count--;
    free(failure);
}

void csi_failures_done(struct csi_failures *f)
{
    struct csi_failure *failure, *next;

    for (failure = TAILQ_FIRST(&f->all); failure; failure = next) {
        next = TAILQ_NEXT(failure, link);
        failure_free(f, failure);
    }
}

static struct csi_failure *find_failure(const struct csi_failures *f, const char *uid)
{
    struct csi_failure *failure;

    TAILQ_FOREACH(failure, &f->all, link)
        if (strncmp(failure->about, uid, sizeof failure->about - 1) == 0)
            return failure;
    return NULL;
}

const struct csi_failure *csi_failures_get(const struct csi_failures *f, const char *uid)
{
    return find_failure(f, uid);
}

void csi_failures_put(struct csi_failures *f, const char *uid, enum csi_controller_method m,
                      const struct csi_answer *a, uint64_t now_ns)
{
    struct csi_failure *old = uid[0] ? find_failure(f, uid) : NULL, *failure;
    const char *words = a->outcome != CSI_DONE && a->words[0] == '\0' ? a->err->msg : a->words;
    size_t len = strnlen(words, ERROR_MSG_BYTES_MAX - 1);

    if (old)
        failure_free(f, old);
    if (uid[0] == '\0' || a->outcome == CSI_DONE)
        return;
    failure = calloc(1, sizeof *failure + len + 1);
    if (!failure)
        return;
    failure->method = m;
    failure->outcome = a->outcome;
    failure->code = a->code;
    failure->at_ns = now_ns;
    memcpy(failure->about, uid, strnlen(uid, sizeof failure->about - 1));
    memcpy(failure->words, words, len);
    TAILQ_INSERT_TAIL(&f->all, failure, link);
    if (++f->count > CSI_FAILURES_MAX) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed ones have left */
        failure_free(f, TAILQ_FIRST(&f->all));
}
