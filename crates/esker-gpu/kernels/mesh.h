/* Where spheres touch meshes: what `sphere_mesh.rs` and `mesh_minima.rs` of
 * `esker_geometry::pairs` find, with their bits; tables are those of
 * `esker_geometry::MeshTables`, field by field.
 */
#ifndef ESKER_MESH_H
#define ESKER_MESH_H

#include "touches.h"

/* cos 1°: directions nearer than this are one touch. cos 20°: they belong to one smooth surface.
 * sin 2°: a direction nearer than this to the plane of two others adds nothing. */
#define MERGE_ANGLE 0.9998476951563913
#define SMOOTH_ANGLE 0.9396926207859084
#define IN_PLANE 0.03489949670250097
/* How far in front of a touched face a point must lie to be touched too, in radii. */
#define COVER_DEPTH 1e-4
/* How exactly conditions on feet are asked for, in radii. */
#define FOOT_TOLERANCE 1e-8
#define MOST_MINIMA 32
/* Depth of the tree of boxes at most. */
#define MOST_WAITING 32

struct MeshNode {
    struct Vector lower;
    struct Vector upper;
    u32 first;
    u32 count;
};

struct Facet {
    struct Vector corners[3];
    struct Vector normal;
    struct Vector inward[3];
    double curvature;
    u32 patch;
    u32 owned;
    u32 edges[3];
    u32 vertices[3];
};

struct MeshFeature {
    double curvature;
    u32 first;
    u32 count;
    u32 feature;
    u32 unused;
};

struct Mesh {
    const struct MeshNode *nodes;
    const struct Facet *facets;
    const struct MeshFeature *edges;
    const struct MeshFeature *vertices;
    const struct Vector *sides;
    const struct Vector *rays;
    u32 patches;
    u32 unused;
};

/* A local minimum of the distance. */
struct Minimum {
    struct Vector normal;
    double distance;
    double gap;
    double curvature;
    u32 feature;
    u32 is_face;
};

/* The nearest minima in ascending order of gaps, one per feature. */
struct Minima {
    u32 count;
    struct Minimum items[MOST_MINIMA];
};

DEVICE int is_ranked_before(const struct Minimum *a, const struct Minimum *b) {
    return a->gap < b->gap || (a->gap == b->gap && a->feature < b->feature);
}

DEVICE void insert_minimum(struct Minima *minima, const struct Minimum *minimum) {
    u32 at = 0;
    for (u32 known = 0; known < minima->count; known++) {
        if (minima->items[known].feature != minimum->feature) continue;
        if (minima->items[known].gap <= minimum->gap) return;
        minima->count--;
        for (u32 k = known; k < minima->count; k++) minima->items[k] = minima->items[k + 1];
        break;
    }
    while (at < minima->count && is_ranked_before(&minima->items[at], minimum)) at++;
    if (at == MOST_MINIMA) return;
    if (minima->count < MOST_MINIMA) minima->count++;
    for (u32 k = minima->count - 1; k > at; k--) minima->items[k] = minima->items[k - 1];
    minima->items[at] = *minimum;
}

/* What a triangle offers to a sphere. */
struct FacetProbe {
    const struct Probe *p;
    const struct Mesh *mesh;
    /* That of the plane. */
    struct Minimum on_patch;
    double front;
};

/* A minimum on an edge or at a vertex: one of the patch's interior stands for the plane, a sharp
 * one for itself. */
DEVICE void insert_foot(const struct FacetProbe *f, struct Minima *minima, struct Vector foot,
                        const struct MeshFeature *at) {
    if (at->feature < f->mesh->patches) {
        insert_minimum(minima, &f->on_patch);
        return;
    }
    struct Vector offset = minus(foot, f->p->centre);
    double apart = length(offset);
    if (!reaches(f->p, apart)) return;
    double inverse = 1.0 / apart;
    struct Minimum minimum;
    minimum.normal = inverse - inverse == 0.0 && inverse > 0.0 ? times(offset, inverse)
                                                               : f->on_patch.normal;
    minimum.distance = apart;
    minimum.gap = apart - f->p->radius;
    minimum.curvature = f->front * at->curvature;
    minimum.feature = at->feature;
    minimum.is_face = 0;
    insert_minimum(minima, &minimum);
}

