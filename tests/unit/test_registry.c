/* Layer types from descriptors, without any shared object. */
#include "check.h"

#include <string.h>

#include "layers/registry.h"
#include "layers/schema.h"

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    (void)layer;
    cost->pass[LM_FORWARD].flops = 1;
    return LM_OK;
}

static lm_layer_type sound(const char *name)
{
    return (lm_layer_type){ .size       = sizeof(lm_layer_type),
                            .name       = name,
                            .max_inputs = 1,
                            .n_outputs  = 1,
                            .infer      = infer,
                            .cost       = cost };
}

static lm_plugin holding(const lm_layer_type *const *types, uint32_t n)
{
    return (lm_plugin){ .size      = sizeof(lm_plugin),
                        .abi_minor = LM_ABI_MINOR,
                        .n_types   = n,
                        .types     = types,
                        .name      = "test",
                        .version   = "1",
                        .license   = "none" };
}

static lm_status add_one(registry *reg, const lm_layer_type *type, int rank, lm_error *err)
{
    const lm_plugin plugin = holding(&type, 1);

    return registry_add(reg, &plugin, type->name && *type->name ? type->name : "here", rank, err);
}

static int new_registry(void **state)
{
    return registry_new((registry **)state, NULL);
}

static int free_registry(void **state)
{
    registry_free(*state);
    return 0;
}

static void types_stand_in_name_order(void **state)
{
    static const char *const names[] = { "m", "b", "z", "a", "y", "c" };
    lm_layer_type            type[6];
    const lm_layer_type     *types[6] = { NULL };
    lm_plugin                plugin   = holding(types, 6);

    for (size_t i = 0; i < 6; i++) {
        type[i]  = sound(names[i]);
        types[i] = &type[i];
    }
    assert_int_equal(registry_add(*state, &plugin, "here", 0, NULL), LM_OK);
    assert_int_equal(registry_count(*state), 6);
    for (size_t i = 0; i < 6; i++) {
        const registry_entry *entry = registry_at(*state, i);

        assert_string_equal(entry->type.name,
                            ((const char *const[]){ "a", "b", "c", "m", "y", "z" })[i]);
        assert_ptr_equal(registry_find(*state, entry->type.name), entry);
    }
    assert_null(registry_find(*state, "aa"));
    assert_null(registry_find(*state, ""));
}

static void a_hundred_types_find_room(void **state)
{
    static char          names[100][8];
    static lm_layer_type type[100];
    const lm_layer_type *types[100] = { NULL };
    lm_plugin            plugin     = holding(types, 100);

    for (size_t i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "t%zu", i * 37 % 100);
        type[i]  = sound(names[i]);
        types[i] = &type[i];
    }
    assert_int_equal(registry_add(*state, &plugin, "here", 0, NULL), LM_OK);
    assert_int_equal(registry_count(*state), 100);
    for (size_t i = 0; i < 100; i++)
        assert_ptr_equal(registry_find(*state, names[i])->own, &type[i]);
}

