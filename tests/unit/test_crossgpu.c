/* From runs on one GPU to others: what is learned of a law that is known, and how it is kept. */
#include "crossgpu_runs.h"
#include "damaged.h"

#include "base/file.h"
#include "base/random.h"
#include "crossgpu/held_out.h"
#include "kept_text.h"

static const double peak[] = { 10, 20, 80 }, width[] = { 500, 500, 1000 },
                    watts[] = { 100, 200, 400 };
static const char *name[]   = { "Slow", "Fast", "Vast" };

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
    lawful l = lawful_pairs(24, 3);

    (void)state;
    assert_int_equal(l.p->n, 24 * 6);
    assert_string_equal(l.p->left_out, "same_w (constant), lost_w (missing in some runs)");
    assert_true(error_of(&l, CROSSGPU_PAIR_RATIO, HELD_OUT_GROUP) > 0.15);
    assert_true(error_of(&l, CROSSGPU_LAYERMETER, HELD_OUT_GROUP) < 0.02);
    lawful_free(&l);
}

/* Of how many pairs of rows that agree in a group, or in a workload, do the parts differ? */
static size_t torn(const lawful *l, const crossgpu_prediction *said, bool group)
{
    size_t n = 0;

    for (size_t i = 0; i < l->p->n; i++)
        for (size_t k = 0; k < i; k++) {
            const pair_row *a = &l->p->row[i], *b = &l->p->row[k];
            const gpu_run  *x = &l->r->run[a->from], *y = &l->r->run[b->from];

            n += !strcmp(group ? x->group : x->workload, group ? y->group : y->workload) &&
                 said[i].fold != said[k].fold;
        }
    return n;
}

/* 24 workloads of 6 groups: groups stay together, workloads do in 10 parts, and rows do not. */
static void what_is_left_out_together_is_in_one_part(void **state)
{
    static const struct {
        held_out_kind leave;
        size_t        parts;
        bool          tears_groups, tears_workloads;
    } cases[]                   = { { HELD_OUT_GROUP, 6, false, false },
                                    { HELD_OUT_WORKLOAD, HELD_OUT_PARTS, true, false },
                                    { HELD_OUT_ROW, HELD_OUT_PARTS, true, true } };
    const crossgpu_options o    = { .method = CROSSGPU_PAIR_RATIO, .seed = 1 };
    lawful                 l    = lawful_pairs(24, 3);
    crossgpu_prediction   *said = calloc(l.p->n, sizeof *said);
    lm_error               err;

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        size_t last = 0;

        assert_int_equal(held_out_predict(l.p, &o, cases[c].leave, said, &err), LM_OK);
        for (size_t i = 0; i < l.p->n; i++)
            last = said[i].fold > last ? said[i].fold : last;
        assert_int_equal(last + 1, cases[c].parts);
        assert_int_equal(torn(&l, said, true) > 0, cases[c].tears_groups);
        assert_int_equal(torn(&l, said, false) > 0, cases[c].tears_workloads);
    }
    free(said);
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
    lawful   l = lawful_pairs(12, 3);
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
    lawful    l = lawful_pairs(12, 3);
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
    assert_error(err, LM_E_NOTFOUND,
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
        cmocka_unit_test(a_law_is_learned_where_medians_are_off),
        cmocka_unit_test(what_is_left_out_together_is_in_one_part),
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
