/* Writes the planner: installed parts, the style of all pages, a machine file. */
#include "pages/planner.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/no_memory.h"
#include "base/place.h"
#include "machine/machine.h"
#include "pages/page_parts.h"

typedef enum planner_part { ENGINE, WORKER, SCRIPT, STYLE, BODY, N_PARTS } planner_part;

static const char *const file_of[N_PARTS] = {
    [ENGINE] = "engine.js",  [WORKER] = "worker.js", [SCRIPT] = "planner.js",
    [STYLE] = "planner.css", [BODY] = "body.html",
};

struct planner {
    char       *part[N_PARTS];
    char       *machine; /* text of the machine file; NULL: none */
    size_t      size;    /* bytes of `machine` */
    const char *name;    /* file name without folders; the caller's */
};

static lm_status read_parts(planner *p, lm_error *err)
{
    char      folder[PATH_MAX], path[PATH_MAX + 16];
    size_t    size;
    lm_status status = place_installed(LAYERMETER_PLANNER_DIR, folder, sizeof folder, err);

    for (int i = 0; i < N_PARTS && !status; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, file_of[i]);
        if (i == ENGINE && access(path, F_OK))
            return lm_error_set(err, LM_E_UNSUPPORTED,
                                "this layermeter was built without emscripten, which makes the "
                                "page: install it (Debian: emscripten) and build again");
        status = file_read_text(path, &p->part[i], &size, err);
    }
    return status;
}

static lm_status read_machine(planner *p, const char *path, lm_error *err)
{
    calibration *cal   = NULL;
    const char  *slash = strrchr(path, '/');
    lm_status    status;

    p->name = slash ? slash + 1 : path;
    status  = machine_load(path, &cal, err);
    calibration_free(cal);
    return status ? status : file_read_text(path, &p->machine, &p->size, err);
}

lm_status planner_open(const char *machine, planner **out, lm_error *err)
{
    planner  *p      = calloc(1, sizeof *p);
    lm_status status = p ? read_parts(p, err) : no_memory(err);

    if (!status && machine)
        status = read_machine(p, machine, err);
    if (status)
        planner_close(p);
    else
        *out = p;
    return status;
}

void planner_close(planner *p)
{
    if (!p)
        return;
    for (int i = 0; i < N_PARTS; i++)
        free(p->part[i]);
    free(p->machine);
    free(p);
}

/* RFC 4648, section 4. */
static void put_base64(const char *bytes, size_t n, FILE *out)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        unsigned     bits = (unsigned)(unsigned char)bytes[i] << 16;

        if (left > 1)
            bits |= (unsigned)(unsigned char)bytes[i + 1] << 8;
        if (left > 2)
            bits |= (unsigned char)bytes[i + 2];
        for (size_t k = 0; k < 4; k++)
            putc(k <= left ? digit[bits >> (18 - 6 * k) & 63] : '=', out);
    }
}

void planner_write(const planner *p, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<title>Layermeter: plan a training run</title>\n",
          out);
    page_style(out);
    fprintf(out, "<style>\n%s</style>\n</head>\n<body>\n%s", p->part[STYLE], p->part[BODY]);
    if (p->machine) {
        fputs("<script type=\"text/plain\" id=\"given\" data-name=\"", out);
        html_text(out, p->name);
        fputs("\">", out);
        put_base64(p->machine, p->size, out);
        fputs("</script>\n", out);
    }
    /* the page makes a worker from these texts: under file:// it cannot load one from a file */
    fprintf(out, "<script type=\"text/plain\" id=\"engine\">\n%s</script>\n", p->part[ENGINE]);
    fprintf(out, "<script type=\"text/plain\" id=\"worker\">\n%s</script>\n", p->part[WORKER]);
    fprintf(out, "<script>\n%s</script>\n</body>\n</html>\n", p->part[SCRIPT]);
}
