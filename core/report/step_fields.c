/* Fields of a predicted step: one row more here is one column more in all outputs of scale. */
#include "report/step_fields.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "device/device.h"
#include "models/paleo_step.h"
#include "predict/predict.h"
#include "report/html.h"
#include "report/notes.h"
#include "transfer/of_device.h"

unsigned step_watts_facts(const step_watts *w)
{
    if (!power_known(w->model) && !w->learned)
        return 0;
    return isnan(w->grams_per_kwh) ? STEP_POWER : STEP_POWER | STEP_CO2;
}

step_row step_row_of(const scale_point *point, const step_watts *w)
{
    step_row r = { .point = *point, .power_by = "", .grams_per_kwh = w->grams_per_kwh };

    r.power    = step_power_of(w->model, &point->bottleneck, &point->step);
    r.power_by = step_power_by(w->model, &r.power);
    return r;
}

bool step_power_told(const step_watts *w, const scale_point *point)
{
    return !step_watts_facts(w) || !isnan(step_row_of(point, w).power.watts.value);
}

void step_watts_explain(const step_watts *w, const char *model, const char *machine)
{
    if (!w->learned)
        note(
            "%s: power was measured by what bounds a step, which %s does not say and no formula of %s is there for: calibrate whole networks, too",
            machine, model, DEFAULT_MODEL);
    else if (!power_known(w->model))
        note(
            "%s: %s does not predict the power of all layers, or of devices that wait for each other: for these give --idle-power",
            machine, model);
    else
        note("%s: %s does not predict the power of all layers", machine, model);
}

void step_json_phase(json *j, program_kind program, const generation_span *span)
{
    json_text(j, "phase", program_kind_name(span->tokens ? PROGRAM_DECODE : program));
    if (!span->tokens)
        return;
    json_count(j, "context", (uint64_t)span->context);
    json_count(j, "new_tokens", (uint64_t)span->tokens);
}

/* ---- functions for values that are no members ---- */

static double steps_of_epoch(const step_row *r)
{
    return r->point.steps_per_epoch ? (double)r->point.steps_per_epoch : NAN;
}

static double kwh(const step_row *r)
{
    return r->power.joules.value * steps_of_epoch(r) / JOULES_PER_KWH;
}

/* Number of nodes; NAN if there is none. */
static double nodes_or_none(int64_t nodes)
{
    return nodes > 0 ? (double)nodes : NAN;
}

static double update_of(const prediction *s)
{
    return s->grad - s->exposed - s->copy - s->straggler;
}

/* Does the model tell exposed all-reduces and update apart? */
static bool told(const step_row *r)
{
    const prediction *s = &r->point.step;

    return !isnan(s->forward) && !isnan(s->backward) && !isnan(s->exposed);
}

static double other(const prediction *s)
{
    return s->copy + s->straggler;
}

COUNT_OF(devices, step_row, r->point.step.nodes * r->point.step.devices)
REAL_OF(update, step_row, update_of(&r->point.step))
REAL_OF(million, step_row, 1e6 / r->point.samples_per_second)
REAL_OF(tokens_per_s, step_row, r->tokens ? r->point.samples_per_second *(double)r->tokens : NAN)
REAL_OF(mfu, step_row,
        r->at_peak > 0 ? r->at_peak * r->point.samples_per_second / (double)devices(r, i) : NAN)
REAL_OF(hfu, step_row, mfu(r, i) * (1 + r->again))
REAL_OF(steps, step_row, steps_of_epoch(r))
REAL_OF(epoch_kwh, step_row, kwh(r))
REAL_OF(epoch_co2, step_row, kwh(r) * r->grams_per_kwh)
REAL_OF(certainty_share, step_row, ledger_share(&r->point.step.grounds.ledger, (certainty)i))
REAL_OF(unsplit, step_row, 100 * r->point.step.unsplit)
REAL_OF(turning, step_row, nodes_or_none(r->turning.nodes))
REAL_OF(turning_low, step_row, nodes_or_none(r->turning.low))
REAL_OF(turning_high, step_row, nodes_or_none(r->turning.high))
REAL_OF(exposed_told, step_row, told(r) ? r->point.step.exposed : NAN)
REAL_OF(other_told, step_row, told(r) ? other(&r->point.step) : NAN)
REAL_OF(update_told, step_row, told(r) ? update_of(&r->point.step) : r->point.step.grad)
TEXT_OF(policy, step_row, sync_policy_print(&r->sync, room))
TEXT_OF(bound, step_row, bottleneck_name(r->point.bottleneck.most))
TEXT_OF(sync_bound_text, step_row, sync_bound_name(r->point.bottleneck.sync))
TEXT_OF(ledger_text, step_row, ledger_print(&r->point.step.grounds.ledger, room))
TEXT_OF(basis, step_row, ledger_word(&r->point.step.grounds.ledger, room))
TEXT_OF(beyond, step_row, grounds_beyond(&r->point.step.grounds, room, 200))
TEXT_OF(best, step_row, r->best ? "*" : "")
TEXT_OF(set, step_row, r->set ? r->set : "")
TEXT_OF(layout_words, step_row, r->layout ? r->layout : "")

