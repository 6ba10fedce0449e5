/* Observations: every refusal with file, line and column; rows cut short; provenance; and back. */
#include "folder.h"

#include "network/kernels.h"
#include "observe/flags.h"
#include "observe/observation.h"

static observations *load(const char *text)
{
    observations *obs = NULL;
    lm_error      err = { LM_OK, "" };

    observations_load(folder_file("o.csv", text), &obs, &err);
    assert_string_equal(err.text, "");
    return obs;
}

static void the_shortest_file_has_four_columns_and_defaults(void **state)
{
    observations *obs = load("kind,name,phase,seconds,batch\nnetwork,resnet18,forward,0.5,8\n");
    const observation *row = &obs->row[0];

    (void)state;
    assert_string_equal(obs->path, "o.csv");
    assert_int_equal(obs->n_rows, 1);
    assert_int_equal(row->kind, OBS_NETWORK);
    assert_string_equal(row->name, "resnet18");
    assert_int_equal(row->phase, PHASE_FORWARD);
    assert_true(row->seconds == 0.5);
    assert_int_equal(row->batch, 8);
    assert_int_equal(row->dtype, LM_F32);
    assert_int_equal(row->ranks, 1);
    assert_int_equal(row->hosts, 1);
    assert_int_equal(row->threads + row->repeats + row->bytes, 0);
    assert_string_equal(row->input, "");
    assert_string_equal(row->algorithm, "");
    assert_true(isnan(row->min_seconds) && isnan(row->p95_seconds) && isnan(row->cpu_seconds));
    assert_false(row->skipped || obs->cut_short);
    assert_int_equal(row->line, 2);
    observations_free(obs);
    observations_free(NULL);
}

static void columns_stand_in_any_order_and_unknown_ones_are_passed_over(void **state)
{
    observations *obs =
        load("weather,batch, phase ,SECONDS,seconds,kind,name,dtype,ranks,hosts,bytes\n"
             "rain,4,update,x,1e-3,network,vgg16,bf16,8,2,\n"
             "sun,,sync,,2,collective,allreduce,,16,,4096\n"
             ",,grad_input,,3,kernel,conv,f64,,,\n");

    (void)state;
    assert_int_equal(obs->n_rows, 3);
    assert_int_equal(obs->row[0].phase, PHASE_UPDATE);
    assert_int_equal(obs->row[0].dtype, LM_BF16);
    assert_int_equal(obs->row[0].ranks, 8);
    assert_int_equal(obs->row[0].hosts, 2);
    assert_true(obs->row[0].seconds == 1e-3);
    assert_int_equal(obs->row[1].kind, OBS_COLLECTIVE);
    assert_int_equal(obs->row[1].phase, PHASE_SYNC);
    assert_int_equal(obs->row[1].ranks, 16);
    assert_int_equal(obs->row[1].bytes, 4096);
    assert_int_equal(obs->row[2].kind, OBS_KERNEL);
    assert_int_equal(obs->row[2].pass, LM_GRAD_INPUT);
    assert_int_equal(obs->row[2].dtype, LM_F64);
    observations_free(obs);
}

static void provenance_is_what_stands_before_the_header(void **state)
{
    observations *obs = load(
        "# machine: node 7\n# no key here\n#date:2024-05-01: noon\n# empty:\n# machine: again\n"
        "kind,name,phase,seconds,batch\nnetwork,n,step,1,1\n");

    (void)state;
    assert_int_equal(obs->n_provenance, 4);
    assert_string_equal(observations_provenance(obs, "machine"), "node 7"); /* the first of a key */
    assert_string_equal(observations_provenance(obs, "date"), "2024-05-01: noon");
    assert_string_equal(observations_provenance(obs, "empty"), "");
    assert_null(observations_provenance(obs, "weather"));
    assert_int_equal(obs->row[0].line, 7);
    observations_free(obs);
}

static void the_provenance_says_on_what_kind_of_device_rows_ran(void **state)
{
    static const struct {
        const char   *text;
        autocast_kind on;
    } cases[] = {
        { "", AUTOCAST_GPU },
        { "# cpu: Xeon\n", AUTOCAST_CPU },
        { "# cpu: Xeon\n# gpu: H100\n", AUTOCAST_GPU },
        { "# gpu: H100\n# cpu: Xeon\n", AUTOCAST_GPU },
        { "# cpu: Xeon\n# simulated: m.ini\n", AUTOCAST_GPU },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char          text[200];
        observations *obs;

        snprintf(text, sizeof text,
                 "%skind,name,phase,seconds,batch\nnetwork,resnet18,forward,0.5,8\n",
                 cases[i].text);
        obs = load(text);
        assert_int_equal(obs->row[0].on, cases[i].on);
        observations_free(obs);
    }
}

