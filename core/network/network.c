/* Networks by name: finds their files and chooses a reader. */
#include "network/network.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/ini.h"
#include "base/no_memory.h"
#include "base/place.h"
#include "base/text.h"
#include "layers/registry.h"
#include "network/block.h"
#include "network/part.h"

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);

    return n > m && !strcmp(name + n - m, suffix);
}

static lm_status read_ini(const char *path, const network_choices *choices, network **out,
                          lm_error *err)
{
    if (choices && choices->n_treat + choices->n_ignore)
        return lm_error_set(err, LM_E_ARG,
                            "%s: --treat and --ignore are for files of other formats", path);
    return network_load(path, choices, out, err);
}

/* NULL: an .ini file, or a name. */
static const network_format *format_of(const registry *reg, const char *name)
{
    const network_format *f = registry_formats(reg);

    while (f && f->suffix && !has_suffix(name, f->suffix))
        f++;
    return f && f->suffix ? f : NULL;
}

/* Folders with networks, each with a newline at its end: $LAYERMETER_MODEL_PATH, then the installed
 * folder. malloc'ed. */
static lm_status model_folders(char **out, lm_error *err)
{
    const char *env = getenv("LAYERMETER_MODEL_PATH");
    char        shipped[PATH_MAX];
    lm_status   status = place_installed(LAYERMETER_MODEL_DIR, shipped, sizeof shipped, err);
    size_t      size   = strlen(env ? env : "") + strlen(shipped) + 3;

    if (status)
        return status;
    if (!(*out = malloc(size)))
        return no_memory(err);
    snprintf(*out, size, "%s:", env ? env : "");
    for (char *c = *out; (c = strchr(c, ':'));)
        *c = '\n';
    snprintf(*out + strlen(*out), size - strlen(*out), "%s\n", shipped);
    return LM_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(network_names *names, const char *file)
{
    const size_t n = strlen(file);
    char       **more;

    if (n <= 4 || *file == '.' || strcmp(file + n - 4, ".ini"))
        return true;
    if (!(more = realloc(names->name, (names->n + 1) * sizeof *more)))
        return false;
    names->name    = more;
    more[names->n] = strndup(file, n - 4);
    return more[names->n++] != NULL;
}

lm_status network_list(network_names *out, lm_error *err)
{
    network_names names = { NULL, 0 };
    char         *folders, *save = NULL;
    bool          fine   = true;
    size_t        n      = 0;
    lm_status     status = model_folders(&folders, err);

    if (status)
        return status;
    for (char *f = strtok_r(folders, "\n", &save); f; f = strtok_r(NULL, "\n", &save)) {
        DIR *folder = opendir(f);

        for (struct dirent *entry; folder && fine && (entry = readdir(folder));)
            fine = add_name(&names, entry->d_name);
        if (folder)
            closedir(folder);
    }
    free(folders);
    if (!fine) {
        network_names_free(&names);
        return no_memory(err);
    }
    if (names.n)
        qsort(names.name, names.n, sizeof *names.name, by_text);
    for (size_t i = 0; i < names.n; i++)
        if (n && !strcmp(names.name[n - 1], names.name[i]))
            free(names.name[i]);
        else
            names.name[n++] = names.name[i];
    names.n = n;
    *out    = names;
    return LM_OK;
}

void network_names_free(network_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->name[i]);
    free(names->name);
    *names = (network_names){ NULL, 0 };
}

/* Letters and digits alone: "Llama-3.1-8B" and "llama3_1_8b" are near. */
static void plain_name(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (; *name && n + 1 < size; name++)
        if (isalnum((unsigned char)*name))
            out[n++] = *name;
    out[n] = '\0';
}

/* Does `longer` begin with `name`, and is it shorter than `near`, or before it in order? */
static bool continues_sooner(const char *name, const char *longer, const char *near)
{
    const size_t n = strlen(name), l = strlen(longer), has = strlen(near);

    return !strncmp(near, name, n) && !strncmp(longer, name, n) &&
           (l < has || (l == has && strcmp(longer, near) < 0));
}

