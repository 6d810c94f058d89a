/* Where spheres touch walls: what `esker_geometry::pairs` finds, with its bits.
 *
 * Equations are those of `sphere_half_space.rs`, `sphere_box.rs` and `sphere_frustum.rs`.
 */
#ifndef ESKER_TOUCHES_H
#define ESKER_TOUCHES_H

#include "find.h"

/* Largest part of a sphere's curvature that a hollow wall may have. */
#define MAX_CONFORMITY 0.9
/* In radii: how far beyond a container's surface, and within it, a centre is taken for one that
 * was squeezed through. */
#define INSIDE_RECOVERY 1.0
#define OUTSIDE_RECOVERY 0.5

/* From which side a wall held a grain last. */
#define SIDE_UNKNOWN 0u
#define SIDE_OUTSIDE 1u
#define SIDE_INSIDE 2u

/* Features of a box from here on are outer sides of a shell's faces. */
#define BOX_OUTER 32u
/* Features of a frustum. */
#define MANTLE 0u
#define RIM_BOTTOM 3u
#define RIM_TOP 6u
#define CAP_BOTTOM 9u
#define CAP_TOP 10u
#define MANTLE_OUTER 11u
#define CAP_BOTTOM_OUTER 12u
#define CAP_TOP_OUTER 13u
#define TANGENT 16u

/* A grain at a wall, in the frame of the wall, and what its touches become. */
struct Probe {
    struct Vector centre;
    double radius;
    double margin;
    double motion;
    u32 last_side;
    u32 grain;
    u32 wall_index;
    u32 is_fast;
    const struct Find *find;
    const struct Wall *wall;
    struct Vector position;
    struct Vector velocity;
    double fastest;
};

DEVICE int reaches(const struct Probe *p, double distance) {
    return p->radius - distance > -p->margin;
}

DEVICE void touch(const struct Probe *p, struct Vector local_normal, double distance,
                  double curvature, u32 feature) {
    struct Candidate c;
    c.grain = p->grain;
    c.is_wall = 1;
    c.partner = p->wall_index;
    c.feature = feature;
    c.normal = rotated(p->wall->orientation, local_normal);
    c.overlap = p->radius - distance;
    c.curvature = larger(curvature, -MAX_CONFORMITY / p->radius);
    struct Vector point = plus(p->position, times(c.normal, p->radius - 0.5 * c.overlap));
    c.approach = p->is_fast ? p->fastest
                            : dot(c.normal, minus(p->velocity, wall_velocity(p->wall, point)));
    append_candidate(p->find, &c);
}

DEVICE void point_touch(const struct Probe *p, struct Vector point, struct Vector fallback,
                        u32 feature) {
    struct Vector offset = minus(point, p->centre);
    double apart = length(offset);
    if (!reaches(p, apart)) return;
    touch(p, apart > 0.0 ? over(offset, apart) : fallback, apart, 0.0, feature);
}

DEVICE int is_held_inside(const struct Probe *p, double depth, int is_closed) {
    int is_inside = depth >= 0.0;
    double recovery = is_inside ? OUTSIDE_RECOVERY : INSIDE_RECOVERY;
    if (!is_closed || fabs(depth) > recovery * p->radius) return is_inside;
    return p->last_side == SIDE_UNKNOWN ? is_inside : p->last_side == SIDE_INSIDE;
}

/* Boxes. */

