/* The contract, executed: what is made up, and that what is told can be reproduced. */
#include "nets.h"

#include <string.h>

#include "base/text.h"
#include "layers/check.h"
#include "layers/check_case.h"
#include "layers/check_rules.h"
#include "layers/schema.h"

static check_report report;

static const registry_entry *entry_of(const char *type)
{
    const registry_entry *entry = registry_find(nets_registry, type);

    assert_non_null(entry);
    return entry;
}

static void every_value_made_up_parses_and_lies_in_its_range(void **state)
{
    static const lm_param params[] = {
        { .name = "int", .kind = LM_INT, .min = 3, .max = 5 },
        { .name = "free", .kind = LM_INT },
        { .name = "pair", .kind = LM_INT, .count = 2, .min = -1, .max = 1e6, .fallback = "0" },
        { .name = "real", .kind = LM_REAL, .min = 0.25, .max = 0.75 },
        { .name = "reals", .kind = LM_REAL, .count = 3, .fallback = "1.5" },
        { .name = "flag", .kind = LM_BOOL },
        { .name = "choice", .kind = LM_ENUM, .choices = "a|bc|def" },
        { .name = "text", .kind = LM_TEXT, .fallback = "" },
        { .name = "shape", .kind = LM_SHAPE, .min = 2, .max = 8 },
        { .name = "list", .kind = LM_LIST, .min = -4, .max = 3 },
    };
    const lm_layer_type type = {
        .name = "made_up", LM_PARAMS(params), .min_inputs = 1, .max_inputs = 3, .n_outputs = 1
    };
    lm_value             none[] = { { 0 },
                                    { 0 },
                                    { .kind = LM_INT },
                                    { 0 },
                                    { .kind = LM_REAL },
                                    { 0 },
                                    { 0 },
                                    { .kind = LM_TEXT, .u.text = "" },
                                    { 0 },
                                    { 0 } };
    const registry_entry entry  = { .type = type, .fallback = none };
    case_random          random = { 42 };
    unsigned             inputs = 0, ranks = 0;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        check_case c;
        lm_error   err = { LM_OK, "" };

        case_generate(&type, NULL, 0, &random, &c);
        if (case_parse(&entry, &c, &err))
            fail_msg("%s", err.text);
        assert_in_range(c.n_inputs, 1, 3);
        inputs |= 1u << c.n_inputs;
        for (uint32_t t = 0; t < c.n_inputs; t++) {
            assert_in_range(c.input[t].rank, 1, LM_MAX_RANK);
            ranks |= 1u << c.input[t].rank;
            for (uint32_t d = 0; d < LM_MAX_RANK; d++)
                assert_true(d < c.input[t].rank ? c.input[t].dim[d] >= 1 : !c.input[t].dim[d]);
        }
    }
    assert_int_equal(inputs, 0xE);
    assert_int_equal(ranks & 0x3E, 0x3E);
}

static void the_same_seed_makes_up_the_same_uses(void **state)
{
    const lm_layer_type *type = &entry_of("conv2d")->type;
    case_random          a = { 7 }, b = { 7 }, c = { 8 };
    bool                 differs = false;

    (void)state;
    for (int i = 0; i < 100; i++) {
        check_case one, same, other;

        case_generate(type, NULL, 0, &a, &one);
        case_generate(type, NULL, 0, &b, &same);
        case_generate(type, NULL, 0, &c, &other);
        assert_memory_equal(&one, &same, sizeof one);
        differs |= memcmp(&one, &other, sizeof one) != 0;
    }
    assert_true(differs);
}

