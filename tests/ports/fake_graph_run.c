/* Graphs of cuDNN, run by loops: each operation from the sizes and strides of its tensors alone. */
#include "fake.h"
#include "fake_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tensor of the graph while it runs. */
typedef struct place {
    int64_t     uid;
    fake_tensor tensor;
    char       *owned; /* of virtual ones and numbers */
    bool        made;
} place;

enum { MAX_PLACES = 96 };

typedef struct places {
    place  at[MAX_PLACES];
    size_t n;
} places;

static place *find(places *all, const fake_descriptor *t)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].uid == fake_uid(t))
            return &all->at[i];
    return NULL;
}

static void give_place(places *all, const fake_descriptor *t, const fake_run *run)
{
    place *p = find(all, t);

    if (p || all->n == MAX_PLACES)
        return;
    p  = &all->at[all->n++];
    *p = (place){ .uid = fake_uid(t), .tensor = fake_shape(t) };
    for (size_t i = 0; i < run->n_bound; i++)
        if (run->bound[i].uid == p->uid)
            p->tensor.at = run->bound[i].at;
    if (!p->tensor.at) {
        p->owned = p->tensor.at = malloc(fake_tensor_bytes(&p->tensor));
        memset(p->owned, 0xff, fake_tensor_bytes(&p->tensor)); /* NaN */
    }
    for (size_t i = 0; i < run->n_bound; i++)
        if (run->bound[i].uid == p->uid && !run->bound[i].at)
            memcpy(p->owned, run->bound[i].number, fake_element_bytes(p->tensor.type));
}

/* ---- convolution ----------------------------------------------------------------------------- */

typedef struct conv {
    const fake_tensor *x, *w;
    int                axes;
    const int64_t     *before, *stride, *gaps;
    bool               forgets; /* LAYERMETER_FAKE_WRONG: the last tap of a window does not count */
} conv;

static conv make_conv(const fake_descriptor *op, cudnnBackendAttributeName_t name)
{
    const fake_descriptor *how = fake_reference(op, name);
    int64_t                n;

    return (conv){
        .before  = fake_attribute(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &n),
        .stride  = fake_attribute(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &n),
        .gaps    = fake_attribute(how, CUDNN_ATTR_CONVOLUTION_DILATIONS, &n),
        .forgets = fake_number("LAYERMETER_FAKE_WRONG", 0) & 2,
    };
}

/* Where a tap of a window reads; false: padding. */
static bool find_pixel(const conv *c, const int64_t *out, const int64_t *tap, int64_t *in)
{
    for (int i = 0; i < c->axes; i++) {
        in[2 + i] = out[2 + i] * c->stride[i] - c->before[i] + tap[2 + i] * c->gaps[i];
        if (in[2 + i] < 0 || in[2 + i] >= c->x->dim[2 + i])
            return false;
    }
    return true;
}

static bool forgotten(const conv *c, const int64_t *k)
{
    bool last = c->forgets;

    for (int i = 2; last && i < c->w->rank; i++)
        last = k[i] == c->w->dim[i] - 1;
    return last;
}

/* A dense copy in double precision. */
static fake_tensor doubles_of(const fake_tensor *t)
{
    fake_tensor all          = { .type = CUDNN_DATA_DOUBLE, .rank = t->rank };
    int64_t     i[FAKE_RANK] = { 0 }, n = 1;
    double     *to;

    for (int d = t->rank; d-- > 0; n *= t->dim[d]) {
        all.dim[d]    = t->dim[d];
        all.stride[d] = n;
    }
    all.at = malloc((size_t)n * sizeof *to);
    to     = (double *)(void *)all.at;
    do
        *to++ = fake_get(t, i);
    while (fake_next(t->rank, t->dim, i));
    return all;
}

static double *element(const fake_tensor *doubles, const int64_t *index)
{
    double *at = (double *)(void *)doubles->at;

    for (int d = 0; d < doubles->rank; d++)
        at += index[d] * doubles->stride[d];
    return at;
}

