/* Calls a layer type for one case, and checks the answer. */
#include "layers/check_rules.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "layers/host.h"
#include "layers/kernel_text.h"

const char *check_step_name(check_step step)
{
    static const char *const names[N_STEPS] = {
        "infer", "weights", "cost", "lower(forward)", "lower(grad_input)", "lower(grad_weight)"
    };

    return names[step];
}

bool check_violated(check_report *report, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(report->violation, sizeof report->violation, fmt, args);
    va_end(args);
    return false;
}

/* ---- asking ---- */

/* A case as callbacks get it. */
typedef struct asking {
    host_layer            h;
    lm_layer              layer_before;
    unsigned char         fill; /* content of traps */
    lm_value              param[CASE_PARAMS + 1], param_before[CASE_PARAMS + 1];
    lm_tensor             input[CASE_INPUTS + 1], input_before[CASE_INPUTS + 1];
    uint8_t               wants[CASE_INPUTS + 1];
    lm_error              err;
    host_sink             sink;
    const registry_entry *entry;
    const check_case     *c;
    check_report         *report;
} asking;

/* Prepares a case. Traps follow the last input, the last parameter and its last value; nothing may
 * read them. */
static void prepare(asking *a, const check_manner *how)
{
    const lm_layer_type *type = &a->entry->type;

    memset(a->param, how->fill, sizeof a->param);
    memset(a->input, how->fill, sizeof a->input);
    for (uint32_t i = 0; i < type->n_params; i++) {
        const lm_value *from = &a->c->value[i];
        lm_value       *to   = &a->param[i];

        to->kind  = from->kind;
        to->count = from->count;
        if (from->kind == LM_TEXT)
            to->u.text = from->u.text;
        else /* integers and reals have the same size */
            memcpy(to->u.i, from->u.i, from->count * sizeof to->u.i[0]);
    }
    memcpy(a->input, a->c->input, a->c->n_inputs * sizeof a->input[0]);
    memset(a->wants, how->fill, sizeof a->wants);
    memcpy(a->wants, a->c->wants, a->c->n_inputs);
    memcpy(a->param_before, a->param, sizeof a->param);
    memcpy(a->input_before, a->input, sizeof a->input);
    a->h = (host_layer){
        .layer = { .size      = sizeof(lm_layer),
                   .host      = &host_services,
                   .type      = a->entry->own,
                   .name      = how->fill ? "another" : "layer",
                   .param     = a->param,
                   .input     = a->input,
                   .n_params  = type->n_params,
                   .n_inputs  = a->c->n_inputs,
                   .n_outputs = type->n_outputs,
                   .dtype     = a->c->dtype,

                   .wants_gradient = a->c->chooses ? a->wants : NULL },
        .err   = &a->err,
    };
    a->layer_before = a->h.layer;
    a->fill         = how->fill;
}

/* FNV-1a. */
static uint64_t digest(uint64_t h, const void *bytes, size_t n)
{
    for (const unsigned char *b = bytes; n > 0; n--)
        h = (h ^ *b++) * UINT64_C(1099511628211);
    return h;
}

#define DIGEST_START UINT64_C(14695981039346656037)

static bool ran_out(asking *a)
{
    a->report->status = LM_E_NOMEM;
    return false;
}

static bool all_bytes(const void *memory, size_t n, unsigned char value)
{
    const unsigned char *byte = memory;

    while (n > 0 && byte[n - 1] == value)
        n--;
    return n == 0;
}

/* Checks that a callback changed only its results. */
static bool kept_within(asking *a, check_step step, const check_answer *out)
{
    const uint32_t n    = a->entry->type.n_outputs;
    const char    *name = check_step_name(step);

    if (memcmp(&a->h.layer, &a->layer_before, sizeof a->h.layer))
        return check_violated(a->report, "%s: writes to the layer it is asked about", name);
    if (!all_bytes(&out->output[n], (LM_MAX_RANK + 1 - n) * sizeof out->output[0], a->fill))
        return check_violated(a->report, "%s: writes behind its %u output%s", name, n,
                              n == 1 ? "" : "s");
    if (!all_bytes(&out->behind, sizeof out->behind, a->fill))
        return check_violated(a->report, "%s: writes behind its lm_cost", name);
    if (step != STEP_INFER &&
        digest(DIGEST_START, out->output, n * sizeof out->output[0]) != out->digest[STEP_INFER])
        return check_violated(a->report, "%s: writes to its outputs", name);
    return true;
}

