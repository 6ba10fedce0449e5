/* Generation: steps that are priced stand for all others. */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "predict/generation.h"
#include "program/generation.h"

/* Seconds at a context, and how often and up to where they were asked for. */
typedef struct machine {
    double (*seconds)(double context);
    size_t  asked;
    int64_t fails_at; /* 0: nowhere */
} machine;

static lm_status price(void *by, int64_t context, double *seconds, lm_error *err)
{
    machine *m = by;

    if (m->fails_at && context >= m->fails_at)
        return lm_error_set(err, LM_E_ARG, "no price at %lld", (long long)context);
    m->asked++;
    *seconds = m->seconds((double)context);
    return LM_OK;
}

static double line(double c)
{
    return 2 + 0.5 * c;
}

static double bend(double c)
{
    return c < 700 ? 3 : 3 + 0.1 * (c - 700);
}

static double stairs(double c)
{
    return 1 + 0.25 * floor(c / 64);
}

static double sum_of(machine *m, int64_t context, int64_t tokens)
{
    generation_step *step = NULL;
    size_t           n    = 0;
    double           sum = 0, weight = 0;
    lm_error         err = { LM_OK, "" };

    assert_int_equal(generation_steps(context, tokens, price, m, &step, &n, &err), LM_OK);
    assert_int_equal(n, m->asked);
    assert_int_equal(step[0].context, context);
    if (tokens > 1)
        assert_int_equal(step[1].context, context + tokens - 1);
    for (size_t i = 0; i < n; i++) {
        sum += step[i].weight * step[i].seconds;
        weight += step[i].weight;
        for (size_t k = 0; k < i; k++)
            assert_true(step[k].context != step[i].context);
    }
    assert_close(weight, (double)tokens, 1e-9 * (double)tokens);
    free(step);
    return sum;
}

/* 128 steps of 2 + c / 2 from 512 on: 128 (2 + 512 / 2) + 127 128 / 4 = 33024 + 4064. */
static void a_line_is_summed_exactly_by_five_steps(void **state)
{
    machine m = { .seconds = line };

    (void)state;
    assert_close(sum_of(&m, 512, 128), 37088, 1e-9);
    assert_int_equal(m.asked, 5);
    for (int tokens = 1; tokens <= 5; tokens++) { /* 3 + 3.5 + 4 ... */
        machine few = { .seconds = line };

        assert_close(sum_of(&few, 2, tokens), 3 * tokens + 0.25 * tokens * (tokens - 1), 1e-12);
        assert_int_equal(few.asked, tokens);
    }
}

static void what_bends_or_steps_is_halved_until_it_is_a_line(void **state)
{
    double (*const of[])(double) = { bend, stairs };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        machine m   = { .seconds = of[i] };
        double  all = 0;

        for (int64_t c = 100; c < 1700; c++)
            all += of[i]((double)c);
        assert_close(sum_of(&m, 100, 1600), all, 1e-3 * all);
        assert_true(m.asked < 800);
    }
}

static void what_cannot_be_priced_is_refused(void **state)
{
    machine          m    = { .seconds = line, .fails_at = 300 };
    generation_step *step = NULL;
    size_t           n    = 0;
    lm_error         err  = { LM_OK, "" };

    (void)state;
    assert_int_equal(generation_steps(100, 201, price, &m, &step, &n, &err), LM_E_ARG);
    assert_string_equal(err.text, "no price at 300");
    assert_int_equal(generation_steps(2, INT64_MAX - 1, price, &m, &step, &n, &err), LM_E_ARG);
    assert_string_equal(err.text, "9223372036854775806 tokens after 2 do not fit 64 bits");
    assert_null(step);
}

/* A model whose steps take as many seconds as there are tokens in the cache, within a half and twice
 * that; an interpolated half. All of it is traffic. */
static lm_status price_step(const predictor *who, const step_setup *setup, step_price *out,
                            lm_error *err)
{
    const double s = (double)*(const int64_t *)who->state;

    (void)setup;
    (void)err;
    *out             = inference_price();
    out->forward     = (bounded){ s, s / 2, 2 * s };
    out->step        = out->forward;
    out->joules_step = (bounded){ 10 * s, 9 * s, 11 * s };
    ledger_add(&out->passes.ledger, CERTAINTY_INTERPOLATED, s / 2);
    ledger_add(&out->passes.ledger, CERTAINTY_ASSUMED, s / 2);
    if (s >= 110)
        grounds_note(&out->passes, "attention.bytes", 3);
    return LM_OK;
}

static lm_status bound_step(const predictor *who, const step_setup *setup, bound_price *out,
                            lm_error *err)
{
    (void)setup;
    (void)err;
    *out = (bound_price){ .passes = { [BOUND_TRAFFIC] = (double)*(const int64_t *)who->state } };
    return LM_OK;
}

static const step_model made = { .price = price_step, .bounds = bound_step };

typedef struct made_steps {
    int64_t   context[20];
    predictor who[20];
    size_t    n;
} made_steps;

static lm_status made_at(void *of, int64_t context, const predictor **who, lm_error *err)
{
    made_steps *m = of;

    (void)err;
    assert_true(m->n < 20);
    m->context[m->n] = context;
    m->who[m->n]     = (predictor){ .by = &made, .state = &m->context[m->n], .model = "made" };
    *who             = &m->who[m->n++];
    return LM_OK;
}

/* 11 steps of 100 to 110 s, on 3 devices of batch 4. */
static void a_generation_is_the_sum_of_its_steps(void **state)
{
    made_steps     m = { .n = 0 };
    scale_question q = scale_weak(4, 1000);
    predictor      who;
    generation     g;
    char           beyond[80];
    lm_error       err = { LM_OK, "" };

    (void)state;
    q.setup.program = PROGRAM_INFERENCE;
    assert_int_equal(generation_open(100, 11, made_at, &m, &who, &err), LM_OK);
    assert_int_equal(generation_predict(&who, &q, 3, &g, &err), LM_OK);
    assert_close(g.seconds.value, 1155, 1e-9);
    assert_close(g.seconds.low, 577.5, 1e-9);
    assert_close(g.seconds.high, 2310, 1e-9);
    assert_close(g.first, 100, 1e-12);
    assert_close(g.last, 110, 1e-12);
    assert_close(g.mean.step.step, 105, 1e-9);
    assert_close(g.mean.step.own_joules.value, 1050, 1e-9);
    assert_close(g.mean.bottleneck.seconds[BOTTLENECK_TRAFFIC], 105, 1e-9);
    assert_close(g.per_second, 12. / 105, 1e-12);
    assert_close(g.mean.efficiency, 1, 1e-12);
    assert_close(ledger_share(&g.mean.step.grounds.ledger, CERTAINTY_ASSUMED), 0.5, 1e-12);
    assert_string_equal(grounds_beyond(&g.mean.step.grounds, beyond, sizeof beyond),
                        "attention.bytes x3");
    generation_close(&who);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_summed_exactly_by_five_steps),
        cmocka_unit_test(what_bends_or_steps_is_halved_until_it_is_a_line),
        cmocka_unit_test(what_cannot_be_priced_is_refused),
        cmocka_unit_test(a_generation_is_the_sum_of_its_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
