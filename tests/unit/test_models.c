/* Every network that is shipped: its published counts, and sums that must hold for any network. */
#include "nets.h"

#include <string.h>

#include "network/kernels.h"
#include "network/memory.h"
#include "network/metrics.h"
#include "network/operations.h"
#include "network/part.h"
#include "network/single.h"
#include "network/write.h"

#define N_COUNTS (sizeof(net_metrics) / sizeof(uint64_t))

typedef union counts {
    net_metrics metrics;
    uint64_t    value[N_COUNTS];
} counts;

static bound_network *bind(const network *net, int64_t batch)
{
    const bind_options with  = { .batch = batch, .dtype = LM_F32 };
    bound_network     *bound = NULL;
    lm_error           err   = { LM_OK, "" };

    bind_network(net, nets_registry, &with, &bound, &err);
    assert_string_equal(err.text, "");
    return bound;
}

static counts count(const bound_network *bound, const char *block)
{
    counts   c;
    lm_error err = { LM_OK, "" };

    metrics_of_network(bound, block, &c.metrics, &err);
    assert_string_equal(err.text, "");
    return c;
}

static void add(counts *sum, const counts *c)
{
    for (size_t i = 0; i < N_COUNTS; i++)
        sum->value[i] += c->value[i];
}

/* Calls `check` for each network there is. */
static void for_each_network(void (*check)(const network *net))
{
    network_names all;
    size_t        checked = 0;

    assert_int_equal(network_list(&all, NULL), LM_OK);
    for (size_t i = 0; i < all.n; i++, checked++) {
        network *net = NULL;
        lm_error err = { LM_OK, "" };

        network_open(all.name[i], nets_registry, NULL, &net, &err);
        assert_string_equal(err.text, "");
        check(net);
        network_free(net);
    }
    network_names_free(&all);
    assert_true(checked >= 50);
}

static void check_published(const network *net)
{
    bound_network    *bound = bind(net, 1);
    const net_metrics m     = count(bound, NULL).metrics;

    if (!net->published_params || !net->source)
        fail_msg("%s: no published number of parameters, or no source of it", net->name);
    if (net->published_params != m.params)
        fail_msg("%s: parameters", net->name);
    if (net->published_macs && net->published_macs != m.macs_conv + m.macs_linear + m.macs_matmul)
        fail_msg("%s: MACs", net->name);
    assert_int_equal(m.layers_not_lowered, 0);
    bound_network_free(bound);
}

static void every_network_has_its_published_counts(void **state)
{
    (void)state;
    for_each_network(check_published);
}

/* A parameter that is stretched over the batch has its gradients summed up, over one sample too few
 * to be any work. */
static bool sums_gradients(size_t count)
{
    return count == offsetof(net_metrics, other_flops_backward) / sizeof(uint64_t) ||
           count == offsetof(net_metrics, read_bytes) / sizeof(uint64_t) ||
           count == offsetof(net_metrics, written_bytes) / sizeof(uint64_t);
}

/* Batches 1, 2, 3 and 5: each count is a constant and something for each sample. */
static void check_even(const network *net)
{
    static const int64_t batch[] = { 1, 2, 3, 5 };
    counts               c[4];

    for (size_t b = 0; b < 4; b++) {
        bound_network *bound = bind(net, batch[b]);

        c[b] = count(bound, NULL);
        bound_network_free(bound);
    }
    for (size_t i = 0; i < N_COUNTS; i++) {
        const uint64_t step = c[2].value[i] - c[1].value[i];

        if (c[3].value[i] - c[2].value[i] != 2 * step ||
            (c[1].value[i] - c[0].value[i] != step &&
             (!sums_gradients(i) || c[1].value[i] - c[0].value[i] < step)))
            fail_msg("%s: count %zu", net->name, i);
    }
}

static void counts_grow_evenly_with_the_batch(void **state)
{
    (void)state;
    for_each_network(check_even);
}

