/* Importers of networks from other programs' files. */
#include "formats/formats.h"

#include "formats/huggingface/huggingface.h"
#include "onnx/onnx.h"

const network_format network_formats[] = {
    { ".onnx", onnx_load, false },
    { ".json", huggingface_load, true }, /* or PALEO's */
    { NULL, NULL, false },
};
