/* A witness: a handler of an informer that believes nothing.
 *
 * It keeps its own account of what it was told and complains when an informer breaks its promises: an object
 * added twice or back from the dead, an update of what was never added or to a version that is no newer, a
 * delete of what is not there. When everything has settled it compares the account, the cache and the server.
 */
#ifndef BERTH_SIM_WITNESS_H
#define BERTH_SIM_WITNESS_H

#include "base/map.h"
#include "machinery/informer.h"

struct sim;

struct witness {
    struct sim *sim;
    struct informer *informer;
    struct informer_handler handler;
    struct map known; /* key -> struct witnessed */
    struct map gone;  /* uid -> struct witnessed: as it went */
    enum kind kind;
    const char *label; /* what the informer selects: this label … */
    const char *value; /* … has this value; NULL: everything */
    bool was_synced;
};

void witness_init(struct witness *w, struct sim *s, struct informer *i, enum kind k, const char *label,
                  const char *value);
void witness_done(struct witness *w);

/* 0 when account, cache and server agree. */
int witness_check(const struct witness *w, struct error *err);

#endif
