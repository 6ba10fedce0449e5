/*
 * Layers without a model of their algorithm: pooling, norms, elementwise functions, recurrent
 * layers, attention, embeddings. Each kind of kernel has prices in each pass: per launch, byte and
 * FLOP, per row of statistics (norms, softmax), per step along such a row, and per call for the
 * host. Many kinds are rare in measurements, so a ridge holds their prices near a common one.
 */
#include <math.h>
#include <stdio.h>

#include "counts/layer_class.h"
#include "counts/work.h"

enum {
    CALL,
    TRAIN_CALL,
    PARAMETERS,
    ALL_CALLS,
    ALL_LAUNCHES,
    ALL_BYTES,
    ALL_ROWS,
    ALL_STEPS,
    ALL_FLOPS,
    CALLS,                              /* by kind, forward */
    TRAIN_CALLS = CALLS + N_WORK_KINDS, /* by kind, backward */
    KERNELS     = TRAIN_CALLS + N_WORK_KINDS
};

/* Counts of a kernel, in the order of their families. */
enum { LAUNCHES, BYTES, ROWS, STEPS, FLOPS, N_COUNTS };

/* Norms and scales have a constant ratio of FLOPs to bytes, so rows cannot separate two prices: the
 * price per byte covers both. */
enum { FIRST_ALIKE = WORK_NORM, N_ALIKE = 3 };
_Static_assert(WORK_BATCH_NORM == WORK_NORM + 1 && WORK_SCALE == WORK_NORM + 2, "in a row");

static const struct {
    const char *name, *unit;
    resource    resource;
    bool        floor;
} fixed[CALLS] = {
    [CALL]         = { "call", "call", RESOURCE_HOST, true },
    [TRAIN_CALL]   = { "backward.call", "call", RESOURCE_HOST, true },
    [PARAMETERS]   = { "backward.call.parameters", "tensor", RESOURCE_HOST, true },
    [ALL_CALLS]    = { "all.calls", "launch", RESOURCE_HOST, true },
    [ALL_LAUNCHES] = { "all.launches", "launch", RESOURCE_HOST, false },
    [ALL_BYTES]    = { "all.bytes", "byte", RESOURCE_BANDWIDTH, false },
    [ALL_FLOPS]    = { "all.flops", "FLOP", RESOURCE_FLOPS, false },
    [ALL_ROWS]     = { "all.rows", "row", RESOURCE_DEPTH, false },
    [ALL_STEPS]    = { "all.steps", "step", RESOURCE_DEPTH, false },
};

static const char *const passes[LM_N_PASSES] = { "forward", "grad_input", "grad_weight" };
static const char *const counts[N_COUNTS]    = { "launches", "bytes", "rows", "steps", "flops" };

/* Number of earlier kinds without a price per FLOP. */
static size_t alike_before(work_kind kind)
{
    const size_t k = (size_t)kind;

    return k <= FIRST_ALIKE ? 0 : k - FIRST_ALIKE < N_ALIKE ? k - FIRST_ALIKE : N_ALIKE;
}

static size_t counts_of(work_kind kind)
{
    return alike_before((work_kind)(kind + 1)) > alike_before(kind) ? FLOPS : N_COUNTS;
}

/* First column of a kind in a pass. */
static size_t column_at(work_kind kind, lm_pass pass)
{
    return KERNELS + ((size_t)kind * N_COUNTS - alike_before(kind)) * LM_N_PASSES +
           (size_t)pass * counts_of(kind);
}

