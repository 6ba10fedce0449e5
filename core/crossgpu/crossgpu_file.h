/** What was learned, as text. */
#ifndef CROSSGPU_CROSSGPU_FILE_H
#define CROSSGPU_CROSSGPU_FILE_H

#include "crossgpu/crossgpu.h"

/** Under a temporary name, renamed when whole. LM_E_IO, LM_E_NOMEM. */
lm_status crossgpu_save(const crossgpu *c, const char *path, lm_error *err);

/** LM_E_IO, LM_E_SYNTAX, LM_E_ARG, LM_E_NOTFOUND, LM_E_UNSUPPORTED (of a later version);
 * "path:line: ..."
 */
lm_status crossgpu_load(const char *path, crossgpu **out, lm_error *err);

/** The text alone; `text` is cut up. */
void      crossgpu_write(FILE *out, const crossgpu *c);
lm_status crossgpu_read(const char *path, char *text, crossgpu **out, lm_error *err);

#endif
