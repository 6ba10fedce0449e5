/* Runs, plans and answers from hand-made coefficients, by hand and by brute force. */
#include "linear_net.h"

#include "machine/machine.h"
#include "plan/assumptions.h"

/*
 * A step of b samples takes 0.064 b + 2 * 0.5 forward, 0.128 b backward, 0.32 update; a ring of N
 * sends 2 (N - 1) messages of 0.25 s and 2 (N - 1) / N * 128 bytes of 0.001 s. An inference takes
 * 0.032 b.
 */
static calibration *machine(const char *more)
{
    char         text[2000];
    calibration *cal = NULL;
    lm_error     err = { LM_OK, "" };

    snprintf(
        text, sizeof text,
        "[machine]\nmax_ranks = 8\n"
        "[counts.forward]\nflops = 0.001 s/FLOP\ninputs = 0 s/element\noutputs = 0 s/element\n"
        "weights = 0 s/element\nlayers = 0.5 s/layer\n"
        "[counts.backward]\nflops = 0.002 s/FLOP\ninputs = 0 s/element\noutputs = 0 s/element\n"
        "weights = 0 s/element\nlayers = 0 s/layer\n"
        "[counts.update]\nlayers = 0 s/layer\nweights = 0.01 s/element\n"
        "[counts.sync]\nring_steps = 0.25 s/message\nring_bytes = 0.001 s/byte\n%s",
        more);
    machine_load(folder_file("m.ini", text), &cal, &err);
    assert_string_equal(err.text, "");
    return cal;
}

static const char inference[] =
    "[counts.inference]\nflops = 0.0005 s/FLOP\ninputs = 0 s/element\noutputs = 0 s/element\n"
    "weights = 0 s/element\nlayers = 0 s/layer\n";

/* each part from 0.8 to 1.5 times its time, all-reduces from 0.5 to 3 times */
static const char bounds[] = "[counts.intervals]\nforward = 0.8 .. 1.5, groups 3\n"
                             "backward = 0.8 .. 1.5, groups 3\nupdate = 0.8 .. 1.5, groups 3\n"
                             "sync = 0.5 .. 3, groups 3\n";

static double step_of(int64_t batch, int64_t nodes)
{
    const double n = (double)nodes;

    return 1 + 0.192 * (double)batch + 0.32 +
           (nodes > 1 ? 2 * (n - 1) * 0.25 + 2 * (n - 1) / n * 0.128 : 0);
}

static predictor who(const calibration *cal)
{
    return (predictor){ .by      = step_model_of(cal, "counts"),
                        .cal     = cal,
                        .loads   = loads,
                        .model   = "counts",
                        .network = "n.ini",
                        .dtype   = LM_F32 };
}

static const batch_limits any = { { { MEMORY_BATCH_MAX, MEMORY_BATCH_MAX },
                                    { MEMORY_BATCH_MAX, MEMORY_BATCH_MAX } } };

/* Of 2 USD an hour. */
static plan_machine at(const predictor *p)
{
    return (plan_machine){
        .who = p, .fits = { any }, .fits_less = { any }, .hour = { { 2, "USD" }, { NAN, "" } }
    };
}

static const int64_t to_eight[]  = { 1, 2, 3, 4, 5, 6, 7, 8 };
static const int64_t two_sizes[] = { 5, 10 };

static plan_question question(void)
{
    return (plan_question){ .training = { .epochs = 3, .dataset = 1000 },
                            .nodes    = to_eight,
                            .n_nodes  = 8,
                            .batch    = two_sizes,
                            .n_batch  = 2,
                            .setup    = step_setup_of(1, 1) };
}

static const plan_view   as_expected;
static const plan_limits no_limits = { INFINITY, INFINITY, ANY_MACHINE };

