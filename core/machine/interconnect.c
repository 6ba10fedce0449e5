/* Interconnects by name: files of all-reduces that ship, and nominal rates. */
#include "machine/interconnect.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "base/place.h"
#include "base/text.h"
#include "machine/machine.h"

#define FOLDER    LAYERMETER_CONFIG_DIR "/interconnects"
#define PARTS     2
#define PART_TEXT 80

/* Splits a name into parts in lower case. */
static size_t parts_of(const char *name, char *text, size_t size, char *part[PARTS + 1])
{
    snprintf(text, size, "%s", name);
    for (char *c = text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return text_split(text, '+', part, PARTS + 1);
}

/* ---- nominal rates ---- */

/* Words before or after Gbit/s. */
static const struct {
    const char *before, *behind;
} nominal[] = { { "", "gbe" }, { "ib", "" }, { "efa", "" }, { "roce", "" } };

/* InfiniBand's generations, by Gbit/s of a port of four lanes (InfiniBand Trade Association, roadmap). */
static const struct {
    const char *name;
    double      rate;
} generations[] = { { "fdr", 56 }, { "edr", 100 }, { "hdr", 200 }, { "ndr", 400 }, { "xdr", 800 } };

/* Gbit/s of "hdr", "ib-hdr", "ndr400" or "hdr100", a port of two lanes; 0: it is no such name. */
static double generation_rate(const char *name)
{
    if (!strncmp(name, "ib", 2))
        name += 2;
    name += *name == '-';
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++) {
        const char *rest = name + strlen(generations[i].name);
        char       *end;
        double      rate;

        if (strncmp(name, generations[i].name, strlen(generations[i].name)) != 0)
            continue;
        rate = *rest ? strtod(rest, &end) : generations[i].rate;
        return !*rest || (isdigit((unsigned char)*rest) && !*end) ? rate : 0;
    }
    return 0;
}

/* Gbit/s of each of a node's adapters, and their number, of a name such as "8xib400"; 0: another name. */
static double nominal_rate(const char *name, double *adapters)
{
    char  *end;
    double links = strtod(name, &end), rate;

    if (end == name || *end != 'x')
        links = 1;
    else
        name = end + 1;
    *adapters = links;
    for (size_t i = 0; i < sizeof nominal / sizeof nominal[0]; i++) {
        const size_t n = strlen(nominal[i].before);

        if (strncmp(name, nominal[i].before, n) != 0 || !isdigit((unsigned char)name[n]))
            continue;
        rate = strtod(name + n, &end);
        if (rate > 0 && links > 0 && !strcmp(end, nominal[i].behind))
            return rate;
    }
    return links > 0 ? generation_rate(name) : 0;
}

/* ---- files ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Names of files with this beginning: "efa3200, ib-fdr, nvlink2 ...". */
static const char *names_of(const char *folder, const char *begin, char *text, size_t size)
{
    char   name[64][40];
    size_t n   = 0;
    DIR   *dir = opendir(folder);

    for (struct dirent *e; dir && n < 64 && (e = readdir(dir));) {
        const size_t length = strlen(e->d_name);

        if (*e->d_name != '.' && !strncmp(e->d_name, begin, strlen(begin)) && length > 4 &&
            !strcmp(e->d_name + length - 4, ".ini"))
            snprintf(name[n++], sizeof name[0], "%.*s", (int)(length - 4), e->d_name);
    }
    if (dir)
        closedir(dir);
    qsort(name, n, sizeof name[0], by_text);
    *text = '\0';
    for (size_t i = 0; i < n; i++)
        text_add(text, size, "%s%s", i ? ", " : "", name[i]);
    return text;
}

/* Error for a kind of network without rate or generation. */
static lm_status which_of(const char *part, const char *folder, lm_error *err)
{
    static const struct {
        const char *kind, *file, *rates; /* file NULL: no measured file */
    } kinds[] = { { "efa", "efa", "efa100, efa400, 8xib400" },
                  { "ib", "ib", "ib100, ib400, 8xib400" },
                  { "infiniband", "ib", "ib100, ib400, 8xib400" },
                  { "ethernet", NULL, "10gbe, 25gbe, 100gbe" },
                  { "gbe", NULL, "10gbe, 25gbe, 100gbe" },
                  { "roce", NULL, "roce100, roce400" },
                  { "slingshot", "slingshot", NULL },
                  { "nvlink", "nvlink", NULL },
                  { "pcie", "pcie", NULL } };
    char all[300];

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *file = kinds[i].file, *rates = kinds[i].rates;

        if (!strcmp(part, kinds[i].kind))
            return lm_error_set(
                err, LM_E_NOTFOUND, "which '%s'? %s%s%s%s%s", part, file ? "measured: " : "",
                file ? names_of(folder, file, all, sizeof all) : "", file && rates ? "; " : "",
                rates ? "by nominal rate, in Gbit/s: " : "", rates ? rates : "");
    }
    return LM_OK;
}