static void rows_without_a_time_say_why(void **state)
{
    observations *obs = load("kind,name,phase,batch,seconds,status\n"
                             "network,n,forward,1,0.5,ok\n"
                             "network,n,forward,2,,skipped-memory\n"
                             "network,n,forward,4,0.7,\n");

    (void)state;
    assert_int_equal(obs->n_rows, 3);
    assert_int_equal(obs->n_skipped, 1);
    assert_true(obs->row[1].skipped && isnan(obs->row[1].seconds));
    assert_false(obs->row[2].skipped);
    observations_free(obs);
}

static void the_text_of_other_systems_is_read(void **state)
{
    observations *obs = load("\xEF\xBB\xBF# a: b\r\nkind,name,phase,seconds,batch\r\n"
                             "network,\"a, b\",step, 1.5e-3 ,\" 2 \"\r\n");

    (void)state;
    assert_string_equal(observations_provenance(obs, "a"), "b");
    assert_string_equal(obs->row[0].name, "a, b");
    assert_true(obs->row[0].seconds == 1.5e-3);
    assert_int_equal(obs->row[0].batch, 2);
    observations_free(obs);
}

/* The header is line 1, so the row is line 2. */
#define HEAD "kind,name,phase,seconds,batch,ranks,bytes,dtype,status\n"

