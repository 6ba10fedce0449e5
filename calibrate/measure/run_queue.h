/**
 * How long this process's threads waited for a core.
 *
 * The kernel counts for each thread the time in which it could have run and did not
 * (/proc/PID/task/TID/schedstat, second number). Unlike CPU time it tells waiting for a core from
 * waiting for another thread, is exact in phases shorter than a tick (the CPU clock of a thread
 * that runs elsewhere is up to a tick behind), and says 0 where nothing was in the way.
 */
#ifndef CALIBRATE_RUN_QUEUE_H
#define CALIBRATE_RUN_QUEUE_H

typedef struct run_queue run_queue;

/**
 * The threads that `task` (NULL: /proc/self/task) lists now, less those that have hardly run so
 * far, such as a library's helpers. NULL if the system does not tell, or out of memory: the other
 * functions accept that.
 */
run_queue *run_queue_open(const char *task);
void       run_queue_close(run_queue *q);

/** Notes where the counters stand. */
void run_queue_mark(run_queue *q);

/** Seconds that the thread that waited longest waited since the mark; NAN: unknown. */
double run_queue_waited(run_queue *q);

#endif
