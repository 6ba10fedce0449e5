/* Extra-P's text format: read as its documentation has it, refused with file and line, and what is
 * written is read again. */
#include "folder.h"

#include <stdlib.h>

#include "import/extrap.h"

static const extrap_options plain;

static log_rows read_with(const char *text, const extrap_options *given)
{
    log_rows rows = { 0 };
    lm_error err  = { LM_OK, "" };

    extrap_read(folder_file("e.txt", text), given, &rows, &err);
    assert_string_equal(err.text, "");
    return rows;
}

/* The notation of the documentation's first example: one parameter, repetitions. */
static void repetitions_of_a_point_are_one_row_their_median(void **state)
{
    const extrap_name    name[] = { { "p", "nodes" } }, region[] = { { "example", "resnet18" } };
    const extrap_options given = { .parameters = { name, 1 },
                                   .regions    = { region, 1 },
                                   .fixed      = { .count = { [EXTRAP_BATCH] = 8 } } };
    log_rows             rows =
        read_with("# measured by hand\nPARAMETER p\nPOINTS (4) (8)\n\nREGION example\nMETRIC time\n"
                  "DATA 8.3 8.1 8.2\nDATA 22.7\n",
                  &given);

    (void)state;
    assert_int_equal(rows.n_rows, 2);
    assert_string_equal(rows.row[0].name, "resnet18");
    assert_int_equal(rows.row[0].kind, OBS_NETWORK);
    assert_int_equal(rows.row[0].phase, PHASE_STEP);
    assert_int_equal(rows.row[0].hosts, 4);
    assert_int_equal(rows.row[0].ranks, 4);
    assert_int_equal(rows.row[0].batch, 8);
    assert_int_equal(rows.row[0].repeats, 3);
    assert_true(rows.row[0].seconds == 8.2 && rows.row[0].min_seconds == 8.1);
    assert_int_equal(rows.row[1].ranks, 8);
    assert_int_equal(rows.row[1].repeats, 0); /* one value: nothing says how many it stands for */
    assert_true(rows.row[1].seconds == 22.7 && isnan(rows.row[1].min_seconds));
    log_rows_free(&rows);
}

/* Braces within braces, several lines of each section, METRIC above or below REGION: as the grammar
 * has it. */
static void points_are_written_in_any_of_the_ways_that_are_documented(void **state)
{
    static const char *const points[] = {
        "PARAMETER nodes batch\nPOINTS ( 1 16 ) ( 2 16 )\nREGION vgg16\nMETRIC forward\n",
        "PARAMETER nodes\nPARAMETER batch\nPOINTS (1 16)\nPOINTS (2 16)\nMETRIC forward\nREGION vgg16\n",
        "PARAMETER nodes\r\nPARAMETER batch\r\nPOINTS ((1) (16)) ((2)(16))\r\n\r\nREGION vgg16->forward\r\nMETRIC time\r\n",
        "PARAMETER nodes batch_size\nPOINTS((1 16)) ((2.0 16))\n# in between\nREGION main->vgg16->forward\nMETRIC time\n",
        "PARAMETER nodes\nPOINTS 1 2\nREGION vgg16 batch=16\nMETRIC forward\n",
        "PARAMETER nodes\nPOINTS (1) 2\nREGION main->vgg16 batch=16 \nMETRIC forward\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        char     text[400];
        log_rows rows;

        snprintf(text, sizeof text, "%sDATA 0.25\nDATA 0.5\n", points[i]);
        rows = read_with(text, &plain);
        assert_int_equal(rows.n_rows, 2);
        for (size_t k = 0; k < 2; k++) {
            assert_string_equal(rows.row[k].name, "vgg16");
            assert_int_equal(rows.row[k].phase, PHASE_FORWARD);
            assert_int_equal(rows.row[k].batch, 16);
            assert_int_equal(rows.row[k].hosts, k + 1);
            assert_true(rows.row[k].seconds == (k ? 0.5 : 0.25));
        }
        log_rows_free(&rows);
    }
}

