/**
 * A report: one page of HTML on a network and the machines that may train it, which needs nothing
 * but itself. page_gather() asks the models, page_draw() gnuplot, page_write() writes; none of the
 * three computes what the other commands print by formulas of its own.
 */
#ifndef PAGES_PAGE_H
#define PAGES_PAGE_H

#include "network/memory.h"
#include "plan/paid.h"
#include "predict/explain.h"
#include "predict/scaling.h"
#include "report/chart.h"

#define PAGE_MACHINES CHART_CURVES
#define PAGE_CHARTS   (6 + 2 * PAGE_MACHINES) /* 2: of each machine */
#define PAGE_NAME     64

/** A machine of a report. The first four are the caller's. */
typedef struct page_machine {
    const char      *file;
    char             label[PAGE_NAME]; /**< what curves are named by: unlike that of the others */
    const predictor *who;
    paid_price       paid;

    scale_point  *point; /**< at the page's nodes; step.step NAN: refused */
    lm_error      refused;
    turning_point turning; /**< nodes: -1: not known */
    int64_t       at;      /**< nodes of the following: the page's, or 1 */
    explanation  *apart;
    explained    *kernels; /**< what the device does, by class, without all-reduces */
    size_t        n_kernels;
    explained    *blocks; /**< the same by block */
    size_t        n_blocks;
    double        work;    /**< s, of all of them */
    step_times    buckets; /**< none on one device */
    lm_error      untold;  /**< why nothing is known of buckets */
} page_machine;

struct page;

/** A picture with its words. */
typedef struct page_chart {
    char                name[PAGE_NAME]; /**< letters, digits, dashes: of its file, too */
    char                title[128], text[640];
    gnuplot_size        size;
    gnuplot_writer     *writer; /**< gets this chart */
    const struct page  *page;
    const page_machine *machine; /**< NULL: of all */
    char               *svg;
} page_chart;

/** Zero-initialise, fill the first part; the rest is gathered. */
typedef struct page {
    const char     *title;   /**< NULL: the network's name */
    const char     *network; /**< as it was asked for */
    const char     *command; /**< that made the page, for its foot; NULL: not known */
    const network  *net;
    const network  *held;   /**< whose memory is told; NULL: that of `net` */
    const char     *passes; /**< what a pass is, where it is no ordinary one; NULL */
    const registry *registry;
    bind_options    bind; /**< batch is not read */
    scale_question  question;
    const int64_t  *nodes; /**< ascending; of inference all 1 */
    const int64_t  *batch; /**< inference: of each point, ascending; NULL: points are over nodes */
    size_t          n_nodes; /**< points of a machine */
    uint64_t        memory;  /**< of a device, bytes; 0: not known */
    int64_t         epochs;  /**< of a run, which is paid for */
    price_tier      tier;    /**< the price it is paid by */
    page_machine    machine[PAGE_MACHINES];
    size_t          n_machines;

    int64_t        tokens; /**< of a sample; 0: it has none */
    int64_t        at; /**< nodes of what is taken apart: the most that all were calibrated for */
    memory_use     use;
    memory_moment *moment;
    size_t         n_moments;
    page_chart     chart[PAGE_CHARTS];
    size_t         n_charts;
    bool           hints; /**< pictures are drawn for the page, where hints can be shown */
} page;

/**
 * Gives machines labels: the file's name without folder and .ini, or the folder's where that says
 * nothing ("machine") or several files have the same.
 */
void page_label(page *p);

/**
 * Asks for all that the page says. A machine that cannot be asked about several nodes says why
 * in `refused`; fails where no machine can.
 */
lm_status page_gather(page *p, lm_error *err);

/** Draws all pictures, for page_write(). As gnuplot_svg(). */
lm_status page_draw(page *p, lm_error *err);

/**
 * Draws them into files: FOLDER/NAME.svg; of a path that ends in .svg or .png PATH-NAME.svg; into
 * one .pdf, a page each. The folder is made where it is missing.
 */
lm_status page_plot(const page *p, const char *path, lm_error *err);

/** Writes it. Of a page that was not drawn, without pictures. */
void page_write(const page *p, FILE *out);

/** Frees what was gathered and drawn. */
void page_free(page *p);

#endif
