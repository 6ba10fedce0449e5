/* Executes the contract of a layer type. */
#include "layers/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"
#include "layers/check_case.h"
#include "layers/check_rules.h"
#include "layers/kernel_text.h"
#include "layers/schema.h"

/* Generated uses per wanted legal use, before the check gives up. */
#define TRIES 20

/* Refusals before a search for nearly legal uses, and the number of uses to keep. */
#define SEEK_AFTER 100
#define NEAR_MOST  256

static const check_manner plain     = { 0, false, NULL };
static const check_manner otherwise = { 0xA5, true, NULL };

typedef struct legal_case {
    uint64_t digest[N_STEPS];
} legal_case;

/* A refused use, and the numbers in the message, which are often the expected ones. */
#define HINTS 8

typedef struct near_use {
    check_case use;
    uint64_t   words; /* their hash */
    int64_t    hint[HINTS];
    uint64_t   n_hints;
} near_use;

typedef struct checking {
    const registry_entry *entry;
    check_report         *report;
    check_case           *legal; /* legal uses without violation */
    legal_case           *first; /* their first answers */
    size_t                n_legal, room;
    case_random           random;
    char                  refusal[240]; /* the last one */
    near_use             *near;         /* refused uses with different messages */
    size_t                n_near;
} checking;

static void show(const checking *k, const check_case *c)
{
    case_print(&k->entry->type, c, k->report->snippet, sizeof k->report->snippet);
}

/* ---- descriptors ---- */

static uint64_t hash_text(uint64_t h, const char *text)
{
    return (h ^ (text ? text_hash(text) : 1)) * UINT64_C(1099511628211);
}

/* Hash of the type's own descriptor with its schema. */
static uint64_t descriptor(const registry_entry *e)
{
    const lm_layer_type *type = &e->type;
    const size_t         n    = e->own->size < sizeof *type ? e->own->size : sizeof *type;
    uint64_t             h    = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)e->own)[i]) * UINT64_C(1099511628211);
    h = hash_text(hash_text(h, e->own->name), e->own->doc);
    for (uint32_t i = 0; i < type->n_params; i++) {
        const lm_param p = schema_param(type, i);

        h = hash_text(hash_text(h, p.name), p.doc);
        h = hash_text(hash_text(h, p.fallback), p.choices);
        h = (h ^ (uint64_t)p.kind ^ (uint64_t)p.count << 32) * UINT64_C(1099511628211);
        for (size_t b = 0; b < sizeof p.min; b++)
            h = (h ^ ((const unsigned char *)&p.min)[b] ^
                 (uint64_t)((const unsigned char *)&p.max)[b] << 8) *
                UINT64_C(1099511628211);
    }
    return h;
}

/* ---- the batch ---- */

/* The common batch of all inputs; 0: none. */
static int64_t common_batch(const check_case *c)
{
    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (!c->input[i].rank || c->input[i].dim[0] != c->input[0].dim[0])
            return 0;
    return c->n_inputs ? c->input[0].dim[0] : 0;
}

static check_case with_batch(const check_case *c, int64_t batch)
{
    check_case scaled = *c;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        scaled.input[i].dim[0] = batch;
    return scaled;
}

/* Are all outputs `factor` times as long in dimension 0, and otherwise the same? */
static bool carries_batch(uint32_t n_outputs, const check_answer *one, const check_answer *more,
                          int64_t factor)
{
    for (uint32_t i = 0; i < n_outputs; i++) {
        const lm_tensor *a = &one->output[i], *b = &more->output[i];

        if (!a->rank || a->rank != b->rank || a->dtype != b->dtype ||
            b->dim[0] / factor != a->dim[0] || b->dim[0] % factor)
            return false;
        for (uint32_t d = 1; d < a->rank; d++)
            if (a->dim[d] != b->dim[d])
                return false;
    }
    return true;
}

static bool outputs_grow(uint32_t n_outputs, const check_answer *one, const check_answer *more)
{
    for (uint32_t i = 0; i < n_outputs; i++)
        if (lm_elements(&more->output[i]) < lm_elements(&one->output[i]))
            return false;
    return true;
}

