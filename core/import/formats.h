/** Files of other programs that are read as networks. */
#ifndef IMPORT_FORMATS_H
#define IMPORT_FORMATS_H

#include "network/network.h"

/** ONNX and PALEO's JSON, for registry_set_formats(). A build without one of them refuses its files. */
extern const network_format import_formats[];

#endif