/* Checks that hold for all callbacks. *refused: did the callback refuse? */
static bool after(asking *a, check_step step, lm_status status, const check_answer *out,
                  bool *refused)
{
    const char *name = check_step_name(step);

    *refused = status != LM_OK;
    if (!kept_within(a, step, out))
        return false;
    if (memcmp(a->param, a->param_before, sizeof a->param) ||
        memcmp(a->input, a->input_before, sizeof a->input))
        return check_violated(a->report, "%s: writes to its parameters or inputs", name);
    if (status > 0)
        return check_violated(a->report, "%s: returns %d, which is no status", name, status);
    if (status && !a->err.text[0])
        return check_violated(a->report, "%s: refuses (status %d) without saying why: lm_fail()",
                              name, status);
    if (!status && !a->sink.status && a->err.text[0])
        return check_violated(a->report, "%s: says '%.120s' and returns LM_OK all the same", name,
                              a->err.text);
    if (a->sink.status == LM_E_NOMEM)
        return ran_out(a);
    if (a->sink.status)
        return check_violated(a->report, "%s: %s", name, a->err.text);
    return true;
}

static void begin(asking *a, check_step step)
{
    a->err            = (lm_error){ LM_OK, "" };
    a->sink.status    = LM_OK;
    a->sink.n_weights = a->sink.n_kernels = 0;
    a->sink.pass                          = step >= STEP_LOWER ? (lm_pass)(step - STEP_LOWER) : 0;
    snprintf(a->report->step, sizeof a->report->step, "%s", check_step_name(step));
}

static void end(asking *a)
{
    a->report->step[0] = '\0';
}

/* Calls infer() for another use, to disturb hidden state. */
static void disturb(const registry_entry *entry, const check_case *c, check_report *report)
{
    static const check_manner plain               = { 0, false, NULL };
    lm_tensor                 output[LM_MAX_RANK] = { { 0 } };
    asking                    a                   = { .entry = entry, .c = c, .report = report };

    prepare(&a, &plain);
    begin(&a, STEP_INFER);
    (void)entry->type.infer(&a.h.layer, output);
    end(&a);
}

/* Takes the outputs of infer(). A case that the host rejects counts as refused. */
static bool take_infer(asking *a, check_answer *out, bool *refused)
{
    const lm_layer_type *type = &a->entry->type;

    for (uint32_t i = 0; i < type->n_outputs; i++) {
        const lm_tensor *t = &out->output[i];

        if (t->rank > LM_MAX_RANK || !lm_dtype_bytes(t->dtype))
            return check_violated(a->report, "infer: output %u has rank %u and element type %d", i,
                                  t->rank, t->dtype);
        for (uint32_t d = t->rank; d < LM_MAX_RANK; d++)
            if (t->dim[d])
                return check_violated(
                    a->report, "infer: output %u: what stands behind its last dimension is not 0",
                    i);
        if (t->reserved)
            return check_violated(a->report, "infer: output %u: reserved is not 0", i);
        for (uint32_t d = 0; d < t->rank && !*refused; d++)
            if (t->dim[d] < 1) {
                lm_error_set(&a->err, LM_E_SHAPE, "output dimension %u would be %lld", d,
                             (long long)t->dim[d]);
                *refused = true;
            }
        if (!*refused && lm_bytes(t) == UINT64_MAX) {
            lm_error_set(&a->err, LM_E_OVERFLOW, "output has more than 2^64 bytes");
            *refused = true;
        }
    }
    if (!*refused)
        out->digest[STEP_INFER] =
            digest(DIGEST_START, out->output, type->n_outputs * sizeof out->output[0]);
    a->h.layer.output      = out->output;
    a->layer_before.output = out->output;
    return true;
}

