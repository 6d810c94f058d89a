/* Numbers and vectors as the CPU computes them, operation by operation.
 *
 * Names and order of operations are those of Rust and of its vectors; sines are those of
 * `esker_geometry::portable`, since every library has its own.
 */
#ifndef ESKER_VECTORS_H
#define ESKER_VECTORS_H

#include "portable.h"

struct Vector {
    double x, y, z;
};

struct Quaternion {
    double x, y, z, w;
};

/* The greater of two numbers; of a number and what is none, the number. */
DEVICE double larger(double a, double b) {
    return b > a || a != a ? b : a;
}

DEVICE double smaller(double a, double b) {
    return b < a || a != a ? b : a;
}

DEVICE double clamped(double x, double low, double high) {
    if (x < low) x = low;
    if (x > high) x = high;
    return x;
}

/* Towards zero; the nearest there is of what does not fit, and zero of what is no number. */
DEVICE long long whole_number(double x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return 0x7fffffffffffffffll;
    if (x <= -9223372036854775808.0) return (long long)(1ull << 63);
    return (long long)x;
}

DEVICE struct Vector vector(double x, double y, double z) {
    struct Vector v = {x, y, z};
    return v;
}

DEVICE struct Vector vector_at(const double *array, u32 i) {
    return vector(array[3 * (u64)i], array[3 * (u64)i + 1], array[3 * (u64)i + 2]);
}

DEVICE void set_vector(double *array, u32 i, struct Vector v) {
    array[3 * (u64)i] = v.x;
    array[3 * (u64)i + 1] = v.y;
    array[3 * (u64)i + 2] = v.z;
}

DEVICE struct Vector plus(struct Vector a, struct Vector b) {
    return vector(a.x + b.x, a.y + b.y, a.z + b.z);
}

DEVICE struct Vector minus(struct Vector a, struct Vector b) {
    return vector(a.x - b.x, a.y - b.y, a.z - b.z);
}

DEVICE struct Vector times(struct Vector a, double factor) {
    return vector(a.x * factor, a.y * factor, a.z * factor);
}

DEVICE struct Vector over(struct Vector a, double divisor) {
    return vector(a.x / divisor, a.y / divisor, a.z / divisor);
}

DEVICE struct Vector negative(struct Vector a) {
    return vector(-a.x, -a.y, -a.z);
}

