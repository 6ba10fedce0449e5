/* [host]: time of an eager framework's host. */
#include <math.h>
#include <stdio.h>

#include "machine/sections.h"

static const key keys[] = {
    { KEY("rows", KEY_COUNT, host_time, rows), .least = 1, .needed = true },
    { KEY("operation", KEY_REAL, host_time, seconds), .n = HOST_INFERENCE, .unit = "s/operation",
      .needed = true },
    { KEY("plane", KEY_REAL, host_time, plane), .unit = "s/plane", .above = true },
    { KEY("mape_percent", KEY_REAL, host_time, mape), .scale = 100 },
    { KEY("inference", KEY_REAL, host_time, seconds[HOST_INFERENCE]), .unit = "s/operation",
      .above = true },
    { KEY("inference_rows", KEY_COUNT, host_time, inference_rows), .above = true },
    { KEY("inference_mape_percent", KEY_REAL, host_time, inference_mape), .scale = 100 },
    { KEY("queue", KEY_FLAG, host_time, queue) },
    { KEY("foreach", KEY_FLAG, host_time, foreach), .above = true },
    { KEY("layouts", KEY_FLAG, host_time, laid), .above = true },
    { KEY("elsewhere", KEY_FLAG, host_time, elsewhere), .above = true },
};

void host_both(record *r, calibration *cal, const char *star)
{
    host_time      *h = &cal->host;
    const ini_pair *p;

    if (r->out && !h->rows)
        return;
    record_begin(r, star);
    if (r->out)
        record_put(r, "framework", "%s", h->framework);
    else if ((p = record_take(r, "framework")))
        snprintf(h->framework, sizeof h->framework, "%s", p->value);
    if (!r->out)
        h->mape = h->inference_mape = NAN;
    RECORD_KEYS(r, keys, h);
    if (!r->out && (h->seconds[HOST_INFERENCE] > 0) != (h->inference_rows > 0))
        record_fail(r, NULL, LM_E_ARG, "inference and inference_rows belong together");
}