/* What is wrong with a type, and the text. */
static void malformed_types_are_refused_by_their_exact_reason(void **state)
{
    static const lm_param good[]     = { { .name = "a", .kind = LM_INT } };
    static const lm_param twice[]    = { { .name = "a", .kind = LM_INT },
                                         { .name = "a", .kind = LM_INT } };
    static const lm_param unnamed[]  = { { .name = "A", .kind = LM_INT } };
    static const lm_param reserved[] = { { .name = "inputs", .kind = LM_INT } };
    static const lm_param unknown[]  = { { .name = "a", .kind = 99 } };
    static const lm_param choice[]   = { { .name = "a", .kind = LM_ENUM } };
    static const lm_param many[]    = { { .name = "a", .kind = LM_INT, .count = LM_MAX_RANK + 1 } };
    static const lm_param range[]   = { { .name = "a", .kind = LM_INT, .min = 2, .max = 1 } };
    static const lm_param outside[] = {
        { .name = "a", .kind = LM_INT, .min = 1, .max = 3, .fallback = "4" }
    };
    static const lm_param neither[] = {
        { .name = "a", .kind = LM_ENUM, .choices = "same|valid", .fallback = "both" }
    };
    static const struct {
        const char     *name, *text;
        const lm_param *params;
        size_t          n_params, param_size;
        uint32_t        n_outputs, min_inputs, max_inputs;
        lm_status       code;
    } cases[] = {
        { "Conv", "Conv: type name 'Conv': expected [a-z][a-z0-9_]*, at most 49", NULL, 0, 0, 1, 0,
          1, LM_E_ARG },
        { "conv-2d", "conv-2d: type name 'conv-2d': expected [a-z][a-z0-9_]*, at most 49", NULL, 0,
          0, 1, 0, 1, LM_E_ARG },
        { "", "here: type name '': expected [a-z][a-z0-9_]*, at most 49", NULL, 0, 0, 1, 0, 1,
          LM_E_ARG },
        { NULL, "here: type name '(null)': expected [a-z][a-z0-9_]*, at most 49", NULL, 0, 0, 1, 0,
          1, LM_E_ARG },
        { "x", "x: type 'x': bad number of inputs or outputs", NULL, 0, 0, 0, 0, 1, LM_E_ARG },
        { "x", "x: type 'x': bad number of inputs or outputs", NULL, 0, 0, LM_MAX_RANK + 1, 0, 1,
          LM_E_ARG },
        { "x", "x: type 'x': bad number of inputs or outputs", NULL, 0, 0, 1, 3, 2, LM_E_ARG },
        { "x", "x: type 'x': parameter records are shorter than in ABI 1.0", good, 1,
          offsetof(lm_param, unit) - 8, 1, 0, 1, LM_E_ABI },
        { "x", "x: type 'x': parameter records are shorter than in ABI 1.0", NULL, 1,
          sizeof(lm_param), 1, 0, 1, LM_E_ABI },
        { "x", "x: type 'x': two parameters 'a'", twice, 2, sizeof(lm_param), 1, 0, 1, LM_E_ARG },
        { "x", "x: type 'x': parameter 0 has no proper name", unnamed, 1, sizeof(lm_param), 1, 0, 1,
          LM_E_ARG },
        { "x", "x: type 'x': parameter name 'inputs' is reserved", reserved, 1, sizeof(lm_param), 1,
          0, 1, LM_E_ARG },
        { "x", "x: type 'x': parameter 'a' has unknown kind 99", unknown, 1, sizeof(lm_param), 1, 0,
          1, LM_E_ABI },
        { "x", "x: type 'x': parameter 'a': bad count, choices or range", choice, 1,
          sizeof(lm_param), 1, 0, 1, LM_E_ARG },
        { "x", "x: type 'x': parameter 'a': bad count, choices or range", many, 1, sizeof(lm_param),
          1, 0, 1, LM_E_ARG },
        { "x", "x: type 'x': parameter 'a': bad count, choices or range", range, 1,
          sizeof(lm_param), 1, 0, 1, LM_E_ARG },
        { "x", "x: type 'x': default: a: 4 is outside 1 .. 3", outside, 1, sizeof(lm_param), 1, 0,
          1, LM_E_ARG },
        { "x", "x: type 'x': default: a: expected one of same|valid, found 'both'", neither, 1,
          sizeof(lm_param), 1, 0, 1, LM_E_ARG },
    };
    lm_error err;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lm_layer_type type = sound(cases[i].name);

        type.params     = cases[i].params;
        type.n_params   = (uint32_t)cases[i].n_params;
        type.param_size = cases[i].param_size;
        type.n_outputs  = cases[i].n_outputs;
        type.min_inputs = cases[i].min_inputs;
        type.max_inputs = cases[i].max_inputs;
        assert_int_equal(add_one(*state, &type, 0, &err), cases[i].code);
        assert_error(err, cases[i].code, "%s", cases[i].text);
    }
    assert_int_equal(registry_count(*state), 0);
}