static bool take_weights(asking *a, check_answer *out)
{
    uint64_t h = DIGEST_START;

    out->n_weights = a->sink.n_weights;
    out->weight    = arena_copy(out->arena, a->sink.weight, out->n_weights, sizeof *out->weight);
    if (out->n_weights && !out->weight)
        return ran_out(a);
    for (size_t i = 0; i < out->n_weights; i++) {
        const lm_weight *w = &out->weight[i];

        h = digest(h, w->role, strlen(w->role));
        h = digest(h, &w->tensor, sizeof w->tensor);
        h = digest(h, &w->flags, sizeof w->flags);
    }
    out->digest[STEP_WEIGHTS] = h;
    return true;
}

static bool take_kernels(asking *a, lm_pass pass, check_answer *out)
{
    uint64_t h = DIGEST_START;

    out->n_kernels[pass] = a->sink.n_kernels;
    out->kernel[pass] =
        arena_copy(out->arena, a->sink.kernel, a->sink.n_kernels, sizeof *out->kernel[pass]);
    if (a->sink.n_kernels && !out->kernel[pass])
        return ran_out(a);
    for (size_t i = 0; i < out->n_kernels[pass]; i++) { /* unused bytes of a union are no part of
                                                         * the answer */
        const lm_kernel *k = &out->kernel[pass][i];
        char             text[512];

        kernel_print_geometry(k, text, sizeof text);
        h = digest(h, &k->op, sizeof k->op);
        h = digest(h, &k->pass, sizeof k->pass);
        h = digest(h, &k->dtype, sizeof k->dtype);
        h = digest(h, &k->repeat, sizeof k->repeat);
        h = digest(h, text, strlen(text));
    }
    out->digest[STEP_LOWER + pass] = h;
    return true;
}

/* Calls the callback of a step. */
static lm_status call(asking *a, check_step step, check_answer *out)
{
    const lm_layer_type *type = &a->entry->type;

    if (step == STEP_INFER)
        return type->infer(&a->h.layer, out->output);
    if (step == STEP_WEIGHTS)
        return type->weights ? type->weights(&a->h.layer, &a->sink.sink) : LM_OK;
    if (step == STEP_COST)
        return type->cost(&a->h.layer, &out->cost);
    return type->lower ? type->lower(&a->h.layer, a->sink.pass, &a->sink.sink) : LM_OK;
}

static bool ask_step(asking *a, check_step step, check_answer *out, bool *refused)
{
    lm_status status;

    begin(a, step);
    status = call(a, step, out);
    end(a);
    if (!after(a, step, status, out, refused))
        return false;
    if (*refused)
        return true;
    if (step == STEP_INFER)
        return take_infer(a, out, refused);
    if (step == STEP_WEIGHTS)
        return take_weights(a, out);
    if (step != STEP_COST)
        return take_kernels(a, (lm_pass)(step - STEP_LOWER), out);
    out->digest[STEP_COST] = digest(DIGEST_START, &out->cost, sizeof out->cost);
    return true;
}

bool check_ask(const registry_entry *entry, const check_case *c, const check_manner *how,
               check_report *report, check_answer *out)
{
    asking a       = { .entry = entry, .c = c, .report = report };
    bool   refused = false, fine;

    memset(out, 0, sizeof *out);
    out->arena = arena_new();
    if (!out->arena) {
        report->status = LM_E_NOMEM;
        return false;
    }
    a.sink = host_sink_make(out->arena, &a.err);
    prepare(&a, how);
    memset(out->output, how->fill, sizeof out->output);
    memset(&out->behind, how->fill, sizeof out->behind);
    out->cost = (lm_cost){ .size = sizeof out->cost };
    fine      = ask_step(&a, STEP_INFER, out, &refused);
    for (int i = STEP_INFER + 1; i < N_STEPS && fine && !refused; i++) {
        const int step = how->backwards ? N_STEPS - i : i;

        if (how->between)
            disturb(entry, how->between, report);
        fine = ask_step(&a, (check_step)step, out, &refused);
    }
    out->legal   = fine && !refused;
    out->refusal = a.err;
    host_sink_free(&a.sink);
    return fine;
}

void check_answer_free(check_answer *answer)
{
    arena_free(answer->arena);
    memset(answer, 0, sizeof *answer);
}

/* ---- what must hold ---- */

