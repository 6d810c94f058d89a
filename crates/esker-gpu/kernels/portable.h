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
/* Impulses are squared in units of this: squares of small ones are no numbers of single precision
 * otherwise. A power of two. */
#define DISC_UNIT 1099511627776.0f
#else
typedef double real;
#define SQUARE_ROOT(x) sqrt(x)
#define SMALLEST_REAL 2.2250738585072014e-308
#define DISC_UNIT 1.0
#endif
#define R(x) ((real)(x))

/* How often a thread asks for what it waits for before that is an error: for seconds, where turns take
 * microseconds. On the host, where others have to get a processor first, it is hours. */
#ifdef __CUDACC__
#define MOST_POLLS 0x400000u
#else
#define MOST_POLLS 0xfffff000u
#endif

#ifdef __CUDACC__

#define DEVICE __device__ static __forceinline__
/* A kernel with its parameters, numbers of 32 bits; what it works on is the STEP. */
#define KERNEL(name, threads, ...) \
    extern "C" __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
/* The same, so many thread blocks of which a multiprocessor is to have at a time. */
#define KERNEL_OF_MANY(name, threads, blocks, ...) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)
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
#define ATOMIC_OR_U64(address, value) atomicOr(address, value)
/* These return what was there before. */
#define FETCH_ADD_U32(address, value) atomicAdd(address, value)
#define NEXT_PLACE(count) next_place(count)
#define COMPARE_AND_SWAP_U32(address, expected, value) atomicCAS(address, expected, value)
#define COMPARE_AND_SWAP_U64(address, expected, value) atomicCAS(address, expected, value)
#define EXCHANGE_U32(address, value) atomicExch(address, value)
/* What other threads of the thread block write while this one waits for it, and that writes
 * before are seen by who sees one after. */
#define WATCHED_U32(address) (*(volatile u32 *)(address))
#define WATCHED_U64(address) (*(volatile u64 *)(address))
#define IN_ORDER() __threadfence_block()
/* What a thread does that waits for others to take so many turns, each of which takes half a microsecond
 * at least. */
#define PAUSE(turns) \
    do { \
        if ((turns) > 1) __nanosleep(500 * ((turns) < 32 ? (turns) - 1 : 31)); \
    } while (0)
/* The largest number that a thread of a warp has. */
#if __CUDA_ARCH__ >= 800
#define MOST_OF_WARP(number) __reduce_max_sync(0xffffffffu, number)
#else
#define MOST_OF_WARP(number) most_of_warp(number)
DEVICE u32 most_of_warp(u32 number) {
    for (int half = 16; half > 0; half /= 2) {
        u32 other = __shfl_xor_sync(0xffffffffu, number, half);
        if (other > number) number = other;
    }
    return number;
}
#endif
/* Where it is so, what a thread has written is seen by who sees what its warp writes after this. All
 * threads of a warp come by. */
#define WRITES_COME_FIRST(is_so) \
    do { \
        if (is_so) __threadfence(); \
        __syncwarp(); \
    } while (0)
#define COUNT_BITS(bits) ((u32)__popcll(bits))
/* The lowest and the highest bit of a number that has one. */
#define LOWEST_BIT(bits) ((u32)__ffsll((long long)(bits)) - 1)
#define HIGHEST_BIT(bits) (63 - (u32)__clzll((long long)(bits)))
/* What lies at multiples of so many bytes is loaded and stored by that many at a time. */
#define ALIGNED(bytes) __align__(bytes)
/* Whether something holds for all threads of a warp, which wait for each other; the host has
 * warps of one thread. */
#define ALL_OF_WARP(is_so) __all_sync(0xffffffffu, is_so)
/* Adds the numbers of all threads of a warp, or takes the largest; only where all come by. */
#define WARP_ADD_U64(address, value) \
    do { \
        u64 warp_sum = (value); \
        for (int half = 16; half > 0; half /= 2) { \
            warp_sum += __shfl_xor_sync(0xffffffffu, warp_sum, half); \
        } \
        if (threadIdx.x % 32 == 0 && warp_sum != 0) atomicAdd(address, warp_sum); \
    } while (0)
#define WARP_MAX_U64(address, value) \
    do { \
        u64 warp_max = (value); \
        for (int half = 16; half > 0; half /= 2) { \
            u64 other_max = __shfl_xor_sync(0xffffffffu, warp_max, half); \
            if (other_max > warp_max) warp_max = other_max; \
        } \
        if (threadIdx.x % 32 == 0 && warp_max != 0) atomicMax(address, warp_max); \
    } while (0)
/* What is at an address, from the memory that all multiprocessors share: a kernel that began
 * before others were done may have older values nearer by. */
