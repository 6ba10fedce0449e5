/** Reads INI files with inih, without its silent losses. */
#ifndef BASE_INI_H
#define BASE_INI_H

#include <stdbool.h>
#include <stddef.h>

#include <layermeter/error.h>

typedef struct ini_pair {
    const char *key, *value;
    int         line;
} ini_pair;

typedef struct ini_section {
    const char *name;
    ini_pair   *pair;
    size_t      n_pairs;
    int         line;
} ini_section;

/** Sections in the file's order, also those without pairs. */
typedef struct ini_document {
    const char   *path;
    ini_section  *section;
    size_t        n_sections;
    bool          open_ended; /**< its last line has no end */
    struct arena *arena;      /**< owns all of the above */
} ini_document;

/**
 * Reads a file. inih cuts long lines and names, merges sections of one name, joins indented lines
 * and gives no line numbers. So our own reader first counts each line and strips its indentation.
 * It refuses what inih would lose: lines over 197 bytes, section names over 191, a second section
 * or key of one name, a key before the first section, binary data. A backslash at the end of a line
 * continues the value in the next line, after a blank.
 *
 * @return LM_E_IO, LM_E_SYNTAX ("path:line: ..."), LM_E_NOMEM
 */
lm_status ini_load(const char *path, ini_document **out, lm_error *err);
/** The same for text in memory; `path` is used in messages. */
lm_status ini_load_text(const char *path, const char *text, ini_document **out, lm_error *err);
void      ini_free(ini_document *doc);

/** NULL if there is no such section or key. */
const ini_section *ini_find(const ini_document *doc, const char *section);
const ini_pair    *ini_get(const ini_section *section, const char *key);

/** Sets the error "path:line: ..." and returns `code`. */
lm_status ini_fail(const ini_document *doc, lm_error *err, int line, lm_status code,
                   const char *fmt, ...) LM_PRINTF(5, 6);

#endif
