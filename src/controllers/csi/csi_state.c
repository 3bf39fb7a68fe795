/* Writes the state of a CSI driver, as JSON and into its CSIDriver (csi_state.h). */
#include "controllers/csi/csi_state.h"

#include <string.h>

#include "api/json_out.h"
#include "base/log.h"
#include "machinery/merge_patch.h"

/* Of the last error, in the record. */
#define ERROR_BYTES_MAX 1024
#define STATE_MANAGER "berth-csi"

static struct str shorten_error(const char *text)
{
    size_t len = strnlen(text, ERROR_BYTES_MAX);

    while (len == ERROR_BYTES_MAX && len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
        len--; /* at the beginning of a character */
    return (struct str){ text, len };
}

/* What a new record is written for. */
static void write_lasting(const struct csi_driver_state *s, struct buf *out)
{
    json_out_text(out, "state", csi_peer_state_names[s->state]);
    json_out_text(out, "socket", s->socket);
    json_out_array(out, "capabilities");
    for (size_t i = 0; i < CSI_ABILITY_COUNT; i++)
        if (csi_peer_can(s->peer, (enum csi_ability)i))
            json_out_text(out, NULL, csi_ability_names[i]);
    json_out_end_array(out);
    json_out_str(out, "lastError", shorten_error(s->last_error));
    if (s->not_served[0])
        json_out_text(out, "notServed", s->not_served);
}

void csi_state_write(const struct csi_driver_state *s, const struct clock *clock, const char *by,
                     struct buf *out)
{
    int64_t now_ns = clock_real_ns(clock);
    uint64_t mono_ns = clock_mono_ns(clock);

    json_out_object(out, NULL);
    write_lasting(s, out);
    json_out_time(out, "since", timestamp_of_ns(now_ns - (int64_t)(mono_ns - s->since_ns)));
    json_out_int(out, "callsInFlight", s->calls_in_flight);
    json_out_text(out, "by", by);
    json_out_time(out, "time", timestamp_of_ns(now_ns));
    json_out_end_object(out);
}

/* --- The record --- */

static void on_timer(void *ctx)
{
    const struct csi_state_record *record = ctx;

    record->on_due(record->ctx);
}

int csi_state_open(struct csi_state_record *record, struct error *err)
{
    int r;

    record->last = BUF_INIT(CSI_STATE_BYTES_MAX);
    record->text = BUF_INIT(CSI_STATE_BYTES_MAX);
    timer_init(&record->timer, record->part.loop, on_timer, record);
    r = component_api(&record->part, STATE_MANAGER, &record->api, err);
    if (r < 0)
        return r;
    record->drivers = informers_get(record->part.informers, KIND_CSI_DRIVER, err);
    return record->drivers ? 0 : -(int)err->code;
}

void csi_state_close(struct csi_state_record *record)
{
    timer_disarm(&record->timer);
    api_write_cancel(&record->write);
    buf_done(&record->last);
    buf_done(&record->text);
}

static void on_written(void *ctx, enum api_outcome outcome, const struct client_answer *a)
{
    struct csi_state_record *record = ctx;

    record->is_failed = !api_write_succeeded(outcome) && a->r != -ERR_NOT_FOUND;
    if (record->is_failed)
        log_warn("state of CSI driver not recorded", LOG_ERR(&a->error));
    if (record->is_failed)
        timer_arm_after(&record->timer, CSI_STATE_PERIOD_NS);
}

static enum api_decision decide_state(void *ctx, const struct object *now, struct buf *body,
                                      struct error *err)
{
    const struct csi_state_record *record = ctx;
    struct merge_patch p;

    merge_patch_begin_any(&p, body, now);
    merge_patch_annotation(&p, ANN_CSI_STATE, buf_cstr(&record->text));
    return api_decision_of(merge_patch_end(&p, err));
}

void csi_state_update(struct csi_state_record *record, const struct csi_driver_state *s)
{
    _cleanup_(buf_done_p) struct buf lasting = BUF_INIT(CSI_STATE_BYTES_MAX);
    const struct object *driver = informer_get(record->drivers, "", s->name);
    uint64_t now_ns = loop_now_ns(record->part.loop), due_ns = record->written_ns + CSI_STATE_PERIOD_NS;
    struct api_write_options w = { .api = record->api,
                                   .request = { .verb = CLIENT_PATCH },
                                   .object = driver,
                                   .decide = decide_state,
                                   .informer = record->drivers,
                                   .done = on_written,
                                   .ctx = record };

    json_out_object(&lasting, NULL);
    write_lasting(s, &lasting);
    if (!driver || lasting.failed ||
        (!record->is_failed && str_eq(buf_str(&lasting), buf_str(&record->last))))
        return;
    if (api_write_is_active(&record->write) || (record->written_ns && now_ns < due_ns)) {
        timer_arm_after(&record->timer, now_ns < due_ns ? due_ns - now_ns : CSI_STATE_PERIOD_NS);
        return;
    }
    buf_clear(&record->text);
    csi_state_write(s, record->part.clock, record->by, &record->text);
    buf_clear(&record->last);
    buf_add_str(&record->last, buf_str(&lasting));
    record->written_ns = now_ns;
    record->is_failed = false;
    api_write_start(&record->write, &w);
}