static lm_status nobody_knows(const char *part, const char *folder, lm_error *err)
{
    const lm_status known = which_of(part, folder, err);
    char            all[300];
    double          rate;

    if (known)
        return known;
    if (!text_rate(part, &rate, NULL))
        return lm_error_set(
            err, LM_E_NOTFOUND,
            "no interconnect '%.40s': a rate alone is --bandwidth %.40s, a network by "
            "its nominal rate 100gbe, ib400, efa100",
            part, part);
    return lm_error_set(err, LM_E_NOTFOUND,
                        "no interconnect '%.40s': there are %s, and nominal rates such as 25gbe, "
                        "ib400 or ndr, efa100, 8xib400",
                        part, names_of(folder, "", all, sizeof all));
}

/* The fabric of a preset, from its sections; a preset has only one. */
static lm_status fabric_in(const calibration *cal, const char *path, fabric *out, lm_error *err)
{
    const algorithm_model *a = collective_algorithm(cal->collectives, COLLECTIVE_ALLREDUCE, NULL);

    for (fabric f = 0; a && f < N_FABRICS; f++)
        if (a->of[f].rows) {
            *out = f;
            return LM_OK;
        }
    return lm_error_set(err, LM_E_ARG, "%s: no all-reduces: an interconnect's file has some", path);
}

static lm_status twice(const char *name, lm_error *err)
{
    return lm_error_set(err, LM_E_ARG,
                        "'%.60s': two parts of one kind: give one within a node and one between "
                        "nodes, such as nvlink4+ib400",
                        name);
}

static lm_status find_part(const char *name, const char *part, const char *folder,
                           named_interconnect *out, lm_error *err)
{
    double       adapters;
    const double rate = nominal_rate(part, &adapters) * 1e9 / 8;
    char         path[PATH_MAX];
    calibration *cal = NULL;
    fabric       f   = FABRIC_ONE;
    lm_status    status;

    if (snprintf(path, sizeof path, "%s/%s.ini", folder, part) < (int)sizeof path &&
        !strchr(part, '/') && !access(path, R_OK)) {
        if (!(status = machine_load(path, &cal, err)) &&
            !(status = fabric_in(cal, path, &f, err))) {
            if (*out->path[f] || (f == FABRIC_MULTI && out->told.bytes_per_second > 0))
                status = twice(name, err);
            else
                strcpy(out->path[f], path);
        }
        calibration_free(cal);
        return status;
    }
    if (!(rate > 0))
        return nobody_knows(part, folder, err);
    if (*out->path[FABRIC_MULTI] || out->told.bytes_per_second > 0)
        return twice(name, err);
    out->told = (interconnect){ .bytes_per_second = adapters * rate,
                                .per_device       = ceil(adapters / NODE_DEVICES) * rate,
                                .latency          = LINK_MESSAGE };
    return LM_OK;
}

lm_status interconnect_find(const char *name, named_interconnect *out, lm_error *err)
{
    char         folder[PATH_MAX], text[PART_TEXT], *part[PARTS + 1];
    const size_t n      = parts_of(name, text, sizeof text, part);
    lm_status    status = place_installed(FOLDER, folder, sizeof folder, err);

    *out = (named_interconnect){ .told = { 0 } };
    if (!status && (n > PARTS || strlen(name) >= sizeof text))
        status = twice(name, err);
    for (size_t i = 0; i < n && !status; i++)
        status = find_part(name, part[i], folder, out, err);
    return status;
}

/* ---- devices ---- */

/* Generation of a name: 3 for "nvlink3" of the kind "nvlink"; 0: another kind. */
static int generation(const char *part, const char *kind)
{
    const size_t n = strlen(kind);

    return part && !strncmp(part, kind, n) && isdigit((unsigned char)part[n]) ? atoi(part + n) : 0;
}

static bool suits(const char *part, const device *of)
{
    const int nvlink = generation(part, "nvlink"), pcie = generation(part, "pcie");
    const int own = generation(of->link, "pcie");

    if (nvlink)
        return nvlink == generation(of->link, "nvlink") ||
               nvlink == generation(of->bridge, "nvlink");
    return !pcie || !own || pcie <= own;
}