static bool sound_weights(const check_answer *a, check_report *report)
{
    for (size_t i = 0; i < a->n_weights; i++) {
        const lm_weight *w = &a->weight[i];

        if (!w->role[0])
            return check_violated(report, "weights: weight %zu has no role", i);
        for (size_t j = 0; j < i; j++)
            if (!strcmp(a->weight[j].role, w->role))
                return check_violated(report, "weights: two weights '%.40s'", w->role);
        if (!lm_dtype_bytes(w->tensor.dtype))
            return check_violated(report, "weights: '%.40s' has element type %d", w->role,
                                  w->tensor.dtype);
        for (uint32_t d = 0; d < LM_MAX_RANK; d++)
            if (d < w->tensor.rank ? w->tensor.dim[d] < 1 : w->tensor.dim[d] != 0)
                return check_violated(report, "weights: dimension %u of '%.40s' is %lld", d,
                                      w->role, (long long)w->tensor.dim[d]);
        if (w->flags & ~(uint32_t)(LM_FROZEN | LM_EXPERT))
            return check_violated(report, "weights: '%.40s' has unknown flags", w->role);
    }
    return true;
}

static bool has_trained(const check_answer *a)
{
    for (size_t i = 0; i < a->n_weights; i++)
        if (!(a->weight[i].flags & LM_FROZEN))
            return true;
    return false;
}

/* Are all numbers so small that no count can exceed 64 bits? */
static bool all_small(const lm_layer_type *type, const check_case *c)
{
    const int64_t limit = 1024;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        for (uint32_t d = 0; d < c->input[i].rank; d++)
            if (c->input[i].dim[d] > limit)
                return false;
    for (uint32_t i = 0; i < type->n_params; i++) {
        const lm_value *v = &c->value[i];

        for (uint32_t j = 0; v->kind != LM_REAL && v->kind != LM_TEXT && j < v->count; j++)
            if (v->u.i[j] > limit || v->u.i[j] < -limit)
                return false;
    }
    return true;
}

static bool saturated(lm_work w)
{
    return w.flops == UINT64_MAX || w.read_bytes == UINT64_MAX || w.written_bytes == UINT64_MAX;
}

static bool sound_cost(const check_answer *a, bool small, check_report *report)
{
    const lm_cost *c = &a->cost;

    if (c->size != sizeof *c || c->reserved)
        return check_violated(report, "cost: writes to fields of the host");
    if (c->keeps & (LM_KEEPS_ONE(0) - 1) & ~(uint32_t)(LM_KEEPS_INPUT | LM_KEEPS_OUTPUT))
        return check_violated(report, "cost: unknown bits in keeps");
    for (lm_pass p = 0; p < LM_N_PASSES && small; p++)
        if (saturated(c->pass[p]))
            return check_violated(report, "cost: saturates in the %s pass, though all is small",
                                  kernel_pass_name(p));
    if (small && (c->saved_bytes == UINT64_MAX || c->workspace_bytes == UINT64_MAX ||
                  c->cached_bytes == UINT64_MAX))
        return check_violated(
            report, "cost: saved, cached or workspace bytes saturate, though all is small");
    return true;
}

/* FLOPs and bytes of a pass by its kernels; *opaque: one of them is opaque. */
static lm_work sum_kernels(const check_answer *a, lm_pass pass, bool *opaque)
{
    lm_work sum = { 0, 0, 0 };

    for (size_t i = 0; i < a->n_kernels[pass]; i++) {
        const lm_kernel *k = &a->kernel[pass][i];
        const lm_work    w = lm_kernel_work(k);

        *opaque |= k->op == LM_OP_OPAQUE;
        sum.flops         = lm_add(sum.flops, lm_mul(k->repeat, w.flops));
        sum.read_bytes    = lm_add(sum.read_bytes, lm_mul(k->repeat, w.read_bytes));
        sum.written_bytes = lm_add(sum.written_bytes, lm_mul(k->repeat, w.written_bytes));
    }
    return sum;
}

