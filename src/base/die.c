/* Ends the process for a failure that has no caller to report to. */
#include "base/die.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

void die_with_reason(const char *reason)
{
    if (log_is_on(LOG_LEVEL_ERROR))
        log_error("cannot continue, ending the process", LOG_STR("reason", reason));
    else
        (void)fprintf(stderr, "berth: cannot continue: %s\n", reason); /* nothing else can report it */
    abort();
}
