/* The data structures of the statistics, internal to stats*.c. */
#ifndef BERTH_NODE_STATS_INT_H
#define BERTH_NODE_STATS_INT_H

#include "host/files.h"
#include "node/node_int.h"

struct stats_job;

/* A mount at the start of the round. */
struct stats_record {
    char *pod_uid;
    char *volume; /* its unique name */
    char *claim_ns;
    char *claim_name; /* both NULL: not a claim */
    bool is_first;    /* of the claim's records: it provides the metrics */
    bool is_listed;   /* in this round */
    bool is_block;    /* only the size of the device is known */
    bool is_known;    /* usage and real_ns are valid */
    char *last_error; /* why it is unknown; NULL: the plugin reports none */
    struct host_usage usage;
    int64_t real_ns;
    struct stats_job *job;
};

#define STATS_NUMBERS 6 /* of struct host_usage */

/* The value of a metric family. */
struct stats_series {
    struct stats *stats;
    struct metric_family *family;
    unsigned at; /* in the table of numbers */
};

struct stats {
    struct agent *agent;
    struct omap records; /* struct stats_record by pod and volume */
    /* The round: by claim, then pod and volume; those without a claim first. Borrowed. */
    VEC(struct stats_record *) round;
    size_t next; /* to be asked */
    uint64_t began_ns;
    unsigned jobs;
    bool is_waiting; /* for one of them */
    struct timer timer;
    struct stats_series series[STATS_NUMBERS];
    struct metric_family *volumes;
    struct metric_family *seconds;
};

/* --- stats.c --- */

/* NULL when it did not exist at the start of the round. */
struct stats_record *stats_record(const struct stats *s, const struct node_mount *m);
/* NULL: it no longer exists. */
const struct node_mount *stats_mount(const struct stats *s, const struct stats_record *r);

/* --- stats_show.c --- */

int stats_open_metrics(struct stats *s, struct metrics *m, struct error *err);
/* The registry outlives this; unregisters the metrics. */
void stats_close_metrics(struct stats *s);

#endif
