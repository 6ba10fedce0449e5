/* Reads a config.json: its architecture's network with the arguments that its keys say. */
#include "formats/huggingface/huggingface.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "formats/huggingface/architectures.h"
#include "formats/paleo/paleo.h"

#define BYTES_MAX  (4 << 20) /* configs name thousands of classes, but have some 100 kB */
#define ARGUMENTS  32
#define SETTING    96
#define VALUE_MOST 1000000000

typedef struct reading {
    const char         *path;
    json_t             *root;
    const architecture *of;
    char                setting[ARGUMENTS][SETTING];
    size_t              n;
    lm_error           *err;
} reading;

/* ---- values ---- */

/* The value of a key; NULL: missing, or null. */
static const json_t *value_of(const reading *r, const char *key)
{
    const json_t *v = key ? json_object_get(r->root, key) : NULL;

    return json_is_null(v) ? NULL : v;
}

static lm_status wrong(const reading *r, const char *key, const char *expected)
{
    return lm_error_set(r->err, LM_E_SYNTAX, "%s: '%s': expected %s", r->path, key, expected);
}

static lm_status number_of(const reading *r, const char *key, json_int_t least, json_int_t *out)
{
    const json_t    *v = value_of(r, key);
    const json_int_t n = json_integer_value(v);

    if (!json_is_integer(v) || n < least || n > VALUE_MOST)
        return wrong(r, key,
                     least ? "a whole number from 1 to 10^9" : "a whole number from 0 to 10^9");
    *out = n;
    return LM_OK;
}

static lm_status put(reading *r, const char *argument, const char *value)
{
    if (r->n == ARGUMENTS ||
        snprintf(r->setting[r->n], SETTING, "%s=%s", argument, value) >= SETTING)
        return lm_error_set(r->err, LM_E_SYNTAX, "%s: too much is set", r->path);
    r->n++;
    return LM_OK;
}

static lm_status put_number(reading *r, const config_argument *a, const char *key)
{
    json_int_t n = 0;
    char       text[32];
    lm_status  status;

    if (a->kind == CONFIG_ENTRIES && json_is_object(value_of(r, key)))
        n = (json_int_t)json_object_size(value_of(r, key));
    else if ((status = number_of(r, key, a->kind != CONFIG_COUNT, &n)))
        return status;
    if (a->kind == CONFIG_ENTRIES && !n)
        return wrong(r, key, "one entry or more");
    if (key == a->other && a->over) {
        json_int_t by = 0;

        if ((status = number_of(r, a->over, 1, &by)))
            return status;
        if (n % by)
            return lm_error_set(r->err, LM_E_UNSUPPORTED,
                                "%s: '%s' %lld is no multiple of '%s' %lld", r->path, key,
                                (long long)n, a->over, (long long)by);
        n /= by;
    }
    n = a->most > 0 && (double)n > a->most ? (json_int_t)a->most : n;
    snprintf(text, sizeof text, "%lld", (long long)n);
    return put(r, a->argument, text);
}

static lm_status put_word(reading *r, const config_argument *a, const char *key)
{
    const char *word = json_string_value(value_of(r, key));

    if (!word || !*word || word[strspn(word, "abcdefghijklmnopqrstuvwxyz_0123456789")])
        return wrong(r, key, "a word of small letters");
    return put(r, a->argument, word);
}

static lm_status put_argument(reading *r, const config_argument *a)
{
    const char *key = value_of(r, a->key) ? a->key : value_of(r, a->other) ? a->other : NULL;

    if (!key && a->usual) /* "": the network's own */
        return *a->usual ? put(r, a->argument, a->usual) : LM_OK;
    if (!key)
        return lm_error_set(r->err, LM_E_NOTFOUND,
                            json_object_get(r->root, a->key)
                                ? "%s: '%s' is null: %s is known here only with a number"
                                : "%s: '%s' is not there, which %s needs",
                            r->path, a->key, r->of->name);
    if (a->kind == CONFIG_WORD)
        return put_word(r, a, key);
    if (a->kind != CONFIG_FLAG)
        return put_number(r, a, key);
    if (!json_is_boolean(value_of(r, key)))
        return wrong(r, key, "true or false");
    return put(r, a->argument, json_is_true(value_of(r, key)) ? "1" : "0");
}