static bool sound_kernels(const check_answer *a, lm_pass pass, check_report *report)
{
    const char   *name   = kernel_pass_name(pass);
    const lm_work cost   = a->cost.pass[pass];
    bool          opaque = false;
    lm_error      err;
    lm_work       sum;

    for (size_t i = 0; i < a->n_kernels[pass]; i++)
        if (kernel_check(&a->kernel[pass][i], &err))
            return check_violated(report, "lower(%s): kernel %zu (%s): %.160s", name, i,
                                  kernel_op_name(a->kernel[pass][i].op), err.text);
    sum = sum_kernels(a, pass, &opaque);
    if (opaque)
        return true;
    if (sum.flops != cost.flops)
        return check_violated(report,
                              "lower(%s): the kernels have %" PRIu64 " FLOP, cost() says %" PRIu64,
                              name, sum.flops, cost.flops);
    if (sum.read_bytes < cost.read_bytes || sum.written_bytes < cost.written_bytes)
        return check_violated(report,
                              "lower(%s): the kernels read %" PRIu64 " and write %" PRIu64
                              " bytes, less than cost() says: %" PRIu64 " and %" PRIu64,
                              name, sum.read_bytes, sum.written_bytes, cost.read_bytes,
                              cost.written_bytes);
    return true;
}

static bool no_work(lm_work w)
{
    return !w.flops && !w.read_bytes && !w.written_bytes;
}

static bool sound_view(const check_answer *a, check_report *report)
{
    if (!no_work(a->cost.pass[LM_FORWARD]) || a->n_kernels[LM_FORWARD])
        return check_violated(report, "a view (LM_VIEW) has work or kernels in the forward pass");
    return true;
}

/* Are the parameters of a part valid: the same kinds and numbers, with no larger value? */
static bool sound_part(const asking *a, lm_way way, check_report *report)
{
    for (uint32_t i = 0; i < a->entry->type.n_params; i++) {
        const lm_value *before = &a->param_before[i], *after = &a->param[i];

        if (after->kind != before->kind || after->count != before->count)
            return check_violated(report, "split(%d): changes the kind of parameter %u", (int)way,
                                  i);
    }
    return true;
}

/* Checks half of a legal use in each way of splitting: the type refuses with a reason, or infer()
 * accepts the parameters or refuses with a reason. */
static bool sound_split(const registry_entry *entry, const check_case *c, check_report *report)
{
    static const check_manner plain = { 0, false, NULL };

    for (lm_way way = LM_COLUMNS; way <= LM_ROUTED; way++) {
        asking    a = { .entry = entry, .c = c, .report = report };
        lm_value  part[CASE_PARAMS + 1];
        lm_split  s                   = { .size = sizeof s, .param = part, .parts = 2, .way = way };
        lm_tensor output[LM_MAX_RANK] = { { 0 } };
        lm_status status;

        prepare(&a, &plain);
        memcpy(part, a.param, sizeof part);
        snprintf(report->step, sizeof report->step, "split");
        status = entry->type.split(&a.h.layer, &s);
        end(&a);
        if (memcmp(a.param, a.param_before, sizeof a.param))
            return check_violated(report, "split(%d): writes to the layer's own parameters",
                                  (int)way);
        if (status > 0 || (status && !a.err.text[0]))
            return check_violated(report,
                                  "split(%d): refuses (status %d) without saying why: lm_fail()",
                                  (int)way, (int)status);
        if (status)
            continue;
        memcpy(a.param, part, sizeof part);
        if (!sound_part(&a, way, report))
            return false;
        begin(&a, STEP_INFER);
        status = entry->type.infer(&a.h.layer, output);
        end(&a);
        if (status > 0 || (status && !a.err.text[0]))
            return check_violated(report, "infer of a part, split(%d): refuses without saying why",
                                  (int)way);
    }
    return true;
}

bool check_sound(const registry_entry *entry, const check_case *c, const check_answer *a,
                 check_report *report)
{
    const lm_layer_type *type  = &entry->type;
    const bool           small = all_small(type, c);

    if (!sound_weights(a, report) || !sound_cost(a, small, report))
        return false;
    if (type->flags & LM_VIEW && !(type->flags & LM_SOURCE) && !sound_view(a, report))
        return false;
    if (!has_trained(a) && (!no_work(a->cost.pass[LM_GRAD_WEIGHT]) || a->n_kernels[LM_GRAD_WEIGHT]))
        return check_violated(report, "work in the grad_weight pass, but no weight is trained");
    if (type->split && !sound_split(entry, c, report))
        return false;
    for (lm_pass p = 0; p < LM_N_PASSES && type->lower && small; p++)
        if (!sound_kernels(a, p, report))
            return false;
    return true;
}