/* Layers one by one, and blocks at the top by the first part of their layers' names. */
static void check_parts(const network *net)
{
    bound_network *bound  = bind(net, 2);
    const counts   all    = count(bound, NULL);
    counts         layers = { .value = { 0 } }, blocks = { .value = { 0 } };
    char(*top)[64] = calloc(bound->n_layers, sizeof *top);
    size_t n_top   = 0;

    assert_non_null(top);
    for (size_t i = 0; i < bound->n_layers; i++) {
        counts one;
        char   first[64];
        size_t k = 0;

        assert_int_equal(metrics_of_layer(&bound->layer[i], &one.metrics, NULL), LM_OK);
        add(&layers, &one);
        snprintf(first, sizeof first, "%.*s", (int)strcspn(bound->layer[i].decl->name, "."),
                 bound->layer[i].decl->name);
        while (k < n_top && strcmp(top[k], first))
            k++;
        if (k < n_top)
            continue;
        strcpy(top[n_top++], first);
        one = count(bound, first);
        add(&blocks, &one);
    }
    for (size_t i = 0; i < N_COUNTS; i++)
        if (layers.value[i] != all.value[i] || blocks.value[i] != all.value[i])
            fail_msg("%s: count %zu", net->name, i);
    free(top);
    bound_network_free(bound);
}

static void layers_and_blocks_add_up_to_the_network(void **state)
{
    (void)state;
    for_each_network(check_parts);
}

static void check_kernels(const network *net)
{
    bound_network *bound = bind(net, 3);

    for (size_t i = 0; i < bound->n_layers; i++)
        for (lm_pass p = 0; p < LM_N_PASSES; p++) {
            const bound_layer *l    = &bound->layer[i];
            const lm_work     *cost = &l->cost.pass[p];
            lm_work            sum  = { 0, 0, 0 };

            for (size_t k = 0; k < l->n_kernels[p]; k++) {
                const lm_work one = lm_kernel_work(&l->kernels[p][k]);

                sum.flops += l->kernels[p][k].repeat * one.flops;
                sum.read_bytes += l->kernels[p][k].repeat * one.read_bytes;
                sum.written_bytes += l->kernels[p][k].repeat * one.written_bytes;
            }
            if (sum.flops != cost->flops || sum.read_bytes != cost->read_bytes ||
                sum.written_bytes != cost->written_bytes)
                fail_msg("%s: %s, pass %d", net->name, l->decl->name, p);
        }
    bound_network_free(bound);
}

static void kernels_add_up_to_the_cost_of_each_pass(void **state)
{
    (void)state;
    for_each_network(check_kernels);
}

/* As `layermeter import` writes it: no blocks, no arguments, shared parameters by name. */
static void check_written(const network *net)
{
    FILE          *out    = fopen("written.ini", "w");
    network       *again  = NULL;
    bound_network *before = bind(net, 2), *after;
    lm_error       err    = { LM_OK, "" };
    counts         a, b;

    assert_non_null(out);
    assert_int_equal(network_write(net, NULL, out, NULL), LM_OK);
    fclose(out);
    network_load("written.ini", NULL, &again, &err);
    assert_string_equal(err.text, "");
    after = bind(again, 2);
    a     = count(before, NULL);
    b     = count(after, NULL);
    for (size_t i = 0; i < N_COUNTS; i++)
        if (a.value[i] != b.value[i])
            fail_msg("%s: count %zu", net->name, i);
    bound_network_free(before);
    bound_network_free(after);
    network_free(again);
}

static void what_is_written_unfolded_counts_the_same(void **state)
{
    (void)state;
    for_each_network(check_written);
}

/* What is all-reduced is what is trained, and no kernel is waited for that comes before another. */
static void check_gradients(const network *net)
{
    bound_network    *bound    = bind(net, 2);
    const net_metrics m        = count(bound, NULL).metrics;
    kernel_list       backward = { NULL, 0, 0 };
    gradient_list     list;
    uint64_t          bytes = 0;

    assert_int_equal(kernels_backward(bound, &backward, NULL), LM_OK);
    assert_int_equal(kernels_gradients(bound, &list, NULL), LM_OK);
    assert_int_equal(list.n, m.param_tensors);
    for (size_t i = 0; i < list.n; i++) {
        bytes += list.gradient[i].bytes;
        assert_true(list.gradient[i].begin <= list.gradient[i].end);
        assert_true(list.gradient[i].end <= backward.n);
        assert_true(i == 0 || list.gradient[i - 1].end <= list.gradient[i].end);
    }
    if (bytes != m.param_bytes)
        fail_msg("%s: gradients of %llu bytes", net->name, (unsigned long long)bytes);
    gradient_list_free(&list);
    kernel_list_free(&backward);
    bound_network_free(bound);
}

static void gradients_add_up_to_the_parameters(void **state)
{
    (void)state;
    for_each_network(check_gradients);
}