/* ---- tables ---- */

const char *certainty_each(const void *whole, size_t i)
{
    (void)whole;
    return i < N_CERTAINTIES ? certainty_name((certainty)i) : NULL;
}

TEXT_OF(epoch_text, step_row, html_time(r->point.epoch_seconds, room, FIELD_TEXT_MAX))

#define ROW(member)   FIELD_AT(step_row, member)
#define POINT(member) FIELD_AT(step_row, point.member)
#define STEP(member)  FIELD_AT(step_row, point.step.member)
#define RATE(d)       IN_UNIT("1/s", TABLE_POSITIVE(d))
#define POWER(u, d)   IN_UNIT(u, d), .when = STEP_POWER
#define NOT_IN_CURVES .not_in = IN_JSON /* lists the curves, and prints the settings once */
#define YIELDS(n)     .yields = n
#define TRAINING      .when = STEP_TRAINING
#define INFERENCE     .when = STEP_INFERENCE
#define EPOCHS        .worth = STEP_EPOCHS
#define ONLY_IN_PAGE  .not_in = IN_FILES | IN_TABLE
#define ONLY_IN_TABLE .not_in = IN_FILES | IN_DATA | IN_PAGE

const field step_fields[] = {
    { "machine", "machine", "machine", ROW(machine), .when = STEP_COMPARED,
      .help = "the machine's label" },
    { "nodes", "nodes", "nodes", STEP(nodes), .help = "what a network connects" },
    { "devices_per_node", "x devices", NULL, STEP(devices), .worth = STEP_SEVERAL,
      .help = "devices of each node" },
    { "devices", NULL, NULL, .count = devices, .help = "devices of all nodes" },
    { "batch", "batch", "batch", STEP(batch), .help = "samples of a device in a micro-step" },
    { "accumulation", "micro-steps", NULL, POINT(accumulation), .worth = STEP_MICRO, TRAINING,
      .help = "micro-steps of a step, whose gradients add up" },
    { "global_batch", "global batch", "of all", POINT(global_batch), .worth = STEP_WHOLE,
      .help = "samples of a step on all devices" },
    { "idle_devices", NULL, NULL, POINT(idle), .help = "devices without a sample" },
    { "sync", "sync", NULL, .text = policy, .worth = STEP_SYNC, TRAINING, .once = "sync",
      .help = "how all-reduces overlap the backward pass" },
    { "forward_ms", NULL, NULL, STEP(forward), IN_MS, TRAINING,
      .help = "forward passes of a step" },
    { "backward_ms", NULL, NULL, STEP(backward), IN_MS, TRAINING,
      .help = "backward passes of a step" },
    { "sync_ms", NULL, NULL, STEP(sync), IN_MS, TRAINING, .help = "all-reduces, hidden or not" },
    { "messages", NULL, NULL, STEP(messages), TRAINING, .help = "messages of these all-reduces" },
    { "copy_ms", NULL, NULL, STEP(copy), IN_MS, TRAINING,
      .help = "copies into buckets and out of them" },
    { "straggler_ms", NULL, NULL, STEP(straggler), IN_MS, TRAINING,
      .help = "what the slowest rank takes longer than one" },
    { "update_ms", NULL, NULL, .real = update, IN_MS, TRAINING, .help = "update of the weights" },
    { "grad_ms", NULL, NULL, STEP(grad), IN_MS, TRAINING,
      .help = "exposed all-reduces, copies, stragglers and update" },
    { "step_ms", "step [ms]", "step [ms]", STEP(step), IN_MS, TRAINING, .help = "the whole step" },
    { "step_low_ms", "low", NULL, STEP(low[PHASE_STEP]), IN_MS, TRAINING, YIELDS(10),
      .help = "low end of the step's interval" },
    { "step_high_ms", "high", NULL, STEP(high[PHASE_STEP]), IN_MS, TRAINING, YIELDS(10),
      .help = "high end of the step's interval" },
    { "latency_ms", "latency [ms]", "latency [ms]", STEP(step), IN_MS, INFERENCE,
      .help = "a forward pass in evaluation mode of a device's batch: the median, p50" },
    { "latency_low_ms", "low", NULL, STEP(low[PHASE_STEP]), IN_MS, INFERENCE, YIELDS(10),
      .help = "low end of the latency's interval" },
    { "latency_high_ms", "high", NULL, STEP(high[PHASE_STEP]), IN_MS, INFERENCE, YIELDS(10),
      .help = "high end of the latency's interval" },
    { "latency_p95_ms", "p95", NULL, STEP(p95), IN_MS, .when = STEP_INFERENCE | STEP_SPREAD,
      YIELDS(15), .help = "latency that 95 of 100 batches keep; latency_ms is the median" },
    { "latency_p95_low_ms", NULL, NULL, STEP(p95_low), IN_MS, .when = STEP_INFERENCE | STEP_SPREAD,
      .help = "low end of its interval" },
    { "latency_p95_high_ms", NULL, NULL, STEP(p95_high), IN_MS,
      .when = STEP_INFERENCE | STEP_SPREAD, .help = "high end of its interval" },
    { "exposed_ms", "exposed", NULL, STEP(exposed), IN_MS, TRAINING, YIELDS(50),
      .help = "all-reduces that the backward pass does not hide" },
    { "samples_per_s", "samples/s", "samples/s", POINT(samples_per_second), RATE(1),
      .help = "throughput of all devices" },
    { "samples_low_per_s", NULL, "low", POINT(samples.low), RATE(1),
      .help = "throughput at the high end of the step's interval" },
    { "samples_high_per_s", NULL, "high", POINT(samples.high), RATE(1),
      .help = "throughput at the low end of the step's interval" },
    { "tokens_per_s", "tokens/s", "tokens/s", .real = tokens_per_s, RATE(0), .worth = STEP_TOKENS,
      YIELDS(25), .help = "throughput in tokens" },
    { "mfu_percent", "MFU [%]", "MFU [%]", .real = mfu, IN_PERCENT, .when = STEP_PEAK,
      .worth = STEP_TOKENS, YIELDS(29),
      .help  = "products of the network by the devices' peaks: model FLOP utilization" },
    { "hfu_percent", "HFU [%]", NULL, .real = hfu, IN_PERCENT, .when = STEP_PEAK | STEP_AGAIN,
      YIELDS(28),
      .help = "the same with what recomputation runs again: hardware FLOP utilization" },
    { "speedup", "speed-up", "speed-up", POINT(speedup), WITH_DIGITS(2), YIELDS(55),
      .help = "throughput against one node" },
    { "efficiency", "efficiency", NULL, POINT(efficiency), WITH_DIGITS(3), YIELDS(30),
      .help = "speed-up over nodes" },
    { "efficiency_percent", NULL, "efficiency [%]", POINT(efficiency), .unit = "%", .times = 100,
      WITH_DIGITS(1), ONLY_IN_PAGE, .help = "speed-up over nodes" },
    { "efficiency_low", NULL, NULL, POINT(efficiencies.low), WITH_DIGITS(3),
      .help = "efficiency at the high end of the all-reduces' interval" },
    { "efficiency_high", NULL, NULL, POINT(efficiencies.high), WITH_DIGITS(3),
      .help = "efficiency at the low end of the all-reduces' interval" },
    { "epoch_s", "epoch", NULL, POINT(epoch_seconds), IN_UNIT("s", TABLE_DURATION), TRAINING,
      EPOCHS, YIELDS(20), .help = "an epoch" },
    { "dataset_s", "data set", NULL, POINT(epoch_seconds), IN_UNIT("s", TABLE_DURATION), INFERENCE,
      EPOCHS, YIELDS(20), .help = "all samples of the data set, batch after batch" },
    { "million_s", "10^6 samples", "10^6 samples", .real = million, INFERENCE,
      IN_UNIT("s", TABLE_DURATION), YIELDS(70), .help = "10^6 samples at that throughput" },
    { "epoch", NULL, "an epoch takes", .text = epoch_text, ONLY_IN_PAGE, TRAINING, EPOCHS,
      .help = "an epoch" },
    { "steps_per_epoch", NULL, NULL, .real = steps, TRAINING, .help = "steps of an epoch" },
    { "power_w", "power [W]", NULL, ROW(power.watts.value), POWER("W", 1), YIELDS(35),
      .help = "mean power of a device" },
    { "energy_j", "energy [J]", NULL, ROW(power.joules.value), POWER("J", -1), YIELDS(40),
      .help = "energy of all devices in a step, or in a pass of inference" },
    { "epoch_kwh", "epoch [kWh]", NULL, .real = epoch_kwh, IN_UNIT("kWh", -1),
      .when = STEP_POWER | STEP_TRAINING, EPOCHS, YIELDS(60),
      .help = "energy of all devices in an epoch" },
    { "epoch_co2_g", "epoch [gCO2]", NULL, .real = epoch_co2, IN_UNIT("g", -1),
      .when = STEP_POWER | STEP_CO2 | STEP_TRAINING, EPOCHS, YIELDS(22),
      .help = "CO2 of that electricity" },
    { "dataset_kwh", "data set [kWh]", NULL, .real = epoch_kwh, IN_UNIT("kWh", -1),
      .when = STEP_POWER | STEP_INFERENCE, EPOCHS, YIELDS(60),
      .help = "energy of all devices for the data set" },
    { "dataset_co2_g", "data set [gCO2]", NULL, .real = epoch_co2, IN_UNIT("g", -1),
      .when = STEP_POWER | STEP_CO2 | STEP_INFERENCE, EPOCHS, YIELDS(22),
      .help = "CO2 of that electricity" },
    { "power_by", "power by", NULL, ROW(power_by), .when = STEP_POWER, .once = "power by",
      YIELDS(75), .help = "where the power comes from: fitted, learned or assumed" },
    { "edp_js", NULL, NULL, ROW(power.edp), POWER("J s", -1),
      .help = "energy times time of a step" },
    { "power_low_w", NULL, NULL, ROW(power.watts.low), POWER("W", 1),
      .help = "low end of the power's interval" },
    { "power_high_w", NULL, NULL, ROW(power.watts.high), POWER("W", 1),
      .help = "high end of the power's interval" },
    { "energy_low_j", NULL, NULL, ROW(power.joules.low), POWER("J", -1),
      .help = "low end of the energy's interval" },
    { "energy_high_j", NULL, NULL, ROW(power.joules.high), POWER("J", -1),
      .help = "high end of the energy's interval" },
    { "bottleneck", "bottleneck", "most of a step", .text = bound, YIELDS(45), .once = "bottleneck",
      .help = "largest share of a step: arithmetic, traffic, launches or all-reduces" },
    { "bottleneck_share", NULL, NULL, POINT(bottleneck.share), WITH_DIGITS(3),
      .help = "that share" },
    { "sync_bound", NULL, NULL, .text = sync_bound_text, TRAINING,
      .help = "what all-reduces wait for: latency or bandwidth" },
    { "basis", "basis", NULL, .text = basis, ONLY_IN_TABLE, YIELDS(12), .once = "basis",
      .help = "the least certain part of a step: measured, interpolated, extrapolated or assumed" },
    { "ledger_percent", NULL, NULL, .text = ledger_text, .unit = "%",
      .help = "shares of a step: measured, interpolated, extrapolated, assumed" },
    { "%s", NULL, NULL, .each = certainty_each, .real = certainty_share, WITH_DIGITS(3),
      .help = "share of a step with coefficients of this kind (see basis)" },
    { "beyond", "beyond", "beyond the calibration", .text = beyond,
      .once = "beyond the measurements", YIELDS(80),
      .help = "counts outside the measured range, and by which factor" },
    { "turning_point_nodes", NULL, NULL, .real = turning, TRAINING, NOT_IN_CURVES,
      .help = "smallest number of nodes whose doubling hardly helps" },
    { "turning_point_low", NULL, NULL, .real = turning_low, TRAINING, NOT_IN_CURVES,
      .help = "the same at the high end of the all-reduces' interval" },
    { "turning_point_high", NULL, NULL, .real = turning_high, TRAINING, NOT_IN_CURVES,
      .help = "the same at the low end of the all-reduces' interval" },
    { "layout", "layout", NULL, .text = layout_words, .when = STEP_LAYOUT, .once = "layout",
      .help = "how ranks share the work" },
    { "unsplit_percent", "unsplit [%]", NULL, .real = unsplit, IN_UNIT("%", 2),
      .when = STEP_UNSPLIT, .once = "unsplit [%]",
      .help =
          "share of the FLOPs in layers that tp does not split: each rank computes them in full" },
    { "set", "set", NULL, .text = set, .when = STEP_SET, NOT_IN_CURVES, .once = "set",
      .help = "arguments of the network" },
    { 0 },
};

