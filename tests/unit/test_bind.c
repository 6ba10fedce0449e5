/* Binding: shapes, costs and kernels by hand; which gradients are computed; refusals with file and
 * line. */
#include "nets.h"

#include "network/kernels.h"
#include "network/metrics.h"

#define HEAD  "[network]\nname = n\n[x]\ntype = input\n" /* 4 lines; the shape is line 5 */
#define IMAGE HEAD "shape = 3x224x224\n"
#define CONV1 \
    "[conv1]\ntype = conv2d\nfilters = 64\nkernel = 7\nstride = 2\npadding = 3\nbias = no\n"

static void assert_dims(const lm_tensor *t, uint32_t rank, const int64_t *dim)
{
    assert_int_equal(t->rank, rank);
    assert_memory_equal(t->dim, dim, rank * sizeof *dim);
    for (uint32_t d = rank; d < LM_MAX_RANK; d++)
        assert_int_equal(t->dim[d], 0);
}

/* Equal layers in a row: a type is asked once, and differences that it does not see still count. */
static void layers_alike_are_bound_alike(void **state)
{
    bound_text         m = nets_bind(HEAD "shape = 8\n"
                                                  "[a]\ntype = linear\nfeatures = 8\n"
                                                  "[b]\ntype = linear\nfeatures = 8\n"
                                                  "[c]\ntype = linear\nfeatures = 8\n"
                                                  "[d]\ntype = linear\nfeatures = 8\nfrozen = yes\n"
                                                  "[e]\ntype = linear\nfeatures = 8\nbias = no\n"
                                                  "[f]\ntype = linear\nfeatures = 8\nshares = b\n",
                                     4);
    const bound_layer *a = nets_layer(&m, "a"), *b = nets_layer(&m, "b"), *c = nets_layer(&m, "c");
    const bound_layer *d = nets_layer(&m, "d"), *e = nets_layer(&m, "e"), *f = nets_layer(&m, "f");

    (void)state;
    assert_int_equal(a->n_kernels[LM_GRAD_INPUT], 0); /* data gets no gradient */
    assert_true(b->n_kernels[LM_GRAD_INPUT] > 0);
    assert_memory_equal(&c->cost, &b->cost, sizeof c->cost);
    assert_ptr_equal(c->kernels[LM_FORWARD], b->kernels[LM_FORWARD]);
    assert_int_equal(c->cost.pass[LM_GRAD_WEIGHT].flops, a->cost.pass[LM_GRAD_WEIGHT].flops);
    assert_true(!d->trained && d->n_kernels[LM_GRAD_WEIGHT] == 0);
    assert_int_equal(d->cost.pass[LM_GRAD_WEIGHT].flops, 0);
    assert_int_equal(e->n_weights, 1);
    assert_int_equal(f->n_weights + f->n_shared, 2);
    assert_int_equal(f->n_weights, 0);
    assert_int_equal(b->n_weights, 2); /* that of f changed nothing of its own */
    nets_free(&m);
}

/* ResNet-50's first layer; the published count is 118 MMAC per image: 64 * 112 * 112 outputs, each
 * of 3 * 7 * 7 products. */
static void conv2d_matches_hand_count(void **state)
{
    bound_text         m = nets_bind(IMAGE CONV1, 1);
    const bound_layer *l = nets_layer(&m, "conv1");
    const lm_work     *w = &l->cost.pass[LM_FORWARD];

    (void)state;
    assert_dims(l->input, 4, (int64_t[]){ 1, 3, 224, 224 });
    assert_dims(l->output, 4, (int64_t[]){ 1, 64, 112, 112 });
    assert_int_equal(w->flops, 2 * 118013952ull);
    /* every operand once, in f32: 3*224*224 inputs and 64*3*7*7 weights read, 64*112*112 outputs
     * written */
    assert_int_equal(w->read_bytes, 4 * (150528 + 9408));
    assert_int_equal(w->written_bytes, 4 * 802816);
    assert_int_equal(l->n_weights, 1);
    assert_dims(&l->weights[0].tensor, 4, (int64_t[]){ 64, 3, 7, 7 });
    assert_string_equal(l->weights[0].role, "weight");
    assert_true(l->lowered && l->trained);
    assert_int_equal(l->n_kernels[LM_FORWARD], 1);
    assert_int_equal(lm_kernel_macs(l->kernels[LM_FORWARD]), 118013952);
    nets_free(&m);
}

