/* layermeter import nccl-tests|osu: logs of all-reduce benchmarks as observations. */
#include "cli/import_logs.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

typedef lm_status (*log_reader)(const char *path, const log_options *given, log_rows *out,
                                lm_error *err);

static log_reader find_reader(const char *tool)
{
    if (!strcmp(tool, "nccl-tests"))
        return log_read_nccl_tests;
    return strcmp(tool, "osu") ? NULL : log_read_osu;
}

bool import_is_log(const char *tool)
{
    return find_reader(tool) != NULL;
}

static bool read_count(const char *text, int64_t *out, lm_error *err)
{
    if (!text)
        return true;
    if (text_int(text, out, err))
        return false;
    if (*out >= 1 && *out <= 1000000)
        return true;
    lm_error_set(err, LM_E_ARG, "must be 1 to 1000000");
    return false;
}

/* The option that is wrong; NULL: none. */
static const char *read_options(const options *o, const log_places *at, log_options *out,
                                lm_error *err)
{
    out->algorithm = o->value[at->algorithm];
    if (!read_count(o->value[at->ranks], &out->ranks, err))
        return "--ranks";
    if (!read_count(o->value[at->hosts], &out->hosts, err))
        return "--hosts";
    if (out->ranks && out->hosts > out->ranks) {
        lm_error_set(err, LM_E_ARG, "more hosts than ranks");
        return "--hosts";
    }
    if (out->algorithm && strcmp(out->algorithm, "default") && strcmp(out->algorithm, "ring")) {
        lm_error_set(err, LM_E_ARG, "'%.40s' is none of default, ring", out->algorithm);
        return "--algorithm";
    }
    return NULL;
}

lm_status import_write(const options *o, const char *path, const log_rows *rows, lm_error *err)
{
    file_draft draft;
    lm_status  status;

    if (!path) {
        log_print(rows, o->argument + 1, o->n_arguments - 1, stdout);
        return LM_OK;
    }
    status = file_draft_open(&draft, path, err);
    if (status)
        return status;
    log_print(rows, o->argument + 1, o->n_arguments - 1, draft.stream);
    status = file_draft_commit(&draft, err);
    file_draft_drop(&draft);
    return status;
}

static void print_left_out(const log_rows *rows)
{
    const struct {
        size_t      n;
        const char *why;
    } parts[] = { { rows->n_wrong, "the result was wrong" },
                  { rows->n_other,
                    "an empty message, no sum, or an element type without a name here" },
                  { rows->n_broken, "cut short, or without a time" } };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].n)
            fprintf(stderr, "layermeter: %zu row%s left out: %s\n", parts[i].n,
                    parts[i].n == 1 ? "" : "s", parts[i].why);
}

int import_logs(const options *o, const log_places *at)
{
    const log_reader read   = find_reader(o->argument[0]);
    lm_error         err    = { 0 };
    log_options      given  = { 0 };
    log_rows         rows   = { 0 };
    const char      *wrong  = read_options(o, at, &given, &err);
    lm_status        status = LM_OK;

    if (!wrong && o->n_arguments < 2) {
        lm_error_set(&err, LM_E_ARG, "a LOG is missing after '%s'", o->argument[0]);
        wrong = "";
    }
    if (wrong)
        return report_misuse(wrong, &err);
    for (int i = 1; i < o->n_arguments && !status; i++)
        status = read(o->argument[i], &given, &rows, &err);
    if (!status && !rows.n_rows)
        status = lm_error_set(&err, LM_E_ARG,
                              "%s: no row is of use (%zu wrong, %zu of other kinds, %zu broken)",
                              o->argument[1], rows.n_wrong, rows.n_other, rows.n_broken);
    if (!status)
        status = import_write(o, o->value[at->output], &rows, &err);
    if (!status)
        print_left_out(&rows);
    log_rows_free(&rows);
    return status ? report_failure(&err) : EXIT_DONE;
}
