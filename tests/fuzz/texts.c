/* Texts, INI and CSV. */
#include "inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/ini.h"
#include "base/text.h"
#include "network/kernels.h"
#include "program/layout.h"

static bool fuzz_list(const char *text, text_int_parser parse)
{
    lm_error  err    = { 0 };
    int64_t  *list   = NULL;
    size_t    n      = 0;
    lm_status status = text_list(text, parse, &list, &n, &err);

    if (status) {
        check_refusal(status, &err);
        check(!list);
        return false;
    }
    check(n >= 1 && n <= 100000);
    for (size_t i = 0; i < n; i++)
        check(list[i] >= 1);
    free(list);
    return true;
}

bool fuzz_text(const uint8_t *data, size_t size)
{
    char     *text = as_text(data, size), *item[8], *copy;
    char      buffer[64];
    int64_t   number = -7, dim[LM_MAX_RANK];
    uint64_t  count;
    int32_t   dtype, same;
    double    real, again;
    bool      yes;
    size_t    n   = 0;
    lm_error  err = { 0 };
    lm_status status;

    bool accepted = fuzz_list(text, text_int);

    accepted |= fuzz_list(text, text_bytes);
    for (size_t max = 1; max <= LM_MAX_RANK; max += LM_MAX_RANK - 1) {
        if ((status = text_shape(text, dim, max, &n, &err)))
            check_refusal(status, &err);
        else
            check(n >= 1 && n <= max);
        for (size_t i = 0; !status && i < n; i++)
            check(dim[i] >= 1);
    }
    if ((status = text_int(text, &number, &err))) {
        check_refusal(status, &err);
        check(number == -7);
    }
    if ((status = text_uint(text, &count, &err)))
        check_refusal(status, &err);
    else
        text_grouped(count, buffer, sizeof buffer);
    if ((status = text_bytes(text, &number, &err)))
        check_refusal(status, &err);
    else
        check(number >= 0);
    if ((status = text_seconds(text, &real, &err)))
        check_refusal(status, &err);
    else
        check(isfinite(real) && real >= 0);
    if ((status = text_quantity(text, "W", &real, &err)))
        check_refusal(status, &err);
    else
        check(isfinite(real));
    if ((status = text_rate(text, &real, &err)))
        check_refusal(status, &err);
    else
        check(isfinite(real));
    if ((status = text_bool(text, &yes, &err)))
        check_refusal(status, &err);
    if ((status = text_dtype(text, &dtype, &err)))
        check_refusal(status, &err);
    else
        check(!text_dtype(text_dtype_name(dtype), &same, NULL) && same == dtype); /* fp8 is f8 */
    if ((status = text_real(text, &real, &err))) {
        check_refusal(status, &err);
    } else {
        check(isfinite(real));
        check(!text_real(text_exact(real, buffer, sizeof buffer), &again, NULL) && again == real);
        text_si(real, buffer, sizeof buffer);
    }
    text_distance(text, "adaptive_avg_pool2d", 2);
    copy = as_text(data, size);
    n    = text_split(copy, ',', item, 8);
    check(n >= 1 && n <= 8);
    for (size_t i = 0; i < n; i++)
        check(item[i] >= copy && item[i] + strlen(item[i]) <= copy + strlen(text));
    free(copy);
    free(text);
    return accepted;
}

/* The first byte chooses op and pass. What is read can be written and read again. */
bool fuzz_geometry(const uint8_t *data, size_t size)
{
    static const char *const name[] = { "opaque", "gemm",    "conv",   "pool", "map",
                                        "norm",   "softmax", "gather", "copy", "allreduce" };
    lm_kernel                k      = { .size = sizeof k, .dtype = LM_F32, .repeat = 1 }, again;
    lm_error                 err    = { 0 };
    char                     printed[512], twice[512], *text;
    lm_status                status;

    if (!size)
        return false;
    check(!kernel_op_parse(name[data[0] % 10], &k.op, &err));
    k.pass = data[0] / 10 % LM_N_PASSES;
    again  = k;
    text   = as_text(data + 1, size - 1);
    status = kernel_parse_geometry(text, &k, &err);
    free(text);
    if (status) {
        check_refusal(status, &err);
        check(!memcmp(&k, &again, sizeof k));
        return false;
    }
    lm_kernel_work(&k);
    kernel_print_geometry(&k, printed, sizeof printed);
    check(!kernel_parse_geometry(printed, &again, &err));
    check(!strcmp(kernel_print_geometry(&again, twice, sizeof twice), printed));
    return true;
}

