/** Networks from text, and what stands in them; not bound. */
#ifndef UNIT_NETWORK_TEXT_H
#define UNIT_NETWORK_TEXT_H

#include "check.h"
#include "folder.h"

#include <string.h>

#include "network/network.h"

static inline network *load(const char *text)
{
    network *net = NULL;
    lm_error err = { LM_OK, "" };

    network_load(folder_file("n.ini", text), NULL, &net, &err);
    assert_string_equal(err.text, "");
    assert_non_null(net);
    return net;
}

static inline size_t place_of(const network *net, const char *name)
{
    for (size_t i = 0; i < net->n_layers; i++)
        if (!strcmp(net->layer[i].name, name))
            return i;
    fail_msg("no layer '%s'", name);
    return 0;
}

static inline const net_layer *layer(const network *net, const char *name)
{
    return &net->layer[place_of(net, name)];
}

/* "name" or "name:output" for each input, separated by blanks */
static inline void assert_inputs(const network *net, const char *name, const char *expected)
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

static inline const char *value_of(const net_layer *l, const char *key)
{
    for (size_t i = 0; i < l->n_pairs; i++)
        if (!strcmp(l->pair[i].key, key))
            return l->pair[i].value;
    return "(none)";
}

#define HEAD "[network]\nname = n\n"              /* two lines */
#define X    "[x]\ntype = input\nshape = 3x8x8\n" /* three lines: 3, 4, 5 */

#endif