/* ---- what cannot be otherwise ---- */

/* A value as text; "" for what is none. */
static const char *as_text(const json_t *v, char *buffer, size_t size)
{
    *buffer = '\0';
    if (!v || json_is_null(v))
        snprintf(buffer, size, "null");
    else if (json_is_boolean(v))
        snprintf(buffer, size, "%s", json_is_true(v) ? "true" : "false");
    else if (json_is_string(v))
        snprintf(buffer, size, "%s", json_string_value(v));
    else if (json_is_integer(v))
        snprintf(buffer, size, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        snprintf(buffer, size, "%g", json_real_value(v));
    return buffer;
}

/* Is it one of "a|b|=KEY"? */
static bool is_one_of(const reading *r, const char *text, const char *all)
{
    char one[SETTING], other[SETTING];

    for (const char *at = all; *at;) {
        const size_t n = strcspn(at, "|");

        snprintf(one, sizeof one, "%.*s", (int)n, at);
        if (!strcmp(text, *one == '=' ? as_text(value_of(r, one + 1), other, sizeof other) : one))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

static lm_status check_must(const reading *r, const config_must *m)
{
    const json_t *v    = json_object_get(r->root, m->key);
    const bool    like = *m->value == '='; /* another key's */
    char          text[SETTING];

    if (!v && (!m->usual || is_one_of(r, m->usual, m->value)))
        return LM_OK;
    if (is_one_of(r, v ? as_text(v, text, sizeof text) : m->usual, m->value))
        return LM_OK;
    for (char *c = text; v && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return lm_error_set(
        r->err, LM_E_UNSUPPORTED, "%s: '%s' is '%.60s': layers of %s are known with %s%s alone",
        r->path, m->key, v ? text : m->usual, r->of->name, like ? "that of " : "", m->value + like);
}

/* ---- the architecture ---- */

static lm_status unknown(const reading *r, const char *name)
{
    char all[640] = "", shown[64];

    for (size_t i = 0; i < n_architectures; i++)
        text_add(all, sizeof all, "%s%s", i ? ", " : "", architectures[i].name);
    snprintf(shown, sizeof shown, "%.60s", name);
    for (char *c = shown; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return lm_error_set(r->err, LM_E_NOTFOUND, "%s: unknown architecture '%s' (known: %.380s)",
                        r->path, shown, all);
}

/* The first one that is named, else that of the model's type. */
static lm_status find_architecture(reading *r)
{
    const json_t *first = json_array_get(json_object_get(r->root, "architectures"), 0);
    const char   *name  = json_string_value(first), *type;

    type = json_string_value(json_object_get(r->root, "model_type"));
    for (size_t i = 0; i < n_architectures && !r->of; i++) {
        const char *is = name ? architectures[i].name : architectures[i].model;

        if (is && (name || type) && !strcmp(is, name ? name : type))
            r->of = &architectures[i];
    }
    return r->of ? LM_OK : unknown(r, name ? name : type ? type : "");
}

static lm_status read_config(reading *r)
{
    char      fixed[SETTING], *word[4];
    lm_status status = find_architecture(r);
    size_t    n;

    for (const config_must *m = status ? NULL : r->of->must; m && m->key && !status; m++)
        status = check_must(r, m);
    for (const config_argument *a = status ? NULL : r->of->argument; a && a->argument && !status;
         a++)
        status = put_argument(r, a);
    if (status || !r->of->fixed)
        return status;
    snprintf(fixed, sizeof fixed, "%s", r->of->fixed);
    n = text_split(fixed, ' ', word, 4);
    for (size_t i = 0; i < n && !status; i++) {
        char *value = strchr(word[i], '=');

        *value = '\0';
        status = put(r, word[i], value + 1);
    }
    return status;
}

/* ---- the network ---- */

/* The folder of a config.json, else the file without its end. */
static lm_status rename_network(network *net, const char *path, lm_error *err)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path, *from = file;
    size_t      n = strcspn(file, ".");

    if (!strcmp(file, "config.json") && slash && slash != path) {
        for (from = slash; from > path && from[-1] != '/';)
            from--;
        n = (size_t)(slash - from);
    }
    net->base   = net->base ? net->base : net->path;
    net->path   = arena_text(net->arena, path, strlen(path));
    net->name   = arena_text(net->arena, from, n);
    net->source = net->note = net->set = NULL;
    return net->path && net->name ? LM_OK : no_memory(err);
}

/* Records the caller's arguments for the report; the config's own arguments are part of the
 * network. */
static lm_status tell_set(network *net, const network_choices *choices, lm_error *err)
{
    const size_t n    = choices ? choices->n_set : 0;
    size_t       size = 1;
    char        *text;

    for (size_t i = 0; i < n; i++)
        size += strlen(choices->set[i]) + 1;
    if (!(text = arena_alloc(net->arena, size)))
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        text_add(text, size, "%s%s", i ? " " : "", choices->set[i]);
    net->set = n ? text : NULL;
    for (size_t i = 0; i < net->n_arguments; i++) { /* an input may tell another length */
        bool own = false;

        for (size_t k = 0; k < n; k++)
            own |= !strncmp(choices->set[k], "sequence=", 9);
        if (!strcmp(net->argument[i].name, "sequence"))
            net->argument[i].set = own;
    }
    return LM_OK;
}

static lm_status make_network(const reading *r, const network_choices *choices, network **out)
{
    const size_t    n    = choices ? choices->n_set : 0;
    network_choices with = choices ? *choices : (network_choices){ .set = NULL };
    const char    **set  = malloc((r->n + n + 1) * sizeof *set);
    char            base[PATH_MAX];
    network        *net = NULL;
    lm_status       status;

    if (!set)
        return no_memory(r->err);
    for (size_t i = 0; i < r->n; i++)
        set[i] = r->setting[i];
    if (n)
        memcpy(set + r->n, choices->set, n * sizeof *set);
    with.set   = set;
    with.n_set = r->n + n;
    status     = network_find(r->of->base, base, sizeof base, r->err);
    if (!status)
        status = network_load(base, &with, &net, r->err);
    free(set);
    if (!status && !(status = rename_network(net, r->path, r->err)))
        status = tell_set(net, choices, r->err);
    if (!status && value_of(r, "quantization_config"))
        net->note =
            "quantization_config is not read: weights have the type of --dtype (fp8: half of "
            "16 bits; 4 bits are not known)";
    if (status)
        network_free(net);
    else
        *out = net;
    return status;
}

static bool is_config(const json_t *root)
{
    return json_is_array(json_object_get(root, "architectures")) ||
           json_is_string(json_object_get(root, "model_type"));
}

lm_status huggingface_load(const char *path, const registry *reg, const network_choices *choices,
                           network **out, lm_error *err)
{
    lm_error     ignored;
    reading     *r = calloc(1, sizeof *r);
    json_error_t why;
    char        *text = NULL;
    size_t       size;
    lm_status    status;

    if (!r)
        return no_memory(err);
    *r     = (reading){ .path = path, .err = err ? err : &ignored };
    status = file_read_text(path, &text, &size, r->err);
    if (!status && size <= BYTES_MAX)
        r->root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!status && !is_config(r->root)) { /* the other one says what is wrong about it */
        status = choices && choices->n_set
                     ? lm_error_set(r->err, LM_E_ARG, "%s: only .ini files have [arguments] to set",
                                    path)
                     : paleo_load(path, reg, choices, out, r->err);
    } else if (!status && !(status = read_config(r))) {
        status = make_network(r, choices, out);
    }
    json_decref(r->root);
    free(text);
    free(r);
    return status;
}