DEVICE double component(struct Vector v, int axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

DEVICE struct Vector with_component(struct Vector v, int axis, double value) {
    if (axis == 0) v.x = value;
    else if (axis == 1) v.y = value;
    else v.z = value;
    return v;
}

DEVICE int sign_of(double x) {
    return x < 0.0 ? -1 : 1;
}

DEVICE u32 box_feature(const int *signs) {
    return (u32)((signs[0] + 1) + 3 * (signs[1] + 1) + 9 * (signs[2] + 1));
}

DEVICE struct Vector face_normal(int axis, int sign) {
    double s = (double)sign;
    return vector(s * (axis == 0 ? 1.0 : 0.0), s * (axis == 1 ? 1.0 : 0.0),
                  s * (axis == 2 ? 1.0 : 0.0));
}

DEVICE u32 face_feature(int axis, int sign) {
    int signs[3] = {0, 0, 0};
    signs[axis] = sign;
    return box_feature(signs);
}

DEVICE int is_face_closed(const struct Wall *wall, int axis, int sign) {
    return !(wall->open & OPEN_FACE(axis, sign > 0));
}

DEVICE struct Vector clamped_to(struct Vector v, struct Vector low, struct Vector high) {
    struct Vector r = {v.x > low.x ? v.x : low.x, v.y > low.y ? v.y : low.y,
                       v.z > low.z ? v.z : low.z};
    return vector(r.x < high.x ? r.x : high.x, r.y < high.y ? r.y : high.y,
                  r.z < high.z ? r.z : high.z);
}

DEVICE int nearest_axis(struct Vector depth) {
    int best = 0;
    for (int k = 1; k < 3; k++) {
        if (component(depth, k) < component(depth, best)) best = k;
    }
    return best;
}

DEVICE struct Vector box_depth(const struct Probe *p) {
    struct Vector half = p->wall->half, c = p->centre;
    return vector(half.x - fabs(c.x), half.y - fabs(c.y), half.z - fabs(c.z));
}

DEVICE void box_local_minima(const struct Probe *p) {
    const struct Wall *wall = p->wall;
    struct Vector half = wall->half, centre = p->centre;
    int beyond[3];
    for (int k = 0; k < 3; k++) {
        double c = component(centre, k), h = component(half, k);
        beyond[k] = (c > h) - (c < -h);
    }
    for (int axis = 0; axis < 3; axis++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            int is_reported = 0;
            for (int k = 0; k < 3; k++) {
                int meets = k != axis && beyond[k] != 0 && is_face_closed(wall, k, beyond[k]);
                if (meets && (beyond[axis] != sign || k < axis)) is_reported = 1;
            }
            if (!is_face_closed(wall, axis, sign) || is_reported) continue;
            int signs[3] = {beyond[0], beyond[1], beyond[2]};
            signs[axis] = sign;
            struct Vector point = clamped_to(centre, negative(half), half);
            point = with_component(point, axis, (double)sign * component(half, axis));
            point_touch(p, point, face_normal(axis, sign), box_feature(signs));
        }
    }
}

DEVICE void box_shell(const struct Probe *p) {
    const struct Wall *wall = p->wall;
    struct Vector depth = box_depth(p), centre = p->centre;
    int nearest = nearest_axis(depth), is_nearest_closed = 1, beyond = 0;
    for (int k = 0; k < 3; k++) {
        double d = component(depth, k);
        int sign = sign_of(component(centre, k));
        if (!((d >= 0.0 && k != nearest) || is_face_closed(wall, k, sign))) is_nearest_closed = 0;
        if (d < 0.0) beyond++;
    }
    double least = component(depth, nearest);
    if (is_held_inside(p, least, is_nearest_closed)) {
        for (int axis = 0; axis < 3; axis++) {
            for (int sign = -1; sign <= 1; sign += 2) {
                double away =
                    component(wall->half, axis) - (double)sign * component(centre, axis);
                if (reaches(p, away) && is_face_closed(wall, axis, sign)) {
                    touch(p, face_normal(axis, sign), away, 0.0, face_feature(axis, sign));
                }
            }
        }
        return;
    }
    int sign = sign_of(component(centre, nearest));
    if (is_face_closed(wall, nearest, sign) && beyond <= 1) {
        if (reaches(p, -least)) {
            touch(p, negative(face_normal(nearest, sign)), -least, 0.0,
                  BOX_OUTER + face_feature(nearest, sign));
        }
        return;
    }
    box_local_minima(p);
}

DEVICE void box_solid(const struct Probe *p) {
    struct Vector half = p->wall->half;
    struct Vector nearest = clamped_to(p->centre, negative(half), half);
    struct Vector offset = minus(nearest, p->centre);
    if (offset.x != 0.0 || offset.y != 0.0 || offset.z != 0.0) {
        int signs[3];
        for (int k = 0; k < 3; k++) {
            double o = component(offset, k);
            signs[k] = (o < 0.0) - (o > 0.0);
        }
        point_touch(p, nearest, offset, box_feature(signs));
        return;
    }
    struct Vector depth = box_depth(p);
    int axis = nearest_axis(depth), sign = sign_of(component(p->centre, axis));
    touch(p, negative(face_normal(axis, sign)), -component(depth, axis), 0.0,
          face_feature(axis, sign));
}

/* Frusta. */

struct Meridian {
    double radial[2];
    double distance;
    double along;
    double foot_radius;
};

#define HALF_ROOT_3 0.8660254037844386
#define MAX_SAGITTA 0.2
#define MAX_TANGENTS 32.0

