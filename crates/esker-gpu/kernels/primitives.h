/* Sums before every entry, and stable sorting of keys with values.
 *
 * All that enters is integers, so that results do not depend on who comes first. Lengths are
 * read from memory, as the host does not know most of them.
 */
#ifndef ESKER_PRIMITIVES_H
#define ESKER_PRIMITIVES_H

#include "portable.h"

/* Threads of a thread block of all kernels of this text. */
#define RESIDENT_THREADS 256
/* Entries that a thread block takes at a time, a run of neighbours per thread. */
#define RUN 8
#define TILE (RESIDENT_THREADS * RUN)
/* Digits of a sorting pass. */
#define DIGIT_BITS 4
#define DIGITS (1 << DIGIT_BITS)
/* Threads that share a digit, and threads whose numbers of it each of them adds up. */
#define PARTS (RESIDENT_THREADS / DIGITS)
#define PART (RESIDENT_THREADS / PARTS)

/* A kernel with its record and one number. */
#define RESIDENT_KERNEL(name, type) \
    PART_OF_KERNEL(name##_begun, const struct type *s, u32 number); \
    KERNEL(name, RESIDENT_THREADS, const struct type *s, u32 number) { \
        WAIT_FOR_KERNELS_BEFORE(); \
        LET_NEXT_KERNEL_BEGIN(); \
        RUN_PART(name##_begun, s, number); \
    } \
    PART_OF_KERNEL(name##_begun, const struct type *s, u32 number)

/* Sums of all entries before each: `out[i] = in[0] + ... + in[i - 1]`; `in` may be `out`. */
struct Scan {
    const u32 *in;
    u32 *out;
    /* Where the number of entries is, and where their sum goes. */
    const u32 *length;
    u32 *total;
    /* One number per tile. */
    u32 *tiles;
};

/* Sorts keys and their values by the bits of the keys from `number` on; stable. What is sorted
 * lies in the first arrays before a pass and in the second after it; from pass to pass they
 * change places. */
struct Sort {
    u64 *keys[2];
    u32 *values[2];
    const u32 *length;
    /* `DIGITS` numbers per tile, digit by digit. */
    u32 *counts;
    /* How many of these there are. */
    u32 *count_length;
};

DEVICE u32 tiles_of(u32 length) {
    return (length + TILE - 1) / TILE;
}

#define EXCLUSIVE_SCAN_OF_THREADS(sums, total) \
    /* On entry sums[0][thread] is a thread's number; on exit what those before it have. */ \
    do { \
        u32 scan_from = 0; \
        for (u32 stride = 1; stride < RESIDENT_THREADS; stride *= 2) { \
            FOR_THREADS(t) { \
                u32 own = sums[scan_from][t]; \
                sums[1 - scan_from][t] = t >= stride ? own + sums[scan_from][t - stride] : own; \
            } \
            BARRIER(); \
            scan_from = 1 - scan_from; \
        } \
        total = sums[scan_from][RESIDENT_THREADS - 1]; \
        BARRIER(); \
        FOR_THREADS(t) { \
            sums[1 - scan_from][t] = t > 0 ? sums[scan_from][t - 1] : 0; \
        } \
        BARRIER(); \
        if (scan_from == 0) { \
            FOR_THREADS(t) { sums[0][t] = sums[1][t]; } \
            BARRIER(); \
        } \
    } while (0)

/* Sum of every tile. */
RESIDENT_KERNEL(scan_tiles, Scan) {
    SHARED(u32, sums[2][RESIDENT_THREADS]);
    u32 length = *s->length, tiles = tiles_of(length);
    (void)number;
    for (u32 tile = THREAD_BLOCK; tile < tiles; tile += THREAD_BLOCKS) {
        FOR_THREADS(thread) {
            u32 sum = 0;
            for (u32 k = 0; k < RUN; k++) {
                u32 i = tile * TILE + k * RESIDENT_THREADS + thread;
                sum += i < length ? s->in[i] : 0;
            }
            sums[0][thread] = sum;
        }
        BARRIER();
        for (u32 half = RESIDENT_THREADS / 2; half > 0; half /= 2) {
            FOR_THREADS(thread) {
                if (thread < half) sums[0][thread] += sums[0][thread + half];
            }
            BARRIER();
        }
        FOR_THREADS(thread) {
            if (thread == 0) s->tiles[tile] = sums[0][0];
        }
        BARRIER();
    }
}

/* Sums of the tiles before each, by one thread block. */
RESIDENT_KERNEL(scan_sums, Scan) {
    SHARED(u32, sums[2][RESIDENT_THREADS]);
    u32 tiles = tiles_of(*s->length);
    u32 before = 0;
    (void)number;
    for (u32 start = 0; start < tiles; start += RESIDENT_THREADS) {
        u32 total;
        FOR_THREADS(thread) {
            sums[0][thread] = start + thread < tiles ? s->tiles[start + thread] : 0;
        }
        BARRIER();
        EXCLUSIVE_SCAN_OF_THREADS(sums, total);
        FOR_THREADS(thread) {
            if (start + thread < tiles) s->tiles[start + thread] = before + sums[0][thread];
        }
        BARRIER();
        before += total;
    }
    FOR_THREADS(thread) {
        if (thread == 0) *s->total = before;
    }
}

/* Sums of the entries before each. */
RESIDENT_KERNEL(scan_entries, Scan) {
    SHARED(u32, sums[2][RESIDENT_THREADS]);
    SHARED(u32, entries[TILE]);
    u32 length = *s->length, tiles = tiles_of(length);
    (void)number;
    for (u32 tile = THREAD_BLOCK; tile < tiles; tile += THREAD_BLOCKS) {
        u32 total;
        FOR_THREADS(thread) {
            for (u32 k = 0; k < RUN; k++) {
                u32 place = k * RESIDENT_THREADS + thread, i = tile * TILE + place;
                entries[place] = i < length ? s->in[i] : 0;
            }
        }
        BARRIER();
        FOR_THREADS(thread) {
            u32 sum = 0;
            for (u32 k = 0; k < RUN; k++) sum += entries[thread * RUN + k];
            sums[0][thread] = sum;
        }
        BARRIER();
        EXCLUSIVE_SCAN_OF_THREADS(sums, total);
        (void)total;
        FOR_THREADS(thread) {
            u32 sum = s->tiles[tile] + sums[0][thread];
            for (u32 k = 0; k < RUN; k++) {
                u32 own = entries[thread * RUN + k];
                entries[thread * RUN + k] = sum;
                sum += own;
            }
        }
        BARRIER();
        FOR_THREADS(thread) {
            for (u32 k = 0; k < RUN; k++) {
                u32 place = k * RESIDENT_THREADS + thread, i = tile * TILE + place;
                if (i < length) s->out[i] = entries[place];
            }
        }
        BARRIER();
    }
}

DEVICE u32 digit_of(u64 key, u32 shift) {
    return (u32)(key >> shift) & (DIGITS - 1);
}

/* How often each digit occurs in each tile. `number`: the digit's lowest bit, and above the
 * lowest byte which of the two arrays is sorted. */
RESIDENT_KERNEL(sort_count, Sort) {
    SHARED(u32, counts[DIGITS]);
    u32 length = *s->length, tiles = tiles_of(length), shift = number & 255;
    const u64 *keys = s->keys[number >> 8 & 1];
    FOR_THREADS(thread) {
        if (thread == 0 && THREAD_BLOCK == 0) *s->count_length = DIGITS * tiles;
    }
    for (u32 tile = THREAD_BLOCK; tile < tiles; tile += THREAD_BLOCKS) {
        FOR_THREADS(thread) {
            if (thread < DIGITS) counts[thread] = 0;
        }
        BARRIER();
        FOR_THREADS(thread) {
            for (u32 k = 0; k < RUN; k++) {
                u32 i = tile * TILE + k * RESIDENT_THREADS + thread;
                if (i < length) ATOMIC_ADD_U32(&counts[digit_of(keys[i], shift)], 1);
            }
        }
        BARRIER();
        FOR_THREADS(thread) {
            if (thread < DIGITS) s->counts[thread * tiles + tile] = counts[thread];
        }
        BARRIER();
    }
}

/* Puts entries where they belong: behind those of lower digits (`counts` are sums by now), of
 * earlier tiles, and of the tile those before it. */
RESIDENT_KERNEL(sort_place, Sort) {
    SHARED(u32, sums[RESIDENT_THREADS]);
    SHARED(u16, ranks[DIGITS][RESIDENT_THREADS]);
    SHARED(u64, tile_keys[TILE]);
    u32 length = *s->length, tiles = tiles_of(length), shift = number & 255;
    u32 from = number >> 8 & 1;
    for (u32 tile = THREAD_BLOCK; tile < tiles; tile += THREAD_BLOCKS) {
        FOR_THREADS(thread) {
            for (u32 k = 0; k < RUN; k++) {
                u32 place = k * RESIDENT_THREADS + thread, i = tile * TILE + place;
                tile_keys[place] = i < length ? s->keys[from][i] : 0;
            }
        }
        BARRIER();
        /* A thread's neighbours in a run come one after another. */
        FOR_THREADS(thread) {
            for (u32 digit = 0; digit < DIGITS; digit++) ranks[digit][thread] = 0;
            for (u32 k = 0; k < RUN; k++) {
                u32 place = thread * RUN + k;
                if (tile * TILE + place < length) {
                    ranks[digit_of(tile_keys[place], shift)][thread] += 1;
                }
            }
        }
        BARRIER();
        /* Sums before every thread, digit by digit: some threads have a part of each. */
        FOR_THREADS(thread) {
            const u16 *own = ranks[thread / PARTS] + thread % PARTS * PART;
            sums[thread] = 0;
            for (u32 k = 0; k < PART; k++) sums[thread] += own[k];
        }
        BARRIER();
        FOR_THREADS(thread) {
            u16 *own = ranks[thread / PARTS] + thread % PARTS * PART;
            u32 before = 0;
            for (u32 k = thread / PARTS * PARTS; k < thread; k++) before += sums[k];
            for (u32 k = 0; k < PART; k++) {
                u32 count = own[k];
                own[k] = (u16)before;
                before += count;
            }
        }
        BARRIER();
        FOR_THREADS(thread) {
            for (u32 k = 0; k < RUN; k++) {
                u32 place = thread * RUN + k, i = tile * TILE + place;
                if (i < length) {
                    u32 digit = digit_of(tile_keys[place], shift);
                    u32 to = s->counts[digit * tiles + tile] + ranks[digit][thread];
                    ranks[digit][thread] += 1;
                    s->keys[1 - from][to] = tile_keys[place];
                    s->values[1 - from][to] = s->values[from][i];
                }
            }
        }
        BARRIER();
    }
}

#endif
