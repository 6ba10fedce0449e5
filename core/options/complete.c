/* Words of a command line that may stand next: options, their values, and names that ship. */
#include "options/complete.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/place.h"
#include "device/device.h"
#include "network/network.h"
#include "options/slots.h"

/* Where candidates go: those that begin with `typed` are printed, `before` in front of each. */
typedef struct offer {
    FILE       *out;
    const char *typed;
    const char *before; /* of a list, "T4," of "T4,V1"; of "--device=T4" all up to the value */
    size_t      n_before;
} offer;

static void put(const offer *to, const char *word, const char *doc)
{
    if (strncmp(word, to->typed, strlen(to->typed)) != 0)
        return;
    fprintf(to->out, "%.*s%s", (int)to->n_before, to->before, word);
    if (doc && *doc)
        fprintf(to->out, "\t%s", doc);
    putc('\n', to->out);
}

static void put_files(const offer *to)
{
    fputs(":files\n", to->out);
}

/* ---- names that ship ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the .ini files of an installed folder; with `whole` their paths. */
static void put_folder(const offer *to, const char *relative, bool whole)
{
    char     folder[PATH_MAX], text[PATH_MAX + 300];
    char    *name[256];
    size_t   n = 0;
    lm_error err;
    DIR     *dir = place_installed(relative, folder, sizeof folder, &err) ? NULL : opendir(folder);

    for (struct dirent *e; dir && n < 256 && (e = readdir(dir));) {
        const size_t length = strlen(e->d_name);

        if (length <= 4 || strcmp(e->d_name + length - 4, ".ini") != 0)
            continue;
        snprintf(text, sizeof text, "%s%s%.*s", whole ? folder : "", whole ? "/" : "",
                 (int)(length - (whole ? 0 : 4)), e->d_name);
        if ((name[n] = strdup(text)))
            n++;
    }
    if (dir)
        closedir(dir);
    qsort(name, n, sizeof *name, by_text);
    for (size_t i = 0; i < n; i++) {
        put(to, name[i], NULL);
        free(name[i]);
    }
}

static void put_networks(const offer *to)
{
    network_names names = { NULL, 0 };
    lm_error      err;

    if (!network_list(&names, &err))
        for (size_t i = 0; i < names.n; i++)
            put(to, names.name[i], NULL);
    network_names_free(&names);
}

/* Blanks in a device's name do not count: a dash stands for each, so that it is one word. */
static void put_devices(const offer *to)
{
    device_list *list = NULL;
    lm_error     err;

    if (!devices_open(NULL, &list, &err))
        for (size_t i = 0; i < list->n; i++) {
            char word[200];

            snprintf(word, sizeof word, "%s", list->device[i].name);
            for (char *blank = word; (blank = strchr(blank, ' '));)
                *blank = '-';
            put(to, word, list->device[i].also);
        }
    devices_free(list);
}

/* ---- values ---- */

/* Each of "table, csv or json". */
static void put_words(const offer *to, const char *words)
{
    while (*words) {
        const size_t n = strcspn(words, ", ");
        char         word[80];

        snprintf(word, sizeof word, "%.*s", (int)n, words);
        put(to, word, NULL);
        words += n;
        words += !strncmp(words, " or ", 4) ? 4 : strspn(words, ", ");
    }
}

static bool is_of(const char *name, const char *const *list)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list;
}

/* Values of an option; of a list the last one is typed. */
static void put_values(const offer *to, const option_row *row)
{
    static const char *const devices[]  = { "device", "from", "to", NULL };
    static const char *const networks[] = { "for", "networks", "network", NULL };
    const char              *comma      = strrchr(to->typed, ',');
    offer                    each       = *to;
    char                     words[400] = "", before[PATH_MAX];

    if (comma && strcmp(row->argument, "FILE") != 0) {
        snprintf(before, sizeof before, "%.*s%.*s", (int)to->n_before, to->before,
                 (int)(comma + 1 - to->typed), to->typed);
        each = (offer){ to->out, comma + 1, before, strlen(before) };
    }
    if (row->words)
        put_words(&each, row->words(words, sizeof words));
    else if (row->choices)
        put_words(&each, row->choices);
    else if (row->type == &type_dtype)
        put_words(&each, "f32, f16, bf16 or f64");
    else if (is_of(row->name, devices))
        put_devices(&each);
    else if (is_of(row->name, networks))
        put_networks(&each);
    else if (!strcmp(row->name, "interconnect"))
        put_folder(&each, LAYERMETER_CONFIG_DIR "/interconnects", false);
    else if (!strcmp(row->name, "machine")) {
        put_folder(&each, LAYERMETER_CONFIG_DIR "/machines", true);
        put_files(to);
    } else if (strstr(row->argument, "FILE") || strstr(row->argument, "FOLDER")) {
        put_files(to);
    }
}

/* ---- the command line ---- */

static void put_options(const offer *to, const options *o)
{
    for (size_t i = 0; i < o->n_slots; i++) {
        char word[80], text[600];

        snprintf(word, sizeof word, "--%s", o->slot[i].row.name);
        options_describe(&o->slot[i].row, text, sizeof text);
        put(to, word, text);
    }
}

static void put_arguments(const offer *to, const command *c)
{
    if (strstr(c->arguments, "NETWORK"))
        put_networks(to);
    else if (strstr(c->arguments, "SWEEP"))
        put_folder(to, LAYERMETER_CONFIG_DIR "/sweeps", false);
    else if (strstr(c->arguments, "DEVICE"))
        put_devices(to);
    if (*c->arguments && !strstr(c->arguments, "DEVICE") && !strstr(c->arguments, "TYPE"))
        put_files(to);
}

/* The option of that name, if it takes a value; NULL: there is none. */
static const option_row *row_of(const options *o, const char *name, size_t n)
{
    const option_slot *slot = n > 2 && !strncmp(name, "--", 2)    ? options_find(o, name + 2, n - 2)
                              : n == 2 && !strncmp(name, "-o", 2) ? options_find(o, "output", 6)
                                                                  : NULL;

    return slot && slot->row.argument ? &slot->row : NULL;
}

/* The option whose value is the last of n words, which begins at *typed; NULL: it is no value. bash
 * makes three words of "--device=T4". */
static const option_row *asked_by(const options *o, char *const *word, size_t n, offer *to)
{
    const char *last = n ? word[n - 1] : "", *equal = strchr(last, '=');
    const char *name = n > 1 ? word[n - 2] : "";

    to->typed = last;
    if (!strncmp(last, "--", 2) && equal) {
        to->before   = last;
        to->n_before = (size_t)(equal - last) + 1;
        to->typed    = equal + 1;
        return row_of(o, last, (size_t)(equal - last));
    }
    if (!strcmp(last, "="))
        to->typed = "";
    else if (!strcmp(name, "="))
        name = n > 2 ? word[n - 3] : "";
    return row_of(o, name, strlen(name));
}

void complete_print(const options *o, FILE *out)
{
    offer             to = { .out = out, .before = "" };
    size_t            n  = 0;
    const option_row *row;

    while (o->typed[n])
        n++;
    row = asked_by(o, o->typed, n, &to);
    if (row)
        put_values(&to, row);
    else if (*to.typed == '-')
        put_options(&to, o);
    else
        put_arguments(&to, o->command);
}

void complete_commands(const command *const *commands, size_t n, const char *typed, FILE *out)
{
    const offer to = { .out = out, .typed = typed ? typed : "", .before = "" };

    for (size_t i = 0; i < n; i++)
        put(&to, commands[i]->name, commands[i]->doc);
    put(&to, "help", "Explain a command");
    put(&to, "version", "Print the version");
}
