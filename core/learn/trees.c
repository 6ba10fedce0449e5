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
    free(t->node);
    free(t->begin);
    free(t);
}

#define TOGETHER 8 /* trees: each step of one waits for memory, those of others need not */

/* Goes down from a few nodes side by side; of a leaf there is no way on. `x` begins with what
 * leaves ask for. */
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

    single[0] = 0;
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

/* ---- text ---------------------------------------------------------------------------------------
 */

void trees_write(FILE *out, const trees *t)
{
    fprintf(out, "trees %zu %zu\nbase %.17g\n", t->n_features, t->n_trees, t->base);
    for (size_t k = 0; k < t->n_trees; k++) {
        fprintf(out, "tree %zu", t->begin[k + 1] - t->begin[k]);
        for (size_t i = t->begin[k]; i < t->begin[k + 1]; i++) {
            const tree_node *n  = &t->node[i];
            const int        at = (int)(i - t->begin[k]);

            if (n->feature < 0)
                fprintf(out, " =%.9g", (double)n->value);
            else
                fprintf(out, " %d:%.9g:%d:%d", n->feature, (double)n->value, at + n->below,
                        at + n->above);
        }
        fputc('\n', out);
    }
}

/* Is it a number that single precision holds, with `end` right behind it? */
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
        return read_value(word + 1, '\0', &rest, &out->value);
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

static lm_status read_tree(lines *in, trees *t, size_t k, lm_error *err)
{
    char      *rest, *word;
    uint64_t   n;
    size_t     found;
    tree_node *more;
    lm_status  status = lines_expect(in, "tree", &rest, err);

    if (status)
        return status;
    word = strtok(rest, " ");
    if (!word || text_uint(word, &n, err) || n < 1 || n > TREES_NODES - t->n_nodes)
        return lines_fail(in, err, LM_E_SYNTAX, "expected 'tree NODES ...', 1 or more");
    if (!(more = realloc(t->node, (t->n_nodes + n) * sizeof *more)))
        return no_memory(err);
    t->node = more;
    memset(more + t->n_nodes, 0, n * sizeof *more);
    for (found = 0; found < n && (word = strtok(NULL, " ")); found++)
        if (!read_node(word, found, n, t->n_features, &more[t->n_nodes + found]))
            return lines_fail(in, err, LM_E_SYNTAX, "node %zu: '%.40s' is none", found, word);
    if (found < n || strtok(NULL, " "))
        return lines_fail(in, err, LM_E_SYNTAX, "expected %llu nodes%s", (unsigned long long)n,
                          found < n ? ", found fewer" : ", found more");
    t->n_nodes += n;
    t->begin[k + 1] = t->n_nodes;
    return LM_OK;
}

lm_status trees_read(lines *in, trees **out, lm_error *err)
{
    size_t    size[2], n;
    char     *rest;
    trees    *t;
    lm_status status = lines_expect(in, "trees", &rest, err);

    if (status || (status = lines_counts(in, rest, 0, TREES_NODES, size, 2, &n, err)))
        return status;
    if (n != 2 || size[0] < 1 || size[0] > TREES_FEATURES)
        return lines_fail(in, err, LM_E_SYNTAX, "expected 'trees FEATURES TREES', 1 to %d features",
                          TREES_FEATURES);
    if (!(t = calloc(1, sizeof *t)) || !(t->begin = calloc(size[1] + 1, sizeof *t->begin))) {
        free(t);
        return no_memory(err);
    }
    t->n_features = size[0];
    t->n_trees    = size[1];
    if (!(status = lines_expect(in, "base", &rest, err)))
        status = lines_numbers(in, rest, &t->base, 1, err);
    for (size_t k = 0; k < t->n_trees && !status; k++)
        status = read_tree(in, t, k, err);
    if (status)
        trees_free(t);
    else
        *out = t;
    return status;
}
