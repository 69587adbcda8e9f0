#include "sim_switch.h"

#include <stdint.h>

#if SIM_SWITCH_FAST

void sim_switch_stacks(void **save, void *load);

/* Callee-saved registers of the System V ABI; the rest the compiler has saved around the call. */
__asm__(".text\n"
        ".globl sim_switch_stacks\n"
        ".hidden sim_switch_stacks\n"
        ".type sim_switch_stacks,@function\n"
        "sim_switch_stacks:\n"
        "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  mov %rsp, (%rdi)\n"
        "  mov %rsi, %rsp\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
        "  ret\n"
        ".size sim_switch_stacks,.-sim_switch_stacks\n");

enum { SAVED_REGISTERS = 6 };

void sim_switch_prepare(struct sim_context *context, void *stack, size_t stack_bytes,
                        void (*main)(void))
{
    uintptr_t *top = (uintptr_t *)(void *)((unsigned char *)stack + stack_bytes);
    *--top = 0;               /* where main would return to; also aligns its frame */
    *--top = (uintptr_t)main; /* taken by ret */
    for (int i = 0; i < SAVED_REGISTERS; i++) {
        *--top = 0;
    }
    context->stack = top;
}

void sim_switch(struct sim_context *from, struct sim_context *to)
{
    sim_switch_stacks(&from->stack, to->stack);
}

#else

void sim_switch_prepare(struct sim_context *context, void *stack, size_t stack_bytes,
                        void (*main)(void))
{
    getcontext(&context->context);
    context->context.uc_stack.ss_sp = stack;
    context->context.uc_stack.ss_size = stack_bytes;
    makecontext(&context->context, main, 0);
}

void sim_switch(struct sim_context *from, struct sim_context *to)
{
    swapcontext(&from->context, &to->context);
}

#endif
