/* What is written of the times of two ranks: threads, with a backend that says what it is told. */
#include "nets.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "measure/harness.h"
#include "measure/trust.h"
#include "ranks/watchdog.h"

/* ---- a world of two threads ------------------------------------------------------------------ */

enum { RANKS = 2, ROOM = 64 };

static struct shared {
    pthread_barrier_t meeting;
    double            said[RANKS][ROOM];
} shared;

struct world {
    int rank, size;
};

static void meet_all(const world *w)
{
    if (w->size > 1)
        pthread_barrier_wait(&shared.meeting);
}

int world_rank(const world *w)
{
    return w->rank;
}

int world_size(const world *w)
{
    return w->size;
}

static void say(const world *w, const void *mine, int n)
{
    assert_true((size_t)n <= sizeof shared.said[0]);
    memcpy(shared.said[w->rank], mine, (size_t)n);
    meet_all(w);
}

void world_max(const world *w, double *values, int n)
{
    say(w, values, n * (int)sizeof *values);
    for (int r = 0; r < w->size; r++)
        for (int i = 0; i < n; i++)
            values[i] = fmax(values[i], shared.said[r][i]);
    meet_all(w);
}

void world_broadcast(const world *w, void *bytes, int n)
{
    say(w, bytes, n);
    memcpy(bytes, shared.said[0], (size_t)n);
    meet_all(w);
}

void world_gather(const world *w, const void *mine, int n, void *all)
{
    say(w, mine, n);
    for (int r = 0; r < w->size; r++)
        memcpy((char *)all + r * n, shared.said[r], (size_t)n);
    meet_all(w);
}

void world_barrier(const world *w)
{
    meet_all(w);
}

void world_wait(const world *w)
{
    (void)w;
}

noreturn void world_abort(const world *w, int code)
{
    (void)w;
    exit(code);
}

void world_hosts_of(const world *w, char (*name)[WORLD_HOST])
{
    for (int r = 0; r < w->size; r++)
        strcpy(name[r], "here");
}

/* ---- a backend that takes as long as it is told ---------------------------------------------- */

typedef struct made_up {
    backend         base; /* first */
    double          seconds[N_PHASES];
    int             runs[N_PHASES];
    gradient_bucket gradient;
    bool            evaluation; /* of the case that was prepared */
    size_t          n_kernels[N_PHASES];
} made_up;

static lm_status made_up_prepare(backend *self, const bench_case *what, void **work, lm_error *err)
{
    made_up *m = (made_up *)(void *)self;

    (void)err;
    m->evaluation = what->evaluation;
    memcpy(m->n_kernels, what->n_kernels, sizeof m->n_kernels);
    *work = self;
    return LM_OK;
}

static lm_status made_up_run(backend *self, void *work, phase f, backend_time *out, lm_error *err)
{
    made_up *m = (made_up *)(void *)self;

    (void)work;
    (void)err;
    m->runs[f]++;
    *out = (backend_time){ m->seconds[f], NAN };
    return LM_OK;
}

static void made_up_release(backend *self, void *work)
{
    (void)self;
    (void)work;
}

static lm_status made_up_gradients(backend *self, void *work, const gradient_bucket **out,
                                   size_t *n, lm_error *err)
{
    made_up *m = (made_up *)(void *)self;

    (void)work;
    (void)err;
    m->gradient = (gradient_bucket){ .bytes = 4, .dtype = LM_F32, .needs = 1 };
    *out        = &m->gradient;
    *n          = 1;
    return LM_OK;
}

static lm_status made_up_step(backend *self, void *work, const step_sync *sync, step_time *out,
                              lm_error *err)
{
    const double *t = ((made_up *)(void *)self)->seconds;

    (void)work;
    (void)sync;
    (void)err;
    *out = (step_time){ { t[PHASE_FORWARD], NAN },
                        { t[PHASE_BACKWARD], NAN },
                        { t[PHASE_SYNC], NAN },
                        { t[PHASE_UPDATE], NAN } };
    return LM_OK;
}

static const backend_type made_up_type = {
    .name      = "made up",
    .prepare   = made_up_prepare,
    .run       = made_up_run,
    .release   = made_up_release,
    .gradients = made_up_gradients,
    .run_step  = made_up_step,
    .serves    = 1u << PHASE_FORWARD | 1u << PHASE_BACKWARD | 1u << PHASE_SYNC | 1u << PHASE_UPDATE,
    .virtual   = 1,
};

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct rank {
    world              w;
    made_up            device;
    const sweep       *plan;
    const sweep_point *point;
    point_result       result;
    lm_status          status;
    lm_error           err;
} rank;

