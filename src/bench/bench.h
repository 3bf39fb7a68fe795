/* Shared by the benchmarks: their entry points, sizes and output. */
#ifndef BERTH_BENCH_BENCH_H
#define BERTH_BENCH_BENCH_H

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

/* A volume as a CSI provisioner creates it, 1.6 KB, canonical. */
extern const struct str bench_volume;

/* "what   1.23 us" */
void bench_print(const char *what, double ns);

/* Speed of the machine, for the comparison of runs. */
void bench_baseline(void);

/* Sizes; each benchmark reads those it needs. */
struct bench_size {
    uint64_t pods;
    uint64_t nodes;
    uint64_t volumes; /* bind: pairs of volumes and claims; csi: claims; attach: volumes per node */
};

/* Decoding and encoding, quantities, ordered maps. */
int bench_micro(const struct bench_size *size, struct error *err);
/* Durable writes, and loading of the volumes. Like all benchmarks that need a disk, it uses a directory below
 * the current one. */
int bench_store(const struct bench_size *size, struct error *err);
/* Caches of the volumes, and the delivery of changes to a controller. */
int bench_informer(const struct bench_size *size, struct error *err);
/* Finding a volume for a claim among 1,000, 10,000 and so on up to that many free ones. */
int bench_match(const struct bench_size *size, struct error *err);
/* Binding of the pairs by the controllers. */
int bench_bind(const struct bench_size *size, struct error *err);
/* Set-up and tear-down of the volumes of pods. */
int bench_volumes(const struct bench_size *size, struct error *err);
/* Nodes, and volumes spread over them, for pods with one claim each that waits for its consumer. */
int bench_schedule(const struct bench_size *size, struct error *err);
/* Time until the nodes' status lists the volumes of their pods, with an attacher that takes one second. */
int bench_attach(const struct bench_size *size, struct error *err);
/* Claims that the CSI controllers provision, attach and expand, with a driver that answers at once. */
int bench_csi(const struct bench_size *size, struct error *err);

#endif
