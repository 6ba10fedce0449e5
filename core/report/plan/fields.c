/* Fields of a plan. */
#include "report/plan/fields.h"

#include <math.h>

#include "base/text.h"

static const char *currency(const void *whole, size_t i)
{
    return i ? NULL : whole ? ((const plan_heads *)whole)->currency : "";
}

static const char *kwh_currency(const void *whole, size_t i)
{
    return i ? NULL : whole ? ((const plan_heads *)whole)->kwh : "";
}

static const char *sample_word(const void *whole, size_t i)
{
    return i ? NULL : whole ? ((const plan_heads *)whole)->sample : "samples";
}

/* An epoch with its evaluation. */
static double epoch_at(const plan_row *r, time_case at)
{
    return (r->plan.run.seconds[at] - r->of.startup) / (double)r->of.epochs;
}

static const char *type_of_gradients(const plan_row *r)
{
    const lm_dtype t = r->plan.setup.sync.dtype;

    return t ? text_dtype_name((int32_t)t) : NULL;
}

TEXT_OF(policy, plan_row, sync_policy_print(&r->plan.setup.sync, room))
TEXT_OF(ledger_text, plan_row, ledger_print(&r->step.grounds.ledger, room))
TEXT_OF(basis, plan_row, ledger_word(&r->step.grounds.ledger, room))
TEXT_OF(beyond, plan_row, grounds_beyond(&r->step.grounds, room, 200))
TEXT_OF(shared, plan_row, layout_print(&r->plan.setup.layout, room))
TEXT_OF(pareto, plan_row, r->plan.dominated ? "no" : "yes")
TEXT_OF(grad_dtype, plan_row, type_of_gradients(r))
REAL_OF(founded, plan_row, ledger_share(&r->step.grounds.ledger, (certainty)i))
REAL_OF(compute, plan_row, r->step.forward + r->step.backward)
REAL_OF(epoch, plan_row, epoch_at(r, TIME_EXPECTED))
REAL_OF(epoch_low, plan_row, epoch_at(r, TIME_LOW))
REAL_OF(epoch_high, plan_row, epoch_at(r, TIME_HIGH))
COUNT_OF(bucket_bytes, plan_row,
         r->plan.setup.sync.rule == SYNC_DDP ? r->plan.setup.sync.limit_bytes : 0)

REAL_OF(goodput, plan_row, r->plan.ideal / r->plan.run.seconds[TIME_EXPECTED])
REAL_OF(samples_rate, plan_row, (double)r->plan.global_batch / r->plan.step.seconds[TIME_EXPECTED])
REAL_OF(hourly, plan_row, r->cost[TIME_EXPECTED] * 3600 / r->plan.run.seconds[TIME_EXPECTED])
REAL_OF(million, plan_row, r->cost[TIME_EXPECTED] * 1e6 / (double)r->of.dataset)

#define TRAINING     .when = PLAN_TRAINING
#define INFERENCE    .when = PLAN_INFERENCE
#define ROW(member)  FIELD_AT(plan_row, member)
#define PLAN(member) FIELD_AT(plan_row, plan.member)
#define YIELDS(n)    .yields = n
/* Hours in files, a duration for people. */
#define RUN(at)  PLAN(run.seconds[at]), .per = 3600, IN_UNIT("h", TABLE_DURATION), .for_people = 1
#define COST(at) ROW(cost[at]), .digits = -1, .worth = PLAN_PRICED

