/* layermeter show: exact counts of a network, per layer and in total. */
#include "cli/commands.h"
#include "report/counts_view.h"

typedef struct show_options {
    bind_options    bind;
    network_options network;
    const char     *block, *features;
    bool            totals, unique;
    format          format;
} show_options;

#define AT(member) OPTION_AT(show_options, member)

static const option_row option_rows[] = {
    { "batch", AT(bind.batch), &type_whole, "N", "1", HELP_WHAT, "samples per device", .least = 1,
      .outside = "must be 1 or more" },
    { "image", AT(bind.image), &type_whole, "PIXELS", .least = 1, .outside = "must be 1 or more" },
    { "input", AT(bind.input) },
    { "dtype", AT(bind.dtype) },
    { "mixed", AT(bind.mixed), &type_dtype, "TYPE", NULL, HELP_HOW,
      "mixed precision: f32 with autocast to f16, bf16 or fp8, whose casts are counted",
      .excludes = "dtype", .refusal = "has f32 weights: leave out --dtype" },
    { "block", AT(block) },
    { "features", AT(features), &type_text, "NAME", NULL, HELP_WHAT,
      "print the inputs of another model instead of counts: prenet or paleo", .excludes = "totals",
      .refusal = "features are of layers and have no totals" },
    { "totals", AT(totals), &type_flag, NULL, NULL, HELP_OUTPUT, "print only the totals" },
    { "unique", AT(unique), &type_flag, NULL, NULL, HELP_OUTPUT,
      "print each distinct operation once, with its number of uses", .excludes = "totals",
      .refusal = "operations have no totals: leave one out" },
    { "format", AT(format) },
    OPTION_GROUP(show_options, network, network_option_rows),
    { .name = NULL },
};

static const char details[] =
    "Each multiply-accumulate (MAC) counts as 2 FLOPs, as in published tables. 'FLOPs' are those of\n"
    "convolutions, linear layers and products of activations (attention). Bias, norm, activation, pooling\n"
    "and loss count as 'other'. 'layers' are executed layers, counted as modules of a framework; add,\n"
    "concat and flatten are listed, but not counted. The backward pass omits work that is not needed: the\n"
    "first layer has no input gradient.\n"
    "\n"
    "--features prenet prints the inputs of PreNeT's models (ICPE 2025) in training, layer by layer. They\n"
    "are operations and memory (in elements), by PreNeT's published formulas. --features paleo prints the\n"
    "arithmetic and the memory traffic that PALEO (ICLR 2017) counts. PALEO counts a convolution as one\n"
    "product, with zeros around and between the pixels. A layer that PALEO does not know counts as zero.\n"
    "\n"
    "--unique prints the list of operations that a sweep measures ([layers] networks = ...). Each row has\n"
    "a layer type, its keys and input as in observations, and the counts of one call.\n";

static const char examples[] = "  layermeter show resnet50\n"
                               "  layermeter show resnet50 --image 128 --batch 32 --block layer3\n"
                               "  layermeter show my/net.ini --format json\n";

static lm_status check(options *o, lm_error *err)
{
    const show_options *a = o->filled;

    return !a->features || counts_features_known(a->features)
               ? LM_OK
               : misused(o, &a->features, err, "expected prenet or paleo, found '%.40s'",
                         a->features);
}

static lm_status run(const options *o, lm_error *err)
{
    const show_options *a       = o->filled;
    lm_library         *library = NULL;
    lm_network         *net     = NULL;
    bound_network      *bound   = NULL;
    lm_status           status;

    if (!(status = open_library(o, &library, err)) &&
        !(status = open_network(o, &a->network, library, &net, err)) &&
        !(status = bind_network(net->net, library->reg, &a->bind, &bound, err)))
        status = counts_print(bound,
                              &(counts_question){ a->block, a->features, a->totals, a->unique,
                                                  !a->bind.image && !a->bind.input && !a->block,
                                                  a->format },
                              stdout, err);
    bound_network_free(bound);
    lm_network_close(net);
    lm_library_close(library);
    return status;
}

const command cmd_show =
    COMMAND("show", "NETWORK", "Count FLOPs, parameters, layers and activations of a network",
            show_options, 1, 1, check, run);
