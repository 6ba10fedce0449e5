/* Multi-layer perceptrons as text. */
#include "learn/mlp_net.h"

/* Sizes of layers; the rest follows. Each weight takes a digit and a blank at least. */
static mlp *sizes(lines *l, mlp **both)
{
    size_t size[MLP_LAYERS + 1], n, least = 0;

    if (l->out) {
        size[0] = (*both)->n_features;
        n       = (*both)->n_layers + 1;
        for (size_t i = 1; i < n; i++)
            size[i] = (*both)->width[i - 1];
    }
    if (!LINE(l, "mlp", ITEM_LIST(size, &n, MLP_LAYERS + 1, 1, MLP_WIDTH)) || l->out)
        return *both;
    for (size_t i = 0; i + 1 < n; i++)
        least += 2 * size[i] * size[i + 1];
    if (!n)
        lines_fail(l, LM_E_SYNTAX, "expected 'mlp FEATURES UNITS ...'");
    else if (least > (size_t)(l->end - l->at))
        lines_fail(l, LM_E_SYNTAX, "the file ends before as many weights as this takes");
    else
        l->status = mlp_new(size[0], size + 1, n - 1, both, l->err);
    return *both;
}

void mlp_text(lines *l, mlp **both)
{
    mlp *m = sizes(l, both);

    if (l->status)
        return;
    LINE(l, "mean", ITEM_REALS(m->mean, m->n_features, -DBL_MAX, DBL_MAX));
    LINE(l, "deviation", ITEM_REALS(m->deviation, m->n_features, DBL_TRUE_MIN, DBL_MAX));
    LINE(l, "target", ITEM_ANY(&m->y_mean), ITEM_ANY(&m->y_deviation));
    for (size_t i = 0; i <= m->n_layers; i++) {
        const mlp_layer at = mlp_layer_at(m, i);

        for (size_t o = 0; o < at.outputs; o++)
            LINE(l, "unit", ITEM_SINGLES(m->weight + at.bias + o, 1),
                 ITEM_SINGLES(m->weight + at.at + o * at.inputs, at.inputs));
    }
}
