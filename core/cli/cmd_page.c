/* layermeter page: the planner, a page that answers by itself. */
#include "base/file.h"
#include "cli/commands.h"
#include "pages/planner.h"

typedef struct page_options {
    const char *output, *machine;
} page_options;

#define AT(member) OPTION_AT(page_options, member)

static const option_row option_rows[] = {
    { "machine", AT(machine), .help = "machine file to add to the shipped ones" },
    { "output", AT(output), .fallback = "planner.html", .help = "the page (also -o)" },
    { .name = NULL },
};

static const char details[] =
    "The page is one file that loads nothing: open it in a browser, mail it, put it on a server. It\n"
    "contains this program, compiled to WebAssembly (code that browsers run). For any network and machine\n"
    "it shows the step and its parts with intervals, the curve over nodes, the memory of the rank with\n"
    "the most, and time and cost of a run. You can drop your own networks and machine files into it; they\n"
    "stay in the browser. Each answer shows the command that prints the same numbers. The address of the\n"
    "page is a link to the current settings.\n"
    "\n"
    "The page needs a Layermeter that was built with emscripten (Debian: emscripten).\n";

static const char examples[] = "  layermeter page -o planner.html\n"
                               "  layermeter page --machine cluster/machine.ini -o cluster.html\n";

static lm_status write_page(void *context, FILE *out, lm_error *err)
{
    (void)err;
    planner_write(context, out);
    return LM_OK;
}

static lm_status run(const options *o, lm_error *err)
{
    const page_options *a = o->filled;
    planner            *p = NULL;
    lm_status           status;

    if ((status = planner_open(a->machine, &p, err)))
        return status;
    status = file_put(a->output, write_page, p, err);
    planner_close(p);
    return status;
}

const command cmd_page =
    COMMAND("page", "", "Write the planner, a web page that predicts in the browser", page_options,
            0, 0, NULL, run);
