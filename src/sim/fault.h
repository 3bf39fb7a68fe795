/* The faults that a simulated world injects. */
#ifndef BERTH_SIM_FAULT_H
#define BERTH_SIM_FAULT_H

#include "base/error.h"
#include "base/str.h"

enum sim_fault {
    FAULT_DELAY,     /* requests and answers take seconds */
    FAULT_REFUSE,    /* connections are refused */
    FAULT_LOSE,      /* the connection breaks before the request arrives, or after it was processed */
    FAULT_HANG,      /* no answer, whether the request was processed or not */
    FAULT_ERROR,     /* 500, 503, 429; 504 after the request was processed */
    FAULT_TWICE,     /* a request arrives twice; the client gets the second answer */
    FAULT_CUT,       /* watches end in the middle */
    FAULT_LAG,       /* events of a watch are late: caches are stale */
    FAULT_REPLAY,    /* events of a watch are repeated, with invalid lines in between */
    FAULT_PAUSE,     /* a process is suspended while time passes */
    FAULT_CRASH,     /* a process is killed and restarted */
    FAULT_RESTART,   /* the server stops and restarts */
    FAULT_PARTITION, /* a process and the server cannot reach each other */
    FAULT_CLOCK,     /* a wall clock is set to another time */
    FAULT_HOST,      /* host operations fail, hang, or succeed after their timeout */
    FAULT_REBOOT,    /* a machine loses power and reboots */
    FAULT_COUNT,
};

#define FAULTS_ALL ((1U << FAULT_COUNT) - 1)

extern const char *const fault_names[];

/* Parses "delay,crash", "all", "none", "all,-crash". ERR_INVALID names an unknown fault. */
int faults_parse(struct str list, unsigned *ret, struct error *err);

#endif