#define FRESH(address) __ldcg(address)
/* The same, of what a sweep comes back to in the next one alone, and a store of it. */
#define STREAMED(address) load_hinted(address, dropped_first())
#define STREAM(address, value) __stcs(address, value)
/* Two numbers side by side, at an address that is a multiple of their size; loads are fresh. */
#ifdef MIXED
typedef float2 Two;
#define TWO_OF(x) make_float2((x)[0], (x)[1])
#else
typedef double2 Two;
#define TWO_OF(x) make_double2((x)[0], (x)[1])
#endif
#define LOAD_TWO(address, out) \
    do { \
        Two loaded = __ldcg((const Two *)(address)); \
        (out)[0] = loaded.x, (out)[1] = loaded.y; \
    } while (0)
#define STORE_TWO(address, in) (*(Two *)(address) = TWO_OF(in))
#define LOAD_TWO_STREAMED(address, out) \
    do { \
        Two loaded = load_hinted((const Two *)(address), dropped_first()); \
        (out)[0] = loaded.x, (out)[1] = loaded.y; \
    } while (0)
#define STREAM_TWO(address, in) __stcs((Two *)(address), TWO_OF(in))
/* Half of what memory moves at a time, 32 bytes. */
#ifdef MIXED
typedef float4 Word;
#define WORD_OF(x) make_float4((x)[0], (x)[1], (x)[2], (x)[3])
#define NUMBERS_OF(word, out) \
    ((out)[0] = (word).x, (out)[1] = (word).y, (out)[2] = (word).z, (out)[3] = (word).w)
#else
typedef Two Word;
#define WORD_OF(x) TWO_OF(x)
#define NUMBERS_OF(word, out) ((out)[0] = (word).x, (out)[1] = (word).y)
#endif
/* Two numbers of 32 bits side by side, likewise. */
#define LOAD_PAIR(address, out) \
    do { \
        uint2 loaded = __ldcg((const uint2 *)(address)); \
        (out)[0] = loaded.x, (out)[1] = loaded.y; \
    } while (0)
/* Four of them, at an address that is a multiple of their size, by one load. */
#define LOAD_QUAD(address, out) \
    do { \
        uint4 quad = *(const uint4 *)(address); \
        (out)[0] = quad.x, (out)[1] = quad.y, (out)[2] = quad.z, (out)[3] = quad.w; \
    } while (0)
/* Kernels that follow one another closely: one may begin as soon as all thread blocks of the one
 * before let it or have ended. What others have written it may read after it has waited; what
 * those before the one before have written, at once. So a kernel that may begin early lets the
 * next one begin only after it has waited itself, and always waits. */
#if __CUDA_ARCH__ >= 900
#define WAIT_FOR_KERNELS_BEFORE() asm volatile("griddepcontrol.wait;" ::: "memory")
#define LET_NEXT_KERNEL_BEGIN() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#else
#define WAIT_FOR_KERNELS_BEFORE() ((void)0)
#define LET_NEXT_KERNEL_BEGIN() ((void)0)
#endif
#define BITS_OF(x) ((u64)__double_as_longlong(x))
#define DOUBLE_OF(bits) __longlong_as_double((long long)(bits))
#define BITS_OF_FLOAT(x) ((u32)__float_as_int(x))
#define FLOAT_OF(bits) __int_as_float((int)(bits))

#include "hints.h"

/* The word of the thread beside. */
DEVICE Word exchanged(Word word) {
    const u32 all = 0xffffffffu;
    word.x = __shfl_xor_sync(all, word.x, 1);
    word.y = __shfl_xor_sync(all, word.y, 1);
#ifdef MIXED
    word.z = __shfl_xor_sync(all, word.z, 1);
    word.w = __shfl_xor_sync(all, word.w, 1);
#endif
    return word;
}

/* Two words of every thread from each of so many places. Memory moves both words of a place at once
 * if one instruction asks for them: threads side by side fetch the words of one and then of the
 * other, of all places before any is waited for. All threads of a warp come by. */
template <int COUNT> DEVICE void load_words(const Word *words, const u32 *places, Word (*out)[2]) {
    u32 odd = threadIdx.x % 2;
    Word of_even[COUNT], of_odd[COUNT];
    for (int k = 0; k < COUNT; k++) {
        u32 own = places[k], beside = __shfl_xor_sync(0xffffffffu, own, 1);
        of_even[k] = load_hinted(words + 2 * (u64)(odd ? beside : own) + odd, kept_longest());
        of_odd[k] = load_hinted(words + 2 * (u64)(odd ? own : beside) + odd, kept_longest());
    }
    for (int k = 0; k < COUNT; k++) {
        Word received = exchanged(odd ? of_even[k] : of_odd[k]);
        out[k][0] = odd ? received : of_even[k];
        out[k][1] = odd ? of_odd[k] : received;
    }
}

