/* Lets one text of a kernel be CUDA for a device and plain C for the host.
 *
 * A kernel is a sequence of phases. Between two barriers every thread of a thread block runs
 * one phase, FOR_THREADS { ... }; whatever stands outside of phases is the same for all
 * threads of the block. On a device the threads run at the same time. On the host a phase is a
 * loop over the threads, so that phases see what the barriers of a device let them see, and a
 * test without a device finds what is wrong with indices, phases and arithmetic.
 *
 * What is kept from phase to phase lies in memory of the thread block or of the device, or is a
 * thread's own: OWN(type, name) declares it and MINE(name, thread) is it, registers of a device
 * and an array of the host. Parts that kernels share are PART_OF_KERNELs.
 * No expression is contracted: both sides compute the bits of the CPU's sweep.
 */
#ifndef ESKER_PORTABLE_H
#define ESKER_PORTABLE_H

typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned long long u64;

/* Velocities and rows of contacts are numbers of double precision, or of single precision where
 * MIXED is defined; positions, and what rows are made of, have double precision always. */
#ifdef MIXED
typedef float real;
#define SQUARE_ROOT(x) sqrtf(x)
#define SMALLEST_REAL 1.17549435e-38f
#else
typedef double real;
#define SQUARE_ROOT(x) sqrt(x)
#define SMALLEST_REAL 2.2250738585072014e-308
#endif
#define R(x) ((real)(x))

#ifdef __CUDACC__

#define DEVICE __device__ static __forceinline__
/* A kernel with its parameters, numbers of 32 bits; what it works on is the STEP. */
#define KERNEL(name, threads, ...) \
    extern "C" __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
