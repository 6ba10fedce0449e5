/* Files of other programs that are read as networks. */
#include "import/formats.h"

#include "network/onnx/onnx.h"
#include "network/paleo/paleo.h"

const network_format import_formats[] = {
    { ".onnx", onnx_load },
    { ".json", paleo_load },
    { NULL, NULL },
};
