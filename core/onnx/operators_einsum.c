/* Einsum. In "bhid,bhjd->bhij" letters of both factors and the result are batch dimensions; letters
 * of both factors only are summed. Each factor becomes (all, own, summed), and one product
 * follows. */
#include <string.h>

#include "onnx/operators.h"

typedef struct term {
    char   letter[LM_MAX_RANK + 1];
    size_t n;
} term;

/* An equation, with its letters by role. */
typedef struct equation {
    term factor[2], result;
    term all;    /* in both factors and the result */
    term own[2]; /* in one factor and the result */
    term summed; /* in both factors only */
} equation;

static bool read_term(const char **text, term *t)
{
    t->n = 0;
    for (; **text && **text != ',' && **text != '-'; ++*text) {
        if (**text == ' ')
            continue;
        if (**text == '.' || t->n == LM_MAX_RANK || memchr(t->letter, **text, t->n))
            return false;
        t->letter[t->n++] = **text;
    }
    t->letter[t->n] = '\0';
    return true;
}

static bool has(const term *t, char letter)
{
    return memchr(t->letter, letter, t->n) != NULL;
}

static void append(term *t, char letter)
{
    t->letter[t->n++] = letter;
    t->letter[t->n]   = '\0';
}

static void append_all(term *t, const term *more)
{
    for (size_t i = 0; i < more->n; i++)
        append(t, more->letter[i]);
}

static size_t place_of(const term *t, char letter)
{
    return (size_t)((const char *)memchr(t->letter, letter, t->n) - t->letter);
}

/* Permutes dimensions to the order of `to`. */
static lm_status arrange(importer *im, value *v, const term *from, const term *to, value **out)
{
    recipe  r = recipe_of("permute");
    int64_t order[LM_MAX_RANK];
    bool    moves = false;

    for (size_t i = 0; i < to->n; i++) {
        order[i] = (int64_t)place_of(from, to->letter[i]);
        moves |= order[i] != (int64_t)i;
    }
    *out = v;
    if (!moves)
        return LM_OK;
    recipe_list(&r, "order", order, to->n, false);
    return emit_one(im, &r, v, out);
}

/* Joins `n` dimensions from `at` on; n = 0 inserts a 1. */
static lm_status join(importer *im, value *v, size_t at, size_t n, value **out)
{
    recipe r = recipe_of(n ? "flatten" : "unsqueeze");

    *out = v;
    if (n == 1)
        return LM_OK;
    if (n) {
        recipe_set(&r, "start", "%zu", at);
        recipe_set(&r, "end", "%zu", at + n - 1);
    } else {
        recipe_set(&r, "axis", "%zu", at);
    }
    return emit_one(im, &r, v, out);
}

/* Splits dimension `at` of the product into those of `letters`. */
static lm_status split_again(importer *im, value *v, size_t at, const term *letters,
                             const term *from, const value *source, value **out)
{
    const uint32_t rank = v->shape[LANE_FILE].rank;
    recipe         r    = recipe_of("squeeze");
    double         content[N_LANES][LM_MAX_RANK];
    value          shape = { .role = ROLE_CONSTANT, .batch_axis = -1 };
    uint32_t       n     = 0;

    *out = v;
    if (letters->n == 1)
        return LM_OK;
    if (!letters->n) {
        recipe_set(&r, "axis", "%zu", at);
        return emit_one(im, &r, v, out);
    }
    for (uint32_t d = 0; d < rank; d++)
        for (size_t k = 0; k < (d == at ? letters->n : 1) && n < LM_MAX_RANK; k++, n++)
            for (int lane = 0; lane < N_LANES; lane++)
                content[lane][n] =
                    (double)(d == at ? source->shape[lane].dim[place_of(from, letters->letter[k])]
                                     : v->shape[lane].dim[d]);
    value_shape(&shape, LM_I64, &(int64_t){ n }, 1);
    for (int lane = 0; lane < N_LANES; lane++)
        shape.content[lane] = content[lane];
    return emit_reshape(im, v, &shape, out);
}

static void sort_letters(equation *e)
{
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < e->factor[f].n; i++) {
            const char c     = e->factor[f].letter[i];
            const bool other = has(&e->factor[1 - f], c), result = has(&e->result, c);

            if (!other)
                append(&e->own[f], c);
            else if (f == 0)
                append(result ? &e->all : &e->summed, c);
        }
}

/* Sums over letters that neither `rest` nor `more` has. */
static lm_status sum_alone(importer *im, term *of, const term *rest, const term *more, value **v)
{
    recipe    r = recipe_of("reduce");
    int64_t   axes[LM_MAX_RANK];
    term      kept = { "", 0 };
    size_t    n    = 0;
    value    *out[LM_MAX_RANK];
    lm_status status;

    for (size_t i = 0; i < of->n; i++)
        if (has(rest, of->letter[i]) || has(more, of->letter[i]))
            append(&kept, of->letter[i]);
        else
            axes[n++] = (int64_t)i;
    if (!n)
        return LM_OK;
    recipe_set(&r, "op", "sum");
    recipe_list(&r, "axes", axes, n, false);
    if ((status = emit_one(im, &r, *v, out)))
        return status;
    *v  = out[0];
    *of = kept;
    return LM_OK;
}