/* Stores two words of every thread, or none. */
DEVICE void store_words(Word *words, u32 place, u32 is_stored, Word first, Word second) {
    const u32 nowhere = 0xffffffffu;
    if (!is_stored) place = nowhere;
    u32 odd = threadIdx.x % 2, beside = __shfl_xor_sync(0xffffffffu, place, 1);
    u32 of_even = odd ? beside : place, of_odd = odd ? place : beside;
    Word received = exchanged(odd ? first : second);
    if (of_even != nowhere) {
        store_hinted(words + 2 * (u64)of_even + odd, odd ? received : first, kept_longest());
    }
    if (of_odd != nowhere) {
        store_hinted(words + 2 * (u64)of_odd + odd, odd ? second : received, kept_longest());
    }
}

/* Eight numbers from each of two places; threads that want none have any place that is there. */
DEVICE void load_pair_of_eight(const real *numbers, const u32 *pair, u32 is_wanted, real (*a)[4],
                               real (*b)[4]) {
    real *out[4] = {a[0], a[1], b[0], b[1]};
    u32 places[2] = {is_wanted ? pair[0] : 0, is_wanted ? pair[1] : 0};
#ifdef MIXED
    Word words[2][2];
    load_words<2>((const Word *)numbers, places, words);
    for (int k = 0; k < 4; k++) NUMBERS_OF(words[k / 2][k % 2], out[k]);
#else
    Word words[4][2];
    u32 halves[4] = {2 * places[0], 2 * places[0] + 1, 2 * places[1], 2 * places[1] + 1};
    load_words<4>((const Word *)numbers, halves, words);
    for (int k = 0; k < 8; k++) NUMBERS_OF(words[k / 2][k % 2], out[k / 2] + k % 2 * 2);
#endif
}

/* The first four of these. */
DEVICE void load_pair_of_four(const real *numbers, const u32 *pair, u32 is_wanted, real *a,
                              real *b) {
    u32 places[2] = {is_wanted ? pair[0] : 0, is_wanted ? pair[1] : 0};
#ifdef MIXED
    Word of_a = load_hinted((const Word *)(numbers + 8 * (u64)places[0]), kept_longest());
    Word of_b = load_hinted((const Word *)(numbers + 8 * (u64)places[1]), kept_longest());
    NUMBERS_OF(of_a, a);
    NUMBERS_OF(of_b, b);
#else
    Word words[2][2];
    u32 halves[2] = {2 * places[0], 2 * places[1]};
    load_words<2>((const Word *)numbers, halves, words);
    for (int k = 0; k < 2; k++) {
        NUMBERS_OF(words[0][k], a + 2 * k);
        NUMBERS_OF(words[1][k], b + 2 * k);
    }
#endif
}

DEVICE void store_eight(real *numbers, u32 place, u32 is_stored, const real (*in)[4]) {
#ifdef MIXED
    store_words((Word *)numbers, place, is_stored, WORD_OF(in[0]), WORD_OF(in[1]));
#else
    for (u32 half = 0; half < 2; half++) {
        store_words((Word *)numbers, 2 * place + half, is_stored, WORD_OF(in[half]),
                    WORD_OF(in[half] + 2));
    }
#endif
}

/* Four numbers from a place of as many, and a store of them, where not all threads of a warp come by. */
DEVICE void load_four_alone(const real *numbers, u32 place, real *out) {
#ifdef MIXED
    Word word = load_hinted((const Word *)numbers + place, kept_longest());
    NUMBERS_OF(word, out);
#else
    for (u32 k = 0; k < 2; k++) {
        Word word = load_hinted((const Word *)numbers + 2 * (u64)place + k, kept_longest());
        NUMBERS_OF(word, out + 2 * k);
    }
#endif
}

DEVICE void store_four_alone(real *numbers, u32 place, const real *in) {
#ifdef MIXED
    store_hinted((Word *)numbers + place, WORD_OF(in), kept_longest());
#else
    for (u32 k = 0; k < 2; k++) {
        store_hinted((Word *)numbers + 2 * (u64)place + k, WORD_OF(in + 2 * k), kept_longest());
    }
#endif
}

/* A place in a list of so many, and one for every other thread that comes by: one of a warp
 * takes them for all. */
DEVICE u32 next_place(u32 *count) {
    u32 together = __activemask(), lane = threadIdx.x % 32, first = __ffs(together) - 1, base = 0;
    if (lane == first) base = atomicAdd(count, __popc(together));
    base = __shfl_sync(together, base, first);
    return base + __popc(together & ((1u << lane) - 1));
}

