/* A plugin that does not come back: in cost(), while it is loaded, or, later, from lower() once the
 * file $LAYERMETER_TEST_HANG is there. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <layermeter/plugin.h>

#ifdef STUCK_LOAD
__attribute__((constructor)) static void crash(void)
{
    raise(SIGSEGV);
}
#endif

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_status cost(const lm_layer *layer, lm_cost *out)
{
    (void)layer;
    (void)out;
#ifndef STUCK_LATER
    while (pause()) /* never 0 */
        continue;
#endif
    return LM_OK;
}

#ifdef STUCK_LATER
static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const char *file = getenv("LAYERMETER_TEST_HANG");

    (void)layer;
    (void)pass;
    (void)sink;
    while (file && !access(file, F_OK))
        pause();
    return LM_OK;
}
#endif

static const lm_layer_type hangs = {
    .size       = sizeof(lm_layer_type),
    .name       = "hangs",
    .doc        = "waits for ever",
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
#ifdef STUCK_LATER
    .lower = lower,
#endif
};

static const lm_layer_type *const types[] = { &hangs };

LM_PLUGIN = {
    LM_PLUGIN_HEAD, LM_TYPES(types), .name = "stuck", .version = "1.2.3", .license = "Apache-2.0",
};