lm_status interconnect_suits(const char *name, const device *of, lm_error *err)
{
    char         text[PART_TEXT], *part[PARTS + 1];
    const size_t n   = parts_of(name, text, sizeof text, part);
    const char *plus = of->link ? strchr(of->link, '+') : NULL; /* else it is between nodes alone */
    const size_t link = plus ? (size_t)(plus - of->link) : 0;

    for (size_t i = 0; i < n && link; i++)
        if (!suits(part[i], of))
            return lm_error_set(err, LM_E_ARG,
                                "'%.60s' has no %.20s: within a node it has %.*s%s%s", of->name,
                                part[i], (int)link, of->link, of->bridge ? ", or by bridges " : "",
                                of->bridge ? of->bridge : "");
    return LM_OK;
}

/* ---- laying ---- */

/* Memory for all-reduces of the machine on both fabrics. */
static lm_status room_of(calibration *cal, algorithm_model **out, lm_error *err)
{
    collective_model *m = cal->collectives;

    for (size_t i = 0; m && i < m->n; i++)
        if (m->algorithm[i].kind == COLLECTIVE_ALLREDUCE &&
            !strcmp(m->algorithm[i].name, ALGORITHM_DEFAULT)) {
            *out = &m->algorithm[i];
            return LM_OK;
        }
    return lm_error_set(
        err, LM_E_NOTFOUND,
        "an interconnect has a library's own choice of algorithm: the machine file forces one");
}

static void lay_interval(calibration *cal, const calibration *from)
{
    interval       *to  = &cal->intervals[0].of[PHASE_SYNC];
    const interval *has = &from->intervals[0].of[PHASE_SYNC];

    if (!interval_known(has)) /* a single cluster does not determine the interval */
        *to = (interval){ .groups     = LINK_CLUSTERS,
                          .low        = LINK_LEAST,
                          .high       = LINK_MOST,
                          .per_octave = INTERVAL_PER_OCTAVE,
                          .range      = { { NAN, NAN }, { NAN, NAN }, { NAN, NAN } } };
    else if (!interval_known(to))
        *to = *has;
    else {
        to->low  = fmin(to->low, has->low);
        to->high = fmax(to->high, has->high);
    }
}

static lm_status lay_fabric(calibration *cal, const char *path, fabric f, lm_error *err)
{
    calibration           *from = NULL;
    const algorithm_model *has;
    algorithm_model       *to = NULL;
    char                   text[200];
    lm_status              status = machine_load(path, &from, err);

    if (status)
        return status;
    has = collective_algorithm(from->collectives, COLLECTIVE_ALLREDUCE, NULL);
    snprintf(text, sizeof text, "%s: %.150s", strrchr(path, '/') + 1,
             calibration_told(from, "source") ? calibration_told(from, "source") : "");
    if (!cal->collectives && !(cal->collectives = collective_copy(from->collectives)))
        status = no_memory(err);
    if (!status && !(status = room_of(cal, &to, err))) {
        to->of[f] = has->of[f];
        lay_interval(cal, from);
        cal->max_ranks = cal->max_ranks > from->max_ranks ? cal->max_ranks : from->max_ranks;
        cal->max_hosts = cal->max_hosts > from->max_hosts ? cal->max_hosts : from->max_hosts;
        if (!calibration_note(cal, "interconnect", text))
            status = no_memory(err);
    }
    calibration_free(from);
    return status;
}

lm_status interconnect_lay(calibration *cal, const named_interconnect *of, lm_error *err)
{
    lm_status status = LM_OK;

    for (fabric f = 0; f < N_FABRICS && !status; f++)
        if (*of->path[f])
            status = lay_fabric(cal, of->path[f], f, err);
    return status;
}

/* Drops results that were measured on the replaced interconnect. */
static void forget(calibration *cal)
{
    collective_free(cal->collectives);
    cal->collectives                 = NULL;
    cal->overlapping                 = (overlap_constants){ 0 };
    cal->intervals[0].of[PHASE_SYNC] = interval_unknown;
}

lm_status interconnect_settle(calibration *cal, interconnect *link, lm_error *err)
{
    named_interconnect named;
    lm_status          status;

    if (!link->name)
        return LM_OK;
    forget(cal);
    if ((status = interconnect_find(link->name, &named, err)) ||
        (status = interconnect_lay(cal, &named, err)))
        return status;
    named.told.name = link->name;
    *link           = named.told;
    return LM_OK;
}
