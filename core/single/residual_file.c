/* Residuals as text. */
#include "single/residual_file.h"

#include "learn/lines.h"
#include "single/residual.h"

#define ROWS_MOST 1e9

static void feature_text(lines *l, const feature_list *fixed, residual_space *s, size_t i)
{
    residual_feature f = { .low = 0 };

    if (l->out)
        f = s->feature[i];
    if (!LINE(l, "feature", ITEM_WORD(f.name), ITEM_ANY(&f.low), ITEM_ANY(&f.high)) || l->out)
        return;
    if (!residual_space_append(s, fixed->of, fixed->n, f.name)) {
        lines_fail(l, LM_E_NOTFOUND,
                   "'%.40s' is no feature that comes next: written by another version? fit the "
                   "observations again",
                   f.name);
        return;
    }
    lines_check(l, f.low <= f.high, "a range from %g to %g", f.low, f.high);
    s->feature[i].low  = f.low;
    s->feature[i].high = f.high;
}

static void class_text(lines *l, size_t class, residual_trees **both)
{
    feature_list    fixed;
    residual_trees *r = *both = lines_made(l, *both, sizeof *r);
    size_t          n         = r ? r->space.n : 0;

    if (!r)
        return;
    residual_features_fixed(class, &fixed);
    LINE(l, "rows", ITEM_COUNT(&r->rows, 0, ROWS_MOST), ITEM_COUNT(&r->judged, 0, ROWS_MOST));
    LINE(l, "errors", ITEM_REAL(&r->mape_priced, 0, DBL_MAX), ITEM_REAL(&r->mape, 0, DBL_MAX));
    LINE(l, "clamp", ITEM_REAL(&r->low, -100, 100), ITEM_REAL(&r->high, -100, 100));
    lines_check(l, r->low <= r->high, "clamp: from %g to %g", r->low, r->high);
    LINE(l, "features", ITEM_COUNT(&n, (double)fixed.n, RESIDUAL_FEATURES));
    for (size_t i = 0; i < n && !l->status; i++)
        feature_text(l, &fixed, &r->space, i);
    trees_text(l, &r->trees);
    if (!l->status)
        lines_check(l, r->trees->n_features == n, "trees of %zu features, of which %zu are named",
                    r->trees->n_features, n);
}

/* Writes or reads n classes, from `from` on. */
static void text(lines *l, void **both, size_t from, size_t n)
{
    const char   *known[N_LAYER_CLASSES];
    size_t        there = 0, at = 0;
    residual_set *s = *both = lines_made(l, *both, sizeof *s);

    if (!s)
        return;
    for (size_t c = 0; c < n; c++) {
        known[c] = layer_classes[from + c]->name;
        there += s->of[from + c] != NULL;
    }
    LINE(l, "classes", ITEM_COUNT(&there, 1, (double)n));
    for (size_t k = 0; k < there && !l->status; k++, at++) {
        while (l->out && !s->of[from + at])
            at++;
        if (!LINE(l, "class", ITEM_CHOICE(&at, known, n)))
            return;
        lines_check(l, l->out || !s->of[from + at], "'%s' is there twice", known[at]);
        if (!l->status)
            class_text(l, from + at, &s->of[from + at]);
    }
}

static void text_of_layers(lines *l, void **both)
{
    text(l, both, 0, FIRST_LAUNCH);
}

static void text_of_launches(lines *l, void **both)
{
    text(l, both, FIRST_LAUNCH, N_LAYER_CLASSES - FIRST_LAUNCH);
}

static void release(void *what)
{
    residual_set_free(what);
}

const kept_kind residual_kept = { "residual", text_of_layers, release, NULL };
const kept_kind kernels_kept  = { "residual of kernels", text_of_launches, release, NULL };
