/* From runs on one GPU to others: files, features, what is learned of a law that is known. */
#include "damaged.h"
#include "folder.h"

#include "base/file.h"
#include "base/random.h"
#include "crossgpu/crossgpu.h"
#include "crossgpu/digest.h"
#include "crossgpu/held_out.h"
#include "kept_text.h"

/* Peaks of 10, 20 and 80 TFLOP/s, bandwidths of 500, 500 and 1000 GB/s. */
static const char boards[] =
    "[Slow]\nf32 = 10 TFLOP/s\nbandwidth = 500 GB/s\npower = 100 W\nclock = 1000 MHz\n"
    "[Fast]\nf32 = 20 TFLOP/s\nbandwidth = 500 GB/s\npower = 200 W\nclock = 2000 MHz\n"
    "[Vast]\nf32 = 80 TFLOP/s\nbandwidth = 1000 GB/s\npower = 400 W\nclock = 2000 MHz\n"
    "[Wide]\nf32 = 40 TFLOP/s\nbandwidth = 2000 GB/s\npower = 300 W\nclock = 1500 MHz\n"
    "[Bare]\nf32 = 80 TFLOP/s\n";

static const double peak[] = { 10, 20, 80 }, width[] = { 500, 500, 1000 },
                    watts[] = { 100, 200, 400 };
static const char *name[]   = { "Slow", "Fast", "Vast" };

static device_list *devices(void)
{
    device_list *d = NULL;
    lm_error     err;

    assert_int_equal(devices_open(folder_file("boards.ini", boards), &d, &err), LM_OK);
    return d;
}

static double uniform(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* Seconds are arithmetic / peak + traffic / bandwidth; what is metered tells the shares on each
 * GPU. Without noise, a law of the roofline's own kind. */
static const char *lawful_runs(size_t n, size_t n_gpus)
{
    FILE    *out   = fopen("runs.csv", "w");
    uint64_t state = 3;

    assert_non_null(out);
    fputs("run,workload,group,gpu,seconds,arithmetic_percent,power_mean_w,same_w,lost_w\n", out);
    for (size_t i = 0; i < n; i++) {
        const double work = exp(4 * uniform(&state)), share = uniform(&state);

        for (size_t g = 0; g < n_gpus; g++) {
            const double a = work * share * 10 / peak[g], b = work * (1 - share) * 500 / width[g];

            fprintf(out, "%zu,w%zu,g%zu,%s,%.9g,%.9g,%.9g,7,%s\n", i, i, i % 6, name[g], a + b,
                    100 * a / (a + b), watts[g] * (0.5 + 0.5 * a / (a + b)), i ? "1" : "N/A");
        }
    }
    fclose(out);
    return "runs.csv";
}

static runs *load(const char *text)
{
    runs    *r = NULL;
    lm_error err;

    assert_int_equal(runs_load(folder_file("r.csv", text), &r, &err), LM_OK);
    return r;
}

static void refused(const char *text, lm_status code, const char *message)
{
    runs    *r = NULL;
    lm_error err;

    assert_int_not_equal(runs_load(folder_file("r.csv", text), &r, &err), LM_OK);
    assert_error(err, code, "%s", message);
}

/* ---- files --------------------------------------------------------------------------------------
 */

static void repeats_become_their_medians(void **state)
{
    runs *r = load(
        "# a title\nworkload,gpu,seconds,p_w\na,T4,3,10\nb,T4,5,\na,T4,1,30\na,T4,2,20\n,T4,9,1\n,T4,8,1\n");

    (void)state;
    assert_int_equal(r->n, 4);
    assert_string_equal(r->run[0].workload, "a");
    assert_string_equal(r->run[0].group, "a");
    assert_int_equal(r->run[0].repeats, 3);
    assert_close(r->run[0].seconds, 2, 0);
    assert_close(r->run[0].value[0], 20, 0);
    assert_int_equal(r->run[0].line, 3);
    assert_true(isnan(r->run[1].value[0]));
    assert_close(r->run[3].seconds, 8, 0); /* without a workload nothing repeats */
    runs_free(r);
}

static void what_is_no_run_is_refused(void **state)
{
    (void)state;
    refused("", LM_E_SYNTAX, "r.csv: empty");
    refused("gpu,seconds\n", LM_E_SYNTAX, "r.csv: no runs");
    refused("gpu,power_w\nT4,1\n", LM_E_SYNTAX,
            "r.csv:1: no column 'seconds': runs have gpu, seconds, workload and any metrics");
    refused("gpu,seconds,gpu\nT4,1,T4\n", LM_E_SYNTAX, "r.csv:1: two columns 'gpu'");
    refused("gpu,seconds,p,p\nT4,1,1,1\n", LM_E_SYNTAX, "r.csv:1: two columns 'p'");
    refused("gpu,seconds,\nT4,1,1\n", LM_E_SYNTAX, "r.csv:1: column 3 has no name");
    refused("gpu,seconds\nT4,0\n", LM_E_ARG,
            "r.csv:2: seconds: expected a number above 0, found '0'");
    refused("gpu,seconds\nT4,12 s\n", LM_E_ARG,
            "r.csv:2: seconds: expected a number above 0, found '12 s'");
    refused("gpu,seconds\n,1\n", LM_E_ARG, "r.csv:2: gpu: not given");
    refused("gpu,seconds\nT4\n", LM_E_SYNTAX, "r.csv:2: 1 fields, the header has 2");
    refused(
        "gpu,seconds,power\nT4,1,25 W\n", LM_E_ARG,
        "r.csv:2: power: '25 W' is no number: units belong into the column's name, power_mean_w, "
        "and other texts are no metrics");
    refused("workload,group,gpu,seconds\na,x,T4,1\na,y,T4,1\n", LM_E_ARG,
            "r.csv:3: workload 'a' is of group 'y' here and of 'x' in line 2");
}

/* ---- traces -------------------------------------------------------------------------------------
 */

static double column_of(const digest *d, const char *wanted)
{
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->column[i].name, wanted))
            return d->column[i].value;
    return NAN;
}

