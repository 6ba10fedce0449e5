/* Reads a network from its INI file: description, arguments, base, layers. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/ini_keys.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "network/block.h"
#include "network/expand.h"
#include "network/network.h"
#include "network/part.h"

/* A value that replaces an argument's default, and its origin. */
typedef struct override {
    const char *name, *value;
    const char *path; /* of the file; NULL: the command line */
    int         line;
} override;

/* One file of the chain from the network asked for to its last base. */
typedef struct loading {
    const char           *path;
    size_t                depth; /* 0: the network asked for; 1: its base; ... */
    const struct loading *above; /* the file that names this one as its base */
    const network        *again; /* a network read from the same file before; NULL: none */
    const override       *override;
    size_t                n_overrides;
    bool                  head_only;
    network              *net;
    ini_document         *doc;
    block_table           texts; /* to replace arguments in arguments */
    lm_error             *err;
} loading;

/* [network]. A base decides `output` only. */
typedef struct head {
    const char *name, *source, *note, *output, *base;
    uint64_t    params, macs;
} head;

static const ini_key head_keys[] = {
    INI_KEY("name", head, name, &type_text),     INI_KEY("source", head, source, &type_text),
    INI_KEY("params", head, params, &type_seed), INI_KEY("macs", head, macs, &type_seed),
    INI_KEY("note", head, note, &type_text),     INI_KEY("output", head, output, &type_text),
    INI_KEY("base", head, base, &type_text),     { .name = NULL },
};

static lm_status read_head(loading *l, head *h)
{
    const ini_section *section = ini_find(l->doc, "network");
    network           *net     = l->net;
    lm_status          status;

    *h = (head){ .name = NULL };
    if (!section)
        return lm_error_set(l->err, LM_E_SYNTAX, "%s: no [network] section: is this a network?",
                            l->path);
    if (!ini_get(section, "name"))
        return ini_fail(l->doc, l->err, section->line, LM_E_SYNTAX, "[network] needs 'name ='");
    status = ini_keys_read(l->path, section, head_keys, "[network]", net->arena, h, l->err);
    if (status || l->above)
        return status;
    net->name             = h->name;
    net->note             = h->note;
    net->source           = h->source;
    net->published_params = h->params;
    net->published_macs   = h->macs;
    return LM_OK;
}

/* The line of a key of [network]. */
static int line_of(const loading *l, const char *key)
{
    return ini_get(ini_find(l->doc, "network"), key)->line;
}

/* ---- arguments ---- */

/* _name: a private argument of the file, computed from others. */
static bool is_private(const char *name)
{
    return *name == '_';
}

static const override *find_override(const loading *l, const char *name)
{
    for (size_t i = l->n_overrides; i-- > 0;)
        if (!strcmp(l->override[i].name, name))
            return &l->override[i];
    return NULL;
}

/* Reads [arguments] in order: a default may name earlier arguments. */
static lm_status read_arguments(loading *l, environment *env)
{
    const ini_section *s   = ini_find(l->doc, "arguments");
    const size_t       n   = s ? s->n_pairs : 0;
    argument          *arg = arena_array(l->net->arena, n + 1, sizeof *arg);
    lm_status          status;

    if (!arg)
        return no_memory(l->err);
    if (n > BLOCK_ARGUMENTS_MAX)
        return ini_fail(l->doc, l->err, s->line, LM_E_SYNTAX, "more than %d arguments",
                        BLOCK_ARGUMENTS_MAX);
    for (size_t i = 0; i < n; i++) {
        const ini_pair *p  = &s->pair[i];
        const override *by = find_override(l, p->key);

        if (!argument_is_name(p->key))
            return ini_fail(l->doc, l->err, p->line, LM_E_SYNTAX,
                            "'%s': an argument's name has letters, digits and _ only", p->key);
        arg[i].name = arena_text(l->net->arena, p->key, strlen(p->key));
        if (!arg[i].name)
            return no_memory(l->err);
        if (by)
            arg[i].value = by->value;
        else if ((status = block_substitute(&l->texts, &(environment){ arg, i, 0, NULL }, p->value,
                                            p->line, &arg[i].value)))
            return status;
    }
    *env = (environment){ arg, n, 0, NULL };
    return LM_OK;
}

static lm_status unknown_argument(const loading *l, const override *o, const environment *env)
{
    char all[300] = "";

    for (size_t i = 0; i < env->n; i++)
        if (!is_private(env->argument[i].name))
            text_add(all, sizeof all, " %s", env->argument[i].name);
    lm_error_set(l->err, LM_E_NOTFOUND, "%s has no argument '%.60s' (%s%s)", l->path, o->name,
                 *all ? "its arguments:" : "it has none", all);
    if (o->path)
        lm_error_prefix(l->err, "%s:%d", o->path, o->line);
    return LM_E_NOTFOUND;
}

