/* Machine files of a run. */
#include "run/machines.h"
#include "machine/machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"

static const char *name_in_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static lm_status write_one(const findings *f, const char *path, machine_found *out, lm_error *err)
{
    stats_errors e;

    if (!f->cal) {
        snprintf(out->why_not, sizeof out->why_not, "%.199s", f->why_not.text);
        return LM_OK;
    }
    e = validate_judge(&f->p, f->held_out[0], PHASE_STEP, &f->networks, SPLIT_ALWAYS).errors;
    if (e.n)
        out->step_mape = e.mape;
    snprintf(out->file, sizeof out->file, "%.*s", NAME_MAX, name_in_folder(path));
    return machine_save(f->cal, path, err);
}

static lm_status write_other(const run_folder *to, workloads *loads, const char *observations_path,
                             machine_found *out, lm_error *err)
{
    findings  f;
    char      path[PATH_MAX];
    lm_status status = run_folder_machine(to, out->of, path, err);

    if (status)
        return status;
    status = findings_make(observations_path, loads, out->of, &f, err);
    if (!status)
        status = write_one(&f, path, out, err);
    findings_free(&f);
    return status;
}

lm_status machines_write(const run_folder *to, workloads *loads, const findings *first,
                         machines *out, lm_error *err)
{
    const variants *all    = &first->all;
    const size_t    n      = all->n ? all->n : 1; /* all-reduces alone are a machine, too */
    lm_status       status = LM_OK;

    *out = (machines){ calloc(n, sizeof *out->item), n };
    if (!out->item)
        return no_memory(err);
    for (size_t i = 0; i < n && !status; i++) {
        machine_found *m = &out->item[i];

        m->step_mape = NAN;
        if (all->n) {
            memcpy(m->of, all->of[i].text, sizeof m->of);
            m->n_points = all->of[i].n_points;
        }
        status = i ? write_other(to, loads, first->obs->path, m, err)
                   : write_one(first, to->machine, m, err);
    }
    return status;
}

void machines_free(machines *m)
{
    free(m->item);
    *m = (machines){ .n = 0 };
}