/* 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9; quartiles between the ranks. What is missing does not
 * count. */
static void a_trace_comes_to_distributions(void **state)
{
    static const char    text[] = "timestamp, index, power.draw [W], clocks.sm [MHz]\n"
                                  "2024/02/24 10:00:00.000, 0, 6 W, 900 MHz\n"
                                  "2024/02/24 10:00:00.000, 1, 70 W, 300 MHz\n"
                                  "2024/02/24 10:00:01.000, 0, 1 W, 900 MHz\n"
                                  "2024/02/24 10:00:02.000, 0, [N/A], 900 MHz\n"
                                  "2024/02/24 10:00:03.000, 0, 3 W, 900 MHz\n"
                                  "2024/02/24 10:00:04.000, 0, 2 W, 900 MHz\n";
    const trace_question q      = { .gpu = "0", .interval = NAN };
    const char          *one[] = { "power.draw" }, *none[] = { "fan.speed" };
    /* of 6 1 - 3 2 a second apart, seen 7 s after something else: 1 and 3 are within epochs */
    epoch              some[] = { { 7, 0.5, NAN, EPOCH_WARMUP },
                                  { 7.5, 2, NAN, EPOCH_STEADY },
                                  { 9.5, 1.5, NAN, EPOCH_STEADY },
                                  { 11, 1, NAN, EPOCH_PARTIAL } };
    epochs             e      = { .n = 4, .epoch = some };
    const digest_times all = { NULL, 0 }, within = { &e, 7 };
    digest             d;
    lm_error           err;

    (void)state;
    folder_file("t.csv", text);
    assert_int_equal(digest_trace("t.csv", &q, &within, one, 1, &d, &err), LM_OK);
    assert_close(column_of(&d, "power_draw_mean_w"), 2, 1e-12);
    assert_close(column_of(&d, "power_draw_max_w"), 3, 0);
    digest_free(&d);
    e.n = 1;
    assert_int_equal(digest_trace("t.csv", &q, &within, one, 1, &d, &err), LM_E_ARG);
    assert_string_equal(err.text, "t.csv: power.draw: no values within the steady epochs");
    assert_int_equal(digest_trace("t.csv", &q, &all, NULL, 0, &d, &err), LM_OK);
    assert_int_equal(d.n, 2 * DIGEST_STATISTICS);
    assert_close(column_of(&d, "power_draw_mean_w"), 3, 1e-12);
    assert_close(column_of(&d, "power_draw_std_w"), sqrt(3.5), 1e-12);
    assert_close(column_of(&d, "power_draw_min_w"), 1, 0);
    assert_close(column_of(&d, "power_draw_q25_w"), 1.75, 1e-12);
    assert_close(column_of(&d, "power_draw_q50_w"), 2.5, 1e-12);
    assert_close(column_of(&d, "power_draw_q75_w"), 3.75, 1e-12);
    assert_close(column_of(&d, "power_draw_max_w"), 6, 0);
    assert_close(column_of(&d, "clocks_sm_mean_mhz"), 900, 0);
    digest_free(&d);
    assert_int_equal(digest_trace("t.csv", &q, &all, one, 1, &d, &err), LM_OK);
    assert_int_equal(d.n, DIGEST_STATISTICS);
    digest_free(&d);
    assert_int_equal(digest_trace("t.csv", &q, &all, none, 1, &d, &err), LM_E_NOTFOUND);
    assert_int_equal(digest_trace("-", &q, &all, NULL, 0, &d, &err), LM_E_UNSUPPORTED);
}

