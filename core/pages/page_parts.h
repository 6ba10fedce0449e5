/** Sections of a page and the functions that they share: for core/pages. */
#ifndef PAGES_PAGE_PARTS_H
#define PAGES_PAGE_PARTS_H

#include "pages/page.h"
#include "report/html.h"
#include "report/step_fields.h"

/** Adds a picture. The caller fills its `text`. */
page_chart *page_add_chart(page *p, const char *name, const page_machine *m, gnuplot_size size,
                           gnuplot_writer *writer);
/** Name of one machine's picture, "step-2". */
const char *page_chart_name(const page *p, const char *kind, const page_machine *m, char *buffer,
                            size_t size);
/** Writes the beginning of a picture of several machines. Its legend has `more` further entries. */
void page_begin_chart(const page_chart *c, size_t more, FILE *out);
/** Draws the intervals of machine k's curve. Of `known` intervals several make a band, one makes a
 * bar. `at`, `low` and `high` are columns of the data. */
void page_band(FILE *out, size_t k, size_t known, int at, int low, int high);
/** The sentence " Bands hold 9 cases of 10." for n curves; "" if none has an interval. `known`:
 * intervals of each curve; `say`: what bands do. */
const char *page_band_words(const size_t *known, size_t n, const char *say, char *buffer,
                            size_t size);
/** Writes the picture of that name as a figure, with its text below. Nothing if there is no such
 * picture. */
void page_figure(const page *p, const char *name, FILE *out);
/** Writes and frees a table. */
void page_table(table *t, FILE *out);
/** Writes the numbers behind a picture as <details>. Frees the table. */
void page_numbers(table *t, const char *summary, FILE *out);

/** A known point of a machine: a row of tables of points. Its fields may be those of a step. */
typedef struct page_row {
    step_row            step;
    const page         *p;
    const page_machine *m;
} page_row;
page_row page_row_of(const page *p, const page_machine *m, const scale_point *x);
/** Text of a point's hint, and its height *y in the picture. page_point_hints() writes the hints of
 * all known points over nodes (inference: over batches), if hints are wanted. */
typedef void page_teller(const page_row *r, double *y, char *text, size_t size);
void         page_point_hints(FILE *out, const page *p, page_teller *tell);
/** Ends a plot command, with hints if they are wanted. */
void page_end_plot(FILE *out, const page *p);
/** A new table with these fields as columns, without rows. */
field_rows page_rows(const page *p, const field *fields, unsigned facts, const void *whole);
/** A table of these fields for all known points. */
table *page_points(const page *p, const field *fields);

/** Is the model learned from single layers? If so, the page has the two sections below. */
bool page_learned(const page *p);
void page_learned_calibration(const page *p, FILE *out);
void page_learned_provenance(const page_machine *m, FILE *out);

/** The step that is asked of a machine, on so many nodes. */
lm_status page_setup(const page *p, const page_machine *m, int64_t nodes, step_setup *out,
                     lm_error *err);
/** Is a point known? */
bool page_known(const scale_point *x);
/** The point at this number of nodes; NULL: not on the page, or not known. */
const scale_point *page_point(const page *p, const page_machine *m, int64_t nodes);
/** "samples", or "tokens" of decoding. */
static inline const char *page_samples(const page *p)
{
    return p->passes ? "tokens" : "samples";
}

/** "1 node", "8 nodes". */
const char *page_nodes(int64_t nodes, char *buffer, size_t size);
/** "22 nodes (16 to 31)", "more than 65,536 nodes", "not known". */
const char *page_turning(const turning_point *t, char *buffer, size_t size);
/** Cost of the run on a machine if a step takes `step` seconds; amount NAN: not known. */
money page_run_cost(const page *p, const page_machine *m, const scale_point *x, double step);
/** Number of decimals of milliseconds that gives the shortest step three digits. */
int page_decimals(const page *p);

void page_style(FILE *out);

/** Pictures and text of each section. */
void page_summary_write(const page *p, FILE *out);
void page_scaling_charts(page *p);
void page_scaling_write(const page *p, FILE *out);
void page_batches_charts(page *p);
void page_batches_write(const page *p, FILE *out);
void page_step_charts(page *p);
void page_step_write(const page *p, FILE *out);
void page_pass_write(const page *p, FILE *out);
void page_overlap_charts(page *p);
void page_overlap_write(const page *p, FILE *out);
void page_cost_charts(page *p);
void page_cost_write(const page *p, FILE *out);
void page_memory_charts(page *p);
void page_memory_write(const page *p, FILE *out);
void page_calibration_charts(page *p);
void page_calibration_write(const page *p, FILE *out);
void page_assumptions_write(const page *p, FILE *out);
void page_provenance_write(const page *p, FILE *out);

#endif