/* Minima in the face of a triangle and on those of its edges and vertices that it owns. */
DEVICE void collect_minima(const struct Probe *p, const struct Mesh *mesh, u32 triangle,
                           struct Minima *minima) {
    struct FacetProbe f;
    const struct Facet *facet = mesh->facets + triangle;
    struct Vector offsets[3], spans[3];
    double sides[3], tolerance = FOOT_TOLERANCE * p->radius;
    offsets[0] = minus(p->centre, facet->corners[0]);
    double height = dot(facet->normal, offsets[0]);
    if (!reaches(p, fabs(height))) return;
    for (u32 k = 0; k < 3; k++) {
        offsets[k] = minus(p->centre, facet->corners[k]);
        sides[k] = dot(facet->inward[k], offsets[k]);
        spans[k] = minus(facet->corners[(k + 1) % 3], facet->corners[k]);
    }
    f.p = p;
    f.mesh = mesh;
    f.front = height < 0.0 ? -1.0 : 1.0;
    f.on_patch.normal = times(facet->normal, -f.front);
    f.on_patch.distance = fabs(height);
    f.on_patch.gap = fabs(height) - p->radius;
    f.on_patch.curvature = f.front * facet->curvature;
    f.on_patch.feature = facet->patch;
    f.on_patch.is_face = 1;
    if (sides[0] >= 0.0 && sides[1] >= 0.0 && sides[2] >= 0.0) {
        insert_minimum(minima, &f.on_patch);
    }
    for (u32 k = 0; k < 3; k++) {
        struct Vector span = spans[k], before = spans[(k + 2) % 3];
        double along = dot(offsets[k], span), square = dot(span, span);
        int is_on_edge = (facet->owned >> k & 1) && sides[k] <= tolerance && 0.0 <= along
            && along <= square;
        if (is_on_edge) {
            const struct MeshFeature *edge = mesh->edges + facet->edges[k];
            int is_minimum = 1;
            for (u32 j = 1; j < edge->count && is_minimum; j++) {
                is_minimum = dot(mesh->sides[edge->first + j], offsets[k]) <= tolerance;
            }
            if (is_minimum) {
                struct Vector foot = plus(facet->corners[k], times(span, along / square));
                insert_foot(&f, minima, foot, edge);
            }
        }
        int may_be_minimum = (facet->owned >> (3 + k) & 1) && along <= tolerance * sqrt(square)
            && -dot(offsets[k], before) <= tolerance * length(before);
        if (may_be_minimum) {
            const struct MeshFeature *vertex = mesh->vertices + facet->vertices[k];
            int is_minimum = 1;
            for (u32 j = 0; j < vertex->count && is_minimum; j++) {
                is_minimum = dot(mesh->rays[vertex->first + j], offsets[k]) <= tolerance;
            }
            if (is_minimum) insert_foot(&f, minima, facet->corners[k], vertex);
        }
    }
}

/* Touches at the minima that do not follow from others. */
DEVICE void keep_independent(const struct Probe *p, const struct Minima *minima) {
    u32 kept[MOST_MINIMA], count = 0;
    for (u32 index = 0; index < minima->count; index++) {
        const struct Minimum *minimum = minima->items + index;
        struct Vector point = times(minimum->normal, minimum->distance);
        const struct Minimum *alike[2] = {0, 0};
        u32 alikes = 0;
        int is_covered = 0;
        for (u32 k = 0; k < count; k++) {
            const struct Minimum *known = minima->items + kept[k];
            double lead = known->distance - dot(point, known->normal);
            double cosine = dot(minimum->normal, known->normal);
            if (cosine > MERGE_ANGLE) is_covered = 1;
            if (known->is_face && lead <= COVER_DEPTH * p->radius) is_covered = 1;
            if (cosine > SMOOTH_ANGLE) {
                if (alikes < 2) alike[alikes] = known;
                alikes++;
            }
        }
        if (is_covered || alikes >= 3) continue;
        if (alikes == 2) {
            struct Vector across = cross(alike[0]->normal, alike[1]->normal);
            double inverse = 1.0 / length(across);
            across = inverse - inverse == 0.0 && inverse > 0.0 ? times(across, inverse)
                                                               : vector(0.0, 0.0, 0.0);
            if (fabs(dot(minimum->normal, across)) < IN_PLANE) continue;
        }
        kept[count++] = index;
        touch(p, minimum->normal, minimum->distance, minimum->curvature, minimum->feature);
    }
}

DEVICE void mesh_touches(const struct Probe *p) {
    const struct Mesh *mesh = p->wall->mesh;
    struct Minima minima;
    double range = p->radius + p->margin, square = range * range;
    u32 waiting[MOST_WAITING], depth = 0, at = 0;
    minima.count = 0;
    for (;;) {
        const struct MeshNode *node = mesh->nodes + at;
        struct Vector apart =
            minus(clamped_to(p->centre, node->lower, node->upper), p->centre);
        int is_near = dot(apart, apart) < square;
        if (is_near && node->count == 0) {
            waiting[depth++] = node->first;
            at++;
            continue;
        }
        if (is_near) {
            for (u32 k = 0; k < node->count; k++) collect_minima(p, mesh, node->first + k, &minima);
        }
        if (depth == 0) break;
        at = waiting[--depth];
    }
    keep_independent(p, &minima);
}

#endif
