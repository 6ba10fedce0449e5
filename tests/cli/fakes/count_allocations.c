/* Preloaded: what is allocated between two looks of a thread at its CPU clock, which is where the
 * CPU backend's timed regions begin and end. Says so on stderr when the program ends. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

static atomic_int  timed; /* inside a region */
static atomic_long regions, inside, outside, largest, maps;

static void count(size_t size)
{
    if (!timed) {
        outside++;
        return;
    }
    inside++;
    if ((long)size > largest)
        largest = (long)size;
}

#ifdef SANITIZED /* whose allocator tells; weak, since what the program starts may not have it */
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*allocated)(const volatile void *, size_t), void (*freed)(const volatile void *));

static void allocated(const volatile void *at, size_t size)
{
    (void)at;
    count(size);
}

static void freed(const volatile void *at)
{
    (void)at;
}

__attribute__((constructor)) static void begin(void)
{
    if (__sanitizer_install_malloc_and_free_hooks)
        __sanitizer_install_malloc_and_free_hooks(allocated, freed);
}
#else
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    count(n * size);
    return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    count(size);
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = aligned_alloc(alignment, size);
    return *out ? 0 : 12;
}
#endif

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int, off_t) = NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    maps += timed;
    return real(at, size, protection, flags, fd, offset);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) = NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    if (clock == CLOCK_THREAD_CPUTIME_ID) {
        timed = !timed;
        regions += timed;
    }
    return real(clock, t);
}

__attribute__((destructor)) static void report(void)
{
    if (regions) /* not of a shell or a helper */
        fprintf(stderr,
                "allocations: %ld in %ld timed regions, largest %ld bytes, %ld maps; %ld outside\n",
                inside, regions, largest, maps, outside);
}
