/* layermeter.h: machines that ship, steps under layouts, the search for them, datasheets and prices. */
#include "check.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include <layermeter/layermeter.h>

static lm_library   *library;
static lm_network   *network;
static lm_machine   *machine;
static lm_predictor *by;

static int enter(void **state)
{
    const lm_machine_options of  = { .size = sizeof of, .device = "H100" };
    lm_error                 err = { LM_OK, "" };

    (void)state;
    if (lm_library_open(NULL, &library, &err) ||
        lm_network_open(library, "gpt2", NULL, &network, &err) ||
        lm_machine_open_with(library, &of, &machine, &err) ||
        lm_predictor_open(library, machine, network, NULL, NULL, &by, &err)) {
        print_error("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int leave(void **state)
{
    (void)state;
    lm_predictor_close(by);
    lm_machine_close(machine);
    lm_network_close(network);
    lm_library_close(library);
    return 0;
}

static lm_step step_on(int64_t batch, int64_t devices, const char *words)
{
    lm_step s = lm_step_of(batch, 1);

    s.devices = devices;
    s.layout  = words;
    return s;
}

/* Data parallelism by its words is the step without a layout. */
static void a_plain_layout_changes_nothing(void **state)
{
    const lm_step plain = step_on(8, 4, NULL), said = step_on(8, 4, "dp4");
    lm_answer     a = { .size = sizeof a }, b = { .size = sizeof b };

    (void)state;
    assert_int_equal(lm_predict(by, &plain, &a, NULL), LM_OK);
    assert_int_equal(lm_predict(by, &said, &b, NULL), LM_OK);
    assert_true(a.step.value > 0);
    assert_close(b.step.value, a.step.value, 1e-12);
}

/* The host of an H100's file belongs to a step unless it is told apart; records of before have it, too. */
static void a_framework_is_told(void **state)
{
    const char *const    names[] = { NULL, "file", "eager", "none", "graph", "lazy" };
    lm_predictor_options of      = { .size = sizeof of };
    const lm_step        s       = step_on(1, 1, NULL);
    lm_answer            a[6];
    lm_error             err = { LM_OK, "" };

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        lm_predictor *p = NULL;

        of.framework = names[k];
        a[k]         = (lm_answer){ .size = sizeof a[k] };
        if (lm_predictor_open(library, machine, network, NULL, &of, &p, &err)) {
            assert_true(k == 5 && err.code == LM_E_ARG);
            continue;
        }
        assert_int_equal(lm_predict(p, &s, &a[k], NULL), k == 4 ? LM_E_NOTFOUND : LM_OK);
        lm_predictor_close(p);
    }
    assert_close(a[1].step.value, a[0].step.value, 1e-15);
    assert_close(a[2].step.value, a[0].step.value, 1e-15);
    assert_true(a[3].step.value < a[0].step.value / 2);
    assert_int_equal(err.code, LM_E_ARG);
    of.framework = "none";
    of.size      = offsetof(lm_predictor_options, framework);
    {
        lm_predictor *p = NULL;

        assert_int_equal(lm_predictor_open(library, machine, network, NULL, &of, &p, NULL), LM_OK);
        assert_int_equal(lm_predict(p, &s, &a[3], NULL), LM_OK);
        assert_close(a[3].step.value, a[0].step.value, 1e-15);
        lm_predictor_close(p);
    }
}

static void a_step_of_the_first_version_has_no_layout(void **state)
{
    lm_step   old = step_on(8, 4, "tp0"), now = step_on(8, 4, NULL);
    lm_answer a = { .size = sizeof a }, b = { .size = sizeof b };

    (void)state;
    old.size = offsetof(lm_step, layout);
    assert_int_equal(lm_predict(by, &old, &a, NULL), LM_OK);
    assert_int_equal(lm_predict(by, &now, &b, NULL), LM_OK);
    assert_close(a.step.value, b.step.value, 1e-15);
    old.size -= 8;
    assert_int_equal(lm_predict(by, &old, &a, NULL), LM_E_ARG);
}

static void layouts_are_found_and_are_steps(void **state)
{
    const lm_step            step = step_on(0, 8, NULL);
    const lm_layout_question q    = {
           .size = sizeof q, .step = &step, .global_batch = 64, .most_batch = 8, .memory = 80000000000
    };
    lm_layout found[3] = { { .size = sizeof found[0] } };
    size_t    n        = 3;

    (void)state;
    assert_int_equal(lm_layouts_find(by, &q, found, &n, NULL), LM_OK);
    assert_true(n >= 1 && n <= 3);
    for (size_t i = 0; i < n; i++) {
        lm_step   s = step_on(found[i].batch, 8, found[i].words);
        lm_answer a = { .size = sizeof a };

        s.accumulation = found[i].accumulation;
        assert_int_equal(lm_predict(by, &s, &a, NULL), LM_OK);
        assert_close(a.step.value, found[i].step.value, 1e-12);
        assert_close(a.samples_per_second * a.step.value, 64, 1e-12); /* the global batch */
        assert_close(found[i].compute + found[i].tensor + found[i].pipeline + found[i].data +
                         found[i].update,
                     found[i].step.value, 1e-12);
        assert_true(found[i].memory <= 80e9);
        assert_true(i == 0 || found[i].step.value >= found[i - 1].step.value);
    }
}

static void what_cannot_be_searched_is_said(void **state)
{
    lm_step            step = step_on(0, 8, NULL);
    lm_layout_question q    = { .size = sizeof q, .step = &step, .global_batch = 64, .memory = 1 };
    lm_layout          one  = { .size = sizeof one };
    lm_error           err  = { LM_OK, "" };
    size_t             n    = 1;

    (void)state;
    assert_int_equal(lm_layouts_find(by, &q, &one, &n, &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "fits 1e-09 GB of memory"));
    step.layout = "tp2";
    assert_int_equal(lm_layouts_find(by, &q, &one, &n, &err), LM_E_ARG);
    assert_string_equal(err.text, "question: its step has a layout: it is looked for");
    step.layout = NULL;
    n           = 0;
    assert_int_equal(lm_layouts_find(by, &q, &one, &n, &err), LM_E_ARG);
    step = step_on(8, 4, "mb2");
    assert_int_equal(lm_predict(by, &step, &(lm_answer){ .size = sizeof(lm_answer) }, &err),
                     LM_E_ARG);
    assert_string_equal(err.text, "step: layout: mb stands in `batch`, ga in `accumulation`");
}

/* NVIDIA's datasheet of the A100: 312 TFLOP/s in f16, 19.5 in f32, 400 W as a module. */
static void a_datasheet_is_told(void **state)
{
    lm_device d   = { .size = sizeof d };
    lm_error  err = { LM_OK, "" };

    (void)state;
    assert_int_equal(lm_device_find(library, "NVIDIA A100-SXM4-80GB", &d, NULL), LM_OK);
    assert_string_equal(d.name, "A100-SXM4-80GB");
    assert_close(d.f16, 312e12, 1e-12);
    assert_close(d.f32, 19.5e12, 1e-12);
    assert_close(d.power, 400, 1e-12);
    assert_true(isnan(d.f8));
    assert_int_equal(lm_device_find(library, "A1000000", &d, &err), LM_E_NOTFOUND);
}

static void a_price_is_of_the_devices_in_use(void **state)
{
    lm_price one = { .size = sizeof one }, eight = { .size = sizeof eight };
    lm_error err = { LM_OK, "" };

    (void)state;
    assert_int_equal(lm_price_find(library, "H100", 1, &one, NULL), LM_OK);
    assert_int_equal(lm_price_find(library, "H100", 8, &eight, NULL), LM_OK);
    assert_string_equal(one.currency, "USD");
    assert_true(one.list > 0 && eight.list > one.list && eight.list <= 8 * one.list + 1e-9);
    assert_int_equal(strlen(one.date) >= 7, 1);
    assert_int_equal(lm_price_find(library, "H100", 0, &one, &err), LM_E_ARG);
    assert_int_equal(lm_price_find(library, "no such thing", 1, &one, &err), LM_E_NOTFOUND);
}

/* What `layermeter predict resnet18 --device A100 --batch 64 --nodes 2` answers. */
static double shipped_step(const lm_machine_options *options, const lm_network *net, lm_step step,
                           lm_answer *a)
{
    lm_machine   *m = NULL;
    lm_predictor *p = NULL;
    lm_error      err;

    *a = (lm_answer){ .size = sizeof *a };
    if (lm_machine_open_with(library, options, &m, &err) ||
        lm_predictor_open(library, m, net, NULL, NULL, &p, &err) || lm_predict(p, &step, a, &err))
        fail_msg("%s", err.text);
    lm_predictor_close(p);
    lm_machine_close(m);
    return a->step.value;
}

/* A device's name is enough: the shipped file has an interval, and the device's usual node its price. */
static void devices_open_what_ships_for_them(void **state)
{
    const lm_machine_options a100 = { .size = sizeof a100, .device = "A100" };
    lm_machine_options       fast = a100, slow = a100;
    lm_network              *net = NULL;
    lm_machine              *m   = NULL;
    lm_answer                one, a;

    (void)state;
    assert_int_equal(lm_machine_open_with(library, &a100, &m, NULL), LM_OK);
    assert_string_equal(lm_machine_told(m, "device"), "A100-SXM4-80GB");
    assert_string_equal(lm_machine_told(m, "shipped_as"), "a100-sxm4-80gb-amp.ini");
    assert_non_null(lm_machine_told(m, "licence"));
    assert_null(lm_machine_told(m, "colour"));
    lm_machine_close(m);
    assert_int_equal(lm_network_open(library, "resnet18", NULL, &net, NULL), LM_OK);
    shipped_step(&a100, net, lm_step_of(64, 1), &one);
    assert_true(one.step.low > 0 && one.step.low < one.step.value &&
                one.step.value < one.step.high);
    assert_true(one.exposed <= 0);
    shipped_step(&a100, net, lm_step_of(64, 2), &a); /* nodes of a usual cluster are assumed */
    assert_true(a.exposed > 0);
    fast.interconnect = "nvlink3+8xib400";
    slow.interconnect = "nvlink3+10gbe";
    shipped_step(&fast, net, lm_step_of(64, 2), &one);
    shipped_step(&slow, net, lm_step_of(64, 2), &a);
    assert_true(a.exposed > 30 * one.exposed); /* 10 against 400 Gbit/s of one device */
    lm_network_close(net);
}

static void machines_that_cannot_be_are_refused(void **state)
{
    static const struct {
        lm_machine_options o;
        lm_status          code;
        const char        *text;
    } cases[] = {
        { { .device = NULL },
          LM_E_ARG,
          "options: a machine is a file (path), or what ships for a device" },
        { { .path = "m.ini", .dtype = LM_F16 },
          LM_E_ARG,
          "options: dtype chooses among the files that ship for a device: a path has its own" },
        { { .device = "T4", .interconnect = "nvlink3" },
          LM_E_ARG,
          "'Tesla T4' has no nvlink3: within a node it has pcie3" },
        { { .device = "T4", .interconnect = "pcie4+25gbe" },
          LM_E_ARG,
          "'Tesla T4' has no pcie4: within a node it has pcie3" },
        { { .device = "RTX 3090", .interconnect = "nvlink4" },
          LM_E_ARG,
          "'GeForce RTX 3090' has no nvlink4: within a node it has pcie4, or by bridges nvlink3" },
        { { .device = "T40000" },
          LM_E_NOTFOUND,
          "no device 'T40000'; 'layermeter devices' lists the known ones, and its --help explains "
          "how to add one" },
        { { .device = "GTX4090" },
          LM_E_NOTFOUND,
          "no device 'GTX4090': is it 'GeForce RTX 4090'?; 'layermeter devices' lists the known "
          "ones, and its --help explains how to add one" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_machine_options o = cases[i].o;
        lm_machine        *m = NULL;
        lm_error           err;

        o.size = sizeof o;
        lm_machine_open_with(library, &o, &m, &err);
        assert_error(err, cases[i].code, "%s", cases[i].text);
        assert_null(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_layout_changes_nothing),
        cmocka_unit_test(a_framework_is_told),
        cmocka_unit_test(a_step_of_the_first_version_has_no_layout),
        cmocka_unit_test(layouts_are_found_and_are_steps),
        cmocka_unit_test(what_cannot_be_searched_is_said),
        cmocka_unit_test(a_datasheet_is_told),
        cmocka_unit_test(a_price_is_of_the_devices_in_use),
        cmocka_unit_test(devices_open_what_ships_for_them),
        cmocka_unit_test(machines_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, enter, leave);
}
