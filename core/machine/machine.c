/* Machine files, section by section. */
#include "machine/machine.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/no_memory.h"
#include "machine/sections.h"

static const char head[] =
    "; Coefficients of a machine, written by layermeter fit. Times are in seconds; `se` is a standard\n"
    "; error, `range` what the feature covered in the data, `bound` a coefficient held at 0, and\n"
    "; `undetermined` one that the data cannot tell from the others. Intervals: the central 90 % of\n"
    "; measured / predicted on groups left out of a fit, how many these were, by what factor bounds\n"
    "; widen for each octave beyond what was measured, and what that was.\n";

#define AGAIN "layermeter fit OBSERVATIONS -o FILE"
#define OWN   NULL /* a section that writes its own comment, or has none */

/* Sections in the order of writing. */
static const section sections[] = {
    { SECTION_MACHINE, OWN, head_both, false },
    { "provenance", OWN, provenance_both, false },
    { "measured", OWN, measured_both, false },
    { "*", OWN, formula_both, true },
    { "kernels.*",
      "(floor^power + work^power)^(1/power); relative least squares, non-negative, Huber 0.1",
      kernels_both, true },
    { "kernels.residual", "what these prices leave over, learned", kernels_learned_both, true },
    { "layermeter.single.*", OWN, layers_both, true },
    { "layermeter.single.device", "by its datasheet: FLOP/s in 32 bits, bytes/s, bytes, Hz, watts",
      layers_device_both, true },
    { "layermeter.single.residual", "what these prices leave over, learned", layers_learned_both,
      true },
    { "composed.*", "factors on what single layers take, in a network", composed_both, false },
    { "learned.*", "of single layers, learned", learned_both, true },
    { SECTION_KIND "*", OWN, collectives_both, true },
    { "curve.*",
      "steps of one network on few devices: a device by itself, all-reduces within a host and "
      "between hosts",
      curves_both, true },
    { "overlap",
      "what a backward pass and messages beside it do to each other: from steps in buckets, "
      "non-negative\n; least squares; stragglers from the spread of steps",
      overlap_both, false },
    { "layouts",
      "steps under layouts, which corrected prices of kernels, and [host]; measured / predicted of "
      "steps left out",
      laid_both, false },
    { "layouts.factors",
      "by these steps: factors on the prices of kernels in [layermeter.*]; tokens = yes: for networks of "
      "tokens alone\n; others: for all other networks, of host, flops, bandwidth and depth, from their own times",
      laid_factors_both, false },
    { "sharing.*",
      "what a part takes with so many ranks of a host at work, for each second alone: medians",
      sharing_both, false },
    { "latency",
      "sigma of repetitions of inference, for each second of their median: median of the "
      "measurements'",
      latency_both, false },
    { "host",
      "of a framework that issues operations one by one: least absolute logarithm of steps, or (layouts) "
      "as their correction says",
      host_both, false },
    { "power",
      "watts while all time is bound so, at the clock `top`; `memory` of traffic's and `idle` do "
      "not follow the\n; clock, all else as f V^2, V constant up to `knee` and growing by `slope` "
      "for each knee's worth above;\n; relative least squares, non-negative; low and high: "
      "measured / predicted, central 90 %",
      power_both, false },
    { "limits",
      "of the device under power limits: idle power, `knee` as a share of the highest clock, `slope` as in "
      "[power];\n; measured / predicted of limits left out, central 90 %",
      limits_both, false },
    { "limits.*",
      "seconds and watts of one job at limits; seconds that the clock does not change, and does; watts "
      "beyond\n; idle power; `waits`: the share of `fixed` in which only idle power is drawn",
      limit_both, false },
    { "*.intervals", OWN, intervals_both, false },
};

#define N_SECTIONS (sizeof sections / sizeof sections[0])

void *section_room(record *r, void *there, size_t size)
{
    if (!there && !(there = calloc(1, size)))
        r->status = no_memory(r->err);
    return there;
}

/* ---- reading ---- */

