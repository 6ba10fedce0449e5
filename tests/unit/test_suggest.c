/* Which points to measure next, one after the other; and what could be measured. */
#include "nets.h"

#include <math.h>
#include <string.h>

#include "suggest/candidates.h"
#include "suggest/suggest.h"

/* Of 2 ranks: 2 messages, and as many bytes in all as the message has. */
static design_case all_reduce(double bytes)
{
    return (design_case){ .load    = { .nodes = 2, .bytes = bytes },
                          .parts   = 1u << PHASE_SYNC,
                          .network = DESIGN_NONE };
}

static const design_speeds core = { 4e10, 4e9 };

static design *open_design(const design_case *target, size_t n)
{
    design  *d;
    lm_error err;

    assert_int_equal(design_new(target, n, 1, &core, NULL, &d, &err), LM_OK);
    return d;
}

/* Guesses: 2e-5 s a message and 1e-9 s a byte, each with twice itself as standard deviation. 40 kB
 * take 2 * 2e-5 + 4e4 * 1e-9 = 8e-5 s, half by each, so each adds (2 / 2)^2 to the relative
 * variance; the size lies .80618 of the way between two nodes of deviation .1: .01 (.80618^2 +
 * .19382^2) = .006875. Network .1 and noise .05 come on top: 2 * 1.6449 sqrt(2.006875 + .01 +
 * .0025) = 4.67496. One measured time leaves 2.006875 * .0025 / (2.006875 + .0025) = .0024969 of
 * the first. */
static void widths_before_and_after_are_those_of_the_formula(void **state)
{
    const design_case    c        = all_reduce(40000);
    const design_case    target[] = { c, c };
    const size_t         of[]     = { 0, 1 };
    const suggest_asked  asked    = { of, 2, 2 };
    const suggest_limits limits   = { HUGE_VAL, 5, NULL, NULL };
    const double         cost     = 1;
    design              *d        = open_design(target, 2);
    suggestion           s;
    lm_error             err;

    (void)state;
    assert_int_equal(suggest_points(d, &c, &cost, 1, &asked, &limits, &s, &err), LM_OK);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.at[0], 0);
    for (size_t k = 0; k < 2; k++) {
        assert_close(s.width[k], 4.67496, 1e-4);
        assert_close(s.width[2 + k], 3.2898 * sqrt(0.0024969 + 0.0125), 1e-5);
    }
    assert_close(design_width(d), 4.67496, 1e-4); /* it was supposed only */
    suggestion_free(&s);
    design_free(d);
}

static lm_status not_the_first(void *context, size_t at, bool *fits, lm_error *err)
{
    size_t *asked = context;

    (void)err;
    ++*asked;
    *fits = at != 0;
    return LM_OK;
}

/* Alike, so the cheapest goes first; it cannot be measured, and of the others two can be paid for.
 */
static void limits_hold(void **state)
{
    const design_case   c[]    = { all_reduce(40000), all_reduce(40000), all_reduce(40000),
                                   all_reduce(40000) };
    const double        cost[] = { 1, 2, 3, 4 };
    const size_t        of     = 0;
    const suggest_asked asked  = { &of, 1, 1 };
    design             *d      = open_design(c, 1);
    size_t              count  = 0;
    suggestion          s;
    lm_error            err;

    (void)state;
    assert_int_equal(suggest_points(d, c, cost, 4, &asked,
                                    &(suggest_limits){ 5.5, 9, not_the_first, &count }, &s, &err),
                     LM_OK);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.at[0], 1);
    assert_int_equal(s.at[1], 2);
    assert_int_equal(s.n_refused, 1);
    assert_int_equal(count, 3);
    suggestion_free(&s);
    assert_int_equal(
        suggest_points(d, c, cost, 4, &asked, &(suggest_limits){ 5.5, 1, NULL, NULL }, &s, &err),
        LM_OK);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.at[0], 0);
    suggestion_free(&s);
    assert_int_equal(
        suggest_points(d, c, cost, 4, &asked, &(suggest_limits){ 0.5, 9, NULL, NULL }, &s, &err),
        LM_OK);
    assert_int_equal(s.n, 0);
    suggestion_free(&s);
    design_free(d);
}

/* 1 untimed repetition; 20 timed ones, or what 2 s hold of them, or 3. */
static void a_point_costs_its_repetitions(void **state)
{
    (void)state;
    assert_close(candidate_cost(&stopping_usual, 0.01), 0.2 + 21 * 0.01, 1e-12);
    assert_close(candidate_cost(&stopping_usual, 0.5), 0.2 + 0.5 + 2, 1e-12);
    assert_close(candidate_cost(&stopping_usual, 1), 0.2 + 1 + 3, 1e-12);
}

