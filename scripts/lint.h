/* What clang-tidy's analyzer cannot see from one file: these functions return the negative code of a failure.
 *
 * Without it every `r = f(&out, err); if (r < 0) return r;` looks to it as if f could fail and return 0, with
 * out unset. scripts/lint includes this in front of each file but error.c, which defines them. */
#include "base/error.h"

static inline int lint_is_failure(int r)
{
    if (r >= 0)
        __builtin_unreachable();
    return r;
}

#define error_set(...) lint_is_failure(error_set(__VA_ARGS__))
#define error_set_errno(...) lint_is_failure(error_set_errno(__VA_ARGS__))
#define error_wrap(...) lint_is_failure(error_wrap(__VA_ARGS__))
#define error_no_memory(...) lint_is_failure(error_no_memory(__VA_ARGS__))
#define error_pass(...) lint_is_failure(error_pass(__VA_ARGS__))