/* What a tap adds, of all channels of its group: see run_conv(). */
static void add_tap(double *x, int64_t step_x, double *w, int64_t step_w, double *y, int64_t n,
                    int to)
{
    for (int64_t k = 0; k < n; k++, x += step_x, w += step_w)
        if (to == 0)
            *y += *x * *w;
        else if (to == 1)
            *x += *y * *w;
        else
            *w += *x * *y;
}

/* Every pair of an output and a weight it sees: to = 0: y += x w; 1: x += y w; 2: w += x y. In double
 * precision, rounded at the end. */
static void run_conv(conv made, const fake_tensor *in_x, const fake_tensor *in_w,
                     const fake_tensor *in_y, int to)
{
    fake_tensor        x = doubles_of(in_x), w = doubles_of(in_w), y = doubles_of(in_y);
    fake_tensor       *sum          = to == 0 ? &y : to == 1 ? &x : &w;
    const fake_tensor *sum_of       = to == 0 ? in_y : to == 1 ? in_x : in_w;
    const int64_t      channels     = w.dim[1];
    const int64_t      outputs      = w.dim[0] / (x.dim[1] / channels); /* of a group */
    int64_t            o[FAKE_RANK] = { 0 };

    made.x = &x, made.w = &w, made.axes = x.rank - 2;
    fake_clear(sum);
    do {
        int64_t tap[FAKE_RANK] = { o[1] };

        do {
            int64_t in[FAKE_RANK] = { o[0], o[1] / outputs * channels };

            if (find_pixel(&made, o, tap, in) && !forgotten(&made, tap))
                add_tap(element(&x, in), x.stride[1], element(&w, tap), w.stride[1], element(&y, o),
                        channels, to);
        } while (fake_next(made.axes, w.dim + 2, tap + 2));
    } while (fake_next(y.rank, y.dim, o));
    memset(o, 0, sizeof o);
    do
        fake_set(sum_of, o, *element(sum, o));
    while (fake_next(sum->rank, sum->dim, o));
    free(x.at);
    free(w.at);
    free(y.at);
}

/* ---- others ---------------------------------------------------------------------------------- */

static double combine(int mode, double x, double b, double t)
{
    switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_EXP: return exp(x);
    case CUDNN_POINTWISE_LOG: return log(x);
    case CUDNN_POINTWISE_IDENTITY: return x;
    case CUDNN_POINTWISE_CMP_GE: return x >= b;
    case CUDNN_POINTWISE_CMP_LT: return x < b;
    case CUDNN_POINTWISE_LOGICAL_AND: return x > 0 && b > 0;
    case CUDNN_POINTWISE_BINARY_SELECT: return t > 0 ? x : b;
    default: return NAN;
    }
}