static void nodes_devices_and_ranks_tell_each_other(void **state)
{
    static const struct {
        const char *parameters, *point;
        int         ranks, hosts;
    } cases[] = {
        { "nodes", "3", 3, 3 },           { "devices", "4", 4, 1 },
        { "nodes devices", "2 4", 8, 2 }, { "ranks devices", "8 4", 8, 2 },
        { "ranks devices", "2 4", 2, 1 }, { "ranks nodes", "8 2", 8, 2 },
        { "processes", "1", 1, 1 },       { "ranks devices", "4 4", 4, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char     text[400];
        log_rows rows;

        snprintf(
            text, sizeof text,
            "PARAMETER %s bytes\nPOINTS (%s 4096)\nREGION all-reduce\nMETRIC time\nDATA 1e-3\n",
            cases[i].parameters, cases[i].point);
        rows = read_with(text, &plain);
        assert_int_equal(rows.n_rows, 1);
        assert_int_equal(rows.row[0].kind, OBS_COLLECTIVE);
        assert_int_equal(rows.row[0].phase, PHASE_SYNC);
        assert_string_equal(rows.row[0].name, "allreduce");
        assert_string_equal(rows.row[0].algorithm, "default");
        assert_int_equal(rows.row[0].bytes, 4096);
        assert_int_equal(rows.row[0].ranks, cases[i].ranks);
        assert_int_equal(rows.row[0].hosts, cases[i].hosts);
        log_rows_free(&rows);
    }
}

static void what_is_wrong_is_said_with_file_and_line(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "", "e.txt: no REGION in it: expected Extra-P's text format" },
        { "PARAMETER p\n",
          "e.txt:1: parameter 'p' is none of nodes, devices, ranks, batch, bytes, bucket_bytes, threads: say what it is with "
          "--parameter 'p=ranks'" },
        { "PARAMETER batch batch_size\n", "e.txt:1: a second parameter for batch" },
        { "POINTS (1)\n", "e.txt:1: POINTS without a PARAMETER above them" },
        { "PARAMETER batch\nPOINTS (1)\nPARAMETER nodes\n",
          "e.txt:3: PARAMETER below POINTS: parameters stand first" },
        { "PARAMETER nodes batch\nPOINTS (1 2) (3)\n",
          "e.txt:2: a point of 1 number, there are 2 parameters" },
        { "PARAMETER nodes batch\nPOINTS (1 2 3)\n",
          "e.txt:2: a point of 3 numbers, there are 2 parameters" },
        { "PARAMETER nodes batch\nPOINTS 1 2\n",
          "e.txt:2: a point of 1 number, there are 2 parameters" },
        { "PARAMETER batch\nPOINTS ()\n", "e.txt:2: a point of 0 numbers, there is 1 parameter" },
        { "PARAMETER batch\nPOINTS (1\n", "e.txt:2: a ) is missing" },
        { "PARAMETER batch\nPOINTS (1))\n", "e.txt:2: a ) too many" },
        { "PARAMETER batch\nPOINTS (2.5)\n",
          "e.txt:2: batch: expected a whole number from 1 up, found 2.5" },
        { "PARAMETER batch\nPOINTS (0)\n",
          "e.txt:2: batch: expected a whole number from 1 up, found 0" },
        { "PARAMETER batch\nPOINTS (x)\n", "e.txt:2: expected a finite number, found 'x'" },
        { "PARAMETER batch\nREGION vgg16\n", "e.txt:2: a REGION without POINTS above it" },
        { "PARAMETER batch\nPOINTS 1\nREGION\n", "e.txt:3: a REGION without a name" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nPOINTS 2\n",
          "e.txt:4: POINTS below a REGION: points stand before" },
        { "PARAMETER batch\nPOINTS 1\nDATA 1\n", "e.txt:3: DATA without a REGION above them" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nDATA 1\n",
          "e.txt:4: DATA without a METRIC above them: put 'METRIC time' there if they are seconds, or give --fixed phase=step" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC\n", "e.txt:4: a METRIC without a name" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC visits\nDATA 1\n",
          "e.txt:5: metric 'visits' is none of time, forward, backward, sync, update, step, inference: if it is such a time in "
          "seconds, say which with --metric 'visits=step', else take it out of the file" },
        { "PARAMETER batch\nPOINTS 1 2\nREGION vgg16\nMETRIC time\nDATA 1\nREGION vgg19\n",
          "e.txt:6: 1 line of DATA for 2 points: every point has one, in their order" },
        { "PARAMETER batch\nPOINTS 1 2\nREGION vgg16\nMETRIC time\nDATA 1\n",
          "e.txt:5: 1 line of DATA for 2 points: every point has one, in their order" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC time\nDATA 1\nDATA 2\n",
          "e.txt:6: 2 lines of DATA for 1 point: every point has one, in their order" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC time\nREGION vgg19\n",
          "e.txt:5: the REGION above, of line 3, has no DATA" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC time\n",
          "e.txt:4: the REGION above, of line 3, has no DATA" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC time\nDATA\n",
          "e.txt:5: DATA without a value" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC time\nDATA nan\n",
          "e.txt:5: expected a finite number, found 'nan'" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC time\nDATA 1 1e999\n",
          "e.txt:5: expected a finite number, found '1e999'" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC time\nDATA 1 0\n",
          "e.txt:5: a time must be above 0, found 0" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16\nMETRIC time\nDATA -1\n",
          "e.txt:5: a time must be above 0, found -1" },
        { "PARAMETER nodes\nPOINTS 1\nREGION vgg16\nMETRIC time\nDATA 1\n",
          "e.txt:5: region 'vgg16': batch: a network needs 1 or more" },
        { "PARAMETER ranks batch\nPOINTS (4 1)\nREGION vgg16\nMETRIC time\nDATA 1\n",
          "e.txt:5: nothing says on how many nodes 4 ranks were: give --fixed nodes=N, or --fixed devices=N of each node" },
        { "PARAMETER ranks devices batch\nPOINTS (6 4 1)\nREGION vgg16\nMETRIC time\nDATA 1\n",
          "e.txt:5: 6 ranks are not 1 nodes of 4 devices" },
        { "PARAMETER bytes\nPOINTS (6)\nREGION allreduce\nMETRIC time\nDATA 1\n",
          "e.txt:5: nothing says how many ranks took part: name a parameter with --parameter p=ranks, or give --fixed ranks=N" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16 dtype=f33\nMETRIC time\nDATA 1\n",
          "e.txt:5: dtype: expected an element type (f32 f16 bf16 f64 i32 i8 f8 i64 u8), found 'f33'" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16 threads=two\n",
          "e.txt:3: threads: expected a whole number, found 'two'" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16 threads=2 more\n",
          "e.txt:3: expected key=value, found 'more'" },
        { "PARAMETER batch\nPOINTS 1\nREGION vgg16 settings=\"a=b\n",
          "e.txt:3: a quoted value does not end" },
        { "hello\n", "e.txt:1: 'hello' is none of PARAMETER, POINTS, REGION, METRIC, DATA" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        log_rows rows = { 0 };
        lm_error err  = { LM_OK, "" };

        assert_true(extrap_read(folder_file("e.txt", cases[i].text), &plain, &rows, &err) < 0);
        assert_string_equal(err.text, cases[i].error);
        log_rows_free(&rows);
    }
}