/* ---- pairs --------------------------------------------------------------------------------------
 */

static void no_pair(const char *text, lm_status code, const char *message)
{
    device_list *d = devices();
    runs        *r = load(text);
    pairs       *p = NULL;
    lm_error     err;

    assert_int_not_equal(pairs_of(r, d, FEATURES_BOTH, &p, &err), LM_OK);
    assert_error(err, code, "%s", message);
    runs_free(r);
    devices_free(d);
}

static void runs_that_make_no_pairs_say_why(void **state)
{
    (void)state;
    no_pair("workload,gpu,seconds\na,Slow,1\nb,slow,1\n", LM_E_ARG,
            "r.csv: all runs are on one GPU, 'Slow': what another does is learned from the same "
            "workloads on both");
    no_pair(
        "workload,gpu,seconds\na,Slow,1\nb,Fast,1\n", LM_E_ARG,
        "r.csv: no workload ran on two GPUs: give the same work the same text in the column 'workload'");
    no_pair(
        "gpu,seconds\nSlow,1\nFast,1\n", LM_E_ARG,
        "r.csv: no workload ran on two GPUs: give the same work the same text in the column 'workload'");
    no_pair("workload,gpu,seconds\na,Slow,1\na,Bare,1\n", LM_E_NOTFOUND,
            "r.csv:3: gpu: boards.ini:21: device 'Bare' has no bandwidth");
    no_pair("workload,gpu,seconds,power draw\na,Slow,1,1\na,Fast,1,2\n", LM_E_ARG,
            "r.csv: column 'power draw': names have no blanks");
}

/* Shares of what the datasheet has: 50 of 100 W, 1500 of 2000 MHz, a quarter of the seconds. */
static void metrics_lose_their_units(void **state)
{
    device_list *d = devices();
    runs        *r = load("workload,gpu,seconds,a_w,b_mhz,c_percent,d_us,e,f_mib\n"
                                 "a,Slow,2,50,500,40,500000,3,7\na,Fast,1,50,1500,80,0,0.1,9\n");
    pairs       *p = NULL;
    lm_error     err;

    (void)state;
    assert_int_equal(pairs_of(r, d, FEATURES_BOTH, &p, &err), LM_OK);
    assert_int_equal(p->n, 2);
    assert_int_equal(p->s.n_metrics, 5); /* a_w is the same in both */
    assert_string_equal(p->left_out, "a_w (constant)");
    assert_close(p->x[0], 0.5, 1e-12);
    assert_close(p->x[1], 0.4, 1e-12);
    assert_close(p->x[2], 0.5, 1e-12);
    assert_close(p->x[3], asinh(3), 1e-12);
    assert_close(p->x[4], asinh(7), 1e-12); /* of no memory is known how large it is */
    assert_close(p->x[5], log(2), 1e-12);
    assert_close(p->x[6], 0.75, 1e-12);
    assert_close(p->row[0].log_ratio, log(0.5), 1e-12);
    assert_close(p->device[1 * space_n_pair(&p->s)], log(0.5), 1e-12); /* of the peaks */
    pairs_free(p);
    runs_free(r);
    devices_free(d);
}

