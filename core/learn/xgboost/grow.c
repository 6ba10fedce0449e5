/* Regression trees grown by XGBoost. The library is loaded only when trees are grown: loading takes
 * longer than most commands. */
#include <dlfcn.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <xgboost/c_api.h>

#include "base/no_memory.h"
#include "base/symbol.h"
#include "learn/boost.h"

/* ---- loading ---- */

/* Functions of XGBoost that are called. */
#define FUNCTIONS(DO)              \
    DO(XGBGetLastError)            \
    DO(XGDMatrixCreateFromMat)     \
    DO(XGDMatrixSetFloatInfo)      \
    DO(XGDMatrixFree)              \
    DO(XGBoosterCreate)            \
    DO(XGBoosterSetParam)          \
    DO(XGBoosterUpdateOneIter)     \
    DO(XGBoosterEvalOneIter)       \
    DO(XGBoosterSaveModelToBuffer) \
    DO(XGBoosterFree)

#define POINTER(name) __typeof__(&name) name;
static struct {
    FUNCTIONS(POINTER)
    char lacks[200]; /* what went wrong; "": nothing */
} xgb;

static void load(void)
{
    const char *path    = getenv("LAYERMETER_XGBOOST");
    void       *library = dlopen(path && *path ? path : LAYERMETER_XGBOOST, RTLD_NOW | RTLD_LOCAL);

#define FIND(name) &&symbol_find(library, #name, &xgb.name)
    if (!(library FUNCTIONS(FIND)))
        snprintf(xgb.lacks, sizeof xgb.lacks, "%s", dlerror());
}

bool boost_available(void)
{
    static once_flag once = ONCE_FLAG_INIT;

    call_once(&once, load);
    return !*xgb.lacks;
}

static lm_status failed(lm_error *err)
{
    return lm_error_set(err, LM_E_ARG, "XGBoost: %.150s", xgb.XGBGetLastError());
}

/* ---- growing ---- */

static lm_status check_options(const boost_options *o, lm_error *err)
{
    if (o->trees < 1 || o->depth < 1 || o->depth > 30 || !(o->rate > 0) || !(o->rows > 0) ||
        o->rows > 1 || !(o->features > 0) || o->features > 1 || !(o->leaf_rows >= 0) ||
        !(o->l2 >= 0))
        return lm_error_set(
            err, LM_E_ARG,
            "%u trees of depth %u (1 to 30), rate %g (above 0), shares %g and %g (above "
            "0, to 1), %g rows a leaf, l2 %g (0 or more)",
            o->trees, o->depth, o->rate, o->rows, o->features, o->leaf_rows, o->l2);
    return LM_OK;
}

/* Trees of one round. */
static unsigned together(const boost_options *o)
{
    return o->forest ? o->trees : o->together > 1 ? o->together : 1;
}

/* XGBoost takes single precision, and NAN for missing values: there are none. */
static lm_status matrix_of(const learn_rows *r, DMatrixHandle *out, lm_error *err)
{
    float    *x = malloc(r->n * r->n_features * sizeof *x), *y = malloc(r->n * sizeof *y);
    lm_status status = x && y ? LM_OK : no_memory(err);

    for (size_t i = 0; !status && i < r->n * r->n_features; i++)
        x[i] = (float)r->x[i];
    for (size_t i = 0; !status && i < r->n; i++)
        y[i] = (float)r->y[i];
    if (!status && (xgb.XGDMatrixCreateFromMat(x, r->n, r->n_features, NAN, out) ||
                    xgb.XGDMatrixSetFloatInfo(*out, "label", y, r->n)))
        status = failed(err);
    free(x);
    free(y);
    return status;
}

static lm_status set_option(BoosterHandle b, const char *name, double value, lm_error *err)
{
    char text[40];

    snprintf(text, sizeof text, "%.9g", value);
    return xgb.XGBoosterSetParam(b, name, text) ? failed(err) : LM_OK;
}

static lm_status set_options(BoosterHandle b, const boost_options *o, double base, lm_error *err)
{
    const struct {
        const char *name;
        double      value;
    } set[] = {
        { "base_score", base },
        { "max_depth", o->depth },
        { "learning_rate", o->rate },
        { "subsample", o->rows },
        { o->forest ? "colsample_bynode" : "colsample_bytree", o->features },
        { "min_child_weight", o->leaf_rows },
        { "lambda", o->l2 },
        { "num_parallel_tree", together(o) },
        { "seed", (double)(o->seed & 0x7fffffff) },
        { "verbosity", 0 },
        { "nthread", 1 }, /* several threads wait by spinning, even if another program needs the
                           * core */
    };
    lm_status status = LM_OK;

    for (size_t i = 0; i < sizeof set / sizeof set[0] && !status; i++)
        status = set_option(b, set[i].name, set[i].value, err);
    /* deep trees have so many nodes that histograms of each cost more than sorted rows */
    if (!status && (xgb.XGBoosterSetParam(b, "objective", "reg:squarederror") ||
                    xgb.XGBoosterSetParam(b, "tree_method", o->forest ? "exact" : "hist")))
        status = failed(err);
    return status;
}

