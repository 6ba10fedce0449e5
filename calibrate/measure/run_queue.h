/**
 * Measures how long this process's threads waited for a core.
 *
 * For each thread the kernel counts the time in which the thread could have run but did not
 * (/proc/PID/task/TID/schedstat, second number). Unlike CPU time, this separates waiting for a core
 * from waiting for another thread. It is also exact in phases shorter than a tick: the CPU clock of
 * a thread on another core is up to a tick behind. It is 0 if no thread had to wait.
 */
#ifndef CALIBRATE_RUN_QUEUE_H
#define CALIBRATE_RUN_QUEUE_H

typedef struct run_queue run_queue;

/**
 * Selects the threads that `task` (NULL: /proc/self/task) lists now, without threads that have
 * hardly run so far, such as a library's helpers. NULL if the system does not report this, or out
 * of memory. The other functions accept NULL.
 */
run_queue *run_queue_open(const char *task);
void       run_queue_close(run_queue *q);

/** Stores the present values of the counters. */
void run_queue_mark(run_queue *q);

/** Seconds that the longest-waiting thread has waited since the mark; NAN: unknown. */
double run_queue_waited(run_queue *q);

#endif
