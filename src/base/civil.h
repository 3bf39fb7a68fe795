/* Seconds since 1970-01-01T00:00:00Z and the calendar: proleptic Gregorian, UTC, years 1 to 9999, no leap
 * seconds.
 *
 * Plain arithmetic: no time zone, no locale, no C library state. */
#ifndef BERTH_BASE_CIVIL_H
#define BERTH_BASE_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

struct civil {
    int year;  /* 1-9999 */
    int month; /* 1-12 */
    int day;   /* 1-31 */
    int hour;
    int minute;
    int second; /* 0-59 */
};

/* The first and last second of the range: 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
#define CIVIL_UNIX_MIN INT64_C(-62135596800)
#define CIVIL_UNIX_MAX INT64_C(253402300799)

/* False when the second is out of range. */
bool civil_from_unix(int64_t seconds, struct civil *ret);

/* False when there is no such date or time: February 30, 24:00, year 0. */
bool civil_to_unix(const struct civil *c, int64_t *ret);

#endif
