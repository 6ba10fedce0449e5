/* Arguments of a network file, settings of them from outside, and files that stand on another. */
#include "network_text.h"

#include <sys/stat.h>

/* lines 3 to 7, so what follows X begins at 11 */
#define ARGUMENTS "[arguments]\nwidth = 8\nblocks = 3\nhidden = ${4 * width}\nkind = relu\n"

static network *load_set(const char *text, const char *const *word, size_t n)
{
    network *net = NULL;
    lm_error err = { LM_OK, "" };

    network_load(folder_file("n.ini", text), &(network_choices){ .set = word, .n_set = n }, &net,
                 &err);
    assert_string_equal(err.text, "");
    return net;
}

#define TOWER                                                                           \
    HEAD ARGUMENTS X "[block b]\nf = ${width * 2}\n"                                    \
                     "[b/c]\ntype = conv2d\nfilters = $f\nkernel = ${f % 3},${width}\n" \
                     "[stage.0..${blocks - 1}]\nblock = b\n"                            \
                     "[head]\ntype = $kind\nshape = 3x${hidden}x${ (hidden + 1) / 2 }\n"

static void arguments_reach_values_blocks_and_ranges(void **state)
{
    network *net = load(TOWER);

    (void)state;
    assert_int_equal(net->n_layers, 5);
    assert_inputs(net, "head", "stage.2.c");
    assert_string_equal(value_of(layer(net, "stage.1.c"), "filters"), "16");
    assert_string_equal(value_of(layer(net, "stage.1.c"), "kernel"), "1,8");
    assert_string_equal(layer(net, "head")->type, "relu");
    assert_string_equal(value_of(layer(net, "head"), "shape"), "3x32x16");
    assert_int_equal(net->n_arguments, 4);
    assert_string_equal(net->argument[2].name, "hidden");
    assert_string_equal(net->argument[2].value, "32");
    assert_false(net->argument[2].set);
    assert_null(net->set);
    network_free(net);
}

static void settings_replace_defaults_and_what_follows_from_them(void **state)
{
    const char *const words[] = { "width=5", "blocks=1", "width=10" }; /* the last one wins */
    network          *net     = load_set(TOWER, words, 3);

    (void)state;
    assert_int_equal(net->n_layers, 3);
    assert_string_equal(value_of(layer(net, "stage.0.c"), "filters"), "20");
    assert_string_equal(value_of(layer(net, "head"), "shape"), "3x40x20");
    assert_string_equal(net->set, "width=10 blocks=1");
    assert_true(net->argument[0].set && net->argument[1].set && !net->argument[2].set);
    network_free(net);
}

static void private_arguments_are_not_set_from_outside(void **state)
{
    network *net = NULL;
    lm_error err = { LM_OK, "" };

    (void)state;
    folder_file("half.ini", "[network]\nname = half\n[arguments]\nwidth = 8\n_half = ${width / 2}\n"
                            "[x]\ntype = input\nshape = $_half\n");
    net = load("[network]\nname = n\nbase = half\n[arguments]\n_half = 3\nwidth = ${4 * _half}\n");
    assert_string_equal(value_of(layer(net, "x"), "shape"), "6");
    assert_int_equal(net->n_arguments, 1);
    network_free(net);
    net = NULL;
    network_load("half.ini",
                 &(network_choices){ .set = (const char *const[]){ "_half=1" }, .n_set = 1 }, &net,
                 &err);
    assert_error(err, LM_E_NOTFOUND, "half.ini has no argument '_half' (its arguments: width)");
    assert_null(net);
}

static void a_blocks_argument_hides_the_files(void **state)
{
    network *net = load(HEAD ARGUMENTS X "[block b]\nwidth = ${width + 1}\n"
                                         "[b/c]\ntype = conv2d\nfilters = $width\nn = $blocks\n"
                                         "[u]\nblock = b\n[v]\nblock = b\nwidth = ${width + 2}\n");

    (void)state;
    assert_string_equal(value_of(layer(net, "u.c"), "filters"), "9");
    assert_string_equal(value_of(layer(net, "u.c"), "n"), "3");
    assert_string_equal(value_of(layer(net, "v.c"), "filters"), "10");
    network_free(net);
}

