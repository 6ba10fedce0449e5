/* The machine file that keeps coefficients. */
#include "check.h"
#include "damaged.h"
#include "folder.h"

#include "base/file.h"

#include "fit/calibration.h"
#include "machine/machine.h"

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static void a_machine_file_keeps_every_bit_of_a_coefficient(void **state)
{
    calibration *cal = calloc(1, sizeof *cal), *back = NULL;
    lm_error     err = { LM_OK, "" };

    (void)state;
    cal->max_ranks = 64;
    cal->settings  = term_settings_default;
    cal->max_hosts = 8;
    assert_true(calibration_note(cal, "machine", "node 7; 2 sockets"));
    assert_true(calibration_note(cal, "a key: with = all [of] it #", "value"));
    assert_true(calibration_note(cal, "machine", "said twice"));
    assert_true(calibration_note(cal, "", "no key"));
    for (size_t f = 0; f < n_forms; f += 2) { /* every other form is absent */
        fitted *to = &cal->fitted[f];

        *to = (fitted){ .present         = true,
                        .rows            = 12 + f,
                        .rank            = 2,
                        .condition       = 1.0 / 3,
                        .errors          = { 12 + f, 0.125, NAN, 0.25, 1.0 / 7, 0.9 },
                        .held_out_mape   = 0.5,
                        .held_out_groups = f % 4 ? 0 : 5 };
        for (size_t k = 0; k < forms[f].n_features; k++)
            to->coefficient[k] = (coefficient){ 1e-11 / (double)(3 + f + 7 * k),
                                                k ? 1e-13 / 7 : NAN,
                                                1.0 / 3,
                                                1e18 / 7,
                                                k % 2 == 0,
                                                k % 3 == 2,
                                                NAN };
        if (!forms[f].n_features) {
            to->term = malloc(N_TERMS * sizeof *to->term);
            assert_non_null(to->term);
            for (size_t t = 0; t < N_TERMS; t++)
                to->term[t] = (coefficient){ t % 5 ? 1e-11 / (double)(3 + f + 7 * t) : NAN,
                                             t % 2 ? 1e-13 / 7 : NAN,
                                             t % 3 ? 1.0 / 3 : HUGE_VAL,
                                             t % 3 ? 1e18 / 7 : -HUGE_VAL,
                                             true,
                                             t % 7 == 2,
                                             1.0 / (double)(1 + t) };
        }
    }
    assert_int_equal(machine_save(cal, "m.ini", &err), LM_OK);
    machine_load("m.ini", &back, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(back->max_ranks, 64);
    assert_int_equal(back->max_hosts, 8);
    assert_int_equal(back->n_provenance, 4);
    assert_string_equal(back->provenance[0].key, "machine");
    assert_string_equal(back->provenance[0].value, "node 7, 2 sockets");
    assert_string_equal(back->provenance[1].value, "value");
    assert_string_equal(back->provenance[2].key, "machine_2");
    for (size_t f = 0; f < n_forms; f++) {
        const fitted *a = &cal->fitted[f], *b = &back->fitted[f];

        assert_int_equal(b->present, a->present);
        if (!a->present)
            continue;
        assert_int_equal(b->rows, a->rows);
        assert_int_equal(b->rank, a->rank);
        assert_true(same(b->condition, a->condition));
        assert_true(same(b->errors.nrmse, a->errors.nrmse) && same(b->errors.r2, a->errors.r2));
        assert_close(b->errors.mape, a->errors.mape, 1e-15); /* in percent there */
        assert_close(b->errors.rmse, a->errors.rmse, 1e-15); /* in ms there */
        assert_int_equal(b->held_out_groups, a->held_out_groups);
        for (size_t k = 0; k < forms[f].n_features; k++) {
            const coefficient *x = &a->coefficient[k], *y = &b->coefficient[k];

            assert_true(same(y->value, x->value) && same(y->standard_error, x->standard_error) &&
                        same(y->low, x->low) && same(y->high, x->high));
            assert_int_equal(y->determined, x->determined);
            assert_int_equal(y->at_bound, x->at_bound);
        }
        for (size_t t = 0; a->term && t < N_TERMS; t++) {
            const coefficient *x = &a->term[t], *y = &b->term[t];

            assert_true(same(y->value, x->value));
            if (isnan(x->value)) /* is not there */
                continue;
            assert_true(same(y->standard_error, x->standard_error) && same(y->known, x->known));
            assert_true(isfinite(x->low) ? same(y->low, x->low) && same(y->high, x->high)
                                         : isnan(y->low) && isnan(y->high));
            assert_int_equal(y->at_bound, x->at_bound);
        }
    }
    calibration_free(cal);
    calibration_free(back);
    calibration_free(NULL);
}

static void what_is_no_machine_file_is_refused_by_line(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { "", "m.ini: holds no coefficients: is this a machine file?", LM_E_SYNTAX },
        { "[machine]\nmax_ranks = 1\n", "m.ini: holds no coefficients: is this a machine file?",
          LM_E_SYNTAX },
        { "[machine]\ncores = 1\n", "m.ini:2: [machine] has no key 'cores'", LM_E_NOTFOUND },
        { "[machine]\nmax_ranks = many\n", "m.ini:2: expected a whole number, found 'many'",
          LM_E_ARG },
        { "[network]\nname = n\n",
          "m.ini:1: [network]: no formula of that name; is this a machine file, and of this version? fit the observations "
          "again",
          LM_E_NOTFOUND },
        { "[KIND.machine]\n", /* as the table of sections has it, and no file */
          "m.ini:1: [KIND.machine]: no formula of that name; is this a machine file, and of this version? fit the observations "
          "again",
          LM_E_NOTFOUND },
        { "\n[convmeter.wait]\n",
          "m.ini:2: [convmeter.wait]: no formula of that name; is this a machine file, and of this version? fit the observations "
          "again",
          LM_E_NOTFOUND },
        { "[convmeter.grad_one]\nrows = 3\n",
          "m.ini:1: [convmeter.grad_one]: coefficient 'layers' is missing: cut short, or edited? fit the observations again",
          LM_E_NOTFOUND },
        { "[convmeter.grad_one]\nlayers = 1 s/layer\nnodes = 1 s/node\n",
          "m.ini:3: 'nodes' is not a key of convmeter.grad_one: written by another version, or by hand? fit "
          "the observations again",
          LM_E_NOTFOUND },
        { "[convmeter.grad_one]\nlayers = 1 s/FLOP\n",
          "m.ini:2: layers: expected a number and 's/layer', found '1 s/FLOP'", LM_E_SYNTAX },
        { "[convmeter.grad_one]\nlayers = 1\n",
          "m.ini:2: layers: expected a number and 's/layer', found '1'", LM_E_SYNTAX },
        { "[convmeter.grad_one]\nlayers = one s/layer\n",
          "m.ini:2: layers: expected a finite number, found 'one'", LM_E_ARG },
        { "[convmeter.grad_one]\nlayers = nan s/layer\n",
          "m.ini:2: layers: expected a finite number, found 'nan'", LM_E_ARG },
        { "[convmeter.grad_one]\nlayers = 1 s/layer, perhaps\n",
          "m.ini:2: layers: unknown word 'perhaps'", LM_E_SYNTAX },
        { "[convmeter.grad_one]\nlayers = 1 s/layer, range 1\n",
          "m.ini:2: layers: unknown word 'range 1'", LM_E_SYNTAX },
        { "[convmeter.grad_one]\nlayers = 1 s/layer, se x\n",
          "m.ini:2: layers: expected a finite number, found 'x'", LM_E_ARG },
        { "[convmeter.grad_one]\nrows = -1\nlayers = 1 s/layer\n",
          "m.ini:2: rows: expected a whole number from 0 to 2^64-1, found '-1'", LM_E_ARG },
        { "[convmeter.grad_one]\ncondition = x\nlayers = 1 s/layer\n",
          "m.ini:2: condition: expected a finite number, found 'x'", LM_E_ARG },
        { "[nets.intervals]\nstep = 1 .. 2\n", "m.ini:1: [nets.intervals]: no model of that name",
          LM_E_NOTFOUND },
        { "[layermeter.intervals]\nspeed = 1 .. 2\n", "m.ini:2: speed: no quantity of that name",
          LM_E_NOTFOUND },
        { "[layermeter.intervals]\nstep = 0.9\n",
          "m.ini:2: step: expected two numbers with .. between, found '0.9'", LM_E_SYNTAX },
        { "[layermeter.intervals]\nstep = 0.9 .. 1.1, groups 5, width 2\n",
          "m.ini:2: step: unknown word 'width 2'", LM_E_SYNTAX },
        { "[layermeter.intervals]\nstep = 1.2 .. 1.1, groups 5\n",
          "m.ini:2: step: expected bounds around 1 and a factor per octave of 1 or more",
          LM_E_ARG },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        calibration *cal = NULL;
        lm_error     err = { LM_OK, "" };

        machine_load(folder_file("m.ini", cases[i].text), &cal, &err);
        assert_error(err, cases[i].code, "%s", cases[i].message);
        assert_null(cal);
    }
}

