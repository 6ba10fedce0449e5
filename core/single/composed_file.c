/* Factors of composed networks in machine files. */
#include "single/composed_file.h"

#include <string.h>

#include "base/text.h"

#define STEP      "composed.step"
#define INFERENCE "composed.inference"
#define MOST      1e6

static void write_one(FILE *out, const char *name, const composed_factors *f)
{
    char text[40];

    fprintf(out, "\n[%s]\n; factors on what single layers take, in a network\nrows = %zu\n", name,
            f->rows);
    for (whole_part p = 0; p < N_WHOLE_PARTS; p++)
        fprintf(out, "%s = %s\n", whole_part_name(p), text_exact(f->of[p], text, sizeof text));
}

void composed_file_write(FILE *out, const composed_set *s)
{
    write_one(out, STEP, &s->step);
    write_one(out, INFERENCE, &s->inference);
}

bool composed_file_owns(const ini_section *s)
{
    return !strcmp(s->name, STEP) || !strcmp(s->name, INFERENCE);
}

static lm_status read_pair(const ini_pair *pair, composed_factors *to, bool *found, lm_error *err)
{
    whole_part p = 0;
    uint64_t   rows;
    lm_status  status;

    if (!strcmp(pair->key, "rows")) {
        if (!(status = text_uint(pair->value, &rows, err)))
            to->rows = (size_t)rows;
        return status;
    }
    while (p < N_WHOLE_PARTS && strcmp(whole_part_name(p), pair->key) != 0)
        p++;
    if (p == N_WHOLE_PARTS)
        return lm_error_set(err, LM_E_NOTFOUND, "'%.40s' is no part of a network", pair->key);
    found[p] = true;
    if ((status = text_real(pair->value, &to->of[p], err)))
        return status;
    return to->of[p] >= 0 && to->of[p] <= MOST
               ? LM_OK
               : lm_error_set(err, LM_E_ARG, "expected a factor of 0 to 1e6, found '%.40s'",
                              pair->value);
}

lm_status composed_file_read(const ini_document *doc, const ini_section *s, composed_set *out,
                             lm_error *err)
{
    composed_factors *to                   = !strcmp(s->name, STEP) ? &out->step : &out->inference;
    bool              found[N_WHOLE_PARTS] = { false };
    lm_status         status               = LM_OK;

    *to = composed_plain;
    for (size_t i = 0; i < s->n_pairs && !status; i++)
        if ((status = read_pair(&s->pair[i], to, found, err)))
            lm_error_prefix(err, "%s:%d: %s", doc->path, s->pair[i].line, s->pair[i].key);
    for (whole_part p = 0; p < N_WHOLE_PARTS && !status; p++)
        if (!found[p])
            status = lm_error_set(err, LM_E_NOTFOUND,
                                  "%s:%d: [%s] has no '%s': cut short, or edited? fit the "
                                  "observations again",
                                  doc->path, s->line, s->name, whole_part_name(p));
    return status;
}
