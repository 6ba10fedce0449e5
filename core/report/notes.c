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

void note_cut_short(bool cut_short, const char *path)
{
    if (cut_short)
        note("%s: the last line is cut short and left out (a run that was killed?)", path);
}