#else

#include <math.h>
#include <sched.h>
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
#define KERNEL_OF_MANY(name, most, blocks, ...) KERNEL(name, most, ##__VA_ARGS__)
/* Four numbers, 16 bytes at a time. */
typedef u32 Bytes16 __attribute__((vector_size(16), may_alias));
#define COPY_FOUR(from, to) \
    do { \
        const volatile Bytes16 *in_16 = (const volatile Bytes16 *)(from); \
        volatile Bytes16 *out_16 = (volatile Bytes16 *)(to); \
        for (u32 k_16 = 0; k_16 < 4 * sizeof(real) / 16; k_16++) out_16[k_16] = in_16[k_16]; \
    } while (0)
#define LOAD_FOUR(address, out) \
    do { \
        ALIGNED(16) real four[4]; \
        COPY_FOUR(address, four); \
        memcpy(out, four, sizeof four); \
    } while (0)
#define WATCHED_U32(address) (*(volatile u32 *)(address))
#define WATCHED_U64(address) (*(volatile u64 *)(address))
#define IN_ORDER() ((void)0)
/* Thread blocks that wait for one another are threads of the host; the threads of one run one after
 * the other, and none may wait for the next. */
#define PAUSE(turns) ((void)(turns), sched_yield())
#define MOST_OF_WARP(number) (number)
#define WRITES_COME_FIRST(is_so) \
    do { \
        if (is_so) __atomic_thread_fence(__ATOMIC_SEQ_CST); \
    } while (0)
#define COUNT_BITS(bits) ((u32)__builtin_popcountll(bits))
#define LOWEST_BIT(bits) ((u32)__builtin_ctzll(bits))
#define HIGHEST_BIT(bits) (63 - (u32)__builtin_clzll(bits))
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define ALL_OF_WARP(is_so) (is_so)
#define WARP_ADD_U64(address, value) ATOMIC_ADD_U64(address, value)
#define WARP_MAX_U64(address, value) ATOMIC_MAX_U64(address, value)
#define STORE_FOUR(address, in) \
    do { \
        ALIGNED(16) real four[4]; \
        memcpy(four, in, sizeof four); \
        COPY_FOUR(four, address); \
    } while (0)
#define LOAD_PAIR(address, out) ((out)[0] = (address)[0], (out)[1] = (address)[1])
#define LOAD_QUAD(address, out) memcpy(out, address, 16)
#define LOAD_TWO(address, out) LOAD_PAIR(address, out)
#define STORE_TWO(address, in) ((address)[0] = (in)[0], (address)[1] = (in)[1])
#define LOAD_TWO_STREAMED(address, out) LOAD_TWO(address, out)
#define STREAM_TWO(address, in) STORE_TWO(address, in)
#define FRESH(address) (*(address))
#define STREAMED(address) (*(address))
#define STREAM(address, value) (*(address) = (value))
#define WAIT_FOR_KERNELS_BEFORE() ((void)0)
#define LET_NEXT_KERNEL_BEGIN() ((void)0)
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
#define ATOMIC_ADD_U32(address, value) \
    ((void)__atomic_fetch_add(address, value, __ATOMIC_RELAXED))
#define NEXT_PLACE(count) FETCH_ADD_U32(count, 1)
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
#define ATOMIC_OR_U64(address, value) (*(address) |= (value))

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

DEVICE void load_pair_of_four(const real *numbers, const u32 *pair, u32 is_wanted, real *a,
                              real *b) {
    if (!is_wanted) return;
    LOAD_FOUR(numbers + 8 * (u64)pair[0], a);
    LOAD_FOUR(numbers + 8 * (u64)pair[1], b);
}

DEVICE void load_pair_of_eight(const real *numbers, const u32 *pair, u32 is_wanted, real (*a)[4],
                               real (*b)[4]) {
    load_pair_of_four(numbers, pair, is_wanted, a[0], b[0]);
    load_pair_of_four(numbers + 4, pair, is_wanted, a[1], b[1]);
}

DEVICE void store_eight(real *numbers, u32 place, u32 is_stored, const real (*in)[4]) {
    if (!is_stored) return;
    STORE_FOUR(numbers + 8 * (u64)place, in[0]);
    STORE_FOUR(numbers + 8 * (u64)place + 4, in[1]);
}

DEVICE void load_four_alone(const real *numbers, u32 place, real *out) {
    LOAD_FOUR(numbers + 4 * (u64)place, out);
}

DEVICE void store_four_alone(real *numbers, u32 place, const real *in) {
    STORE_FOUR(numbers + 4 * (u64)place, in);
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
