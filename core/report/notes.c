/* Remarks of the program beside an answer. */
#include "report/notes.h"

#include <stdarg.h>
#include <stdio.h>

static void begin(const char *fmt, va_list args)
{
    fputs("layermeter: ", stderr);
    vfprintf(stderr, fmt, args);
}

void note(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    begin(fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

void note_begin(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    begin(fmt, args);
    va_end(args);
}