static void a_machine_file_appears_whole_or_not_at_all(void **state)
{
    calibration *cal = calloc(1, sizeof *cal), *back = NULL;
    lm_error     err;

    (void)state;
    cal->max_ranks = cal->max_hosts = 1;
    cal->settings                   = term_settings_default;
    cal->fitted[0]                  = (fitted){ .present = true, .rows = 3, .rank = 1 };
    assert_true(calibration_note(cal, "folder", "C:\\data\\"));
    assert_int_equal(machine_save(cal, "gone/m.ini", &err), LM_E_IO);
    assert_error(err, LM_E_IO, "gone/m.ini: No such file or directory");
    assert_int_not_equal(access("gone/m.ini", F_OK), 0);
    assert_int_equal(machine_save(cal, "m.ini", &err), LM_OK);

    /* what nobody could read again does not take the place of a good file */
    cal->max_hosts = 2;
    assert_int_equal(machine_save(cal, "m.ini", &err), LM_E_ARG);
    assert_error(
        err, LM_E_ARG, "%s",
        "not written, since nobody could read it again: m.ini:11: max_hosts: 2 hosts for 1 "
        "ranks (max_ranks)");
    machine_load("m.ini", &back, &err);
    assert_int_equal(back->max_hosts, 1);
    /* nor does a backslash at the end of a line take the next one into it */
    assert_string_equal(calibration_told(back, "folder"), "C:\\data/");
    calibration_free(back);
    calibration_free(cal);
}