/* "width=128 depth=2": what was set. */
static lm_status describe_set(const loading *l)
{
    network *net  = l->net;
    size_t   size = 1;
    char    *set;

    for (size_t i = 0; i < net->n_arguments; i++)
        if (net->argument[i].set)
            size += strlen(net->argument[i].name) + strlen(net->argument[i].value) + 2;
    if (size == 1)
        return LM_OK;
    if (!(net->set = set = arena_alloc(net->arena, size)))
        return no_memory(l->err);
    for (size_t i = 0; i < net->n_arguments; i++)
        if (net->argument[i].set)
            text_add(set, size, "%s%s=%s", *set ? " " : "", net->argument[i].name,
                     net->argument[i].value);
    net->published_params = net->published_macs = 0;
    return LM_OK;
}

/* The last file of the chain declares all arguments. The network records those that were set. */
static lm_status keep_arguments(loading *l, const environment *env)
{
    network *net = l->net;

    for (size_t i = 0; i < l->n_overrides; i++) {
        size_t k = 0;

        while (k < env->n && strcmp(env->argument[k].name, l->override[i].name))
            k++;
        if (k == env->n || is_private(env->argument[k].name))
            return unknown_argument(l, &l->override[i], env);
    }
    net->argument = arena_array(net->arena, env->n + 1, sizeof *net->argument);
    if (!net->argument)
        return no_memory(l->err);
    for (size_t i = 0; i < env->n; i++) {
        const override *by = find_override(l, env->argument[i].name);

        if (!is_private(env->argument[i].name))
            net->argument[net->n_arguments++] =
                (net_argument){ env->argument[i].name, env->argument[i].value, by && !by->path };
    }
    return describe_set(l);
}

static lm_status check_given(const loading *l, const environment *env)
{
    const ini_section *s = ini_find(l->doc, "arguments");

    for (size_t i = 0; i < env->n; i++)
        if (!*env->argument[i].value)
            return ini_fail(l->doc, l->err, s->pair[i].line, LM_E_ARG,
                            "argument '%s' has no default: give it with --set %s=VALUE",
                            env->argument[i].name, env->argument[i].name);
    return LM_OK;
}

/* ---- the chain ---- */

static lm_status load_file(loading *l);

static bool is_ini(const char *path)
{
    const size_t n = strlen(path);

    return n > 4 && !strcmp(path + n - 4, ".ini");
}

/* Does the name have a suffix of letters other than .ini, as files for import do? */
static bool has_other_suffix(const char *name)
{
    const char *suffix = strrchr(name, '.');

    return suffix && suffix[1] && !is_ini(name) &&
           strspn(suffix + 1, "abcdefghijklmnopqrstuvwxyz") == strlen(suffix + 1);
}

/* The base's file, beside this one. */
static bool find_beside(const loading *l, const char *base, char *path, size_t size)
{
    const char  *slash  = strrchr(l->path, '/');
    const size_t folder = slash && *base != '/' ? (size_t)(slash - l->path) + 1 : 0;

    return snprintf(path, size, "%.*s%s%s", (int)folder, l->path, base,
                    is_ini(base) ? "" : ".ini") < (int)size &&
           !access(path, R_OK);
}

/* Finds the base beside this file, or as a network by name. */
static lm_status find_base(const loading *l, const head *h, char *path, size_t size)
{
    const bool other  = has_other_suffix(h->base);
    lm_status  status = LM_OK;

    if (find_beside(l, h->base, path, size))
        return LM_OK;
    if (!other)
        status = network_find(h->base, path, size, l->err);
    if (!status && (other || !is_ini(path)))
        status = lm_error_set(l->err, LM_E_ARG,
                              "'%.60s' is no .ini file: 'layermeter import' makes one", h->base);
    else if (!status && access(path, R_OK))
        status = lm_error_set(l->err, LM_E_NOTFOUND,
                              "no file '%.60s' beside this one: give the path from here, or "
                              "the name of a network ('layermeter models' lists them)",
                              h->base);
    if (status)
        lm_error_prefix(l->err, "%s:%d: base", l->path, line_of(l, "base"));
    return status;
}

static lm_status check_chain(const loading *l, const head *h, const char *base)
{
    char   mine[PATH_MAX], theirs[PATH_MAX];
    size_t n = 0;

    for (const loading *f = l; f; f = f->above, n++)
        if (realpath(base, theirs) && realpath(f->path, mine) && !strcmp(mine, theirs))
            return ini_fail(l->doc, l->err, line_of(l, "base"), LM_E_SYNTAX,
                            "base = %s: a network that is its own base", h->base);
    if (n > NETWORK_BASES_MAX)
        return ini_fail(l->doc, l->err, line_of(l, "base"), LM_E_SYNTAX,
                        "base = %s: more than %d bases behind each other", h->base,
                        NETWORK_BASES_MAX);
    return LM_OK;
}