/* 1001 samples by 100: 11 steps, the last for one sample; 250 by 4 devices of 30: 3 passes. */
static void a_run_is_epochs_of_steps_and_evaluations(void **state)
{
    const training t = { .epochs = 90, .dataset = 1001, .evaluate = 250, .startup = 300 };

    (void)state;
    assert_int_equal(training_steps(&t, 100), 11);
    assert_int_equal(training_steps(&t, 1001), 1);
    assert_int_equal(training_steps(&t, 5000), 1);
    assert_int_equal(training_steps(&t, 1), 1001);
    assert_int_equal(training_evaluations(&t, 30, 4), 3);
    assert_int_equal(training_evaluations(&t, 250, 1), 1);
    assert_int_equal(training_evaluations(&(training){ .epochs = 1, .dataset = 1 }, 30, 4), 0);
    assert_close(training_seconds(&t, 11, 0.5, 3, 0.25), 300 + 90 * (11 * 0.5 + 3 * 0.25), 1e-14);
    /* what there is none of is not read */
    assert_close(training_seconds(&t, 11, 0.5, 0, NAN), 300 + 90 * 11 * 0.5, 1e-14);
}

/* 4 nodes, batch 10: step 1 + 1.92 + 0.32 + 1.5 + 0.192 = 4.932, 25 steps an epoch, 3 epochs:
 * 369.9 s; 4 nodes of 2 USD an hour: 0.822 USD. */
static void plans_are_every_number_of_nodes_and_every_batch(void **state)
{
    calibration        *cal = machine("");
    const predictor     p   = who(cal);
    const plan_machine  m   = at(&p);
    const plan_question q   = question();
    plan_set            set = { .plan = NULL };
    lm_error            err = { LM_OK, "" };

    (void)state;
    assert_int_equal(plan_search(&m, 0, &q, &set, &err), LM_OK);
    assert_int_equal(set.n, 16);
    for (size_t i = 0; i < set.n; i++) {
        const plan   *x     = &set.plan[i];
        const int64_t nodes = to_eight[i / 2], batch = two_sizes[i % 2];
        const double  step = step_of(batch, nodes), steps = ceil(1000.0 / (double)(batch * nodes));

        assert_int_equal(x->setup.nodes, nodes);
        assert_int_equal(x->setup.batch, batch);
        assert_int_equal(x->global_batch, nodes * batch);
        assert_close(x->step.seconds[TIME_EXPECTED], step, 1e-14);
        assert_close(plan_seconds(x, &as_expected), 3 * steps * step, 1e-14);
        assert_close(plan_cost(x, &m, &as_expected), 3 * steps * step / 3600 * 2 * (double)nodes,
                     1e-14);
        assert_close(plan_device_hours(x, &as_expected), 3 * steps * step / 3600 * (double)nodes,
                     1e-14);
    }
    assert_close(plan_seconds(&set.plan[7], &as_expected), 369.9, 1e-12);
    assert_close(plan_cost(&set.plan[7], &m, &as_expected), 0.822, 1e-12);
    plan_set_free(&set);
    calibration_free(cal);
}

/* 500 samples on 2 devices of 10: 25 passes of 0.032 * 10 by the formula of inference; by that of
 * training's forward pass 0.64 + 1 each. */
static void an_evaluation_is_a_forward_pass(void **state)
{
    static const int64_t two = 2, ten = 10;
    plan_question        q = question();

    (void)state;
    q.training.evaluate = 500;
    q.nodes             = &two;
    q.batch             = &ten;
    q.n_nodes = q.n_batch = 1;
    for (int known = 0; known < 2; known++) {
        calibration       *cal  = machine(known ? inference : "");
        const predictor    p    = who(cal);
        const plan_machine m    = at(&p);
        plan_set           set  = { .plan = NULL };
        const double       pass = known ? 0.32 : 1.64;

        assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
        assert_int_equal(set.plan[0].evaluations, 25);
        assert_close(plan_seconds(&set.plan[0], &as_expected),
                     3 * (50 * step_of(10, 2) + 25 * pass), 1e-13);
        plan_set_free(&set);
        calibration_free(cal);
    }
}

