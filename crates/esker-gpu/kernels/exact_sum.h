/* Sums that do not depend on the order of their numbers: `esker_parallel::ExactSum`. */
#ifndef ESKER_EXACT_SUM_H
#define ESKER_EXACT_SUM_H

#include "portable.h"

/* Limbs of an exact sum, their bits, and how far the unit is below one, in bits. */
#define LIMBS 8
#define LIMB_BITS 32
#define UNIT 160

/* Adds a number that is not negative and below 2^84, cut to the unit, to a thread's own limbs. */
DEVICE void add_exactly(u64 *limbs, double x) {
    u64 bits = BITS_OF(x);
    u64 mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;
    int last_bit = (int)(bits >> 52 & 0x7ff) - 1075 + UNIT;
    if (last_bit < 0) {
        mantissa = last_bit > -64 ? mantissa >> -last_bit : 0;
        last_bit = 0;
    }
    if (mantissa == 0 || last_bit >= (LIMBS - 2) * LIMB_BITS) return;
    int shift = last_bit % LIMB_BITS, first = last_bit / LIMB_BITS;
    u64 low = mantissa << shift, high = mantissa >> 1 >> (63 - shift);
    /* Limbs are in registers, which have no numbers at run time. */
    for (int k = 0; k < LIMBS; k++) {
        u64 part = k == first ? low & 0xffffffffull : k == first + 1 ? low >> 32 : high;
        if (k >= first && k <= first + 2) limbs[k] += part;
    }
}

#endif
