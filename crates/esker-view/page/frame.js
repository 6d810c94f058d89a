// From the bytes of a frame to arrays that go to the graphics card as they are.

const FRAME_MAGIC = 0x464b5345;
const SURFACES_MAGIC = 0x534b5345;
const VERSION = 1;
/** Index of a picked grain that is not in the frame. */
export const ABSENT = 0xffffffff;

function checked(view, magic) {
  if (view.byteLength < 16 || view.getUint32(0, true) !== magic) {
    throw new Error("the answer of the server is not understood");
  }
  if (view.getUint32(4, true) !== VERSION) {
    throw new Error("the page is older or newer than the program: reload it");
  }
}

/** Numbers per joint: anchor, radius of the ball, ends of the bar, whether it is driven. */
export const JOINT_NUMBERS = 11;

/** A frame; its arrays are views of the buffer, nothing is copied. */
export function decodeFrame(buffer) {
  const start = performance.now();
  const view = new DataView(buffer);
  checked(view, FRAME_MAGIC);
  const real = (at) => view.getFloat64(at, true);
  const count = (i) => view.getUint32(80 + 4 * i, true);
  const [grains, spheres, groups, chains, walls, picked, joints] =
    [0, 1, 2, 3, 4, 5, 6].map(count);
  let at = 112;
  const take = (Kind, numbers) => {
    const array = new Kind(buffer, at, numbers);
    at += 4 * numbers;
    return array;
  };
  const frame = {
    step: Number(view.getBigUint64(8, true)),
    time: real(16),
    origin: [real(24), real(32), real(40)],
    low: real(48),
    high: real(56),
    meanRadius: real(64),
    maxForce: real(72),
    grains,
    spheres,
    chainCount: chains,
    place: take(Float32Array, 4 * grains),
    value: take(Float32Array, grains),
    rotation: take(Float32Array, 4 * (grains - spheres)),
    groups: take(Uint32Array, 3 * groups),
    chains: take(Float32Array, 7 * chains),
    walls: take(Float32Array, 7 * walls),
    joints: take(Float32Array, JOINT_NUMBERS * joints),
    picked: take(Uint32Array, picked),
    bytes: buffer.byteLength,
  };
  frame.decodeMs = performance.now() - start;
  return frame;
}

/** Numbers per corner and per edge of a surface. */
export const CORNER_NUMBERS = 9;
export const EDGE_NUMBERS = 13;

/** Surfaces of walls, of shapes, fine and coarse, and of ball and bar of joints. */
export function decodeSurfaces(buffer) {
  const view = new DataView(buffer);
  checked(view, SURFACES_MAGIC);
  let at = 16;
  const surface = () => {
    const corners = view.getUint32(at, true);
    const edges = view.getUint32(at + 4, true);
    at += 8;
    const take = (numbers) => {
      const array = new Float32Array(buffer, at, numbers);
      at += 4 * numbers;
      return array;
    };
    const cornerData = take(CORNER_NUMBERS * corners);
    return { corners, edges, cornerData, edgeData: take(EDGE_NUMBERS * edges) };
  };
  const list = (n, make) => Array.from({ length: n }, make);
  const walls = list(view.getUint32(8, true), surface);
  const shapes = list(view.getUint32(12, true), () => [surface(), surface()]);
  const [ball, bar] = list(2, surface);
  return { walls, shapes, ball, bar };
}

/**
 * A box around the centres of a frame relative to its origin, and the mean and largest radius of
 * balls around its grains.
 */
export function extent(frame, boundingRadii) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  let [radius, sum] = [0, 0];
  const { place, grains } = frame;
  const measure = (first, count, factor) => {
    for (let i = first; i < first + count; i++) {
      for (let k = 0; k < 3; k++) {
        const x = place[4 * i + k];
        if (x < low[k]) low[k] = x;
        if (x > high[k]) high[k] = x;
      }
      const own = place[4 * i + 3] * factor;
      sum += own;
      if (own > radius) radius = own;
    }
  };
  measure(0, frame.spheres, 1);
  for (let g = 0; g < frame.groups.length; g += 3) {
    const [shape, first, count] = frame.groups.subarray(g, g + 3);
    measure(first, count, boundingRadii[shape]);
  }
  if (grains === 0) return { low: [0, 0, 0], high: [0, 0, 0], radius: 0, meanRadius: 0 };
  return { low, high, radius, meanRadius: sum / grains };
}
