/* A step under autocast: kernels, casts and work of small networks by hand. */
#include "nets.h"

#include "network/autocast.h"
#include "network/kernels.h"
#include "network/mixed/fp8.h"

#define X "[network]\nname = n\n[x]\ntype = input\nshape = "

/* At batch 2: weights 8x4 and 2x8. */
static const char chain[] = X "4\n"
                              "[fc1]\ntype = linear\nfeatures = 8\nbias = no\n"
                              "[relu]\ntype = relu\n"
                              "[fc2]\ntype = linear\nfeatures = 2\nbias = no\n";

static bound_text bind_mixed(const char *text)
{
    return nets_bind_with(text, &(bind_options){ .batch = 2, .dtype = LM_F32, .mixed = LM_BF16 });
}

/* "v32 gemm ^16": casts down and up by their elements, in brackets what runs in single precision. */
static const char *pass_text(const bound_text *m, const char *name, lm_pass pass, char text[200])
{
    const bound_layer *l = nets_layer(m, name);
    size_t             n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < l->n_kernels[pass]; i++) {
        const lm_kernel *k     = &l->kernels[pass][i];
        const char      *blank = i ? " " : "";
        bool             widens;

        if (autocast_is_cast(k, &widens))
            n += (size_t)snprintf(text + n, 200 - n, "%s%c%lld", blank, widens ? '^' : 'v',
                                  (long long)k->u.map.elements);
        else
            n += (size_t)snprintf(text + n, 200 - n, k->dtype == LM_BF16 ? "%s%s" : "%s(%s)", blank,
                                  kernel_op_name(k->op));
    }
    return text;
}

static void assert_passes(const bound_text *m, const char *name, const char *forward,
                          const char *grad_input, const char *grad_weight)
{
    char text[200];

    assert_string_equal(pass_text(m, name, LM_FORWARD, text), forward);
    assert_string_equal(pass_text(m, name, LM_GRAD_INPUT, text), grad_input);
    assert_string_equal(pass_text(m, name, LM_GRAD_WEIGHT, text), grad_weight);
}

static void products_run_in_16_bit_between_casts(void **state)
{
    bound_text         m   = bind_mixed(chain);
    const bound_layer *fc1 = nets_layer(&m, "fc1");

    (void)state;
    assert_passes(&m, "fc1", "v32 v8 gemm", "", "gemm ^32");
    assert_passes(&m, "relu", "map", "map", "");
    assert_passes(&m, "fc2", "v16 gemm", "gemm", "gemm ^16");
    /* 32 and 8 elements of 4 bytes read and of 2 written; the product reads both, writes 16 of 2 */
    assert_int_equal(fc1->cost.pass[LM_FORWARD].read_bytes, 128 + 32 + 64 + 16);
    assert_int_equal(fc1->cost.pass[LM_FORWARD].written_bytes, 64 + 16 + 32);
    assert_int_equal(fc1->weights[0].tensor.dtype, LM_F32);
    assert_int_equal(fc1->output[0].dtype, LM_BF16);
    nets_free(&m);
}