DEVICE double dot(struct Vector a, struct Vector b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

DEVICE struct Vector cross(struct Vector a, struct Vector b) {
    return vector(a.y * b.z - b.y * a.z, a.z * b.x - b.z * a.x, a.x * b.y - b.x * a.y);
}

DEVICE double length(struct Vector a) {
    return sqrt(dot(a, a));
}

DEVICE double distance(struct Vector a, struct Vector b) {
    return length(minus(a, b));
}

DEVICE double distance_squared(struct Vector a, struct Vector b) {
    struct Vector d = minus(a, b);
    return dot(d, d);
}

DEVICE struct Quaternion quaternion_at(const double *array, u32 i) {
    const double *q = array + 4 * (u64)i;
    struct Quaternion r = {q[0], q[1], q[2], q[3]};
    return r;
}

DEVICE struct Quaternion conjugate(struct Quaternion q) {
    struct Quaternion r = {-q.x, -q.y, -q.z, q.w};
    return r;
}

DEVICE struct Vector rotated(struct Quaternion q, struct Vector v) {
    struct Vector b = vector(q.x, q.y, q.z);
    double w = q.w, b2 = dot(b, b);
    struct Vector kept = times(v, w * w - b2);
    struct Vector along = times(b, dot(v, b) * 2.0);
    struct Vector around = times(cross(b, v), w * 2.0);
    return plus(plus(kept, along), around);
}

/* One minus 1/n!, alternating, as nested factors: x² of a reduced angle. */
DEVICE double sine_of_reduced(double x) {
    double z = x * x;
    double sum = 1.0 / 355687428096000.0;
    sum = sum * z - 1.0 / 1307674368000.0;
    sum = sum * z + 1.0 / 6227020800.0;
    sum = sum * z - 1.0 / 39916800.0;
    sum = sum * z + 1.0 / 362880.0;
    sum = sum * z - 1.0 / 5040.0;
    sum = sum * z + 1.0 / 120.0;
    sum = sum * z - 1.0 / 6.0;
    return x + x * (z * sum);
}

DEVICE double cosine_of_reduced(double x) {
    double z = x * x;
    double sum = 1.0 / 6402373705728000.0;
    sum = sum * z - 1.0 / 20922789888000.0;
    sum = sum * z + 1.0 / 87178291200.0;
    sum = sum * z - 1.0 / 479001600.0;
    sum = sum * z + 1.0 / 3628800.0;
    sum = sum * z - 1.0 / 40320.0;
    sum = sum * z + 1.0 / 720.0;
    sum = sum * z - 1.0 / 24.0;
    sum = sum * z + 0.5;
    return 1.0 - z * sum;
}

/* Cube root of a number that is not negative. */
DEVICE double cube_root(double x) {
    if (x == 0.0) return 0.0;
    double root = DOUBLE_OF(BITS_OF(x) / 3 + 0x2a9f78937f800000ull);
    for (int k = 0; k < 5; k++) root = root - (root - x / (root * root)) * (1.0 / 3.0);
    return root;
}

/* Sine and cosine of an angle, rad. */
DEVICE void sine_and_cosine(double angle, double *sine, double *cosine) {
    double turns = angle * 0.6366197723675814;
    double quarters = (double)whole_number(turns < 0.0 ? turns - 0.5 : turns + 0.5);
    double x = ((angle - quarters * 1.5707963267341256) - quarters * 6.077100506303966e-11)
        - quarters * 2.0222662487959506e-21;
    double s = sine_of_reduced(x), c = cosine_of_reduced(x);
    switch ((u32)whole_number(quarters) & 3u) {
    case 0: *sine = s; *cosine = c; break;
    case 1: *sine = c; *cosine = -s; break;
    case 2: *sine = -s; *cosine = -c; break;
    default: *sine = -c; *cosine = s; break;
    }
}

/* The angle whose sine is `y`, of 0 ≤ y ≤ 1, rad. */
DEVICE double arc_sine(double y) {
    int is_steep = y > 0.7071067811865476;
    double x = is_steep ? sqrt((1.0 - y) * (1.0 + y)) : y;
    double angle = x + x * x * x * (1.0 / 6.0);
    for (int k = 0; k < 5; k++) {
        double sine, cosine;
        sine_and_cosine(angle, &sine, &cosine);
        angle = angle - (sine - x) / cosine;
    }
    return is_steep ? 1.5707963267948966 - angle : angle;
}

/* An orientation after a turn by a rotation vector, rad: `integrate::advance`. */
DEVICE struct Quaternion turned(struct Quaternion q, struct Vector turn) {
    double angle = length(turn), sine, cosine;
    if (!(angle > 0.0)) return q;
    sine_and_cosine(0.5 * angle, &sine, &cosine);
    struct Vector axis = times(over(turn, angle), sine);
    double x0 = axis.x, y0 = axis.y, z0 = axis.z, w0 = cosine;
    double x = w0 * q.x + x0 * q.w + y0 * q.z - z0 * q.y;
    double y = w0 * q.y - x0 * q.z + y0 * q.w + z0 * q.x;
    double z = w0 * q.z + x0 * q.y - y0 * q.x + z0 * q.w;
    double w = w0 * q.w - x0 * q.x - y0 * q.y - z0 * q.z;
    double inverse = 1.0 / sqrt(x * x + y * y + z * z + w * w);
    struct Quaternion r = {x * inverse, y * inverse, z * inverse, w * inverse};
    return r;
}

#endif
