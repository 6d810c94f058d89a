/* What stays on a device from step to step, field by field as `src/resident/records.rs` and
 * `esker_world::resident` have it.
 */
#ifndef ESKER_GRAINS_H
#define ESKER_GRAINS_H

#include "vectors.h"

/* Rows of grains, all of them spheres. */
struct Grains {
    u32 count;
    u32 walls;
    double *position;
    /* Velocity, inverse mass, angular velocity, inverse inertia. */
    double *state;
    double *orientation;
    const double *radius;
    const double *mass;
    const u64 *id;
    const u32 *slot;
    const u16 *material;
};

/* A pair that may become a contact. */
struct ALIGNED(16) Candidate {
    u32 grain;
    u32 is_wall;
    /* Row of the other grain, or number of the wall. */
    u32 partner;
    u32 feature;
    struct Vector normal;
    double overlap;
    double approach;
    double curvature;
};

/* Kinds of walls. */
#define HALF_SPACE 0
#define BOX 1
#define FRUSTUM 2
#define MESH 3
/* Bits of `open`, two per axis: the lower face and the upper. */
#define OPEN_FACE(axis, upper) (1u << (2 * (axis) + (upper)))

struct Mesh;

/* A wall of the step. */
struct Wall {
    u32 kind;
    /* Whether grains are inside of it. */
    u32 is_container;
    u32 open;
    u32 is_present;
    u32 has_bounds;
    u32 material;
    struct Vector position;
    struct Quaternion orientation;
    struct Vector velocity;
    struct Vector angular_velocity;
    struct Vector centre;
    struct Vector belt;
    struct Vector lower;
    struct Vector upper;
    /* Half extents of a box. */
    struct Vector half;
    /* Of a frustum, (rho, z): ends of the mantle, its direction and its outward normal. */
    double bottom[2];
    double top[2];
    double direction[2];
    double outward[2];
    double slant;
    double length;
    /* Of a mesh. */
    const struct Mesh *mesh;
};

/* How far grains reach in the step. */
struct Reach {
    double margin;
    double step;
    struct Vector fall;
    double fall_length;
    double restitution;
    double cohesive_gap;
};

DEVICE struct Vector velocity_of(const struct Grains *grains, u32 i) {
    const double *state = grains->state + 8 * (u64)i;
    return vector(state[0], state[1], state[2]);
}

/* Velocity of a point that moves with a wall. */
DEVICE struct Vector wall_velocity(const struct Wall *wall, struct Vector point) {
    return plus(wall->velocity, cross(wall->angular_velocity, minus(point, wall->centre)));
}

DEVICE struct Vector to_local(const struct Wall *wall, struct Vector point) {
    return rotated(conjugate(wall->orientation), minus(point, wall->position));
}

DEVICE double closing_speed(const struct Reach *reach, double approach, struct Vector normal) {
    return larger(approach, 0.0) + fabs(dot(reach->fall, normal));
}

DEVICE double beyond_surface(const struct Reach *reach, double radius, double speed,
                             double impact_reach) {
    double closing = reach->step * (speed + reach->fall_length);
    return larger(reach->margin * radius, closing + impact_reach) + 0.5 * reach->cohesive_gap;
}

/* Diameter of the smaller grain. */
DEVICE double min_diameter(const struct Grains *grains, const struct Candidate *pair) {
    double radius = grains->radius[pair->grain];
    return 2.0 * (pair->is_wall ? radius : smaller(radius, grains->radius[pair->partner]));
}

#endif
