/* Importers of networks from other programs' files. */
#include "formats/formats.h"

#include "formats/onnx/onnx.h"
#include "formats/paleo/paleo.h"

const network_format network_formats[] = {
    { ".onnx", onnx_load },
    { ".json", paleo_load },
    { NULL, NULL },
};
