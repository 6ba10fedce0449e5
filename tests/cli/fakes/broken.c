/* Layer types that break the contract, each in one way: sound but for what is named, and two that
 * are sound. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <layermeter/plugin.h>

static lm_status same(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

static uint64_t elements(const lm_layer *layer)
{
    return lm_elements(&layer->input[0]);
}

static lm_kernel map_of(const lm_layer *layer, lm_pass pass)
{
    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_MAP,
        .pass   = pass,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.map  = { .elements = (int64_t)elements(layer), .operands = 1, .flops_per_element = 2 },
    };
}

/* 2 FLOP an element forward and backward. */
static lm_status twice(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel kernel = map_of(layer, LM_FORWARD);

    cost->pass[LM_FORWARD]    = lm_kernel_work(&kernel);
    cost->pass[LM_GRAD_INPUT] = lm_kernel_work(&kernel);
    return LM_OK;
}

static lm_status one_map(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = map_of(layer, pass);

    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

/* ---- processes --------------------------------------------------------------------------------
 */

static lm_status crash_in_infer(const lm_layer *layer, lm_tensor *output)
{
    if (layer->input[0].rank == 3)
        raise(SIGSEGV);
    return same(layer, output);
}

static lm_status abort_in_lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    if (pass == LM_GRAD_INPUT)
        abort();
    return one_map(layer, pass, sink);
}

static lm_status exit_in_cost(const lm_layer *layer, lm_cost *cost)
{
    (void)layer;
    (void)cost;
    _exit(3);
}

