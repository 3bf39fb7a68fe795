/* The insides of the statistics, for stats*.c alone. */
#ifndef BERTH_NODE_STATS_INT_H
#define BERTH_NODE_STATS_INT_H

#include "host/files.h"
#include "node/node_int.h"

struct stats_job;

/* A mount as it was found at the beginning of the round. */
struct stats_record {
    char *pod_uid;
    char *volume; /* its unique name */
    char *claim_ns;
    char *claim_name; /* both NULL: no claim's */
    bool is_first;    /* of the claim's records: the series are its */
    bool is_listed;   /* in this round */
    bool is_block;    /* of the device nothing but the size is known */
    bool is_known;    /* usage and real_ns mean something */
    char *trouble;    /* why it is not known; NULL: nobody can know */
    struct host_usage usage;
    int64_t real_ns;
    struct stats_job *job;
};

#define STATS_NUMBERS 6 /* of struct host_usage */

/* Which number a family of series shows. */
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

/* NULL when it was not there at the beginning of the round. */
struct stats_record *stats_record(const struct stats *s, const struct node_mount *m);
/* NULL: it is not there any more. */
const struct node_mount *stats_mount(const struct stats *s, const struct stats_record *r);

/* --- stats_show.c --- */

int stats_open_metrics(struct stats *s, struct metrics *m, struct error *err);
/* The registry stays, and says nothing of this any more. */
void stats_close_metrics(struct stats *s);

#endif
