/* PALEO's JSON files as networks: what each layer becomes, blocks, parts, and every refusal. */
#include "nets.h"

#include "network/metrics.h"
#include "formats/paleo/paleo.h"

/* A network of one input and what follows it. */
#define DATA(size) \
    "{\"layers\": {\n\"data\": {\"parents\": [], \"type\": \"Input\", \"tensor\": [1, " size "]}"
#define END "}}\n"

/* Skips in a build without JSON. */
static network *load(const char *text, lm_error *err)
{
    network *net = NULL;

    *err = (lm_error){ LM_OK, "" };
    if (paleo_load(folder_file("n.json", text), nets_registry, NULL, &net, err) == LM_E_UNSUPPORTED)
        if (strstr(err->text, "this build"))
            skip();
    return net;
}

static bound_text bind(const char *text)
{
    bound_text         made    = { NULL, NULL, { LM_OK, "" } };
    const bind_options options = { .batch = 2, .dtype = LM_F32 };

    made.net = load(text, &made.err);
    assert_string_equal(made.err.text, "");
    bind_network(made.net, nets_registry, &options, &made.bound, &made.err);
    assert_string_equal(made.err.text, "");
    return made;
}

static void assert_refused(const char *text, lm_status code, const char *why)
{
    lm_error err;
    network *net = load(text, &err);

    network_free(net);
    assert_error(err, code, "%s", why);
}

static void assert_size(const bound_text *m, const char *name, int64_t channels, int64_t height,
                        int64_t width)
{
    const lm_tensor *t = &nets_layer(m, name)->output[0];

    assert_int_equal(t->rank, 4);
    assert_int_equal(t->dim[0], 2);
    assert_int_equal(t->dim[1], channels);
    assert_int_equal(t->dim[2], height);
    assert_int_equal(t->dim[3], width);
}

static void every_layer_of_paleo_becomes_one_of_ours(void **state)
{
    bound_text  m = bind(DATA(
         "20, 12, 3") ",\"c\": {\"parents\": [\"data\"], \"type\": \"Convolution\", \"filter\": [3, 5, -1, 8],"
                       "  \"strides\": [1, 2, 1, 1], \"padding\": [1, 2], \"activation_fn\": null},\n"
                       "\"n\": {\"parents\": [\"c\"], \"type\": \"Convolution\", \"filter\": [1, 1, 8, 8],"
                       "  \"strides\": [1, 1, 1, 1], \"padding\": \"VALID\", \"normalizer_fn\": \"batch_norm\"},\n"
                       "\"e\": {\"parents\": [\"n\", \"c\"], \"type\": \"Elementwise\"},\n"
                       "\"a\": {\"parents\": [\"e\"], \"type\": \"AvgPool\", \"ksize\": [1, 2, 3, 1],"
                       "  \"strides\": [1, 2, 3, 1], \"padding\": \"VALID\"},\n"
                       "\"k\": {\"parents\": [\"a\", \"a\"], \"type\": \"Concatenate\", \"dim\": -1},\n"
                       "\"d\": {\"parents\": [\"k\"], \"type\": \"Dropout\", \"dropout_keep_prob\": 0.8},\n"
                       "\"i\": {\"parents\": [\"d\"], \"type\": \"InnerProduct\", \"num_outputs\": 10},\n"
                       "\"s\": {\"parents\": [\"i\"], \"type\": \"Softmax\", \"num_classes\": 10}" END);
    net_metrics n;

    (void)state;
    assert_int_equal(m.net->n_layers, 12);
    assert_string_equal(m.net->name, "n");
    assert_size(&m, "c", 8, 10, 12); /* (20 + 2 - 3) / 2 + 1, 12 + 4 - 5 + 1 */
    assert_int_equal(nets_layer(&m, "c")->n_weights, 2);
    assert_int_equal(nets_layer(&m, "n")->n_weights, 1); /* the norm has the bias */
    assert_string_equal(nets_layer(&m, "n.batch_norm")->decl->type, "batch_norm");
    assert_string_equal(nets_layer(&m, "n.relu")->decl->type, "relu"); /* PALEO's default */
    assert_string_equal(nets_layer(&m, "e")->decl->type, "add");
    assert_size(&m, "a", 8, 5, 4);
    assert_size(&m, "k", 16, 5, 4);
    assert_string_equal(nets_layer(&m, "d")->decl->pair[0].value, "0.2");
    assert_int_equal(nets_layer(&m, "i.flatten")->output[0].dim[1], 16 * 5 * 4);
    assert_int_equal(nets_layer(&m, "s")->output[0].dim[1], 10);
    assert_int_equal(metrics_of_network(m.bound, NULL, &n, NULL), LM_OK);
    assert_int_equal(n.params, (3 * 15 * 8 + 8) + 8 * 8 + 16 + (320 * 10 + 10));
    assert_int_equal(n.macs_conv, 2 * 10 * 12 * 8 * (45 + 8));
    nets_free(&m);
}

