/* The state of a CSI driver as JSON, and its record in the API: the annotation csi.berth.io/state of the
 * CSIDriver, from which other processes describe a driver that they cannot ask.
 *
 * The process that holds a lease of the driver writes it: when the driver's state, capabilities or last error
 * change, at most every CSI_STATE_PERIOD_NS. A driver without a CSIDriver object has no record. A server
 * describes the drivers of its own process itself, and writes none. */
#ifndef BERTH_CONTROLLERS_CSI_CSI_STATE_H
#define BERTH_CONTROLLERS_CSI_CSI_STATE_H

#include "controllers/csi/csi_controllers.h"
#include "machinery/api_write.h"

#define ANN_CSI_STATE "csi.berth.io/state"
#define CSI_STATE_PERIOD_NS (10 * NS_PER_S)
#define CSI_STATE_BYTES_MAX ((size_t)64 << 10)

/* {"state": "ready", "since": TIME, "socket", "capabilities": [], "callsInFlight", "lastError", "by",
 * "time"}; by: the identity of the process. */
void csi_state_write(const struct csi_driver_state *s, const struct clock *clock, const char *by,
                     struct buf *out);

struct csi_state_record {
    struct component_deps part;
    const char *by;
    void (*on_due)(void *ctx); /* the owner calls csi_state_update() again */
    void *ctx;
    /* Private. */
    struct api api;
    struct informer *drivers;
    struct api_write write;
    struct timer timer;
    uint64_t written_ns; /* loop time; 0: never */
    bool is_failed;      /* the last write */
    struct buf last;     /* what the record says, without what changes all the time */
    struct buf text;     /* being written */
};

/* The fields above the private ones are set. */
int csi_state_open(struct csi_state_record *record, struct error *err);
void csi_state_close(struct csi_state_record *record);
/* Writes the record if it has changed and the last one is old enough; else on_due() follows. */
void csi_state_update(struct csi_state_record *record, const struct csi_driver_state *s);

#endif