/* Static features are the pair's figures, dynamic ones the run's metrics; seconds are in both. */
static void features_come_in_groups(void **state)
{
    static const struct {
        unsigned features;
        size_t   run, pair;
    } groups[]     = { { FEATURES_BOTH, 3, 8 }, /* peak, bandwidth, clock, power: twice */
                       { FEATURES_STATIC, 1, 8 },
                       { FEATURES_DYNAMIC, 3, 0 } };
    device_list *d = devices();
    runs        *r = load("workload,gpu,seconds,a_w,c_percent\na,Slow,2,50,40\na,Fast,1,60,80\n"),
         *constant = load("workload,gpu,seconds,a_w\na,Slow,2,50\na,Fast,1,50\n");
    unsigned some  = 0;
    pairs   *p     = NULL;
    lm_error err;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(pairs_of(r, d, groups[i].features, &p, &err), LM_OK);
        assert_int_equal(space_n_run(&p->s), groups[i].run);
        assert_int_equal(space_n_pair(&p->s), groups[i].pair);
        assert_close(p->x[groups[i].run - 1], log(2), 1e-12);
        pairs_free(p);
    }
    assert_int_equal(pairs_of(constant, d, FEATURES_DYNAMIC, &p, &err), LM_E_ARG);
    assert_string_equal(err.text, "r.csv: no dynamic features: left out: a_w (constant)");
    assert_int_equal(features_add("dynamic", &some, &err), LM_OK);
    assert_int_equal(some, FEATURES_DYNAMIC);
    assert_int_equal(features_add("latent", &some, &err), LM_E_ARG);
    runs_free(r);
    runs_free(constant);
    devices_free(d);
}

/* Of shipped devices more figures are known: never a 0 for one that is not. */
static void more_figures_of_datasheets_are_features(void **state)
{
    device_list *d = NULL;
    gpu          t4, v100;
    lm_error     err;

    (void)state;
    assert_int_equal(devices_open(NULL, &d, &err), LM_OK);
    assert_int_equal(gpu_find(d, "T4", &t4, &err), LM_OK);
    assert_int_equal(gpu_find(d, "V100-SXM2-16GB", &v100, &err), LM_OK);
    assert_close(t4.figure[FIGURE_CAPABILITY], 7.5, 0);
    assert_close(t4.figure[FIGURE_TENSOR_CORES], 320, 0);
    assert_close(v100.figure[FIGURE_TENSOR_CORES], 640, 0);
    assert_close(v100.figure[FIGURE_BUS] / t4.figure[FIGURE_BUS], 16, 0);
    assert_close(t4.figure[FIGURE_SHARED], 65536, 0);
    assert_close(t4.figure[FIGURE_THREADS] / v100.figure[FIGURE_THREADS], 0.5, 0);
    assert_true(isnan(t4.figure[FIGURE_F64])); /* unknown is not 0 */
    assert_close(t4.figure[FIGURE_BASE_CLOCK], 585e6, 0);
    devices_free(d);
}

/* Clocks of the memory are those that deviceQuery reported on the authors' instances: 5001, 877 and 715 MHz. A V100 has no cores
 * for ray tracing, a P100 no tensor cores either: features of a pair are finite all the same, log(1 + 40) - log(1 + 0) first. */
static void units_that_a_device_lacks_are_features(void **state)
{
    space        s = { .features = FEATURES_STATIC };
    device_list *d = NULL;
    gpu          t4, v100, p100;
    lm_error     err;
    double       x[2];

    (void)state;
    assert_int_equal(devices_open(NULL, &d, &err), LM_OK);
    assert_int_equal(gpu_find(d, "T4", &t4, &err), LM_OK);
    assert_int_equal(gpu_find(d, "V100-SXM2-16GB", &v100, &err), LM_OK);
    assert_int_equal(gpu_find(d, "P100-PCIE-16GB", &p100, &err), LM_OK);
    assert_close(t4.figure[FIGURE_MEMORY_CLOCK] / 5001e6, 1, 2e-3);
    assert_close(v100.figure[FIGURE_MEMORY_CLOCK] / 877e6, 1, 3e-3);
    assert_close(p100.figure[FIGURE_MEMORY_CLOCK] / 715e6, 1, 2e-3);
    assert_close(v100.figure[FIGURE_RT_CORES] + p100.figure[FIGURE_TENSOR_CORES], 0, 0);
    assert_true(figure_known(FIGURE_RT_CORES, 0) && !figure_known(FIGURE_BUS, 0));
    s.uses[FIGURE_RT_CORES] = true;
    assert_int_equal(space_pair(&s, &t4, &v100, x, &err), LM_OK);
    assert_close(x[0], 3.713572, 1e-6);
    assert_close(x[1], 3.713572, 1e-6);
    s = (space){ .features = FEATURES_STATIC, .uses = { [FIGURE_TENSOR_CORES] = true } };
    assert_int_equal(space_pair(&s, &p100, &v100, x, &err), LM_OK);
    assert_close(x[0], -6.463029, 1e-6);
    assert_close(x[1], 0, 0);
    devices_free(d);
}

