/* Logs each warning of the server once: it is sent again with every answer that it applies to. */
#ifndef BERTH_CLIENT_CLIENT_WARNINGS_H
#define BERTH_CLIENT_CLIENT_WARNINGS_H

#include "base/omap.h"
#include "base/str.h"

/* Limits the texts that are kept of a server that never repeats one. */
#define CLIENT_WARNINGS_MAX 1000
#define CLIENT_WARNING_BYTES_MAX 1024

/* The texts that were logged or reported. */
struct client_warnings {
    struct omap texts;
    bool is_full;
    void (*on_warning)(struct str text); /* NULL: they are logged */
};

void client_warnings_init(struct client_warnings *w, void (*on_warning)(struct str text));
void client_warnings_done(struct client_warnings *w);

/* Logs the text unless it was logged before. Only the first CLIENT_WARNING_BYTES_MAX bytes of a text are
 * compared. */
void client_warnings_note(struct client_warnings *w, struct str text);

#endif