/* Does everything that the block takes from outside want a gradient in the whole, as in the part? */
static bool wants_all(const bound_network *whole, const char *block)
{
    for (size_t i = 0; i < whole->n_layers; i++) {
        const bound_layer *l = &whole->layer[i];

        for (size_t k = 0; metrics_in_block(l->decl->name, block) && k < l->decl->n_inputs; k++)
            if (!metrics_in_block(whole->layer[l->decl->input[k].layer].decl->name, block) &&
                !l->wants_gradient[k])
                return false;
    }
    return true;
}

static size_t n_parts; /* that were checked */

static void check_part(const bound_network *whole, const char *block)
{
    const counts   in_whole = count(whole, block);
    network       *net      = NULL;
    bound_network *part;
    char           name[400];
    lm_error       err = { LM_OK, "" };
    counts         alone;

    snprintf(name, sizeof name, "%s" NETWORK_PART "%s", whole->net->path, block);
    if (network_open(name, nets_registry, NULL, &net, &err) == LM_E_SHAPE)
        return; /* it takes what is no sample of a batch */
    assert_string_equal(err.text, "");
    n_parts++;
    part  = bind(net, 2);
    alone = count(part, NULL);
    if (alone.metrics.params != in_whole.metrics.params ||
        alone.metrics.flops_forward != in_whole.metrics.flops_forward ||
        alone.metrics.other_flops_forward != in_whole.metrics.other_flops_forward ||
        alone.metrics.flops_grad_weight != in_whole.metrics.flops_grad_weight ||
        alone.metrics.layers != in_whole.metrics.layers)
        fail_msg("%s", name);
    for (size_t i = 0; wants_all(whole, block) && i < N_COUNTS; i++)
        if (alone.value[i] != in_whole.value[i])
            fail_msg("%s: count %zu", name, i);
    bound_network_free(part);
    network_free(net);
}

/* Of many blocks every seventh. */
static void check_blocks(const network *net)
{
    bound_network *whole = bind(net, 2);
    const char    *last  = "";
    size_t         n     = 0;

    for (size_t i = 0; i < net->n_layers; i++)
        if (net->layer[i].block && strcmp(net->layer[i].block, last) != 0) {
            last = net->layer[i].block;
            if (n++ % 7 == 0)
                check_part(whole, last);
        }
    bound_network_free(whole);
}

static void a_block_by_itself_counts_what_it_does_in_its_network(void **state)
{
    (void)state;
    for_each_network(check_blocks);
    assert_true(n_parts > 150);
}

/* Every layer that does something is in the catalogue once, or said to be none; and a row of its
 * words is a layer that counts as much. */
static void check_catalogue(const network *net)
{
    bound_network *whole = bind(net, 2);
    operation_list list  = { .n = 0 };
    uint64_t       told = 0, there = 0;
    lm_error       err = { LM_OK, "" };

    operations_add(&list, whole, NULL, false, &err);
    assert_string_equal(err.text, "");
    for (size_t i = 0; i < whole->n_layers; i++)
        there += !(whole->layer[i].entry->type.flags & LM_SOURCE) &&
                 whole->layer[i].n_kernels[LM_FORWARD];
    for (size_t i = 0; i < list.n; i++) {
        const net_operation *o = &list.of[i];
        net_metrics          in_whole, alone;
        network             *one;
        bound_network       *bound;

        told += o->count;
        single_bind(o->type, o->geometry, o->input, 2, LM_F32, nets_registry, &one, &bound, &err);
        assert_string_equal(err.text, "");
        metrics_of_layer(o->layer, &in_whole, &err);
        metrics_of_network(bound, NULL, &alone, &err);
        if (alone.params + o->layer->n_shared < in_whole.params ||
            alone.flops_forward != in_whole.flops_forward ||
            alone.other_flops_forward != in_whole.other_flops_forward)
            fail_msg("%s: %s %s %s", net->name, o->type, o->geometry, o->input);
        bound_network_free(bound);
        network_free(one);
    }
    assert_int_equal(told + list.n_apart, there);
    operations_free(&list);
    bound_network_free(whole);
}

static void a_catalogue_has_every_operation_once(void **state)
{
    (void)state;
    for_each_network(check_catalogue);
}

