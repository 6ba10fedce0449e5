/* PALEO's schemes of summing gradients. */
#include "fabric/scheme.h"

#include <string.h>

static const char *const names[N_PALEO_SCHEMES] = {
    [PALEO_ONE_TO_ALL]       = "one_to_all",
    [PALEO_TREE]             = "tree",
    [PALEO_BUTTERFLY]        = "butterfly",
    [PALEO_BUTTERFLY_MIXING] = "butterfly_mixing",
};

lm_status paleo_scheme_parse(const char *text, paleo_scheme *out, lm_error *err)
{
    for (int s = 0; s < N_PALEO_SCHEMES; s++)
        if (!strcmp(text, names[s])) {
            *out = (paleo_scheme)s;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG,
                        "expected one_to_all, tree, butterfly or butterfly_mixing, found '%.40s'",
                        text);
}

/* ceil(log2 n) */
static double tree_height(int64_t n)
{
    double height = 0;

    for (int64_t reached = 1; reached < n; height++)
        reached = reached > n / 2 ? n : 2 * reached;
    return height;
}

double paleo_scheme_rounds(paleo_scheme s, int64_t workers)
{
    switch (s) {
    case PALEO_ONE_TO_ALL: return 2 * (double)(workers - 1);
    case PALEO_TREE: return 2 * tree_height(workers);
    case PALEO_BUTTERFLY: return tree_height(workers);
    case PALEO_BUTTERFLY_MIXING:
    case N_PALEO_SCHEMES: break;
    }
    return 1;
}