static void a_range_tells_its_number(void **state)
{
    network *net =
        load(HEAD "[arguments]\nn = 3\n" X
                  "[block b]\nodd =\n[b/c.1..2]\ntype = conv2d\nfilters = ${10 * odd + index}\n"
                  "[s.2..$n]\nblock = b\nodd = ${index % 2}\n"
                  "[r.0..1]\ntype = relu\ninputs = ${1 - index}x\n[0x]\ntype = relu\ninputs = s.3\n"
                  "[1x]\ntype = relu\ninputs = s.3\n[add]\ntype = add\ninputs = r.0, r.1\n");

    (void)state;
    assert_string_equal(value_of(layer(net, "s.2.c.1"), "filters"), "1");
    assert_string_equal(value_of(layer(net, "s.3.c.2"), "filters"), "12");
    assert_inputs(net, "r.0", "1x");
    assert_inputs(net, "r.1", "0x");
    network_free(net);
}

static void a_range_leaves_out_the_steps_that_are_not_wanted(void **state)
{
    network *net = load(HEAD X "[a.0..4]\ntype = relu\nwhen = ${$index % 2}\n");

    (void)state;
    assert_int_equal(net->n_layers, 3);
    assert_inputs(net, "a.1", "x");
    assert_inputs(net, "a.3", "a.1");
    network_free(net);
}

static void a_range_from_a_to_below_a_is_empty(void **state)
{
    static const char text[] =
        HEAD "[arguments]\nn = 2\n" X "[block b]\n[b/r.1..$n]\ntype = relu\n"
             "[u]\nblock = b\n[s.0..${n - 1}]\ntype = relu\n[end]\ntype = relu\n";
    network *net = load(text);

    (void)state;
    assert_int_equal(net->n_layers, 6);
    assert_inputs(net, "end", "s.1");
    assert_inputs(net, "s.0", "u.r.2");
    network_free(net);
    net = load_set(text, (const char *const[]){ "n=0" }, 1);
    assert_int_equal(net->n_layers, 2); /* an empty block hands its input on */
    assert_inputs(net, "end", "x");
    network_free(net);
}

static void a_layer_may_be_left_out(void **state)
{
    static const char text[] =
        HEAD "[arguments]\nnorm = no\ndown = 1\n" X
             "[block b]\nbn =\n[b/a]\ntype = relu\n[b/bn]\ntype = batch_norm\nwhen = $bn\n"
             "[u]\nblock = b\nbn = $norm\n[v]\nblock = b\nbn = yes\nwhen = ${1 - down}\n"
             "[r.0..2]\ntype = relu\nwhen = $down\n";
    network *net = load(text);

    (void)state;
    assert_int_equal(net->n_layers, 5);
    assert_inputs(net, "r.0", "u.a");
    network_free(net);
    net = load_set(text, (const char *const[]){ "norm=yes", "down=0" }, 2);
    assert_int_equal(net->n_layers, 5);
    assert_inputs(net, "v.bn", "v.a");
    assert_inputs(net, "v.a", "u.bn");
    network_free(net);
}

static void published_counts_are_of_the_network_without_settings(void **state)
{
    static const char text[] = "[network]\nname = n\nparams = 5\nmacs = 6\n[arguments]\nw = 1\n" X;
    network          *net    = load(text);

    (void)state;
    assert_int_equal(net->published_params, 5);
    network_free(net);
    net = load_set(text, (const char *const[]){ "w=1" }, 1);
    assert_int_equal(net->published_params, 0);
    assert_int_equal(net->published_macs, 0);
    network_free(net);
}

/* ---- base ------------------------------------------------------------------------------------ */

