/** NCCL's log of a device that is not there: the file that NCCL_DEBUG_FILE names, at NCCL_DEBUG=INFO. */
#ifndef PORTS_FAKE_NCCL_LOG_H
#define PORTS_FAKE_NCCL_LOG_H

/** Reads the settings from the environment, once. */
void log_open(void);
/** Adds a line if the settings name the subsystem. */
__attribute__((format(printf, 2, 3))) void log_say(const char *subsystem, const char *format, ...);

#endif
