/* Handles of libraries, networks and machines. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/handles.h"
#include "base/arena.h"
#include "base/no_memory.h"
#include "base/text.h"
#include "formats/formats.h"
#include "layers/loader.h"
#include "network/memory.h"
#include "network/part.h"

const char *lm_version(void)
{
    return LAYERMETER_VERSION;
}

const char *lm_model_name(size_t i)
{
    return step_model_name(i);
}

/* ---- records ---- */

static size_t size_of(const void *record)
{
    size_t size;

    memcpy(&size, record, sizeof size);
    return size;
}

lm_status record_has(const void *theirs, size_t least, const char *name, lm_error *err)
{
    if (!theirs)
        return lm_error_set(err, LM_E_ARG, "%s: there is no record", name);
    if (size_of(theirs) < least)
        return lm_error_set(err, LM_E_ARG,
                            "%s: a size of %zu is none of its versions: at least %zu", name,
                            size_of(theirs), least);
    return LM_OK;
}

lm_status question_take(void *mine, size_t size, size_t least, const void *theirs, const char *name,
                        lm_error *err)
{
    lm_status status;
    size_t    given;

    memset(mine, 0, size);
    if (!theirs)
        return LM_OK;
    if ((status = record_has(theirs, least, name, err)))
        return status;
    given = size_of(theirs);
    for (size_t i = size; i < given; i++)
        if (((const char *)theirs)[i])
            return lm_error_set(err, LM_E_ARG, "%s: says more than version %s knows", name,
                                LAYERMETER_VERSION);
    memcpy(mine, theirs, given < size ? given : size);
    return LM_OK;
}

void answer_give(void *theirs, const void *mine, size_t size)
{
    const size_t room = size_of(theirs);

    memcpy((char *)theirs + sizeof room, (const char *)mine + sizeof room,
           (room < size ? room : size) - sizeof room);
}

/* ---- libraries ---- */

lm_status registry_open(const char *const *plugins, size_t n, registry **out, lm_error *err)
{
    registry *reg    = NULL;
    lm_status status = registry_new(&reg, err);

    if (!status) {
        registry_set_formats(reg, network_formats);
        status = loader_open_all(reg, plugins, n, err);
    }
    if (status)
        registry_free(reg);
    else
        *out = reg;
    return status;
}

static const char *keep(arena *a, const char *text)
{
    return text ? arena_text(a, text, strlen(text)) : NULL;
}

/* Copies texts that are needed later. */
static lm_status keep_options(lm_library *l, const lm_library_options *o, lm_error *err)
{
    const char **folder = arena_array(l->arena, o->n_folders + 1, sizeof *folder);

    if (!folder)
        return no_memory(err);
    for (size_t i = 0; i < o->n_folders; i++)
        if (!(folder[i] = keep(l->arena, o->folder[i])))
            return no_memory(err);
    l->from = (lm_library_options){ .folder    = folder,
                                    .n_folders = o->n_folders,
                                    .devices   = keep(l->arena, o->devices) };
    return o->devices && !l->from.devices ? no_memory(err) : LM_OK;
}

lm_status lm_library_open(const lm_library_options *options, lm_library **out, lm_error *err)
{
    lm_library        *l = NULL;
    lm_library_options o;
    lm_status          status = QUESTION_TAKE(o, options, err);

    if (status)
        return status;
    if (!(l = calloc(1, sizeof *l)) || !(l->arena = arena_new()))
        status = no_memory(err);
    if (!status && !(status = keep_options(l, &o, err)))
        status = registry_open(o.plugin, o.n_plugins, &l->reg, err);
    if (status)
        lm_library_close(l);
    else
        *out = l;
    return status;
}

void lm_library_close(lm_library *library)
{
    if (!library)
        return;
    registry_free(library->reg);
    arena_free(library->arena);
    free(library);
}

/* ---- networks ---- */