static void run_pointwise(const fake_descriptor *op, const fake_tensor *const *in, size_t n,
                          const fake_tensor *y)
{
    const fake_descriptor *how  = fake_reference(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const int              mode = fake_enum(how, CUDNN_ATTR_POINTWISE_MODE);
    const int64_t          axis = fake_integer(how, CUDNN_ATTR_POINTWISE_AXIS, 0);
    int64_t                i[FAKE_RANK] = { 0 };

    do
        fake_set(y, i,
                 mode == (int)CUDNN_POINTWISE_GEN_INDEX
                     ? (double)i[axis]
                     : combine(mode, fake_get(in[0], i), n > 1 ? fake_get(in[1], i) : 0,
                               n > 2 ? fake_get(in[2], i) : 0));
    while (fake_next(y->rank, y->dim, i));
}

/* The index of a tensor with fewer heads: those that share one lie together. */
static void share(const fake_tensor *t, const fake_tensor *c, const int64_t *from, int64_t *to)
{
    for (int i = 0; i < c->rank - 2; i++)
        to[i] = from[i] / (c->dim[i] / t->dim[i]);
}

/* Rows, columns or summands that count in a sample: those of its length, or all. NaN: more than
 * there are. */
static double length_of(const fake_descriptor *op, int name, const fake_tensor *const *lengths,
                        int64_t sample, int64_t all)
{
    const int64_t index[FAKE_RANK] = { sample };
    double        length;

    if (!fake_reference(op, fake_length_names[name]))
        return (double)all;
    for (int i = 0; i < name; i++)
        lengths += fake_reference(op, fake_length_names[i]) != NULL;
    length = fake_get(*lengths, index);
    return length > (double)all ? NAN : length;
}

/* One matrix of a tensor, lines x depth, which are two of its axes. */
static double *read_matrix(const fake_tensor *t, int64_t *index, int lines, int depth)
{
    const int64_t n   = t->dim[lines] * t->dim[depth];
    double       *all = malloc((size_t)n * sizeof *all + 1);

    for (int64_t i = 0; i < n; i++) {
        index[lines] = i / t->dim[depth];
        index[depth] = i % t->dim[depth];
        all[i]       = fake_get(t, index);
    }
    return all;
}

/* `lengths`: those that the operation has. Behind them are zeros. */
static void run_matmul(const fake_descriptor *op, const fake_tensor *a, const fake_tensor *b,
                       const fake_tensor *const *lengths, const fake_tensor *c)
{
    const int     r            = c->rank;
    const int64_t depth        = a->dim[r - 1];
    int64_t       i[FAKE_RANK] = { 0 };

    do {
        const double rows          = length_of(op, 0, lengths, i[0], c->dim[r - 2]);
        const double columns       = length_of(op, 1, lengths, i[0], c->dim[r - 1]);
        const double summands      = length_of(op, 2, lengths, i[0], depth);
        const double least         = 0 * (rows + columns + summands); /* NaN if a length is */
        int64_t      ia[FAKE_RANK] = { 0 }, ib[FAKE_RANK] = { 0 };
        double      *all_a, *all_b;

        share(a, c, i, ia);
        share(b, c, i, ib);
        all_a = read_matrix(a, ia, r - 2, r - 1);
        all_b = read_matrix(b, ib, r - 1, r - 2);
        for (int64_t m = 0; m < c->dim[r - 2]; m++)
            for (int64_t n = 0; n < c->dim[r - 1]; n++) {
                const bool counts = (double)m < rows && (double)n < columns;
                double     sum    = least;

                for (int64_t k = 0; counts && (double)k < summands; k++)
                    sum += all_a[m * depth + k] * all_b[n * depth + k];
                i[r - 2] = m;
                i[r - 1] = n;
                fake_set(c, i, sum);
            }
        free(all_a);
        free(all_b);
    } while (fake_next(r - 2, c->dim, i));
}

static void run_reduction(const fake_descriptor *op, const fake_tensor *x, const fake_tensor *y)
{
    const fake_descriptor *how = fake_reference(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC);
    const bool  max = fake_enum(how, CUDNN_ATTR_REDUCTION_OPERATOR) == (int)CUDNN_REDUCE_TENSOR_MAX;
    int64_t     i[FAKE_RANK] = { 0 };
    fake_tensor sum          = *y;

    sum.type = CUDNN_DATA_DOUBLE;
    sum.at   = malloc(fake_tensor_bytes(&sum));
    do
        fake_set(&sum, i, max ? -INFINITY : 0);
    while (fake_next(y->rank, y->dim, i));
    do {
        int64_t j[FAKE_RANK];
        double  value = fake_get(x, i);

        for (int d = 0; d < x->rank; d++)
            j[d] = i[d] / (x->dim[d] / y->dim[d]);
        fake_set(&sum, j, max ? fmax(fake_get(&sum, j), value) : fake_get(&sum, j) + value);
    } while (fake_next(x->rank, x->dim, i));
    do
        fake_set(y, i, fake_get(&sum, i));
    while (fake_next(y->rank, y->dim, i));
    free(sum.at);
}

/* The elements stay where they are; the new shape's strides say what they are called. */
static void run_reshape(const fake_tensor *x, const fake_tensor *y)
{
    const int64_t n = (int64_t)(fake_tensor_bytes(y) / fake_element_bytes(y->type));

    for (int64_t i = 0; i < n; i++)
        fake_write(y->type, y->at, i, fake_read(x->type, x->at, i));
}

/* Repeats itself: the backward pass draws what the forward pass drew. */
static void run_random(const fake_descriptor *op, const fake_tensor *seed, const fake_tensor *y)
{
    const fake_descriptor *how = fake_reference(op, CUDNN_ATTR_OPERATION_RNG_DESC);
    int64_t                n, i[FAKE_RANK] = { 0 };
    const double *keep  = fake_attribute(how, CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, &n);
    uint64_t      state = (uint64_t)fake_get(seed, i) + 1;

    do {
        state = state * 6364136223846793005u + 1442695040888963407u;
        fake_set(y, i, (double)(state >> 11) * 0x1p-53 < *keep);
    } while (fake_next(y->rank, y->dim, i));
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* Calls `each` with the index of every element of the row `at` (its statistics' index). */
static bool next_in_row(const fake_tensor *scale, int64_t *index)
{
    for (int i = scale->rank; i-- > 0;) {
        if (scale->dim[i] == 1)
            continue;
        if (++index[i] < scale->dim[i])
            return true;
        index[i] = 0;
    }
    return false;
}

static double elements_of(const fake_tensor *scale)
{
    double n = 1;

    for (int i = 0; i < scale->rank; i++)
        n *= (double)scale->dim[i];
    return n;
}

/* in: x, scale, epsilon, shift; out: y, inverse deviation, mean. RMS: no shift, no mean. */
static void run_norm_forward(const fake_tensor *const *in, const fake_tensor *const *out, bool rms)
{
    const fake_tensor *x = in[0], *scale = in[1], *statistic = out[1];
    const double       n            = elements_of(scale);
    int64_t            i[FAKE_RANK] = { 0 }, zero[FAKE_RANK] = { 0 };

    do {
        double mean = 0, square = 0, inverse;

        do
            mean += rms ? 0 : fake_get(x, i) / n;
        while (next_in_row(scale, i));
        do
            square += pow(fake_get(x, i) - mean, 2) / n;
        while (next_in_row(scale, i));
        inverse = 1 / sqrt(square + fake_get(in[2], zero));
        do
            fake_set(out[0], i,
                     (fake_get(x, i) - mean) * inverse * fake_get(scale, i) +
                         (rms ? 0 : fake_get(in[3], i)));
        while (next_in_row(scale, i));
        fake_set(out[1], i, inverse);
        if (!rms)
            fake_set(out[2], i, mean);
    } while (fake_next(statistic->rank, statistic->dim, i));
}

/* in: x, dy, scale, inverse deviation, mean; out: dx, dscale, dshift. */
static void run_norm_backward(const fake_tensor *const *in, const fake_tensor *const *out, bool rms)
{
    const fake_tensor *x = in[0], *dy = in[1], *scale = in[2], *statistic = in[3];
    const double       n      = elements_of(scale);
    fake_tensor        dscale = *out[1], dshift = *scale;
    int64_t            i[FAKE_RANK] = { 0 };

    dscale.type = dshift.type = CUDNN_DATA_DOUBLE;
    dscale.at                 = malloc(fake_tensor_bytes(&dscale));
    dshift.at                 = malloc(fake_tensor_bytes(&dshift));
    fake_clear(&dscale);
    fake_clear(&dshift);
    do {
        const double inverse = fake_get(statistic, i), mean = rms ? 0 : fake_get(in[4], i);
        double       sum = 0, product = 0;

        do {
            const double hat = (fake_get(x, i) - mean) * inverse;

            sum += rms ? 0 : fake_get(dy, i) * fake_get(scale, i) / n;
            product += fake_get(dy, i) * fake_get(scale, i) * hat / n;
            fake_set(&dscale, i, fake_get(&dscale, i) + fake_get(dy, i) * hat);
            fake_set(&dshift, i, fake_get(&dshift, i) + fake_get(dy, i));
        } while (next_in_row(scale, i));
        do
            fake_set(out[0], i,
                     inverse * (fake_get(dy, i) * fake_get(scale, i) - sum -
                                (fake_get(x, i) - mean) * inverse * product));
        while (next_in_row(scale, i));
    } while (fake_next(statistic->rank, statistic->dim, i));
    do {
        fake_set(out[1], i, fake_get(&dscale, i));
        if (!rms)
            fake_set(out[2], i, fake_get(&dshift, i));
    } while (fake_next(scale->rank, scale->dim, i));
    free(dscale.at);
    free(dshift.at);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void run_operation(const fake_descriptor *op, const fake_tensor *const *in, size_t n_in,
                          const fake_tensor *const *out)
{
    switch (op->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        run_conv(make_conv(op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC), in[0], in[1],
                 out[0], 0);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        run_conv(make_conv(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC), out[0], in[1],
                 in[0], 1);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        run_conv(make_conv(op, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC), in[0],
                 out[0], in[1], 2);
        break;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: run_pointwise(op, in, n_in, out[0]); break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        run_matmul(op, in[0], in[1], in + 2, out[0]);
        break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: run_reduction(op, in[0], out[0]); break;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: run_reshape(in[0], out[0]); break;
    case CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR: run_random(op, in[0], out[0]); break;
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
        run_norm_forward(in, out,
                         fake_enum(op, CUDNN_ATTR_OPERATION_NORM_FWD_MODE) == (int)CUDNN_RMS_NORM);
        break;
    default:
        run_norm_backward(in, out,
                          fake_enum(op, CUDNN_ATTR_OPERATION_NORM_BWD_MODE) == (int)CUDNN_RMS_NORM);
    }
}

/* Runs it if all it reads is there. */
static bool try_operation(places *all, const fake_descriptor *op)
{
    const fake_ports   p = fake_ports_of(op);
    const fake_tensor *in[8], *out[3];

    for (size_t i = 0; i < p.n_in; i++) {
        const place *from = find(all, p.in[i]);

        if (!from->made)
            return false;
        in[i] = &from->tensor;
    }
    for (size_t i = 0; i < p.n_out; i++)
        out[i] = &find(all, p.out[i])->tensor;
    run_operation(op, in, p.n_in, out);
    for (size_t i = 0; i < p.n_out; i++)
        find(all, p.out[i])->made = true;
    return true;
}

void fake_graph_run(void *context)
{
    const fake_run         *run = context;
    int64_t                 n;
    fake_descriptor *const *op  = fake_attribute(run->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, &n);
    places                  all = { .n = 0 };
    bool                    done[64] = { false }, more = true;

    if (run->workspace_bytes)
        memset(run->workspace, 0xff, run->workspace_bytes);
    for (int64_t i = 0; i < n; i++) {
        const fake_ports p = fake_ports_of(op[i]);

        for (size_t j = 0; j < p.n_in; j++)
            give_place(&all, p.in[j], run);
        for (size_t j = 0; j < p.n_out; j++)
            give_place(&all, p.out[j], run);
    }
    for (size_t i = 0; i < all.n; i++)
        all.at[i].made = true;
    for (int64_t i = 0; i < n; i++) {
        const fake_ports p = fake_ports_of(op[i]);

        for (size_t j = 0; j < p.n_out; j++)
            find(&all, p.out[j])->made = false;
    }
    while (more) {
        more = false;
        for (int64_t i = 0; i < n; i++)
            if (!done[i] && try_operation(&all, op[i]))
                done[i] = more = true;
    }
    for (size_t i = 0; i < all.n; i++)
        free(all.at[i].owned);
}