static void same_padding_is_tensorflows(void **state)
{
    /* 7x8 pixels, window 3, stride 2: 4 rows reach 9, one pixel on each side; 4 columns reach 9,
     * one behind. */
    bound_text m = bind(DATA(
        "7, 8, 3") ",\"c\": {\"parents\": [\"data\"], \"type\": \"Convolution\", \"filter\": [3, 3, 3, 4],"
                   "  \"strides\": [1, 2, 2, 1], \"padding\": \"SAME\", \"activation_fn\": null},\n"
                   "\"p\": {\"parents\": [\"c\"], \"type\": \"Pooling\", \"ksize\": [1, 2, 2, 1],"
                   "  \"strides\": [1, 1, 1, 1], \"padding\": \"SAME\"},\n"
                   "\"q\": {\"parents\": [\"p\"], \"type\": \"Pooling\", \"ksize\": [1, 1, 1, 1],"
                   "  \"strides\": [1, 3, 3, 1], \"padding\": \"SAME\"}" END);

    (void)state;
    assert_size(&m, "c.pad", 3, 7, 9);
    assert_size(&m, "c", 4, 4, 4);
    assert_size(&m, "p.pad", 4, 5, 5);
    assert_size(&m, "p", 4, 4, 4);
    assert_size(&m, "q", 4, 2, 2); /* ceil(4 / 3), and nothing reaches beyond */
    assert_string_equal(m.net->note, "SAME padding is that of the file's input: other sizes of the "
                                     "input may need another");
    nets_free(&m);
}

static void blocks_take_their_own_parents_and_stand_for_their_endpoint(void **state)
{
    bound_text m = bind(DATA(
        "8, 8, 4") ",\"b\": {\"type\": \"Block\", \"parents\": [\"data\"], \"endpoint\": \"end\", \"layers\": {"
                   "\"x/1\": {\"parents\": [], \"type\": \"Convolution\", \"filter\": [1, 1, 4, 2],"
                   "  \"strides\": [1, 1, 1, 1], \"padding\": \"SAME\"},\n"
                   "\"end\": {\"parents\": [\"x/1\"], \"type\": \"Dropout\", \"dropout_keep_prob\": 1}}},\n"
                   "\"d\": {\"parents\": [\"b\"], \"type\": \"Dropout\", \"dropout_keep_prob\": 1},\n"
                   "\"e\": {\"parents\": [\"d\", \"b/x/1\"], \"type\": \"Elementwise\"}" END);

    (void)state;
    assert_size(&m, "b.x.1", 2, 8, 8);
    assert_string_equal(nets_layer(&m, "d")->decl->type, "dropout");
    assert_int_equal(nets_layer(&m, "d")->decl->input[0].layer,
                     nets_layer(&m, "b.end") - m.bound->layer);
    assert_int_equal(nets_layer(&m, "e")->decl->input[1].layer,
                     nets_layer(&m, "b.x.1.relu") - m.bound->layer);
    nets_free(&m);
}

static void parts_of_a_model_are_all_counted(void **state)
{
    bound_text m = bind(DATA(
        "1, 1, 6") ",\"m\": {\"type\": \"ModelParallel\", \"splits\": 2, \"parents\": [\"data\"], \"layers\": {"
                   "\"f\": {\"parents\": [], \"type\": \"Convolution\", \"filter\": [1, 1, 6, 8],"
                   "  \"strides\": [1, 1, 1, 1], \"padding\": \"SAME\", \"activation_fn\": null},\n"
                   "\"k\": {\"parents\": [\"f@all\"], \"type\": \"Concatenate\", \"dim\": 3},\n"
                   "\"g\": {\"parents\": [\"k@self\"], \"type\": \"Convolution\", \"filter\": [1, 1, 8, 4],"
                   "  \"strides\": [1, 1, 1, 1], \"padding\": \"SAME\", \"activation_fn\": null}}},\n"
                   "\"all\": {\"parents\": [\"m/g@all\"], \"type\": \"Concatenate\", \"dim\": 3}" END);

    (void)state;
    assert_size(&m, "m.f_0", 4, 1, 1);
    assert_size(&m, "m.k_1", 8, 1, 1);
    assert_int_equal(nets_layer(&m, "m.g_1")->decl->input[0].layer,
                     nets_layer(&m, "m.k_1") - m.bound->layer);
    assert_size(&m, "all", 4, 1, 1);
    assert_string_equal(m.net->note,
                        "all parts of the model-parallel block 'm' are counted, on one "
                        "device");
    nets_free(&m);
}