/* The file behind a name in the library's folders, with the name's arguments; else the name. */
static const char *in_folders(const lm_library *l, const char *name, char path[PATH_MAX])
{
    const char *arguments = network_name_arguments(name);
    const int   n         = (int)(arguments - name);

    if (!memchr(name, '/', (size_t)n) && !memchr(name, '.', (size_t)n))
        for (size_t i = 0; i < l->from.n_folders; i++) {
            const int file = snprintf(path, PATH_MAX, "%s/%.*s.ini", l->from.folder[i], n, name);

            if ((size_t)file + strlen(arguments) < PATH_MAX && !access(path, R_OK)) {
                strcpy(path + file, arguments);
                return path;
            }
        }
    return name;
}

/* The name with its arguments, "bert_base:layers=6", as measured networks are looked up. */
static char *name_with(const char *name, const lm_network_options *o)
{
    const char *part = network_part_at(name);
    size_t      size = strlen(name) + 1, used;
    char       *all, *key;

    for (size_t i = 0; i < o->n_set; i++)
        size += strlen(o->set[i]) + 1;
    all = malloc(size);
    key = malloc(size);
    if (all && key) {
        used = (size_t)snprintf(all, size, "%.*s", (int)(part ? part - name : INT_MAX), name);
        for (size_t i = 0; i < o->n_set; i++)
            used += (size_t)snprintf(all + used, size - used, ":%s", o->set[i]);
        snprintf(all + used, size - used, "%s", part ? part : "");
        network_name_key(all, key, size);
    }
    free(all);
    return all ? key : (free(key), NULL);
}

lm_status lm_network_open(const lm_library *library, const char *name,
                          const lm_network_options *options, lm_network **out, lm_error *err)
{
    lm_network        *n = NULL;
    lm_network_options o;
    network_choices    choices;
    char               path[PATH_MAX];
    lm_status          status = QUESTION_TAKE(o, options, err);

    if (status)
        return status;
    choices = (network_choices){ .treat    = o.treat,
                                 .n_treat  = o.n_treat,
                                 .ignore   = o.ignore,
                                 .n_ignore = o.n_ignore,
                                 .strict   = o.strict != 0,
                                 .set      = o.set,
                                 .n_set    = o.n_set };
    if (!(n = calloc(1, sizeof *n)) || !(n->name = name_with(name, &o)))
        status = no_memory(err);
    if (!status) {
        n->library = library;
        status =
            network_open(in_folders(library, name, path), library->reg, &choices, &n->net, err);
    }
    if (status)
        lm_network_close(n);
    else
        *out = n;
    return status;
}

lm_status network_handle_decoding(const lm_network *from, int64_t context, lm_network **out,
                                  lm_error *err)
{
    const size_t size = strlen(from->name) + 40;
    lm_network  *n    = calloc(1, sizeof *n);
    lm_status    status;

    if (!n || !(n->name = malloc(size))) {
        status = no_memory(err);
    } else {
        snprintf(n->name, size, "%s:context=%lld", from->name, (long long)context);
        n->library = from->library;
        status     = network_decoding(from->net, context, &n->net, err);
    }
    if (status)
        lm_network_close(n);
    else
        *out = n;
    return status;
}

void lm_network_close(lm_network *n)
{
    if (!n)
        return;
    network_free(n->net);
    free(n->name);
    free(n);
}

/* ---- counts and memory ---- */

static lm_status input_of(const lm_input *input, bind_options *out, lm_error *err)
{
    lm_input  in;
    lm_status status = QUESTION_TAKE(in, input, err);

    if (!status)
        *out = (bind_options){ .batch = in.batch ? in.batch : 1,
                               .dtype = in.dtype ? in.dtype : LM_F32,
                               .input = in.shape,
                               .image = in.image };
    return status;
}