/* 60 samples of a step: on 2 nodes each takes 30, with batches of 10 at most in 3 micro-steps; on
 * 6 nodes 10 in one, which batches of 16 make as well. */
static void a_global_batch_is_taken_in_micro_steps(void **state)
{
    static const int64_t nodes[] = { 2, 6, 64 }, batch[] = { 10, 16 };
    calibration         *cal = machine("");
    const predictor      p   = who(cal);
    const plan_machine   m   = at(&p);
    plan_question        q   = question();
    plan_set             set = { .plan = NULL };

    (void)state;
    q.global_batch = 60;
    q.nodes        = nodes;
    q.n_nodes      = 3;
    q.batch        = batch;
    assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
    assert_int_equal(set.n, 3);
    assert_int_equal(set.idle, 2); /* 64 devices, twice */
    assert_int_equal(set.plan[0].setup.batch, 10);
    assert_int_equal(set.plan[0].setup.sync.accumulation, 3);
    assert_int_equal(set.plan[1].setup.batch, 15);
    assert_int_equal(set.plan[1].setup.sync.accumulation, 2);
    assert_int_equal(set.plan[2].setup.nodes, 6);
    assert_int_equal(set.plan[2].setup.batch, 10);
    for (size_t i = 0; i < set.n; i++) {
        assert_int_equal(set.plan[i].global_batch, 60);
        assert_int_equal(set.plan[i].steps, 17);
    }
    plan_set_free(&set);
    calibration_free(cal);
}

/* Memory of 7 samples, 5 where a tenth of it is not free; a data set of 12. */
static void what_does_not_fit_is_no_plan(void **state)
{
    static const int64_t batch[] = { 5, 6, 7, 8 }, nodes[] = { 1, 2 };
    calibration         *cal = machine("");
    const predictor      p   = who(cal);
    plan_machine         m   = at(&p);
    plan_question        q   = question();
    plan_set             set = { .plan = NULL };

    (void)state;
    for (int i = 0; i < 4; i++) {
        m.fits[0].largest[i / 2][i % 2]      = 7;
        m.fits_less[0].largest[i / 2][i % 2] = 5;
    }
    q.training.dataset = 12;
    q.nodes            = nodes;
    q.n_nodes          = 2;
    q.batch            = batch;
    q.n_batch          = 4;
    assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
    assert_int_equal(set.n, 5); /* 5, 6, 7 on one; 5, 6 on two */
    assert_int_equal(set.too_large, 1);
    assert_int_equal(set.beyond_dataset, 2);
    for (size_t i = 0; i < set.n; i++)
        assert_true(set.plan[i].fits_less == (set.plan[i].setup.batch == 5));
    plan_set_free(&set);
    calibration_free(cal);
}

/* Least squares may say that a step takes less than nothing: 0.001 * 64 b - 1 below 16 samples. */
static void what_takes_no_time_is_no_plan(void **state)
{
    static const int64_t batch[] = { 8, 32 }, one = 1;
    calibration         *cal = NULL;
    predictor            p;
    plan_machine         m;
    plan_question        q   = question();
    plan_set             set = { .plan = NULL };

    (void)state;
    assert_int_equal(
        machine_load(folder_file("o.ini", "[machine]\nmax_ranks = 1\n[convmeter.step]\n"
                                          "flops = 0.001 s/FLOP\ninputs = 0 s/element\n"
                                          "outputs = 0 s/element\none = -1 s/step\n"
                                          "layers = 0 s/layer\nweights = 0 s/element\n"),
                     &cal, NULL),
        LM_OK);
    p         = who(cal);
    p.model   = "convmeter";
    m         = at(&p);
    q.nodes   = &one;
    q.n_nodes = 1;
    q.batch   = batch;
    assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
    assert_int_equal(set.n, 1);
    assert_int_equal(set.no_time, 1);
    assert_int_equal(set.plan[0].setup.batch, 32);
    plan_set_free(&set);
    calibration_free(cal);
}

