/* Acting as somebody else, by the headers Impersonate-User, -Group, -Uid and -Extra-KEY: `kubectl --as`. */
#ifndef BERTH_APISERVER_IMPERSONATE_H
#define BERTH_APISERVER_IMPERSONATE_H

#include "apiserver/call.h"
#include "base/error.h"

/* The user that the headers ask for, in the call's arena; `real` when they ask for none. Members of
 * system:masters only: ERR_DENIED for the others (ERR_UNAUTHORIZED for who is nobody). ERR_BAD_REQUEST when
 * the headers name no user, or the key of an extra cannot be decoded. */
int impersonate(struct call *c, const struct user *real, const struct user **ret, struct error *err);

#endif