static void one_bad_type_keeps_all_others_out(void **state)
{
    const lm_layer_type  a = sound("a"), c = sound("c");
    lm_layer_type        b       = sound("b");
    const lm_layer_type *types[] = { &a, &b, &c };
    const lm_plugin      plugin  = holding(types, 3);
    lm_error             err;

    b.cost = NULL;
    assert_int_equal(registry_add(*state, &plugin, "five.so", 0, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "five.so: type 'b': infer and cost are required");
    assert_int_equal(registry_count(*state), 0);
    types[1] = NULL;
    assert_int_equal(registry_add(*state, &plugin, "five.so", 0, &err), LM_E_ABI);
    assert_error(err, LM_E_ABI, "five.so: a layer type's descriptor is shorter than in ABI 1.0");
    types[1] = &a;
    assert_int_equal(registry_add(*state, &plugin, "five.so", 0, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "five.so: type 'a' is in it twice");
    assert_int_equal(registry_count(*state), 0);
}

static void a_clash_keeps_all_others_out(void **state)
{
    const lm_layer_type        a = sound("a"), b = sound("b");
    const lm_layer_type *const types[] = { &b, &a };
    const lm_plugin            plugin  = holding(types, 2);
    lm_error                   err;

    assert_int_equal(add_one(*state, &a, 1, &err), LM_OK);
    assert_int_equal(registry_add(*state, &plugin, "late.so", 1, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "late.so: type 'a' comes from a already");
    assert_int_equal(registry_count(*state), 1);
}

static void the_lower_rank_wins_whichever_comes_first(void **state)
{
    const lm_layer_type near = sound("a"), far = sound("a");

    assert_int_equal(add_one(*state, &far, 2, NULL), LM_OK);
    assert_int_equal(add_one(*state, &near, 1, NULL), LM_OK);
    assert_ptr_equal(registry_find(*state, "a")->own, &near);
    assert_int_equal(add_one(*state, &far, 3, NULL), LM_OK);
    assert_ptr_equal(registry_find(*state, "a")->own, &near);
    assert_int_equal(registry_count(*state), 1);
}

static void roots_that_say_nothing_are_refused(void **state)
{
    const lm_layer_type        a       = sound("a");
    const lm_layer_type *const types[] = { &a };
    lm_plugin                  plugin  = holding(types, 0);
    lm_error                   err;

    assert_int_equal(registry_add(*state, &plugin, "x.so", 0, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "x.so: holds no layer types");
    plugin = holding(NULL, 1);
    assert_int_equal(registry_add(*state, &plugin, "x.so", 0, &err), LM_E_ARG);
    assert_error(err, LM_E_ARG, "x.so: holds no layer types");
    plugin           = holding(types, 1);
    plugin.abi_minor = LM_ABI_MINOR + 1;
    assert_int_equal(registry_add(*state, &plugin, "new.so", 0, &err), LM_E_ABI);
    assert_error(err, LM_E_ABI, "new.so: built for plugin ABI 1.4, this host offers 1.3");
}

/* A longer descriptor is one with fields this host does not know; the plugin gets its own one back.
 */
static void longer_records_are_cut_to_what_the_host_knows(void **state)
{
    static const struct {
        lm_param param;
        double   more[2];
    } params[] = {
        { { .name = "first", .kind = LM_INT, .fallback = "1" }, { -1, -1 } },
        { { .name = "second", .kind = LM_REAL, .fallback = "2.5" }, { -1, -1 } },
    };
    struct {
        lm_layer_type type;
        char          more[64];
    } longer = { .type = sound("longer") };
    const registry_entry *entry;

    memset(longer.more, 0xA5, sizeof longer.more);
    longer.type.size       = sizeof longer;
    longer.type.params     = &params[0].param;
    longer.type.param_size = sizeof params[0];
    longer.type.n_params   = 2;
    assert_int_equal(add_one(*state, &longer.type, 0, NULL), LM_OK);
    entry = registry_find(*state, "longer");
    assert_int_equal(entry->type.size, sizeof(lm_layer_type));
    assert_ptr_equal(entry->own, &longer.type);
    assert_int_equal(schema_find(&entry->type, "second"), 1);
    assert_string_equal(schema_param(&entry->type, 1).fallback, "2.5");
    assert_int_equal(schema_find(&entry->type, "third"), 2);
}

static void missing_texts_become_empty_ones(void **state)
{
    const lm_layer_type        a       = sound("a");
    const lm_layer_type *const types[] = { &a };
    lm_plugin                  plugin  = holding(types, 1);
    const registry_entry      *entry;

    plugin.name = plugin.version = plugin.license = NULL;
    assert_int_equal(registry_add(*state, &plugin, "x", 0, NULL), LM_OK);
    entry = registry_find(*state, "a");
    assert_string_equal(entry->type.doc, "");
    assert_string_equal(entry->plugin_name, "");
    assert_string_equal(entry->plugin_version, "");
    assert_string_equal(entry->plugin_license, "");
}

static void suggestions_are_near_or_none(void **state)
{
    static const lm_layer_type known[] = {
        { .size      = sizeof(lm_layer_type),
          .name      = "batch_norm",
          .n_outputs = 1,
          .infer     = infer,
          .cost      = cost },
        { .size      = sizeof(lm_layer_type),
          .name      = "conv2d",
          .n_outputs = 1,
          .infer     = infer,
          .cost      = cost },
        { .size      = sizeof(lm_layer_type),
          .name      = "relu",
          .n_outputs = 1,
          .infer     = infer,
          .cost      = cost },
    };
    static const struct {
        const char *typed, *near;
    } cases[] = {
        { "conv2", "conv2d" }, { "covn2d", "conv2d" },
        { "conv", "conv2d" },  { "batchnorm", "batch_norm" },
        { "ReLU", "relu" },    { "rleu", "relu" },
        { "xyz", NULL },       { "lstm", NULL },
        { "co", NULL },
    };

    for (size_t i = 0; i < 3; i++)
        assert_int_equal(add_one(*state, &known[i], 0, NULL), LM_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *near = registry_suggest(*state, cases[i].typed);

        if (cases[i].near) {
            assert_non_null(near);
            assert_string_equal(near, cases[i].near);
        } else {
            assert_null(near);
        }
    }
}

#define test(name) cmocka_unit_test_setup_teardown(name, new_registry, free_registry)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(types_stand_in_name_order),
        test(a_hundred_types_find_room),
        test(malformed_types_are_refused_by_their_exact_reason),
        test(one_bad_type_keeps_all_others_out),
        test(a_clash_keeps_all_others_out),
        test(the_lower_rank_wins_whichever_comes_first),
        test(roots_that_say_nothing_are_refused),
        test(longer_records_are_cut_to_what_the_host_knows),
        test(missing_texts_become_empty_ones),
        test(suggestions_are_near_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
