/* From a file's sections to layers: blocks, ranges, inputs, and every refusal with its line. */
#include "check.h"
#include "folder.h"

#include <string.h>
#include <sys/stat.h>

#include "network/network.h"

static network *load(const char *text)
{
    network *net = NULL;
    lm_error err = { LM_OK, "" };

    network_load(folder_file("n.ini", text), NULL, &net, &err);
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

/* ---- arguments of the file ----------------------------------------------------------------------
 */

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

/* ---- base ---------------------------------------------------------------------------------------
 */

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
          "n.ini:3: base: there is no file 'sub/gone.ini' beside this one: give the path from here, "
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
    char name[16], text[80];

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

/* ---- files that would unfold without end --------------------------------------------------------
 */

static void short_files_cannot_unfold_to_long_networks(void **state)
{
    static const struct {
        const char *inner, *message;
    } cases[] = {
        { "[d/r.1..10000]\ntype = relu\n", "n.ini:15: more than 200000 layers" },
        /* nothing remains of these: neither layers nor inputs */
        { "[d/r.1..0]\ntype = relu\n", "n.ini:15: the file unfolds to more than 128 MiB of text" },
    };
    char text[600];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        network *net = NULL;
        lm_error err = { LM_OK, "" };

        snprintf(text, sizeof text,
                 HEAD "[block a]\n[a/b.0..9999]\nblock = b\n[block b]\n[b/c.0..9999]\nblock = c\n"
                      "[block c]\n[c/d.0..9999]\nblock = d\n[block d]\n[u]\nblock = a\n\n%s",
                 cases[i].inner);
        network_load(folder_file("n.ini", text), NULL, &net, &err);
        err.text[strlen(cases[i].message)] = '\0';
        assert_string_equal(err.text + 9, cases[i].message + 9);
        assert_null(net);
    }
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
          "n.ini:3: [network] has no key 'author' (name source params macs note output base)",
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
        { HEAD X "[a]\ntype = relu\nfilters = $f\n", "n.ini:8: there is no argument $f here",
          LM_E_NOTFOUND },
        { HEAD X "[a]\ntype = relu\nfilters = 1$\n", "n.ini:8: there is no argument $ here",
          LM_E_NOTFOUND },
        { HEAD X "[a]\ntype = relu\nblock = b\n[block b]\n[b/c]\ntype = relu\n",
          "n.ini:6: 'a' has both 'type =' and 'block ='", LM_E_SYNTAX },
        { HEAD X "[a.1]\ntype = relu\n[a.0..2]\ntype = relu\n",
          "n.ini:8: there is a layer 'a.1' already, from line 6", LM_E_SYNTAX },
        { HEAD X "[block b]\n[b/c]\ntype = relu\n[a]\nblock = b\n[a.c]\ntype = relu\n",
          "n.ini:11: there is a layer 'a.c' already, from line 7", LM_E_SYNTAX },
        { HEAD X "[a.c]\ntype = relu\n[block b]\n[b/c]\ntype = relu\n[a]\nblock = b\n",
          "n.ini:9: there is a layer 'a.c' already, from line 6", LM_E_SYNTAX },
        { HEAD X "[a.9223372036854775806..9223372036854775807]\ntype = relu\n",
          "n.ini:6: 'a.9223372036854775806..9223372036854775807': the numbers of a range go up to "
          "1000000000",
          LM_E_SYNTAX },
        { HEAD X "[a.1000000000..1000000001]\ntype = relu\n",
          "n.ini:6: 'a.1000000000..1000000001': the numbers of a range go up to 1000000000",
          LM_E_SYNTAX },
        { HEAD X "[a.2..0]\ntype = relu\n",
          "n.ini:6: 'a.2..0': the range runs downwards or is longer than 10000", LM_E_SYNTAX },
        { HEAD X "[a.0..10000]\ntype = relu\n",
          "n.ini:6: 'a.0..10000': the range runs downwards or is longer than 10000", LM_E_SYNTAX },

        /* arguments */
        { HEAD "[arguments]\na = $b\nb = 1\n" X, "n.ini:4: there is no argument $b here",
          LM_E_NOTFOUND },
        { HEAD "[arguments]\na = $a\n" X, "n.ini:4: there is no argument $a here", LM_E_NOTFOUND },
        { HEAD "[arguments]\na-b = 1\n" X,
          "n.ini:4: 'a-b': an argument's name has letters, digits and _ only", LM_E_SYNTAX },
        { HEAD "[arguments]\na =\n" X,
          "n.ini:4: argument 'a' has no default: give it with --set a=VALUE", LM_E_ARG },
        { HEAD X "[a]\ntype = relu\nf = ${1 + }\n",
          "n.ini:8: ${1 + }: expected a number, a name or '(', found ''", LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\nf = 1${2\n", "n.ini:8: '${' without '}'", LM_E_SYNTAX },
        { HEAD X "[a]\ntype = relu\nf = ${4 / 0}\n", "n.ini:8: ${4 / 0}: division by zero",
          LM_E_ARG },
        { HEAD X "[a]\ntype = relu\nf = ${9223372036854775807 + 1}\n",
          "n.ini:8: ${9223372036854775807 + 1}: a value does not fit 64 bits", LM_E_OVERFLOW },
        { HEAD X "[a]\ntype = relu\nf = ${1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 / 0}\n",
          "n.ini:8: ${1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10...: division by zero", LM_E_ARG },
        { HEAD X "[a]\ntype = relu\nf = ${w}\n", "n.ini:8: ${w}: there is no argument $w here",
          LM_E_NOTFOUND },
        { HEAD "[arguments]\nk = relu\n" X "[a.0..${k}]\ntype = relu\n",
          "n.ini:8: ${k}: $k is 'relu', no whole number", LM_E_ARG },
        { HEAD X "[a.0..${0 - 2}]\ntype = relu\n",
          "n.ini:6: 'a.0..-2': the range runs downwards or is longer than 10000", LM_E_SYNTAX },
        { HEAD X "[a.0..${1000000 * 1000}]\ntype = relu\n",
          "n.ini:6: 'a.0..1000000000': the range runs downwards or is longer than 10000",
          LM_E_SYNTAX },

        { HEAD X "[a]\ntype = relu\nwhen = 2\n",
          "n.ini:8: when: expected yes or no, 1 or 0, found '2'", LM_E_ARG },
        { HEAD X "[a]\ntype = relu\nwhen = no\n[b]\ntype = relu\ninputs = a\n",
          "n.ini:11: layer 'b' takes its input from 'a': there is no such layer here",
          LM_E_NOTFOUND },

        /* shared parameters */
        { HEAD X "[a]\ntype = relu\nshares = y\n",
          "n.ini:8: layer 'a' shares the parameters of 'y': there is no such layer here",
          LM_E_NOTFOUND },
        { HEAD X "[a]\ntype = relu\nshares = a\n",
          "n.ini:8: layer 'a' shares the parameters of itself: name another layer", LM_E_ARG },
        { HEAD X "[block b]\n[b/c]\ntype = relu\n[u]\nblock = b\n[a]\ntype = relu\nshares = u\n",
          "n.ini:13: 'u' is a block: name the layer in it whose parameters are shared", LM_E_ARG },

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
        { HEAD X "[block type]\n",
          "n.ini:6: 'type' is a key of every layer: give the block another name", LM_E_SYNTAX },
        { HEAD X "[block b]\nk = 1\ninputs = 2\n",
          "n.ini:8: 'inputs' is a key of every layer: give the argument another name",
          LM_E_SYNTAX },
        { HEAD X "[block b]\nshares =\n",
          "n.ini:7: 'shares' is a key of every layer: give the argument another name",
          LM_E_SYNTAX },
        { HEAD X "[block b]\na-b = 1\n",
          "n.ini:7: 'a-b': an argument's name has letters, digits and _ only", LM_E_SYNTAX },
        { HEAD X "[block b]\nf =\n[b/a]\ntype = relu\n[u]\nblock = b\n",
          "n.ini:10: block 'b' needs 'f ='", LM_E_NOTFOUND },
        { HEAD X "[block b]\nf = 1\n[b/a]\ntype = relu\n[u]\nblock = b\ng = 2\n",
          "n.ini:12: block 'b' has no argument 'g'", LM_E_NOTFOUND },
        { HEAD X "[block b]\nf = $g\ng = 1\n[b/a]\ntype = relu\n[u]\nblock = b\n",
          "n.ini:7: there is no argument $g here", LM_E_NOTFOUND },
        { HEAD X "[block b]\nf = 1\n[b/a]\ntype = relu\nx = $ff\n[u]\nblock = b\n",
          "n.ini:10: there is no argument $ff here", LM_E_NOTFOUND },
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
          "n.ini:9: there is an input 'u.input' of the block already", LM_E_SYNTAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        network *net = NULL;
        lm_error err = { LM_OK, "" };

        network_load(folder_file("n.ini", cases[i].text), NULL, &net, &err);
        assert_error(err, cases[i].code, "%s", cases[i].message);
        assert_null(net);
    }
}

/* 254 ones, 253 signs and the blanks of 3 joined lines are 510 bytes; 511 are the most. */
static void an_expression_is_evaluated_whole_or_refused(void **state)
{
    char     sum[1200] = "1", text[1400];
    network *net       = NULL;
    lm_error err       = { LM_OK, "" };

    (void)state;
    for (int i = 1; i < 254; i++) /* in lines that are not too long */
        strcat(sum, i % 64 ? "+1" : "+\\\n1");
    snprintf(text, sizeof text, HEAD X "[a]\ntype = relu\nf = ${%s}\n", sum);
    net = load(text);
    assert_string_equal(value_of(layer(net, "a"), "f"), "254");
    network_free(net);
    net = NULL;

    strcat(sum, "+1");
    snprintf(text, sizeof text, HEAD X "[a]\ntype = relu\nf = ${%s}\n", sum);
    network_load(folder_file("n.ini", text), NULL, &net, &err);
    assert_int_equal(err.code, LM_E_SYNTAX);
    assert_non_null(strstr(err.text, "...: an expression longer than 511 bytes: "
                                     "make parts of it arguments"));
    assert_null(net);
}

static void ini_errors_come_through(void **state)
{
    network *net = NULL;
    lm_error err;

    (void)state;
    assert_int_equal(network_load("missing.ini", NULL, &net, &err), LM_E_IO);
    assert_error(err, LM_E_IO, "missing.ini: No such file or directory");
    assert_int_equal(network_load(folder_file("n.ini", HEAD X X), NULL, &net, &err), LM_E_SYNTAX);
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
        cmocka_unit_test(short_files_cannot_unfold_to_long_networks),
        cmocka_unit_test(refusals_name_file_line_and_reason),
        cmocka_unit_test(an_expression_is_evaluated_whole_or_refused),
        cmocka_unit_test(a_range_leaves_out_the_steps_that_are_not_wanted),
        cmocka_unit_test(ini_errors_come_through),
        cmocka_unit_test(names_are_sought_along_the_model_path),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
