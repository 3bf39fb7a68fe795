/* What can go wrong in a simulated world. */
#ifndef BERTH_SIM_FAULT_H
#define BERTH_SIM_FAULT_H

#include "base/error.h"
#include "base/str.h"

enum sim_fault {
    FAULT_DELAY,     /* requests and answers take seconds */
    FAULT_REFUSE,    /* nobody listens */
    FAULT_LOSE,      /* the connection breaks before the request arrives, or after it was carried out */
    FAULT_HANG,      /* no answer ever comes; carried out or not */
    FAULT_ERROR,     /* 500, 503, 429; 504 after it was carried out */
    FAULT_TWICE,     /* a request arrives twice, and the second one's answer comes back */
    FAULT_CUT,       /* watches end in the middle */
    FAULT_LAG,       /* events of a watch come late: what caches show is old */
    FAULT_REPLAY,    /* events of a watch come again, and lines that nobody can read between them */
    FAULT_PAUSE,     /* a process stands still while time passes */
    FAULT_CRASH,     /* a process is killed and started again */
    FAULT_RESTART,   /* the server ends and comes back */
    FAULT_PARTITION, /* a process and the server cannot reach each other */
    FAULT_CLOCK,     /* a wall clock is set to another time */
    FAULT_HOST,      /* host operations fail, hang, or succeed after everybody gave up */
    FAULT_REBOOT,    /* a machine loses its power and comes back */
    FAULT_COUNT,
};

#define FAULTS_ALL ((1U << FAULT_COUNT) - 1)

extern const char *const fault_names[];

/* "delay,crash", "all", "none", "all,-crash". */
int faults_parse(struct str list, unsigned *ret, struct error *err);

#endif
