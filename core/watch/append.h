/** A row behind the others of a file of observations. */
#ifndef WATCH_APPEND_H
#define WATCH_APPEND_H

#include "observe/observation.h"

/**
 * Appends a network's row to a file that layermeter wrote, or begins one, whose head says
 * `machine`. Where the file has rows of networks of the same element type, settings, algorithm and
 * threads are taken from the first of them, so that one fit takes both. The row is written in one
 * call, on the disk when this returns.
 *
 * @return LM_E_SYNTAX for a file that is none or has other columns, LM_E_IO; texts begin with the
 * path
 */
lm_status observation_append(const char *path, const observation *row, const char *machine,
                             lm_error *err);

#endif