/* Grows one round after the other, and finds the best number of rounds on the held-out rows. */
static lm_status grow(BoosterHandle b, DMatrixHandle rows, DMatrixHandle held,
                      const boost_options *o, unsigned *best, lm_error *err)
{
    const unsigned rounds = o->forest ? 1 : o->trees, patience = rounds / 10 + 1;
    const char    *names[] = { "held" };
    double         least   = HUGE_VAL;

    *best = rounds;
    for (unsigned k = 0; k < rounds; k++) {
        const char *text, *value;

        if (xgb.XGBoosterUpdateOneIter(b, (int)k, rows))
            return failed(err);
        if (!held || o->forest)
            continue;
        if (xgb.XGBoosterEvalOneIter(b, (int)k, (DMatrixHandle[]){ held }, names, 1, &text))
            return failed(err);
        value = strrchr(text, ':'); /* "[0]\theld-rmse:0.25" */
        if (value && atof(value + 1) < least) {
            least = atof(value + 1);
            *best = k + 1;
        }
        if (k + 1 >= *best + patience)
            break;
    }
    return LM_OK;
}

/* ---- taking over ---- */

/* Arrays of one tree in XGBoost's JSON model. */
typedef struct grown {
    json_t *left, *right, *feature, *value, *rows;
} grown;

static double number_at(json_t *array, size_t i)
{
    return json_number_value(json_array_get(array, i));
}

/* Node `at` and its descendants, parents first; false when memory runs out. */
static bool take_node(const grown *g, size_t at, trees *t, size_t *room)
{
    const size_t mine = t->n_nodes;
    const long   left = (long)number_at(g->left, at);

    if (t->n_nodes == *room) {
        tree_node *more = realloc(t->node, (*room ? 2 * *room : 1024) * sizeof *more);

        if (!more)
            return false;
        t->node = more;
        *room   = *room ? 2 * *room : 1024;
    }
    t->n_nodes++;
    t->node[mine] = (tree_node){ .feature = -1,
                                 .value   = (float)number_at(g->value, at),
                                 .below   = (int32_t)lround(number_at(g->rows, at)) };
    if (left < 0)
        return true;
    t->node[mine].feature = (int32_t)number_at(g->feature, at);
    t->node[mine].below   = (int32_t)(t->n_nodes - mine);
    if (!take_node(g, (size_t)left, t, room))
        return false;
    t->node[mine].above = (int32_t)(t->n_nodes - mine);
    return take_node(g, (size_t)number_at(g->right, at), t, room);
}

static lm_status take_trees(json_t *model, size_t n, trees *t, lm_error *err)
{
    json_t *learner = json_object_get(model, "learner");
    json_t *booster = json_object_get(learner, "gradient_booster");
    json_t *list    = json_object_get(json_object_get(booster, "model"), "trees");
    size_t  room    = 0;

    n        = n < json_array_size(list) ? n : json_array_size(list);
    t->begin = calloc(n + 1, sizeof *t->begin);
    for (size_t k = 0; t->begin && k < n; k++) {
        json_t     *tree = json_array_get(list, k);
        const grown g    = { json_object_get(tree, "left_children"),
                             json_object_get(tree, "right_children"),
                             json_object_get(tree, "split_indices"),
                             json_object_get(tree, "split_conditions"),
                             json_object_get(tree, "sum_hessian") }; /* 1 a row of squares */

        if (!json_array_size(g.value))
            return lm_error_set(err, LM_E_UNSUPPORTED,
                                "XGBoost's model has no trees in the form of version 1.7");
        if (!take_node(&g, 0, t, &room))
            return no_memory(err);
        t->begin[k + 1] = t->n_nodes;
    }
    t->n_trees = n;
    return t->begin ? LM_OK : no_memory(err);
}

static lm_status take_over(BoosterHandle b, size_t n, trees *t, lm_error *err)
{
    bst_ulong   size;
    const char *text;
    json_t     *model;
    lm_status   status;

    if (xgb.XGBoosterSaveModelToBuffer(b, "{\"format\": \"json\"}", &size, &text))
        return failed(err);
    if (!(model = json_loadb(text, size, 0, NULL)))
        return lm_error_set(err, LM_E_UNSUPPORTED, "XGBoost's model is no JSON");
    status = take_trees(model, n, t, err);
    json_decref(model);
    return status;
}

static double mean(const double *y, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += y[i];
    return sum / (double)n;
}

lm_status boost_train(const learn_rows *rows, const learn_rows *held, const boost_options *o,
                      trees **out, lm_error *err)
{
    DMatrixHandle matrix[2] = { NULL, NULL };
    BoosterHandle booster   = NULL;
    trees        *t         = NULL;
    unsigned      best      = 0;
    lm_status     status    = check_options(o, err);

    if (!boost_available())
        return lm_error_set(err, LM_E_UNSUPPORTED, "no trees are grown without XGBoost: %s",
                            xgb.lacks);
    if (held && !held->n)
        held = NULL;
    if (status || (status = learn_rows_check(rows, TREES_FEATURES, err)) ||
        (held && (status = learn_rows_check(held, TREES_FEATURES, err))))
        return status;
    if (held && held->n_features != rows->n_features)
        return lm_error_set(err, LM_E_ARG, "%zu features to learn from, %zu to judge by",
                            rows->n_features, held->n_features);
    if (!(t = calloc(1, sizeof *t)))
        return no_memory(err);
    t->n_features = rows->n_features;
    t->base       = (double)(float)mean(rows->y, rows->n);
    if (!(status = matrix_of(rows, &matrix[0], err)) && held)
        status = matrix_of(held, &matrix[1], err);
    if (!status && xgb.XGBoosterCreate(matrix, 1, &booster))
        status = failed(err);
    if (!status && !(status = set_options(booster, o, t->base, err)) &&
        !(status = grow(booster, matrix[0], matrix[1], o, &best, err)))
        status = take_over(booster, best * together(o), t, err);
    xgb.XGBoosterFree(booster);
    xgb.XGDMatrixFree(matrix[0]);
    xgb.XGDMatrixFree(matrix[1]);
    if (status)
        trees_free(t);
    else
        *out = t;
    return status;
}
