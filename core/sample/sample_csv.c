/* Looks at devices as CSV. */
#include "sample/sample_csv.h"

void sample_csv_head(FILE *out)
{
    fputs("timestamp,index,utilization.gpu [%],utilization.memory [%],memory.used [MiB],"
          "power.draw [W],enforced.power.limit [W],energy [J],clocks.current.sm [MHz],"
          "clocks.current.memory [MHz],temperature.gpu [C],clocks_event_reasons.active\n",
          out);
}

static void put(FILE *out, const char *format, double value)
{
    putc(',', out);
    if (!isnan(value))
        fprintf(out, format, value);
}

void sample_csv_row(FILE *out, const char *index, const device_sample *s)
{
    fprintf(out, "%.3f,%s", s->time, index);
    put(out, "%.4g", s->busy);
    put(out, "%.4g", s->memory_busy);
    put(out, "%.0f", s->memory_bytes / 0x1p20);
    put(out, "%.2f", s->watts);
    put(out, "%.2f", s->limit_watts);
    put(out, "%.3f", s->joules);
    put(out, "%.0f", s->clock_mhz);
    put(out, "%.0f", s->memory_clock_mhz);
    put(out, "%.0f", s->celsius);
    putc(',', out);
    if (s->held_known)
        fprintf(out, "0x%016llx", (unsigned long long)s->held);
    putc('\n', out);
}
