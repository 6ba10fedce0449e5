/* Single kernels in observations, streams of them, and their prices in machine files. */
#include "asking.h"
#include "check.h"
#include "folder.h"

#include "counts/kernel_class.h"
#include "fit/calibration.h"
#include "fit/fit.h"
#include "fit/launch_models.h"
#include "machine/machine.h"

/* Two operators whose launches cost floors of 20 and 40 us, and 500 GB/s (p = 6). */
static double truth(bool gelu, double bytes)
{
    const double floor = gelu ? 40e-6 : 20e-6, work = bytes / 500e9;

    return pow(pow(floor, 6) + pow(work, 6), 1. / 6);
}

#define SIZES 60

static observations *maps(const char *head)
{
    observations *obs;
    FILE         *out = fopen("maps.csv", "w");

    assert_non_null(out);
    fprintf(out, "%skind,name,phase,geometry,algorithm,seconds\n", head);
    for (int i = 0; i < SIZES; i++)
        for (int gelu = 0; gelu < 2; gelu++) {
            const long elements = 1000L + i * i * 40000L;

            fprintf(out,
                    "kernel,map,forward,elements=%ld operands=1 flops_per_element=1,%s,%.17g\n",
                    elements, gelu ? "gelu" : "add", truth(gelu, 8. * (double)elements));
        }
    assert_int_equal(fclose(out), 0);
    assert_int_equal(observations_load("maps.csv", &obs, NULL), LM_OK);
    return obs;
}

static double seconds_of(layer_model *m, const lm_kernel *k, const char *tag)
{
    double seconds = -1;

    assert_int_equal(launch_by(m, k, tag, false, &seconds, NULL), LM_OK);
    return seconds;
}

static lm_kernel map(int64_t elements)
{
    return (lm_kernel){ .size   = sizeof(lm_kernel),
                        .op     = LM_OP_MAP,
                        .dtype  = LM_F32,
                        .repeat = 1,
                        .u.map  = { .elements = elements, .operands = 1, .flops_per_element = 1 } };
}

static void multiprocessors_are_those_of_the_provenance(void **state)
{
    static const struct {
        const char *head;
        double      n;
    } cases[] = { { "# multiprocessors: 108\n", 108 }, { "# device: nobody's\n", 0 }, { "", 0 } };
    observations *obs = maps("# multiprocessors: -1\n");
    lm_error      err = { 0 };
    launches      l;

    (void)state;
    assert_int_equal(launches_from(obs, &l, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "maps.csv: multiprocessors: expected a number of 1 or more, found '-1'");
    observations_free(obs);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        obs = maps(cases[i].head);
        assert_int_equal(launches_from(obs, &l, NULL), LM_OK);
        assert_int_equal(l.n, 2 * SIZES);
        assert_close(l.multiprocessors, cases[i].n, 0);
        assert_true(launches_only(obs));
        launches_free(&l);
        observations_free(obs);
    }
}

static void a_kernel_that_is_none_is_an_error_with_its_line(void **state)
{
    lm_error      err = { 0 };
    observations *obs;
    launches      l;

    (void)state;
    folder_file("o.csv", "kind,name,phase,geometry,seconds\n"
                         "kernel,softmax,forward,rows=3 group=4,1e-5\n"
                         "kernel,softmax,forward,rows=3,1e-5\n");
    assert_int_equal(observations_load("o.csv", &obs, NULL), LM_OK);
    assert_int_not_equal(launches_from(obs, &l, &err), LM_OK);
    assert_memory_equal(err.text, "o.csv:3: ", 9);
    observations_free(obs);
}

static void settings_tell_launches_of_a_queue(void **state)
{
    observations *obs;
    launches      l;

    (void)state;
    folder_file("o.csv", "kind,name,phase,geometry,settings,seconds\n"
                         "kernel,softmax,forward,rows=3 group=4,math=tf32 launch=queue,1e-5\n"
                         "kernel,softmax,forward,rows=3 group=5,launch=graph,1e-5\n"
                         "kernel,softmax,forward,rows=3 group=6,,1e-5\n");
    assert_int_equal(observations_load("o.csv", &obs, NULL), LM_OK);
    assert_int_equal(launches_from(obs, &l, NULL), LM_OK);
    assert_true(l.launch[0].queued);
    assert_false(l.launch[1].queued);
    assert_false(l.launch[2].queued);
    launches_free(&l);
    observations_free(obs);
}