static void what_paleo_would_skip_needs_a_word(void **state)
{
    const char *text = DATA("4, 4, 2") ",\n\"u\": {\"parents\": [\"data\"], \"type\": \"LRN\"}" END;
    const char *treat[] = { "LRN=relu" }, *wrong[] = { "LRN=softmaks" }, *ignore[] = { "LRN" };
    network    *net = NULL;
    lm_error    err = { LM_OK, "" };

    (void)state;
    assert_refused(text, LM_E_UNSUPPORTED,
                   "n.json:3: layer 'u': no layer type for 'LRN', which PALEO would count as "
                   "nothing; choose one (--treat LRN=TYPE) or pass the input on (--ignore LRN)");
    paleo_load("n.json", nets_registry, &(network_choices){ .treat = treat, .n_treat = 1 }, &net,
               &err);
    assert_string_equal(err.text, "");
    assert_string_equal(net->layer[1].type, "relu");
    assert_string_equal(net->note, "u of type LRN treated as relu");
    network_free(net);
    paleo_load("n.json", nets_registry, &(network_choices){ .ignore = ignore, .n_ignore = 1 }, &net,
               &err);
    assert_string_equal(err.text, "");
    assert_int_equal(net->n_layers, 1);
    network_free(net);
    paleo_load("n.json", nets_registry, &(network_choices){ .treat = wrong, .n_treat = 1 }, &net,
               &err);
    assert_int_equal(err.code, LM_E_NOTFOUND);
    assert_string_equal(err.text,
                        "--treat LRN=softmaks: unknown layer type 'softmaks' (did you mean 'softmax'?)");
}

#define CONV(keys) \
    DATA("8, 8, 3") ",\n\"c\": {\"parents\": [\"data\"], \"type\": \"Convolution\", " keys "}" END
#define POOL(keys) \
    DATA("8, 8, 3") ",\n\"p\": {\"parents\": [\"data\"], \"type\": \"Pooling\", " keys "}" END
#define FILTER  "\"filter\": [3, 3, 3, 4], "
#define STRIDES "\"strides\": [1, 1, 1, 1], "

