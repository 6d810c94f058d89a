// Vectors and quaternions in double precision: arrays of three and four numbers.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scaled = (a, k) => [a[0] * k, a[1] * k, a[2] * k];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const length = (a) => Math.hypot(a[0], a[1], a[2]);
export const unit = (a) => {
  const l = length(a);
  return l > 0 ? scaled(a, 1 / l) : [0, 0, 0];
};

/** A vector turned about a unit axis by an angle (Rodrigues). */
export function turned(v, axis, angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return add(add(scaled(v, c), scaled(cross(axis, v), s)), scaled(axis, dot(axis, v) * (1 - c)));
}

/** A vector turned by a quaternion (x, y, z, w). */
export function rotated(q, v) {
  const u = [q[0], q[1], q[2]];
  const t = scaled(cross(u, v), 2);
  return add(add(v, scaled(t, q[3])), cross(u, t));
}
