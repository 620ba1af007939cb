// From a drawing to the pixels that a model was trained on. No page, no state: tested with Node.
//
// A drawing is a list of strokes, a stroke a list of points [x, y] in the unit square, y downwards.
// Strokes, not pixels, are scaled, so a small drawing is no thinner than a large one: the pen has
// the width that it has in the training images.

const SAMPLES = 4; // per pixel and axis
const SMALLEST = 0.02; // side of a drawing that still has a size

// Two ways in which images of digits were made, in shares of the image.
//
// UCI's digits (8x8 counts of 0 to 16): the digit fills the height of a bitmap of 32x32, is pressed
// into about 19 of its width if it is wider, and every pixel counts a block of 4x4. Every image has
// about the same amount of ink: thin strokes were made thicker.
const FILLED = { box: [19 / 32, 1], press: true, ink: 19.5 / 64, pen: [3 / 32, 10 / 32] };
// MNIST (28x28 grey levels): the digit keeps its proportions, fits a box of 20x20 and is placed by
// its centre of mass. The pen's width is that which gives the digits in the tests MNIST's mean ink.
const CENTRED = { box: [20 / 28, 20 / 28], press: false, pen: [2.6 / 28, 2.6 / 28] };

/** How images of this kind are made: {box, press, ink, pen: [thinnest, thickest]}. */
function manner({ height, width, levels }) {
  return height === 8 && width === 8 && levels === 16 ? FILLED : CENTRED;
}

/**
 * The image of a drawing, like those the model was trained on.
 *
 * @param strokes the drawing; without a point the image is empty.
 * @param image {height, width, levels}; intensities are multiples of 1 / levels.
 * @returns Float32Array of height * width intensities in [0, 1], row by row.
 */
export function toImage(strokes, image) {
  const { height, width, levels } = image;
  if (!strokes.some((stroke) => stroke.length)) return new Float32Array(height * width);
  const how = manner(image);
  const draw = (pen) => drawn(strokes, height, width, how, pen);
  let [pen, thickest] = how.pen;
  for (let step = (thickest - pen) / 2; step > 0.002; step /= 2) {
    if (inkOf(draw(pen + step)) <= how.ink) pen += step;
  }
  return draw(pen).map((value) => Math.round(value * levels) / levels);
}

/** The strokes with a pen of a given width, fitted into the image: shares of its pixels. */
function drawn(strokes, height, width, { box, press }, pen) {
  const radius = (pen * height) / 2;
  const fitted = fit(strokes, box[0] * width, box[1] * height, radius, press);
  const inBox = moved(fitted, width / 2, height / 2);
  const pixels = rendered(inBox, height, width, radius);
  if (press) return pixels;
  const [x, y] = centreOfMass(pixels, width);
  return rendered(moved(inBox, width / 2 - x, height / 2 - y), height, width, radius);
}

function inkOf(pixels) {
  return pixels.reduce((sum, value) => sum + value, 0) / pixels.length;
}

/** The strokes around the origin, so large that their ink fits a box; `press` lets width shrink. */
function fit(strokes, boxWidth, boxHeight, radius, press) {
  const [left, right] = bounds(strokes, 0);
  const [top, bottom] = bounds(strokes, 1);
  // A dot has no size that could be scaled: it stays one.
  const toWidth = (boxWidth - 2 * radius) / Math.max(right - left, SMALLEST);
  const toHeight = (boxHeight - 2 * radius) / Math.max(bottom - top, SMALLEST);
  const across = Math.min(toWidth, toHeight);
  const down = press ? toHeight : across;
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  return strokes.map((stroke) =>
    stroke.map((point) => [(point[0] - x) * across, (point[1] - y) * down]));
}

/** The smallest and the largest coordinate along an axis. */
function bounds(strokes, axis) {
  return strokes.flat().reduce(
    ([low, high], point) => [Math.min(low, point[axis]), Math.max(high, point[axis])],
    [Infinity, -Infinity],
  );
}

function moved(strokes, x, y) {
  return strokes.map((stroke) => stroke.map((point) => [point[0] + x, point[1] + y]));
}

/** The share of every pixel that lies within `radius` of a stroke. */
function rendered(strokes, height, width, radius) {
  const inked = new Uint8Array(height * width * SAMPLES ** 2);
  const columns = width * SAMPLES;
  const rows = height * SAMPLES;
  const index = (value, end) => Math.min(Math.max(Math.floor(value * SAMPLES), 0), end);
  for (const stroke of strokes) {
    stroke.forEach((b, i) => {
      const a = stroke[Math.max(i - 1, 0)];
      // Only samples near the segment can be inked.
      const [x0, x1] = [Math.min(a[0], b[0]) - radius, Math.max(a[0], b[0]) + radius];
      const [y0, y1] = [Math.min(a[1], b[1]) - radius, Math.max(a[1], b[1]) + radius];
      for (let row = index(y0, rows); row < index(y1, rows - 1) + 1; row++) {
        for (let column = index(x0, columns); column < index(x1, columns - 1) + 1; column++) {
          const [x, y] = [(column + 0.5) / SAMPLES, (row + 0.5) / SAMPLES];
          if (distance(x, y, a, b) <= radius) inked[row * columns + column] = 1;
        }
      }
    });
  }
  return averaged(inked, height, width);
}

/** Means of blocks of SAMPLES x SAMPLES. */
function averaged(inked, height, width) {
  const pixels = new Float32Array(height * width);
  inked.forEach((value, i) => {
    const [row, column] = [Math.floor(i / (width * SAMPLES)), i % (width * SAMPLES)];
    pixels[Math.floor(row / SAMPLES) * width + Math.floor(column / SAMPLES)] += value;
  });
  return pixels.map((value) => value / SAMPLES ** 2);
}

/** The distance of (x, y) from the segment from a to b. */
function distance(x, y, a, b) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const along = ((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1);
  const t = Math.min(Math.max(along, 0), 1);
  return Math.hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}

/** [x, y] of the mean pixel centre, weighted by intensity. */
function centreOfMass(pixels, width) {
  let [mass, x, y] = [0, 0, 0];
  pixels.forEach((value, i) => {
    mass += value;
    x += value * ((i % width) + 0.5);
    y += value * (Math.floor(i / width) + 0.5);
  });
  return [x / mass, y / mass];
}
