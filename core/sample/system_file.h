/** Small files in which the system tells of itself, below /proc and /sys. */
#ifndef SAMPLE_SYSTEM_FILE_H
#define SAMPLE_SYSTEM_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Paths are relative to $LAYERMETER_SYSTEM_ROOT (default: /): "proc/stat". */

/** NULL, with errno, if it cannot be read. */
FILE *system_open(const char *path);
DIR  *system_folder(const char *path);
/** First line of a file, without its end; false: not there, or empty. */
bool system_line(const char *path, char *text, size_t size);
/** The number a file begins with. NAN: not there, or none. */
double system_number(const char *path);

#endif
