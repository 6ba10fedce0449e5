/* Learned models of single layers as text. */
#include <math.h>
#include <string.h>

#include "layerwise/layerwise_model.h"

#define MOST_TASKS 1024
#define MOST_ROWS  1e9

static void feature_text(lines *l, layerwise_range *f)
{
    static const char *const sorts[] = {
        "count", "flag", "device", "over", "some", "word", "clock"
    };
    const size_t sort = lines_which(l, sorts, LAYERWISE_MHZ + 1, f->sort);

    LINE(l, sorts[sort], ITEM_WORD(f->name), ITEM_ANY(&f->low), ITEM_ANY(&f->high));
    lines_check(l, f->low <= f->high, "a range from %g to %g", f->low, f->high);
    f->sort = (layerwise_sort)sort;
}

/* Intervals of those phases that have one of their own. */
static void phases_text(lines *l, layerwise_task *t)
{
    const char *names[N_PHASES];
    size_t      n = 0, f = 0;

    for (phase k = 0; k < N_PHASES; k++) {
        names[k] = phase_name(k);
        n += interval_known(&t->of_phase[k]);
    }
    LINE(l, "phases", ITEM_COUNT(&n, 0, N_PHASES));
    for (size_t k = 0; k < n && !l->status; k++, f++) {
        while (l->out && !interval_known(&t->of_phase[f]))
            f++;
        f = lines_which(l, names, N_PHASES, f);
        interval_line(l, names[f], &t->of_phase[f]);
    }
}

/* Names of devices that a model knows by name. */
static void devices_text(lines *l, layerwise_task *t)
{
    static const char *const first[] = { "features", "devices" };

    if (!lines_which(l, first, 2, t->n_devices > 0))
        return;
    LINE(l, "devices", ITEM_COUNT(&t->n_devices, 1, LAYERWISE_DEVICES));
    for (size_t k = 0; k < t->n_devices && !l->status; k++)
        LINE(l, "device", ITEM_REST(t->device[k]));
    interval_line(l, "unseen", &t->unseen);
}

static void task_text(lines *l, const layerwise_kind *kind, layerwise_task *t)
{
    static const char *const targets[N_LAYERWISE_TARGETS] = { "seconds", "watts" };
    size_t                   target = t->target, n = 0;

    if (!l->out) {
        t->interval = t->unseen = interval_unknown;
        for (phase f = 0; f < N_PHASES; f++)
            t->of_phase[f] = interval_unknown;
    }
    LINE(l, "task", ITEM_WORD(t->name), ITEM_CHOICE(&target, targets, N_LAYERWISE_TARGETS));
    t->target = (layerwise_target)target;
    lines_check(l, kind->target[target], "%s tells no %s", kind->name, targets[target]);
    LINE(l, "rows", ITEM_COUNT(&t->judged.seen, 0, MOST_ROWS),
         ITEM_COUNT(&t->judged.held, 0, MOST_ROWS));
    LINE(l, "error", ITEM_KNOWN(&t->judged.mape, 1, 0, DBL_MAX));
    interval_line(l, "interval", &t->interval);
    phases_text(l, t);
    devices_text(l, t);
    LINE(l, "features", ITEM_COUNT(&t->n_features, 0, LAYERWISE_FEATURES));
    for (size_t k = 0; k < t->n_features && !l->status; k++)
        feature_text(l, &t->feature[k]);
    if (!l->status)
        n = kind->learner->text(l, &t->learned);
    lines_check(l, n == t->n_features, "learned of %zu features, of which %zu are named", n,
                t->n_features);
}

static void text(lines *l, void **both)
{
    layerwise_model *m = *both = lines_made(l, *both, sizeof *m);
    size_t           n         = m ? m->n_tasks : 0;

    if (!m || !LINE(l, "tasks", ITEM_COUNT(&n, 0, MOST_TASKS)))
        return;
    if (!l->out) {
        m->kind = layerwise_find(l->name);
        m->task = lines_array(l, n, sizeof *m->task);
    }
    for (size_t i = 0; i < n && !l->status; i++) {
        m->n_tasks = l->out ? n : i + 1;
        task_text(l, m->kind, &m->task[i]);
    }
}

static void release(void *what)
{
    layerwise_free(what);
}

const kept_kind layerwise_kept = { "learned model", text, release, NULL };
