/**
 * Checksums of files that the program writes: they reveal damage when the file is read.
 *
 * A file holds its checksum as 16 digits. The checksum covers all other bytes. A file written by
 * hand may lack the digits; it is read unchecked.
 */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stdint.h>

#include <layermeter/error.h>

#define CHECKSUM_DIGITS 16
/** Where the digits stand until checksum_put(). */
#define CHECKSUM_ROOM "0000000000000000"

/**
 * 64-bit FNV-1a of all bytes except the digits; "\r\n" counts as "\n". It detects accidents, not
 * intent. Each step is a bijection of the state, so one changed byte always changes the checksum.
 * Deleted, doubled or several changed bytes stay undetected once in 2^64 cases.
 */
uint64_t checksum_of(const char *text, const char *digits);

/** Writes the digits. */
void checksum_put(char *text, char *digits);

/**
 * Checks the digits against the text.
 *
 * @param again the command that makes the file again; the error text names it as the remedy
 * @param line  the line with the digits, for people who edit the file: "its line 'checksum'"
 * @return LM_E_SYNTAX ("path: ...")
 */
lm_status checksum_check(const char *path, const char *text, const char *digits, const char *again,
                         const char *line, lm_error *err);

#endif