/* Bounds of the parts. */
#define PART(name, of)                                                                             \
    { name "_low_ms", .kind = FIELD_REAL, .at   = offsetof(step_row, point.step.low[of]),          \
      IN_MS,          TRAINING,           .help = "low end of that part's interval" },             \
    {                                                                                              \
        name "_high_ms", .kind = FIELD_REAL, .at = offsetof(step_row, point.step.high[of]), IN_MS, \
                         TRAINING, .help = "high end of that part's interval"                      \
    }

const field step_predicted[] = {
    { "machine", .title = "machine", .when = STEP_COMPARED },
    { "nodes", .title = "nodes" },
    { "devices_per_node", .title = "x devices", .when = STEP_SEVERAL },
    { "batch", .title = "batch" },
    { "sync", .title = "sync", .when = STEP_SYNC | STEP_TRAINING },
    { "forward_ms", .title = "forward [ms]", TRAINING, YIELDS(30), .once = "" },
    { "backward_ms", .title = "backward [ms]", TRAINING, YIELDS(30), .once = "" },
    { "sync_ms", .title = "sync [ms]", TRAINING, YIELDS(58) },
    { "exposed_ms", .title = "exposed [ms]", .when = STEP_SYNC | STEP_TRAINING },
    { "grad_ms", .title = "sync+update [ms]", TRAINING, YIELDS(48), .once = "" },
    { "step_ms", .title = "step [ms]", TRAINING },
    { "step_low_ms", .title = "low", TRAINING },
    { "step_high_ms", .title = "high", TRAINING },
    { "latency_ms", .title = "latency [ms]", INFERENCE },
    { "latency_low_ms", .title = "low", INFERENCE },
    { "latency_high_ms", .title = "high", INFERENCE },
    { "latency_p95_ms", .title = "p95", .when = STEP_INFERENCE | STEP_SPREAD },
    { .key = "latency_p95_low_ms", .when = STEP_INFERENCE | STEP_SPREAD },
    { .key = "latency_p95_high_ms", .when = STEP_INFERENCE | STEP_SPREAD },
    { "samples_per_s", .title = "samples/s" },
    { "tokens_per_s", .title = "tokens/s", .worth = STEP_TOKENS },
    { "mfu_percent", .title = "MFU [%]", .when = STEP_PEAK, .worth = STEP_TOKENS },
    { "hfu_percent", .title = "HFU [%]", .when = STEP_PEAK | STEP_AGAIN },
    { "epoch_s", .title = "epoch", TRAINING, EPOCHS },
    { "dataset_s", .title = "data set", INFERENCE, EPOCHS },
    { "million_s", .title = "10^6 samples", INFERENCE },
    { "power_w", .title = "power [W]", .when = STEP_POWER },
    { "energy_j", .title = "energy [J]", .when = STEP_POWER },
    { "epoch_kwh", .title = "epoch [kWh]", .when = STEP_POWER | STEP_TRAINING, EPOCHS },
    { "epoch_co2_g", .title = "epoch [gCO2]", .when = STEP_POWER | STEP_CO2 | STEP_TRAINING,
      EPOCHS },
    { "dataset_kwh", .title = "data set [kWh]", .when = STEP_POWER | STEP_INFERENCE, EPOCHS },
    { "dataset_co2_g", .title = "data set [gCO2]", .when = STEP_POWER | STEP_CO2 | STEP_INFERENCE,
      EPOCHS },
    { "power_by", .title = "power by", .when = STEP_POWER },
    { "basis", .title = "basis", ONLY_IN_TABLE },
    { .key = "ledger_percent" },
    { "beyond", .title = "beyond" },
    { "best", .title = "best", .text = best, .when = STEP_BEST,
      .help = "* marks the shortest step" },
    { "layout", .title = "layout", .when = STEP_LAYOUT },
    { "unsplit_percent", .title = "unsplit [%]", .when = STEP_UNSPLIT },
    { "set", .title = "set", .when = STEP_SET },
    { .key = "%s" },
    { "edp_js", .when = STEP_POWER },
    { "power_low_w", .when = STEP_POWER },
    { "power_high_w", .when = STEP_POWER },
    { "energy_low_j", .when = STEP_POWER },
    { "energy_high_j", .when = STEP_POWER },
    PART("forward", PHASE_FORWARD),
    PART("backward", PHASE_BACKWARD),
    PART("sync", PHASE_SYNC),
    PART("grad", PHASE_GRAD),
    { 0 },
};

