/* A handler that checks the guarantees of an informer.
 *
 * It records every notification and fails the run for a violation: an object added twice, or added in a
 * version from before its deletion; an update of an unknown object, or to a version that is not newer; a
 * deletion of an unknown object. In the final state it compares its records, the cache and the server. */
#ifndef BERTH_SIM_INFORMER_CHECKER_H
#define BERTH_SIM_INFORMER_CHECKER_H

#include "base/map.h"
#include "machinery/informer.h"

struct sim;

struct informer_checker {
    struct sim *sim;
    struct informer *informer;
    struct informer_handler handler;
    struct map known;   /* key -> struct object_record */
    struct map deleted; /* uid -> struct object_record: the version in which it was deleted */
    enum kind kind;
    /* The informer selects objects whose label has this value; NULL: all objects. */
    const char *label;
    const char *value;
    bool was_synced;
};

void informer_checker_init(struct informer_checker *checker, struct sim *s, struct informer *i, enum kind k,
                           const char *label, const char *value);
void informer_checker_done(struct informer_checker *checker);

/* 0 if records, cache and server agree. */
int informer_checker_compare(const struct informer_checker *checker, struct error *err);

#endif
