// Digits as strokes, as a hand draws them in the unit square: material for the tests.

/** Points of an ellipse's arc, from and to in turns, clockwise from the right on the screen. */
function arc(x, y, width, height, from, to, steps = 24) {
  return Array.from({ length: steps + 1 }, (_, i) => {
    const angle = 2 * Math.PI * (from + ((to - from) * i) / steps);
    return [x + width * Math.cos(angle), y + height * Math.sin(angle)];
  });
}

export const DIGITS = [
  [arc(0.5, 0.5, 0.2, 0.32, -0.25, 0.75)],
  [[[0.4, 0.3], [0.53, 0.18], [0.53, 0.82]]],
  [[...arc(0.49, 0.34, 0.18, 0.16, -0.5, 0.12), [0.3, 0.8], [0.72, 0.8]]],
  [[...arc(0.46, 0.34, 0.18, 0.16, -0.45, 0.22), ...arc(0.46, 0.66, 0.2, 0.17, -0.22, 0.42)]],
  [[[0.42, 0.18], [0.3, 0.55], [0.72, 0.55]], [[0.6, 0.35], [0.56, 0.84]]],
  [[[0.68, 0.2], [0.38, 0.2], [0.35, 0.48], ...arc(0.47, 0.63, 0.2, 0.18, -0.32, 0.42)]],
  [[[0.6, 0.16], [0.42, 0.36], ...arc(0.5, 0.65, 0.17, 0.18, -0.5, 0.5)]],
  [[[0.3, 0.2], [0.7, 0.2], [0.46, 0.84]], [[0.38, 0.52], [0.66, 0.52]]],
  [[...arc(0.5, 0.34, 0.15, 0.15, 0.25, -0.75), ...arc(0.5, 0.66, 0.17, 0.17, -0.25, 0.75)]],
  [[...arc(0.49, 0.36, 0.17, 0.17, 0, -1), [0.65, 0.5], [0.58, 0.84]]],
];