/* ---- learning -----------------------------------------------------------------------------------
 */

typedef struct lawful {
    device_list *d;
    runs        *r;
    pairs       *p;
} lawful;

static lawful lawful_pairs(size_t n, size_t n_gpus)
{
    lawful   l = { .d = devices() };
    lm_error err;

    assert_int_equal(runs_load(lawful_runs(n, n_gpus), &l.r, &err), LM_OK);
    assert_int_equal(pairs_of(l.r, l.d, FEATURES_BOTH, &l.p, &err), LM_OK);
    return l;
}

static void lawful_free(lawful *l)
{
    pairs_free(l->p);
    runs_free(l->r);
    devices_free(l->d);
}

static double error_of(const lawful *l, crossgpu_method m, held_out_kind leave)
{
    const crossgpu_options o    = { .method = m, .seed = 1 };
    crossgpu_prediction   *said = calloc(l->p->n, sizeof *said);
    double                 sum  = 0;
    lm_error               err;

    assert_int_equal(held_out_predict(l->p, &o, leave, said, &err), LM_OK);
    for (size_t i = 0; i < l->p->n; i++)
        sum += fabs(said[i].seconds / l->r->run[l->p->row[i].to].seconds - 1);
    free(said);
    return sum / (double)l->p->n;
}

/* Ratios of the law go from 1 to 2, 1/2 and so on: their median is far off for most. */
static void a_law_is_learned_where_medians_are_off(void **state)
{
    lawful l = lawful_pairs(60, 3);

    (void)state;
    assert_int_equal(l.p->n, 60 * 6);
    assert_string_equal(l.p->left_out, "same_w (constant), lost_w (missing in some runs)");
    assert_true(error_of(&l, CROSSGPU_PAIR_RATIO, HELD_OUT_GROUP) > 0.15);
    assert_true(error_of(&l, CROSSGPU_LAYERMETER, HELD_OUT_GROUP) < 0.02);
    assert_true(error_of(&l, CROSSGPU_LAYERMETER, HELD_OUT_ROW) < 0.02);
    assert_true(error_of(&l, CROSSGPU_LAYERMETER, HELD_OUT_WORKLOAD) < 0.02);
    lawful_free(&l);
}

static crossgpu *learned(const lawful *l, crossgpu_method m)
{
    const crossgpu_options o  = { .method = m, .seed = 1, .judge = true };
    size_t                *at = malloc(l->p->n * sizeof *at);
    crossgpu              *c  = NULL;
    lm_error               err;

    for (size_t i = 0; i < l->p->n; i++)
        at[i] = i;
    assert_int_equal(crossgpu_learn(&(selection){ l->p, at, l->p->n }, &o, &c, &err), LM_OK);
    free(at);
    return c;
}

/* The law is the bounds' own: on a GPU of a quarter of the seconds of either kind. */
static void bounds_tell_of_a_gpu_that_never_ran(void **state)
{
    lawful    l = lawful_pairs(60, 3);
    crossgpu *c = learned(&l, CROSSGPU_LAYERMETER);
    gpu       wide;
    lm_error  err;
    double    sum = 0;
    size_t    n   = 0;

    (void)state;
    assert_int_equal(gpu_find(l.d, "Wide", &wide, &err), LM_OK);
    for (size_t i = 0; i < l.r->n; i++) {
        crossgpu_prediction said;

        if (l.p->of[i])
            continue;
        assert_int_equal(crossgpu_predict(c, l.p->x + i * space_n_run(&l.p->s), &l.p->gpu[0], &wide,
                                          &said, &err),
                         LM_OK);
        assert_int_equal(said.basis, BASIS_DATASHEET);
        sum += fabs(said.seconds / (l.r->run[i].seconds / 4) - 1);
        n++;
    }
    assert_int_equal(n, 60);
    assert_true(sum / (double)n < 0.1);
    crossgpu_free(c);
    lawful_free(&l);
}