/* Does the name begin with a kind of collective, as "allreduce."? */
static bool is_of_kind(const char *name)
{
    const size_t n = strcspn(name, ".");

    for (collective_kind k = 0; k < N_COLLECTIVE_KINDS; k++)
        if (name[n] && strlen(collective_types[k].name) == n &&
            !strncmp(name, collective_types[k].name, n))
            return true;
    return false;
}

/* Compares a name with a pattern; `star` gets the text in place of the star. */
static bool matches(const char *pattern, const char *name, char star[SECTION_STAR])
{
    const size_t before = strcspn(pattern, "*"), n = strlen(name);
    const char  *behind = pattern[before] ? pattern + before + 1 : pattern + before;

    *star = '\0';
    if (!strncmp(pattern, SECTION_KIND, strlen(SECTION_KIND))) {
        snprintf(star, SECTION_STAR, "%s", name);
        return is_of_kind(name);
    }
    if (!pattern[before])
        return !strcmp(pattern, name);
    if (n < before + strlen(behind) || strncmp(pattern, name, before) != 0 ||
        strcmp(name + n - strlen(behind), behind) != 0)
        return false;
    snprintf(star, SECTION_STAR, "%.*s", (int)(n - before - strlen(behind)), name + before);
    return true;
}

/* The section with the longest matching pattern; that of formulas matches any name. */
static const section *section_of(const char *name, char star[SECTION_STAR])
{
    const section *found = NULL;
    char           here[SECTION_STAR];

    for (size_t k = 0; k < N_SECTIONS; k++)
        if (matches(sections[k].name, name, here) &&
            (!found || strlen(sections[k].name) > strlen(found->name))) {
            found = &sections[k];
            memcpy(star, here, sizeof here);
        }
    return found;
}

static lm_status read_one(const ini_document *doc, const ini_section *s, calibration *cal,
                          bool *coefficients, lm_error *err)
{
    record         r = { .path = doc->path, .section = s, .sections = doc->n_sections, .err = err };
    char           star[SECTION_STAR];
    const section *of = section_of(s->name, star);

    if (!(r.taken = calloc(s->n_pairs + 1, sizeof *r.taken)))
        return no_memory(err);
    of->both(&r, cal, star);
    record_close(&r);
    free(r.taken);
    *coefficients |= of->coefficients;
    return r.status;
}

/* Checks the end of a file. A program that writes the number of sections also ends every line. */
static lm_status check_end(const ini_document *doc, lm_error *err)
{
    const ini_section *first = ini_find(doc, SECTION_MACHINE);

    if (!doc->open_ended || !first || !ini_get(first, SECTION_COUNT))
        return LM_OK;
    return lm_error_set(err, LM_E_SYNTAX,
                        "%s: the file was cut short within its last line: fit again, or copy it "
                        "again; by hand, end the line",
                        doc->path);
}

static lm_status read_all(const ini_document *doc, calibration *cal, lm_error *err)
{
    bool      coefficients = false;
    lm_status status       = LM_OK;

    cal->max_ranks = cal->max_hosts = 1;
    cal->settings                   = term_settings_default;
    for (size_t i = 0; i < doc->n_sections && !status; i++)
        status = read_one(doc, &doc->section[i], cal, &coefficients, err);
    if (!status && !coefficients)
        status = lm_error_set(err, LM_E_SYNTAX,
                              "%s: holds no coefficients: is this a machine file?", doc->path);
    if (!status)
        status = formulas_join(cal, doc->path, err);
    if (!status)
        status = check_end(doc, err);
    if (!status)
        residuals_load(cal);
    return status;
}

static lm_status load_document(const ini_document *doc, calibration **out, lm_error *err)
{
    calibration *cal    = calloc(1, sizeof *cal);
    lm_status    status = cal ? read_all(doc, cal, err) : no_memory(err);

    if (status)
        calibration_free(cal);
    else
        *out = cal;
    return status;
}

