/* From a file's sections to layers: blocks, ranges, inputs, and every refusal with its line. */
#include "check.h"
#include "folder.h"

#include <string.h>

#include "network/network.h"

static network *load(const char *text)
{
    network *net = NULL;
    lm_error err = { LM_OK, "" };

    network_load(folder_file("n.ini", text), &net, &err);
    assert_string_equal(err.text, "");
    assert_non_null(net);
    return net;
}

static size_t place_of(const network *net, const char *name)
{
    for (size_t i = 0; i < net->n_layers; i++)
        if (!strcmp(net->layer[i].name, name))
            return i;
    fail_msg("no layer '%s'", name);
    return 0;
}

static const net_layer *layer(const network *net, const char *name)
{
    return &net->layer[place_of(net, name)];
}

/* "name" or "name:output" for each input, separated by blanks */
static void assert_inputs(const network *net, const char *name, const char *expected)
{
    const net_layer *l         = layer(net, name);
    char             text[400] = "";

    for (size_t i = 0; i < l->n_inputs; i++) {
        const size_t n = strlen(text);

        snprintf(text + n, sizeof text - n, l->input[i].output ? "%s%s:%u" : "%s%s", i ? " " : "",
                 net->layer[l->input[i].layer].name, l->input[i].output);
        assert_true(l->input[i].layer < place_of(net, name)); /* inputs precede their use */
    }
    assert_string_equal(text, expected);
}

static const char *value_of(const net_layer *l, const char *key)
{
    for (size_t i = 0; i < l->n_pairs; i++)
        if (!strcmp(l->pair[i].key, key))
            return l->pair[i].value;
    return "(none)";
}

#define HEAD "[network]\nname = n\n"              /* two lines */
#define X    "[x]\ntype = input\nshape = 3x8x8\n" /* three lines: 3, 4, 5 */

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
    assert_true(layer(net, "d")->functional);
    assert_false(layer(net, "a")->functional);
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
    assert_true(layer(net, "u.b")->functional);
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