DEVICE double axial_distance(struct Vector centre) {
    return sqrt(centre.x * centre.x + centre.y * centre.y);
}

DEVICE struct Meridian meridian_at(const struct Wall *f, struct Vector centre, double cosine,
                                   double sine) {
    double rho = axial_distance(centre);
    double own[2] = {1.0, 0.0};
    if (rho > 0.0) {
        own[0] = centre.x / rho;
        own[1] = centre.y / rho;
    }
    struct Meridian m;
    m.radial[0] = cosine * own[0] - sine * own[1];
    m.radial[1] = sine * own[0] + cosine * own[1];
    rho = rho * cosine;
    m.distance = f->outward[0] * (f->bottom[0] - rho) + f->outward[1] * (f->bottom[1] - centre.z);
    m.along = f->direction[0] * (rho - f->bottom[0]) + f->direction[1] * (centre.z - f->bottom[1]);
    m.foot_radius = rho + m.distance * f->outward[0];
    return m;
}

DEVICE struct Meridian meridian(const struct Wall *f, struct Vector centre, u32 third) {
    return meridian_at(f, centre, third == 0 ? 1.0 : -0.5,
                       third == 0 ? 0.0 : third == 1 ? HALF_ROOT_3 : -HALF_ROOT_3);
}

DEVICE int is_on_mantle(const struct Wall *f, const struct Meridian *m) {
    return 0.0 <= m->along && m->along <= f->slant;
}

/* A vector with these coordinates in a meridian plane. */
DEVICE struct Vector in_meridian(const struct Meridian *m, double rho, double z) {
    return vector(rho * m->radial[0] + 0.0 * z, rho * m->radial[1] + 0.0 * z,
                  rho * 0.0 + 1.0 * z);
}

DEVICE struct Vector mantle_normal(const struct Wall *f, const struct Meridian *m) {
    return in_meridian(m, f->outward[0], f->outward[1]);
}

DEVICE double mantle_curvature(const struct Wall *f, const struct Meridian *m) {
    return f->outward[0] / larger(m->foot_radius, 2.2250738585072014e-308);
}

DEVICE void mantle_touch(const struct Probe *p, const struct Meridian *m, u32 feature) {
    touch(p, mantle_normal(p->wall, m), m->distance, -mantle_curvature(p->wall, m), feature);
}

DEVICE void outer_mantle_touch(const struct Probe *p, const struct Meridian *m) {
    touch(p, negative(mantle_normal(p->wall, m)), -m->distance, mantle_curvature(p->wall, m),
          MANTLE_OUTER);
}

DEVICE void rim_touch(const struct Probe *p, const struct Meridian *m, u32 third) {
    const struct Wall *f = p->wall;
    int is_bottom = m->along < 0.5 * f->slant;
    const double *rim = is_bottom ? f->bottom : f->top;
    point_touch(p, in_meridian(m, rim[0], rim[1]), mantle_normal(f, m),
                (is_bottom ? RIM_BOTTOM : RIM_TOP) + third);
}

DEVICE void cap_touch(const struct Probe *p, int end, const double *to_ends) {
    touch(p, vector(0.0, 0.0, end ? 1.0 : -1.0), to_ends[end], 0.0, end ? CAP_TOP : CAP_BOTTOM);
}

DEVICE void outer_cap_touch(const struct Probe *p, int end, const double *to_ends) {
    touch(p, vector(0.0, 0.0, end ? -1.0 : 1.0), -to_ends[end], 0.0,
          end ? CAP_TOP_OUTER : CAP_BOTTOM_OUTER);
}

DEVICE void outward_touch(const struct Probe *p, const struct Meridian *m, const double *to_ends,
                          double depth) {
    if (m->distance == depth) outer_mantle_touch(p, m);
    else outer_cap_touch(p, to_ends[1] == depth, to_ends);
}

/* The nearest point of a convex shell from outside. */
DEVICE void seen_outside(const struct Probe *p, const struct Meridian *m, const double *to_ends) {
    const struct Wall *f = p->wall;
    double rho = axial_distance(p->centre);
    for (int end = 0; end < 2; end++) {
        double radius = end ? f->top[0] : f->bottom[0];
        if (rho <= radius && to_ends[end] <= 0.0) {
            if (reaches(p, -to_ends[end])) outer_cap_touch(p, end, to_ends);
            return;
        }
    }
    if (is_on_mantle(f, m)) {
        if (reaches(p, -m->distance)) outer_mantle_touch(p, m);
    } else {
        rim_touch(p, m, 0);
    }
}

