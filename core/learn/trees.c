/* Sums of regression trees. */
#include "learn/trees.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

void trees_free(trees *t)
{
    if (!t)
        return;
    free_all(t->node, t->begin, t);
}

#define TOGETHER 8 /* trees walked together: while one waits for memory, others go on */

/* Walks down several trees side by side. A leaf stays where it is: it asks for x[0], which is below
 * no threshold. */
static void go_down(const tree_node *at[TOGETHER], const float *x)
{
    int32_t moved;

    do {
        moved = 0;
        for (int j = 0; j < TOGETHER; j++) {
            const tree_node *n    = at[j];
            const int32_t    less = -(int32_t)(x[n->feature + 1] < n->value);
            const int32_t    step = n->above ^ ((n->above ^ n->below) & less);

            moved |= step;
            at[j] = n + step;
        }
    } while (moved);
}

double trees_predict(const trees *t, const double *x)
{
    float  single[TREES_FEATURES + 1];
    double sum = t->base;

    single[0] = HUGE_VALF;
    for (size_t i = 0; i < t->n_features; i++)
        single[i + 1] = (float)x[i];
    for (size_t k = 0; k < t->n_trees; k += TOGETHER) {
        const tree_node *at[TOGETHER];

        for (size_t j = 0; j < TOGETHER; j++) /* behind the last the last again */
            at[j] = t->node + t->begin[k + j < t->n_trees ? k + j : t->n_trees - 1];
        go_down(at, single);
        for (size_t j = 0; j < TOGETHER && k + j < t->n_trees; j++)
            sum += (double)at[j]->value;
    }
    return sum;
}

/* For each node of a tree the number of training rows in its leaves; children follow their node. */
static double *rows_of(const tree_node *node, size_t n)
{
    double *rows = malloc(n * sizeof *rows);

    for (size_t i = n; rows && i-- > 0;)
        if (node[i].feature >= 0)
            rows[i] = rows[i + (size_t)node[i].below] + rows[i + (size_t)node[i].above];
        else
            rows[i] = node[i].below ? (double)node[i].below : (double)NAN;
    return rows;
}

lm_status trees_way(const trees *t, size_t k, const double *x, tree_way *out, lm_error *err)
{
    const tree_node *node = t->node + t->begin[k], *at = node;
    double          *rows = rows_of(node, t->begin[k + 1] - t->begin[k]);

    if (!rows)
        return no_memory(err);
    for (out->n = 0; at->feature >= 0 && out->n < TREES_STEPS; out->n++) {
        const tree_node *from  = at;
        const bool       below = (float)x[from->feature] < from->value;

        at += below ? from->below : from->above;
        out->step[out->n] =
            (tree_step){ (size_t)from->feature, below, (double)from->value, rows[at - node] };
    }
    free(rows);
    out->value = (double)at->value;
    return at->feature < 0
               ? LM_OK
               : lm_error_set(err, LM_E_UNSUPPORTED, "a tree of more than %d steps", TREES_STEPS);
}

/* ---- text ---- */

/* Is it a number within single precision, followed by `end`? */
static bool read_value(const char *text, char end, const char **rest, float *out)
{
    char *behind;

    *out = strtof(text, &behind);
    if (behind == text || *behind != end || !isfinite(*out))
        return false;
    *rest = *behind ? behind + 1 : behind;
    return true;
}

static bool read_index(const char *text, char end, const char **rest, int32_t *out)
{
    char      *behind;
    const long value = strtol(text, &behind, 10);

    if (behind == text || *behind != end || value < 0 || value > TREES_NODES)
        return false;
    *out  = (int32_t)value;
    *rest = *behind ? behind + 1 : behind;
    return true;
}

static bool read_node(const char *word, size_t at, size_t n, size_t n_features, tree_node *out)
{
    const char *rest = word;

    if (*word == '=') {
        out->feature = -1;
        return strchr(word, ':') ? read_value(word + 1, ':', &rest, &out->value) &&
                                       read_index(rest, '\0', &rest, &out->below)
                                 : read_value(word + 1, '\0', &rest, &out->value);
    }
    if (!read_index(word, ':', &rest, &out->feature) ||
        !read_value(rest, ':', &rest, &out->value) || !read_index(rest, ':', &rest, &out->below) ||
        !read_index(rest, '\0', &rest, &out->above) || (size_t)out->feature >= n_features ||
        (size_t)out->below >= n || (size_t)out->above >= n)
        return false;
    out->below -= (int32_t)at;
    out->above -= (int32_t)at;
    return out->below > 0 && out->above > 0;
}

static void write_nodes(FILE *out, const tree_node *node, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (node[i].feature >= 0)
            fprintf(out, " %d:%.9g:%d:%d", node[i].feature, (double)node[i].value,
                    (int)i + node[i].below, (int)i + node[i].above);
        else if (node[i].below)
            fprintf(out, " =%.9g:%d", (double)node[i].value, node[i].below);
        else
            fprintf(out, " =%.9g", (double)node[i].value);
}

static void read_nodes(lines *l, trees *t, size_t n)
{
    tree_node *more = realloc(t->node, (t->n_nodes + n) * sizeof *more);

    if (!more) {
        l->status = no_memory(l->err);
        return;
    }
    t->node = more;
    memset(more + t->n_nodes, 0, n * sizeof *more);
    for (size_t i = 0; i < n; i++) {
        const char *word = lines_item(l);

        if (!word || !read_node(word, i, n, t->n_features, &more[t->n_nodes + i])) {
            lines_fail(l, LM_E_SYNTAX, "node %zu: '%.40s' is none", i, word ? word : "");
            return;
        }
    }
    t->n_nodes += n;
}

static void tree_text(lines *l, trees *t, size_t k)
{
    size_t n = l->out ? t->begin[k + 1] - t->begin[k] : 0;

    if (!lines_begin(l, "tree"))
        return;
    ITEMS(l, ITEM_COUNT(&n, 1, TREES_NODES - (double)(l->out ? 0 : t->n_nodes)));
    if (l->out)
        write_nodes(l->out, t->node + t->begin[k], n);
    else if (!l->status)
        read_nodes(l, t, n);
    lines_end(l);
    t->begin[k + 1] = t->begin[k] + n;
}

void trees_text(lines *l, trees **both)
{
    trees *t = *both = lines_made(l, *both, sizeof *t);

    if (!t || !LINE(l, "trees", ITEM_COUNT(&t->n_features, 1, TREES_FEATURES),
                    ITEM_COUNT(&t->n_trees, 0, TREES_NODES)))
        return;
    if (!l->out)
        t->begin = lines_array(l, t->n_trees, sizeof *t->begin);
    LINE(l, "base", ITEM_ANY(&t->base));
    for (size_t k = 0; k < t->n_trees && !l->status; k++)
        tree_text(l, t, k);
}