/* One that is told by its datasheet is another error as target than as source; of two both hold. */
static void bounds_are_of_the_gpu_that_never_ran(void **state)
{
    static const struct {
        bool   from, to; /* learned from */
        double low, high;
    } cases[]   = { { true, false, 0.9, 1.5 },
                    { false, true, 0.7, 1.2 },
                    { false, false, 0.7, 1.5 } };
    lawful    l = lawful_pairs(24, 2);
    crossgpu *c = learned(&l, CROSSGPU_LAYERMETER);
    gpu       g[2];
    lm_error  err;

    (void)state;
    c->unknown[UNKNOWN_TARGET] =
        (interval){ .groups = 3, .low = 0.9, .high = 1.5, .per_octave = 1 };
    c->unknown[UNKNOWN_SOURCE] =
        (interval){ .groups = 3, .low = 0.7, .high = 1.2, .per_octave = 1 };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        crossgpu_prediction said;

        for (size_t k = 0; k < 2; k++)
            assert_int_equal(gpu_find(l.d, k ? "Wide" : "Vast", &g[k], &err), LM_OK);
        assert_int_equal(crossgpu_predict(c, l.p->x, cases[i].from ? &l.p->gpu[0] : &g[0],
                                          cases[i].to ? &l.p->gpu[1] : &g[1], &said, &err),
                         LM_OK);
        assert_int_equal(said.basis, BASIS_DATASHEET);
        assert_close(said.low / said.seconds, cases[i].low, 1e-12);
        assert_close(said.high / said.seconds, cases[i].high, 1e-12);
    }
    crossgpu_free(c);
    lawful_free(&l);
}

static void what_is_read_back_says_the_same(void **state)
{
    lawful   l = lawful_pairs(24, 3);
    lm_error err;

    (void)state;
    for (crossgpu_method m = 0; m < N_CROSSGPU_METHODS; m++) {
        crossgpu           *c, *again;
        crossgpu_prediction a, b;

        if (m != CROSSGPU_LAYERMETER && m != CROSSGPU_PAIR_RATIO && !boost_available())
            continue;
        c = learned(&l, m);
        assert_int_equal(kept_save(&crossgpu_kept, CROSSGPU_FILE, c, "learned.txt", &err), LM_OK);
        assert_int_equal(crossgpu_load("learned.txt", &again, &err), LM_OK);
        assert_int_equal(crossgpu_predict(c, l.p->x, &l.p->gpu[0], &l.p->gpu[2], &a, &err), LM_OK);
        assert_int_equal(crossgpu_predict(again, l.p->x, &l.p->gpu[0], &l.p->gpu[2], &b, &err),
                         LM_OK);
        assert_true(a.seconds == b.seconds && a.low == b.low && a.high == b.high);
        assert_true(a.low <= a.seconds && a.seconds <= a.high);
        assert_int_equal(b.basis, BASIS_LEARNED);
        crossgpu_free(c);
        crossgpu_free(again);
    }
    lawful_free(&l);
}

static bool is_read(const char *text, void *context)
{
    crossgpu *c = NULL;

    (void)context;
    crossgpu_load(folder_file("damaged.txt", text), &c, NULL);
    crossgpu_free(c);
    return c != NULL;
}

static void no_damaged_byte_of_a_learned_file_goes_unnoticed(void **state)
{
    lawful    l = lawful_pairs(24, 3);
    crossgpu *c = learned(&l, CROSSGPU_PAIR_RATIO);
    char     *text;
    size_t    n;
    lm_error  err;

    (void)state;
    assert_int_equal(kept_save(&crossgpu_kept, CROSSGPU_FILE, c, "learned.txt", &err), LM_OK);
    assert_int_equal(file_read_text("learned.txt", &text, &n, &err), LM_OK);
    assert_int_equal(damaged_unnoticed(text, 5, is_read, NULL), 0);
    *strstr(text, "checksum ") = '\0'; /* by hand none is needed */
    assert_true(is_read(text, NULL));
    free(text);
    crossgpu_free(c);
    lawful_free(&l);
}