/* Are all outputs equal, as for a sum over the batch or a slice? */
static bool same_outputs(uint32_t n_outputs, const check_answer *one, const check_answer *more)
{
    return !memcmp(one->output, more->output, n_outputs * sizeof one->output[0]);
}

/* Growth of FLOPs with the batch. */
typedef enum trend {
    TREND_UP,    /* only rising */
    TREND_STEPS, /* equal steps for each added batch: if the outputs stay the same */
    TREND_PROPORTION
} trend;

/* FLOPs per added batch, if they grow in equal steps. */
typedef struct steps {
    bool     known;
    uint64_t flops[LM_N_PASSES];
} steps;

static trend trend_of(const lm_layer_type *type, const check_answer *one, const check_answer *more,
                      int64_t factor, const steps *each)
{
    if (type->flags & LM_FIXED_PART)
        return TREND_UP;
    if (carries_batch(type->n_outputs, one, more, factor))
        return TREND_PROPORTION;
    return each->known && same_outputs(type->n_outputs, one, more) ? TREND_STEPS : TREND_UP;
}

static bool check_flops(check_report *report, lm_pass pass, uint64_t at_one, uint64_t at_more,
                        int64_t batch, int64_t factor, trend how, const steps *each)
{
    const uint64_t step = how == TREND_STEPS ? each->flops[pass] : at_one;
    const uint64_t due  = lm_add(at_one, lm_mul((uint64_t)factor - 1, step));

    if (how == TREND_UP || at_more == due || at_more == UINT64_MAX)
        return true;
    return check_violated(
        report,
        "cost: %" PRIu64 " FLOP in the %s pass at batch %lld, %" PRIu64 " at batch %lld: %s",
        at_one, kernel_pass_name(pass), (long long)batch, at_more, (long long)(batch * factor),
        due == UINT64_MAX    ? "beyond 64 bits it must saturate: lm_mul(), lm_add()"
        : how == TREND_STEPS ? "not in equal steps (unless LM_FIXED_PART says so)"
                             : "not in proportion (unless LM_FIXED_PART says so)");
}

/* Compares the work at `factor` times the batch with that at the batch. */
static bool grows(const checking *k, const check_answer *one, const check_answer *more,
                  int64_t batch, int64_t factor, trend how, const steps *each)
{
    check_report *report = k->report;

    for (lm_pass p = 0; p < LM_N_PASSES; p++) {
        const lm_work a = one->cost.pass[p], b = more->cost.pass[p];

        if (!check_flops(report, p, a.flops, b.flops, batch, factor, how, each))
            return false;
        if (b.flops < a.flops || b.read_bytes < a.read_bytes || b.written_bytes < a.written_bytes)
            return check_violated(
                report, "cost: less work in the %s pass at batch %lld than at %lld",
                kernel_pass_name(p), (long long)(batch * factor), (long long)batch);
    }
    if (more->cost.saved_bytes < one->cost.saved_bytes)
        return check_violated(report, "cost: fewer saved bytes at batch %lld than at %lld",
                              (long long)(batch * factor), (long long)batch);
    return true;
}

/* The largest power of two for which the bytes of inputs and outputs still fit 64 bits. */
static int64_t huge_factor(const checking *k, const check_case *c, const check_answer *a)
{
    uint64_t most   = 1;
    int64_t  factor = 1;

    for (uint32_t i = 0; i < c->n_inputs; i++)
        most = lm_bytes(&c->input[i]) > most ? lm_bytes(&c->input[i]) : most;
    for (uint32_t i = 0; i < k->entry->type.n_outputs; i++)
        most = lm_bytes(&a->output[i]) > most ? lm_bytes(&a->output[i]) : most;
    while (lm_mul(most, (uint64_t)factor) < UINT64_C(1) << 60)
        factor *= 2;
    return factor;
}