static void convolutions_match_hand_counts(void **state)
{
    static const struct {
        const char *shape, *layer;
        int64_t     out[4];
        uint64_t    flops, params;
    } cases[] = {
        /* 2 * outputs * products of each, and with a bias 1 per output */
        { "shape = 4x5x6\n",
          "filters = 8\nkernel = 1\n",
          { 2, 8, 5, 6 },
          2 * 480 * 4 + 480,
          8 * 4 + 8 },
        { "shape = 4x5x6\n",
          "filters = 8\nkernel = 3\nbias = no\n",
          { 2, 8, 3, 4 },
          2 * 192 * 36,
          288 },
        { "shape = 4x5x6\n",
          "filters = 8\nkernel = 3,1\npadding = 1,0\nstride = 2,3\nbias = no\n",
          { 2, 8, 3, 2 },
          2 * 96 * 12,
          96 },
        /* groups: each output sees a fourth of the channels */
        { "shape = 4x5x6\n",
          "filters = 8\nkernel = 3\npadding = 1\ngroups = 4\nbias = no\n",
          { 2, 8, 5, 6 },
          2 * 480 * 9,
          72 },
        /* dilation 2: a window of 3 reaches over 5 */
        { "shape = 1x9x5\n",
          "filters = 1\nkernel = 3\ndilation = 2\nbias = no\n",
          { 2, 1, 5, 1 },
          2 * 10 * 9,
          9 },
    };
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text         m;
        const bound_layer *l;
        uint64_t           params = 0;

        snprintf(text, sizeof text, HEAD "%s[c]\ntype = conv2d\n%s", cases[i].shape,
                 cases[i].layer);
        m = nets_bind(text, 2);
        l = nets_layer(&m, "c");
        assert_dims(l->output, 4, cases[i].out);
        assert_int_equal(l->cost.pass[LM_FORWARD].flops, cases[i].flops);
        for (size_t w = 0; w < l->n_weights; w++)
            params += lm_elements(&l->weights[w].tensor);
        assert_int_equal(params, cases[i].params);
        nets_free(&m);
    }
}

/* y = x W' + b with 5 rows of 3 features to 4. Each product is 5*3*4 = 60 multiply-adds. */
static void linear_matches_hand_count(void **state)
{
    bound_text m =
        nets_bind(HEAD "shape = 3\n[f]\ntype = linear\nfeatures = 3\n[g]\ntype = linear\n"
                       "features = 4\n",
                  5);
    const bound_layer *l = nets_layer(&m, "g");

    (void)state;
    assert_dims(l->output, 2, (int64_t[]){ 5, 4 });
    assert_int_equal(l->cost.pass[LM_FORWARD].flops, 2 * 60 + 20);
    assert_int_equal(l->cost.pass[LM_GRAD_INPUT].flops, 2 * 60);
    assert_int_equal(l->cost.pass[LM_GRAD_WEIGHT].flops, 2 * 60 + 20); /* and the sum over rows */
    nets_free(&m);
}

/* conv -> bn -> relu: nothing before conv1 is trained, so its input needs no gradient. */
static void the_first_trained_layer_has_no_input_gradient(void **state)
{
    bound_text         m = nets_bind(IMAGE CONV1 "[bn]\ntype = batch_norm\n[relu]\ntype = relu\n"
                                                         "[conv2]\ntype = conv2d\nfilters = 8\nkernel = 1\n",
                                     1);
    const bound_layer *first = nets_layer(&m, "conv1"), *bn = nets_layer(&m, "bn"),
                      *relu = nets_layer(&m, "relu"), *second = nets_layer(&m, "conv2");

    (void)state;
    assert_false(first->needs_grad_input);
    assert_int_equal(first->cost.pass[LM_GRAD_INPUT].flops, 0);
    assert_int_equal(first->cost.pass[LM_GRAD_INPUT].written_bytes, 0);
    assert_int_equal(first->n_kernels[LM_GRAD_INPUT], 0);
    assert_int_equal(first->cost.pass[LM_GRAD_WEIGHT].flops, 2 * 118013952ull);
    assert_int_equal(first->n_kernels[LM_GRAD_WEIGHT], 1);
    assert_true(bn->needs_grad_input && bn->trained);
    assert_true(relu->needs_grad_input && !relu->trained);
    assert_int_equal(relu->cost.pass[LM_GRAD_WEIGHT].flops, 0);
    assert_true(second->needs_grad_input);
    assert_int_equal(second->n_kernels[LM_GRAD_INPUT], 1);
    nets_free(&m);
}

