/* Conversions between dates and seconds. Both directions count days from 0000-03-01: in a year that begins in
 * March the leap day comes last, so the number of days before a month does not depend on the year. Every date
 * of the range gives a positive count. All functions are O(1). */
#include "base/civil.h"

#define SECONDS_PER_DAY 86400
#define DAYS_PER_YEAR 365
#define DAYS_PER_4_YEARS (4 * DAYS_PER_YEAR + 1)
#define DAYS_PER_100_YEARS (25 * DAYS_PER_4_YEARS - 1)
#define DAYS_PER_400_YEARS (4 * DAYS_PER_100_YEARS + 1)
/* From 0000-03-01 to 1970-01-01. */
#define DAYS_TO_UNIX 719468

static int civil_min(int a, int b)
{
    return a < b ? a : b;
}

/* Days from March 1 to the first day of the month; March is 0. Lengths repeat: 31, 30, 31, 30, 31 days. */
static int civil_days_before_month(int month_from_march)
{
    return (153 * month_from_march + 2) / 5;
}

static bool civil_year_is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int civil_month_days(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return days[month - 1] + (month == 2 && civil_year_is_leap(year) ? 1 : 0);
}

static void civil_set_date(int days, struct civil *ret)
{
    int year = days / DAYS_PER_400_YEARS * 400;
    int part, month;

    days %= DAYS_PER_400_YEARS;
    /* The last century of 400 years and the last year of four have one extra day, so the quotient is limited.
     */
    part = civil_min(days / DAYS_PER_100_YEARS, 3);
    year += part * 100;
    days -= part * DAYS_PER_100_YEARS;
    year += days / DAYS_PER_4_YEARS * 4;
    days %= DAYS_PER_4_YEARS;
    part = civil_min(days / DAYS_PER_YEAR, 3);
    year += part;
    days -= part * DAYS_PER_YEAR;

    month = (5 * days + 2) / 153;
    ret->day = days - civil_days_before_month(month) + 1;
    ret->month = month < 10 ? month + 3 : month - 9;
    ret->year = month < 10 ? year : year + 1;
}

bool civil_from_unix(int64_t seconds, struct civil *ret)
{
    int64_t shifted;
    int in_day;

    if (seconds < CIVIL_UNIX_MIN || seconds > CIVIL_UNIX_MAX)
        return false;
    shifted = seconds + (int64_t)DAYS_TO_UNIX * SECONDS_PER_DAY;
    in_day = (int)(shifted % SECONDS_PER_DAY);
    civil_set_date((int)(shifted / SECONDS_PER_DAY), ret);
    ret->hour = in_day / 3600;
    ret->minute = in_day / 60 % 60;
    ret->second = in_day % 60;
    return true;
}

static bool civil_is_valid(const struct civil *c)
{
    return c->year >= 1 && c->year <= 9999 && c->month >= 1 && c->month <= 12 && c->day >= 1 &&
           c->day <= civil_month_days(c->year, c->month) && c->hour >= 0 && c->hour <= 23 && c->minute >= 0 &&
           c->minute <= 59 && c->second >= 0 && c->second <= 59;
}

bool civil_to_unix(const struct civil *c, int64_t *ret)
{
    int year, month, days, in_day;

    if (!civil_is_valid(c))
        return false;
    year = c->month > 2 ? c->year : c->year - 1;
    month = c->month > 2 ? c->month - 3 : c->month + 9;
    days = year * DAYS_PER_YEAR + year / 4 - year / 100 + year / 400 + civil_days_before_month(month) +
           c->day - 1;
    in_day = c->hour * 3600 + c->minute * 60 + c->second;
    *ret = (int64_t)(days - DAYS_TO_UNIX) * SECONDS_PER_DAY + in_day;
    return true;
}