/* The one of the names that is nearest; NULL: none is near. */
static const char *nearest(const network_names *all, const char *name)
{
    const char *near     = NULL;
    size_t      distance = TEXT_NEAR;
    char        wanted[80], known[80], best[80] = "";

    plain_name(name, wanted, sizeof wanted);
    for (size_t i = 0; i < all->n; i++) {
        plain_name(all->name[i], known, sizeof known);
        if (text_nearer(wanted, known, &distance) ||
            (near && continues_sooner(wanted, known, best))) {
            near = all->name[i];
            memcpy(best, known, sizeof best);
        }
    }
    return near;
}

/* Is it as models are called on huggingface.co, "facebook/opt-1.3b"? */
static bool is_hub_name(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash && isalnum((unsigned char)*name) && slash[1] && !strchr(slash + 1, '/') &&
           !has_suffix(name, ".ini") && !has_suffix(name, ".json") && !has_suffix(name, ".onnx");
}

/* Its layers are in a file that the user fetches; or it ships under a name that is near. */
static lm_status not_fetched(const char *name, lm_error *err)
{
    network_names all    = { NULL, 0 };
    lm_status     status = network_list(&all, err);
    const char   *near   = status ? NULL : nearest(&all, strchr(name, '/') + 1);

    if (!status)
        status = lm_error_set(
            err, LM_E_NOTFOUND,
            "no file '%s'; if it is a model of Hugging Face%s%s%s, fetch its layers: curl -LO "
            "https://huggingface.co/%s/resolve/main/config.json, then give ./config.json",
            name, near ? ", which may ship as '" : "", near ? near : "", near ? "'" : "", name);
    network_names_free(&all);
    return status;
}

/* Error for an unknown name; suggests the nearest one. */
static lm_status nowhere(const char *name, lm_error *err)
{
    const char   *env = getenv("LAYERMETER_MODEL_PATH"), *near = NULL;
    network_names all = { NULL, 0 };
    char          shipped[PATH_MAX];
    lm_status     status = place_installed(LAYERMETER_MODEL_DIR, shipped, sizeof shipped, err);

    if (!status)
        status = network_list(&all, err);
    if (!status)
        near = nearest(&all, name);
    if (!status && near)
        status =
            lm_error_set(err, LM_E_NOTFOUND,
                         "no network '%s' (did you mean '%s'?); 'layermeter models' lists those "
                         "there are, or give a path to an .ini file",
                         name, near);
    else if (!status)
        status = lm_error_set(err, LM_E_NOTFOUND,
                              "no network '%s' in %s%s%s; 'layermeter models' lists those there "
                              "are, or give a path to an .ini file",
                              name, env ? env : "", env ? " or " : "", shipped);
    network_names_free(&all);
    return status;
}

lm_status network_find(const char *name, char *path, size_t size, lm_error *err)
{
    char     *folders, *save = NULL;
    bool      found  = false;
    lm_status status = LM_OK;

    if (is_hub_name(name) && access(name, F_OK))
        return not_fetched(name, err);
    if (strchr(name, '/') || has_suffix(name, ".ini")) {
        if (snprintf(path, size, "%s", name) >= (int)size)
            return lm_error_set(err, LM_E_ARG, "%s: path is too long", name);
        return LM_OK;
    }
    if ((status = model_folders(&folders, err)))
        return status;
    for (char *f = strtok_r(folders, "\n", &save); f && !found; f = strtok_r(NULL, "\n", &save))
        found = snprintf(path, size, "%s/%s.ini", f, name) < (int)size && !access(path, R_OK);
    free(folders);
    return found ? LM_OK : nowhere(name, err);
}

/* Opens a network by a name or path without arguments. */
static lm_status open_file(const char *name, const registry *reg, const network_choices *choices,
                           network **out, lm_error *err)
{
    const network_format *format = format_of(reg, name);
    char                  path[PATH_MAX];
    lm_status             status;

    if (format && !format->settable && choices && choices->n_set)
        return lm_error_set(err, LM_E_ARG, "%s: only .ini files have [arguments] to set", name);
    if (format)
        return format->read(name, reg, choices, out, err);
    status = network_find(name, path, sizeof path, err);
    return status ? status : read_ini(path, choices, out, err);
}

