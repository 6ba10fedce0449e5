/* NCCL's log of a device that is not there. */
#include "fake_nccl_log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    bool read; /* NCCL reads its settings once */
    char file[256], subsystems[64];
} log_settings;

void log_open(void)
{
    const char *level = getenv("NCCL_DEBUG"), *file = getenv("NCCL_DEBUG_FILE");
    const char *of = getenv("NCCL_DEBUG_SUBSYS");

    if (!log_settings.read && level && !strcmp(level, "INFO") && file) {
        snprintf(log_settings.file, sizeof log_settings.file, "%s", file);
        snprintf(log_settings.subsystems, sizeof log_settings.subsystems, "%s",
                 of ? of : "INIT,BOOTSTRAP,ENV");
    }
    log_settings.read = true;
}

void log_say(const char *subsystem, const char *format, ...)
{
    FILE   *log = log_settings.file[0] && strstr(log_settings.subsystems, subsystem)
                      ? fopen(log_settings.file, "a")
                      : NULL;
    va_list arguments;

    if (!log)
        return;
    va_start(arguments, format);
    fputs("host:1:2 [0] NCCL INFO ", log);
    vfprintf(log, format, arguments);
    fputs("\n", log);
    va_end(arguments);
    fclose(log);
}
