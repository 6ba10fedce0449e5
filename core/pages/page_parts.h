/** Sections of a page, and what they share: private to its files. */
#ifndef PAGES_PAGE_PARTS_H
#define PAGES_PAGE_PARTS_H

#include "pages/page.h"
#include "report/html.h"
#include "report/step_fields.h"

/** Adds a picture; its `text` is for the caller to fill. */
page_chart *page_add_chart(page *p, const char *name, const page_machine *m, gnuplot_size size,
                           gnuplot_writer *writer);
/** Name of a picture of one machine, "step-2". */
const char *page_chart_name(const page *p, const char *kind, const page_machine *m, char *buffer,
                            size_t size);
/** What a picture of several machines begins with, whose legend has so many `more` entries. */
void page_begin_chart(const page_chart *c, size_t more, FILE *out);
/** The intervals of a machine's curve, of which so many are known, by columns of its data: a band, of
 * one a bar, of none nothing. */
void page_band(FILE *out, size_t k, size_t known, int at, int low, int high);
/** " Bands hold 9 cases of 10." of n curves with so many known intervals each, what they do being
 * `say`; "" where none is drawn. */
const char *page_band_words(const size_t *known, size_t n, const char *say, char *buffer,
                            size_t size);
/** The picture of that name as a figure with what can be seen below it; nothing if there is none.
 */
void page_figure(const page *p, const char *name, FILE *out);
/** A table, which it frees. */
void page_table(table *t, FILE *out);
/** <details> with the numbers behind a picture; frees the table. */
void page_numbers(table *t, const char *summary, FILE *out);

/** A known point of a machine: the record behind tables of points, whose fields may be steps'. */
typedef struct page_row {
    step_row            step;
    const page         *p;
    const page_machine *m;
} page_row;
page_row page_row_of(const page *p, const page_machine *m, const scale_point *x);
/** The hints of a machine's known points over nodes (of inference over batches): at `y`, told by
 * `tell`. Nothing where no hints are wanted. */
typedef void page_teller(const page_row *r, double *y, char *text, size_t size);
void         page_point_hints(FILE *out, const page *p, page_teller *tell);
/** The end of a plot command: hints, if they are wanted. */
void page_end_plot(FILE *out, const page *p);
/** The columns of a table of its own, without rows; `whole`: of fields with a name. */
field_rows page_rows(const page *p, const field *fields, unsigned facts, const void *whole);
/** These fields of all known points. What has no value there stands in step_fields. */
table *page_points(const page *p, const field *fields);

/** Is its model one that was learned of single layers? What it says then. */
bool page_learned(const page *p);
void page_learned_calibration(const page *p, FILE *out);
void page_learned_provenance(const page_machine *m, FILE *out);

/** Is a point known? */
bool page_known(const scale_point *x);
/** The point at so many nodes; NULL: not asked for, or not known. */
const scale_point *page_point(const page *p, const page_machine *m, int64_t nodes);
/** "1 node", "8 nodes". */
const char *page_nodes(int64_t nodes, char *buffer, size_t size);
/** "22 nodes (16 to 31)", "more than 65,536 nodes", "not known". */
const char *page_turning(const turning_point *t, char *buffer, size_t size);
/** What it costs on a machine; amount NAN: not known. */
money page_run_cost(const page *p, const page_machine *m, const scale_point *x, double step);
/** Decimals of milliseconds with which the shortest step has three digits. */
int page_decimals(const page *p);

void page_style(FILE *out);

/** What a section adds to the pictures, and what it writes. */
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