lm_status lm_network_counts(const lm_network *n, const lm_input *input, lm_counts *out,
                            lm_error *err)
{
    bound_network *bound = NULL;
    bind_options   with;
    net_metrics    m;
    lm_status      status;

    if ((status = ANSWER_CHECK(out, err)) || (status = input_of(input, &with, err)) ||
        (status = bind_network(n->net, n->library->reg, &with, &bound, err)))
        return status;
    status = metrics_of_network(bound, NULL, &m, err);
    bound_network_free(bound);
    if (status)
        return status;
    answer_give(out,
                &(lm_counts){ .params               = m.params,
                              .param_tensors        = m.param_tensors,
                              .param_bytes          = m.param_bytes,
                              .layers               = m.layers,
                              .macs                 = m.flops_forward / 2,
                              .flops_forward        = m.flops_forward,
                              .flops_backward       = m.flops_backward,
                              .other_flops_forward  = m.other_flops_forward,
                              .other_flops_backward = m.other_flops_backward,
                              .activation_bytes     = m.activation_bytes,
                              .read_bytes           = m.read_bytes,
                              .written_bytes        = m.written_bytes },
                sizeof *out);
    return LM_OK;
}

static lm_status memory_asked(const lm_memory_options *options, memory_options *out,
                              bind_options *with, lm_error *err)
{
    lm_memory_options o;
    lm_status         status = QUESTION_TAKE(o, options, err);

    if (status)
        return status;
    *out =
        (memory_options){ .optimizer = OPTIMIZER_MOMENTUM,
                          .mixed     = o.mixed,
                          .nodes     = o.nodes ? o.nodes : 1,
                          .buckets = o.flags & LM_MEMORY_BUCKET_VIEWS ? BUCKETS_VIEW : BUCKETS_COPY,
                          .keep_gradients = o.flags & LM_MEMORY_KEEP_GRADIENTS,
                          .inplace        = o.flags & LM_MEMORY_INPLACE,
                          .recompute      = o.recompute,
                          .overhead       = o.overhead };
    with->evaluation = o.flags & LM_MEMORY_INFERENCE;
    return o.optimizer ? optimizer_parse(o.optimizer, &out->optimizer, err) : LM_OK;
}

lm_status lm_memory_of_step(const lm_network *n, const lm_input *input,
                            const lm_memory_options *options, lm_memory *out, lm_error *err)
{
    bind_options   with;
    memory_options how;
    memory_use     use;
    lm_status      status;

    if ((status = record_has(out, offsetof(lm_memory, cache), "out", err)) ||
        (status = input_of(input, &with, err)) ||
        (status = memory_asked(options, &how, &with, err)) ||
        (status = memory_of_step(n->net, n->library->reg, &with, &how, &use, NULL, err)))
        return status;
    answer_give(out,
                &(lm_memory){ .peak        = use.peak,
                              .weights     = use.part[MEMORY_WEIGHTS],
                              .frozen      = use.part[MEMORY_FROZEN],
                              .copies      = use.part[MEMORY_COPIES],
                              .gradients   = use.part[MEMORY_GRADIENTS],
                              .buckets     = use.part[MEMORY_BUCKETS],
                              .optimizer   = use.part[MEMORY_OPTIMIZER],
                              .inputs      = use.part[MEMORY_INPUTS],
                              .activations = use.part[MEMORY_ACTIVATIONS],
                              .saved       = use.part[MEMORY_SAVED],
                              .backward    = use.part[MEMORY_BACKWARD],
                              .workspace   = use.part[MEMORY_WORKSPACE],
                              .overhead    = use.part[MEMORY_OVERHEAD],
                              .kept        = use.kept,
                              .layer       = use.layer,
                              .pass        = timeline_pass_name(use.pass),
                              .cache       = use.part[MEMORY_CACHE] },
                sizeof *out);
    return LM_OK;
}

lm_status lm_largest_batch(const lm_network *n, const lm_input *input,
                           const lm_memory_options *options, uint64_t room, int64_t *out,
                           lm_error *err)
{
    bind_options   with;
    memory_options how;
    lm_status      status;

    if ((status = input_of(input, &with, err)) ||
        (status = memory_asked(options, &how, &with, err)))
        return status;
    return memory_largest_batch(n->net, n->library->reg, &with, &how, room, out, err);
}