COUNT_OF(context, step_row, r->generation->context)
COUNT_OF(new_tokens, step_row, r->generation->tokens)
REAL_OF(first, step_row, r->generation->first)
REAL_OF(last, step_row, r->generation->last)
REAL_OF(all_tokens, step_row, r->generation->seconds.value)
REAL_OF(all_tokens_low, step_row, r->generation->seconds.low)
REAL_OF(all_tokens_high, step_row, r->generation->seconds.high)
REAL_OF(generated_per_s, step_row, r->generation->per_second)

const field step_generated[] = {
    { "machine", .title = "machine", .when = STEP_COMPARED },
    { "nodes", .title = "nodes" },
    { "devices_per_node", .title = "x devices", .when = STEP_SEVERAL },
    { "batch", .title = "batch" },
    { "context", .title = "context", .count = context,
      .help = "tokens in the cache before the first new one" },
    { "new_tokens", .title = "new", .count = new_tokens, .help = "tokens that are generated" },
    { "token_ms", .title = "token [ms]", STEP(step), IN_MS,
      .help = "a step of decoding, mean of all" },
    { "token_low_ms", .title = "low", STEP(low[PHASE_STEP]), IN_MS, YIELDS(10),
      .help = "low end of its interval" },
    { "token_high_ms", .title = "high", STEP(high[PHASE_STEP]), IN_MS, YIELDS(10),
      .help = "high end of its interval" },
    { "first_ms", .title = "first [ms]", .real = first, IN_MS, YIELDS(50),
      .help = "the step of the first token" },
    { "last_ms", .title = "last [ms]", .real = last, IN_MS, YIELDS(50),
      .help = "the step of the last token" },
    { "tokens_per_s", .title = "tokens/s", .real = generated_per_s, RATE(1),
      .help = "new tokens of all sequences on all devices" },
    { "all_s", .title = "all", .real = all_tokens, IN_UNIT("s", TABLE_DURATION),
      .help = "all new tokens" },
    { "all_low_s", .real = all_tokens_low, IN_UNIT("s", -1), .help = "low end of its interval" },
    { "all_high_s", .real = all_tokens_high, IN_UNIT("s", -1), .help = "high end of its interval" },
    { "power_w", .title = "power [W]", .when = STEP_POWER },
    { "energy_j", .title = "energy [J]", .when = STEP_POWER },
    { "power_by", .title = "power by", .when = STEP_POWER },
    { "basis", .title = "basis", ONLY_IN_TABLE },
    { .key = "ledger_percent" },
    { "beyond", .title = "beyond" },
    { "set", .title = "set", .when = STEP_SET },
    { .key = "%s" },
    { 0 },
};