/* Layers without weights before the first trained one have no backward pass at all. */
static void a_prefix_without_weights_has_no_backward_pass(void **state)
{
    bound_text m = nets_bind(HEAD "shape = 3x8x8\n[pool]\ntype = max_pool2d\nkernel = 2\n"
                                  "[relu]\ntype = relu\n"
                                  "[bn]\ntype = batch_norm\naffine = no\n"
                                  "[conv]\ntype = conv2d\nfilters = 4\nkernel = 1\n"
                                  "[end]\ntype = relu\n",
                             2);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const bound_layer *l =
            nets_layer(&m, ((const char *const[]){ "x", "pool", "relu", "bn" })[i]);

        assert_false(l->needs_grad_input);
        for (lm_pass p = LM_GRAD_INPUT; p < LM_N_PASSES; p++) {
            assert_int_equal(l->n_kernels[p], 0);
            assert_int_equal(l->cost.pass[p].flops + l->cost.pass[p].read_bytes, 0);
        }
    }
    assert_false(
        nets_layer(&m, "bn")->trained); /* its running statistics are no weights to train */
    assert_int_equal(nets_layer(&m, "bn")->n_weights, 2);
    assert_false(nets_layer(&m, "conv")->needs_grad_input);
    assert_true(nets_layer(&m, "end")->needs_grad_input);
    nets_free(&m);
}

/* One kernel yields a norm's gradients; as the first layer it runs for those of its weights alone.
 */
static void a_norm_first_in_the_network_still_computes_its_gradients(void **state)
{
    bound_text         m = nets_bind(HEAD "shape = 3x8x8\n[bn]\ntype = batch_norm\n", 2);
    const bound_layer *l = nets_layer(&m, "bn");

    (void)state;
    assert_false(l->needs_grad_input);
    assert_int_equal(l->n_kernels[LM_GRAD_INPUT], 1);
    assert_int_equal(l->n_kernels[LM_GRAD_WEIGHT], 0);
    assert_int_equal(l->cost.pass[LM_GRAD_INPUT].flops, 9 * 2 * 3 * 64);
    nets_free(&m);
}

static void a_branch_asks_for_gradients_if_either_input_does(void **state)
{
    bound_text m = nets_bind(HEAD "shape = 3x8x8\n[conv]\ntype = conv2d\nfilters = 3\nkernel = 1\n"
                                  "[relu]\ntype = relu\ninputs = x\n"
                                  "[add]\ntype = add\ninputs = relu, conv\n",
                             1);

    (void)state;
    assert_false(nets_layer(&m, "relu")->needs_grad_input);
    assert_true(nets_layer(&m, "add")->needs_grad_input);
    nets_free(&m);
}

