/* Device files: units, what is left out, names, refusals, and the shipped datasheets. */
#include "check.h"
#include "folder.h"

#include <math.h>

#include "device/device.h"

static device_list *load(const char *text, lm_error *err)
{
    device_list *list = NULL;

    *err = (lm_error){ LM_OK, "" };
    devices_load(folder_file("d.ini", text), &list, err);
    return list;
}

static void figures_have_units_and_what_is_not_there_is_unknown(void **state)
{
    lm_error     err;
    device_list *list = load("[Board 7]\nf32 = 15.7 TFLOP/s\nbandwidth = 0.9TB/s\nmemory = 16 GiB\n"
                             "l2 = 6MiB\nmultiprocessors = 80\nclock = 1530 MHz\npower = 300 W\n"
                             "class = module\ncapability = 7.0\nsource = its datasheet\n",
                             &err);
    const device *d;

    (void)state;
    assert_string_equal(err.text, "");
    assert_int_equal(list->n, 1);
    d = &list->device[0];
    assert_string_equal(d->name, "Board 7");
    assert_close(d->figure[DEVICE_F32], 15.7e12, 1e-9);
    assert_close(d->figure[DEVICE_BANDWIDTH], 900e9, 1e-9);
    assert_close(d->figure[DEVICE_MEMORY], 17179869184.0, 1e-9);
    assert_close(d->figure[DEVICE_L2], 6291456, 1e-9);
    assert_close(d->figure[DEVICE_MULTIPROCESSORS], 80, 1e-9);
    assert_close(d->figure[DEVICE_CLOCK], 1.53e9, 1e-9);
    assert_close(d->figure[DEVICE_POWER], 300, 1e-9);
    assert_true(isnan(d->figure[DEVICE_F16]));
    assert_true(isnan(d->figure[DEVICE_CORES]));
    assert_int_equal(d->power_class, DEVICE_MODULE);
    assert_string_equal(d->capability, "7.0");
    assert_null(d->architecture);
    assert_int_equal(d->line, 1);
    assert_close(device_peak(d, LM_F32), 15.7e12, 1e-9);
    assert_true(isnan(device_peak(d, LM_BF16)));
    assert_true(isnan(device_peak(d, LM_I64)));
    devices_free(list);
}

static void names_are_found_as_people_and_drivers_write_them(void **state)
{
    static const struct {
        const char *name, *found;
    } cases[] = {
        { "Board X-2 16GB", "Board X-2 16GB" },
        { "board_x2_16gb", "Board X-2 16GB" },
        { "NVIDIA Board X-2 16GB", "Board X-2 16GB" },
        { "BX2", "Board X-2 16GB" },
        { "second name", "Board X-2 16GB" },
        { "x", "X" },
        { "NVIDIA", "NVIDIA" },
        { " 7[?,8|", " 7[?,8|" }, /* a comma parts other names only */
    };
    lm_error     err;
    device_list *list =
        load("[Board X-2 16GB]\nalso = bx2, Second Name\n[X]\n[Board X-3]\n[NVIDIA]\n"
             "[ 7[?,8|]\n",
             &err);
    const device *d = NULL;

    (void)state;
    assert_string_equal(err.text, "");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(devices_find(list, cases[i].name, &d, &err), LM_OK);
        assert_string_equal(d->name, cases[i].found);
    }
    assert_int_equal(devices_find(list, "board", &d, &err), LM_E_NOTFOUND);
    assert_string_equal(err.text, "no device 'board': is it 'Board X-2 16GB', 'Board X-3'?; "
                                  "'layermeter devices' lists the known ones, "
                                  "and its --help explains how to add one");
    assert_int_equal(devices_find(list, "Y", &d, &err), LM_E_NOTFOUND);
    assert_string_equal(err.text, "no device 'Y'; 'layermeter devices' lists the known ones, "
                                  "and its --help explains how to add one");
    assert_int_equal(devices_find(list, "Baord X-3", &d, &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "is it 'Board X-3'?"));
    assert_int_equal(devices_find(list, "Board X-4", &d, &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "is it 'Board X-3'?")); /* the other's name is longer */
    assert_int_equal(devices_find(list, "", &d, &err), LM_E_NOTFOUND);
    devices_free(list);
}

