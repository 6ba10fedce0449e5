/**
 * Checksums of files that the program writes, so that damage is noticed when they are read.
 *
 * A file has 16 digits somewhere; the checksum is of all other bytes. A file without them, written
 * by hand, is read as it is.
 */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stdint.h>

#include <layermeter/error.h>

#define CHECKSUM_DIGITS 16
/** Where the digits stand until checksum_put(). */
#define CHECKSUM_ROOM "0000000000000000"

/**
 * 64-bit FNV-1a of all bytes but the digits, "\r\n" counting as "\n". For accidents, not against
 * intent: each of its steps is a bijection of its state, so a single other byte always changes it;
 * deleted, doubled and several other bytes stay unseen once in 2^64.
 */
uint64_t checksum_of(const char *text, const char *digits);

/** Writes the digits. */
void checksum_put(char *text, char *digits);

/**
 * Are the digits those of the text?
 *
 * @param again the command that makes the file again, for the remedy
 * @param line  that holds the digits, for who edits the file: "its line 'checksum'"
 * @return LM_E_SYNTAX ("path: ...")
 */
lm_status checksum_check(const char *path, const char *text, const char *digits, const char *again,
                         const char *line, lm_error *err);

#endif