static void *measure_on(void *context)
{
    rank  *r = context;
    trust *t = trust_new(&r->plan->trust, 1);
    bench  b = { .compute = &r->device.base, .reg = nets_registry, .plan = r->plan, .trust = t };

    r->device.base.type = &made_up_type;
    r->result           = (point_result){ .status = "ok" };
    r->status           = harness_measure(&b, &r->w, r->point, &r->result, &r->err);
    trust_free(t);
    return NULL;
}

static void measure_on_both(rank r[RANKS], const sweep *plan, const sweep_point *point)
{
    pthread_t other;

    pthread_barrier_init(&shared.meeting, NULL, RANKS);
    for (int i = 0; i < RANKS; i++) {
        r[i].w     = (world){ i, RANKS };
        r[i].plan  = plan;
        r[i].point = point;
    }
    assert_int_equal(pthread_create(&other, NULL, measure_on, &r[1]), 0);
    measure_on(&r[0]);
    pthread_join(other, NULL);
    pthread_barrier_destroy(&shared.meeting);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(r[i].status, LM_OK);
}

static int enter(void **state)
{
    if (nets_enter(state))
        return -1;
    folder_file("one.ini", "[network]\nname = one\n[x]\ntype = input\nshape = 3\n"
                           "[l]\ntype = linear\nfeatures = 2\n");
    return 0;
}

static sweep_point one_on(int64_t ranks, int64_t bucket_bytes)
{
    return (sweep_point){ .row    = { .kind         = OBS_NETWORK,
                                      .name         = "one.ini",
                                      .input        = "3",
                                      .algorithm    = "default",
                                      .geometry     = "",
                                      .optimizer    = "",
                                      .settings     = "",
                                      .flags        = "",
                                      .batch        = 1,
                                      .dtype        = LM_F32,
                                      .ranks        = ranks,
                                      .hosts        = 1,
                                      .bucket_bytes = bucket_bytes },
                          .counts = { .params = 8, .param_bytes = 32 } };
}

static const sweep twice = { .stop = { .warmup = 0, .min_repeats = 2, .max_repeats = 2 } };

static void check_times(const point_result *r, double f, double b, double s, double u, double step)
{
    assert_close(r->phase[PHASE_FORWARD].median, f, 1e-12);
    assert_close(r->phase[PHASE_BACKWARD].median, b, 1e-12);
    assert_close(r->phase[PHASE_SYNC].median, s, 1e-12);
    assert_close(r->phase[PHASE_UPDATE].median, u, 1e-12);
    assert_close(r->phase[PHASE_STEP].median, step, 1e-12);
}

/* Each phase is that of the slower rank: 5, 6, 2, 4. But both reach the all-reduce after 5 + 3 and
 * 1 + 6, and end 2 + 1 and 1 + 4 behind it: 8 + 5, not 17. */
static void a_step_ends_with_the_slowest_rank_not_with_the_slowest_phases(void **state)
{
    const sweep_point point = one_on(2, 0);
    rank r[RANKS] = { { .device.seconds = { 5, 3, 2, 1 } }, { .device.seconds = { 1, 6, 1, 4 } } };

    (void)state;
    measure_on_both(r, &twice, &point);
    for (int i = 0; i < RANKS; i++) {
        check_times(&r[i].result, 5, 6, 2, 4, 13);
        assert_close(r[i].result.spent, 26, 1e-12);
        assert_int_equal(r[i].result.repeats, 2);
    }
}

/* In buckets nothing but the all-reduces holds them together: 5 + 3 + 2 + 1 and 1 + 6 + 2.5 + 4.
 * The first comes last, after 8, and ends last, after 10: the other waited for it. */
static void with_buckets_a_step_is_the_longest_of_all(void **state)
{
    const sweep_point point    = one_on(2, 1 << 20);
    rank              r[RANKS] = { { .device.seconds = { 5, 3, 2, 1 } },
                                   { .device.seconds = { 1, 6, 2.5, 4 } } };

    (void)state;
    measure_on_both(r, &twice, &point);
    for (int i = 0; i < RANKS; i++)
        check_times(&r[i].result, 5, 6, 2, 4, 13.5);
}

/* Nothing is left for the one that came last: a clock tells no 0. */
static void what_is_hidden_takes_a_nanosecond(void **state)
{
    const sweep_point point = one_on(2, 1 << 20);
    rank r[RANKS] = { { .device.seconds = { 5, 3, 0, 1 } }, { .device.seconds = { 1, 6, 1, 1 } } };

    (void)state;
    measure_on_both(r, &twice, &point);
    for (int i = 0; i < RANKS; i++)
        assert_close(r[i].result.phase[PHASE_SYNC].median * 1e9, 1, 1e-12);
}