const field step_parts_told[] = {
    { "machine", .page = "machine" },
    { "nodes", .page = "nodes" },
    { "forward_ms", .page = "forward [ms]" },
    { "backward_ms", .page = "backward [ms]" },
    { "exposed_ms", .page = "exposed sync [ms]", .real = exposed_told, IN_MS },
    { "other_ms", .page = "copies, stragglers [ms]", .real = other_told, IN_MS },
    { "update_ms", .page = "update [ms]", .real = update_told, IN_MS },
    { "step_ms", .page = "step [ms]" },
    { "step_low_ms", .page = "low" },
    { "step_high_ms", .page = "high" },
    { "sync_ms", .page = "all-reduces [ms]" },
    { 0 },
};

REAL_OF(samples_per_j, energy_row, (double)r->step.point.global_batch / r->step.power.joules.value)

/* These stay longer than in other tables. */
static const char *kwh_currency(const void *whole, size_t i)
{
    return i ? NULL : whole ? whole : "";
}

static double energy_steps(const energy_row *r)
{
    return steps_of_epoch(&r->step);
}

REAL_OF(token_j, energy_row,
        r->step.tokens ? r->step.power.joules.value / (double)r->step.point.global_batch /
                             (double)r->step.tokens
                       : NAN)
REAL_OF(epoch_price, energy_row,
        r->step.power.joules.value *energy_steps(r) / JOULES_PER_KWH * r->kwh_price)