static bool compare_batches(checking *k, const check_case *c, const check_answer *one)
{
    const lm_layer_type *type      = &k->entry->type;
    const int64_t        batch     = common_batch(c);
    const int64_t        factors[] = { 2, 3, INT64_C(1) << 30, huge_factor(k, c, one) };
    steps                each      = { 0 };
    bool                 fine = true, told = false;

    for (size_t i = 0; batch && i < sizeof factors / sizeof factors[0] && fine; i++) {
        const check_case scaled = with_batch(c, batch * factors[i]);
        check_answer     more;

        show(k, &scaled);
        fine = check_ask(k->entry, &scaled, &plain, k->report, &more);
        if (fine && more.legal && outputs_grow(type->n_outputs, one, &more)) {
            const trend how = trend_of(type, one, &more, factors[i], &each);

            told |= how != TREND_UP;
            fine = grows(k, one, &more, batch, factors[i], how, &each);
            if (factors[i] == 2 && same_outputs(type->n_outputs, one, &more)) {
                each.known = true;
                for (lm_pass p = 0; p < LM_N_PASSES; p++)
                    each.flops[p] = more.cost.pass[p].flops - one->cost.pass[p].flops;
            }
        }
        check_answer_free(&more);
    }
    k->report->scaled += told;
    return fine;
}

/* At batch 1 a dimension may be broadcast, so the comparison begins at batch 2. */
static bool check_batches(checking *k, const check_case *c, const check_answer *one)
{
    const check_case two = with_batch(c, 2);
    check_answer     answer;
    bool             fine;

    if (common_batch(c) != 1)
        return compare_batches(k, c, one);
    show(k, &two);
    fine = check_ask(k->entry, &two, &plain, k->report, &answer);
    if (fine && answer.legal)
        fine = compare_batches(k, &two, &answer);
    check_answer_free(&answer);
    return fine;
}

/* ---- cases ---- */

/* First step at which two answers to one question differ; N_STEPS: none. After a refusal only
 * infer() was called in every order. */
static check_step difference(const uint64_t *a, const uint64_t *b, check_step end)
{
    check_step step = STEP_INFER;

    while (step < end && a[step] == b[step])
        step++;
    return step < end ? step : N_STEPS;
}

/* Repeats the calls in another way. */
static bool ask_again(checking *k, const check_case *c, bool legal, const uint64_t *first,
                      const check_manner *how, const char *why)
{
    check_answer again;
    bool         fine = check_ask(k->entry, c, how, k->report, &again);

    if (fine) {
        const check_step step =
            again.legal != legal ? STEP_INFER
                                 : difference(first, again.digest, legal ? N_STEPS : STEP_WEIGHTS);

        if (step < N_STEPS)
            fine = check_violated(k->report, "%s: %s", check_step_name(step), why);
    }
    check_answer_free(&again);
    return fine;
}