const field plan_fields[] = {
    { "machine", "machine", NULL, ROW(machine), .worth = PLAN_SIDES, .help = "machine file" },
    { "nodes", "nodes", NULL, PLAN(setup.nodes), .help = "what a network connects" },
    { "layout", "layout", NULL, .text = shared, .when = PLAN_INFERENCE | PLAN_SHARED,
      .help = "how devices share the network: tp4, four of them hold it" },
    { "batch", "batch", NULL, PLAN(setup.batch), .help = "samples of a device in a micro-step" },
    { "micro_steps", "micro-steps", NULL, PLAN(setup.sync.accumulation), .worth = PLAN_MICRO,
      .help = "of a step, whose gradients add up" },
    { "global_batch", "global batch", NULL, PLAN(global_batch), YIELDS(45),
      .help = "samples of a step on all devices" },
    { "sync", "sync", NULL, .text = policy, .worth = PLAN_SYNC, .once = "sync",
      .help = "how all-reduces overlap the backward pass" },
    { "step_ms", "step [ms]", NULL, PLAN(step.seconds[TIME_EXPECTED]), IN_MS, TRAINING, YIELDS(50),
      .help = "the whole step" },
    { "latency_ms", "latency [ms]", NULL, PLAN(step.seconds[TIME_EXPECTED]), IN_MS, INFERENCE,
      .help = "a forward pass in evaluation mode of a device's batch: the median, p50" },
    { "latency_p95_ms", "p95", NULL, ROW(step.p95), IN_MS, .when = PLAN_INFERENCE | PLAN_SPREAD,
      YIELDS(35), .help = "latency that 95 of 100 batches keep" },
    { "latency_p95_high_ms", NULL, NULL, ROW(step.p95_high), IN_MS,
      .when = PLAN_INFERENCE | PLAN_SPREAD, .help = "high end of its interval" },
    { "samples_per_s", "%s/s", NULL, .each = sample_word, .real = samples_rate, INFERENCE,
      IN_UNIT("1/s", TABLE_POSITIVE(1)), .help = "throughput of all devices" },
    { "hours", "time", NULL, RUN(TIME_EXPECTED), .help = "the whole run" },
    { "hours_low", "low", NULL, RUN(TIME_LOW), YIELDS(10), .help = "low end of its interval" },
    { "hours_high", "high", NULL, RUN(TIME_HIGH), YIELDS(10), .help = "high end of its interval" },
    { "goodput", "goodput [%]", NULL, .real = goodput, .when = PLAN_FAILURES, IN_PERCENT,
      YIELDS(25),
      .help = "share of the run in which it gets on: neither checkpoints nor failures" },
    { "checkpoint_every_s", "checkpoint every", NULL, PLAN(every), .when = PLAN_FAILURES,
      IN_UNIT("s", TABLE_DURATION), YIELDS(27), .help = "work between two checkpoints" },
    { "failures", "failures", NULL, PLAN(n_failures), .when = PLAN_FAILURES, .digits = 1,
      YIELDS(65), .help = "of any device in the run, expected" },
    { "device_hours", "device-hours", NULL, ROW(device_hours), IN_UNIT("h", -1), YIELDS(70),
      .help = "of all devices" },
    { "cost", "cost [%s]", NULL, .each = currency, COST(TIME_EXPECTED), .help = "of the run" },
    { "cost_low", "low", NULL, COST(TIME_LOW), YIELDS(30), .help = "low end of its interval" },
    { "cost_high", "high", NULL, COST(TIME_HIGH), YIELDS(30), .help = "high end of its interval" },
    { "hourly", "an hour", NULL, .real = hourly, .digits = -1, INFERENCE, .worth = PLAN_PRICED,
      YIELDS(15), .help = "of an hour" },
    { "million_cost", "10^6 %s", NULL, .each = sample_word, .real = million, .digits = -1,
      INFERENCE, .worth = PLAN_PRICED, YIELDS(40), .help = "of 10^6 samples of the run" },
    { "power_w", "power [W]", NULL, ROW(watts), IN_UNIT("W", 1), .when = PLAN_POWER, YIELDS(55),
      .help = "mean power of a device" },
    { "energy_kwh", "energy [kWh]", NULL, ROW(kwh), IN_UNIT("kWh", -1), .when = PLAN_POWER,
      YIELDS(52), .help = "energy of all devices in the run" },
    { "co2_kg", "CO2 [kg]", NULL, ROW(kg_co2), IN_UNIT("kg", -1), .when = PLAN_POWER | PLAN_CO2,
      YIELDS(22), .help = "CO2 of that electricity" },
    { "electricity", "electricity [%s]", NULL, .each = kwh_currency, ROW(electricity), .digits = -1,
      .when = PLAN_POWER | PLAN_ELECTRICITY, YIELDS(23), .help = "what it costs" },
    { "power_by", "power by", NULL, ROW(power_by), .when = PLAN_POWER, YIELDS(75),
      .once = "power by", .help = "where the power comes from: fitted, learned or assumed" },
    { "basis", "basis", NULL, .text = basis, .not_in = IN_FILES, YIELDS(20), .once = "basis",
      .help = "the least certain part of a step: measured, interpolated, extrapolated or assumed" },
    { "ledger_percent", NULL, NULL, .text = ledger_text, .unit = "%",
      .help = "shares of a step: measured, interpolated, extrapolated, assumed" },
    { "beyond", "beyond", NULL, .text = beyond, YIELDS(80), .once = "beyond the measurements",
      .help = "counts outside the measured range, and by which factor" },
    { "answer", "answer", NULL, ROW(answers), .help = "questions that the plan answers" },
    { "devices", NULL, NULL, PLAN(setup.devices), .help = "of each node" },
    { "steps_per_epoch", NULL, NULL, PLAN(steps), TRAINING, .help = "steps of an epoch" },
    { "passes", NULL, NULL, PLAN(steps), INFERENCE, .help = "forward passes of a device" },
    { "evaluations_per_epoch", NULL, NULL, PLAN(evaluations), TRAINING,
      .help = "forward passes of the evaluation behind an epoch" },
    { "currency", NULL, NULL, ROW(currency), .help = "of all costs" },
    { "price", NULL, NULL, ROW(price), .help = "where prices come from: list, spot or given" },
    { "pareto", NULL, NULL, .text = pareto, .help = "is no plan as fast and as cheap?" },
    { "keeps_to_limits", NULL, NULL, ROW(keeps_to_limits), .help = "to deadline and budget" },
    { "%s", NULL, NULL, .each = certainty_each, .real = founded, .digits = 3,
      .help = "share of a step with coefficients of this kind (see basis)" },
    { 0 },
};