static void wrong_files_are_told_with_line_and_layer(void **state)
{
    static const struct {
        const char *text;
        lm_status   code;
        const char *why;
    } cases[] = {
        { "", LM_E_SYNTAX, "n.json:1: '[' or '{' expected near end of file" },
        { "{\n\n\"layers\" {}}", LM_E_SYNTAX, "n.json:3: ':' expected near '{'" },
        { "{\"layers\":\n{\"a\":1,\n\"a\":2}}", LM_E_SYNTAX,
          "n.json:3: duplicate object key near '\"a\"'" },
        { "[]", LM_E_SYNTAX, "n.json: no network of PALEO's: there is no object 'layers'" },
        { "{\"layers\": {}}", LM_E_SYNTAX,
          "n.json: no network of PALEO's: there is no object 'layers'" },
        { "{\"layers\":\n{\"a\": 3}}", LM_E_SYNTAX, "n.json:2: layer 'a': expected an object" },
        { "{\"layers\":\n{\"a\": {\"parents\": []}}}", LM_E_SYNTAX,
          "n.json:2: layer 'a': no 'type'" },
        { "{\"layers\": {\"d\":\n{\"type\": \"Dropout\", \"dropout_keep_prob\": 1}}}", LM_E_SYNTAX,
          "n.json:1: layer 'd': 'parents': expected a list of names" },
        { "{\"layers\": {\"d\": {\"type\": \"Dropout\", \"dropout_keep_prob\": 1, \"parents\": []}}}",
          LM_E_SHAPE, "n.json:1: layer 'd': one parent for 'Dropout', 0 given" },
        { DATA("8, 8, 99999999999999999999") END, LM_E_SYNTAX,
          "n.json:2: too big integer near '99999999999999999999'" },
        { DATA("8, 8, 9007199254740993") END, LM_E_ARG,
          "n.json:2: layer 'data': 'tensor': expected whole numbers of at most 10^9" },
        { DATA("8, 8, 3.5") END, LM_E_ARG,
          "n.json:2: layer 'data': 'tensor': expected whole numbers of at most 10^9" },
        { DATA("8, 8") END, LM_E_ARG, "n.json:2: layer 'data': 'tensor': expected a list of 4" },
        { CONV(FILTER STRIDES "\"padding\": \"SAME\", \"dilation\": 2"), LM_E_NOTFOUND,
          "n.json:3: layer 'c': 'Convolution' has no key 'dilation': PALEO would not look at it" },
        { CONV(FILTER "\"padding\": \"SAME\""), LM_E_ARG,
          "n.json:3: layer 'c': 'Convolution' needs a 'strides'" },
        { CONV(FILTER STRIDES "\"padding\": \"FULL\""), LM_E_ARG,
          "n.json:3: layer 'c': 'padding': expected \"VALID\" or \"SAME\"" },
        { CONV(FILTER "\"strides\": [2, 1, 1, 1], \"padding\": \"SAME\""), LM_E_ARG,
          "n.json:3: layer 'c': 'strides': expected [1, height, width, 1]" },
        { CONV(FILTER STRIDES "\"padding\": \"SAME\", \"activation_fn\": \"swish\""), LM_E_ARG,
          "n.json:3: layer 'c': 'activation_fn': expected null, \"relu\", \"relu6\", \"elu\", "
          "\"tanh\", \"sigmoid\" or \"softplus\"" },
        { CONV(FILTER STRIDES "\"padding\": \"SAME\", \"bias\": [5]"), LM_E_ARG,
          "n.json:3: layer 'c': 'bias': expected a list of one number, the output channels" },
        { CONV(FILTER STRIDES "\"padding\": \"SAME\", \"splits\": 5"), LM_E_ARG,
          "n.json:3: layer 'c': 'splits': expected no more parts than output channels" },
        { CONV("\"filter\": [3, 3, 4, 4], " STRIDES "\"padding\": \"SAME\""), LM_E_SHAPE,
          "n.json:3: layer 'c': the filter takes 4 channels, its parent makes 3" },
        { CONV("\"filter\": [3, 9, 3, 4], " STRIDES "\"padding\": \"VALID\""), LM_E_SHAPE,
          "n.json:3: layer 'c': a window of 9 over 8 pixels of the input" },
        { POOL("\"ksize\": [1, 2, 2, 1], " STRIDES "\"padding\": [1, 1]"), LM_E_ARG,
          "n.json:3: layer 'p': 'padding': expected \"VALID\" or \"SAME\"" },
        { DATA("1, 1, 3") ",\n\"s\": {\"parents\": [\"data\"], \"type\": \"Softmax\", "
                          "\"num_classes\": 4}" END,
          LM_E_SHAPE, "n.json:3: layer 's': 4 classes, its parent makes 3" },
        { DATA("2, 1, 3") ",\n\"s\": {\"parents\": [\"data\"], \"type\": \"Softmax\"}" END,
          LM_E_SHAPE,
          "n.json:3: layer 's': one class a sample, but its parent makes an image of 2 by 1 pixels" },
        { DATA(
              "2, 1, 3") ",\n\"e\": {\"parents\": [\"data\", \"f\"], \"type\": \"Elementwise\"}" END,
          LM_E_NOTFOUND, "n.json:3: layer 'e': there is no parent 'f'" },
        { DATA("2, 1, 3") ",\n\"e\": {\"parents\": [\"data@all\"], \"type\": \"Elementwise\"}" END,
          LM_E_NOTFOUND,
          "n.json:3: layer 'e': parent 'data@all': there is no such layer in a model-parallel "
          "block" },
        { DATA(
              "2, 1, 3") ",\n\"e\": {\"parents\": [\"data\", \"e\"], \"type\": \"Elementwise\"}" END,
          LM_E_SYNTAX, "n.json:3: layer 'e': is its own parent, through a cycle" },
        { DATA("2, 1, 3") ",\n\"b\": {\"type\": \"Block\", \"parents\": []}" END, LM_E_SYNTAX,
          "n.json: block 'b' has no 'layers'" },
        { DATA(
              "2, 1, 3") ",\n\"b\": {\"type\": \"ModelParallel\", \"splits\": 5000, \"parents\": [], "
                         "\"layers\": {}}" END,
          LM_E_ARG, "n.json: block 'b': 'splits': expected 1 to 1024" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_refused(cases[i].text, cases[i].code, cases[i].why);
}

static void files_that_nest_or_swell_are_refused(void **state)
{
    const size_t n    = 5 << 20;
    char        *text = malloc(n + 1);

    (void)state;
    assert_non_null(text);
    memset(text, '[', 100000);
    text[100000] = '\0';
    assert_refused(text, LM_E_SYNTAX, "n.json:1: maximum parsing depth reached near '['");
    memset(text, ' ', n);
    memcpy(text, "{}", 2);
    text[n] = '\0';
    assert_refused(text, LM_E_SYNTAX, "n.json: no network of PALEO's: more than 4 MiB");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_of_paleo_becomes_one_of_ours),
        cmocka_unit_test(same_padding_is_tensorflows),
        cmocka_unit_test(blocks_take_their_own_parents_and_stand_for_their_endpoint),
        cmocka_unit_test(parts_of_a_model_are_all_counted),
        cmocka_unit_test(what_paleo_would_skip_needs_a_word),
        cmocka_unit_test(wrong_files_are_told_with_line_and_layer),
        cmocka_unit_test(files_that_nest_or_swell_are_refused),
    };

    return cmocka_run_group_tests(tests, nets_enter, nets_leave);
}