/* "all.bytes", "call.norm", "forward.norm.bytes" */
static bool describe(size_t at, column_spec *out)
{
    work_kind kind   = 0;
    size_t    family = at, j = at;

    if (j < CALLS) {
        snprintf(out->name, sizeof out->name, "%s", fixed[j].name);
    } else if (j < KERNELS) {
        family = ALL_CALLS;
        snprintf(out->name, sizeof out->name, "%s.%s",
                 fixed[j < TRAIN_CALLS ? CALL : TRAIN_CALL].name,
                 work_kind_name((work_kind)((j - CALLS) % N_WORK_KINDS)));
    } else {
        while (kind < N_WORK_KINDS && j >= column_at((work_kind)(kind + 1), 0))
            kind++;
        if (kind == N_WORK_KINDS)
            return false;
        j -= column_at(kind, 0);
        family = ALL_LAUNCHES + j % counts_of(kind);
        snprintf(out->name, sizeof out->name, "%s.%s.%s", passes[j / counts_of(kind)],
                 work_kind_name(kind), counts[j % counts_of(kind)]);
    }
    out->unit     = fixed[family].unit;
    out->resource = fixed[family].resource;
    out->floor    = fixed[family].floor;
    out->family   = at < CALLS ? 0 : family;
    return true;
}

static bool has(const layer_shape *s)
{
    return s->kind == SHAPE_WORK;
}

static void add_call(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    (void)c;
    rows_item(r, CALL, 1);
    for (work_kind k = 0; k < N_WORK_KINDS && run->forward; k++)
        rows_item(r, CALLS + k,
                  run->evaluation ? s->work->inference[k].launches
                                  : s->work->of[k][LM_FORWARD].launches);
    if (!run->backward)
        return;
    rows_item(r, TRAIN_CALL, 1);
    rows_item(r, PARAMETERS, s->tensors);
    for (work_kind k = 0; k < N_WORK_KINDS; k++)
        rows_item(r, TRAIN_CALLS + k,
                  (run->input_gradient ? s->work->of[k][LM_GRAD_INPUT].launches : 0) +
                      s->work->of[k][LM_GRAD_WEIGHT].launches);
}

/* Maximum number of resident thread blocks on a multiprocessor (CUDA C++ Programming Guide,
 * "Technical Specifications per Compute Capability"). */
#define ROWS_AT_ONCE 32

/* Number of sequential additions: each multiprocessor sums one row at a time. 0 for more rows than
 * are resident at once: these overlap, and traffic bounds them. */
static double steps_of(const kernel_work *w, double multiprocessors)
{
    if (!(w->rows > 0) || !(multiprocessors > 0) || w->rows > ROWS_AT_ONCE * multiprocessors)
        return 0;
    return w->elements / w->rows * ceil(w->rows / multiprocessors);
}

static void add_kernels(rows *r, const kernel_work *w, work_kind k, lm_pass p,
                        double multiprocessors)
{
    const size_t at = column_at(k, p);

    if (!(w->launches > 0))
        return; /* most layers have few kinds */
    rows_item(r, at + LAUNCHES, w->launches);
    rows_item(r, at + BYTES, w->bytes);
    rows_item(r, at + ROWS, w->rows);
    rows_item(r, at + STEPS, steps_of(w, multiprocessors));
    if (counts_of(k) > FLOPS)
        rows_item(r, at + FLOPS, w->flops);
}

static void add_pass(rows *r, const layer_shape *s, lm_pass p, const layer_run *run)
{
    for (work_kind k = 0; k < N_WORK_KINDS; k++)
        add_kernels(r, run->evaluation ? &s->work->inference[k] : &s->work->of[k][p], k, p,
                    run->multiprocessors);
}

static void add_layer(const columns *c, rows *r, const layer_run *run, const layer_shape *s)
{
    layer_update_item(c, r, run, s);
    if (run->forward)
        add_pass(r, s, LM_FORWARD, run);
    if (run->backward && run->input_gradient)
        add_pass(r, s, LM_GRAD_INPUT, run);
    if (run->backward)
        add_pass(r, s, LM_GRAD_WEIGHT, run);
}

const layer_class layer_class_other = { .name      = "other",
                                        .options   = { .p           = 1,
                                                       .huber       = 0.2,
                                                       .power       = 1,
                                                       .may_overlap = true,
                                                       .ridge       = 0.01,
                                                       .orphans     = true,
                                                       .damping     = 0.01,
                                                       .rounds      = 8,
                                                       .least       = 1,
                                                       .sample      = 4000,
                                                       .seed        = 1 },
                                        .fewest    = 20,
                                        .has       = has,
                                        .describe  = describe,
                                        .add_call  = add_call,
                                        .add_layer = add_layer };
