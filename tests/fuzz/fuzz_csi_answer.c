/* Any bytes from a driver: as HTTP/2 with a gRPC answer in it, and as the messages that answers hold. An
 * answer or an error that leaves it open what happened, never both; what was read can be written. */
#include "tests/fuzz/fuzz.h"

#include "plugins/csi/csi_int.h"
#include "plugins/csi/grpc.h"

static void check_message(enum csi_method m, struct str text)
{
    ProtobufCMessage *message = NULL;
    struct error err = { 0 };
    int r = csi_answer_read(m, text, &message, &err);

    FUZZ_CHECK(r == 0 || r == -ERR_TIMEOUT);
    FUZZ_CHECK((r == 0) == (message != NULL));
    FUZZ_CHECK((r == 0) == (err.msg[0] == '\0'));
    if (message)
        FUZZ_CHECK(protobuf_c_message_get_packed_size(message) <= text.len * 2 + 64);
    csi_message_free(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { size ? (const char *)data : "", size };
    struct buf answer = BUF_INIT(0);
    struct error err = { 0 };
    char words[64];
    int r = grpc_read(text, &answer, &err);

    FUZZ_CHECK(r <= 0 && r == -(int)err.code);
    if (r == 0)
        check_message(CSI_NODE_INFO, buf_str(&answer));
    buf_done(&answer);
    check_message(CSI_NODE_INFO, text);
    check_message(CSI_NODE_CAPABILITIES, text);
    check_message(CSI_NODE_STATS, text);
    check_message(CSI_REGISTRATION_INFO, text);
    grpc_unescape(text, words, sizeof words);
    FUZZ_CHECK(memchr(words, '\0', sizeof words));
    return 0;
}
