// The style space and its plane: pure functions of arrays.

/** Where a style lies on the plane of two orthonormal axes: [x, y]. */
export function onPlane(z, axes) {
  return axes.map((axis) => axis.reduce((sum, value, i) => sum + value * z[i], 0));
}

/** The style at a position of the plane that passes through z: all else of z is kept. */
export function styleAt(position, z, axes) {
  const here = onPlane(z, axes);
  return z.map((value, i) =>
    value + axes.reduce((sum, axis, a) => sum + (position[a] - here[a]) * axis[i], 0));
}

/** Positions of a grid over [-limit, limit]^2, row by row from the top left: [[x, y], ...]. */
export function gridPositions(steps, limit) {
  const at = (i) => ((2 * i + 1) / steps - 1) * limit; // the centres of the cells
  return Array.from({ length: steps * steps }, (_, i) =>
    [at(i % steps), -at(Math.floor(i / steps))]);
}
