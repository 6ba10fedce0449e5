/* A plugin that hurts whoever loads or asks it, in one way by each definition; sound without. */
#define _GNU_SOURCE /* environ */
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <layermeter/plugin.h>

/* ---- while it is loaded or closed ---- */

#if defined FAULTY_LOAD_CRASH
#define AT_LOAD raise(SIGSEGV)
#elif defined FAULTY_LOAD_HANG
#define AT_LOAD hang()
#elif defined FAULTY_LOAD_EXIT
#define AT_LOAD exit(0)
#elif defined FAULTY_LOAD_EXIT_AT_ONCE
#define AT_LOAD _exit(0)
#elif defined FAULTY_LOAD_HEAP
#define AT_LOAD overrun()
#elif defined FAULTY_LOAD_ENVIRONMENT
#define AT_LOAD environ[0][0] ^= 1
#elif defined FAULTY_LOAD_ROUNDING
#define AT_LOAD fesetround(FE_UPWARD)
#elif defined FAULTY_LOAD_SIGNALS
#define AT_LOAD signal(SIGUSR1, SIG_IGN)
#elif defined FAULTY_LOAD_TIMER
#define AT_LOAD alarm(100)
#elif defined FAULTY_LOAD_FOLDER
#define AT_LOAD     \
    if (chdir("/")) \
    exit(1)
#elif defined FAULTY_LOAD_THREAD
#define AT_LOAD start_thread()
#elif defined FAULTY_LOAD_PRINTS
#define AT_LOAD puts("hello")
#elif defined FAULTY_UNDEFINED
#define AT_LOAD nobody_defines_this()
void nobody_defines_this(void);
#endif

static void hang(void)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (;;)
        pause();
}

static void overrun(void)
{
    volatile unsigned char *block = malloc(24);

    for (int i = 0; block && i < 256; i++)
        block[i] = 0xff;
}

static void *wait_for_ever(void *nothing)
{
    hang();
    return nothing;
}

static void start_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, wait_for_ever, NULL))
        exit(1);
}

__attribute__((constructor)) static void at_load(void)
{
    (void)overrun;
    (void)start_thread;
#ifdef AT_LOAD
    AT_LOAD;
#endif
}

__attribute__((destructor)) static void at_close(void)
{
#ifdef FAULTY_CLOSE_ABORT
    abort();
#endif
}

/* ---- when it is asked ---- */

static lm_status infer(const lm_layer *layer, lm_tensor *output)
{
#if defined FAULTY_INFER_CRASH
    raise(SIGSEGV);
#elif defined FAULTY_INFER_BEYOND
    output[1]           = layer->input[0];
#endif
    output[0] = layer->input[0];
    return LM_OK;
}

static lm_kernel kernel_of(const lm_layer *layer, lm_pass pass)
{
    return (lm_kernel){
        .size   = sizeof(lm_kernel),
        .op     = LM_OP_MAP,
        .pass   = pass,
        .dtype  = layer->input[0].dtype,
        .repeat = 1,
        .u.map  = { .elements          = (int64_t)lm_elements(&layer->input[0]),
                    .operands          = 1,
                    .flops_per_element = 2 },
    };
}

static lm_status cost(const lm_layer *layer, lm_cost *cost)
{
    const lm_kernel kernel = kernel_of(layer, LM_FORWARD);

    cost->pass[LM_FORWARD] = lm_kernel_work(&kernel);
#if defined FAULTY_COST_HANG
    hang();
#elif defined FAULTY_COST_BEYOND
    cost[1].saved_bytes = 1;
#elif defined FAULTY_COST_LIES
    cost->pass[LM_FORWARD].flops = lm_mul(cost->pass[LM_FORWARD].flops, 10);
#elif defined FAULTY_COST_OUTPUT
    ((lm_tensor *)(uintptr_t)layer->output)->dim[0] = 1 + layer->output->dim[0];
#elif defined FAULTY_COST_LAYER
    ((lm_layer *)(uintptr_t)layer)->n_inputs = 0;
#endif
    return LM_OK;
}

static lm_status lower(const lm_layer *layer, lm_pass pass, lm_sink *sink)
{
    const lm_kernel kernel = kernel_of(layer, pass);

#ifdef FAULTY_LOWER_EXIT
    exit(0);
#endif
    if (pass == LM_FORWARD)
        sink->kernel(sink, &kernel);
    return LM_OK;
}

/* ---- what it says it has ---- */

#ifdef FAULTY_WILD_NAME
#define NAME_OF_SECOND ((const char *)16)
#elif defined FAULTY_TWO_PARAMETERS
#define NAME_OF_SECOND "number"
#else
#define NAME_OF_SECOND "second"
#endif

static const lm_param params[] = {
    { .name = "number", .kind = LM_INT, .fallback = "1", .min = 1, .max = 9, .doc = "any" },
    { .name = NAME_OF_SECOND, .kind = LM_INT, .fallback = "1", .min = 1, .max = 9, .doc = "any" },
};

static const lm_layer_type faulty = {
    .size       = sizeof(lm_layer_type),
    .name       = "faulty",
    .doc        = "the input, unchanged",
    .params     = params,
    .param_size = sizeof params[0],
#ifdef FAULTY_MANY_PARAMETERS
    .n_params = 1000000,
#else
    .n_params  = 2,
#endif
    .min_inputs = 1,
    .max_inputs = 1,
    .n_outputs  = 1,
    .infer      = infer,
    .cost       = cost,
    .lower      = lower,
};

static const lm_layer_type *const types[] = {
    &faulty,
#ifdef FAULTY_TWO_TYPES
    &faulty,
#endif
#ifdef FAULTY_WILD_TYPE
    (const lm_layer_type *)16,
#endif
};

#ifdef FAULTY_SYMBOL
#define layermeter_plugin_v1 another_plugin
#endif

LM_PLUGIN = {
    .size = sizeof(lm_plugin),
#ifdef FAULTY_ABI
    .abi_minor = 99,
#else
    .abi_minor = LM_ABI_TARGET,
#endif
#ifdef FAULTY_MANY_TYPES
    .n_types = 1000000000,
    .types   = types,
#else
    LM_TYPES(types),
#endif
    .name    = "faulty",
    .version = "1",
    .license = "Apache-2.0",
};
