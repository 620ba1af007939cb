// The plane of styles: positions and styles belong together.

import assert from "node:assert/strict";
import { test } from "node:test";
import { gridPositions, onPlane, styleAt } from "../../tfssl/demo/static/styles.js";

const AXES = [[0.6, 0.8, 0], [0, 0, -1]];
const STYLE = Float32Array.of(1, 2, 3);

function near(one, other) {
  assert.equal(one.length, other.length);
  one.forEach((value, i) => assert.ok(Math.abs(value - other[i]) < 1e-6, `${one} and ${other}`));
}

test("a style lies where its products with the axes say", () => {
  near(onPlane(STYLE, AXES), [2.2, -3]);
});

test("a style's own position gives it back", () => {
  near(styleAt(onPlane(STYLE, AXES), STYLE, AXES), STYLE);
});

test("another position changes the plane's part and nothing else", () => {
  const moved = styleAt([0, 1], STYLE, AXES);
  near(onPlane(moved, AXES), [0, 1]);
  near([0.8 * moved[0] - 0.6 * moved[1]], [0.8 * 1 - 0.6 * 2]);
});

test("one dimension moves along the first axis alone", () => {
  near(styleAt([0.5, 2], Float32Array.of(0), [[1], [0]]), [0.5]);
});

test("the grid goes from the top left to the bottom right", () => {
  near(gridPositions(3, 3).flat(),
    [-2, 2, 0, 2, 2, 2, -2, 0, 0, 0, 2, 0, -2, -2, 0, -2, 2, -2]);
});
