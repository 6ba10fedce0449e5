/* From a file's sections to layers: blocks, ranges, inputs. */
#include "network_text.h"

static void the_head_is_read(void **state)
{
    network *net = load("[network]\nname = my net\nsource = a paper\nparams = 12\nmacs = 34\n"
                        "[x]\ntype = input\n");

    (void)state;
    assert_string_equal(net->path, "n.ini");
    assert_string_equal(net->name, "my net");
    assert_string_equal(net->source, "a paper");
    assert_int_equal(net->published_params, 12);
    assert_int_equal(net->published_macs, 34);
    assert_int_equal(net->n_layers, 1);
    network_free(net);
    network_free(NULL);
}

static void layers_chain_unless_inputs_say_otherwise(void **state)
{
    network *net = load(HEAD X "[a]\ntype = relu\n"
                               "[b]\ntype = conv2d\nfilters = 4\nkernel = 3\n"
                               "[c]\ntype = relu\ninputs = a\n"
                               "[d]\ntype = add\ninputs = b , c,x\nfunctional = yes\n");

    (void)state;
    assert_int_equal(net->n_layers, 5);
    assert_inputs(net, "x", "");
    assert_inputs(net, "a", "x");
    assert_inputs(net, "b", "a");
    assert_inputs(net, "c", "a");
    assert_inputs(net, "d", "b c x");
    assert_int_equal(layer(net, "b")->n_pairs, 2);
    assert_string_equal(value_of(layer(net, "b"), "filters"), "4");
    assert_int_equal(layer(net, "b")->pair[1].line, 11);
    assert_int_equal(layer(net, "d")->line, 15);
    assert_int_equal(layer(net, "d")->counted, NET_COUNTED_NO);
    assert_int_equal(layer(net, "a")->counted, NET_COUNTED_AS_TYPE);
    assert_int_equal(layer(net, "d")->n_pairs, 0);
    network_free(net);
}

static void a_layer_may_use_one_that_stands_below(void **state)
{
    network *net = load(HEAD X "[late]\ntype = add\ninputs = x, below\n"
                               "[out]\ntype = relu\n"
                               "[below]\ntype = relu\ninputs = x\n"
                               "[end]\ntype = relu\ninputs = out\n");

    (void)state;
    assert_inputs(net, "late", "x below");
    assert_inputs(net, "out", "late");
    assert_inputs(net, "end", "out");
    network_free(net);
}

static void an_output_is_chosen_by_number(void **state)
{
    network *net = load(HEAD X "[a]\ntype = lstm\n[b]\ntype = relu\ninputs = a:2\n");

    (void)state;
    assert_inputs(net, "b", "a:2");
    network_free(net);
}

static void several_outputs_are_allowed_when_named(void **state)
{
    network *net = load("[network]\nname = n\noutput = a, b\n" X
                        "[a]\ntype = relu\n[b]\ntype = relu\ninputs = x\n");

    (void)state;
    assert_int_equal(net->n_layers, 3);
    network_free(net);
}

static void a_block_takes_arguments_and_defaults(void **state)
{
    network *net =
        load(HEAD X "[block cbr]\n"
                    "filters =\n"
                    "kernel  = 3\n"
                    "\n"
                    "[cbr/conv]\ntype = conv2d\nfilters = $filters\nkernel = $kernel,$kernel\n"
                    "[cbr/relu]\ntype = relu\n"
                    "[one]\nblock = cbr\nfilters = 8\n"
                    "[two]\nblock = cbr\nfilters = 16\nkernel = 5\n");

    (void)state;
    assert_int_equal(net->n_layers, 5);
    assert_inputs(net, "one.conv", "x");
    assert_inputs(net, "one.relu", "one.conv");
    assert_inputs(net, "two.conv", "one.relu");
    assert_string_equal(value_of(layer(net, "one.conv"), "filters"), "8");
    assert_string_equal(value_of(layer(net, "one.conv"), "kernel"), "3,3");
    assert_string_equal(value_of(layer(net, "two.conv"), "filters"), "16");
    assert_string_equal(value_of(layer(net, "two.conv"), "kernel"), "5,5");
    assert_int_equal(layer(net, "one.conv")->line, 10);
    assert_int_equal(layer(net, "one.conv")->used_line, 16);
    assert_int_equal(layer(net, "two.relu")->used_line, 19);
    assert_int_equal(layer(net, "x")->used_line, 0);
    network_free(net);
}

static void a_default_may_use_an_argument_above_it(void **state)
{
    network *net = load(HEAD X "[block b]\nwidth = 4\ninner = $width\nkind = relu\njoins = yes\n"
                               "[b/a]\ntype = conv2d\nfilters = $inner\n"
                               "[b/b]\ntype = $kind\nfunctional = $joins\n"
                               "[u]\nblock = b\nwidth = 6\n");

    (void)state;
    assert_string_equal(value_of(layer(net, "u.a"), "filters"), "6");
    assert_string_equal(layer(net, "u.b")->type, "relu");
    assert_int_equal(layer(net, "u.b")->counted, NET_COUNTED_NO);
    network_free(net);
}

