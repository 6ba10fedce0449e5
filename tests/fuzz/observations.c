/* Observations, and fits to them. */
#include "inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fit/fit.h"
#include "observe/launches.h"

static void check_fit(const observations *obs)
{
    workloads   *loads  = NULL;
    points       p      = { 0 };
    calibration *cal    = NULL;
    lm_error     err    = { 0 };
    lm_status    status = workloads_new(fuzz_types, &loads, &err);

    if (!status)
        status = points_from(obs, loads, &p, &err);
    if (!status)
        status = fit_all(obs, &p, &cal, &err);
    if (status)
        check_refusal(status, &err);
    else
        check_saved(cal);
    calibration_free(cal);
    points_free(&p);
    workloads_free(loads);
}

/* What is read can be written and read again. */
static void check_rows(const observations *obs)
{
    char         *text  = NULL;
    size_t        size  = 0;
    FILE         *out   = open_memstream(&text, &size);
    observations *again = NULL;
    memory_file   f;
    lm_error      err = { 0 };

    check(out);
    observation_print_head(out);
    for (size_t i = 0; i < obs->n_rows; i++)
        observation_print(out, &obs->row[i], obs->row[i].skipped ? "skipped-memory" : "ok");
    check(!fclose(out));
    f = file_of((const uint8_t *)text, size);
    if (observations_load(f.path, &again, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    close(f.fd);
    check(again->n_rows == obs->n_rows && again->n_skipped == obs->n_skipped && !again->cut_short);
    for (size_t i = 0; i < obs->n_rows; i++) {
        const observation *a = &obs->row[i], *b = &again->row[i];

        check(a->kind == b->kind && a->phase == b->phase && a->pass == b->pass &&
              a->dtype == b->dtype);
        check(!strcmp(a->name, b->name) && !strcmp(a->input, b->input) &&
              !strcmp(a->algorithm, b->algorithm) && !strcmp(a->geometry, b->geometry));
        check(a->batch == b->batch && a->ranks == b->ranks && a->hosts == b->hosts &&
              a->bytes == b->bytes);
        check(a->seconds == b->seconds || a->skipped);
    }
    observations_free(again);
    free(text);
}

bool fuzz_observations(const uint8_t *data, size_t size)
{
    memory_file   f      = file_of(data, size);
    observations *obs    = NULL;
    lm_error      err    = { 0 };
    lm_status     status = observations_load(f.path, &obs, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(obs->n_rows >= 1);
    for (size_t i = 0; i < obs->n_rows; i++) {
        const observation *row = &obs->row[i];

        check(row->skipped || (isfinite(row->seconds) && row->seconds > 0));
        check(*row->name && row->ranks >= 1 && row->hosts >= 1);
    }
    check_rows(obs);
    check_fit(obs);
    observations_free(obs);
    return true;
}

/* A list of kernels that run one after the other. */
bool fuzz_stream(const uint8_t *data, size_t size)
{
    memory_file   f = file_of(data, size);
    kernel_stream s;
    lm_error      err    = { 0 };
    lm_status     status = kernel_stream_load(f.path, &s, &err);

    close(f.fd);
    if (status) {
        check_refusal(status, &err);
        return false;
    }
    check(s.kernels.n >= 1);
    for (size_t i = 0; i < s.kernels.n; i++)
        check(s.kernels.kernel[i].repeat >= 1 && s.tag[i]);
    kernel_stream_free(&s);
    return true;
}