static bool is_read(const char *text, void *context)
{
    calibration *cal = NULL;

    (void)context;
    machine_load(folder_file("damaged.ini", text), &cal, NULL);
    calibration_free(cal);
    return cal != NULL;
}

static void no_damaged_byte_of_a_machine_file_goes_unnoticed(void **state)
{
    calibration *cal = calloc(1, sizeof *cal);
    char        *text, *without;
    size_t       n;
    lm_error     err;

    (void)state;
    cal->max_ranks = cal->max_hosts = 1;
    cal->settings                   = term_settings_default;
    cal->fitted[0]                  = (fitted){ .present = true, .rows = 3, .rank = 1 };
    assert_true(calibration_note(cal, "device", "V100"));
    assert_int_equal(machine_save(cal, "m.ini", &err), LM_OK);
    calibration_free(cal);
    assert_int_equal(file_read_text("m.ini", &text, &n, &err), LM_OK);
    assert_int_equal(damaged_unnoticed(text, 3, is_read, NULL), 0);
    assert_true(is_read(text, NULL));
    assert_int_equal(machine_load("m.ini", &cal, &err), LM_OK);
    assert_true(cal->checked);
    calibration_free(cal);

    /* by hand it needs no checksum, and then nothing notices another device */
    without = strstr(text, "checksum = ");
    memmove(without, strchr(without, '\n') + 1, strlen(strchr(without, '\n')));
    memcpy(strstr(text, "V100"), "A100", 4);
    assert_int_equal(machine_load(folder_file("hand.ini", text), &cal, &err), LM_OK);
    assert_false(cal->checked);
    assert_string_equal(calibration_told(cal, "device"), "A100");
    calibration_free(cal);
    free(text);
}

/* Editors and version control of other systems end lines in two bytes. */
static void ends_of_lines_are_no_damage(void **state)
{
    calibration *cal = NULL;
    char        *text, *with, *to;
    size_t       n;
    lm_error     err;

    (void)state;
    assert_int_equal(file_read_text("m.ini", &text, &n, &err), LM_OK);
    to = with = malloc(2 * n + 1);
    for (const char *c = text; *c; c++) {
        if (*c == '\n')
            *to++ = '\r';
        *to++ = *c;
    }
    *to = '\0';
    assert_int_equal(machine_load(folder_file("windows.ini", with), &cal, &err), LM_OK);
    assert_true(cal->checked);
    calibration_free(cal);
    free(with);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_file_keeps_every_bit_of_a_coefficient),
        cmocka_unit_test(what_is_no_machine_file_is_refused_by_line),
        cmocka_unit_test(a_machine_file_appears_whole_or_not_at_all),
        cmocka_unit_test(no_damaged_byte_of_a_machine_file_goes_unnoticed),
        cmocka_unit_test(ends_of_lines_are_no_damage),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