static void a_base_gives_the_layers_and_this_file_the_arguments(void **state)
{
    network *net;

    (void)state;
    folder_file("tower.ini", TOWER);
    folder_file("small.ini", "[network]\nname = small\nbase = tower\nparams = 7\n"
                             "[arguments]\nblocks = 1\nwidth = ${blocks + 1}\n");
    net =
        load("[network]\nname = smaller\nbase = small\nsource = here\n[arguments]\nkind = tanh\n");
    assert_string_equal(net->name, "smaller");
    assert_string_equal(net->source, "here");
    assert_int_equal(net->published_params, 0);
    assert_string_equal(net->path, "n.ini");
    assert_string_equal(net->base, "tower.ini");
    assert_int_equal(net->n_layers, 3);
    assert_string_equal(layer(net, "head")->type, "tanh");
    assert_string_equal(value_of(layer(net, "stage.0.c"), "filters"), "4");
    assert_null(net->set);
    network_free(net);

    /* any argument of the base may be set, and one of this file counts in its own */
    assert_int_equal(
        network_load("small.ini",
                     &(network_choices){ .set   = (const char *const[]){ "blocks=3", "kind=gelu" },
                                         .n_set = 2 },
                     &net, NULL),
        LM_OK);
    assert_int_equal(net->n_layers, 5);
    assert_string_equal(value_of(layer(net, "stage.0.c"), "filters"), "8");
    assert_string_equal(layer(net, "head")->type, "gelu");
    assert_string_equal(net->set, "blocks=3 kind=gelu");
    assert_int_equal(net->published_params, 0);
    network_free(net);
}

static void a_base_given_as_a_file_is_sought_beside_the_one_that_names_it(void **state)
{
    network *net = NULL;

    (void)state;
    assert_int_equal(mkdir("nets", 0777), 0);
    folder_file("nets/big.ini", HEAD X "[near]\ntype = relu\n");
    folder_file("big.ini", HEAD X "[far]\ntype = relu\n");
    folder_file("nets/n.ini", "[network]\nname = n\nbase = big.ini\n");
    assert_int_equal(network_load("nets/n.ini", NULL, &net, NULL), LM_OK);
    assert_string_equal(net->layer[1].name, "near");
    network_free(net);
    folder_file("nets/n.ini", "[network]\nname = n\nbase = ../big.ini\n");
    assert_int_equal(network_load("nets/n.ini", NULL, &net, NULL), LM_OK);
    assert_string_equal(net->layer[1].name, "far");
    network_free(net);
    unlink("nets/big.ini");
    unlink("nets/n.ini");
    rmdir("nets");
}

static void bases_are_refused_with_the_file_and_line_at_fault(void **state)
{
    static const struct {
        const char *text, *message;
        lm_status   code;
    } cases[] = {
        { "[network]\nname = n\nbase = n\n", "n.ini:3: base = n: a network that is its own base",
          LM_E_SYNTAX },
        { "[network]\nname = n\nbase = back\n",
          "back.ini:3: base = n: a network that is its own base", LM_E_SYNTAX },
        { "[network]\nname = n\nbase = sub/gone.ini\n",
          "n.ini:3: base: no file 'sub/gone.ini' beside this one: give the path from here, "
          "or the name of a network ('layermeter models' lists them)",
          LM_E_NOTFOUND },
        { "[network]\nname = n\nbase = alex.onnx\n",
          "n.ini:3: base: 'alex.onnx' is no .ini file: 'layermeter import' makes one", LM_E_ARG },
        { "[network]\nname = n\nbase = c1\n",
          "c8.ini:3: base = c9: more than 8 bases behind each other", LM_E_SYNTAX },
        { "[network]\nname = n\nbase = bad\n",
          "bad.ini:4: layer 'a' has no 'type =' (nor 'block =')", LM_E_SYNTAX },
        { "[network]\nname = n\nbase = base\n" X,
          "n.ini:4: [x]: a network with a base has [network] and [arguments] only", LM_E_SYNTAX },
        { "[network]\nname = n\nbase = base\noutput = x\n",
          "n.ini:4: output: a network with a base has that of its base", LM_E_SYNTAX },
        { "[network]\nname = n\nbase = base\n[arguments]\nw = 1\ndepht = 2\n",
          "n.ini:6: base.ini has no argument 'depht' (its arguments: w depth)", LM_E_NOTFOUND },
        { "[network]\nname = n\nbase = base\n",
          "base.ini:4: argument 'w' has no default: give it with --set w=VALUE", LM_E_ARG },
    };
    char name[32], text[80];

    (void)state;
    folder_file("back.ini", "[network]\nname = back\nbase = n\n");
    folder_file("bad.ini", "[network]\nname = bad\n\n[a]\nfilters = 1\n");
    folder_file("base.ini", "[network]\nname = base\n[arguments]\nw =\ndepth = 2\n" X);
    for (int i = 1; i <= 10; i++) {
        snprintf(name, sizeof name, "c%d.ini", i);
        snprintf(text, sizeof text, "[network]\nname = c\nbase = c%d\n", i + 1);
        folder_file(name, text);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        network *net = NULL;
        lm_error err = { LM_OK, "" };

        network_load(folder_file("n.ini", cases[i].text), NULL, &net, &err);
        assert_error(err, cases[i].code, "%s", cases[i].message);
        assert_null(net);
    }
}