/* Passes this file's arguments and their overrides to the base. */
static lm_status load_base(loading *l, const head *h, const environment *env)
{
    const ini_section *s   = ini_find(l->doc, "arguments");
    override          *all = arena_array(l->net->arena, env->n + l->n_overrides + 1, sizeof *all);
    char               path[PATH_MAX];
    loading            base = {
                   .depth     = l->depth + 1,
                   .above     = l,
                   .again     = l->again,
                   .override  = all,
                   .head_only = l->head_only,
                   .net       = l->net,
                   .err       = l->err,
    };
    lm_status status;

    if (!all)
        return no_memory(l->err);
    for (size_t i = 0; i < l->doc->n_sections; i++)
        if (strcmp(l->doc->section[i].name, "network") &&
            strcmp(l->doc->section[i].name, "arguments"))
            return ini_fail(l->doc, l->err, l->doc->section[i].line, LM_E_SYNTAX,
                            "[%s]: a network with a base has [network] and [arguments] only",
                            l->doc->section[i].name);
    if (h->output)
        return ini_fail(l->doc, l->err, line_of(l, "output"), LM_E_SYNTAX,
                        "output: a network with a base has that of its base");
    for (size_t i = 0; i < env->n; i++)
        if (!is_private(env->argument[i].name))
            all[base.n_overrides++] = (override){ env->argument[i].name, env->argument[i].value,
                                                  l->path, s->pair[i].line };
    for (size_t i = 0; i < l->n_overrides; i++)
        all[base.n_overrides++] = l->override[i];
    if (!l->again &&
        ((status = find_base(l, h, path, sizeof path)) || (status = check_chain(l, h, path))))
        return status;
    base.path = l->again ? l->again->document[base.depth]->path : path;
    return load_file(&base);
}

static lm_status load_file(loading *l)
{
    environment env;
    head        h;
    lm_status   status = LM_OK;

    if (l->again)
        l->doc = l->again->document[l->depth];
    else if (!(status = ini_load(l->path, &l->doc, l->err)))
        l->net->document[l->depth] = l->doc;
    if (status)
        return status;
    l->texts = (block_table){ .doc = l->doc, .arena = l->net->arena, .err = l->err };
    status   = read_head(l, &h);
    if (!status)
        status = read_arguments(l, &env);
    if (!status && h.base) {
        status = load_base(l, &h, &env);
    } else if (!status) {
        if (l->above && !(l->net->base = arena_text(l->net->arena, l->path, strlen(l->path))))
            status = no_memory(l->err);
        if (!status)
            status = keep_arguments(l, &env);
        if (!status && !l->head_only && !(status = check_given(l, &env)))
            status = expand_layers(l->doc, &env, h.output, h.output ? line_of(l, "output") : 0,
                                   l->net, l->err);
    }
    return status;
}

/* "NAME=VALUE" words as overrides. */
static lm_status split_settings(const network_choices *choices, loading *l)
{
    const size_t n   = choices ? choices->n_set : 0;
    override    *all = arena_array(l->net->arena, n + 1, sizeof *all);

    if (!all)
        return no_memory(l->err);
    for (size_t i = 0; i < n; i++) {
        const char *word  = choices->set[i];
        const char *equal = strchr(word, '=');

        if (!equal || !equal[1])
            return lm_error_set(l->err, LM_E_ARG, "argument: expected NAME=VALUE, found '%.60s'",
                                word);
        all[i].name  = arena_text(l->net->arena, word, (size_t)(equal - word));
        all[i].value = arena_text(l->net->arena, equal + 1, strlen(equal + 1));
        if (!all[i].name || !all[i].value)
            return no_memory(l->err);
    }
    l->override    = all;
    l->n_overrides = n;
    return LM_OK;
}

/* `again`: a network of the same file, so that the file is not read twice; or NULL. */
static lm_status load(const char *path, const network *again, const network_choices *choices,
                      network **out, lm_error *err)
{
    lm_error  ignored;
    arena    *a   = arena_new();
    network  *net = a ? arena_alloc(a, sizeof *net) : NULL;
    loading   l   = { .path = path, .again = again, .net = net, .err = err ? err : &ignored };
    lm_status status;

    if (!net || !(net->path = arena_text(a, path, strlen(path)))) {
        arena_free(a);
        return no_memory(err);
    }
    net->arena  = a;
    l.head_only = choices && choices->head_only;
    status      = split_settings(choices, &l);
    if (!status)
        status = load_file(&l);
    if (status) {
        network_free(net);
        return status;
    }
    *out = net;
    return LM_OK;
}

lm_status network_load(const char *path, const network_choices *choices, network **out,
                       lm_error *err)
{
    return load(path, NULL, choices, out, err);
}

