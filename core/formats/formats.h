/** Importers of networks from other programs' files. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "network/network.h"

/** ONNX and PALEO's JSON, for registry_set_formats(). A build without one of them refuses its
 * files. */
extern const network_format network_formats[];

#endif