/* ---- and back
 * ------------------------------------------------------------------------------------
 */

static char *write_text(const observation *row, size_t n, lm_error *err)
{
    char  *text = NULL;
    size_t size = 0;
    FILE  *out  = open_memstream(&text, &size);

    assert_non_null(out);
    if (extrap_write(row, n, EXTRAP_TEXT, NULL, out, err)) {
        fclose(out);
        free(text);
        return NULL;
    }
    fclose(out);
    return text;
}

static void assert_same(const observation *a, const observation *b)
{
    char x[1000], y[1000];

    observation_key(a, x, sizeof x);
    observation_key(b, y, sizeof y);
    assert_string_equal(x, y);
    assert_int_equal(a->phase, b->phase);
    assert_int_equal(a->threads, b->threads);
    assert_true(a->seconds == b->seconds);
}

/* Rows of every kind, with whatever else a row may say; of each as many points as its parameters
 * make. */
static void what_is_written_is_read_again(void **state)
{
    static const observation about[] = {
        { .kind = OBS_NETWORK, .name = "resnet18", .input = "3x64x64" },
        { .kind      = OBS_NETWORK,
          .name      = "nets/my net.ini",
          .dtype     = LM_BF16,
          .optimizer = "adam",
          .settings  = "layout=nhwc math=ieee" },
        { .kind = OBS_NETWORK, .name = "allreduce" },
        { .kind     = OBS_COUNTS,
          .name     = "a published network",
          .geometry = "macs=4.1e9 outputs=1.1e7 params=2.5e7" },
        { .kind = OBS_COLLECTIVE, .name = "allreduce", .algorithm = "ring" },
        { .kind     = OBS_LAYER,
          .name     = "conv2d; relu",
          .input    = "64x56x56",
          .geometry = "filters=64 kernel=3; " },
        { .kind      = OBS_KERNEL,
          .name      = "gemm",
          .geometry  = "batch=1 m=64 n=64 k=64 bias=1",
          .algorithm = "some kernel" },
        { .kind = OBS_STREAM, .name = "lists/bert.csv" },
    };
    static const int64_t layouts[][4] = { /* nodes, devices of two points */
                                          { 1, 1, 1, 1 },
                                          { 1, 1, 1, 2 },
                                          { 1, 4, 2, 4 },
                                          { 1, 2, 4, 8 },
                                          { 3, 1, 5, 1 }
    };

    (void)state;
    for (size_t k = 0; k < sizeof about / sizeof about[0]; k++)
        for (size_t l = 0; l < sizeof layouts / sizeof layouts[0]; l++) {
            observation row[6];
            lm_error    err = { LM_OK, "" };
            log_rows    again;
            char       *text;
            size_t      n = 0;

            for (int64_t i = 0; i < 6; i++) {
                observation *r = &row[n];

                *r           = observation_blank;
                r->kind      = about[k].kind;
                r->name      = about[k].name;
                r->input     = about[k].input ? about[k].input : "";
                r->algorithm = about[k].algorithm ? about[k].algorithm : "";
                r->geometry  = about[k].geometry ? about[k].geometry : "";
                r->optimizer = about[k].optimizer ? about[k].optimizer : "";
                r->settings  = about[k].settings ? about[k].settings : "";
                r->dtype     = about[k].dtype ? about[k].dtype : LM_F32;
                r->hosts     = layouts[l][i / 3 ? 2 : 0];
                r->ranks     = r->hosts * layouts[l][i / 3 ? 3 : 1];
                r->batch     = r->kind == OBS_COLLECTIVE || r->kind == OBS_KERNEL ? 0 : 8 << i % 3;
                r->bytes     = r->kind == OBS_COLLECTIVE ? 1000 + 7 * (i % 3) : 0;
                r->threads   = r->kind == OBS_KERNEL ? 1 + i : 2;
                r->phase     = r->kind == OBS_COLLECTIVE ? PHASE_SYNC : PHASE_FORWARD;
                r->seconds   = 1.0 / (3.0 + (double)i) * (i % 2 ? 1e-9 : 1e3);
                /* two times of one point would be repetitions */
                n += !(i >= 3 && layouts[l][0] == layouts[l][2] && layouts[l][1] == layouts[l][3] &&
                       r->kind != OBS_KERNEL);
            }
            text = write_text(row, n, &err);
            assert_string_equal(err.text, "");
            again = read_with(text, &plain);
            assert_int_equal(again.n_rows, n);
            for (size_t i = 0; i < n; i++)
                assert_same(&row[i], &again.row[i]);
            log_rows_free(&again);
            free(text);
        }
}