#define LAID(member) FIELD_AT(energy_row, energy.member), IN_UNIT("J", -1), .when = STEP_LAYOUT

const field energy_fields[] = {
    { "held_mhz", .title = "held at [MHz]", FIELD_AT(energy_row, held), .unit = "MHz",
      .when = STEP_CLOCKS, .help = "clock that is asked for" },
    { "limit_w", .title = "limit [W]", FIELD_AT(energy_row, held), .unit = "W", .when = STEP_LIMITS,
      .help = "power limit that is asked for" },
    { "clock_mhz", .title = "clock [MHz]", FIELD_AT(energy_row, mhz), .unit = "MHz",
      .help = "clock that is kept" },
    { "step_ms", .title = "step [ms]", TRAINING },
    { "latency_ms", .title = "latency [ms]", INFERENCE },
    { "power_w", .title = "power [W]", YIELDS(1) },
    { "energy_j", .title = "energy [J]", YIELDS(1) },
    { "computing_j", .title = "computing [J]", LAID(computing), YIELDS(36),
      .help = "part of the energy while devices compute" },
    { "messages_j", .title = "messages [J]", LAID(messages), YIELDS(37),
      .help = "part of the energy while passes wait for messages" },
    { "bubbles_j", .title = "bubbles [J]", LAID(bubbles), YIELDS(38),
      .help = "part of the energy while stages wait for each other" },
    { "token_j", .title = "a token [J]", .real = token_j, IN_UNIT("J", -1),
      .when = STEP_LAYOUT | STEP_TOKENS, YIELDS(39), .help = "energy of a step over its tokens" },
    { "edp_js", .title = "EDP [Js]", YIELDS(45) },
    { "samples_per_j", .title = "samples/J", .real = samples_per_j, IN_UNIT("1/J", -1), YIELDS(42),
      .help = "samples of a step over its energy" },
    { "epoch_s", .title = "epoch", TRAINING, EPOCHS },
    { "epoch_kwh", .title = "epoch [kWh]", TRAINING, EPOCHS },
    { "epoch_co2_g", .title = "epoch [gCO2]", .when = STEP_CO2 | STEP_TRAINING, EPOCHS },
    { "epoch_cost", .title = "epoch [%s]", .each = kwh_currency, .real = epoch_price, .digits = -1,
      .when = STEP_ELECTRICITY | STEP_TRAINING, EPOCHS, .help = "price of an epoch's electricity" },
    { "dataset_s", .title = "data set", INFERENCE, EPOCHS },
    { "dataset_kwh", .title = "data set [kWh]", INFERENCE, EPOCHS },
    { "dataset_co2_g", .title = "data set [gCO2]", .when = STEP_CO2 | STEP_INFERENCE, EPOCHS },
    { "power_by", .title = "power by" },
    { "beyond", .title = "beyond" },
    { "best", .title = "best", FIELD_AT(energy_row, best),
      .help = "what the clock, or the limit, is best for" },
    { "layout", .title = "layout", .when = STEP_LAYOUT },
    { "step_low_ms", .when = STEP_LIMITS },
    { "step_high_ms", .when = STEP_LIMITS },
    { "power_low_w", .when = STEP_LIMITS },
    { "power_high_w", .when = STEP_LIMITS },
    { 0 },
};