bool fuzz_ini(const uint8_t *data, size_t size)
{
    char         *text   = as_text(data, size);
    ini_document *doc    = NULL;
    lm_error      err    = { 0 };
    lm_status     status = ini_load_text("fuzz.ini", text, &doc, &err);
    int           line   = 0;

    free(text);
    if (status) {
        check_refusal(status, &err);
        check(!strncmp(err.text, "fuzz.ini:", 9));
        return false;
    }
    for (size_t i = 0; i < doc->n_sections; i++) {
        const ini_section *s = &doc->section[i];

        check(s->line > line);
        line = s->line;
        check(ini_find(doc, s->name) == s);
        for (size_t k = 0; k < s->n_pairs; k++) {
            check(s->pair[k].line > line);
            line = s->pair[k].line;
            check(*s->pair[k].key && ini_get(s, s->pair[k].key) == &s->pair[k]);
        }
    }
    ini_free(doc);
    return true;
}

/* What is read can be written and read again. */
static void check_record(char *const field[], size_t n)
{
    char      *written = NULL, *again[CSV_MAX_COLUMNS];
    size_t     size    = 0, n_again;
    FILE      *out     = open_memstream(&written, &size);
    csv_reader csv;
    lm_error   err = { 0 };

    check(out);
    for (size_t i = 0; i < n; i++) {
        csv_put(out, field[i]);
        putc(i + 1 < n ? ',' : '\n', out);
    }
    check(!fclose(out));
    csv_open(&csv, "again", written);
    check(!csv_record(&csv, again, &n_again, &err));
    check(n_again == n);
    for (size_t i = 0; i < n; i++)
        check(!strcmp(field[i], again[i]));
    free(written);
}

bool fuzz_csv(const uint8_t *data, size_t size)
{
    char       *text = as_text(data, size), *field[CSV_MAX_COLUMNS];
    const char *end  = text + strlen(text);
    csv_reader  csv;
    size_t      n;
    lm_error    err  = { 0 };
    int         line = 0;
    lm_status   status;

    csv_open(&csv, "fuzz.csv", text);
    for (char *comment; (comment = csv_comment(&csv));)
        check(comment <= end && csv.line == ++line);
    while (!(status = csv_record(&csv, field, &n, &err)) && n) {
        check(n <= CSV_MAX_COLUMNS && csv.line > line && csv.next <= end);
        line = csv.line;
        for (size_t i = 0; i < n; i++)
            check(field[i] >= text && field[i] + strlen(field[i]) <= end);
        /* one empty field is an empty line; a byte order mark is dropped at the start */
        if ((n > 1 || *field[0]) && strncmp(field[0], "\xEF\xBB\xBF", 3))
            check_record(field, n);
    }
    if (status)
        check_refusal(status, &err);
    free(text);
    return !status;
}

/* What is read is printed, and read again the same. What is settled has groups on some nodes. */
bool fuzz_layout(const uint8_t *data, size_t size)
{
    const layout_facts facts = { .heads = 48, .kv_heads = 24, .blocks = 24, .tokens = 6144 };
    layout             l = layout_plain(), again = l;
    char              *text   = as_text(data, size), printed[LAYOUT_TEXT];
    lm_error           err    = { 0 };
    lm_status          status = layout_parse(text, &l, &err);
    rank_span          span, replica;

    free(text);
    if (status) {
        check_refusal(status, &err);
        check(!memcmp(&l, &again, sizeof l));
        return false;
    }
    layout_print(&l, printed);
    if (strlen(printed) + 1 < sizeof printed) {
        check(!layout_parse(printed, &again, &err));
        again.told = l.told; /* properties are printed by their values, told or not */
        check(!memcmp(&l, &again, sizeof l));
    }
    if ((status = layout_settle(&l, &facts, 48, &err))) {
        check_refusal(status, &err);
        return true;
    }
    check(l.dp * layout_replica(&l) == 48 &&
          l.dp * l.micro_batch * l.accumulation == l.global_batch);
    for (unsigned dims = 1; dims < 1u << N_LAYOUT_DIMS; dims++)
        if ((status = layout_span(&l, dims, 8, &span, &err)))
            check_refusal(status, &err);
    if ((status = layout_shard_span(&l, 8, &span, &replica, &err)))
        check_refusal(status, &err);
    else
        check(span.nodes * span.devices * replica.nodes * replica.devices == l.dp * l.cp);
    return true;
}