DEVICE void tangents_ahead(const struct Probe *given, const int *is_open) {
    const struct Wall *f = given->wall;
    double widest = larger(f->bottom[0], f->top[0]);
    double accepted = MAX_SAGITTA * given->radius;
    if (given->motion * given->motion < 2.0 * accepted * widest) return;
    double rho = axial_distance(given->centre);
    double swept =
        given->motion < rho ? arc_sine(given->motion / rho) : 3.141592653589793;
    double spacing = 2.0 * smaller(sqrt(2.0 * accepted / widest), 0.25);
    u32 count = (u32)smaller(ceil(swept / spacing), MAX_TANGENTS);
    struct Probe probe = *given;
    probe.margin = larger(given->margin, given->motion);
    for (u32 k = 1; k <= count; k++) {
        double sine, cosine;
        sine_and_cosine(swept * (double)k / (double)count, &sine, &cosine);
        for (u32 side = 0; side < 2; side++) {
            struct Meridian m =
                meridian_at(f, probe.centre, cosine, side ? -sine : sine);
            int end = m.along >= 0.5 * f->slant;
            int is_ahead = !is_open[end] && m.distance >= probe.radius;
            if ((is_on_mantle(f, &m) || is_ahead) && reaches(&probe, m.distance)) {
                mantle_touch(&probe, &m, TANGENT + 2 * k + side);
            }
        }
    }
}

DEVICE void seen_inside(const struct Probe *p, const int *is_open, int is_beyond,
                        const double *to_ends) {
    const struct Wall *f = p->wall;
    for (u32 third = 0; third < 3; third++) {
        struct Meridian m = meridian(f, p->centre, third);
        int end = m.along >= 0.5 * f->slant;
        int is_hidden = !is_beyond && m.distance < p->radius;
        if (is_on_mantle(f, &m) || (!is_open[end] && !is_hidden)) {
            if (reaches(p, m.distance)) mantle_touch(p, &m, MANTLE + third);
        } else if (is_open[end]) {
            rim_touch(p, &m, third);
        }
    }
    tangents_ahead(p, is_open);
    double rho = axial_distance(p->centre);
    for (int end = 0; end < 2; end++) {
        double radius = end ? f->top[0] : f->bottom[0];
        int is_seen = is_beyond || rho <= radius || to_ends[end] >= p->radius;
        if (radius > 0.0 && !is_open[end] && is_seen && reaches(p, to_ends[end])) {
            cap_touch(p, end, to_ends);
        }
    }
}

DEVICE void over_open_end(const struct Probe *p, const int *is_open, int end,
                          const double *to_ends) {
    const struct Wall *f = p->wall;
    double rho = axial_distance(p->centre);
    double radii[2] = {f->bottom[0], f->top[0]};
    for (u32 third = 0; third < 3; third++) {
        struct Meridian m = meridian(f, p->centre, third);
        if (is_on_mantle(f, &m)) {
            if (m.distance < 0.0) {
                if (reaches(p, -m.distance)) outer_mantle_touch(p, &m);
                return;
            }
            if (reaches(p, m.distance)) mantle_touch(p, &m, MANTLE + third);
        } else if (is_open[m.along >= 0.5 * f->slant]) {
            rim_touch(p, &m, third);
        }
    }
    int far = 1 - end;
    int is_seen = rho <= radii[end] && rho <= radii[far];
    if (is_seen && !is_open[far] && reaches(p, to_ends[far])) cap_touch(p, far, to_ends);
}

DEVICE void frustum_touches(const struct Probe *p) {
    const struct Wall *f = p->wall;
    struct Meridian nearest = meridian(f, p->centre, 0);
    double to_ends[2] = {p->centre.z - f->bottom[1], f->top[1] - p->centre.z};
    double depth = smaller(smaller(nearest.distance, to_ends[0]), to_ends[1]);
    if (!f->is_container) {
        if (depth >= 0.0) outward_touch(p, &nearest, to_ends, depth);
        else seen_outside(p, &nearest, to_ends);
        return;
    }
    int is_open[2] = {(f->open & OPEN_FACE(2, 0)) && f->bottom[0] > 0.0,
                      (f->open & OPEN_FACE(2, 1)) && f->top[0] > 0.0};
    int is_closed = 1;
    for (int end = 0; end < 2; end++) {
        int is_out = to_ends[end] < 0.0 || to_ends[end] == depth;
        if (is_open[end] && is_out) is_closed = 0;
    }
    if (is_held_inside(p, depth, is_closed)) {
        seen_inside(p, is_open, depth < 0.0, to_ends);
    } else if (depth >= 0.0) {
        outward_touch(p, &nearest, to_ends, depth);
    } else if (is_open[0] && to_ends[0] < 0.0) {
        over_open_end(p, is_open, 0, to_ends);
    } else if (is_open[1] && to_ends[1] < 0.0) {
        over_open_end(p, is_open, 1, to_ends);
    } else {
        seen_outside(p, &nearest, to_ends);
    }
}