/* Arranges a factor as (all, own, summed), with the letters of each joined. */
static lm_status arrange_factor(importer *im, const equation *e, int f, value *in, value **out)
{
    term      wanted = e->all;
    lm_status status;

    append_all(&wanted, &e->own[f]);
    append_all(&wanted, &e->summed);
    if ((status = arrange(im, in, &e->factor[f], &wanted, out)) ||
        (status = join(im, *out, e->all.n + e->own[f].n, e->summed.n, out)))
        return status;
    return join(im, *out, e->all.n, e->own[f].n, out);
}

/* Multiplies two factors. All their own letters are in the result. */
static lm_status multiply(importer *im, equation *e, value *const in[2], value **out)
{
    value    *v[2];
    term      product;
    lm_status status;

    sort_letters(e);
    if ((status = arrange_factor(im, e, 0, in[0], &v[0])) ||
        (status = arrange_factor(im, e, 1, in[1], &v[1])) ||
        (status = emit_matmul(im, v[0], v[1], false, true, out)) ||
        (status = split_again(im, out[0], e->all.n + 1, &e->own[1], &e->factor[1], in[1], out)) ||
        (status = split_again(im, out[0], e->all.n, &e->own[0], &e->factor[0], in[0], out)))
        return status;
    product = e->all;
    if (product.n + e->own[0].n + e->own[1].n > LM_MAX_RANK)
        return node_fail(im, LM_E_UNSUPPORTED, "more than %d dimensions", LM_MAX_RANK);
    append_all(&product, &e->own[0]);
    append_all(&product, &e->own[1]);
    return arrange(im, out[0], &product, &e->result, out);
}

#define FACTORS_MAX 8

static lm_status read_terms(importer *im, value *const *in, size_t n, term *factor, term *result)
{
    const char *text = node_text(im, "equation", "");

    for (size_t f = 0; f < n; f++)
        if (!read_term(&text, &factor[f]) || (f + 1 < n && *text++ != ',') ||
            factor[f].n != in[f]->shape[LANE_FILE].rank)
            return node_fail(im, LM_E_UNSUPPORTED, "an equation that does not fit its inputs");
    if (strncmp(text, "->", 2) != 0)
        return node_fail(im, LM_E_UNSUPPORTED, "an equation without a result");
    text += 2;
    if (!read_term(&text, result) || *text)
        return node_fail(im, LM_E_UNSUPPORTED, "an equation that does not fit its inputs");
    for (size_t i = 0; i < result->n; i++) {
        bool any = false;

        for (size_t f = 0; f < n; f++)
            any |= has(&factor[f], result->letter[i]);
        if (!any)
            return node_fail(im, LM_E_UNSUPPORTED, "a letter that no factor has");
    }
    return LM_OK;
}

/* Letters of a product of two factors that the result or a later factor has. */
static bool kept_of(const term *a, const term *b, const term *later, size_t n, term *out)
{
    const term *both[] = { a, b };

    *out = (term){ "", 0 };
    for (size_t f = 0; f < 2; f++)
        for (size_t i = 0; i < both[f]->n; i++) {
            bool wanted = false;

            for (size_t k = 0; k < n; k++)
                wanted |= has(&later[k], both[f]->letter[i]);
            if (!wanted || has(out, both[f]->letter[i]))
                continue;
            if (out->n == LM_MAX_RANK)
                return false;
            append(out, both[f]->letter[i]);
        }
    return true;
}

/* Multiplies from the left, as torch: two factors at a time. */
lm_status convert_einsum(importer *im, conversion *c)
{
    const size_t n = im->node->n_inputs;
    value       *in[INPUTS_MAX], *v[2], **out = c->out;
    term         factor[FACTORS_MAX + 1];
    lm_status    status = all_inputs(im, in);

    if (status)
        return status;
    if (!n || n > FACTORS_MAX)
        return node_fail(im, LM_E_UNSUPPORTED, "%zu factors: up to %d are supported", n,
                         FACTORS_MAX);
    if ((status = read_terms(im, in, n, factor, &factor[n])))
        return status;
    v[0] = in[0];
    for (size_t f = 1; f < n; f++) {
        equation e = { .all = { "", 0 } };

        v[1] = in[f];
        if (f + 1 == n)
            e.result = factor[n];
        else if (!kept_of(&factor[f - 1], &factor[f], &factor[f + 1], n - f, &e.result))
            return node_fail(im, LM_E_UNSUPPORTED, "more than %d dimensions", LM_MAX_RANK);
        if ((status = sum_alone(im, &factor[f - 1], &factor[f], &e.result, &v[0])) ||
            (status = sum_alone(im, &factor[f], &factor[f - 1], &e.result, &v[1])))
            return status;
        e.factor[0] = factor[f - 1];
        e.factor[1] = factor[f];
        if ((status = multiply(im, &e, v, out)))
            return status;
        factor[f] = e.result;
        v[0]      = out[0];
    }
    if (n == 1 && ((status = sum_alone(im, &factor[0], &factor[1], &factor[1], &v[0])) ||
                   (status = arrange(im, v[0], &factor[0], &factor[1], &v[0]))))
        return status;
    return define_alias(im, 0, v[0]);
}