static void rows_come_back_point_by_point_in_the_order_of_a_step(void **state)
{
    log_rows rows = read_with(
        "PARAMETER nodes\nPOINTS 1 2\nREGION vgg16 batch=4\nMETRIC update\nDATA 4\nDATA 4.5\nMETRIC forward\n"
        "DATA 1\nDATA 1.5\nMETRIC sync\nDATA 0 0\nDATA 3.5\n",
        &plain);

    (void)state;
    assert_int_equal(rows.n_rows, 5); /* one rank has no all-reduce */
    assert_true(rows.row[0].seconds == 1 && rows.row[1].seconds == 4);
    assert_true(rows.row[2].seconds == 1.5 && rows.row[3].seconds == 3.5 &&
                rows.row[4].seconds == 4.5);
    log_rows_free(&rows);
}

static void text_wants_every_point_of_every_region(void **state)
{
    observation row[3];
    lm_error    err = { LM_OK, "" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        row[i]         = observation_blank;
        row[i].name    = i < 2 ? "vgg16" : "vgg19";
        row[i].batch   = i == 1 ? 8 : 4;
        row[i].ranks   = 1;
        row[i].hosts   = 1;
        row[i].seconds = 1;
    }
    assert_null(write_text(row, 3, &err));
    assert_string_equal(
        err.text,
        "'vgg19' has no forward at batch=8, as others have: Extra-P's text format wants every point of "
        "every region and metric; take --format extra-p-jsonl, or fewer regions with --name");
    row[2].name = "batch=4"; /* would be read as a word; gpt2:layers=6 is a name */
    assert_null(write_text(row, 3, &err));
    assert_string_equal(err.text, "'batch=4' cannot be the name of a region");
}

/* The format's grammar has digits and a point; the shortest such number that is the same. */
static void numbers_have_no_exponent_and_lose_nothing(void **state)
{
    observation row = observation_blank;
    lm_error    err = { LM_OK, "" };
    char       *text;

    (void)state;
    row.name  = "vgg16";
    row.batch = row.ranks = row.hosts = 1;
    row.seconds                       = 1.25e-7;
    text                              = write_text(&row, 1, &err);
    assert_string_equal(
        text, "PARAMETER batch\nPOINTS (1)\n\nREGION vgg16\nMETRIC forward\nDATA 0.000000125\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repetitions_of_a_point_are_one_row_their_median),
        cmocka_unit_test(points_are_written_in_any_of_the_ways_that_are_documented),
        cmocka_unit_test(nodes_devices_and_ranks_tell_each_other),
        cmocka_unit_test(what_is_wrong_is_said_with_file_and_line),
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(rows_come_back_point_by_point_in_the_order_of_a_step),
        cmocka_unit_test(text_wants_every_point_of_every_region),
        cmocka_unit_test(numbers_have_no_exponent_and_lose_nothing),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
