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

/* How much of what; a benchmark reads what it needs. */
struct bench_size {
    uint64_t pods;
    uint64_t nodes;
    uint64_t volumes; /* bind: pairs of volumes and claims; attach: of each node */
};

/* Decoding and encoding, quantities, ordered maps. */
int bench_micro(const struct bench_size *size, struct error *err);
/* Durable writes, and loading the volumes, in a directory below the current one, as all that need a disk. */
int bench_store(const struct bench_size *size, struct error *err);
/* Caches that follow the volumes, and the way of their changes into a controller. */
int bench_informer(const struct bench_size *size, struct error *err);
/* Finding a volume for a claim among 1,000, 10,000 and so on up to that many free ones. */
int bench_match(const struct bench_size *size, struct error *err);
/* Binding the pairs by the controllers. */
int bench_bind(const struct bench_size *size, struct error *err);
/* Setting up and tearing down the volumes of pods. */
int bench_volumes(const struct bench_size *size, struct error *err);
/* Nodes and volumes, which are spread over nodes, for pods with one claim each that waits for them. */
int bench_schedule(const struct bench_size *size, struct error *err);
/* Until the nodes' status has the volumes of their pods, with an attacher that takes a second. */
int bench_attach(const struct bench_size *size, struct error *err);

#endif
