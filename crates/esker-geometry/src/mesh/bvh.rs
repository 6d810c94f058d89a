//! A tree of boxes over the triangles of a mesh.
//!
//! Nodes lie in one array in depth-first order: the first child of a node follows it, the second
//! is named by `skip`. Halving the triangles at the median keeps the depth below 32, so that a
//! query needs no heap.

use super::{NodeRecord, TriangleSoup};
use crate::Aabb;
use glam::DVec3;
use std::ops::{ControlFlow, Range};

const LEAF_SIZE: usize = 4;

#[derive(Clone, Debug)]
struct Node {
    bounds: Aabb,
    /// Leaf: first triangle. Inner node: position of the second child.
    first: u32,
    /// Number of triangles; zero for an inner node.
    count: u32,
}

/// Finds the triangles near a point.
#[derive(Clone, Debug)]
pub(crate) struct Bvh {
    nodes: Vec<Node>,
}

impl Bvh {
    /// Builds the tree and sorts the triangles so that those of a leaf follow each other.
    pub(super) fn new(soup: &mut TriangleSoup) -> Self {
        let boxes: Vec<Aabb> = (0..soup.triangles.len())
            .map(|triangle| Aabb::of_points(soup.corners(triangle)))
            .collect();
        let mut order: Vec<u32> = (0..boxes.len() as u32).collect();
        let mut nodes = Vec::with_capacity(boxes.len());
        build(&boxes, &mut order, 0, &mut nodes);
        soup.triangles = order
            .iter()
            .map(|&triangle| soup.triangles[triangle as usize])
            .collect();
        Self { nodes }
    }

    pub(super) fn bounds(&self) -> Aabb {
        self.nodes.first().map_or(Aabb::EMPTY, |root| root.bounds)
    }

    /// The nodes as plain numbers.
    pub(super) fn records(&self) -> Vec<NodeRecord> {
        let record = |node: &Node| NodeRecord {
            lower: node.bounds.min.to_array(),
            upper: node.bounds.max.to_array(),
            first: node.first,
            count: node.count,
        };
        self.nodes.iter().map(record).collect()
    }

    /// Calls `visit` with every triangle whose leaf is nearer than `range` to the point.
    pub(crate) fn for_each_near(&self, point: DVec3, range: f64, mut visit: impl FnMut(usize)) {
        let _ = self.near_leaves(point, range, |triangles| {
            triangles.for_each(&mut visit);
            ControlFlow::Continue(())
        });
    }

    /// Whether some leaf is nearer than `range` to the point.
    pub(crate) fn is_any_near(&self, point: DVec3, range: f64) -> bool {
        let found = self.near_leaves(point, range, |_| ControlFlow::Break(()));
        found.is_break()
    }

    /// Calls `visit` with the triangles of the leaves that are nearer than `range` to the point,
    /// until it breaks off.
    #[inline]
    fn near_leaves(
        &self,
        point: DVec3,
        range: f64,
        mut visit: impl FnMut(Range<usize>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let squared = range * range;
        let mut waiting = [0_u32; 32];
        let mut depth = 0;
        let mut at = 0;
        loop {
            let node = &self.nodes[at];
            let is_near = node.bounds.distance_squared(point) < squared;
            if is_near && node.count == 0 {
                waiting[depth] = node.first;
                depth += 1;
                at += 1;
                continue;
            }
            if is_near {
                let first = node.first as usize;
                visit(first..first + node.count as usize)?;
            }
            if depth == 0 {
                return ControlFlow::Continue(());
            }
            depth -= 1;
            at = waiting[depth] as usize;
        }
    }
}

fn build(boxes: &[Aabb], order: &mut [u32], first: u32, nodes: &mut Vec<Node>) {
    let bounds = order.iter().fold(Aabb::EMPTY, |sum, &triangle| {
        sum.union(boxes[triangle as usize])
    });
    let here = nodes.len();
    let is_leaf = order.len() <= LEAF_SIZE;
    nodes.push(Node {
        bounds,
        first,
        count: if is_leaf { order.len() as u32 } else { 0 },
    });
    if is_leaf {
        return;
    }
    let centre = |triangle: u32| boxes[triangle as usize].centre();
    let spread = Aabb::of_points(order.iter().map(|&triangle| centre(triangle))).size();
    let axis = spread.max_position();
    let middle = order.len() / 2;
    order.select_nth_unstable_by(middle, |&a, &b| {
        // The index makes the order complete, and with it the tree reproducible.
        centre(a)[axis].total_cmp(&centre(b)[axis]).then(a.cmp(&b))
    });
    let (left, right) = order.split_at_mut(middle);
    build(boxes, left, first, nodes);
    nodes[here].first = nodes.len() as u32;
    build(boxes, right, first + middle as u32, nodes);
}