static void a_gpu_not_learned_from_is_said_to_be(void **state)
{
    lawful    l = lawful_pairs(24, 2);
    crossgpu *c = learned(&l, CROSSGPU_LAYERMETER), *ratio = learned(&l, CROSSGPU_PAIR_RATIO);
    gpu       vast;
    crossgpu_prediction said;
    lm_error            err;

    (void)state;
    assert_int_equal(gpu_find(l.d, "Vast", &vast, &err), LM_OK);
    assert_int_equal(crossgpu_predict(c, l.p->x, &l.p->gpu[0], &vast, &said, &err), LM_OK);
    assert_int_equal(said.basis, BASIS_DATASHEET);
    assert_true(isnan(said.low) &&
                isnan(said.high)); /* two GPUs leave nothing to judge a third by */
    assert_int_equal(crossgpu_predict(ratio, l.p->x, &l.p->gpu[0], &vast, &said, &err),
                     LM_E_NOTFOUND);
    assert_error(
        err, LM_E_NOTFOUND,
        "'Slow' and 'Vast' have no common workloads, and pair-ratio needs some");
    crossgpu_free(c);
    crossgpu_free(ratio);
    lawful_free(&l);
}

/* What a prediction needs, and what comes near its name. */
static void a_metric_that_is_missing_is_named(void **state)
{
    lawful    l = lawful_pairs(24, 2);
    crossgpu *c = learned(&l, CROSSGPU_LAYERMETER);
    runs     *r = load("gpu,seconds,arithmetic_percent,power_maen_w\nSlow,1,50,\n");
    size_t    place[2];
    double    x[3];
    lm_error  err;

    (void)state;
    assert_int_equal(space_place(&c->s, r, place, &err), LM_E_NOTFOUND);
    assert_error(err, LM_E_NOTFOUND,
                 "r.csv: no column 'power_mean_w', which was learned from (1 of 2 are missing): is "
                 "'power_maen_w' meant?");
    runs_free(r);
    r = load("gpu,seconds,arithmetic_percent,power_mean_w\nSlow,1,50,\n");
    assert_int_equal(space_place(&c->s, r, place, &err), LM_OK);
    assert_int_equal(space_run(&c->s, r, &r->run[0], place, &l.p->gpu[0], x, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "r.csv:2: power_mean_w is missing");
    runs_free(r);
    crossgpu_free(c);
    lawful_free(&l);
}

/* A file that is cut short anywhere is refused, with its line. */
static void files_cut_short_are_refused(void **state)
{
    lawful    l    = lawful_pairs(24, 2);
    crossgpu *c    = learned(&l, CROSSGPU_LAYERMETER);
    void     *read = NULL;
    char     *text = kept_written(&crossgpu_kept, CROSSGPU_FILE, c);
    size_t    n    = strlen(text);

    (void)state;
    for (size_t cut = 1; cut < n - 1; cut += 1 + n / 200) {
        char    *some = strndup(text, cut);
        lm_error err;

        assert_int_not_equal(kept_read(&crossgpu_kept, CROSSGPU_FILE, "c", some, &read, &err),
                             LM_OK);
        assert_memory_equal(err.text, "c:", 2);
        free(some);
    }
    free(text);
    crossgpu_free(c);
    lawful_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_become_their_medians),
        cmocka_unit_test(what_is_no_run_is_refused),
        cmocka_unit_test(a_trace_comes_to_distributions),
        cmocka_unit_test(runs_that_make_no_pairs_say_why),
        cmocka_unit_test(metrics_lose_their_units),
        cmocka_unit_test(features_come_in_groups),
        cmocka_unit_test(more_figures_of_datasheets_are_features),
        cmocka_unit_test(units_that_a_device_lacks_are_features),
        cmocka_unit_test(a_law_is_learned_where_medians_are_off),
        cmocka_unit_test(bounds_tell_of_a_gpu_that_never_ran),
        cmocka_unit_test(bounds_are_of_the_gpu_that_never_ran),
        cmocka_unit_test(what_is_read_back_says_the_same),
        cmocka_unit_test(no_damaged_byte_of_a_learned_file_goes_unnoticed),
        cmocka_unit_test(a_gpu_not_learned_from_is_said_to_be),
        cmocka_unit_test(a_metric_that_is_missing_is_named),
        cmocka_unit_test(files_cut_short_are_refused),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
