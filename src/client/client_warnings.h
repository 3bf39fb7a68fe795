/* What the server warns of, logged once a text: a warning comes back with every answer that deserves it. */
#ifndef BERTH_CLIENT_CLIENT_WARNINGS_H
#define BERTH_CLIENT_CLIENT_WARNINGS_H

#include "base/omap.h"
#include "base/str.h"

/* A server that never repeats itself is not listened to for ever. */
#define CLIENT_WARNINGS_MAX 1000
#define CLIENT_WARNING_BYTES_MAX 1024

/* The texts that were logged, or told. */
struct client_warnings {
    struct omap texts;
    bool is_full;
    void (*tell)(struct str text); /* NULL: they are logged */
};

void client_warnings_init(struct client_warnings *w, void (*tell)(struct str text));
void client_warnings_done(struct client_warnings *w);

/* Logs the text unless it was logged before. Of a longer text the first CLIENT_WARNING_BYTES_MAX bytes count.
 */
void client_warnings_note(struct client_warnings *w, struct str text);

#endif
