#include "oom/counted.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

// Workers allocate too, so all is atomic.
static atomic_int calls, failures, fail_at;
static atomic_bool fail_on;
static atomic_long live;
static atomic_llong asked;

void counted_fail(int n, bool on) {
    atomic_store(&fail_at, 0);
    atomic_store(&calls, 0);
    atomic_store(&failures, 0);
    atomic_store(&asked, 0);
    atomic_store(&fail_on, on);
    atomic_store(&fail_at, n);
}

int counted_calls(void) {
    return atomic_load(&calls);
}

int counted_failures(void) {
    return atomic_load(&failures);
}

long long counted_bytes(void) {
    return atomic_load(&asked);
}

long counted_live(void) {
    return atomic_load(&live);
}

static bool fails(void) {
    const int call = atomic_fetch_add(&calls, 1) + 1, at = atomic_load(&fail_at);
    const bool now = at && (call == at || (call > at && atomic_load(&fail_on)));
    if (now) atomic_fetch_add(&failures, 1);
    return now;
}

static void *taken(void *p) {
    if (p) atomic_fetch_add(&live, 1);
    return p;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
void __real_free(void *p);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *p, size_t bytes);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);
int __real_pthread_join(pthread_t thread, void **result);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
void __wrap_free(void *p);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *p, size_t bytes);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);

// Whether the call fails, with its errno; else counts what it asks for.
static bool fails_for(size_t bytes) {
    if (fails()) {
        errno = ENOMEM;
        return true;
    }
    atomic_fetch_add(&asked, (long long)bytes);
    return false;
}

void *__wrap_malloc(size_t bytes) {
    if (fails_for(bytes)) return NULL;
    return taken(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes) {
    if (fails_for(count * bytes)) return NULL;
    return taken(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *p, size_t bytes) {
    if (fails_for(bytes)) return NULL;
    void *q = __real_realloc(p, bytes);
    return p ? q : taken(q); // a block that moves stays one block
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    if (fails_for(bytes)) return NULL;
    return taken(__real_aligned_alloc(alignment, bytes));
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes) {
    if (fails_for(bytes)) return ENOMEM;
    const int error = __real_posix_memalign(out, alignment, bytes);
    if (!error) taken(*out);
    return error;
}

void __wrap_free(void *p) {
    if (p) atomic_fetch_sub(&live, 1);
    __real_free(p);
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if (fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *p = __real_mmap(at, bytes, protection, flags, fd, offset);
    if (p != MAP_FAILED) atomic_fetch_add(&live, 1);
    return p;
}

int __wrap_munmap(void *p, size_t bytes) {
    const int error = __real_munmap(p, bytes);
    if (!error) atomic_fetch_sub(&live, 1);
    return error;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *arg) {
    if (fails()) return EAGAIN;
    const int error = __real_pthread_create(thread, attributes, start, arg);
    if (!error) atomic_fetch_add(&live, 1);
    return error;
}

int __wrap_pthread_join(pthread_t thread, void **result) {
    const int error = __real_pthread_join(thread, result);
    if (!error) atomic_fetch_sub(&live, 1);
    return error;
}