#define SECONDS IN_UNIT("s", -1)

const field plan_answer_fields[] = {
    { .key = "machine" },
    { .key = "nodes" },
    { .key = "devices" },
    { .key = "layout", .when = PLAN_INFERENCE | PLAN_SHARED },
    { .key = "batch" },
    { .key = "micro_steps" },
    { .key = "sync" },
    { "bucket_bytes", .count = bucket_bytes, .help = "of a bucket; 0: no bucket of fixed size" },
    { "grad_dtype", .text = grad_dtype, .help = "type in which gradients travel" },
    { .key = "global_batch" },
    { .key = "steps_per_epoch", TRAINING },
    { .key = "evaluations_per_epoch", TRAINING },
    { .key = "passes", INFERENCE },
    { .key = "latency_p95_ms", .when = PLAN_INFERENCE | PLAN_SPREAD },
    { .key = "latency_p95_high_ms", .when = PLAN_INFERENCE | PLAN_SPREAD },
    { .key = "samples_per_s", INFERENCE },
    { "step_s", PLAN(step.seconds[TIME_EXPECTED]), SECONDS, .help = "the whole step" },
    { "step_low_s", PLAN(step.seconds[TIME_LOW]), SECONDS, .help = "low end of its interval" },
    { "step_high_s", PLAN(step.seconds[TIME_HIGH]), SECONDS, .help = "high end of its interval" },
    { "compute_s", .real = compute, SECONDS, TRAINING,
      .help = "forward and backward passes of a step" },
    { "exposed_s", ROW(step.exposed), SECONDS, TRAINING,
      .help = "all-reduces that are not hidden" },
    { "epoch_s", .real = epoch, SECONDS, TRAINING, .help = "an epoch with its evaluation" },
    { "epoch_low_s", .real = epoch_low, SECONDS, TRAINING, .help = "low end of its interval" },
    { "epoch_high_s", .real = epoch_high, SECONDS, TRAINING, .help = "high end of its interval" },
    { .key = "hours" },
    { .key = "hours_low" },
    { .key = "hours_high" },
    { .key = "goodput", .when = PLAN_FAILURES },
    { .key = "checkpoint_every_s", .when = PLAN_FAILURES },
    { .key = "failures", .when = PLAN_FAILURES },
    { .key = "cost" },
    { .key = "cost_low" },
    { .key = "cost_high" },
    { .key = "hourly", INFERENCE },
    { .key = "million_cost", INFERENCE },
    { 0 },
};