/* Lines: HEAD is 1 and 2, X is 3 to 5, so what a case adds begins at 6. */
static void refusals_name_file_line_and_reason(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { "[x]\ntype = input\n", "n.ini: no [network] section: is this a network?", LM_E_SYNTAX },
        { "[network]\nsource = s\n[x]\ntype = input\n", "n.ini:1: [network] needs 'name ='",
          LM_E_SYNTAX },
        { HEAD, "n.ini: a network without layers", LM_E_SYNTAX },
        { "[network]\nname = n\nauthor = me\n" X,
          "n.ini:3: [network] has no key 'author' (name source params macs note output)",
          LM_E_NOTFOUND },
        { "[network]\nname = n\nparams = many\n" X,
          "n.ini:3: params: expected a whole number from 0 to 2^64-1, found 'many'", LM_E_ARG },
        { "[network]\nname = n\noutput = y\n" X, "n.ini:3: output: there is no layer 'y'",
          LM_E_NOTFOUND },

        { HEAD X "[a]\nfilters = 3\n", "n.ini:6: layer 'a' has no 'type =' (nor 'block =')",
          LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\nfunctional = maybe\n",
          "n.ini:8: functional: expected yes or no, found 'maybe'", LM_E_ARG },
        { HEAD X "[a]\ntype = relu\ninputs = y\n",
          "n.ini:8: layer 'a' takes its input from 'y': there is no such layer here",
          LM_E_NOTFOUND },
        { HEAD X "[a]\ntype = relu\ninputs =\n",
          "n.ini:8: inputs: expected 1 to 256 names separated by commas", LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\ninputs = x,,x\n",
          "n.ini:8: inputs: expected 1 to 256 names separated by commas", LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\ninputs = x:y\n", "n.ini:8: 'x:y': expected NAME or NAME:OUTPUT",
          LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\ninputs = x:-1\n",
          "n.ini:8: 'x:-1': expected NAME or NAME:OUTPUT", LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\ninputs = x:8\n", "n.ini:8: 'x:8': expected NAME or NAME:OUTPUT",
          LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\n[b]\ntype = relu\ninputs = x\n",
          "n.ini:6: layer 'a' is used by no other layer: remove it or name it under [network] "
          "output =",
          LM_E_SYNTAX },
        { HEAD X "[a b]\ntype = relu\n",
          "n.ini:6: 'a b': a layer's name has no blanks, commas, colons or $", LM_E_SYNTAX },
        { HEAD X "[a:1]\ntype = relu\n",
          "n.ini:6: 'a:1': a layer's name has no blanks, commas, colons or $", LM_E_SYNTAX },
        { HEAD X "[]\ntype = relu\n",
          "n.ini:6: '': a layer's name has no blanks, commas, colons or $", LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\nfilters = $f\n", "n.ini:8: $f is no argument of this block",
          LM_E_NOTFOUND },
        { HEAD X "[a]\ntype = relu\nfilters = 1$\n", "n.ini:8: $ is no argument of this block",
          LM_E_NOTFOUND },
        { HEAD X "[a]\ntype = relu\nblock = b\n[block b]\n[b/c]\ntype = relu\n",
          "n.ini:6: 'a' has both 'type =' and 'block ='", LM_E_SYNTAX },
        { HEAD X "[a.1]\ntype = relu\n[a.0..2]\ntype = relu\n",
          "n.ini:8: there is a layer 'a.1' already", LM_E_SYNTAX },
        { HEAD X "[a.2..1]\ntype = relu\n",
          "n.ini:6: 'a.2..1': the range is empty or longer than 10000", LM_E_SYNTAX },
        { HEAD X "[a.0..10000]\ntype = relu\n",
          "n.ini:6: 'a.0..10000': the range is empty or longer than 10000", LM_E_SYNTAX },

        /* cycles */
        { HEAD X "[a]\ntype = add\ninputs = x, a\n",
          "n.ini:6: layer 'a' is its own input, through a cycle", LM_E_SYNTAX },
        { HEAD X "[a]\ntype = add\ninputs = x, b\n[b]\ntype = relu\ninputs = a\n[c]\ntype = relu\n",
          "n.ini:6: layer 'a' is its own input, through a cycle", LM_E_SYNTAX },

        /* blocks */
        { HEAD X "[u]\nblock = b\n", "n.ini:7: there is no [block b]", LM_E_NOTFOUND },
        { HEAD X "[b/a]\ntype = relu\n", "n.ini:6: [b/a]: there is no [block b]", LM_E_NOTFOUND },
        { HEAD X "[block b]\nf = 1\n", "n.ini:6: block 'b' has no layers [b/...]", LM_E_SYNTAX },
        { HEAD X "[block a.b]\n",
          "n.ini:6: 'block a.b': a block's name has no blanks, dots or slashes", LM_E_SYNTAX },
        { HEAD X "[block b]\nf =\n[b/a]\ntype = relu\n[u]\nblock = b\n",
          "n.ini:10: block 'b' needs 'f ='", LM_E_NOTFOUND },
        { HEAD X "[block b]\nf = 1\n[b/a]\ntype = relu\n[u]\nblock = b\ng = 2\n",
          "n.ini:12: block 'b' has no argument 'g'", LM_E_NOTFOUND },
        { HEAD X "[block b]\nf = $g\ng = 1\n[b/a]\ntype = relu\n[u]\nblock = b\n",
          "n.ini:7: $g is no argument of this block", LM_E_NOTFOUND },
        { HEAD X "[block b]\nf = 1\n[b/a]\ntype = relu\nx = $ff\n[u]\nblock = b\n",
          "n.ini:10: $ff is no argument of this block", LM_E_NOTFOUND },
        { HEAD X "[block b]\n[b/a]\ntype = relu\n[b/c]\nblock = b\n[u]\nblock = b\n",
          "n.ini:10: blocks nest deeper than 32: does 'b' use itself?", LM_E_SYNTAX },
        { HEAD X "[block b]\n[b/a]\ntype = relu\ninputs = outside\n[outside]\ntype = "
                 "relu\n[u]\nblock = b\n",
          "n.ini:9: layer 'u.a' takes its input from 'outside': there is no such layer here",
          LM_E_NOTFOUND },
        { HEAD X "[block b]\n[b/a]\ntype = relu\n[y]\ntype = relu\n[u]\nblock = b\ninputs = x, y\n",
          "n.ini:11: block 'u' does not use all of its inputs", LM_E_SYNTAX },
        { HEAD X "[block b]\n[b/a]\ntype = add\ninputs = input, input2\n[u]\nblock = b\n",
          "n.ini:9: layer 'u.a' takes its input from 'input2': there is no such layer here",
          LM_E_NOTFOUND },
        { HEAD X
          "[block b]\n[b/a]\ntype = add\ninputs = input, input2\n[u]\nblock = b\ninputs = x, u\n",
          "n.ini:10: layer 'u' is its own input, through a cycle", LM_E_SYNTAX },
        { HEAD X "[block b]\n[b/a]\ntype = relu\n[b/input]\ntype = relu\n[u]\nblock = b\n",
          "n.ini:9: there is a layer 'u.input' already", LM_E_SYNTAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        network *net = NULL;
        lm_error err = { LM_OK, "" };

        network_load(folder_file("n.ini", cases[i].text), &net, &err);
        assert_error(err, cases[i].code, "%s", cases[i].message);
        assert_null(net);
    }
}

static void ini_errors_come_through(void **state)
{
    network *net = NULL;
    lm_error err;

    (void)state;
    assert_int_equal(network_load("missing.ini", &net, &err), LM_E_IO);
    assert_error(err, LM_E_IO, "missing.ini: No such file or directory");
    assert_int_equal(network_load(folder_file("n.ini", HEAD X X), &net, &err), LM_E_SYNTAX);
    assert_error(
        err, LM_E_SYNTAX,
        "n.ini:6: section [x] stands at line 3 already: give it another name or remove one");
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
    assert_int_equal(network_find("a/b", path, sizeof path, &err), LM_OK);
    assert_string_equal(path, "a/b");
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
        cmocka_unit_test(refusals_name_file_line_and_reason),
        cmocka_unit_test(ini_errors_come_through),
        cmocka_unit_test(names_are_sought_along_the_model_path),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