static void the_input_may_be_replaced_from_outside(void **state)
{
    static const struct {
        bind_options options;
        const char  *used;
        int64_t      out[4];
    } cases[] = {
        { { .batch = 2, .dtype = LM_F32 }, "3x224x224", { 2, 64, 112, 112 } },
        { { .batch = 2, .dtype = LM_F32, .image = 96 }, "3x96x96", { 2, 64, 48, 48 } },
        { { .batch = 2, .dtype = LM_F32, .input = "5x32x64" }, "5x32x64", { 2, 64, 16, 32 } },
        { { .batch = 2, .dtype = LM_F32, .input = "5x32x64", .image = 16 },
          "5x16x16",
          { 2, 64, 8, 8 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m = nets_bind_with(IMAGE CONV1, &cases[i].options);

        assert_dims(nets_layer(&m, "conv1")->output, 4, cases[i].out);
        assert_string_equal(m.bound->input, cases[i].used);
        nets_free(&m);
    }
}

static void the_element_type_is_that_of_activations_and_weights(void **state)
{
    bound_text m = nets_bind_with(IMAGE CONV1, &(bind_options){ .batch = 1, .dtype = LM_BF16 });

    (void)state;
    assert_int_equal(nets_layer(&m, "conv1")->output->dtype, LM_BF16);
    assert_int_equal(nets_layer(&m, "conv1")->weights[0].tensor.dtype, LM_BF16);
    assert_int_equal(nets_layer(&m, "conv1")->cost.pass[LM_FORWARD].written_bytes, 2 * 802816);
    nets_free(&m);
}

static void bad_options_are_refused(void **state)
{
    static const struct {
        bind_options options;
        const char  *message;
    } cases[] = {
        { { .batch = 0, .dtype = LM_F32 }, "batch 0: must be 1 or more" },
        { { .batch = -3, .dtype = LM_F32 }, "batch -3: must be 1 or more" },
        { { .batch = 1 }, "unknown element type 0" },
        { { .batch = 1, .dtype = LM_F32, .image = -1 }, "image size -1: must be 1 or more" },
        { { .batch = 1, .dtype = LM_F32, .input = "3x" },
          "n.ini:3: layer 'x': expected a shape such as 3x224x224, found '3x'" },
        { { .batch = 1, .dtype = LM_F32, .input = "1x2x3x4x5x6x7x8" },
          "n.ini:3: layer 'x': at most 7 dimensions here, found '1x2x3x4x5x6x7x8'" },
        { { .batch = 1, .dtype = LM_F32, .input = "3", .image = 8 },
          "input 3: the network's is 3x224x224: n.ini:3: layer 'x': its input is no image: an "
          "image size means nothing" },
        { { .batch = 1, .dtype = LM_F32, .input = "3x3" },
          "input 3x3: the network's is 3x224x224: n.ini:6: layer 'conv1': input of rank 3, "
          "expected 4: batch, channels, height, width" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m = nets_bind_with(IMAGE CONV1, &cases[i].options);

        assert_string_equal(m.err.text, cases[i].message);
        assert_null(m.bound);
        nets_free(&m);
    }
}

static void refusals_name_file_line_layer_and_reason(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { HEAD "shape = 3x8x8\n[c]\ntype = covn2d\n",
          "n.ini:6: layer 'c': unknown layer type 'covn2d' (did you mean 'conv2d'?)",
          LM_E_NOTFOUND },
        { HEAD "shape = 3x8x8\n[c]\ntype = transformer\n",
          "n.ini:6: layer 'c': unknown layer type 'transformer'; 'layermeter layers' lists them",
          LM_E_NOTFOUND },
        { HEAD "shape = 3x8x8\n[c]\ntype = conv2d\nfilter = 3\nkernel = 1\n",
          "n.ini:8: layer 'c': 'conv2d' has no key 'filter' (did you mean 'filters'?)",
          LM_E_NOTFOUND },
        { HEAD "shape = 3x8x8\n[c]\ntype = linear\nwindow = 3\n",
          "n.ini:8: layer 'c': 'linear' has no key 'window' (its keys: features bias heads groups)",
          LM_E_NOTFOUND },
        { HEAD "shape = 3x8x8\n[c]\ntype = relu\nslope = 3\n",
          "n.ini:8: layer 'c': 'relu' has no key 'slope' (its keys: none)", LM_E_NOTFOUND },
        { HEAD "shape = 3x8x8\n[c]\ntype = conv2d\nkernel = 3\n",
          "n.ini:6: layer 'c': 'conv2d' needs 'filters =' (integer: output channels)", LM_E_ARG },
        { HEAD "shape = 3x8x8\n[c]\ntype = conv2d\nfilters = 0\nkernel = 3\n",
          "n.ini:8: layer 'c': filters: 0 is outside 1 .. 1000000000", LM_E_ARG },
        { HEAD "shape = 3x8x8\n[c]\ntype = conv2d\nfilters = 2\nkernel = 9\n",
          "n.ini:6: layer 'c': window reaches over 9 pixels of a padded input of 8", LM_E_SHAPE },
        { HEAD "shape = 3x8x8\n[c]\ntype = conv2d\nfilters = 2\nkernel = 3\ngroups = 2\n",
          "n.ini:6: layer 'c': 3 input channels do not divide into 2 groups", LM_E_SHAPE },
        { HEAD "shape = 3x8x8\n[c]\ntype = add\n",
          "n.ini:6: layer 'c': 'add' takes 2 or more inputs, 1 given: set 'inputs ='", LM_E_SHAPE },
        { HEAD "shape = 3x8x8\n[c]\ntype = relu\ninputs = x, x\n",
          "n.ini:6: layer 'c': 'relu' takes 1 input, 2 given: set 'inputs ='", LM_E_SHAPE },
        { HEAD "shape = 3x8x8\n[c]\ntype = relu\ninputs = x:1\n",
          "n.ini:6: layer 'c': 'x' has no output 1", LM_E_SHAPE },
        { HEAD "shape = 3x8x8\n[y]\ntype = input\nshape = 3\ninputs = x\n",
          "n.ini:6: layer 'y': 'input' is a source and takes no inputs", LM_E_SHAPE },
        { "[network]\nname = n\n[a]\ntype = relu\n",
          "n.ini:3: layer 'a': 'relu' takes 1 input, 0 given: set 'inputs ='", LM_E_SHAPE },
        { HEAD "shape = 1x2x3x4x5x6x7x8\n",
          "n.ini:3: layer 'x': a sample of 8 dimensions; at most 7 fit beside the batch",
          LM_E_ARG },
        /* 10^9 * 10^9 * 4 bytes fit, times a batch of 8 they do not */
        { HEAD "shape = 1000000000x1000000000\n",
          "n.ini:3: layer 'x': output has more than 2^64 bytes", LM_E_OVERFLOW },
        /* outputs fit, the products do not: 8 * 10^6 rows, 10^9 * 10^9 each */
        { HEAD "shape = 1000000x1000\n[a]\ntype = linear\nfeatures = 1000000000\n"
               "[b]\ntype = linear\nfeatures = 1000000000\n",
          "n.ini:9: layer 'b': work does not fit 64 bits", LM_E_OVERFLOW },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m = nets_bind(cases[i].text, 8);

        assert_error(m.err, cases[i].code, "%s", cases[i].message);
        assert_null(m.bound);
        nets_free(&m);
    }
}

static void a_second_source_cannot_be_replaced(void **state)
{
    static const char text[] = HEAD "shape = 3\n[y]\ntype = input\nshape = 3\n"
                                    "[a]\ntype = add\ninputs = x, y\n";
    bound_text        m      = nets_bind(text, 1);

    (void)state;
    assert_string_equal(m.err.text, "");
    assert_int_equal(m.bound->n_data, 2);
    assert_string_equal(m.bound->input, "3, 3");
    nets_free(&m);
    m = nets_bind_with(text, &(bind_options){ .batch = 1, .dtype = LM_F32, .input = "4" });
    assert_error(m.err, LM_E_ARG,
                 "n.ini:6: layer 'y': the network has several inputs: their shapes cannot "
                 "be replaced from outside");
    nets_free(&m);
}

/* A line inside a block is the layer's own; the message says nothing of where the block is used. */
static void a_layer_of_a_block_is_named_in_full(void **state)
{
    bound_text m =
        nets_bind(HEAD "shape = 3x8x8\n[block b]\nk =\n[b/c]\ntype = conv2d\nfilters = 1\n"
                       "kernel = $k\n[u]\nblock = b\nk = 0\n",
                  1);

    (void)state;
    assert_error(m.err, LM_E_ARG, "n.ini:11: layer 'u.c': kernel: 0 is outside 1 .. 1000000");
    nets_free(&m);
}

/* ---- shared parameters --------------------------------------------------------------------------
 */

#define SHARED                                                                         \
    "[network]\nname = n\n[x]\ntype = input\nshape = 6\n"                              \
    "[a]\ntype = linear\nfeatures = 6\n[b]\ntype = linear\nfeatures = 6\nshares = a\n" \
    "[c]\ntype = linear\nfeatures = 6\nbias = no\nshares = a\n"

/* a: 6x6 and 6. b has both from a, c the matrix: 36 + 6 elements in two tensors. */
static void shared_parameters_are_counted_once(void **state)
{
    bound_text         m = nets_bind(SHARED, 5);
    const bound_layer *a = nets_layer(&m, "a"), *b = nets_layer(&m, "b"), *c = nets_layer(&m, "c");
    net_metrics        all;
    kernel_list        update = { NULL, 0, 0 };

    (void)state;
    assert_int_equal(metrics_of_network(m.bound, NULL, &all, NULL), LM_OK);
    assert_int_equal(all.params, 42);
    assert_int_equal(all.param_tensors, 2);
    assert_int_equal(all.param_bytes, 168);
    assert_int_equal(all.macs_linear, 3 * 5 * 36); /* the products are all computed */
    assert_int_equal(kernels_update(m.bound, OPTIMIZER_MOMENTUM, &update, NULL), LM_OK);
    assert_int_equal(update.n, 2);
    kernel_list_free(&update);

    assert_null(a->shares);
    assert_int_equal(a->n_weights, 2);
    assert_ptr_equal(b->shares, a);
    assert_int_equal(b->n_weights, 0);
    assert_int_equal(b->n_shared, 2);
    assert_true(b->trained);
    assert_int_equal(c->n_shared, 1);
    assert_string_equal(c->weights[0].role, "weight");
    nets_free(&m);
}

/* The gradient of a shared tensor is added to the one that is there: 1 addition an element, two
 * tensors read and one written. */
static void gradients_of_shared_parameters_are_added(void **state)
{
    bound_text         m = nets_bind(SHARED, 5);
    const bound_layer *a = nets_layer(&m, "a"), *b = nets_layer(&m, "b");
    const lm_work     *once = &a->cost.pass[LM_GRAD_WEIGHT], *more = &b->cost.pass[LM_GRAD_WEIGHT];

    (void)state;
    assert_int_equal(more->flops, once->flops + 42);
    assert_int_equal(more->read_bytes, once->read_bytes + 2 * 168);
    assert_int_equal(more->written_bytes, once->written_bytes + 168);
    assert_int_equal(b->n_kernels[LM_GRAD_WEIGHT], a->n_kernels[LM_GRAD_WEIGHT] + 2);
    nets_free(&m);
}

static void sharing_that_means_nothing_is_refused(void **state)
{
    static const struct {
        const char *layers, *message;
    } cases[] = {
        { "[a]\ntype = linear\nfeatures = 4\n[b]\ntype = linear\nfeatures = 6\nbias = no\nshares = a\n",
          "n.ini:9: layer 'b': shares = a: whose weight is 4x6 f32, and this layer's 6x4 f32: they must be alike" },
        { "[a]\ntype = linear\nfeatures = 6\nbias = no\n[b]\ntype = linear\nfeatures = 3\nshares = a\n",
          "n.ini:10: layer 'b': shares = a: whose weight is 6x6 f32, and this layer's 3x6 f32: they must be alike" },
        /* the biases agree, the weights do not: nothing is shared by halves */
        { "[c]\ntype = linear\nfeatures = 3\nshares = d\n[d]\ntype = linear\nfeatures = 3\n",
          "n.ini:6: layer 'c': shares = d: whose weight is 3x3 f32, and this layer's 3x6 f32: they must be alike" },
        { "[a]\ntype = relu\n[b]\ntype = relu\nshares = a\n",
          "n.ini:8: layer 'b': shares = a: which has no parameter tensor of the same role" },
        { "[a]\ntype = linear\nfeatures = 6\n[b]\ntype = linear\nfeatures = 6\nshares = a\n"
          "[c]\ntype = linear\nfeatures = 6\nshares = b\n",
          "n.ini:13: layer 'c': shares = b: which has its parameters from another layer itself" },
    };
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bound_text m;

        snprintf(text, sizeof text, "[network]\nname = n\n[x]\ntype = input\nshape = 6\n%s",
                 cases[i].layers);
        m = nets_bind(text, 1);
        assert_error(m.err, LM_E_ARG, "%s", cases[i].message);
        nets_free(&m);
    }
}

/* torchvision's ops.Permute and nn.Flatten are modules, though joining and reshaping are functions
 * elsewhere. */
static void a_function_may_be_counted_as_a_layer(void **state)
{
    bound_text  m = nets_bind(IMAGE "[f]\ntype = flatten\nfunctional = no\n[g]\ntype = flatten\n"
                                     "[r]\ntype = relu\nfunctional = yes\n",
                              2);
    net_metrics all;

    (void)state;
    assert_int_equal(metrics_of_network(m.bound, NULL, &all, NULL), LM_OK);
    assert_int_equal(all.layers, 1);
    assert_int_equal(all.activation_bytes, 2 * 150528 * 4);
    nets_free(&m);
}

/* What was read for one use of a network does not hold for another: a position for each of 128 tokens is none for 512, and an auxiliary
 * classifier of training is not there in evaluation. */
static void a_binding_is_reused_for_the_same_use_alone(void **state)
{
    static const struct {
        const char  *name;
        bind_options first, then;
    } cases[] = {
        { "bert_base:layers=1", { .input = "128" }, { .input = "512" } },
        { "bert_base:layers=1", { .input = "128" }, { .input = "128", .evaluation = true } },
        { "googlenet", { .evaluation = false }, { .evaluation = true } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bind_options   first = cases[i].first, then = cases[i].then;
        bound_text     before, alone;
        bound_network *again = NULL;
        lm_error       err   = { LM_OK, "" };
        net_metrics    expected, found;

        first.batch = then.batch = 2;
        first.dtype = then.dtype = LM_F32;
        before                   = nets_open(cases[i].name, &first);
        alone                    = nets_open(cases[i].name, &then);
        then.like                = before.bound;
        assert_int_equal(bind_network(before.net, nets_registry, &then, &again, &err), LM_OK);
        assert_int_equal(metrics_of_network(alone.bound, NULL, &expected, NULL), LM_OK);
        assert_int_equal(metrics_of_network(again, NULL, &found, NULL), LM_OK);
        assert_memory_equal(&found, &expected, sizeof found);
        assert_int_equal(again->n_layers, alone.bound->n_layers);
        for (size_t l = 0; l < again->n_layers; l++) {
            assert_int_equal(again->layer[l].n_kernels[LM_FORWARD],
                             alone.bound->layer[l].n_kernels[LM_FORWARD]);
            assert_int_equal(again->layer[l].passes, alone.bound->layer[l].passes);
        }
        bound_network_free(again);
        nets_free(&before);
        nets_free(&alone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv2d_matches_hand_count),
        cmocka_unit_test(convolutions_match_hand_counts),
        cmocka_unit_test(linear_matches_hand_count),
        cmocka_unit_test(the_first_trained_layer_has_no_input_gradient),
        cmocka_unit_test(a_prefix_without_weights_has_no_backward_pass),
        cmocka_unit_test(a_norm_first_in_the_network_still_computes_its_gradients),
        cmocka_unit_test(a_branch_asks_for_gradients_if_either_input_does),
        cmocka_unit_test(the_input_may_be_replaced_from_outside),
        cmocka_unit_test(the_element_type_is_that_of_activations_and_weights),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(refusals_name_file_line_layer_and_reason),
        cmocka_unit_test(a_second_source_cannot_be_replaced),
        cmocka_unit_test(a_layer_of_a_block_is_named_in_full),
        cmocka_unit_test(shared_parameters_are_counted_once),
        cmocka_unit_test(gradients_of_shared_parameters_are_added),
        cmocka_unit_test(sharing_that_means_nothing_is_refused),
        cmocka_unit_test(a_function_may_be_counted_as_a_layer),
        cmocka_unit_test(a_binding_is_reused_for_the_same_use_alone),
        cmocka_unit_test(layers_alike_are_bound_alike),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
