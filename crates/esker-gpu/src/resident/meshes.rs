//! Meshes of walls on a device: sent once, since walls move them rigidly.

use std::sync::Arc;

use esker_geometry::{FacetRecord, FeatureRecord, NodeRecord, TriangleMesh};
use esker_solver::device::DeviceError;
use esker_world::World;
use esker_world::resident::WallRecord;
use glam::DVec3;

use crate::backend::reserve;
use crate::launch::Executor;
use crate::memory::{Array, DeviceMemory, Layout, Plain, staged_mut};

/// `struct Mesh` of `kernels/mesh.h`; addresses on the device.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct MeshRecord {
    nodes: u64,
    facets: u64,
    edges: u64,
    vertices: u64,
    sides: u64,
    rays: u64,
    patches: u32,
    unused: u32,
}

// SAFETY: records of numbers; so below.
unsafe impl Plain for MeshRecord {}
// SAFETY: as above.
unsafe impl Plain for NodeRecord {}
// SAFETY: as above.
unsafe impl Plain for FacetRecord {}
// SAFETY: as above.
unsafe impl Plain for FeatureRecord {}

/// A mesh that was sent.
#[derive(Debug)]
struct SentMesh<M> {
    mesh: Arc<TriangleMesh>,
    memory: M,
    record: Array<MeshRecord>,
}

/// Meshes that were sent.
#[derive(Debug)]
pub struct Meshes<E: Executor> {
    sent: Vec<SentMesh<E::Memory>>,
}

impl<E: Executor> Default for Meshes<E> {
    fn default() -> Self {
        Meshes { sent: Vec::new() }
    }
}

impl<E: Executor> Meshes<E> {
    /// The walls of a world as they are in the step; meshes that are new are sent.
    pub fn wall_records(
        &mut self,
        executor: &mut E,
        world: &World,
    ) -> Result<Vec<WallRecord>, DeviceError> {
        let mut records = world.wall_records();
        for (record, mesh) in records.iter_mut().zip(world.wall_meshes()) {
            if let Some(mesh) = mesh {
                record.mesh = self.address(executor, mesh)?;
            }
        }
        Ok(records)
    }

    /// Where a mesh is.
    fn address(&mut self, executor: &mut E, mesh: &Arc<TriangleMesh>) -> Result<u64, DeviceError> {
        let known = self.sent.iter().find(|sent| Arc::ptr_eq(&sent.mesh, mesh));
        if let Some(sent) = known {
            return Ok(sent.record.address(&sent.memory));
        }
        let sent = send(executor, mesh)?;
        let address = sent.record.address(&sent.memory);
        self.sent.push(sent);
        Ok(address)
    }
}

fn send<E: Executor>(
    executor: &mut E,
    mesh: &Arc<TriangleMesh>,
) -> Result<SentMesh<E::Memory>, DeviceError> {
    let tables = mesh.tables();
    let mut layout = Layout::default();
    let record: Array<MeshRecord> = layout.array(1);
    let nodes = layout.array(tables.nodes.len());
    let facets = layout.array(tables.facets.len());
    let edges = layout.array(tables.edges.len());
    let vertices = layout.array(tables.vertices.len());
    let sides: Array<DVec3> = layout.array(tables.sides.len());
    let rays: Array<DVec3> = layout.array(tables.rays.len());
    let mut memory = None;
    reserve(executor, &mut memory, layout.end(), (0, 0))?;
    let mut memory = memory.expect("just reserved");
    staged_mut(&mut memory, record)[0] = MeshRecord {
        nodes: nodes.address(&memory),
        facets: facets.address(&memory),
        edges: edges.address(&memory),
        vertices: vertices.address(&memory),
        sides: sides.address(&memory),
        rays: rays.address(&memory),
        patches: mesh.patch_count() as u32,
        unused: 0,
    };
    staged_mut(&mut memory, nodes).copy_from_slice(&tables.nodes);
    staged_mut(&mut memory, facets).copy_from_slice(&tables.facets);
    staged_mut(&mut memory, edges).copy_from_slice(&tables.edges);
    staged_mut(&mut memory, vertices).copy_from_slice(&tables.vertices);
    for (array, vectors) in [(sides, &tables.sides), (rays, &tables.rays)] {
        let places = staged_mut(&mut memory, array).iter_mut();
        for (place, &vector) in places.zip(vectors) {
            *place = DVec3::from_array(vector);
        }
    }
    memory.upload(0..layout.end())?;
    Ok(SentMesh {
        mesh: Arc::clone(mesh),
        memory,
        record,
    })
}
