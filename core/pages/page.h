/**
 * A report: one self-contained HTML page on a network and the machines that may train it.
 * page_gather() runs the models, page_draw() calls gnuplot, page_write() writes the page. They have
 * no formulas: figures come from the functions of the other commands.
 */
#ifndef PAGES_PAGE_H
#define PAGES_PAGE_H

#include "network/memory.h"
#include "plan/paid.h"
#include "predict/explain.h"
#include "predict/scaling.h"
#include "report/chart.h"
#include "report/timeline_view.h"

#define PAGE_MACHINES CHART_CURVES
#define PAGE_CHARTS   (6 + 2 * PAGE_MACHINES) /* 2: of each machine */
#define PAGE_TASKS    1000000 /* of a pipeline, of which its picture shows the first */
#define PAGE_NAME     64

/** A machine of a report. The first four are the caller's. */
typedef struct page_machine {
    const char      *file;
    char             label[PAGE_NAME]; /**< name of its curves; unique */
    const predictor *who;
    paid_price       paid;

    scale_point  *point; /**< predictions at the page's nodes; step.step NAN: refused */
    lm_error      refused;
    turning_point turning; /**< nodes: -1: not known */
    double        again;   /**< step_setup.again, of a layout that recomputes */
    int64_t       at;      /**< nodes of the following: the page's, or 1 */
    explanation  *apart;
    explained    *kernels; /**< work of the device by class of kernels, without all-reduces */
    size_t        n_kernels;
    explained    *blocks; /**< the same by block */
    size_t        n_blocks;
    double        work;    /**< s, sum over all classes */
    step_times    buckets; /**< none on one device */
    lm_error      untold;  /**< why nothing is known of buckets */
    /** of a pipeline: tasks of its stages, at `at` nodes; none: not a pipeline, or too many */
    timeline_tasks   tasks;
    timeline_picture stages;
} page_machine;

struct page;

/** A picture with its words. */
typedef struct page_chart {
    char                name[PAGE_NAME]; /**< also in its file's name: letters, digits, dashes */
    char                title[128], text[640];
    gnuplot_size        size;
    gnuplot_writer     *writer; /**< gets this chart */
    const struct page  *page;
    const page_machine *machine; /**< NULL: all machines */
    char               *svg;
} page_chart;

/** Zero-initialise and fill the first part. page_gather() fills the second. */
typedef struct page {
    const char     *title;   /**< NULL: the network's name */
    const char     *network; /**< name as the user gave it */
    const char     *command; /**< command that made the page, for its foot; NULL: not known */
    const network  *net;
    const network  *held;   /**< network whose memory is shown; NULL: `net` */
    const char     *passes; /**< description of an unusual forward pass; NULL: an ordinary one */
    const registry *registry;
    bind_options    bind;   /**< batch is not read */
    const char     *layout; /**< words of the question's layout; NULL: none */
    scale_question  question;
    const int64_t  *nodes;   /**< ascending; inference: all those of a replica */
    const int64_t  *batch;   /**< inference: of the points, ascending; NULL: over nodes */
    size_t          n_nodes; /**< number of points of a machine */
    uint64_t        memory;  /**< memory of a device, bytes; 0: not known */
    int64_t         epochs;  /**< epochs of the run that is paid for */
    price_tier      tier;    /**< kind of price */
    page_machine    machine[PAGE_MACHINES];
    size_t          n_machines;

    int64_t        tokens; /**< tokens of a sample; 0: it has none */
    int64_t        at;     /**< nodes of the step shown in detail */
    memory_use     use;
    int64_t        rank; /**< of a pipeline: whose memory it is, from 0 */
    memory_moment *moment;
    size_t         n_moments;
    page_chart     chart[PAGE_CHARTS];
    size_t         n_charts;
    bool           hints; /**< pictures are for the page, which can show hints */
} page;

/**
 * Labels the machines: the file's name without folder and .ini. If that is "machine", or the same
 * for several files, the folder's name.
 */
void page_label(page *p);

/**
 * Gathers all data of the page. A machine without an answer for several nodes has the reason in
 * `refused`. An error if no machine has an answer.
 */
lm_status page_gather(page *p, lm_error *err);

/** Draws all pictures for page_write(). Errors as gnuplot_svg(). */
lm_status page_draw(page *p, lm_error *err);

/**
 * Draws the pictures into files: FOLDER/NAME.svg; PATH-NAME.svg for a path that ends in .svg or
 * .png; one .pdf with a page for each. Makes a missing folder.
 */
lm_status page_plot(const page *p, const char *path, lm_error *err);

/** Writes the page, without pictures if page_draw() was not called. */
void page_write(const page *p, FILE *out);

/** Frees the gathered data and the pictures. */
void page_free(page *p);

#endif