/* The digits of the checksum in the text; NULL: not in the written form. */
static char *find_digits(const char *text, const ini_pair *p)
{
    const char *at = text;

    for (int line = 1; line < p->line; line++)
        at = strchr(at, '\n') + 1;
    return strspn(p->value, "0123456789abcdef") == CHECKSUM_DIGITS && !p->value[CHECKSUM_DIGITS]
               ? strstr(at, p->value)
               : NULL;
}

/* Checks the checksum, if the file has one. */
static lm_status check_sum(const ini_document *doc, const char *text, bool *checked, lm_error *err)
{
    const ini_pair *p      = ini_get(ini_find(doc, SECTION_MACHINE), SECTION_SUM);
    const char     *digits = p ? find_digits(text, p) : NULL;

    *checked = p != NULL;
    if (p && !digits)
        return ini_fail(doc, err, p->line, LM_E_SYNTAX,
                        SECTION_SUM ": expected 16 digits, found '%.40s': damaged? copy the file "
                                    "again or fit again; a file written by hand needs none",
                        p->value);
    return p ? checksum_check(doc->path, text, digits, AGAIN, "its line '" SECTION_SUM "'", err)
             : LM_OK;
}

static lm_status load_text(const char *path, const char *text, calibration **out, lm_error *err)
{
    ini_document *doc     = NULL;
    bool          checked = false;
    lm_status     status  = ini_load_text(path, text, &doc, err);

    if (status)
        return status;
    if (!(status = check_sum(doc, text, &checked, err)) && !(status = load_document(doc, out, err)))
        (*out)->checked = checked;
    ini_free(doc);
    return status;
}

lm_status machine_load(const char *path, calibration **out, lm_error *err)
{
    char     *text;
    size_t    size;
    lm_status status = file_read_text(path, &text, &size, err);

    if (status)
        return status;
    status = load_text(path, text, out, err);
    free(text);
    return status;
}

/* ---- writing ---- */

static void write_section(record *r, const section *s, calibration *cal)
{
    r->name = s->name;
    r->doc  = s->doc;
    s->both(r, cal, "");
}

/* Checks that the new text can be read, before it replaces a good file. */
static lm_status check_text(const char *path, const char *text, lm_error *err)
{
    calibration *cal    = NULL;
    lm_status    status = load_text(path, text, &cal, err);

    if (status && status != LM_E_NOMEM)
        lm_error_prefix(err, "not written, since nobody could read it again");
    calibration_free(cal);
    return status;
}

/* Writes all sections, after their number, which reveals a truncated file. */
static lm_status draft_all(const calibration *cal, const char *path, file_drafts *to, lm_error *err)
{
    char        *rest = NULL, *text = NULL;
    size_t       size;
    calibration *mine  = (calibration *)(uintptr_t)cal; /* writing does not change it */
    record       r     = { .out = open_memstream(&rest, &size) };
    bool         whole = r.out != NULL;
    lm_status    status;

    for (size_t k = 1; k < N_SECTIONS && whole; k++)
        write_section(&r, &sections[k], mine);
    whole = whole && !fclose(r.out);
    if (whole && (whole = (r.out = open_memstream(&text, &size)) != NULL)) {
        fputs(head, r.out);
        write_section(&r, &sections[0], mine);
        fputs(rest, r.out);
        whole = !fclose(r.out);
    }
    if (whole)
        checksum_put(text, strstr(text, "\n" SECTION_SUM " = " CHECKSUM_ROOM) +
                               strlen("\n" SECTION_SUM " = "));
    status = whole ? check_text(path, text, err) : no_memory(err);
    if (!status)
        status = file_drafts_add(to, path, text, err);
    free(rest);
    free(text);
    return status;
}

/* Writes the machine file last, because it has the hashes of the others. */
lm_status machine_save(const calibration *cal, const char *path, lm_error *err)
{
    file_drafts drafts = { 0 };
    lm_status   status = formulas_check(cal, path, err);

    if (!status && !(status = learned_files_save(cal, path, &drafts, err)))
        status = draft_all(cal, path, &drafts, err);
    if (!status)
        return file_drafts_commit(&drafts, err);
    file_drafts_drop(&drafts);
    return status;
}
