/* Without SQLite: one clear refusal. */
#include "import/nsys/nsys.h"

lm_status nsys_read_sqlite(const char *path, profile *seen, log_rows *out, lm_error *err)
{
    (void)seen;
    (void)out;
    return lm_error_set(err, LM_E_UNSUPPORTED,
                        "%s: this build reads no SQLite files: install SQLite (libsqlite3-dev) and "
                        "build again, or give CSV of 'nsys stats'",
                        path);
}
