// A drawing's pixels are those that the data sets' makers would have made of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { toImage } from "../../tfssl/demo/static/ink.js";
import { DIGITS } from "./digits.mjs";

const UCI = { height: 8, width: 8, levels: 16 };
const MNIST = { height: 28, width: 28, levels: 255 };
const TALL = [[[0.5, 0.2], [0.5, 0.8]]];
const FLAT = [[[0.2, 0.5], [0.8, 0.5]]];

/** First and last row or column with ink. */
function extent(pixels, { height, width }, axis) {
  const inked = [];
  for (let i = 0; i < height * width; i++) {
    if (pixels[i] > 0) inked.push(axis === "x" ? i % width : Math.floor(i / width));
  }
  return [Math.min(...inked), Math.max(...inked)];
}

function sum(pixels) {
  return pixels.reduce((total, value) => total + value, 0);
}

function massAt(pixels, { width }) {
  let [x, y] = [0, 0];
  pixels.forEach((value, i) => {
    x += value * ((i % width) + 0.5);
    y += value * (Math.floor(i / width) + 0.5);
  });
  return [x / sum(pixels), y / sum(pixels)];
}

/** The same drawing elsewhere and of another size. */
function changed(strokes, scale, x, y) {
  return strokes.map((stroke) => stroke.map((point) => [point[0] * scale + x, point[1] * scale + y]));
}

test("no drawing is an empty image", () => {
  for (const strokes of [[], [[]]]) {
    assert.deepEqual(toImage(strokes, MNIST), new Float32Array(784));
  }
});

test("intensities are grey levels of the data", () => {
  for (const image of [UCI, MNIST]) {
    for (const strokes of DIGITS) {
      for (const value of toImage(strokes, image)) {
        assert.ok(value >= 0 && value <= 1);
        const level = value * image.levels;
        assert.ok(Math.abs(level - Math.round(level)) < 1e-4);
      }
    }
  }
});

test("MNIST: a box of 20 pixels, with the centre of mass in the middle", () => {
  for (const strokes of DIGITS) {
    const pixels = toImage(strokes, MNIST);
    const sides = ["x", "y"].map((axis) => {
      const [first, last] = extent(pixels, MNIST, axis);
      return last - first + 1;
    });
    // A shift by a part of a pixel spreads 20 pixels over 21.
    assert.ok(Math.max(...sides) >= 20 && Math.max(...sides) <= 21, String(sides));
    // Up to one of the 4 samples that a pixel has.
    massAt(pixels, MNIST).forEach((value) => assert.ok(Math.abs(value - 14) <= 0.25, String(value)));
  }
});

test("MNIST: a straight stroke has known pixels", () => {
  const pixels = toImage(TALL, MNIST);
  // 2.6 wide and 20 high with round ends, in the middle of the image: the two middle columns are
  // full, those beside them have 0.3 of a pixel, of which 4 samples see one quarter.
  const row = [...pixels.slice(14 * 28, 15 * 28)].map((value) => Math.round(value * 4) / 4);
  assert.deepEqual(row.slice(11, 17), [0, 0.25, 1, 1, 0.25, 0]);
  assert.deepEqual(extent(pixels, MNIST, "y"), [4, 23]);
});

test("UCI's digits: all rows, the middle columns, and the data's amount of ink", () => {
  for (const strokes of DIGITS) {
    const pixels = toImage(strokes, UCI);
    assert.deepEqual(extent(pixels, UCI, "y"), [0, 7]);
    const [left, right] = extent(pixels, UCI, "x");
    assert.ok(left >= 1 && right <= 6);
    assert.ok(Math.abs(sum(pixels) - 19.5) < 0.8, String(sum(pixels)));
  }
});

test("UCI's digits count the pixels of a bitmap in blocks of 4x4", () => {
  const pixels = toImage(FLAT, { ...UCI, levels: 16 });
  pixels.forEach((value) => assert.equal(value * 16, Math.round(value * 16)));
});

test("place and size of the drawing do not matter", () => {
  for (const image of [UCI, MNIST]) {
    for (const strokes of DIGITS) {
      const [one, other] = [strokes, changed(strokes, 0.4, 0.55, 0.1)].map((s) => toImage(s, image));
      one.forEach((value, i) => assert.ok(Math.abs(value - other[i]) < 0.13, `pixel ${i}`));
    }
  }
});

test("a dot stays a dot", () => {
  const pixels = toImage([[[0.3, 0.3]]], MNIST);
  assert.ok(sum(pixels) > 3 && sum(pixels) < 8, String(sum(pixels)));
  massAt(pixels, MNIST).forEach((value) => assert.ok(Math.abs(value - 14) < 0.1));
});