static void refusals_name_file_line_and_column(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { "", "o.csv: empty, expected a header row and observations", LM_E_SYNTAX },
        { "# only: comments\n", "o.csv: empty, expected a header row and observations",
          LM_E_SYNTAX },
        { HEAD, "o.csv: no observations below the header row", LM_E_SYNTAX },
        { "name,phase,seconds\n",
          "o.csv:1: column 'kind' is missing (needed: kind, name, phase, seconds)", LM_E_SYNTAX },
        { "# c: d\nkind,name,phase\n",
          "o.csv:2: column 'seconds' is missing (needed: kind, name, phase, seconds)",
          LM_E_SYNTAX },
        { "kind,name,phase,seconds,name\n", "o.csv:1: column 'name' is given twice", LM_E_SYNTAX },

        { HEAD "network,n,forward,1,1\n", "o.csv:2: 5 fields, the header has 9", LM_E_SYNTAX },
        { HEAD "network,n,forward,1,1,,,,,\n", "o.csv:2: 10 fields, the header has 9",
          LM_E_SYNTAX },
        { HEAD "block,n,forward,1,1,,,,\n",
          "o.csv:2: kind: 'block' is none of network, kernel, collective, layer, counts, stream",
          LM_E_NOTFOUND },
        { HEAD "layer,relu,forward,1,,,,,\n", "o.csv:2: batch: a layer needs 1 or more", LM_E_ARG },
        { HEAD "layer,relu,sync,1,1,,,,\n",
          "o.csv:2: phase: 'sync' is none of forward, backward, update, step, inference, grad_input, grad_weight",
          LM_E_NOTFOUND },
        { HEAD ",n,forward,1,1,,,,\n",
          "o.csv:2: kind: '' is none of network, kernel, collective, layer, counts, stream",
          LM_E_NOTFOUND },
        { HEAD "network,n,fwd,1,1,,,,\n",
          "o.csv:2: phase: 'fwd' is none of forward, backward, sync, update, step, inference",
          LM_E_NOTFOUND },
        { HEAD "kernel,conv,backward,1,,,,,\n",
          "o.csv:2: phase: 'backward' is none of forward, grad_input, grad_weight", LM_E_NOTFOUND },
        { HEAD "collective,allreduce,forward,1,,2,8,,\n",
          "o.csv:2: phase: 'forward' is none of sync", LM_E_NOTFOUND },
        { HEAD "network,n,step,1,1,,,float,\n",
          "o.csv:2: dtype: 'float' is none of f32, f16, bf16, f64, i32, i8, f8", LM_E_NOTFOUND },
        { HEAD "network,n,step,1,1,,,,maybe\n",
          "o.csv:2: status: 'maybe' is none of ok, skipped-...", LM_E_NOTFOUND },
        { HEAD "network,,step,1,1,,,,\n", "o.csv:2: name is empty", LM_E_SYNTAX },
        { HEAD "network,n,step,,1,,,,\n", "o.csv:2: seconds is empty", LM_E_SYNTAX },
        { HEAD "network,n,step,,1,,,,ok\n", "o.csv:2: seconds is empty", LM_E_SYNTAX },
        { HEAD "network,n,step,0,1,,,,\n", "o.csv:2: seconds: a time must be above 0, found 0",
          LM_E_ARG },
        { "kind,name,phase,seconds,batch,power_w\nnetwork,n,step,1,1,0\n",
          "o.csv:2: power_w: a power must be above 0, found 0", LM_E_ARG },
        { "kind,name,phase,seconds,batch,power_w\nnetwork,n,step,1,1,N/A\n",
          "o.csv:2: power_w: expected a finite number, found 'N/A'", LM_E_ARG },
        { HEAD "network,n,step,-1,1,,,,\n", "o.csv:2: seconds: a time must be above 0, found -1",
          LM_E_ARG },
        { HEAD "network,n,step,nan,1,,,,\n",
          "o.csv:2: seconds: expected a finite number, found 'nan'", LM_E_ARG },
        { HEAD "network,n,step,inf,1,,,,\n",
          "o.csv:2: seconds: expected a finite number, found 'inf'", LM_E_ARG },
        { HEAD "network,n,step,1ms,1,,,,\n",
          "o.csv:2: seconds: expected a finite number, found '1ms'", LM_E_ARG },
        { HEAD "network,n,step,1,,,,,\n", "o.csv:2: batch: a network needs 1 or more", LM_E_ARG },
        { HEAD "network,n,step,1,0,,,,\n", "o.csv:2: batch: a network needs 1 or more", LM_E_ARG },
        { HEAD "network,n,step,1,-2,,,,\n", "o.csv:2: batch: -2 is negative", LM_E_ARG },
        { HEAD "network,n,step,1,1.5,,,,\n", "o.csv:2: batch: expected a whole number, found '1.5'",
          LM_E_ARG },
        { HEAD "collective,allreduce,sync,1,,2,,,\n", "o.csv:2: a collective needs bytes and ranks",
          LM_E_ARG },
        { HEAD "collective,allreduce,sync,1,,,8,,\n", "o.csv:2: a collective needs bytes and ranks",
          LM_E_ARG },
        { HEAD "collective,alltohell,sync,1,,2,8,,\n",
          "o.csv:2: unknown collective 'alltohell': expected allreduce, allgather, reducescatter, alltoall, sendrecv, broadcast",
          LM_E_NOTFOUND },
        { HEAD "network,n,step,1,1,,,,\n\nnetwork,n\"n,step,1,1,,,,\n",
          "o.csv:4: a quote inside an unquoted field", LM_E_SYNTAX },
        { "kind,name,phase,seconds,batch,flags\nnetwork,n,step,1,1,contended slow\n",
          "o.csv:2: flags: 'contended slow' is none of contended, throttled, drifted, anchor, "
          "no_tensor_cores, socket, wrong_result",
          LM_E_NOTFOUND },
        /* an open quote swallows the lines behind it: that is no row cut short */
        { HEAD "network,n,step,1,1,,,,\nnetwork,\"n,step,1,1,,,,\nnetwork,n,step,1,1,,,,\n",
          "o.csv:3: a quoted field does not end", LM_E_SYNTAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        observations *obs = NULL;
        lm_error      err = { LM_OK, "" };

        observations_load(folder_file("o.csv", cases[i].text), &obs, &err);
        assert_error(err, cases[i].code, "%s", cases[i].message);
        assert_null(obs);
    }
}