REAL_OF(rate, largest_row,
        (double)r->batch *(double)r->step.nodes *(double)r->step.devices *(double)r->accumulation /
            r->step.step)
TEXT_OF(largest_beyond, largest_row, grounds_beyond(&r->step.grounds, room, 200))

#define LARGEST(member) FIELD_AT(largest_row, member)

const field largest_fields[] = {
    { "machine", .title = "machine", LARGEST(machine), .help = "machine file" },
    { "device", .title = "device", LARGEST(device), .help = "by its datasheet" },
    { "nodes", .title = "nodes", LARGEST(step.nodes), .help = "what a network connects" },
    { "largest_batch", .title = "largest batch", LARGEST(batch), .help = "samples that fit" },
    { "memory_bytes", .title = "memory [GB]", LARGEST(memory), IN_GB, .help = "of the device" },
    { "needs_bytes", .title = "needs [GB]", LARGEST(needs), IN_GB, .help = "at that batch" },
    { "one_more_bytes", .title = "one more [GB]", LARGEST(one_more), IN_GB, YIELDS(40),
      .help = "at one sample more" },
    { "step_ms", .title = "step [ms]", LARGEST(step.step), IN_MS, TRAINING,
      .help = "the whole step" },
    { "latency_ms", .title = "latency [ms]", LARGEST(step.step), IN_MS, INFERENCE,
      .help = "a forward pass in evaluation mode: the median, p50" },
    { "step_low_ms", .title = "low", LARGEST(step.low[PHASE_STEP]), IN_MS, TRAINING, YIELDS(10),
      .help = "low end of its interval" },
    { "step_high_ms", .title = "high", LARGEST(step.high[PHASE_STEP]), IN_MS, TRAINING, YIELDS(10),
      .help = "high end of its interval" },
    { "latency_low_ms", .title = "low", LARGEST(step.low[PHASE_STEP]), IN_MS, INFERENCE, YIELDS(10),
      .help = "low end of its interval" },
    { "latency_high_ms", .title = "high", LARGEST(step.high[PHASE_STEP]), IN_MS, INFERENCE,
      YIELDS(10), .help         = "high end of its interval" },
    { "latency_p95_ms", .title = "p95", LARGEST(step.p95), IN_MS,
      .when = PLAN_INFERENCE | PLAN_SPREAD, YIELDS(15),
      .help = "latency that 95 of 100 batches keep" },
    { "samples_per_s", .title = "samples/s", .real = rate, IN_UNIT("1/s", TABLE_POSITIVE(1)),
      .help = "throughput of all devices" },
    { "beyond", .title = "beyond", .text = largest_beyond, YIELDS(80),
      .once = "beyond the measurements",
      .help = "counts outside the measured range, and by which factor" },
    { "largest_batch_in_nine_tenths", LARGEST(batch_in_less),
      .help = "samples that fit where a tenth of the memory is not free" },
    { 0 },
};