static void updates_and_gradients_are_of_single_precision(void **state)
{
    bound_text    m         = bind_mixed(chain);
    kernel_list   list      = { NULL, 0, 0 };
    gradient_list gradients = { NULL, 0 };
    lm_error      err       = { LM_OK, "" };

    (void)state;
    assert_false(kernels_update(m.bound, OPTIMIZER_MOMENTUM, &list, &err));
    assert_false(kernels_gradients(m.bound, &gradients, &err));
    assert_int_equal(list.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(list.kernel[i].dtype, LM_F32);
    assert_int_equal(gradients.n, 2);
    assert_int_equal(gradients.gradient[0].bytes, 64); /* of fc2: behind its three kernels */
    assert_int_equal(gradients.gradient[0].end, 3);
    assert_int_equal(gradients.gradient[1].end, 3 + 1 + 2);
    kernel_list_free(&list);
    gradient_list_free(&gradients);
    nets_free(&m);
}

static void a_bias_is_cast_by_itself(void **state)
{
    bound_text m = bind_mixed(X "4\n[fc]\ntype = linear\nfeatures = 8\n");

    (void)state;
    assert_passes(&m, "fc", "v32 v8 v8 gemm", "", "gemm reduce ^32 ^8");
    nets_free(&m);
}

static void single_precision_layers_cast_to_and_fro(void **state)
{
    bound_text m = bind_mixed(X "4\n[fc]\ntype = linear\nfeatures = 4\nbias = no\n"
                                "[softmax]\ntype = softmax\n"
                                "[fc2]\ntype = linear\nfeatures = 4\nbias = no\n");

    (void)state;
    assert_passes(&m, "softmax", "^8 (softmax)", "(softmax) v8", "");
    assert_passes(&m, "fc2", "v16 v8 gemm", "gemm ^8", "gemm ^16");
    nets_free(&m);
}

/* Norms and softmax are on no list of the CPU's, losses and pooling of three dimensions are. */
static void a_cpu_has_a_list_of_its_own(void **state)
{
    bind_options on = { .batch = 2, .dtype = LM_F32, .mixed = LM_BF16, .on = AUTOCAST_CPU };
    bound_text   m  = nets_bind_with(X "4\n[fc]\ntype = linear\nfeatures = 4\nbias = no\n"
                                          "[norm]\ntype = layer_norm\n[softmax]\ntype = softmax\n"
                                          "[loss]\ntype = mse_loss\ninputs = softmax, x\n",
                                     &on);

    (void)state;
    assert_passes(&m, "fc", "v16 v8 gemm", "", "gemm ^16");
    assert_passes(&m, "softmax", "softmax", "softmax", "");
    assert_int_equal(nets_layer(&m, "norm")->output[0].dtype, LM_BF16);
    assert_int_equal(nets_layer(&m, "softmax")->output[0].dtype, LM_BF16);
    assert_int_equal(nets_layer(&m, "loss")->output[0].dtype, LM_F32);
    nets_free(&m);
    on.on = AUTOCAST_GPU;
    m     = nets_bind_with(X "2x4x4x4\n[conv]\ntype = conv3d\nfilters = 2\nkernel = 1\n"
                                 "[pool]\ntype = max_pool3d\nkernel = 2\n",
                           &on);
    assert_int_equal(nets_layer(&m, "pool")->output[0].dtype, LM_BF16);
    nets_free(&m);
    on.on = AUTOCAST_CPU;
    m     = nets_bind_with(X "2x4x4x4\n[conv]\ntype = conv3d\nfilters = 2\nkernel = 1\n"
                                 "[pool]\ntype = max_pool3d\nkernel = 2\n",
                           &on);
    assert_int_equal(nets_layer(&m, "pool")->output[0].dtype, LM_F32);
    nets_free(&m);
}

/* A sum of two types takes the widest, without a cast of its own. */
static void sums_take_the_widest_type(void **state)
{
    bound_text m = bind_mixed(X "4\n[a]\ntype = linear\nfeatures = 4\nbias = no\n"
                                "[s]\ntype = softmax\n"
                                "[sum]\ntype = add\ninputs = a, s\n[relu]\ntype = relu\n");

    (void)state;
    assert_passes(&m, "sum", "(map)", "", "");
    assert_passes(&m, "relu", "(map)", "(map)", "");
    nets_free(&m);
}

/* Copies are kept: one cast of what two layers share, and one of the sum of their gradients. */
static void shared_weights_are_cast_once(void **state)
{
    bound_text m = bind_mixed(X "6\n[a]\ntype = linear\nfeatures = 6\nbias = no\n"
                                "[b]\ntype = linear\nfeatures = 6\nbias = no\nshares = a\n");

    (void)state;
    assert_passes(&m, "a", "v36 v12 gemm", "", "gemm ^36");
    assert_passes(&m, "b", "gemm", "gemm", "gemm map");
    nets_free(&m);
    /* a table is read in single precision: its other reader casts, and adds in single precision */
    m = bind_mixed("[network]\nname = n\n[x]\ntype = input\nshape = 3\ndtype = i64\n"
                   "[table]\ntype = embedding\nvocabulary = 5\nwidth = 4\n"
                   "[head]\ntype = linear\nfeatures = 5\nbias = no\nshares = table\n");
    assert_passes(&m, "table", "(gather)", "", "(map) (gather)");
    assert_passes(&m, "head", "v20 v24 gemm", "gemm ^24", "gemm ^20 (map)");
    nets_free(&m);
}

static void evaluation_has_no_casts_back(void **state)
{
    bound_text m = nets_bind_with(
        chain,
        &(bind_options){ .batch = 2, .dtype = LM_F32, .mixed = LM_BF16, .evaluation = true });

    (void)state;
    assert_passes(&m, "fc1", "v32 v8 gemm", "", "");
    assert_passes(&m, "fc2", "v16 gemm", "", "");
    nets_free(&m);
}

static void a_cast_moves_the_bytes_of_both_types(void **state)
{
    const lm_kernel down   = autocast_kernel(LM_F16, false, 7, LM_FORWARD);
    const lm_kernel up     = autocast_kernel(LM_F16, true, 7, LM_GRAD_WEIGHT);
    lm_kernel       plain  = down;
    bool            widens = true;

    (void)state;
    assert_true(autocast_is_cast(&down, &widens));
    assert_false(widens);
    assert_int_equal(lm_kernel_work(&down).read_bytes, 28);
    assert_int_equal(lm_kernel_work(&down).written_bytes, 14);
    assert_int_equal(lm_kernel_work(&down).flops, 0);
    assert_true(autocast_is_cast(&up, &widens));
    assert_true(widens);
    assert_int_equal(lm_kernel_work(&up).read_bytes, 14);
    assert_int_equal(lm_kernel_work(&up).written_bytes, 28);
    plain.u.map.reads = plain.u.map.writes = 7;
    assert_false(autocast_is_cast(&plain, &widens));
    plain       = down;
    plain.dtype = LM_F32;
    assert_false(autocast_is_cast(&plain, &widens));
}

static void settings_name_the_type(void **state)
{
    (void)state;
    assert_int_equal(autocast_of_settings("layout=nhwc mixed=bf16 progress=poll"), LM_BF16);
    assert_int_equal(autocast_of_settings("mixed=f16"), LM_F16);
    assert_int_equal(autocast_of_settings("unmixed=f16"), 0);
    assert_int_equal(autocast_of_settings("amp=f16"), 0); /* counted in the type of the weights */
    assert_int_equal(autocast_of_settings(""), 0);
}

static void other_types_are_refused(void **state)
{
    bound_text m =
        nets_bind_with(chain, &(bind_options){ .batch = 1, .dtype = LM_F16, .mixed = LM_BF16 });

    (void)state;
    assert_error(m.err, LM_E_ARG, "mixed precision: the weights are f32, not f16");
    nets_free(&m);
    m = nets_bind_with(chain, &(bind_options){ .batch = 1, .dtype = LM_F32, .mixed = LM_F64 });
    assert_error(m.err, LM_E_ARG, "mixed precision: expected f16, bf16 or f8, found 'f64'");
    nets_free(&m);
    m = nets_bind_with(
        chain, &(bind_options){ .batch = 1, .dtype = LM_F32, .mixed = LM_F8, .on = AUTOCAST_CPU });
    assert_error(m.err, LM_E_ARG, "mixed precision: a CPU has no products of f8: take bf16");
    nets_free(&m);
}

/* ---- FP8 --------------------------------------------------------------------------------------- */

/* At batch 16: weights 32x16 and 48x32, a bias of 48; and one of which a size is no multiple of 16. */
static const char three[] = X "16\n"
                              "[fc1]\ntype = linear\nfeatures = 32\nbias = no\n"
                              "[fc2]\ntype = linear\nfeatures = 48\n"
                              "[fc3]\ntype = linear\nfeatures = 10\nbias = no\n";

static bound_text bind_f8(const char *text, int64_t batch, bool evaluation)
{
    return nets_bind_with(
        text, &(bind_options){
                  .batch = batch, .dtype = LM_F32, .mixed = LM_F8, .evaluation = evaluation });
}

/* "q512>1024": casts to FP8 by bytes read and written, "gemm8", "scales6" of so many records of 1024;
 * others as above. */
static const char *f8_text(const bound_text *m, const char *name, lm_pass pass, char text[240])
{
    const bound_layer *l = nets_layer(m, name);
    size_t             n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < l->n_kernels[pass]; i++) {
        const lm_kernel *k    = &l->kernels[pass][i];
        const lm_work    work = lm_kernel_work(k);
        lm_dtype         from;
        bool             wide;

        n += (size_t)snprintf(text + n, 240 - n, "%s", i ? " " : "");
        if (fp8_is_cast(k, &from, &wide))
            n += (size_t)snprintf(text + n, 240 - n, "q%llu>%llu",
                                  (unsigned long long)work.read_bytes,
                                  (unsigned long long)work.written_bytes);
        else if (autocast_is_cast(k, &wide))
            n += (size_t)snprintf(text + n, 240 - n, "%c%lld", wide ? '^' : 'v',
                                  (long long)k->u.map.elements);
        else if (k->op == LM_OP_MAP && k->dtype == LM_F32)
            n += (size_t)snprintf(text + n, 240 - n, "scales%lld",
                                  (long long)(k->u.map.elements / 1024));
        else
            n += (size_t)snprintf(text + n, 240 - n, "%s%s", kernel_op_name(k->op),
                                  k->dtype == LM_F8     ? "8"
                                  : k->dtype == LM_BF16 ? ""
                                                        : "!");
    }
    return text;
}