static void operators_are_told_apart_and_others_cost_what_the_family_does(void **state)
{
    observations *obs = maps("");
    launches      l;
    layer_model   m;
    lm_kernel     k = map(1000);

    (void)state;
    assert_int_equal(launches_from(obs, &l, NULL), LM_OK);
    assert_int_equal(launch_fit(l.launch, NULL, l.n, 0, &m, NULL), LM_OK);
    assert_close(1e6 * seconds_of(&m, &k, "add"), 20, 0.02);
    assert_close(1e6 * seconds_of(&m, &k, "gelu"), 40, 0.02);
    assert_in_range(1e9 * seconds_of(&m, &k, "tanh"), 20000, 40000);
    k = map(100000000);
    assert_close(1e3 * seconds_of(&m, &k, ""), 1.6, 0.02);
    layer_model_free(&m);
    launches_free(&l);
    observations_free(obs);
}

static void parts_hold_whole_configurations(void **state)
{
    const split_rule rule = { .kind = SPLIT_KFOLD, .k = 3, .seed = 1 },
                     none = { .kind = SPLIT_NETWORK }, many = { .kind = SPLIT_KFOLD, .k = 100 };
    observations *obs = maps("");
    lm_error      err = { 0 };
    launches      l;
    launch_folds  by;
    size_t        n[3] = { 0 };

    (void)state;
    assert_int_equal(launches_from(obs, &l, NULL), LM_OK);
    assert_int_equal(launch_folds_new(&l, &rule, &by, NULL), LM_OK);
    for (size_t i = 0; i < l.n; i++)
        n[by.fold[i]]++;
    assert_int_equal(n[0], 40);
    assert_int_equal(n[1], 40);
    /* both operators at one size are one configuration: `algorithm` is not what was asked for */
    for (size_t i = 0; i < l.n; i += 2)
        assert_int_equal(by.fold[i], by.fold[i + 1]);
    launch_folds_free(&by);
    assert_int_equal(launch_folds_new(&l, &none, &by, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG,
                 "of single kernels parts at random can be left out, kfold=10, or none");
    assert_int_equal(launch_folds_new(&l, &many, &by, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "100 parts of 60 configurations");
    launches_free(&l);
    observations_free(obs);
}

static double worst(const launches *l, const double *predicted)
{
    double e = 0;

    for (size_t i = 0; i < l->n; i++)
        e = fmax(e, fabs(predicted[i] / l->launch[i].seconds - 1));
    return e;
}

static void models_predict_what_they_did_not_see(void **state)
{
    const split_rule rule = { .kind = SPLIT_KFOLD, .k = 5, .seed = 2 };
    observations    *obs  = maps("");
    double           ours[2 * SIZES], theirs[2 * SIZES];
    launches         l;
    launch_folds     by;

    (void)state;
    assert_int_equal(launches_from(obs, &l, NULL), LM_OK);
    assert_int_equal(launch_folds_new(&l, &rule, &by, NULL), LM_OK);
    assert_int_equal(launches_predict(&l, formula_model_of("layermeter"), &by, NULL, ours, NULL),
                     LM_OK);
    assert_int_equal(launches_predict(&l, formula_model_of("nnls"), &by, NULL, theirs, NULL),
                     LM_OK);
    assert_true(worst(&l, ours) < 0.05);
    assert_in_range(100 * worst(&l, theirs), 20, 200); /* it knows neither floor nor operator */
    launch_folds_free(&by);
    launches_free(&l);
    observations_free(obs);
}

static void prices_pass_through_a_machine_file(void **state)
{
    observations *obs = maps("# multiprocessors: 80\n");
    calibration  *cal, *read;
    workloads    *loads;
    registry     *reg;
    points        p;
    lm_kernel     k = map(5000000);

    (void)state;
    assert_int_equal(registry_new(&reg, NULL), LM_OK);
    assert_int_equal(workloads_new(reg, &loads, NULL), LM_OK);
    assert_int_equal(points_from(obs, loads, &p, NULL), LM_OK);
    assert_int_equal(fit_all(obs, &p, &cal, NULL), LM_OK);
    assert_int_equal(machine_save(cal, "m.ini", NULL), LM_OK);
    assert_int_equal(machine_load("m.ini", &read, NULL), LM_OK);
    assert_non_null(read->operators);
    assert_close(seconds_of(read->operators, &k, "gelu"), seconds_of(cal->operators, &k, "gelu"),
                 0);
    assert_close(read->operators->of[LAUNCH_MAP].how.multiprocessors, 80, 0);
    assert_int_equal(read->operators->of[LAUNCH_MAP].rows, 2 * SIZES);
    calibration_free(read);
    calibration_free(cal);
    points_free(&p);
    workloads_free(loads);
    registry_free(reg);
    observations_free(obs);
}

/* Of every kind that has columns: no column is named as another key of its section is. */
static void all_kinds_pass_through_a_machine_file(void **state)
{
    static const char *const kernel[][3] = {
        { "gemm", "forward", "batch=1 m=2 n=3 k=4 bias=1" },
        { "gemm", "forward", "batch=1 m=2 n=3 k=4 bias=0 activations=1" },
        { "map", "forward", "elements=4 operands=1 flops_per_element=1" },
        { "norm", "forward", "rows=3 group=4 inner=4" },
        { "softmax", "forward", "rows=3 group=4" },
        { "attention", "forward",
          "batch=1 heads=2 kv_heads=2 queries=3 keys=4 width=5 value_width=5 causal=0" },
        { "pool", "forward",
          "n=1 channels=2 mode=0 in=1x4x4 out=1x2x2 window=1x2x2 stride=1x2x2 pad=0x0x0 "
          "dilation=1x1x1" },
#define CONV                                                                                    \
    "n=1 c_in=1 c_out=1 groups=1 bias=0 in=1x3x3 out=1x1x1 window=1x3x3 stride=1x1x1 pad=0x0x0" \
    " dilation=1x1x1"
        { "conv", "forward", CONV },
        { "conv", "grad_input", CONV },
        { "conv", "grad_weight", CONV },
    };
    layer_model m   = { .learned = NULL };
    calibration cal = { .max_ranks = 1,
                        .max_hosts = 1,
                        .operators = &m,
                        .settings  = term_settings_default },
                *read;

    (void)state;
    for (size_t i = 0; i < sizeof kernel / sizeof kernel[0]; i++) {
        lm_kernel     k = { .size = sizeof k, .dtype = LM_F32, .repeat = 1 };
        layer_prices *p;
        rows          r = { 0 };
        size_t        n;

        assert_int_equal(kernel_op_parse(kernel[i][0], &k.op, NULL), LM_OK);
        assert_int_equal(kernel_pass_parse(kernel[i][1], &k.pass, NULL), LM_OK);
        assert_int_equal(kernel_parse_geometry(kernel[i][2], &k, NULL), LM_OK);
        p          = &m.of[launch_class_of(&k)];
        p->present = true;
        p->how     = *tilings_of(layer_classes[launch_class_of(&k)]->tilings, &n);
        rows_begin(&r, 1, 1, 0);
        launch_add(&(launch_row){ &p->columns, &p->columns, &r, &p->how, "gelu", false }, &k);
        rows_free(&r);
        p->columns.join = layer_classes[launch_class_of(&k)]->options.p;
        for (size_t j = 0; j < p->columns.n; j++)
            p->columns.column[j].price = 1e-9 * (double)(j + 1);
    }
    assert_int_equal(machine_save(&cal, "m.ini", NULL), LM_OK);
    assert_int_equal(machine_load("m.ini", &read, NULL), LM_OK);
    for (size_t c = FIRST_LAUNCH; c < N_LAYER_CLASSES; c++) {
        const columns *a = &m.of[c].columns, *b = &read->operators->of[c].columns;

        assert_int_equal(a->n, b->n);
        for (size_t j = 0; j < a->n; j++) {
            assert_string_equal(a->column[j].name, b->column[j].name);
            assert_string_equal(a->column[j].unit, b->column[j].unit);
            assert_close(1e9 * a->column[j].price, 1e9 * b->column[j].price, 1e-15);
            assert_int_equal(a->column[j].floor, b->column[j].floor);
            assert_int_equal(a->column[j].parent, b->column[j].parent);
        }
    }
    calibration_free(read);
    layer_model_free(&m);
}

static double stream_of(const kernel_stream *s, layer_model *m, phase p)
{
    layer_asker by      = layer_asker_of(m);
    double      seconds = -1;

    assert_int_equal(kernel_stream_seconds(s, &by, false, p, &seconds, NULL), LM_OK);
    layer_asker_free(&by);
    return seconds;
}

/* 1000 launches of 40 MB at 500 GB/s: 80 ms; their floors, 20 ms, hide. Backward they do not:
 * 100000 of 8 kB, 2 s of floors and 1.6 ms of work. */
static void a_stream_is_bound_by_the_device_or_the_host(void **state)
{
    observations *obs = maps("");
    launches      l;
    layer_model   m;
    kernel_stream s;

    (void)state;
    folder_file("s.csv",
                "name,phase,geometry,algorithm,repeats\n"
                "map,forward,elements=5000000 operands=1 flops_per_element=1,add,1000\n"
                "map,grad_input,elements=1000 operands=1 flops_per_element=1,add,100000\n");
    assert_int_equal(launches_from(obs, &l, NULL), LM_OK);
    assert_int_equal(launch_fit(l.launch, NULL, l.n, 0, &m, NULL), LM_OK);
    assert_int_equal(kernel_stream_load("s.csv", &s, NULL), LM_OK);
    assert_close(stream_of(&s, &m, PHASE_FORWARD), 0.080, 0.001);
    assert_close(stream_of(&s, &m, PHASE_INFERENCE), 0.080, 0.001);
    assert_close(stream_of(&s, &m, PHASE_BACKWARD), 2, 0.02);
    assert_close(stream_of(&s, &m, PHASE_STEP), 2.08, 0.02);
    kernel_stream_free(&s);
    layer_model_free(&m);
    launches_free(&l);
    observations_free(obs);
}

static void streams_alone_leave_only_where_they_are_from(void **state)
{
    observations *obs;
    calibration  *cal;
    points        p = { 0 };

    (void)state;
    folder_file("o.csv", "# device: Tesla T4\nkind,name,phase,seconds\nstream,s.csv,step,0.1\n");
    assert_int_equal(observations_load("o.csv", &obs, NULL), LM_OK);
    assert_true(launches_only(obs));
    assert_int_equal(fit_none(obs, &p, &cal, NULL), LM_OK);
    assert_null(cal->operators);
    assert_string_equal(cal->provenance[0].key, "device");
    assert_string_equal(cal->provenance[0].value, "Tesla T4");
    calibration_free(cal);
    observations_free(obs);
}

static void lists_of_kernels_are_checked(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        { "name,phase\nmap,forward\n", "s.csv: a list of kernels has a column 'geometry'" },
        { "name,phase,geometry\n", "s.csv: lists no kernels" },
        { "name,phase,geometry\nmap,forward\n", "s.csv:2: 2 fields, the header has 3" },
        { "name,phase,geometry\nmap,sideways,bytes=3\n",
          "s.csv:2: unknown pass 'sideways' (forward grad_input grad_weight)" },
        { "name,phase,geometry,repeats\ncopy,forward,bytes=3,0\n",
          "s.csv:2: repeats: must be 1 or more, found 0" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kernel_stream s;
        lm_error      err = { 0 };

        assert_int_not_equal(kernel_stream_load(folder_file("s.csv", cases[i].text), &s, &err),
                             LM_OK);
        assert_string_equal(err.text, cases[i].message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiprocessors_are_those_of_the_provenance),
        cmocka_unit_test(a_kernel_that_is_none_is_an_error_with_its_line),
        cmocka_unit_test(settings_tell_launches_of_a_queue),
        cmocka_unit_test(operators_are_told_apart_and_others_cost_what_the_family_does),
        cmocka_unit_test(parts_hold_whole_configurations),
        cmocka_unit_test(models_predict_what_they_did_not_see),
        cmocka_unit_test(prices_pass_through_a_machine_file),
        cmocka_unit_test(all_kinds_pass_through_a_machine_file),
        cmocka_unit_test(a_stream_is_bound_by_the_device_or_the_host),
        cmocka_unit_test(streams_alone_leave_only_where_they_are_from),
        cmocka_unit_test(lists_of_kernels_are_checked),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
