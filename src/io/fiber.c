/* Contexts of the C library, each with a stack of its own below which lies a page that nobody may touch.
 *
 * Stacks are used again: a new one costs a system call or two and a fault for each of its pages. Sanitizers
 * are told of each change of hands, or they take the stack of one for that of another. */
#include "io/fiber.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

#define GUARD_BYTES ((size_t)4096)
/* Errors and paths have 4 KB each, and sanitizers make frames larger. Untouched pages cost nothing. */
#define STACK_BYTES ((size_t)1 << 20)
/* Stacks that are kept for the next fiber. */
#define SPARE_MAX 32

struct fiber {
    ucontext_t here;
    ucontext_t outside;
    void (*run)(void *ctx);
    void *ctx;
    char *memory; /* the guard, then the stack */
    int number;   /* its errno, while it does not run */
    bool has_begun;
    bool has_ended;
#ifdef __SANITIZE_ADDRESS__
    void *fake_here; /* where it keeps what outlives frames, to be found */
    void *fake_outside;
    const void *outside_stack;
    size_t outside_bytes;
#endif
#ifdef __SANITIZE_THREAD__
    void *tsan_here;
    void *tsan_outside;
#endif
};

/* Of this thread; what it has left when it ends stays taken. */
static _Thread_local struct {
    char *items[SPARE_MAX];
    unsigned count;
} spare;
/* For fiber_begin(), which gets no pointer. */
static _Thread_local struct fiber *beginning;

static char *stack_new(void)
{
    char *memory;

    if (spare.count > 0)
        return spare.items[--spare.count];
    memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (mprotect(memory, GUARD_BYTES, PROT_NONE) < 0) {
        (void)munmap(memory, GUARD_BYTES + STACK_BYTES);
        return NULL;
    }
    return memory;
}

static void stack_free(char *memory)
{
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(memory + GUARD_BYTES, STACK_BYTES); /* the last frame never returned */
#endif
    if (spare.count < SPARE_MAX)
        spare.items[spare.count++] = memory;
    else
        (void)munmap(memory, GUARD_BYTES + STACK_BYTES);
}

/* --- Changes of hands --- */

/* The C library's own. ASan's knows of no fibers: it warns, and forgets what it knew of both stacks. */
static void switch_context(ucontext_t *from, const ucontext_t *to)
{
#ifdef __SANITIZE_ADDRESS__
    static int (*original)(ucontext_t *, const ucontext_t *);

    if (!original) {
        void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

        *(void **)&original = libc ? dlsym(libc, "swapcontext") : NULL;
        assert(original);
    }
    (void)original(from, to);
#else
    /* cppcheck-suppress swapcontextCalled ; POSIX threads are what fibers replace */
    (void)swapcontext(from, to); /* cannot fail: the stack is large enough */
#endif
}

static void fiber_enter(struct fiber *f)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&f->fake_outside, f->memory + GUARD_BYTES, STACK_BYTES);
#endif
#ifdef __SANITIZE_THREAD__
    f->tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(f->tsan_here, 0);
#endif
    switch_context(&f->outside, &f->here);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(f->fake_outside, NULL, NULL);
#endif
}

/* In the fiber, after each change to it. */
static void fiber_entered(struct fiber *f)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(f->fake_here, &f->outside_stack, &f->outside_bytes);
#else
    (void)f;
#endif
}

static void fiber_leave(struct fiber *f)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(f->has_ended ? NULL : &f->fake_here, f->outside_stack, f->outside_bytes);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(f->tsan_outside, 0);
#endif
    switch_context(&f->here, &f->outside);
}

static void fiber_begin(void)
{
    struct fiber *f = beginning;

    fiber_entered(f);
    f->run(f->ctx);
    f->has_ended = true;
    fiber_leave(f);
}

/* --- For whoever has one --- */

/* On its own: compilers fear for what is in registers where getcontext() is called. */
static __attribute__((noinline)) void context_make(ucontext_t *c, char *stack)
{
    /* cppcheck-suppress getcontextCalled */
    (void)getcontext(c); /* cannot fail where it is given memory */
    c->uc_stack.ss_sp = stack;
    c->uc_stack.ss_size = STACK_BYTES;
    /* cppcheck-suppress makecontextCalled */
    makecontext(c, fiber_begin, 0);
}

struct fiber *fiber_new(void (*run)(void *ctx), void *ctx)
{
    struct fiber *f = calloc(1, sizeof *f);
    char *memory = f ? stack_new() : NULL;

    if (!memory) {
        free(f);
        return NULL;
    }
    f->memory = memory;
    f->run = run;
    f->ctx = ctx;
    context_make(&f->here, f->memory + GUARD_BYTES);
#ifdef __SANITIZE_THREAD__
    f->tsan_here = __tsan_create_fiber(0);
#endif
    return f;
}

struct fiber *fiber_free(struct fiber *f)
{
    if (!f)
        return NULL;
    assert(!f->has_begun || f->has_ended);
#ifdef __SANITIZE_THREAD__
    __tsan_destroy_fiber(f->tsan_here);
#endif
    stack_free(f->memory);
    free(f);
    return NULL;
}

bool fiber_run(struct fiber *f)
{
    int before = errno;

    assert(!f->has_ended);
    f->has_begun = true;
    beginning = f;
    errno = f->number;
    fiber_enter(f);
    f->number = errno;
    errno = before;
    return !f->has_ended;
}

void fiber_stop(struct fiber *f)
{
    fiber_leave(f);
    fiber_entered(f);
}
