/* Networks made by calls, and networks as the files that describe them. */
#include "check.h"
#include "nets.h"

#include <string.h>

#include "network/build.h"
#include "network/metrics.h"
#include "network/write.h"

static size_t add_input(net_builder *b, const char *shape)
{
    const size_t x = build_layer(b, "x", "input");

    build_key(b, x, "shape", "%s", shape);
    return x;
}

static size_t add_after(net_builder *b, const char *name, const char *type, size_t from)
{
    const size_t at = build_layer(b, name, type);

    build_input(b, at, (net_edge){ from, 0 });
    return at;
}

static void names_become_what_a_section_can_hold_and_stay_apart(void **state)
{
    static const char *const cases[][2] = {
        { "layer1.0.conv2", "layer1.0.conv2" },
        { "/layer1//layer1.0/conv1/", "layer1.layer1.0.conv1" },
        { "a, b:$c", "a__b__c" },
        { "a.0..5", "a.0.5" },
        { "", "_" },
        { "...", "__2" },
        { "network", "network_" },
        { "none", "none_" },
        { "twin", "twin" },
        { "twin", "twin_2" },
        { "twin_3", "twin_3" },
        { "twin", "twin_4" },
    };
    network     *net;
    net_builder *b = build_new("n.other", "n");
    char         longest[300];
    size_t       at = add_input(b, "3x8x8");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        at = add_after(b, cases[i][0], "relu", at);
    memset(longest, 'n', sizeof longest);
    longest[299] = '\0';
    at           = add_after(b, longest, "relu", at);
    assert_int_equal(build_finish(b, &net, NULL), LM_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(net->layer[i + 1].name, cases[i][1]);
    assert_true(strlen(net->layer[at].name) < 192);
    network_free(net);
}

static void layers_may_come_in_any_order_but_not_in_a_circle(void **state)
{
    network     *net;
    lm_error     err;
    net_builder *b = build_new("n.other", "n");
    const size_t r = build_layer(b, "r", "relu");

    (void)state;
    build_input(b, r, (net_edge){ 1, 0 });
    add_input(b, "3x8x8");
    assert_int_equal(build_finish(b, &net, &err), LM_OK);
    assert_string_equal(net->layer[0].name, "x");
    assert_string_equal(net->layer[1].name, "r");
    assert_int_equal(net->layer[1].input[0].layer, 0);
    network_free(net);

    b = build_new("n.other", "n");
    build_layer(b, "p", "relu");
    build_layer(b, "q", "relu");
    build_input(b, 0, (net_edge){ 1, 0 });
    build_input(b, 1, (net_edge){ 0, 0 });
    assert_int_equal(build_finish(b, &net, &err), LM_E_SYNTAX);
    assert_error(err, LM_E_SYNTAX, "n.other: layer 'p' is its own input, through a cycle");
}

static const char written[] = "; From elsewhere\n"
                              "\n"
                              "[network]\n"
                              "name   = n\n"
                              "note   = one thing; and another\n"
                              "output = left, head\n"
                              "\n"
                              "[x]\n"
                              "type  = input\n"
                              "shape = 3x8x8\n"
                              "\n"
                              "[conv]\n"
                              "type    = conv2d\n"
                              "filters = 4\n"
                              "kernel  = 3\n"
                              "\n"
                              "[left]\n"
                              "type = relu\n"
                              "\n"
                              "[right]\n"
                              "type       = relu\n"
                              "inputs     = conv\n"
                              "functional = yes\n"
                              "\n"
                              "[head]\n"
                              "type   = concat\n"
                              "inputs = right, conv\n";

static network *built(void)
{
    net_builder *b = build_new("n.other", "n");
    network     *net;
    const size_t x = add_input(b, "3x8x8"), c = add_after(b, "conv", "conv2d", x);
    size_t       right;

    build_key(b, c, "filters", "%d", 4);
    build_key(b, c, "kernel", "3");
    add_after(b, "left", "relu", c);
    right = add_after(b, "right", "relu", c);
    build_input(b, add_after(b, "head", "concat", right), (net_edge){ c, 0 });
    build_note(b, "one %s", "thing");
    build_note(b, "and another");
    assert_int_equal(build_finish(b, &net, NULL), LM_OK);
    for (size_t i = 0; i < net->n_layers; i++)
        if (!strcmp(net->layer[i].name, "right"))
            net->layer[i].counted = NET_COUNTED_NO;
    return net;
}

static char *text_of(const network *net)
{
    char  *text = NULL;
    size_t n    = 0;
    FILE  *out  = open_memstream(&text, &n);

    assert_int_equal(network_write(net, "From elsewhere", out, NULL), LM_OK);
    fclose(out);
    return text;
}

static net_metrics counts_of(const network *net)
{
    bound_network *bound = NULL;
    net_metrics    m;
    lm_error       err = { LM_OK, "" };

    bind_network(net, nets_registry, &(bind_options){ .batch = 2, .dtype = LM_F32 }, &bound, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(metrics_of_network(bound, NULL, &m, NULL), LM_OK);
    bound_network_free(bound);
    return m;
}

static void a_network_is_written_as_one_would_write_it(void **state)
{
    network *net  = built();
    char    *text = text_of(net);

    (void)state;
    assert_string_equal(text, written);
    free(text);
    network_free(net);
}

static void what_was_written_reads_back_with_the_same_counts(void **state)
{
    network          *net = built(), *again;
    const net_metrics m   = counts_of(net);
    net_metrics       n;

    (void)state;
    assert_int_equal(network_load(folder_file("n.ini", written), NULL, &again, NULL), LM_OK);
    assert_string_equal(again->note, net->note);
    n = counts_of(again);
    assert_memory_equal(&m, &n, sizeof m);
    network_free(again);
    network_free(net);
}

/* A concat of a dense block: its inputs take many lines. */
static void long_lists_of_inputs_go_over_several_lines(void **state)
{
    net_builder *b = build_new("n.other", "n");
    network     *net, *again;
    size_t       relu[120], c;
    char        *text;

    (void)state;
    for (int i = 0; i < 120; i++) {
        char name[160];

        snprintf(name, sizeof name, "features.%0*d", i, i);
        relu[i] = i ? add_after(b, name, "relu", relu[i - 1]) : add_input(b, "3x8x8");
    }
    c = build_layer(b, "all", "concat");
    for (int i = 0; i < 120; i++)
        build_input(b, c, (net_edge){ relu[i], 0 });
    assert_int_equal(build_finish(b, &net, NULL), LM_OK);
    text = text_of(net);
    assert_int_equal(network_load(folder_file("n.ini", text), NULL, &again, NULL), LM_OK);
    assert_int_equal(again->layer[c].n_inputs, 120);
    for (size_t i = 0; i < 120; i++)
        assert_int_equal(again->layer[c].input[i].layer, relu[i]);
    free(text);
    network_free(net);
    network_free(again);
}

/* A line of its own, or one joined to the next, would be another file. */
static void names_of_files_stay_within_their_line(void **state)
{
    net_builder *b = build_new("n.other", "a\n[b]\\");
    network     *net, *again;
    char        *text = NULL;
    size_t       n    = 0;
    FILE        *out  = open_memstream(&text, &n);

    (void)state;
    add_input(b, "3x8x8");
    build_note(b, "kept");
    assert_int_equal(build_finish(b, &net, NULL), LM_OK);
    assert_int_equal(network_write(net, "From a\n[b]\\", out, NULL), LM_OK);
    fclose(out);
    assert_int_equal(strncmp(text, "; From a [b]/\n\n", 15), 0);
    assert_int_equal(network_load(folder_file("n.ini", text), NULL, &again, NULL), LM_OK);
    assert_string_equal(again->name, "a [b]/");
    assert_string_equal(again->note, "kept");
    free(text);
    network_free(net);
    network_free(again);
}

/* Rows and columns may not be replaced; those that are there may be named. */
static void an_image_that_cannot_change_is_not_changed(void **state)
{
    static const struct {
        int64_t     image;
        const char *input;
        lm_status   status;
    } cases[]      = { { 0, NULL, LM_OK },
                       { 8, NULL, LM_OK },
                       { 9, NULL, LM_E_SHAPE },
                       { 0, "5x8x8", LM_OK },
                       { 0, "3x8x9", LM_E_SHAPE } };
    net_builder *b = build_new("n.other", "n");
    network     *net;

    (void)state;
    add_after(b, "relu", "relu", add_input(b, "3x8x8"));
    build_note(b, NETWORK_IMAGE_FIXED ": why");
    assert_int_equal(build_finish(b, &net, NULL), LM_OK);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const bind_options o = {
            .batch = 1, .dtype = LM_F32, .image = cases[i].image, .input = cases[i].input
        };
        bound_network *bound = NULL;

        assert_int_equal(bind_network(net, nets_registry, &o, &bound, NULL), cases[i].status);
        bound_network_free(bound);
    }
    network_free(net);
}

static void a_batch_that_cannot_change_is_not_changed(void **state)
{
    net_builder   *b     = build_new("n.other", "n");
    bound_network *bound = NULL;
    network       *net;
    lm_error       err;

    (void)state;
    add_after(b, "relu", "relu", add_input(b, "3x8x8"));
    build_note(b, NETWORK_BATCH_FIXED "%d: why", 2);
    assert_int_equal(build_finish(b, &net, NULL), LM_OK);
    bind_network(net, nets_registry, &(bind_options){ .batch = 3, .dtype = LM_F32 }, &bound, &err);
    assert_error(err, LM_E_SHAPE,
                 "n.other: batch 3: the batch cannot be changed from 2, as its note says");
    assert_int_equal(bind_network(net, nets_registry,
                                  &(bind_options){ .batch = 2, .dtype = LM_F32 }, &bound, NULL),
                     LM_OK);
    bound_network_free(bound);
    network_free(net);
}

static void layers_on_which_no_output_depends_are_left_out(void **state)
{
    net_builder *b = build_new("n.other", "n");
    network     *net;
    const size_t x = add_input(b, "3x8x8"), dead = add_after(b, "dead", "relu", x);
    const size_t kept = add_after(b, "kept", "relu", x);

    (void)state;
    add_after(b, "also_dead", "relu", dead);
    build_output(b, kept);
    assert_int_equal(build_finish(b, &net, NULL), LM_OK);
    assert_int_equal(net->n_layers, 2);
    assert_string_equal(net->layer[1].name, "kept");
    assert_int_equal(net->layer[1].input[0].layer, 0);
    network_free(net);
}

static void shared_parameters_are_counted_once_and_written(void **state)
{
    net_builder *b = build_new("n.other", "n");
    network     *net, *again;
    const size_t x = add_input(b, "4"), first = add_after(b, "first", "linear", x);
    const size_t second = add_after(b, "second", "linear", first);
    char        *text;

    (void)state;
    build_key(b, first, "features", "4");
    build_key(b, second, "features", "4");
    build_shares(b, second, first);
    assert_int_equal(build_finish(b, &net, NULL), LM_OK);
    text = text_of(net);
    assert_int_equal(counts_of(net).params, 4 * 4 + 4);
    assert_int_equal(network_load(folder_file("n.ini", text), NULL, &again, NULL), LM_OK);
    assert_ptr_equal(again->layer[2].shares, &again->layer[1]);
    free(text);
    network_free(net);
    network_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_what_a_section_can_hold_and_stay_apart),
        cmocka_unit_test(layers_may_come_in_any_order_but_not_in_a_circle),
        cmocka_unit_test(a_network_is_written_as_one_would_write_it),
        cmocka_unit_test(what_was_written_reads_back_with_the_same_counts),
        cmocka_unit_test(long_lists_of_inputs_go_over_several_lines),
        cmocka_unit_test(names_of_files_stay_within_their_line),
        cmocka_unit_test(an_image_that_cannot_change_is_not_changed),
        cmocka_unit_test(a_batch_that_cannot_change_is_not_changed),
        cmocka_unit_test(layers_on_which_no_output_depends_are_left_out),
        cmocka_unit_test(shared_parameters_are_counted_once_and_written),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