/* All is well for one who gets a gigabyte. */
static lm_status hungry_infer(const lm_layer *layer, lm_tensor *output)
{
    void *memory =
        mmap(NULL, (size_t)1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        abort();
    munmap(memory, (size_t)1 << 30);
    return same(layer, output);
}

static lm_status print_in_infer(const lm_layer *layer, lm_tensor *output)
{
    puts("hello");
    return same(layer, output);
}

/* ---- refusals ---------------------------------------------------------------------------------
 */

static lm_status refuse_silently(const lm_layer *layer, lm_tensor *output)
{
    return layer->input[0].rank == 2 ? LM_E_SHAPE : same(layer, output);
}

static lm_status refuse_oddly(const lm_layer *layer, lm_tensor *output)
{
    return layer->input[0].rank == 2 ? 7 : same(layer, output);
}

static lm_status refuse_in_words_only(const lm_layer *layer, lm_tensor *output)
{
    if (layer->input[0].rank == 2)
        (void)lm_fail(layer, LM_E_SHAPE, "rank 2 is not for me");
    return same(layer, output);
}

static lm_status refuse_always(const lm_layer *layer, lm_tensor *output)
{
    (void)output;
    return lm_fail(layer, LM_E_SHAPE, "not today");
}

/* ---- purity -----------------------------------------------------------------------------------
 */

static lm_status count_calls(const lm_layer *layer, lm_cost *cost)
{
    static uint64_t calls;

    twice(layer, cost);
    cost->pass[LM_FORWARD].flops += ++calls % 2;
    return LM_OK;
}

static uint64_t remembered;

static lm_status remember(const lm_layer *layer, lm_tensor *output)
{
    remembered = elements(layer);
    return same(layer, output);
}

static lm_status recall(const lm_layer *layer, lm_cost *cost)
{
    twice(layer, cost);
    cost->saved_bytes = remembered;
    return LM_OK;
}

static lm_status leave_unset(const lm_layer *layer, lm_tensor *output)
{
    output[0].dtype    = layer->input[0].dtype;
    output[0].rank     = layer->input[0].rank;
    output[0].reserved = 0;
    memcpy(output[0].dim, layer->input[0].dim, layer->input[0].rank * sizeof output[0].dim[0]);
    return LM_OK;
}

static lm_status read_beyond(const lm_layer *layer, lm_cost *cost)
{
    twice(layer, cost);
    cost->saved_bytes = (uint64_t)layer->input[layer->n_inputs].dim[0];
    return LM_OK;
}

static lm_status ask_the_name(const lm_layer *layer, lm_cost *cost)
{
    twice(layer, cost);
    cost->saved_bytes = strlen(layer->name);
    return LM_OK;
}

static lm_status write_inputs(const lm_layer *layer, lm_tensor *output)
{
    ((lm_tensor *)(uintptr_t)layer->input)->reserved = 1;
    return same(layer, output);
}

static lm_status rename_itself(const lm_layer *layer, lm_cost *cost)
{
    ((lm_layer_type *)(uintptr_t)layer->type)->doc = "something else";
    return twice(layer, cost);
}

/* ---- numbers ----------------------------------------------------------------------------------
 */

static lm_status saturate(const lm_layer *layer, lm_cost *cost)
{
    twice(layer, cost);
    cost->pass[LM_FORWARD].flops = UINT64_MAX;
    return LM_OK;
}

static lm_status overflow(const lm_layer *layer, lm_cost *cost)
{
    cost->pass[LM_FORWARD].flops = elements(layer) * 1000; /* not lm_mul() */
    return LM_OK;
}

static lm_status square(const lm_layer *layer, lm_cost *cost)
{
    cost->pass[LM_FORWARD].flops = lm_mul(elements(layer), elements(layer));
    return LM_OK;
}

static lm_status one_number(const lm_layer *layer, lm_tensor *output)
{
    output[0] = (lm_tensor){ .dtype = layer->input[0].dtype };
    return LM_OK;
}

static lm_status shrink(const lm_layer *layer, lm_cost *cost)
{
    twice(layer, cost);
    cost->pass[LM_GRAD_INPUT].read_bytes = 1000000 / elements(layer);
    return LM_OK;
}

static lm_status thrice(const lm_layer *layer, lm_cost *cost)
{
    twice(layer, cost);
    cost->pass[LM_GRAD_INPUT].flops = lm_mul(3, elements(layer));
    return LM_OK;
}

static lm_status more_bytes(const lm_layer *layer, lm_cost *cost)
{
    twice(layer, cost);
    cost->pass[LM_FORWARD].read_bytes = lm_add(cost->pass[LM_FORWARD].read_bytes, 1);
    return LM_OK;
}

static lm_status gradient_of_nothing(const lm_layer *layer, lm_cost *cost)
{
    twice(layer, cost);
    cost->pass[LM_GRAD_WEIGHT].flops = elements(layer);
    return LM_OK;
}

static lm_status no_work(const lm_layer *layer, lm_cost *cost)
{
    (void)layer;
    (void)cost;
    return LM_OK;
}

/* ---- what is emitted --------------------------------------------------------------------------
 */

static lm_status other_pass(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    return one_map(layer, pass == LM_GRAD_INPUT ? LM_FORWARD : pass, sink);
}

static lm_status empty_kernel(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    lm_kernel kernel = map_of(layer, pass);

    kernel.u.map.elements = 0;
    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

static lm_status untyped_kernel(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    lm_kernel kernel = map_of(layer, pass);

    kernel.dtype = 0;
    if (pass != LM_GRAD_WEIGHT)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

static lm_status emit(lm_sink *sink, const char *role, int64_t size)
{
    const lm_weight w = { .size   = sizeof w,
                          .role   = role,
                          .tensor = { .dtype = LM_F32, .rank = 1, .dim = { size } } };

    sink->weight(sink, &w);
    return LM_OK;
}

static lm_status twin_weights(const lm_layer *layer, lm_sink *sink)
{
    emit(sink, "weight", layer->input[0].dim[0]);
    return emit(sink, "weight", 1);
}

static lm_status empty_weight(const lm_layer *layer, lm_sink *sink)
{
    (void)layer;
    return emit(sink, "weight", 0);
}

static lm_status nameless_weight(const lm_layer *layer, lm_sink *sink)
{
    (void)layer;
    return emit(sink, NULL, 1);
}

#define SOUND \
    .size = sizeof(lm_layer_type), .doc = "broken", .min_inputs = 1, .max_inputs = 1, .n_outputs = 1
#define BREAKS(variable, infer_, cost_, weights_, lower_)                                  \
    static lm_layer_type variable = { SOUND,         .name = #variable,   .infer = infer_, \
                                      .cost = cost_, .weights = weights_, .lower = lower_ }

BREAKS(sound, same, twice, NULL, one_map);
BREAKS(aborts, same, twice, NULL, abort_in_lower);
BREAKS(crashes, crash_in_infer, twice, NULL, one_map);
BREAKS(exits, same, exit_in_cost, NULL, one_map);
BREAKS(hungry, hungry_infer, twice, NULL, one_map);
BREAKS(prints, print_in_infer, twice, NULL, one_map);
BREAKS(silent, refuse_silently, twice, NULL, one_map);
BREAKS(odd_status, refuse_oddly, twice, NULL, one_map);
BREAKS(only_words, refuse_in_words_only, twice, NULL, one_map);
BREAKS(never, refuse_always, twice, NULL, one_map);
BREAKS(counts_calls, same, count_calls, NULL, NULL);
BREAKS(remembers, remember, recall, NULL, one_map);
BREAKS(unset_output, leave_unset, twice, NULL, one_map);
BREAKS(reads_beyond, same, read_beyond, NULL, one_map);
BREAKS(asks_name, same, ask_the_name, NULL, one_map);
BREAKS(writes_inputs, write_inputs, twice, NULL, one_map);
BREAKS(renames, same, rename_itself, NULL, one_map);
BREAKS(saturates, same, saturate, NULL, NULL);
BREAKS(overflows, same, overflow, NULL, NULL);
BREAKS(squares, same, square, NULL, NULL);
BREAKS(sums_squares, one_number, square, NULL, NULL);
BREAKS(shrinks, same, shrink, NULL, NULL);
BREAKS(disagrees, same, thrice, NULL, one_map);
BREAKS(moves_less, same, more_bytes, NULL, one_map);
BREAKS(untrained, same, gradient_of_nothing, NULL, NULL);
BREAKS(other_passes, same, twice, NULL, other_pass);
BREAKS(empty_kernels, same, twice, NULL, empty_kernel);
BREAKS(untyped_kernels, same, twice, NULL, untyped_kernel);
BREAKS(twins, same, twice, twin_weights, one_map);
BREAKS(empty_weights, same, twice, empty_weight, one_map);
BREAKS(nameless, same, twice, nameless_weight, one_map);

static const lm_layer_type busy_view  = { SOUND,         .name = "busy_view", .flags = LM_VIEW,
                                          .infer = same, .cost = twice,       .lower = one_map };
static const lm_layer_type fixed_part = { SOUND, .name = "fixed_part", .flags = LM_FIXED_PART,
                                          .infer = same, .cost = square };
static const lm_layer_type shapeless  = { SOUND, .name = "shapeless", .flags = LM_SOURCE,
                                          .infer = same, .cost = no_work };

static const lm_layer_type *const types[] = {
    &sound,        &aborts,       &crashes,       &exits,           &hungry,       &prints,
    &silent,       &odd_status,   &only_words,    &never,           &counts_calls, &remembers,
    &unset_output, &reads_beyond, &asks_name,     &writes_inputs,   &renames,      &saturates,
    &overflows,    &squares,      &sums_squares,  &shrinks,         &disagrees,    &moves_less,
    &untrained,    &other_passes, &empty_kernels, &untyped_kernels, &twins,        &empty_weights,
    &nameless,     &busy_view,    &fixed_part,    &shapeless,
};

LM_PLUGIN = {
    LM_PLUGIN_HEAD, LM_TYPES(types), .name = "broken", .version = "1.2.3", .license = "Apache-2.0",
};
