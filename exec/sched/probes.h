#ifndef EXEC_SCHED_PROBES_H
#define EXEC_SCHED_PROBES_H

/* Static probes (USDT) of provider `morseld`, for bpftrace, perf and gdb: an instruction that does
 * nothing until a tracer puts itself there. Built in where sys/sdt.h is (Debian:
 * systemtap-sdt-dev), else nothing at all. Arguments are addresses, counts and nanoseconds; `job`
 * is the struct exec_job, the same in every probe, `pipe` the struct pipe of a pipeline. Names and
 * arguments are what deploy/bpftrace relies on.
 *
 *     job__start        job, priority, workers_max
 *     job__end          job, code (enum exec_code), elapsed_ns, morsels
 *     pipeline__start   job, pipe, number, name of its source
 *     pipeline__end     job, pipe, number, name of its source
 *     morsel__start     job, pipe, worker, units asked for
 *     morsel__end       job, pipe, worker, units done, run_ns
 *     steal             job, worker, victim, level (0 SMT, 1 L3, 2 node, 3 remote), units
 *     park              worker, timeout_ns (0: until woken)
 *     unpark            worker, slept_ns
 */
#ifdef MORSEL_PROBES
#include <sys/sdt.h>
#define PROBE2(name, a, b) DTRACE_PROBE2(morseld, name, a, b)
#define PROBE3(name, a, b, c) DTRACE_PROBE3(morseld, name, a, b, c)
#define PROBE4(name, a, b, c, d) DTRACE_PROBE4(morseld, name, a, b, c, d)
#define PROBE5(name, a, b, c, d, e) DTRACE_PROBE5(morseld, name, a, b, c, d, e)
#else
#define PROBE2(name, a, b) ((void)0)
#define PROBE3(name, a, b, c) ((void)0)
#define PROBE4(name, a, b, c, d) ((void)0)
#define PROBE5(name, a, b, c, d, e) ((void)0)
#endif

#endif