/* Constant memory: addresses in it are operands of instructions and take no registers. */
#define STEP (&esker_step)
#define DECLARE_STEP(type) extern "C" __constant__ type esker_step
#define THREAD_BLOCK blockIdx.x
#define THREAD_BLOCKS gridDim.x
#define THREADS blockDim.x
#define FOR_THREADS(thread) \
    for (u32 thread = threadIdx.x, thread##_done = 0; !thread##_done; thread##_done = 1)
#define BARRIER() __syncthreads()
#define DYNAMIC_SHARED(name) extern __shared__ real name[]
#define SHARED(type, name) __shared__ type name
#define OWN(type, name) type name
#define MINE(name, thread) (&name)
#define PART_OF_KERNEL(name, ...) DEVICE void name(__VA_ARGS__)
#define RUN_PART(name, ...) name(__VA_ARGS__)
#define STATIC_ASSERT(condition, words) static_assert(condition, words)
#define ATOMIC_MIN_U64(address, value) atomicMin(address, value)
#define ATOMIC_ADD_U32(address, value) atomicAdd(address, value)
#define ATOMIC_ADD_U64(address, value) atomicAdd(address, value)
#define ATOMIC_MAX_U64(address, value) atomicMax(address, value)
#define ATOMIC_MAX_U32(address, value) atomicMax(address, value)
#define ATOMIC_MIN_U32(address, value) atomicMin(address, value)
#define ATOMIC_OR_U32(address, value) atomicOr(address, value)
/* These return what was there before. */
#define FETCH_ADD_U32(address, value) atomicAdd(address, value)
#define COMPARE_AND_SWAP_U32(address, expected, value) atomicCAS(address, expected, value)
#define COMPARE_AND_SWAP_U64(address, expected, value) atomicCAS(address, expected, value)
#define EXCHANGE_U32(address, value) atomicExch(address, value)
/* Four numbers side by side, at an address that is a multiple of their size. */
#ifdef MIXED
#define LOAD_FOUR(address, out) \
    do { \
        float4 four = *(const float4 *)(address); \
        (out)[0] = four.x, (out)[1] = four.y, (out)[2] = four.z, (out)[3] = four.w; \
    } while (0)
#else
#define LOAD_FOUR(address, out) \
    do { \
        double2 two = *(const double2 *)(address), more = *(const double2 *)((address) + 2); \
        (out)[0] = two.x, (out)[1] = two.y, (out)[2] = more.x, (out)[3] = more.y; \
    } while (0)
#endif
#define BITS_OF(x) ((u64)__double_as_longlong(x))
#define DOUBLE_OF(bits) __longlong_as_double((long long)(bits))
#define BITS_OF_FLOAT(x) ((u32)__float_as_int(x))
#define FLOAT_OF(bits) __int_as_float((int)(bits))

#else

#include <math.h>
#include <string.h>

/* Threads of a thread block at most. */
#define MOST_THREADS 1024

struct Step;

/* Where a thread block of a launch is, its shared memory, and what it works on. */
struct Launch {
    u32 thread_block;
    u32 thread_blocks;
    u32 threads;
    double *shared;
    const struct Step *step;
};

#define DEVICE static inline __attribute__((unused))
/* Kernels of both precisions are in one program. */
#ifdef MIXED
#define KERNEL(name, most, ...) void name##_mixed(struct Launch launch, ##__VA_ARGS__)
#else
#define KERNEL(name, most, ...) void name(struct Launch launch, ##__VA_ARGS__)
#endif
#define LOAD_FOUR(address, out) \
    do { \
        const real *four = (address); \
        for (int four_k = 0; four_k < 4; four_k++) (out)[four_k] = four[four_k]; \
    } while (0)
#define STEP launch.step
#define DECLARE_STEP(type) struct Step
#define THREAD_BLOCK launch.thread_block
#define THREAD_BLOCKS launch.thread_blocks
#define THREADS launch.threads
#define FOR_THREADS(thread) for (u32 thread = 0; thread < launch.threads; thread++)
#define BARRIER() ((void)0)
#define DYNAMIC_SHARED(name) real *name = (real *)launch.shared
#define SHARED(type, name) type name
#define OWN(type, name) type name[MOST_THREADS]
#define MINE(name, thread) (&name[thread])
#define PART_OF_KERNEL(name, ...) static void name(struct Launch launch, ##__VA_ARGS__)
#define RUN_PART(name, ...) name(launch, ##__VA_ARGS__)
#define STATIC_ASSERT(condition, words) _Static_assert(condition, words)
#define ATOMIC_MIN_U64(address, value) \
    do { \
        u64 *at = (address), new_value = (value); \
        if (new_value < *at) *at = new_value; \
    } while (0)
#define ATOMIC_ADD_U32(address, value) (*(address) += (value))
#define ATOMIC_ADD_U64(address, value) (*(address) += (value))
#define ATOMIC_MAX_U64(address, value) \
    do { \
        u64 *at_max = (address), new_max = (value); \
        if (new_max > *at_max) *at_max = new_max; \
    } while (0)
#define ATOMIC_MAX_U32(address, value) \
    do { \
        u32 *at_max = (address), new_max = (value); \
        if (new_max > *at_max) *at_max = new_max; \
    } while (0)
#define ATOMIC_MIN_U32(address, value) \
    do { \
        u32 *at_min = (address), new_min = (value); \
        if (new_min < *at_min) *at_min = new_min; \
    } while (0)
#define ATOMIC_OR_U32(address, value) (*(address) |= (value))

DEVICE u32 FETCH_ADD_U32(u32 *address, u32 value) {
    u32 before = *address;
    *address = before + value;
    return before;
}

DEVICE u32 COMPARE_AND_SWAP_U32(u32 *address, u32 expected, u32 value) {
    u32 before = *address;
    if (before == expected) *address = value;
    return before;
}

DEVICE u64 COMPARE_AND_SWAP_U64(u64 *address, u64 expected, u64 value) {
    u64 before = *address;
    if (before == expected) *address = value;
    return before;
}

DEVICE u32 EXCHANGE_U32(u32 *address, u32 value) {
    u32 before = *address;
    *address = value;
    return before;
}

DEVICE u64 BITS_OF(double x) {
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

DEVICE double DOUBLE_OF(u64 bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

DEVICE u32 BITS_OF_FLOAT(float x) {
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

DEVICE float FLOAT_OF(u32 bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif

/* Maps numbers to integers in the same order. */
DEVICE u64 ascending(double x) {
    u64 bits = BITS_OF(x);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

DEVICE double of_ascending(u64 bits) {
    return DOUBLE_OF(bits >> 63 ? bits & ~(1ull << 63) : ~bits);
}

/* Within FOR_THREADS(thread): every `i` below `count`, whatever the number of thread blocks. */
#define FOR_EACH(i, thread, count) \
    for (u32 i = THREAD_BLOCK * THREADS + (thread); i < (count); i += THREADS * THREAD_BLOCKS)

#endif
