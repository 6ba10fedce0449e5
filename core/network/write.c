/* Writes a network as an INI file. */
#include "network/write.h"

#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "network/shard.h"

#define LINE_BYTES 100 /* a longer value goes on in the next line */

/* Writes one line of a value. Replaces characters that would end it or begin a comment. */
static void write_line(const char *value, size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        const bool comment = value[i] == ';' && (!i || value[i - 1] == ' ');

        fputc((unsigned char)value[i] < ' ' ? ' ' : comment ? ',' : value[i], out);
    }
}

/* Writes the last line. A backslash at its end would join the next line. */
static void write_last(const char *value, FILE *out)
{
    size_t n = strlen(value);

    while (n && (unsigned char)value[n - 1] <= ' ')
        n--;
    write_line(value, n && value[n - 1] == '\\' ? n - 1 : n, out);
    fputs(n && value[n - 1] == '\\' ? "/\n" : "\n", out);
}

/* "key = value", broken at blanks. */
static void write_pair(const char *key, size_t width, const char *value, FILE *out)
{
    size_t room = LINE_BYTES - (size_t)fprintf(out, "%-*s = ", (int)width, key);

    while (strlen(value) > room) {
        size_t n = room;

        while (n && value[n] != ' ')
            n--;
        if (!n) /* no earlier blank: takes the next one */
            n = strcspn(value, " ");
        if (!value[n])
            break;
        write_line(value, n, out);
        fputs(" \\\n    ", out);
        value += n + 1;
        room = LINE_BYTES - 4;
    }
    write_last(value, out);
}

/* Names of layers joined by commas. */
typedef struct list {
    char  *text; /* malloc'ed */
    size_t n;
    bool   failed; /* memory ran out */
} list;

static void list_add(list *l, const net_layer *layer, uint32_t output)
{
    const size_t more = strlen(layer->name) + 16;
    char        *text = realloc(l->text, l->n + more);

    if (!text) {
        l->failed = true;
        return;
    }
    l->text = text;
    l->n += (size_t)snprintf(text + l->n, more, "%s%s", l->n ? ", " : "", layer->name);
    if (output)
        l->n += (size_t)snprintf(text + l->n, 12, ":%u", (unsigned)output);
}

/* Are the inputs the default, which a file need not name: the layer before, or none for a
 * source? */
static bool default_inputs(const network *net, size_t at)
{
    const net_layer *l = &net->layer[at];

    if (!l->n_inputs)
        return at == 0 || network_source_type(l->type);
    return l->n_inputs == 1 && l->input[0].layer + 1 == at && !l->input[0].output &&
           !network_source_type(l->type);
}

static bool write_layer(const network *net, size_t at, FILE *out)
{
    const net_layer *l      = &net->layer[at];
    const bool       given  = !default_inputs(net, at);
    size_t           width  = given ? strlen("inputs") : strlen("type");
    list             inputs = { NULL, 0, false };

    if (l->frozen)
        width = strlen("frozen");
    if (l->counted)
        width = strlen("functional");
    for (size_t i = 0; i < l->n_pairs; i++)
        if (strlen(l->pair[i].key) > width)
            width = strlen(l->pair[i].key);
    fprintf(out, "\n[%s]\n", l->name);
    write_pair("type", width, l->type, out);
    for (size_t i = 0; i < l->n_inputs && given; i++)
        list_add(&inputs, &net->layer[l->input[i].layer], l->input[i].output);
    if (given)
        write_pair("inputs", width, inputs.text ? inputs.text : "none", out);
    if (l->shares)
        write_pair("shares", width, l->shares->name, out);
    if (l->counted)
        write_pair("functional", width, l->counted == NET_COUNTED_NO ? "yes" : "no", out);
    if (l->frozen)
        write_pair("frozen", width, "yes", out);
    if (l->way)
        write_pair("split", width, shard_way_name(l->way), out);
    for (size_t i = 0; i < l->n_pairs; i++)
        write_pair(l->pair[i].key, width, l->pair[i].value, out);
    free(inputs.text);
    return !inputs.failed;
}

/* Writes `output =` with the layers that no other layer reads, unless that is only the last one. */
static bool write_output(const network *net, size_t width, FILE *out)
{
    bool  *used    = calloc(net->n_layers + 1, sizeof *used);
    list   outputs = { NULL, 0, false };
    size_t n       = 0;

    if (!used)
        return false;
    for (size_t i = 0; i < net->n_layers; i++)
        for (size_t k = 0; k < net->layer[i].n_inputs; k++)
            used[net->layer[i].input[k].layer] = true;
    for (size_t i = 0; i < net->n_layers; i++)
        if (!used[i]) {
            list_add(&outputs, &net->layer[i], 0);
            n++;
        }
    if (n > 1)
        write_pair("output", width, outputs.text ? outputs.text : "", out);
    free(outputs.text);
    free(used);
    return !outputs.failed;
}

lm_status network_write(const network *net, const char *title, FILE *out, lm_error *err)
{
    const size_t width = strlen("params");
    bool         fine;

    if (title) {
        fputs("; ", out);
        write_last(title, out);
        fputc('\n', out);
    }
    fprintf(out, "[network]\n");
    write_pair("name", width, net->name, out);
    if (net->source)
        write_pair("source", width, net->source, out);
    if (net->published_params)
        fprintf(out, "%-*s = %llu\n", (int)width, "params",
                (unsigned long long)net->published_params);
    if (net->published_macs)
        fprintf(out, "%-*s = %llu\n", (int)width, "macs", (unsigned long long)net->published_macs);
    if (net->note)
        write_pair("note", width, net->note, out);
    fine = write_output(net, width, out);
    for (size_t i = 0; i < net->n_layers && fine; i++)
        fine = write_layer(net, i, out);
    return fine ? LM_OK : no_memory(err);
}
