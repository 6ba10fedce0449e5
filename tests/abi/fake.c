/* A plugin for the loader's tests: sound as it stands, broken in one way by each definition. */
#include <layermeter/plugin.h>

#ifndef FAKE_MINOR
#define FAKE_MINOR LM_ABI_TARGET
#endif
#ifndef FAKE_PLUGIN_SIZE
#define FAKE_PLUGIN_SIZE sizeof(lm_plugin)
#endif
#ifndef FAKE_TYPE_SIZE
#define FAKE_TYPE_SIZE sizeof(lm_layer_type)
#endif
#ifndef FAKE_FALLBACK
#define FAKE_FALLBACK "7"
#endif
#ifndef FAKE_VERSION
#define FAKE_VERSION "1"
#endif
#ifndef FAKE_ROOT
#define FAKE_ROOT layermeter_plugin_v1
#endif

static const lm_param params[] = {
    { .name     = "number",
      .kind     = LM_INT,
      .fallback = FAKE_FALLBACK,
      .min      = 1,
      .max      = 9,
      .doc      = "any" },
};

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    cost->pass[LM_FORWARD].flops = lm_elements(&layer->input[0]);
    return LM_OK;
}

#define FAKE_HEAD(type_name)                                                                     \
    .size = FAKE_TYPE_SIZE, .name = type_name, .doc = "the input, unchanged", LM_PARAMS(params), \
    .min_inputs = 1, .max_inputs = 1, .n_outputs = 1, .infer = infer

/* Behind a short `size` stands what the host must not read. */
static const void *garbage(const char *id)
{
    return id;
}

static const lm_layer_type fake = { FAKE_HEAD("fake"), .cost = cost, .extension = garbage };

#ifdef FAKE_SECOND /* infer without cost */
static const lm_layer_type        second  = { FAKE_HEAD("fake_second") };
static const lm_layer_type *const types[] = { &fake, &second };
#else
static const lm_layer_type *const types[] = { &fake };
#endif

extern LM_EXPORT const lm_plugin FAKE_ROOT;
const lm_plugin                  FAKE_ROOT = {
                     .size      = FAKE_PLUGIN_SIZE,
                     .abi_minor = FAKE_MINOR,
                     LM_TYPES(types),
                     .name    = "fake",
                     .version = FAKE_VERSION,
                     .license = "Apache-2.0",
};
