/* Multi-layer perceptrons as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "learn/mlp_net.h"

/* Nine digits hold a float, seventeen a double. */
static void put_doubles(FILE *out, const char *word, const double *x, size_t n)
{
    fputs(word, out);
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %.17g", x[i]);
    fputc('\n', out);
}

void mlp_write(FILE *out, const mlp *m)
{
    fprintf(out, "mlp %zu", m->n_features);
    for (size_t i = 0; i < m->n_layers; i++)
        fprintf(out, " %zu", m->width[i]);
    fputc('\n', out);
    put_doubles(out, "mean", m->mean, m->n_features);
    put_doubles(out, "deviation", m->deviation, m->n_features);
    put_doubles(out, "target", (const double[]){ m->y_mean, m->y_deviation }, 2);
    for (size_t i = 0; i <= m->n_layers; i++) {
        const mlp_layer l = mlp_layer_at(m, i);

        for (size_t o = 0; o < l.outputs; o++) {
            fprintf(out, "unit %.9g", (double)m->weight[l.bias + o]);
            for (size_t k = 0; k < l.inputs; k++)
                fprintf(out, " %.9g", (double)m->weight[l.at + o * l.inputs + k]);
            fputc('\n', out);
        }
    }
}

static lm_status read_doubles(lines *in, const char *word, double *out, size_t n, lm_error *err)
{
    char           *rest;
    const lm_status status = lines_expect(in, word, &rest, err);

    return status ? status : lines_numbers(in, rest, out, n, err);
}

static lm_status read_weights(lines *in, mlp *m, double *row, lm_error *err)
{
    for (size_t i = 0; i <= m->n_layers; i++) {
        const mlp_layer l = mlp_layer_at(m, i);

        for (size_t o = 0; o < l.outputs; o++) {
            const lm_status status = read_doubles(in, "unit", row, l.inputs + 1, err);

            if (status)
                return status;
            m->weight[l.bias + o] = (float)row[0];
            for (size_t k = 0; k < l.inputs; k++)
                m->weight[l.at + o * l.inputs + k] = (float)row[k + 1];
        }
    }
    return LM_OK;
}

static lm_status check(const lines *in, const mlp *m, lm_error *err)
{
    for (size_t k = 0; k < m->n_features; k++)
        if (!(m->deviation[k] > 0))
            return lines_fail(in, err, LM_E_ARG, "feature %zu deviates by %g", k + 1,
                              m->deviation[k]);
    for (size_t k = 0; k < m->n_weights; k++)
        if (!isfinite(m->weight[k]))
            return lines_fail(in, err, LM_E_ARG, "a weight that single precision does not hold");
    return LM_OK;
}

/* Each weight is a digit and a blank at least: a text that ends early is not worth the room. */
static lm_status check_length(const lines *in, const size_t *size, size_t n, lm_error *err)
{
    const size_t left  = in->at ? strlen(in->at) : 0;
    size_t       least = 0;

    for (size_t i = 0; i + 1 < n; i++)
        least += 2 * size[i] * size[i + 1];
    return least <= left ? LM_OK
                         : lines_fail(in, err, LM_E_SYNTAX,
                                      "the file ends before as many weights as this takes");
}

lm_status mlp_read(lines *in, mlp **out, lm_error *err)
{
    size_t    size[MLP_LAYERS + 1], n;
    double    target[2], *row;
    char     *rest;
    mlp      *m      = NULL;
    lm_status status = lines_expect(in, "mlp", &rest, err);

    if (status || (status = lines_counts(in, rest, 1, MLP_WIDTH, size, MLP_LAYERS + 1, &n, err)))
        return status;
    if (!n)
        return lines_fail(in, err, LM_E_SYNTAX, "expected 'mlp FEATURES UNITS ...'");
    if ((status = check_length(in, size, n, err)))
        return status;
    if ((status = mlp_new(size[0], size + 1, n - 1, &m, err)))
        return status;
    row = malloc((MLP_WIDTH + 1) * sizeof *row);
    if (!row)
        status = no_memory(err);
    if (!status && !(status = read_doubles(in, "mean", m->mean, m->n_features, err)) &&
        !(status = read_doubles(in, "deviation", m->deviation, m->n_features, err)) &&
        !(status = read_doubles(in, "target", target, 2, err)) &&
        !(status = read_weights(in, m, row, err))) {
        m->y_mean      = target[0];
        m->y_deviation = target[1];
        status         = check(in, m, err);
    }
    free(row);
    if (status)
        mlp_free(m);
    else
        *out = m;
    return status;
}