/* Hash of a refusal's message, without numbers of several digits, which differ between uses. */
static uint64_t words_of(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (const char *c = text; *c; c++) {
        const size_t digits = strspn(c, "0123456789");

        if (digits > 1)
            c += digits - 1;
        else
            h = (h ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    return h;
}

/* Keeps a refused use with a new message: it passed other checks than earlier ones. Uses with one
 * change may pass more. */
static void keep_near(checking *k, const check_case *c)
{
    const uint64_t words = words_of(k->refusal);
    size_t         at    = 0;
    near_use      *near;

    while (at < k->n_near && k->near[at].words != words)
        at++;
    if (at == NEAR_MOST)
        at = (size_t)case_below(&k->random, NEAR_MOST);
    else if (at == k->n_near)
        k->n_near++;
    near  = &k->near[at];
    *near = (near_use){ .use = *c, .words = words };
    for (const char *t = k->refusal; *t && near->n_hints < HINTS; t++)
        if (*t >= '1' && *t <= '9') {
            char *end;

            near->hint[near->n_hints++] = strtoll(t, &end, 10);
            t                           = end - 1;
        }
}

/* Uses some numbers of the message as dimensions of an input. */
static void take_hint(checking *k, const near_use *near, check_case *c)
{
    lm_tensor *t = c->n_inputs ? &c->input[case_below(&k->random, c->n_inputs)] : NULL;
    uint64_t   from, n, to;

    if (!t || !t->rank || !near->n_hints)
        return;
    if (!case_below(&k->random, 4))
        *t = c->input[0];
    from = case_below(&k->random, near->n_hints);
    n    = 1 + case_below(&k->random, near->n_hints - from);
    to   = case_below(&k->random, t->rank);
    for (uint64_t i = 0; i < n && to + i < t->rank; i++)
        t->dim[to + i] = near->hint[from + i];
}

/* Generates a use: half of them at random, half from hints of a near use, preferably the last
 * one. */
static void make_use(checking *k, check_case *c)
{
    const lm_layer_type *type = &k->entry->type;
    const near_use      *near;

    if (k->n_legal || k->report->refused < SEEK_AFTER || !k->n_near) {
        case_generate(type, k->legal, k->n_legal, &k->random, c);
        return;
    }
    near = &k->near[case_below(&k->random, 2) ? k->n_near - 1 : case_below(&k->random, k->n_near)];
    case_generate(type, &near->use, 1, &k->random, c);
    if (case_below(&k->random, 2)) {
        *c = near->use;
        take_hint(k, near, c);
    }
}

/* Tries a use; true: continue. */
static bool try_case(checking *k, const check_case *c)
{
    check_answer answer;
    bool         fine;

    show(k, c);
    fine = check_ask(k->entry, c, &plain, k->report, &answer);
    if (fine && !answer.legal) {
        k->report->refused++;
        snprintf(k->refusal, sizeof k->refusal, "%.200s", answer.refusal.text);
        if (!k->n_legal)
            keep_near(k, c);
    }
    fine = fine && ask_again(k, c, answer.legal, answer.digest, &otherwise,
                             "a second call gives another result: it keeps state, reads what it is "
                             "not given, or leaves a result unset");
    if (fine && answer.legal) {
        fine = check_sound(k->entry, c, &answer, k->report) && check_batches(k, c, &answer);
        if (fine) {
            memcpy(k->first[k->n_legal].digest, answer.digest, sizeof answer.digest);
            k->legal[k->n_legal++] = *c;
            k->report->legal++;
        }
    }
    check_answer_free(&answer);
    return fine;
}

/* Repeats all legal uses from last to first, with other uses in between. */
static bool try_in_another_order(checking *k)
{
    for (size_t i = k->n_legal; i-- > 0;) {
        const check_case  *other   = &k->legal[case_below(&k->random, k->n_legal)];
        const check_manner crossed = { 0, true, other };

        show(k, &k->legal[i]);
        if (!ask_again(k, &k->legal[i], true, k->first[i].digest, &crossed,
                       "gives another result after other layers were asked about: it keeps state"))
            return false;
    }
    return true;
}

static void run(checking *k)
{
    const uint64_t before = descriptor(k->entry);
    check_case     c;
    lm_error       err;

    for (uint64_t i = 0; i < TRIES * k->room && k->n_legal < k->room; i++) {
        make_use(k, &c);
        if (case_parse(k->entry, &c, &err)) {
            show(k, &c);
            check_violated(k->report, "a value in its range is refused: %.240s", err.text);
            return;
        }
        if (!try_case(k, &c))
            return;
        if (descriptor(k->entry) != before) {
            show(k, &c);
            check_violated(k->report, "its descriptor changes: it must be constant");
            return;
        }
    }
    k->report->idle = !k->n_legal;
    if (!k->n_legal)
        check_violated(k->report,
                       "could not be exercised: %" PRIu64 " uses were made up and all refused, the "
                       "last one because: %s",
                       k->report->refused, k->refusal);
    else if (try_in_another_order(k))
        k->report->snippet[0] = '\0';
}

void check_type(const registry_entry *entry, const check_options *o, check_report *report)
{
    checking k = { .entry  = entry,
                   .report = report,
                   .room   = o->cases ? o->cases : 1,
                   .random = { o->seed ^ text_hash(entry->type.name) } };

    memset(report, 0, sizeof *report);
    snprintf(report->type, sizeof report->type, "%s", entry->type.name);
    k.legal = calloc(k.room, sizeof *k.legal);
    k.first = calloc(k.room, sizeof *k.first);
    k.near  = calloc(NEAR_MOST, sizeof *k.near);
    if (!k.legal || !k.first || !k.near)
        report->status = LM_E_NOMEM;
    else if (entry->type.flags & LM_SOURCE &&
             (!entry->type.n_params || schema_param(&entry->type, 0).kind != LM_SHAPE))
        check_violated(report, "a source (LM_SOURCE) has no shape as its first parameter");
    else
        run(&k);
    report->finished = true;
    free_all(k.legal, k.first, k.near);
}
