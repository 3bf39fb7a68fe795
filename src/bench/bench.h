/* What the benchmarks share. */
#ifndef BERTH_BENCH_BENCH_H
#define BERTH_BENCH_BENCH_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* A volume as a CSI provisioner makes it, 1.6 KB, canonical. */
extern const struct str bench_volume;

/* "what   1.23 us" */
void bench_print(const char *what, double ns);

/* The machine's own speed, to compare runs by. */
void bench_baseline(void);

/* Decoding and encoding, quantities, ordered maps. */
int bench_micro(struct error *err);
/* Durable writes, and loading that many volumes, in a directory below the current one. */
int bench_store(uint64_t volumes, struct error *err);
/* Caches that follow that many volumes, and the way of their changes into a controller. */
int bench_informer(uint64_t volumes, struct error *err);
/* Finding a volume for a claim among 1,000, 10,000 and so on up to that many free ones. */
int bench_match(uint64_t volumes, struct error *err);

/* Binding that many pairs by the controllers, on a store in a directory below the current one. */
int bench_bind(uint64_t pairs, struct error *err);

/* Setting up and tearing down that many volumes of pods, in a directory below the current one. */
int bench_volumes(uint64_t volumes, struct error *err);

/* What is scheduled: pods with one claim each that waits for them, and volumes spread over nodes. */
struct schedule_size {
    uint64_t pods;
    uint64_t nodes;
    uint64_t volumes;
};
/* Nodes and volumes for the pods by scheduler and controllers, on a store in a directory below the current
 * one. */
int bench_schedule(const struct schedule_size *size, struct error *err);

/* What is attached: so many volumes of pods on each node. */
struct attach_size {
    uint64_t nodes;
    uint64_t volumes;
};
/* Until the nodes' status has them, with an attacher that takes a second, on a store in a directory below the
 * current one. */
int bench_attach(const struct attach_size *size, struct error *err);

#endif
