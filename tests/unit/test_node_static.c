#include "tests/unit/test.h"
TEST_MAIN()
