/* The list of learned models of single layers, and their settings. */
#include "layerwise/layerwise.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "base/text.h"

#define WORDS 32 /* of --learn */

#define ADDRESS(kind) &kind,

const layerwise_kind *const layerwise_kinds[] = { LAYERWISE_KINDS(ADDRESS) NULL };

const layerwise_kind *layerwise_find(const char *name)
{
    for (size_t i = 0; layerwise_kinds[i]; i++)
        if (!strcmp(layerwise_kinds[i]->name, name))
            return layerwise_kinds[i];
    return NULL;
}

const char *layerwise_names(const char *between, char *text, size_t size)
{
    *text = '\0';
    for (size_t i = 0; layerwise_kinds[i]; i++)
        text_add(text, size, "%s%s", i ? between : "", layerwise_kinds[i]->name);
    return text;
}

void layerwise_add(layerwise_features *to, const char *name, layerwise_sort sort, double value)
{
    assert(to->n < LAYERWISE_FEATURES);
    snprintf(to->of[to->n].name, LAYERWISE_NAME, "%s", name);
    to->of[to->n].sort    = sort;
    to->of[to->n++].value = value;
}

void layerwise_add_words(layerwise_features *to, const char *prefix, const char *const *word,
                         const char *found)
{
    char name[LAYERWISE_NAME];
    bool other = *found;

    for (; *word; word++) {
        const bool here = !strcmp(*word, found);

        snprintf(name, sizeof name, "%s.%s", prefix, *word);
        layerwise_add(to, name, LAYERWISE_FLAG, here);
        other &= !here;
    }
    snprintf(name, sizeof name, "%s.other", prefix);
    layerwise_add(to, name, LAYERWISE_FLAG, other);
}

const char *const layerwise_activations[] = { "relu", "tanh", "sigmoid", NULL };
const char *const layerwise_optimizers[]  = { "sgd",  "adadelta", "adagrad", "momentum",
                                              "adam", "rmsprop",  NULL };

bool layerwise_is_attention(const bound_layer *l)
{
    return !strcmp(l->decl->type, "scaled_dot_product_attention");
}

bool layerwise_is_function(const bound_layer *l)
{
    return l->n_inputs == 1 && l->n_kernels[LM_FORWARD] == 1 &&
           l->kernels[LM_FORWARD]->op == LM_OP_MAP && !l->n_weights;
}

bool layerwise_is_loss(const bound_layer *l)
{
    return l->n_outputs == 1 && lm_elements(&l->output[0]) == 1;
}

bool layerwise_device_word(const char *word, const device *on, char name[LAYERWISE_NAME])
{
    const char *told = !on                           ? NULL
                       : !strcmp(word, "gpu")        ? on->name
                       : !strcmp(word, "technology") ? on->architecture
                                                     : device_class_names[on->power_class];

    if (!told || !*told)
        return false;
    snprintf(name, LAYERWISE_NAME, "%s.%s", word, told);
    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '_' : *c;
    return true;
}

/* ---- settings ---- */

static size_t find_setting(const layerwise_kind *kind, const char *name)
{
    size_t i = 0;

    while (i < LAYERWISE_SETTINGS && kind->setting[i].name &&
           strcmp(kind->setting[i].name, name) != 0)
        i++;
    return i < LAYERWISE_SETTINGS && kind->setting[i].name ? i : LAYERWISE_SETTINGS;
}

double layerwise_setting_of(const layerwise_kind *kind, const double *setting, const char *name)
{
    const size_t at = find_setting(kind, name);

    return at < LAYERWISE_SETTINGS ? setting[at] : 0;
}

static bool known_to_any(const char *name)
{
    for (size_t i = 0; layerwise_kinds[i]; i++)
        if (find_setting(layerwise_kinds[i], name) < LAYERWISE_SETTINGS)
            return true;
    return false;
}

/* "layers=6" */
static lm_status set(const layerwise_kind *kind, char *word, double *out, lm_error *err)
{
    char     *equals = strchr(word, '=');
    double    value;
    size_t    at;
    lm_status status;

    if (!equals)
        return lm_error_set(err, LM_E_SYNTAX, "expected NAME=NUMBER, found '%.40s'", word);
    *equals = '\0';
    word    = text_trim(word);
    if (!known_to_any(word))
        return lm_error_set(err, LM_E_NOTFOUND, "'%.40s': no learned model has such a setting",
                            word);
    if ((status = text_real(text_trim(equals + 1), &value, err))) {
        lm_error_prefix(err, "%.40s", word);
        return status;
    }
    if ((at = find_setting(kind, word)) == LAYERWISE_SETTINGS)
        return LM_OK;
    if (!(value >= kind->setting[at].low && value <= kind->setting[at].high))
        return lm_error_set(err, LM_E_ARG, "%s=%g: %g to %g, %s", word, value,
                            kind->setting[at].low, kind->setting[at].high, kind->setting[at].doc);
    out[at] = value;
    return LM_OK;
}

/* One word: "layers=6", or "published". */
static lm_status set_word(const layerwise_kind *kind, char *word, double *out, lm_error *err);

/* Several, parted by commas. */
static lm_status set_all(const layerwise_kind *kind, const char *text, double *out, lm_error *err)
{
    char     *copy   = strdup(text ? text : ""), *word[WORDS];
    size_t    n      = copy ? text_split(copy, ',', word, WORDS) : 0;
    lm_status status = !copy       ? no_memory(err)
                       : n > WORDS ? lm_error_set(err, LM_E_ARG, "more than %d settings", WORDS)
                                   : LM_OK;

    for (size_t i = 0; i < n && !status; i++)
        if (*text_trim(word[i]))
            status = set_word(kind, word[i], out, err);
    free(copy);
    return status;
}

static lm_status set_word(const layerwise_kind *kind, char *word, double *out, lm_error *err)
{
    return strcmp(text_trim(word), "published") != 0 ? set(kind, word, out, err)
                                                     : set_all(kind, kind->published, out, err);
}

lm_status layerwise_settings(const layerwise_kind *kind, const char *text,
                             double out[LAYERWISE_SETTINGS], lm_error *err)
{
    for (size_t i = 0; i < LAYERWISE_SETTINGS; i++)
        out[i] = kind->setting[i].usual;
    return set_all(kind, text, out, err);
}