static void what_cannot_be_asked_is_refused(void **state)
{
    static const int64_t zero = 0;
    calibration         *cal  = machine("");
    const predictor      p    = who(cal);
    const plan_machine   m    = at(&p);
    plan_question        q    = question();
    plan_set             set  = { .plan = NULL };
    lm_error             err;

    (void)state;
    q.training.epochs = 0;
    assert_int_equal(plan_search(&m, 0, &q, &set, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "0 epochs of 1000 samples: both must be 1 or more, evaluation and start-up not "
                 "below 0");
    q              = question();
    q.global_batch = 1001;
    assert_int_equal(plan_search(&m, 0, &q, &set, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "a global batch of 1001 is more than the data set's 1000 samples: take a smaller "
                 "one");
    q         = question();
    q.batch   = &zero;
    q.n_batch = 1;
    assert_int_equal(plan_search(&m, 0, &q, &set, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "batch 0: must be 1 or more");
    q         = question();
    q.nodes   = &zero;
    q.n_nodes = 1;
    assert_int_equal(plan_search(&m, 0, &q, &set, &err), LM_E_ARG);
    assert_int_equal(set.n, 0);
    plan_set_free(&set);
    calibration_free(cal);
}

/* The best by each goal and limit, against all plans there are. */
static void the_answer_is_the_best_of_all_plans(void **state)
{
    static const double seconds[] = { INFINITY, 800, 400, 300, 250, 100 },
                        cost[]    = { INFINITY, 1, 0.7, 0.6, 0.5, 0.3 };
    calibration        *cal       = machine("");
    const predictor     p         = who(cal);
    const plan_machine  m         = at(&p);
    const plan_question q         = question();
    plan_set            set       = { .plan = NULL };

    (void)state;
    assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
    for (size_t k = 0; k < 36; k++)
        for (plan_goal g = GOAL_NODES; g <= GOAL_TIME; g++) {
            const plan_limits limits = { seconds[k / 6], cost[k % 6], ANY_MACHINE };
            const plan       *x      = plan_choose(&set, &m, g, &limits, &as_expected);
            double            best   = INFINITY;

            for (size_t i = 0; i < set.n; i++)
                if (plan_seconds(&set.plan[i], &as_expected) <= limits.seconds &&
                    plan_cost(&set.plan[i], &m, &as_expected) <= limits.cost)
                    best = fmin(best, plan_value(&set.plan[i], &m, g, &as_expected));
            assert_true(x ? plan_value(x, &m, g, &as_expected) == best : isinf(best));
        }
    plan_set_free(&set);
    calibration_free(cal);
}

/* By comparing each plan with each other. */
static void dominated_plans_are_those_that_another_beats(void **state)
{
    calibration    *cal   = machine("");
    const predictor p     = who(cal);
    plan_machine    m[]   = { at(&p), at(&p) };
    plan_question   q     = question();
    plan_set        set   = { .plan = NULL };
    size_t          front = 0;

    (void)state;
    m[1].hour[PRICE_LIST].amount = 1.5;
    q.setup.devices              = 2;
    assert_int_equal(plan_search(&m[0], 0, &q, &set, NULL), LM_OK);
    q.setup.devices = 1;
    assert_int_equal(plan_search(&m[1], 1, &q, &set, NULL), LM_OK);
    assert_int_equal(set.n, 32);
    assert_int_equal(plan_mark_dominated(&set, m, &as_expected, NULL), LM_OK);
    for (size_t i = 0; i < set.n; i++) {
        const double s = plan_seconds(&set.plan[i], &as_expected),
                     c = plan_cost(&set.plan[i], m, &as_expected);
        bool beaten    = false;

        for (size_t k = 0; k < set.n; k++) {
            const double s2 = plan_seconds(&set.plan[k], &as_expected),
                         c2 = plan_cost(&set.plan[k], m, &as_expected);

            beaten |= s2 <= s && c2 <= c && (s2 < s || c2 < c || k < i);
        }
        assert_true(set.plan[i].dominated == beaten);
        front += !beaten;
    }
    assert_true(front > 2 && front < set.n);
    /* without the price of one, its plans stand beside its own, and so do those of the other */
    m[1].hour[PRICE_LIST].amount = NAN;
    assert_int_equal(plan_mark_dominated(&set, m, &as_expected, NULL), LM_OK);
    for (size_t i = 0; i < set.n; i++) {
        bool beaten = false;

        for (size_t k = 0; k < set.n; k++)
            beaten |= set.plan[k].machine == set.plan[i].machine &&
                      plan_seconds(&set.plan[k], &as_expected) <
                          plan_seconds(&set.plan[i], &as_expected) &&
                      plan_device_hours(&set.plan[k], &as_expected) <
                          plan_device_hours(&set.plan[i], &as_expected);
        if (beaten)
            assert_true(set.plan[i].dominated);
    }
    plan_set_free(&set);
    calibration_free(cal);
}

/* Batch 10, nodes n, 3 ceil(100 / n) steps: 972.0, 642.2, 492.5, 369.9, ... s; with parts at 1.5
 * and all-reduces at 3 times 1.5 * 3.24 + 3 * 0.756 on 3 nodes. */
static void an_answer_says_how_sure_it_is(void **state)
{
    static const int64_t ten = 10;
    calibration         *cal = machine(bounds);
    const predictor      p   = who(cal);
    const plan_machine   m   = at(&p);
    plan_question        q   = question();
    plan_set             set = { .plan = NULL };
    plan_answer          a;
    plan_limits          limits = { 500, INFINITY, 0 };
    double               low = 0, high = 0;

    (void)state;
    q.batch   = &ten;
    q.n_batch = 1;
    assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
    assert_true(plan_answer_find(&set, &m, GOAL_NODES, &limits, &as_expected, &a));
    assert_int_equal(a.asked.answer->setup.nodes, 3);
    assert_int_equal(a.fewer->setup.nodes, 2);
    assert_true(plan_seconds(a.fewer, &as_expected) > 500);
    assert_true(a.bounded);
    /* by hand: the first number of nodes that is in time with all at their bounds */
    for (int64_t n = 8; n >= 1; n--) {
        const double compute = 3.24, sync = step_of(10, n) - compute,
                     steps = 3 * ceil(100 / (double)n);

        if (steps * (0.8 * compute + 0.5 * sync) <= 500)
            low = (double)n;
        if (steps * (1.5 * compute + 3 * sync) <= 500)
            high = (double)n;
    }
    assert_int_equal(a.low->setup.nodes, (int64_t)low);
    if (high > 0)
        assert_int_equal(a.high->setup.nodes, (int64_t)high);
    else
        assert_null(a.high);
    assert_close(a.asked.answer->run.seconds[TIME_HIGH],
                 102 * (1.5 * 3.24 + 3 * (step_of(10, 3) - 3.24)), 1e-13);
    limits.seconds = 1;
    assert_false(plan_answer_find(&set, &m, GOAL_NODES, &limits, &as_expected, &a));
    plan_set_free(&set);
    calibration_free(cal);
}

/* On 4 nodes: compute 3.24 at 1.5 times, all-reduces 1.692 at 3 times: the latter add more. */
static void the_assumption_that_moves_the_answer_most_comes_first(void **state)
{
    static const int64_t ten = 10, four = 4;
    calibration         *cal = machine(bounds);
    const predictor      p   = who(cal);
    const plan_machine   m   = at(&p);
    plan_question        q   = question();
    plan_set             set = { .plan = NULL };
    plan_answer          a;
    bool                 compute = false;

    (void)state;
    q.batch   = &ten;
    q.nodes   = &four;
    q.n_nodes = q.n_batch = 1;
    assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
    assert_close(set.plan[0].step.seconds[TIME_COMPUTE_HIGH], 1.5 * 3.24 + 1.692, 1e-14);
    assert_close(set.plan[0].step.seconds[TIME_COMPUTE_LOW], 0.8 * 3.24 + 1.692, 1e-14);
    assert_close(set.plan[0].step.seconds[TIME_SYNC_HIGH], 3.24 + 3 * 1.692, 1e-14);
    assert_close(set.plan[0].step.seconds[TIME_SYNC_LOW], 3.24 + 0.5 * 1.692, 1e-14);
    assert_close(set.plan[0].step.seconds[TIME_BEYOND_HIGH], 4.932, 1e-14); /* 4 nodes of 8 */
    assert_true(plan_answer_find(&set, &m, GOAL_TIME, &no_limits, &as_expected, &a));
    assert_true(a.n_hangs_on >= 4);
    assert_string_equal(a.hangs_on[0].of.name, "all-reduces");
    assert_close(a.hangs_on[0].seconds, 75 * (3.24 + 3 * 1.692), 1e-13);
    assert_close(a.hangs_on[0].moved, log((3.24 + 3 * 1.692) / 4.932), 1e-13);
    for (size_t i = 1; i < a.n_hangs_on; i++) {
        assert_true(a.hangs_on[i].moved <= a.hangs_on[i - 1].moved);
        compute |= !strcmp(a.hangs_on[i].of.name, "compute");
    }
    assert_true(compute);
    plan_set_free(&set);
    calibration_free(cal);
}

/* Beside a backward pass that hides them, longer all-reduces cost less than they grow by. */
static void hidden_all_reduces_matter_less(void **state)
{
    static const int64_t ten = 10, four = 4;
    calibration         *cal = machine(bounds);
    const predictor      p   = who(cal);
    const plan_machine   m   = at(&p);
    plan_question        q   = question();
    plan_set             set = { .plan = NULL };
    double               grown;

    (void)state;
    q.batch   = &ten;
    q.nodes   = &four;
    q.n_nodes = q.n_batch = 1;
    assert_int_equal(sync_policy_parse("tensor", &q.setup.sync, NULL), LM_OK);
    assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
    grown = set.plan[0].step.seconds[TIME_SYNC_HIGH] - set.plan[0].step.seconds[TIME_EXPECTED];
    assert_true(grown >= 0 && grown <= 2 * 1.692 + 1e-12);
    assert_true(set.plan[0].step.seconds[TIME_EXPECTED] <= 4.932 + 1e-12);
    assert_true(set.plan[0].step.seconds[TIME_COMPUTE_HIGH] >=
                set.plan[0].step.seconds[TIME_EXPECTED]);
    plan_set_free(&set);
    calibration_free(cal);
}

static void spot_prices_and_less_memory_are_assumptions(void **state)
{
    static const int64_t one = 1;
    calibration         *cal = machine("");
    const predictor      p   = who(cal);
    plan_machine         m   = at(&p);
    plan_question        q   = question();
    plan_set             set = { .plan = NULL };
    plan_answer          a;
    bool                 spot = false, memory = false;

    (void)state;
    m.hour[PRICE_SPOT] = (money){ 0.5, "USD" };
    for (int i = 0; i < 4; i++) {
        m.fits[0].largest[i / 2][i % 2]      = 10;
        m.fits_less[0].largest[i / 2][i % 2] = 9;
    }
    q.nodes   = &one;
    q.n_nodes = 1;
    assert_int_equal(plan_search(&m, 0, &q, &set, NULL), LM_OK);
    assert_true(plan_answer_find(&set, &m, GOAL_COST, &no_limits, &as_expected, &a));
    assert_int_equal(a.asked.answer->setup.batch, 10);
    assert_false(a.bounded); /* no interval */
    for (size_t i = 0; i < a.n_hangs_on; i++) {
        if (!strcmp(a.hangs_on[i].of.name, "price")) {
            spot = true;
            assert_close(a.hangs_on[i].cost, 300 * 3.24 / 3600 * 0.5, 1e-13);
        }
        if (!strcmp(a.hangs_on[i].of.name, "memory")) {
            memory = true;
            assert_int_equal(a.hangs_on[i].answer->setup.batch, 5);
            assert_close(a.hangs_on[i].cost, 600 * step_of(5, 1) / 3600 * 2, 1e-13);
        }
    }
    assert_true(spot && memory);
    assert_string_equal(a.hangs_on[0].of.name, "price"); /* a quarter moves it most */
    plan_set_free(&set);
    calibration_free(cal);
}

/* Weights 128 B, momentum as much; more samples need more. */
static void batches_are_limited_by_memory(void **state)
{
    const device_room  none = { .bytes = 0 };
    network           *net  = NULL;
    const bind_options b    = { .dtype = LM_F32 };
    step_setup         s    = step_setup_of(1, 1);
    batch_limits       limits;
    memory_use         use;
    lm_error           err = { LM_OK, "" };

    (void)state;
    assert_int_equal(network_load("n.ini", NULL, &net, &err), LM_OK);
    assert_int_equal(batch_limits_of(net, nets_registry, &b, &s.sync, s.optimizer, NULL,
                                     &(device_room){ .bytes = 0 }, &limits, &err),
                     LM_OK);
    assert_int_equal(batch_limit(&limits, 1, 1), MEMORY_BATCH_MAX);
    assert_int_equal(batch_limits_of(net, nets_registry, &b, &s.sync, s.optimizer, NULL,
                                     &(device_room){ .bytes = 10000, .overhead = 2000 }, &limits,
                                     &err),
                     LM_OK);
    for (int k = 0; k < 4; k++) {
        const device_room    room = { .overhead = 2000 };
        const memory_options with =
            room_options(&s.sync, s.optimizer, b.dtype, &room, k / 2, k % 2);
        bind_options at_limit = b;

        at_limit.batch = batch_limit(&limits, 1 + k / 2, 1 + k % 2);
        assert_true(at_limit.batch > 1);
        assert_int_equal(memory_of_step(net, nets_registry, &at_limit, &with, &use, NULL, &err),
                         LM_OK);
        assert_true(use.peak <= 10000);
        at_limit.batch++;
        assert_int_equal(memory_of_step(net, nets_registry, &at_limit, &with, &use, NULL, &err),
                         LM_OK);
        assert_true(use.peak > 10000);
    }

    /* Weights of 16 bit: as `memory --masters`; tensors by themselves need no buckets. */
    assert_false(room_options(&s.sync, s.optimizer, LM_F32, &none, true, false).masters);
    assert_true(room_options(&s.sync, s.optimizer, LM_BF16, &none, true, false).masters);
    assert_int_equal(room_options(&s.sync, s.optimizer, LM_F32, &none, true, false).nodes, 2);
    s.sync.rule = SYNC_TENSOR;
    assert_int_equal(room_options(&s.sync, s.optimizer, LM_F32, &none, true, false).nodes, 1);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_epochs_of_steps_and_evaluations),
        cmocka_unit_test(plans_are_every_number_of_nodes_and_every_batch),
        cmocka_unit_test(an_evaluation_is_a_forward_pass),
        cmocka_unit_test(a_global_batch_is_taken_in_micro_steps),
        cmocka_unit_test(what_does_not_fit_is_no_plan),
        cmocka_unit_test(what_takes_no_time_is_no_plan),
        cmocka_unit_test(what_cannot_be_asked_is_refused),
        cmocka_unit_test(the_answer_is_the_best_of_all_plans),
        cmocka_unit_test(dominated_plans_are_those_that_another_beats),
        cmocka_unit_test(an_answer_says_how_sure_it_is),
        cmocka_unit_test(the_assumption_that_moves_the_answer_most_comes_first),
        cmocka_unit_test(hidden_all_reduces_matter_less),
        cmocka_unit_test(spot_prices_and_less_memory_are_assumptions),
        cmocka_unit_test(batches_are_limited_by_memory),
    };

    return cmocka_run_group_tests(tests, linear_net_enter, linear_net_leave);
}
