/* Shared by several commands. */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"

lm_status open_registry(const options *o, registry **out, lm_error *err)
{
    return registry_open(o->plugins.at, o->plugins.n, out, err);
}

lm_status open_library(const options *o, lm_library **out, lm_error *err)
{
    const lm_library_options with = { .size      = sizeof with,
                                      .plugin    = o->plugins.at,
                                      .n_plugins = o->plugins.n };

    return lm_library_open(&with, out, err);
}

#define AT(member) OPTION_AT(network_options, member)

const option_row network_option_rows[] = {
    { "treat", AT(treat), &type_pair, "OP=TYPE", .heading = HELP_WHAT, .repeats = true,
      .help = "imported network: layer type for an unknown operator" },
    { "ignore", AT(ignore), &type_text, "OP", .heading = HELP_WHAT, .repeats = true,
      .help = "imported network: operator to skip (its output is its first input)" },
    { "strict", AT(strict), &type_flag, .heading = HELP_WHAT,
      .help = "imported network: refuse an unknown operator even if its shapes are known" },
    { "set", AT(set), &type_pair, "NAME=VALUE", .heading = HELP_WHAT, .repeats = true,
      .help = "value of an argument of the network ('layermeter models' lists them)" },
    { "sequence", AT(sequence), &type_length, "TOKENS", NULL, HELP_WHAT,
      "tokens per sample: 512, or 4k (4096); the same as --set sequence=TOKENS" },
    { .name = NULL },
};

lm_status open_network(const options *o, const network_options *how, const lm_library *library,
                       lm_network **out, lm_error *err)
{
    lm_network_options choices = { .size     = sizeof choices,
                                   .treat    = how->treat.at,
                                   .n_treat  = how->treat.n,
                                   .ignore   = how->ignore.at,
                                   .n_ignore = how->ignore.n,
                                   .strict   = how->strict,
                                   .set      = how->set.at,
                                   .n_set    = how->set.n };
    const char       **set;
    char              *one;

    if (how->sequence) { /* --sequence N is --set sequence=N */
        set = arena_array(o->room, how->set.n + 1, sizeof *set);
        one = arena_array(o->room, 40, 1);
        if (!set || !one)
            return no_memory(err);
        for (size_t i = 0; i < how->set.n; i++)
            set[i] = how->set.at[i];
        snprintf(one, 40, "sequence=%lld", (long long)how->sequence);
        set[how->set.n] = one;
        choices.set     = set;
        choices.n_set   = how->set.n + 1;
    }
    return lm_network_open(library, o->argument[0], &choices, out, err);
}

void print_note(const network *net, FILE *out)
{
    if (net->note)
        fprintf(out, "note: %s\n", net->note);
}

const option_row link_option_rows[] = {
    { "bandwidth", OPTION_AT(interconnect, bytes_per_second) },
    { "latency", OPTION_AT(interconnect, latency), &type_time, "TIME", LINK_LATENCY, HELP_WHERE,
      "latency of a message between nodes, with --bandwidth", .needs = "bandwidth",
      .refusal = "goes with --bandwidth" },
    { "interconnect", OPTION_AT(interconnect, name), &type_text, "NAME", NULL, HELP_WHERE,
      "take all-reduces from published measurements: nvlink4+ib400 (within and between nodes), "
      "pcie4+25gbe, nvlink3+slingshot11 (default: the device's own link within a node)",
      .excludes = "bandwidth",
      .refusal  = "already sets the link between nodes: give one of the two" },
    { .name = NULL },
};

const option_row look_option_rows[] = {
    { "format", OPTION_AT(table_look, format) },
    { "columns", OPTION_AT(table_look, columns), &type_names, "NAMES", NULL, HELP_OUTPUT,
      "table, csv: only these columns, in this order ('layermeter help COMMAND columns' lists them)" },
    { "wide", OPTION_AT(table_look, wide), &type_flag, NULL, NULL, HELP_OUTPUT,
      "table: all columns, also those that do not fit the terminal" },
    { .name = NULL },
};

lm_status look_check(const options *o, const table_look *look, const field *fields,
                     const field *from, lm_error *err)
{
    lm_error why;

    if (look->columns.n && look->format == FORMAT_JSON)
        return misused(o, &look->columns, err, "json has every column: leave it out");
    if (fields_check(fields, from, &look->columns, &why))
        return misused(o, &look->columns, err, "%s ('layermeter help %s columns' lists all)",
                       why.text, o->command->name);
    return LM_OK;
}

void say_line(const char *text)
{
    note("%s", text);
}