static void a_use_is_printed_as_a_model_file(void **state)
{
    const registry_entry *entry = entry_of("concat");
    check_case            c     = { .dtype    = LM_F16,
                                    .n_inputs = 2,
                                    .input    = { { .dtype = LM_F16, .rank = 3, .dim = { 2, 8, 4 } },
                                                  { .dtype = LM_F16, .rank = 3, .dim = { 3, 8, 4 } } } };
    char                  text[2048];

    (void)state;
    strcpy(c.text[0], "0");
    case_print(&entry->type, &c, text, sizeof text);
    assert_string_equal(text, "; layermeter show FILE --batch 2 --dtype f16\n"
                              "[network]\nname = case\n\n"
                              "[in0]\ntype = input\nshape = 8x4\n\n"
                              "[in1]\ntype = constant\nshape = 3x8x4\n\n"
                              "[layer]\ntype = concat\ninputs = in0, in1\naxis = 0\n");
}

/* A model file made from a use, bound as a network, has the outputs that the type gave. */
static void what_is_printed_binds_to_the_same_shapes(void **state)
{
    case_random random = { 1 };
    size_t      n      = 0;

    (void)state;
    for (size_t i = 0; i < registry_count(nets_registry); i++) {
        const registry_entry *entry = registry_at(nets_registry, i);

        for (int tries = 0; tries < 20; tries++) {
            static const check_manner plain = { 0, false, NULL };
            check_case                c;
            check_answer              answer;
            char                      text[2048];

            case_generate(&entry->type, NULL, 0, &random, &c);
            assert_int_equal(case_parse(entry, &c, NULL), LM_OK);
            assert_true(check_ask(entry, &c, &plain, &report, &answer));
            if (answer.legal) {
                bound_text         made;
                const bound_layer *layer;

                case_print(&entry->type, &c, text, sizeof text);
                made = nets_bind_with(
                    text,
                    &(bind_options){ .batch = c.n_inputs && c.input[0].rank ? c.input[0].dim[0] : 1,
                                     .dtype = c.dtype });
                if (made.err.text[0])
                    print_error("%s", text);
                layer = nets_layer(&made, "layer");
                assert_memory_equal(layer->output, answer.output,
                                    entry->type.n_outputs * sizeof *layer->output);
                nets_free(&made);
                n++;
            }
            check_answer_free(&answer);
        }
    }
    assert_true(n > registry_count(nets_registry) * 5);
}

static void a_sound_type_is_exercised_as_often_as_asked(void **state)
{
    const check_options options = { .seed = 1, .cases = 50 };

    (void)state;
    check_type(entry_of("conv2d"), &options, &report);
    assert_string_equal(report.violation, "");
    assert_string_equal(report.step, "");
    assert_string_equal(report.type, "conv2d");
    assert_true(report.finished);
    assert_int_equal(report.legal, 50);
    assert_true(report.refused > 0);
    assert_int_equal(report.scaled, 50);
}

/* Parts of layers, by types that split against the rules. */
static lm_status says_nothing(const lm_layer *layer, lm_split *s)
{
    (void)layer;
    (void)s;
    return LM_E_SHAPE;
}

static lm_status changes_a_kind(const lm_layer *layer, lm_split *s)
{
    (void)layer;
    s->param[0].kind = LM_TEXT;
    return LM_OK;
}

static void splits_are_held_to_the_contract(void **state)
{
    static const struct {
        lm_status (*split)(const lm_layer *layer, lm_split *s);
        const char *violation;
    } lies[] = {
        { says_nothing, "split(1): refuses (status -2) without saying why: lm_fail()" },
        { changes_a_kind, "split(1): changes the kind of parameter 0" },
    };

    const check_options options = { .seed = 1, .cases = 5 };

    (void)state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        registry_entry liar = *entry_of("linear");

        liar.type.split = lies[i].split;
        check_type(&liar, &options, &report);
        assert_string_equal(report.violation, lies[i].violation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_made_up_parses_and_lies_in_its_range),
        cmocka_unit_test(the_same_seed_makes_up_the_same_uses),
        cmocka_unit_test(a_use_is_printed_as_a_model_file),
        cmocka_unit_test(what_is_printed_binds_to_the_same_shapes),
        cmocka_unit_test(a_sound_type_is_exercised_as_often_as_asked),
        cmocka_unit_test(splits_are_held_to_the_contract),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
