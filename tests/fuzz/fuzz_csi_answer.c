/* Any bytes from a driver: as HTTP/2 with a gRPC answer in it, and as the messages that answers hold. An
 * answer or an error that leaves it open what happened, never both; what was read can be written. */
#include "tests/fuzz/fuzz.h"

#include "plugins/csi/csi_int.h"
#include "rpc/framing.h"
#include "rpc/rpc_int.h"

static void check_message(enum csi_method m, struct str text)
{
    ProtobufCMessage *message = NULL;
    struct error err = { 0 };
    int r = csi_answer_read(m, text, &message, &err);

    FUZZ_CHECK(r == 0 || r == -ERR_UNCERTAIN);
    FUZZ_CHECK((r == 0) == (message != NULL));
    FUZZ_CHECK((r == 0) == (err.msg[0] == '\0'));
    if (message)
        FUZZ_CHECK(protobuf_c_message_get_packed_size(message) <= text.len * 2 + 64);
    rpc_message_free(&message);
}

/* The answers of the Controller service, as csi_peer.c reads them. */
static void check_controller_messages(struct str text)
{
    static const ProtobufCMessageDescriptor *const answers[] = {
        &csi__v1__get_plugin_capabilities_response__descriptor,
        &csi__v1__controller_get_capabilities_response__descriptor,
        &csi__v1__create_volume_response__descriptor,
        &csi__v1__controller_publish_volume_response__descriptor,
        &csi__v1__controller_expand_volume_response__descriptor,
        &csi__v1__list_volumes_response__descriptor,
        &csi__v1__get_capacity_response__descriptor,
    };

    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        struct buf again = BUF_INIT(text.len * 2 + 64);
        ProtobufCMessage *message = rpc_message_read(answers[i], text);
        struct error err = { 0 };

        FUZZ_CHECK(!message || rpc_message_pack(message, &again, &err) == 0);
        rpc_message_free(&message);
        buf_done(&again);
    }
}

/* Messages as a streaming answer holds them, one behind the other. */
static void check_frames(struct str text)
{
    struct str message = { 0 };

    while (rpc_frame_read(text, 1 << 20, &message) == RPC_FRAME_WHOLE) {
        FUZZ_CHECK(message.s == text.s + RPC_PREFIX_BYTES && message.len <= text.len - RPC_PREFIX_BYTES);
        text.s += RPC_PREFIX_BYTES + message.len;
        text.len -= RPC_PREFIX_BYTES + message.len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { size ? (const char *)data : "", size };
    struct buf answer = BUF_INIT(0), words = BUF_INIT(64);
    struct error err = { 0 };
    int r = rpc_read(text, &answer, &err);

    FUZZ_CHECK(r <= 0 && r == -(int)err.code);
    if (r == 0)
        check_message(CSI_NODE_INFO, buf_str(&answer));
    buf_done(&answer);
    check_message(CSI_NODE_INFO, text);
    check_message(CSI_NODE_CAPABILITIES, text);
    check_message(CSI_NODE_STATS, text);
    check_message(CSI_REGISTRATION_INFO, text);
    check_controller_messages(text);
    check_frames(text);
    rpc_words_read(text, &words);
    FUZZ_CHECK(words.failed == ERR_TOO_LARGE || strlen(buf_cstr(&words)) == words.len);
    buf_done(&words);
    return 0;
}
