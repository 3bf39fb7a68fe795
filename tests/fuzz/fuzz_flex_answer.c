/* Any bytes as a driver's answer: a success, a refusal in words, or no answer; never both an answer and an
 * error, and a device that is a path. */
#include "tests/fuzz/fuzz.h"

#include "plugins/flex/driver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { size ? (const char *)data : "", size };

    for (unsigned c = 0; c < FLEX_COMMAND_COUNT; c += FLEX_MOUNT) {
        struct flex_answer a;
        struct error err = { 0 };
        memset(&a, 0x5A, sizeof a);
        int r = flex_answer_read((enum flex_command)c, text, &a, &err);
        FUZZ_CHECK(r <= 0 && r == -(int)err.code);
        FUZZ_CHECK((r == 0) == (err.msg[0] == '\0'));
        if (r == 0)
            FUZZ_CHECK(memchr(a.device, '\0', sizeof a.device));
        else
            FUZZ_CHECK(a.device[0] == 0x5A);
    }
    return 0;
}