static void assert_f8(const bound_text *m, const char *name, const char *forward,
                      const char *grad_input, const char *grad_weight)
{
    char text[240];

    assert_string_equal(f8_text(m, name, LM_FORWARD, text), forward);
    assert_string_equal(f8_text(m, name, LM_GRAD_INPUT, text), grad_input);
    assert_string_equal(f8_text(m, name, LM_GRAD_WEIGHT, text), grad_weight);
}

/* fc1: its weights, 512 elements of f32, into one copy, as nobody wants its input's gradient; the input,
 * 256, to bf16, then to FP8 twice; the gradient of 512 elements once, transposed. Two layers' products:
 * 6 records forward, 4 backward, behind the last and the first of them. */
static void products_run_in_f8_between_casts(void **state)
{
    bound_text         m   = bind_f8(three, 16, false);
    const bound_layer *fc2 = nets_layer(&m, "fc2");

    (void)state;
    assert_f8(&m, "fc1", "q2048>512 v256 q512>512 gemm8", "", "q1024>512 gemm8 ^512 scales4");
    assert_f8(&m, "fc2", "q6144>3072 v48 q1024>1024 gemm8 scales6", "q1536>1536 gemm8",
              "gemm8 reduce ^1536 ^48");
    assert_f8(&m, "fc3", "v480 gemm", "gemm", "gemm ^480");
    /* the product reads 16x32 and 48x32 bytes and writes 16x48 of bf16; 6 records are read and written */
    assert_int_equal(fc2->cost.pass[LM_FORWARD].read_bytes,
                     6144 + 48 * 4 + 1024 + 512 + 1536 + 6 * 4096);
    assert_int_equal(fc2->cost.pass[LM_FORWARD].written_bytes,
                     3072 + 48 * 2 + 1024 + 768 * 2 + 6 * 4096);
    /* products and bias, a comparison and a scaling of each element, a comparison of each record */
    assert_int_equal(fc2->cost.pass[LM_FORWARD].flops,
                     2 * 16 * 32 * 48 + 768 + 2 * (1536 + 512) + 6 * 1024);
    assert_int_equal(fc2->output[0].dtype, LM_BF16);
    nets_free(&m);
}