DEVICE void wall_touches(const struct Probe *p) {
    const struct Wall *wall = p->wall;
    if (wall->kind == HALF_SPACE) {
        if (reaches(p, p->centre.z)) touch(p, vector(0.0, 0.0, -1.0), p->centre.z, 0.0, 0);
    } else if (wall->kind == BOX) {
        if (wall->is_container) box_shell(p);
        else box_solid(p);
    } else {
        frustum_touches(p);
    }
}

/* From which side a container holds a sphere that touches this feature. */
DEVICE u32 side_of(const struct Wall *wall, u32 feature) {
    if (!wall->is_container) return SIDE_UNKNOWN;
    if (wall->kind == BOX) {
        u32 rest = feature % BOX_OUTER, between = 0;
        if (feature >= BOX_OUTER) return SIDE_OUTSIDE;
        for (int k = 0; k < 3; k++) {
            between += rest % 3 == 1;
            rest /= 3;
        }
        return between == 2 ? SIDE_INSIDE : SIDE_UNKNOWN;
    }
    if (wall->kind == FRUSTUM) {
        if (feature >= RIM_BOTTOM && feature < CAP_BOTTOM) return SIDE_UNKNOWN;
        return feature >= MANTLE_OUTER && feature < TANGENT ? SIDE_OUTSIDE : SIDE_INSIDE;
    }
    return SIDE_UNKNOWN;
}

/* Whether a ball certainly meets no part of a wall. */

DEVICE double square_to_bounds(const struct Wall *wall, struct Vector point) {
    struct Vector apart = minus(clamped_to(point, wall->lower, wall->upper), point);
    return dot(apart, apart);
}

DEVICE double square_to_box(const struct Wall *wall, struct Vector point) {
    struct Vector within = clamped_to(point, negative(wall->half), wall->half);
    double least = DOUBLE_OF(0x7ff0000000000000ull);
    for (int axis = 0; axis < 3; axis++) {
        for (int upper = 0; upper < 2; upper++) {
            if (wall->open & OPEN_FACE(axis, upper)) continue;
            double half = component(wall->half, axis);
            struct Vector nearest = with_component(within, axis, upper ? half : -half);
            least = smaller(least, distance_squared(nearest, point));
        }
    }
    return least;
}

DEVICE double square_to_line(double rho, double z, double from_rho, double from_z, double to_rho,
                             double to_z) {
    double along[2] = {to_rho - from_rho, to_z - from_z};
    double dotted = (rho - from_rho) * along[0] + (z - from_z) * along[1];
    double place = dotted / (along[0] * along[0] + along[1] * along[1]);
    place = clamped(place, 0.0, 1.0);
    double apart[2] = {from_rho + along[0] * place - rho, from_z + along[1] * place - z};
    return apart[0] * apart[0] + apart[1] * apart[1];
}

DEVICE double square_to_frustum(const struct Wall *wall, struct Vector point) {
    double rho = axial_distance(point);
    const double *bottom = wall->bottom, *top = wall->top;
    double least = square_to_line(rho, point.z, bottom[0], bottom[1], top[0], top[1]);
    for (int end = 0; end < 2; end++) {
        const double *rim = end ? top : bottom;
        if (!(wall->open & OPEN_FACE(2, end)) && rim[0] > 0.0) {
            least = smaller(least, square_to_line(rho, point.z, 0.0, rim[1], rim[0], rim[1]));
        }
    }
    return least;
}

DEVICE int is_clear_of(const struct Wall *wall, struct Vector local, double radius) {
    if (wall->kind == HALF_SPACE) return local.z > radius;
    double square = !wall->is_container ? square_to_bounds(wall, local)
        : wall->kind == BOX ? square_to_box(wall, local)
                            : square_to_frustum(wall, local);
    return square > radius * radius;
}

#endif
