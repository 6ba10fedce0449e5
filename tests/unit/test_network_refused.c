/* Every refusal of a network file with its line. */
#include "network_text.h"

static void short_files_cannot_unfold_to_long_networks(void **state)
{
    static const struct {
        const char *inner, *message;
    } cases[] = {
        { "[d/r.1..10000]\ntype = relu\n", "n.ini:15: more than 200000 layers" },
        /* nothing remains of these: neither layers nor inputs */
        { "[d/r.1..0]\ntype = relu\n", "n.ini:15: the file unfolds to more than 64 MiB of text" },
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
          "n.ini:3: unknown key 'author' of [network]; known are name source params macs note output base",
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
    assert_error(err, LM_E_SYNTAX,
                 "n.ini:6: section [x] is already at line 3: give it another name or remove one");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_files_cannot_unfold_to_long_networks),
        cmocka_unit_test(refusals_name_file_line_and_reason),
        cmocka_unit_test(an_expression_is_evaluated_whole_or_refused),
        cmocka_unit_test(ini_errors_come_through),
    };

    return cmocka_run_group_tests(tests, folder_enter, folder_leave);
}
