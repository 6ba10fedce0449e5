/** A text file beside a machine file, which names it with a hash of its text. */
#ifndef BASE_SIDE_FILE_H
#define BASE_SIDE_FILE_H

#include <stdint.h>
#include <stdio.h>

#include "base/file.h"
#include "base/ini.h"

/** Zero-initialise. */
typedef struct side_file {
    char    *path; /**< NULL: none */
    uint64_t hash; /**< of its text */
} side_file;

void side_file_clear(side_file *s);

/** Takes the file of that name beside `machine`. LM_E_ARG for a name with folders. */
lm_status side_file_name(side_file *s, const char *machine, const char *name, lm_error *err);

/**
 * Reads its text.
 *
 * @param what it is, for messages: "residual"
 * @param out  malloc'ed
 * @return as file_read_text(); LM_E_ARG if its hash is another
 */
lm_status side_file_text(const side_file *s, const char *what, char **out, lm_error *err);

/** Drafts `text` beside a machine file, "m.ini": as "m.SUFFIX", which becomes *s. It takes its
 * place with the others of `to`, file_drafts_commit(). */
lm_status side_file_save(side_file *s, const char *machine, const char *suffix, const char *text,
                         file_drafts *to, lm_error *err);

/** The two keys of a section that names it: file and hash. */
void side_file_print(FILE *out, const side_file *s);

/** Takes a section of these two keys. LM_E_NOTFOUND ("path:line: ...") for any other, and where one
 * is missing. */
lm_status side_file_read(const ini_section *section, const char *machine, side_file *s,
                         lm_error *err);

#endif