const char *network_name_arguments(const char *name)
{
    const char *part = network_part_at(name);
    const char *end  = part ? part : name + strlen(name);
    const char *at   = name;

    for (const char *slash; (slash = memchr(at, '/', (size_t)(end - at)));)
        at = slash + 1;
    for (; (at = memchr(at, ':', (size_t)(end - at))); at++) {
        char word[64];

        if (snprintf(word, sizeof word, "%.*s", (int)strcspn(at + 1, ":="), at + 1) > 0 &&
            at[1 + strlen(word)] == '=' && argument_is_name(word))
            return at;
    }
    return end;
}

bool network_name_key(const char *name, char *key, size_t size)
{
    static const char without[] = ":sequence=";
    const char       *from      = network_name_arguments(name);
    const char       *at        = strstr(from, without);
    const char       *behind    = at ? at + 1 + strcspn(at + 1, ":") : from;

    return snprintf(key, size, "%.*s%s", (int)((at ? at : from) - name), name, behind) < (int)size;
}

/* Removes the settings of adapters from the list and returns the last; NULL: none. */
static const char *take_adapters(const char **set, size_t *n)
{
    const size_t stem  = sizeof NETWORK_LORA; /* with its "=" */
    const char  *words = NULL;
    size_t       kept  = 0;

    for (size_t i = 0; i < *n; i++)
        if (!strncmp(set[i], NETWORK_LORA "=", stem))
            words = set[i] + stem;
        else
            set[kept++] = set[i];
    *n = kept;
    return words;
}

/* Opens a whole network. The name may have arguments. */
static lm_status open_whole(char *name, const registry *reg, const network_choices *choices,
                            network **out, lm_error *err)
{
    char           *arguments = name + (network_name_arguments(name) - name);
    const size_t    n_set     = choices ? choices->n_set : 0;
    network_choices with      = choices ? *choices : (network_choices){ .set = NULL };
    char           *word[BLOCK_ARGUMENTS_MAX];
    const char    **set, *adapters;
    lm_status       status;

    if (!*arguments && !n_set)
        return open_file(name, reg, choices, out, err);
    if (!(set = malloc((n_set + BLOCK_ARGUMENTS_MAX) * sizeof *set)))
        return no_memory(err);
    with.set   = set;
    with.n_set = 0;
    if (*arguments) {
        *arguments = '\0';
        with.n_set = text_split(arguments + 1, ':', word, BLOCK_ARGUMENTS_MAX);
        memcpy(set, word, with.n_set * sizeof *word);
    }
    if (n_set)
        memcpy(set + with.n_set, choices->set, n_set * sizeof *set);
    with.n_set += n_set;
    adapters = take_adapters(set, &with.n_set);
    status   = open_file(name, reg, &with, out, err);
    if (!status && adapters && !with.head_only && (status = network_adapt(*out, adapters, err))) {
        network_free(*out);
        *out = NULL;
    }
    free(set);
    return status;
}

lm_status network_open(const char *name, const registry *reg, const network_choices *choices,
                       network **out, lm_error *err)
{
    const char  *part  = network_part_at(name);
    const size_t n     = part ? (size_t)(part - name) : strlen(name);
    char        *whole = strndup(name, n);
    network     *net;
    lm_status    status = whole ? open_whole(whole, reg, choices, &net, err) : no_memory(err);

    free(whole);
    if (!status && part && (!choices || !choices->head_only) &&
        (status = network_cut(net, part + strlen(NETWORK_PART), 0, reg, err)))
        network_free(net);
    if (!status)
        *out = net;
    return status;
}

bool network_source_type(const char *type)
{
    return !strcmp(type, "input") || !strcmp(type, "parameter") || !strcmp(type, "constant");
}

void network_free(network *net)
{
    if (!net)
        return;
    for (size_t i = 0; i <= NETWORK_BASES_MAX; i++)
        ini_free(net->document[i]);
    arena_free(net->arena);
}
