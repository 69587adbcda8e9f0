#ifndef TESTS_SIM_SIM_SWITCH_H
#define TESTS_SIM_SIM_SWITCH_H

#include <stddef.h>

/* Switching stacks. A run of seconds switches some ten million times, and swapcontext makes a
 * system call each time: on x86-64 a dozen instructions do instead. AddressSanitizer follows
 * swapcontext only. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define SIM_SWITCH_FAST 1
struct sim_context {
    void *stack; /* with the saved registers on top */
};
#else
#define SIM_SWITCH_FAST 0
#include <ucontext.h>
struct sim_context {
    ucontext_t context;
};
#endif

/* The first switch to `context` calls main on the stack; main never returns. */
void sim_switch_prepare(struct sim_context *context, void *stack, size_t stack_bytes,
                        void (*main)(void));
/* Goes on at `to`; returns when somebody switches to `from`. */
void sim_switch(struct sim_context *from, struct sim_context *to);

#endif