static void files_that_are_no_text_are_refused(void **state)
{
    observations *obs = NULL;
    lm_error      err;

    (void)state;
    assert_int_equal(observations_load("missing.csv", &obs, &err), LM_E_IO);
    assert_error(err, LM_E_IO, "missing.csv: No such file or directory");
    folder_bytes("nul.csv", HEAD "network\0,n,step,1,1,,,,\n", sizeof HEAD + 24);
    assert_int_equal(observations_load("nul.csv", &obs, &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX, "nul.csv: a binary file, expected text");
}

/* A run that is killed leaves any beginning of its last row. None of them may become a wrong
 * number. */
static void a_row_cut_short_anywhere_is_left_out(void **state)
{
    static const char whole[] = "kind,name,phase,batch,seconds,status\n"
                                "network,n,forward,1,0.5,ok\n";
    static const char last[]  = "network,\"n, quoted\",backward,16,0.0625,ok\n";
    char              text[200];

    (void)state;
    for (size_t n = 1; n < sizeof last; n++) {
        observations *obs;
        const bool    complete = n >= sizeof last - 2; /* with or without its newline */

        snprintf(text, sizeof text, "%s%.*s", whole, (int)n, last);
        obs = load(text);
        assert_int_equal(obs->n_rows, complete ? 2 : 1);
        assert_int_equal(obs->cut_short, !complete);
        if (complete) {
            assert_string_equal(obs->row[1].name, "n, quoted");
            assert_true(obs->row[1].seconds == 0.0625);
        }
        observations_free(obs);
    }
}

static void flags_are_words(void **state)
{
    uint32_t flags = 77;
    char     text[FLAGS_TEXT_SIZE];

    (void)state;
    assert_int_equal(flags_parse("", &flags), LM_OK);
    assert_int_equal(flags, 0);
    assert_int_equal(flags_parse("  drifted   contended ", &flags), LM_OK);
    assert_int_equal(flags, FLAG_DRIFTED | FLAG_CONTENDED);
    assert_int_equal(flags_parse("anchors", &flags), LM_E_NOTFOUND);
    assert_int_equal(flags_parse("contend", &flags), LM_E_NOTFOUND);
    flags_print(0, text, sizeof text);
    assert_string_equal(text, "");
    flags_print(FLAGS_PASSING | FLAG_ANCHOR | FLAG_NO_TENSOR_CORES, text, sizeof text);
    assert_string_equal(text, "contended throttled drifted anchor no_tensor_cores");
    assert_int_equal(flags_parse(text, &flags), LM_OK);
    assert_int_equal(flags, FLAGS_PASSING | FLAG_ANCHOR | FLAG_NO_TENSOR_CORES);
}

static void phases_and_kinds_have_names(void **state)
{
    (void)state;
    for (phase p = 0; p < N_PHASES; p++) {
        phase back;

        assert_int_equal(phase_parse(phase_name(p), &back), LM_OK);
        assert_int_equal(back, p);
    }
    assert_int_equal(phase_parse("grad", &(phase){ 0 }), LM_E_NOTFOUND);
    assert_string_equal(obs_kind_names[OBS_COLLECTIVE], "collective");
}

static bool same_time(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b;
}

static void what_is_printed_loads_as_it_was(void **state)
{
    static const observation rows[] = {
        { .kind         = OBS_NETWORK,
          .phase        = PHASE_BACKWARD,
          .dtype        = LM_BF16,
          .name         = "dir/a \"b\", c.ini",
          .input        = "3x64x64",
          .algorithm    = "",
          .geometry     = "",
          .optimizer    = "adam",
          .settings     = "layout=nhwc math=tf32",
          .flags        = "contended throttled",
          .clock_mhz    = 1410.5,
          .power_w      = 164.25,
          .bucket_bytes = 26214400,
          .batch        = 32,
          .ranks        = 4,
          .hosts        = 2,
          .threads      = 8,
          .repeats      = 20,
          .seconds      = 0.1,
          .min_seconds  = 5e-324,
          .p95_seconds  = 1.0 / 3,
          .cpu_seconds  = 1.7976931348623157e308 },
        { .kind        = OBS_KERNEL,
          .pass        = LM_GRAD_WEIGHT,
          .dtype       = LM_F32,
          .name        = "copy",
          .input       = "",
          .algorithm   = "",
          .geometry    = "bytes=4096",
          .optimizer   = "",
          .settings    = "",
          .flags       = "",
          .clock_mhz   = NAN,
          .power_w     = NAN,
          .ranks       = 1,
          .hosts       = 1,
          .seconds     = 2.2789939195024706e-11,
          .min_seconds = NAN,
          .p95_seconds = NAN,
          .cpu_seconds = NAN },
        { .kind        = OBS_COLLECTIVE,
          .phase       = PHASE_SYNC,
          .dtype       = LM_F32,
          .name        = "allreduce",
          .input       = "",
          .algorithm   = "ring",
          .geometry    = "",
          .optimizer   = "",
          .settings    = "",
          .flags       = "",
          .clock_mhz   = NAN,
          .power_w     = NAN,
          .ranks       = 8,
          .hosts       = 1,
          .bytes       = INT64_C(1) << 40,
          .seconds     = 12345.678901234567,
          .min_seconds = NAN,
          .p95_seconds = NAN,
          .cpu_seconds = NAN },
        { .kind        = OBS_NETWORK,
          .phase       = PHASE_STEP,
          .dtype       = LM_F16,
          .name        = "n",
          .input       = "",
          .algorithm   = "",
          .geometry    = "",
          .optimizer   = "",
          .settings    = "",
          .flags       = "",
          .clock_mhz   = NAN,
          .power_w     = NAN,
          .batch       = 1,
          .ranks       = 1,
          .hosts       = 1,
          .seconds     = NAN,
          .min_seconds = NAN,
          .p95_seconds = NAN,
          .cpu_seconds = NAN,
          .skipped     = true },
    };
    const size_t  n_rows = sizeof rows / sizeof rows[0];
    FILE         *out    = fopen("o.csv", "w");
    observations *obs    = NULL;
    lm_error      err    = { LM_OK, "" };

    (void)state;
    observation_print_head(out);
    for (size_t i = 0; i < n_rows; i++)
        observation_print(out, &rows[i], rows[i].skipped ? "skipped-memory" : "ok");
    fclose(out);
    observations_load("o.csv", &obs, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(obs->n_rows, n_rows);
    assert_int_equal(obs->n_skipped, 1);
    for (size_t i = 0; i < n_rows; i++) {
        const observation *a = &rows[i], *b = &obs->row[i];

        assert_int_equal(b->kind, a->kind);
        assert_int_equal(a->kind == OBS_KERNEL ? (int)b->pass : (int)b->phase,
                         a->kind == OBS_KERNEL ? (int)a->pass : (int)a->phase);
        assert_int_equal(b->dtype, a->dtype);
        assert_string_equal(b->name, a->name);
        assert_string_equal(b->input, a->input);
        assert_string_equal(b->algorithm, a->algorithm);
        assert_string_equal(b->geometry, a->geometry);
        assert_int_equal(b->batch, a->batch);
        assert_int_equal(b->ranks, a->ranks);
        assert_int_equal(b->hosts, a->hosts);
        assert_int_equal(b->bytes, a->bytes);
        assert_int_equal(b->threads, a->threads);
        assert_int_equal(b->repeats, a->repeats);
        assert_true(
            same_time(b->seconds, a->seconds) && same_time(b->min_seconds, a->min_seconds) &&
            same_time(b->p95_seconds, a->p95_seconds) && same_time(b->cpu_seconds, a->cpu_seconds));
        assert_true(same_time(b->clock_mhz, a->clock_mhz) && same_time(b->power_w, a->power_w));
        assert_int_equal(b->skipped, a->skipped);
        assert_int_equal(b->line, i + 2);
    }
    observations_free(obs);
}

/* What a row ran at is no clock that it was held at. */
static void clocks_are_held_by_settings_alone(void **state)
{
    static const struct {
        const char *settings;
        double      mhz;
    } cases[] = { { "clock=900", 900 },  { "math=tf32 clock=1410 trains=inputs", 1410 },
                  { "", NAN },           { "overclock=900", NAN },
                  { "clock=fast", NAN }, { "clock=", NAN } };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        observation row = observation_blank;
        double      mhz;

        row.settings  = cases[i].settings;
        row.clock_mhz = 1200;
        mhz           = observation_held_mhz(&row);
        assert_true(mhz == cases[i].mhz || (isnan(mhz) && isnan(cases[i].mhz)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_are_held_by_settings_alone),
        cmocka_unit_test(the_shortest_file_has_four_columns_and_defaults),
        cmocka_unit_test(columns_stand_in_any_order_and_unknown_ones_are_passed_over),
        cmocka_unit_test(provenance_is_what_stands_before_the_header),
        cmocka_unit_test(the_provenance_says_on_what_kind_of_device_rows_ran),
        cmocka_unit_test(rows_without_a_time_say_why),
        cmocka_unit_test(the_text_of_other_systems_is_read),
        cmocka_unit_test(refusals_name_file_line_and_column),
        cmocka_unit_test(files_that_are_no_text_are_refused),
        cmocka_unit_test(a_row_cut_short_anywhere_is_left_out),
        cmocka_unit_test(flags_are_words),
        cmocka_unit_test(phases_and_kinds_have_names),
        cmocka_unit_test(what_is_printed_loads_as_it_was),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