static void unknown_settings_are_refused_with_those_there_are(void **state)
{
    network *net = NULL;
    lm_error err = { LM_OK, "" };

    (void)state;
    folder_file("n.ini", TOWER);
    network_load("n.ini",
                 &(network_choices){ .set = (const char *const[]){ "widht=3" }, .n_set = 1 }, &net,
                 &err);
    assert_error(err, LM_E_NOTFOUND,
                 "n.ini has no argument 'widht' (its arguments: width blocks hidden kind)");
    network_load(folder_file("n.ini", HEAD X),
                 &(network_choices){ .set = (const char *const[]){ "w=3" }, .n_set = 1 }, &net,
                 &err);
    assert_error(err, LM_E_NOTFOUND, "n.ini has no argument 'w' (it has none)");
    assert_null(net);
}

static void names_end_where_their_arguments_begin(void **state)
{
    static const struct {
        const char *name, *arguments, *key;
    } cases[] = {
        { "gpt2", "", "gpt2" },
        { "gpt2:sequence=128", ":sequence=128", "gpt2" },
        { "a/b.ini:width=8:sequence=16:p=0.1", ":width=8:sequence=16:p=0.1",
          "a/b.ini:width=8:p=0.1" },
        { "a:b=1/n.ini", "", "a:b=1/n.ini" },
        { "host:n.ini", "", "host:n.ini" },
        { "host:n:k=1", ":k=1", "host:n:k=1" },
        { "n:=1", "", "n:=1" },
        { "n:2k=1", "", "n:2k=1" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char key[64];

        assert_string_equal(network_name_arguments(cases[i].name), cases[i].arguments);
        assert_true(network_name_key(cases[i].name, key, sizeof key));
        assert_string_equal(key, cases[i].key);
        assert_false(network_name_key(cases[i].name, key, strlen(cases[i].key)));
    }
}

#define TEXT_NETWORK                                                 \
    "[network]\nname = text\n[arguments]\nsequence = 8\nwidth = 4\n" \
    "[x]\ntype = input\nshape = $sequence\ndtype = i64\n"            \
    "[p]\ntype = parameter\nshape = ${sequence}x$width\n"            \
    "[a]\ntype = add\ninputs = x, p\n"

static void an_input_of_one_dimension_is_the_argument_sequence(void **state)
{
    const char *const words[] = { "width=6" };
    network          *net     = load_set(TEXT_NETWORK, words, 1);
    network          *other   = NULL;
    lm_error          err;

    (void)state;
    remove("n.ini"); /* it is not read again */
    assert_int_equal(network_for_use(net, "32", false, &other, &err), LM_OK);
    assert_string_equal(value_of(layer(other, "x"), "shape"), "32");
    assert_string_equal(value_of(layer(other, "p"), "shape"), "32x6");
    assert_string_equal(other->set, "sequence=32 width=6");
    network_free(net);
    assert_int_equal(network_for_use(other, "32", false, &net, &err), LM_OK);
    assert_null(net);
    assert_int_equal(network_for_use(other, "3x32", false, &net, &err), LM_OK);
    assert_null(net); /* no length: the layers decide */
    network_for_use(other, "33", false, &net, &err);
    assert_error(err, LM_E_ARG, "n.ini: an input of 33, but 'sequence = 32' was set");
    assert_null(net);
    network_free(other);
}

static void an_input_reaches_the_arguments_of_the_base(void **state)
{
    network *net, *other = NULL;
    lm_error err;

    (void)state;
    folder_file("text.ini", TEXT_NETWORK);
    net = load("[network]\nname = n\nbase = text\n[arguments]\nwidth = 2\n");
    remove("text.ini");
    assert_int_equal(network_for_use(net, "5", false, &other, &err), LM_OK);
    assert_string_equal(value_of(layer(other, "p"), "shape"), "5x2");
    assert_string_equal(other->base, net->base);
    network_free(other);
    network_free(net);
}

#define DECODER                                                                       \
    HEAD "[arguments]\nsequence = 4\ncontext = 0\npositions = 9\n[x]\ntype = input\n" \
         "shape = $sequence\n[l]\ntype = t\npast = $context\n"

static void decoding_is_one_token_behind_its_context(void **state)
{
    network *net = load(DECODER), *step = NULL;
    lm_error err = { LM_OK, "" };

    (void)state;
    assert_int_equal(network_decoding(net, 8, &step, &err), LM_OK);
    assert_string_equal(value_of(layer(step, "x"), "shape"), "1");
    assert_string_equal(value_of(layer(step, "l"), "past"), "8");
    network_free(step);
    network_free(net);
}

static void what_does_not_decode_is_refused(void **state)
{
    static const char *const sets[] = { "sequence=3", "context=3" };
    network                 *net = load(DECODER), *step = NULL;
    lm_error                 err = { LM_OK, "" };

    (void)state;
    network_decoding(net, 9, &step, &err);
    assert_error(err, LM_E_ARG, "n.ini: a token behind 9 others has no position: there are 9");
    network_free(net);
    for (size_t i = 0; i < 2; i++) {
        char text[100];

        net = load_set(DECODER, &sets[i], 1);
        err = (lm_error){ LM_OK, "" };
        network_decoding(net, 2, &step, &err);
        snprintf(text, sizeof text,
                 "n.ini: '%.*s' was set, which decoding sets itself: leave it out",
                 (int)strcspn(sets[i], "="), sets[i]);
        assert_error(err, LM_E_ARG, "%s", text);
        network_free(net);
    }
    net = load(HEAD "[arguments]\nsequence = 4\n" X);
    err = (lm_error){ LM_OK, "" };
    network_decoding(net, 2, &step, &err);
    assert_error(
        err, LM_E_UNSUPPORTED,
        "n.ini: does not decode: only networks with the arguments 'sequence' and 'context' "
        "do, such as gpt2 and llama2_7b");
    assert_null(step);
    network_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_reach_values_blocks_and_ranges),
        cmocka_unit_test(settings_replace_defaults_and_what_follows_from_them),
        cmocka_unit_test(private_arguments_are_not_set_from_outside),
        cmocka_unit_test(a_blocks_argument_hides_the_files),
        cmocka_unit_test(a_range_tells_its_number),
        cmocka_unit_test(a_range_from_a_to_below_a_is_empty),
        cmocka_unit_test(a_layer_may_be_left_out),
        cmocka_unit_test(published_counts_are_of_the_network_without_settings),
        cmocka_unit_test(a_base_gives_the_layers_and_this_file_the_arguments),
        cmocka_unit_test(a_base_given_as_a_file_is_sought_beside_the_one_that_names_it),
        cmocka_unit_test(bases_are_refused_with_the_file_and_line_at_fault),
        cmocka_unit_test(unknown_settings_are_refused_with_those_there_are),
        cmocka_unit_test(a_range_leaves_out_the_steps_that_are_not_wanted),
        cmocka_unit_test(names_end_where_their_arguments_begin),
        cmocka_unit_test(an_input_of_one_dimension_is_the_argument_sequence),
        cmocka_unit_test(an_input_reaches_the_arguments_of_the_base),
        cmocka_unit_test(decoding_is_one_token_behind_its_context),
        cmocka_unit_test(what_does_not_decode_is_refused),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