static void what_is_no_multiple_of_16_stays_in_16_bit(void **state)
{
    bound_text m = bind_f8(three, 8, false);

    (void)state;
    assert_f8(&m, "fc1", "v512 v128 gemm", "", "gemm ^512");
    nets_free(&m);
    m = bind_f8(X "16x4x4\n[c]\ntype = conv2d\nfilters = 16\nkernel = 1\nbias = no\n", 16, false);
    assert_f8(&m, "c", "v256 v4096 conv", "", "conv ^256");
    nets_free(&m);
}

static void evaluation_takes_one_copy_and_no_scales(void **state)
{
    bound_text m = bind_f8(three, 16, true);

    (void)state;
    assert_f8(&m, "fc1", "q2048>512 v256 q512>256 gemm8", "", "");
    assert_f8(&m, "fc2", "q6144>1536 v48 q1024>512 gemm8", "", "");
    nets_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_run_in_16_bit_between_casts),
        cmocka_unit_test(updates_and_gradients_are_of_single_precision),
        cmocka_unit_test(a_bias_is_cast_by_itself),
        cmocka_unit_test(single_precision_layers_cast_to_and_fro),
        cmocka_unit_test(a_cpu_has_a_list_of_its_own),
        cmocka_unit_test(sums_take_the_widest_type),
        cmocka_unit_test(shared_weights_are_cast_once),
        cmocka_unit_test(evaluation_has_no_casts_back),
        cmocka_unit_test(a_cast_moves_the_bytes_of_both_types),
        cmocka_unit_test(settings_name_the_type),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(products_run_in_f8_between_casts),
        cmocka_unit_test(what_is_no_multiple_of_16_stays_in_16_bit),
        cmocka_unit_test(evaluation_takes_one_copy_and_no_scales),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