static counts count_evaluated(const char *name)
{
    const bind_options with  = { .batch = 2, .dtype = LM_F32, .evaluation = true };
    bound_network     *bound = NULL;
    network           *net   = NULL;
    counts             c;

    assert_int_equal(network_open(name, nets_registry, NULL, &net, NULL), LM_OK);
    assert_int_equal(bind_network(net, nets_registry, &with, &bound, NULL), LM_OK);
    c = count(bound, NULL);
    bound_network_free(bound);
    network_free(net);
    return c;
}

/* Auxiliary classifiers and losses do not run in evaluation mode: Inception v3 with its classifier
 * has the MACs that are published without, and no backward pass. */
static void inference_runs_what_answers_need(void **state)
{
    const counts with    = count_evaluated("inception_v3_aux"),
                 without = count_evaluated("inception_v3");

    (void)state;
    assert_int_equal(with.metrics.flops_forward, 2 * 2 * 5713216096);
    assert_int_equal(with.metrics.flops_backward, 0);
    assert_int_equal(with.metrics.params, 23834568);
    assert_memory_equal(&with, &without, sizeof with);
}

/* ---- memory of a step ---- */

static const char *const measured[] = { "alexnet",     "resnet18",      "resnet50", "mobilenet_v2",
                                        "densenet121", "squeezenet1_1", "vgg16" };

static memory_use measure_bound(const network *net, memory_options o, const bind_options *b)
{
    memory_use use;
    lm_error   err = { LM_OK, "" };
    uint64_t   sum = 0;

    memory_of_step(net, nets_registry, b, &o, &use, NULL, &err);
    assert_string_equal(err.text, "");
    for (int p = 0; p < MEMORY_N_PARTS; p++)
        sum += use.part[p];
    assert_int_equal(sum, use.peak);
    return use;
}

static memory_use measure_shipped(const network *net, memory_options o, int64_t batch)
{
    return measure_bound(net, o, &(bind_options){ .batch = batch, .dtype = LM_F32, .image = 64 });
}

static memory_use evaluate_shipped(const network *net, memory_options o, int64_t batch)
{
    return measure_bound(
        net, o,
        &(bind_options){ .batch = batch, .dtype = LM_F32, .image = 64, .evaluation = true });
}

static bool has_blocks(const network *net)
{
    bool any = false;

    for (size_t i = 0; i < net->n_layers; i++)
        any |= net->layer[i].block != NULL;
    return any;
}

static void memory_holds_what_must_be_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        network       *net    = NULL;
        memory_options o      = { .optimizer = OPTIMIZER_ADAM };
        uint64_t       before = 0;
        memory_use     a, b;

        assert_int_equal(network_open(measured[i], nets_registry, NULL, &net, NULL), LM_OK);
        for (int64_t batch = 1; batch <= 3; batch++) {
            a = measure_shipped(net, o, batch);
            /* weights, state, gradients at the update, and what is kept */
            assert_true(a.peak >= 4 * a.part[MEMORY_WEIGHTS] + a.part[MEMORY_INPUTS]);
            assert_true(a.peak >= 3 * a.part[MEMORY_WEIGHTS] + a.part[MEMORY_INPUTS] + a.kept);
            assert_true(a.peak > before);
            before = a.peak;
        }
        o.inplace = true;
        b         = measure_shipped(net, o, 3);
        assert_true(b.peak <= a.peak);
        assert_int_equal(b.kept, a.kept);
        o.inplace   = false;
        o.recompute = has_blocks(net) ? "blocks" : NULL;
        b           = measure_shipped(net, o, 3);
        assert_true(b.peak <= a.peak);
        assert_true(b.kept <= a.kept);
        b = evaluate_shipped(net, o, 3);
        assert_true(b.peak < a.peak);
        assert_int_equal(
            b.part[MEMORY_GRADIENTS] + b.part[MEMORY_OPTIMIZER] + b.part[MEMORY_BACKWARD], 0);
        network_free(net);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_network_has_its_published_counts),
        cmocka_unit_test(counts_grow_evenly_with_the_batch),
        cmocka_unit_test(layers_and_blocks_add_up_to_the_network),
        cmocka_unit_test(a_block_by_itself_counts_what_it_does_in_its_network),
        cmocka_unit_test(a_catalogue_has_every_operation_once),
        cmocka_unit_test(gradients_add_up_to_the_parameters),
        cmocka_unit_test(inference_runs_what_answers_need),
        cmocka_unit_test(what_is_written_unfolded_counts_the_same),
        cmocka_unit_test(kernels_add_up_to_the_cost_of_each_pass),
        cmocka_unit_test(memory_holds_what_must_be_there),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
