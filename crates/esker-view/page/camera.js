// Where one looks from: the cameras of `esker render`, moved by the mouse.

import { add, cross, dot, length, scaled, sub, turned, unit } from "./vectors.js";

/** Share of a turn that a drag over the whole picture makes. */
const TURN_PER_PICTURE = 1;
/** Zoom of one notch of a wheel. */
const ZOOM_PER_NOTCH = 1.12;
/** Nearest that the line of sight comes to the vertical, rad. */
const STEEPEST = 0.02;

export class Camera {
  /** Takes up a view that the server has chosen. */
  set(view) {
    this.eye = view.eye;
    this.target = view.target;
    this.up = unit(view.up);
    this.fov = view.fov_y;
    this.height = view.height;
    // Of nothing there is no box: null.
    this.low = view.low.map((x) => x ?? 0);
    this.high = view.high.map((x) => x ?? 0);
    this.isTouched = false;
  }

  get perspective() {
    return this.fov !== null;
  }

  get distance() {
    return length(sub(this.target, this.eye));
  }

  /** Right, up and forward: the axes of the picture. */
  basis() {
    const forward = unit(sub(this.target, this.eye));
    for (const up of [this.up, [0, 0, 1], [0, 1, 0]]) {
      const right = cross(forward, up);
      if (length(right) > 1e-6) {
        const across = unit(right);
        return { right: across, up: cross(across, forward), forward };
      }
    }
    return { right: [1, 0, 0], up: [0, 0, 1], forward };
  }

  /** Half the height of the picture: as a slope in perspective, else in metres. */
  get halfHeight() {
    return this.perspective ? Math.tan(this.fov / 2) : this.height / 2;
  }

  /** Metres per pixel at the target. */
  metresPerPixel(pixels) {
    const depth = this.perspective ? this.distance : 1;
    return (2 * this.halfHeight * depth) / pixels;
  }

  /** Distances between which everything lies that reaches so far about a point. */
  depthRange(middle, reach) {
    const { forward } = this.basis();
    const depth = dot(sub(middle, this.eye), forward);
    if (!this.perspective) return [depth - reach, depth + reach];
    const far = Math.max(depth + reach, 1e-3 * reach);
    return [Math.max(depth - reach, 2e-4 * far), far];
  }

  orbit(dx, dy, pixels) {
    this.isTouched = true;
    const angle = (TURN_PER_PICTURE * Math.PI * 2) / pixels;
    let away = sub(this.eye, this.target);
    away = turned(away, this.up, -dx * angle);
    const { right } = this.basis();
    const across = turned(right, this.up, -dx * angle);
    const steep = Math.acos(Math.min(1, Math.max(-1, dot(unit(away), this.up))));
    const wanted = steep - dy * angle;
    const allowed = Math.min(Math.PI - STEEPEST, Math.max(STEEPEST, wanted));
    away = turned(away, across, allowed - steep);
    this.eye = add(this.target, away);
  }

  pan(dx, dy, pixels) {
    const { right, up } = this.basis();
    const size = this.metresPerPixel(pixels);
    this.move(add(scaled(right, -dx * size), scaled(up, dy * size)));
  }

  /** Zooms so that the point at this place of the picture (-1 to 1, in half heights) stays. */
  zoom(notches, x, y) {
    const factor = ZOOM_PER_NOTCH ** notches;
    const { right, up } = this.basis();
    const before = this.metresPerPixel(2);
    if (this.perspective) {
      this.eye = add(this.target, scaled(sub(this.eye, this.target), factor));
    } else {
      this.height *= factor;
    }
    const shift = before - this.metresPerPixel(2);
    this.move(add(scaled(right, x * shift), scaled(up, y * shift)));
  }

  lookAt(point) {
    this.move(sub(point, this.target));
  }

  move(by) {
    this.isTouched = true;
    this.eye = add(this.eye, by);
    this.target = add(this.target, by);
  }
}
