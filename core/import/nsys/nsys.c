/* Traces of Nsight Systems. Ranges of NVTX tell steps and layers: torch.cuda.nvtx.range("step 3"). */
#include "import/nsys/nsys.h"

#include <errno.h>
#include <string.h>

lm_dtype nsys_nccl_dtype(const char *kernel)
{
    /* ncclDevKernel_AllReduce_Sum_bf16_RING_LL, ncclKernel_AllReduce_RING_LL_Sum_float */
    static const struct {
        const char *theirs;
        lm_dtype    ours;
    } types[]      = { { "f32", LM_F32 },   { "float", LM_F32 },  { "f16", LM_F16 },
                       { "half", LM_F16 },  { "bf16", LM_BF16 },  { "__nv_bfloat16", LM_BF16 },
                       { "f64", LM_F64 },   { "double", LM_F64 }, { "i8", LM_I8 },
                       { "int8_t", LM_I8 }, { "i32", LM_I32 },    { "int32_t", LM_I32 } };
    const char *at = strstr(kernel, "_Sum_");

    for (size_t t = 0; at && t < sizeof types / sizeof types[0]; t++) {
        const size_t n = strlen(types[t].theirs);

        if (!strncmp(at + 5, types[t].theirs, n) && (!at[5 + n] || strchr("_(<", at[5 + n])))
            return types[t].ours;
    }
    return 0;
}

lm_status nsys_read(const char *path, const extrap_options *given, const registry *reg,
                    log_rows *out, lm_error *err)
{
    char      begins[sizeof NSYS_SQLITE] = "";
    profile  *seen                       = NULL;
    FILE     *file                       = fopen(path, "r");
    lm_status status;

    if (!file)
        return lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
    if (fread(begins, 1, sizeof begins, file) < sizeof begins && ferror(file)) {
        lm_error_set(err, LM_E_IO, "%s: %s", path, strerror(errno));
        fclose(file);
        return err->code;
    }
    fclose(file);
    status = profile_open(path, given, reg, out, &seen, err);
    if (status)
        return status;
    profile_unit(seen, 1e9);
    status = memcmp(begins, NSYS_SQLITE, sizeof begins) ? nsys_read_csv(path, seen, err)
                                                        : nsys_read_sqlite(path, seen, out, err);
    if (!status)
        status = profile_rows(seen, "RANGE",
                              "neither steps, layers nor all-reduces in it: name the NVTX range of "
                              "a step with --region RANGE=NETWORK",
                              err);
    out->tool       = "Nsight Systems";
    out->statistics = "seconds: of steps the median from one beginning to the next; of layers the "
                      "median sum of their kernels (of CSV from the first to the last); of "
                      "all-reduces the least, since others wait for the slowest rank";
    profile_close(seen);
    return status;
}
