/* What a sweep would measure. */
#include "listing.h"

#include "network/kernels.h"
#include "progress.h"
#include "report/table.h"

lm_status listing_print(const sweep *plan, lm_error *err)
{
    table    *t = table_new();
    char      what[160];
    double    seconds = 0;
    lm_status status;

    table_column(t, "point", "point", 0);
    table_column(t, "what", "what", 0);
    table_column(t, "flops_forward", "FLOPs forward", 0);
    table_column(t, "seconds", "about [s]", 2);
    for (size_t i = 0; i < plan->n_points; i++) {
        const sweep_point *p = &plan->point[i];

        print_point(&p->row, what, sizeof what);
        table_count(t, i + 1);
        table_text(t, what);
        table_count(t, p->row.kind == OBS_KERNEL ? lm_kernel_work(&p->kernel).flops
                                                 : p->counts.flops_forward);
        table_real(t, p->weight);
        seconds += p->weight;
    }
    status = table_print(t, FORMAT_TABLE, stdout, err);
    table_free(t);
    if (!status)
        printf("%zu points, %zu left out (more ranks than there are, or filtered); about %.0f s\n",
               plan->n_points, plan->n_filtered, seconds);
    return status;
}