static const net_argument *argument_of(const network *net, const char *name)
{
    for (size_t i = 0; i < net->n_arguments && !net->part; i++)
        if (!strcmp(net->argument[i].name, name))
            return &net->argument[i];
    return NULL;
}

/* A network of another file, such as a config.json, keeps its name and note. Its settings are those that
 * the user gave, and the further arguments. */
static lm_status keep_name(const network *net, const char *const *more, size_t n_more, network *out,
                           lm_error *err)
{
    size_t size = (net->set ? strlen(net->set) : 0) + 1;
    char  *set;

    for (size_t i = 0; i < n_more; i++)
        size += strlen(more[i]) + 1;
    if (!(set = arena_alloc(out->arena, size)))
        return no_memory(err);
    text_add(set, size, "%s", net->set ? net->set : "");
    for (size_t i = 0; i < n_more; i++)
        text_add(set, size, "%s%s", *set ? " " : "", more[i]);
    out->set  = set;
    out->name = arena_text(out->arena, net->name, strlen(net->name));
    out->note = net->note ? arena_text(out->arena, net->note, strlen(net->note)) : NULL;
    return out->name && (out->note || !net->note) ? LM_OK : no_memory(err);
}

/* Opens the network again with its settings and further arguments. */
static lm_status load_with(const network *net, const char *const *more, size_t n_more,
                           network **out, lm_error *err)
{
    const char **word = malloc((net->n_arguments + n_more) * sizeof *word);
    char        *text;
    size_t       n = 0, used = 0, size = 1;
    lm_status    status;

    for (const net_argument *a = net->argument; a < net->argument + net->n_arguments; a++)
        size += a->set ? strlen(a->name) + strlen(a->value) + 2 : 0;
    text = malloc(size);
    if (!word || !text) {
        status = no_memory(err);
    } else {
        for (const net_argument *a = net->argument; a < net->argument + net->n_arguments; a++)
            if (a->set) {
                word[n++] = text + used;
                used += (size_t)snprintf(text + used, size - used, "%s=%s", a->name, a->value) + 1;
            }
        memcpy(word + n, more, n_more * sizeof *more);
        status =
            load(net->path, net, &(network_choices){ .set = word, .n_set = n + n_more }, out, err);
        if (!status && ((net->base && (status = keep_name(net, more, n_more, *out, err))) ||
                        (net->lora && (status = network_adapt(*out, net->lora, err)))))
            network_free(*out);
    }
    free(word);
    free(text);
    return status;
}

lm_status network_for_use(const network *net, const char *input, bool evaluation, network **out,
                          lm_error *err)
{
    const net_argument *sequence = input ? argument_of(net, "sequence") : NULL;
    const net_argument *aux      = evaluation ? argument_of(net, "aux") : NULL;
    const char         *more[2];
    char                setting[40];
    int64_t             wanted = 0, length = 0;
    size_t              n = 0;

    *out = NULL;
    if (sequence && !text_int(input, &wanted, NULL) && wanted > 0 &&
        (text_int(sequence->value, &length, NULL) || length != wanted)) {
        if (sequence->set)
            return lm_error_set(err, LM_E_ARG, "%s: an input of %lld, but 'sequence = %s' was set",
                                net->path, (long long)wanted, sequence->value);
        snprintf(setting, sizeof setting, "sequence=%lld", (long long)wanted);
        more[n++] = setting;
    }
    if (aux && strcmp(aux->value, "0") != 0)
        more[n++] = "aux=0";
    return n ? load_with(net, more, n, out, err) : LM_OK;
}

lm_status network_decoding(const network *net, int64_t context, network **out, lm_error *err)
{
    const net_argument *sequence = argument_of(net, "sequence");
    const net_argument *past     = argument_of(net, "context");
    const net_argument *places   = argument_of(net, "positions");
    const char         *more[]   = { "sequence=1", NULL };
    char                setting[40];
    int64_t             most;

    if (!sequence || !past)
        return lm_error_set(err, LM_E_UNSUPPORTED,
                            "%s: does not decode: only networks with the arguments 'sequence' and "
                            "'context' do, such as gpt2 and llama2_7b",
                            net->path);
    if (sequence->set || past->set)
        return lm_error_set(err, LM_E_ARG,
                            "%s: '%s' was set, which decoding sets itself: leave it out", net->path,
                            past->set ? past->name : sequence->name);
    if (places && !text_int(places->value, &most, NULL) && context >= most)
        return lm_error_set(err, LM_E_ARG,
                            "%s: a token behind %lld others has no position: there are %lld",
                            net->path, (long long)context, (long long)most);
    snprintf(setting, sizeof setting, "context=%lld", (long long)context);
    more[1] = setting;
    return load_with(net, more, 2, out, err);
}