static void wrong_files_are_told_with_line_and_key(void **state)
{
    static const struct {
        const char *text;
        lm_status   code;
        const char *why;
    } cases[] = {
        { "[a]\nf32 = 15.7\n", LM_E_ARG,
          "d.ini:2: f32: expected a number of FLOP/s such as 1.5 GFLOP/s, found '15.7'" },
        { "[a]\n\nf32 = 0 TFLOP/s\n", LM_E_ARG,
          "d.ini:3: f32: must be above 0; what is unknown is left out" },
        { "[a]\nbandwidth = 900 GB\n", LM_E_ARG,
          "d.ini:2: bandwidth: expected a rate such as 10Gbit/s or 1.25 GB/s, found '900 GB'" },
        { "[a]\npower = 300\n", LM_E_ARG,
          "d.ini:2: power: expected a number of W such as 1.5 GW, found '300'" },
        { "[a]\nclass = huge\n", LM_E_ARG,
          "d.ini:2: class: expected slot, card or module, found 'huge'" },
        { "[a]\ntflops = 3\n", LM_E_NOTFOUND,
          "d.ini:2: unknown key 'tflops' of a device; known are f64 f32 f32_matrix tf32 f16 bf16 f8 "
          "bandwidth memory l2 multiprocessors cores tensor_cores rt_cores bus l1 shared threads clock base_clock power class also "
          "architecture capability link bridge source note" },
        { "[a]\n[B]\nalso = c,A\n", LM_E_SYNTAX,
          "d.ini:2: 'A' is a name of the device in line 1 too" },
        { "[a]\nalso = b,\n", LM_E_SYNTAX, "d.ini:1: a name without letters and digits" },
    };
    lm_error err;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(load(cases[i].text, &err));
        assert_error(err, cases[i].code, "%s", cases[i].why);
    }
}

/* The first of a name is the user's. */
static void own_devices_come_before_the_shipped_ones(void **state)
{
    lm_error      err  = { LM_OK, "" };
    device_list  *list = NULL;
    const device *d    = NULL;

    (void)state;
    assert_int_equal(devices_open(folder_file("d.ini", "[T4]\nf32 = 1 TFLOP/s\n"), &list, &err),
                     LM_OK);
    assert_int_equal(devices_find(list, "t4", &d, &err), LM_OK);
    assert_close(d->figure[DEVICE_F32], 1e12, 1e-9);
    assert_int_equal(devices_find(list, "tesla t4", &d, &err), LM_OK);
    assert_close(d->figure[DEVICE_F32], 8.1e12, 1e-9);
    devices_free(list);
}

/* A multiply-add of each core at each clock is the peak; memory moves faster than 100 GB/s. */
static void shipped_devices_are_complete_and_agree_with_themselves(void **state)
{
    lm_error     err   = { LM_OK, "" };
    device_list *list  = NULL;
    size_t       agree = 0;

    (void)state;
    assert_int_equal(devices_open(NULL, &list, &err), LM_OK);
    assert_true(list->n > 50);
    for (size_t i = 0; i < list->n; i++) {
        const device *d = &list->device[i];
        const double *v = d->figure;

        if (!d->source || !d->architecture || !d->capability || !d->power_class)
            fail_msg("%s: source, architecture, capability or class is missing", d->name);
        if (!(v[DEVICE_F32] >= 1e12) || !(v[DEVICE_F32] < 1e15))
            fail_msg("%s: f32", d->name);
        if (!(v[DEVICE_BANDWIDTH] >= 100e9) || !(v[DEVICE_BANDWIDTH] < 1e13))
            fail_msg("%s: bandwidth", d->name);
        if (!(v[DEVICE_MEMORY] >= 4e9) || !(v[DEVICE_MEMORY] < 1e12))
            fail_msg("%s: memory", d->name);
        if (v[DEVICE_TF32] < v[DEVICE_F32] || v[DEVICE_F16] < v[DEVICE_F32] ||
            v[DEVICE_F16] < v[DEVICE_TF32] || v[DEVICE_F8] < v[DEVICE_F16] ||
            v[DEVICE_F64] > v[DEVICE_F32])
            fail_msg("%s: wider types are faster than narrower ones", d->name);
        if (!isnan(v[DEVICE_BF16]) && v[DEVICE_BF16] != v[DEVICE_F16])
            fail_msg("%s: bf16 is not f16", d->name);
        if ((d->power_class == DEVICE_SLOT) != (v[DEVICE_POWER] <= 75))
            fail_msg("%s: %s and %g W", d->name, device_class_names[d->power_class],
                     v[DEVICE_POWER]);
        if (isnan(v[DEVICE_CORES]) || isnan(v[DEVICE_CLOCK]))
            continue;
        agree++;
        if (fabs(v[DEVICE_F32] / (2 * v[DEVICE_CORES] * v[DEVICE_CLOCK]) - 1) > 0.03)
            fail_msg("%s: f32 is not 2 x cores x clock", d->name);
        if (fmod(v[DEVICE_CORES], v[DEVICE_MULTIPROCESSORS]) != 0)
            fail_msg("%s: cores are no multiple of multiprocessors", d->name);
    }
    assert_true(agree > 50);
    devices_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_have_units_and_what_is_not_there_is_unknown),
        cmocka_unit_test(names_are_found_as_people_and_drivers_write_them),
        cmocka_unit_test(wrong_files_are_told_with_line_and_key),
        cmocka_unit_test(own_devices_come_before_the_shipped_ones),
        cmocka_unit_test(shipped_devices_are_complete_and_agree_with_themselves),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