static void alone_a_step_is_the_sum_of_its_phases(void **state)
{
    const sweep_point point = one_on(1, 0);
    rank              r     = {
                         .w = { 0, 1 }, .device = { .seconds = { 5, 3, 9, 1 } }, .plan = &twice, .point = &point
    };

    (void)state;
    measure_on(&r);
    assert_int_equal(r.status, LM_OK);
    assert_false(r.result.phase[PHASE_SYNC].measured);
    assert_close(r.result.phase[PHASE_STEP].median, 9, 1e-12);
}

/* Of a linear layer, dropout and a loss: one product, whose time is the row's. */
static void a_pass_in_evaluation_mode_stands_by_itself(void **state)
{
    sweep_point point = one_on(1, 0);
    rank        r     = {
                   .w = { 0, 1 }, .device = { .seconds = { 5, 3, 9, 1 } }, .plan = &twice, .point = &point
    };

    (void)state;
    folder_file("drops.ini", "[network]\nname = drops\n[x]\ntype = input\nshape = 3\n"
                             "[l]\ntype = linear\nfeatures = 2\n[d]\ntype = dropout\n"
                             "[loss]\ntype = cross_entropy\n");
    point.row.name  = "drops.ini";
    point.row.phase = PHASE_INFERENCE;
    measure_on(&r);
    assert_int_equal(r.status, LM_OK);
    assert_true(r.device.evaluation);
    assert_int_equal(r.device.n_kernels[PHASE_FORWARD], 1);
    assert_int_equal(r.device.n_kernels[PHASE_BACKWARD] + r.device.n_kernels[PHASE_UPDATE], 0);
    for (phase p = 0; p < N_PHASES; p++)
        assert_true(r.result.phase[p].measured == (p == PHASE_INFERENCE));
    assert_close(r.result.phase[PHASE_INFERENCE].median, 5, 1e-12);
    point.row.phase = PHASE_FORWARD;
    measure_on(&r);
    assert_false(r.device.evaluation);
    assert_true(r.device.n_kernels[PHASE_FORWARD] > 3); /* dropout and the loss, too */
}

/* Steps of 9 s. With 20 s left three of five warm the machine up, the third beginning after 18,
 * then one is timed; with one second left there is one of each. */
static void time_that_is_up_ends_warming_up_too(void **state)
{
    const sweep_point point   = one_on(1, 0);
    sweep             hurried = { .stop = { .warmup      = 5,
                                            .min_repeats = 4,
                                            .max_repeats = 4,
                                            .max_seconds = 100,
                                            .cut_seconds = 20 } };
    rank              r       = {
                           .w = { 0, 1 }, .device = { .seconds = { 5, 3, 0, 1 } }, .plan = &hurried, .point = &point
    };

    (void)state;
    measure_on(&r);
    assert_int_equal(r.device.runs[PHASE_FORWARD], 3 + 1);
    assert_int_equal(r.result.repeats, 1);
    hurried.stop.cut_seconds = 1;
    memset(r.device.runs, 0, sizeof r.device.runs);
    measure_on(&r);
    assert_int_equal(r.device.runs[PHASE_FORWARD], 1 + 1);
    hurried.stop.cut_seconds = 0;
    memset(r.device.runs, 0, sizeof r.device.runs);
    measure_on(&r);
    assert_int_equal(r.device.runs[PHASE_FORWARD], 5 + 4);
}

/* 1 GB there and back: 20 s between GPUs, 2000 s over a network. */
static void exchanges_have_a_longest_time(void **state)
{
    (void)state;
    assert_close(watchdog_exchange_seconds(1e9, true), 20, 1e-9);
    assert_close(watchdog_exchange_seconds(1e9, false), 2000, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_ends_with_the_slowest_rank_not_with_the_slowest_phases),
        cmocka_unit_test(with_buckets_a_step_is_the_longest_of_all),
        cmocka_unit_test(what_is_hidden_takes_a_nanosecond),
        cmocka_unit_test(exchanges_have_a_longest_time),
        cmocka_unit_test(alone_a_step_is_the_sum_of_its_phases),
        cmocka_unit_test(a_pass_in_evaluation_mode_stands_by_itself),
        cmocka_unit_test(time_that_is_up_ends_warming_up_too),
    };

    return cmocka_run_group_tests(tests, enter, nets_leave);
}