static void blocks_nest_and_hand_their_arguments_down(void **state)
{
    network *net = load(HEAD X "[block inner]\nf =\n"
                               "[inner/conv]\ntype = conv2d\nfilters = $f\n"
                               "[block outer]\nf =\n"
                               "[outer/first]\nblock = inner\nf = $f\n"
                               "[outer/second]\nblock = inner\nf = 2$f\n"
                               "[outer/add]\ntype = add\ninputs = first, second, input\n"
                               "[u]\nblock = outer\nf = 7\n"
                               "[end]\ntype = relu\n");

    (void)state;
    assert_int_equal(net->n_layers, 5);
    assert_inputs(net, "u.first.conv", "x");
    assert_inputs(net, "u.second.conv", "u.first.conv");
    assert_inputs(net, "u.add", "u.first.conv u.second.conv x");
    assert_inputs(net, "end", "u.add");
    assert_string_equal(value_of(layer(net, "u.first.conv"), "filters"), "7");
    assert_string_equal(value_of(layer(net, "u.second.conv"), "filters"), "27");
    /* the line in the file is the layer's; the line of use is the outermost one */
    assert_int_equal(layer(net, "u.second.conv")->line, 8);
    assert_int_equal(layer(net, "u.second.conv")->used_line, 22);
    network_free(net);
}

static void a_block_takes_several_inputs(void **state)
{
    network *net = load(HEAD X "[block join]\n"
                               "[join/left]\ntype = relu\n"
                               "[join/add]\ntype = add\ninputs = left, input2, input\n"
                               "[a]\ntype = relu\n"
                               "[b]\ntype = relu\ninputs = x\n"
                               "[j]\nblock = join\ninputs = a, b\n");

    (void)state;
    assert_inputs(net, "j.left", "a");
    assert_inputs(net, "j.add", "j.left b a");
    network_free(net);
}

static void a_block_inside_may_be_reached_from_outside(void **state)
{
    network *net = load(HEAD X "[block b]\n[b/one]\ntype = relu\n[b/two]\ntype = relu\n"
                               "[u]\nblock = b\n"
                               "[add]\ntype = add\ninputs = u, u.one\n");

    (void)state;
    assert_inputs(net, "add", "u.two u.one");
    network_free(net);
}

static void a_range_is_a_chain(void **state)
{
    network *net = load(HEAD X "[block b]\nf = 1\n[b/c]\ntype = conv2d\nfilters = $f\n"
                               "[stage.0..2]\nblock = b\nf = 9\n"
                               "[r1..2]\ntype = relu\n"
                               "[add]\ntype = add\ninputs = r2, stage.1\n");

    (void)state;
    assert_int_equal(net->n_layers, 7);
    assert_inputs(net, "stage.0.c", "x");
    assert_inputs(net, "stage.1.c", "stage.0.c");
    assert_inputs(net, "stage.2.c", "stage.1.c");
    assert_inputs(net, "r1", "stage.2.c");
    assert_inputs(net, "r2", "r1");
    assert_inputs(net, "add", "r2 stage.1.c");
    network_free(net);
}

static void a_thousand_layers_are_no_matter(void **state)
{
    network *net = load(HEAD X "[a.1..9999]\ntype = relu\n");

    (void)state;
    assert_int_equal(net->n_layers, 10000);
    assert_inputs(net, "a.9999", "a.9998");
    network_free(net);
}

static void names_are_sought_along_the_model_path(void **state)
{
    char     path[4096];
    lm_error err;

    (void)state;
    folder_file("mine.ini", HEAD X);
    setenv("LAYERMETER_MODEL_PATH", "/nowhere:.", 1);
    assert_int_equal(network_find("mine", path, sizeof path, &err), LM_OK);
    assert_string_equal(path, "./mine.ini");
    assert_int_equal(network_find("any.ini", path, sizeof path, &err), LM_OK);
    assert_string_equal(path, "any.ini"); /* a path is taken as it stands */
    assert_int_equal(network_find("./a/b", path, sizeof path, &err), LM_OK);
    assert_string_equal(path, "./a/b");
    assert_int_equal(network_find("org/b", path, sizeof path, &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "https://huggingface.co/org/b/resolve/main/config.json"));
    assert_int_equal(network_find("org/resnet-18", path, sizeof path, &err), LM_E_NOTFOUND);
    assert_non_null(strstr(err.text, "may ship as 'resnet18'"));
    assert_int_equal(network_find("unheard-of", path, sizeof path, &err), LM_E_NOTFOUND);
    assert_memory_equal(err.text, "no network 'unheard-of' in /nowhere:. or /", 42);
    assert_int_equal(network_find("resnet18", path, sizeof path, &err), LM_OK); /* a shipped one */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_head_is_read),
        cmocka_unit_test(layers_chain_unless_inputs_say_otherwise),
        cmocka_unit_test(a_layer_may_use_one_that_stands_below),
        cmocka_unit_test(an_output_is_chosen_by_number),
        cmocka_unit_test(several_outputs_are_allowed_when_named),
        cmocka_unit_test(a_block_takes_arguments_and_defaults),
        cmocka_unit_test(a_default_may_use_an_argument_above_it),
        cmocka_unit_test(blocks_nest_and_hand_their_arguments_down),
        cmocka_unit_test(a_block_takes_several_inputs),
        cmocka_unit_test(a_block_inside_may_be_reached_from_outside),
        cmocka_unit_test(a_range_is_a_chain),
        cmocka_unit_test(a_thousand_layers_are_no_matter),
        cmocka_unit_test(names_are_sought_along_the_model_path),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