static int enter(void **state)
{
    if (nets_enter(state))
        return -1;
    folder_file("small.ini", "[network]\nname = small\n[x]\ntype = input\nshape = 3x8x8\n"
                             "[c]\ntype = conv2d\nfilters = 4\nkernel = 3\nbias = no\n");
    folder_file("o.csv", "kind,name,phase,input,batch,seconds\n"
                         "network,small.ini,forward,3x8x8,4,0.001\n"
                         "network,small.ini,update,3x8x8,4,0.002\n");
    return 0;
}

/* Two batches, 8 pixels (the file's, and said again) and 16, alone and on 2 ranks: 8, of which one
 * is measured; a kernel of 3 finds no place in 2 pixels. */
static void candidates_are_what_is_not_measured_yet(void **state)
{
    static const int64_t   batch[] = { 1, 4 }, image[] = { 0, 8, 16, 2 }, ranks[] = { 1, 2 };
    const candidate_ranges r = { .batch   = batch,
                                 .image   = image,
                                 .ranks   = ranks,
                                 .n_batch = 2,
                                 .n_image = 4,
                                 .n_ranks = 2,
                                 .dtype   = LM_F32 };
    workloads             *loads;
    observations          *obs;
    points                 p;
    candidates             c;
    design_case            what;
    design_times           t;
    bool                   fits;
    lm_error               err;

    (void)state;
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    assert_int_equal(observations_load("o.csv", &obs, &err), LM_OK);
    assert_int_equal(points_from(obs, loads, &p, &err), LM_OK);
    assert_int_equal(candidates_new(&c, &err), LM_OK);
    assert_int_equal(candidates_measured(&c, &p, &err), LM_OK);
    assert_int_equal(candidates_add(&c, loads, "small.ini", &r, &err), LM_OK);
    assert_int_equal(candidates_add(&c, loads, "small.ini", &r, &err), LM_OK); /* once more */
    assert_int_equal(c.n, 7);
    assert_int_equal(c.n_measured, 2);
    assert_int_equal(c.n_refused, 8);
    assert_int_equal(c.n_networks, 1);
    assert_int_equal(c.item[0].batch, 1);
    assert_int_equal(c.item[2].batch, 4);
    assert_int_equal(c.item[2].ranks, 2);
    assert_string_equal(c.item[2].input, "3x8x8");
    assert_string_equal(c.item[3].input, "3x16x16");
    /* 108 weights; 14 x 14 places */
    assert_int_equal(c.what[3].load.counts.flops_forward, 2 * 108 * 14 * 14);
    assert_close(c.what[2].load.bytes, 4 * 108, 0);

    what = candidates_case(&c, &p.point[0], &t);
    assert_int_equal(what.network, 0);
    /* on one node the update is the gradient's part of a step as well */
    assert_int_equal(what.parts, 1u << PHASE_FORWARD | 1u << PHASE_UPDATE | 1u << PHASE_GRAD_ONE);
    assert_close(t.seconds[PHASE_UPDATE], 0.002, 0);

    assert_int_equal(
        candidate_fits(&c.item[0], nets_registry, LM_F32, OPTIMIZER_SGD, 1 << 20, &fits, &err),
        LM_OK);
    assert_true(fits);
    /* weights and gradients alone are 864 bytes */
    assert_int_equal(
        candidate_fits(&c.item[0], nets_registry, LM_F32, OPTIMIZER_SGD, 863, &fits, &err), LM_OK);
    assert_false(fits);
    candidates_free(&c);
    points_free(&p);
    observations_free(obs);
    workloads_free(loads);
}

static void networks_too_large_are_passed_over(void **state)
{
    static const int64_t one[] = { 1 }, file[] = { 0 };
    candidate_ranges     r = { one, file, one, 1, 1, 1, LM_F32, 107 };
    workloads           *loads;
    candidates           c;
    lm_error             err;

    (void)state;
    assert_int_equal(workloads_new(nets_registry, &loads, &err), LM_OK);
    assert_int_equal(candidates_new(&c, &err), LM_OK);
    assert_int_equal(candidates_add(&c, loads, "small.ini", &r, &err), LM_OK);
    assert_int_equal(c.n, 0);
    r.most_params = 108;
    assert_int_equal(candidates_add(&c, loads, "small.ini", &r, &err), LM_OK);
    assert_int_equal(c.n, 1);
    assert_int_equal(candidates_add(&c, loads, "none.ini", &r, &err), LM_E_IO);
    candidates_free(&c);
    workloads_free(loads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_before_and_after_are_those_of_the_formula),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(a_point_costs_its_repetitions),
        cmocka_unit_test(candidates_are_what_is_not_measured_yet),
        cmocka_unit_test(networks_too_large_are_passed_over),
    };

    return cmocka_run_group_tests(tests, enter, nets_leave);
}
