/** Nsight Systems: its two kinds of files. */
#ifndef IMPORT_NSYS_H
#define IMPORT_NSYS_H

#include "import/profile.h"

/** First bytes of an SQLite file, with the NUL. */
#define NSYS_SQLITE "SQLite format 3"

/** `nsys export --type sqlite`; without SQLite one clear refusal. */
lm_status nsys_read_sqlite(const char *path, profile *seen, log_rows *out, lm_error *err);
/** `nsys stats --format csv` of nvtx_pushpop_trace or nvtx_gpu_proj_trace. */
lm_status nsys_read_csv(const char *path, profile *seen, lm_error *err);

/** Element type of an NCCL all-reduce, from its kernel's name; 0: unknown. */
lm_dtype nsys_nccl_dtype(const char *kernel);

#endif
