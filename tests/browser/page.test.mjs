// The page of `tfssl demo`, used in a real browser with mouse, finger and keys.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { DIGITS } from "./digits.mjs";
import { draw, openPage, openReadyPage, screenshot, settled, startBrowser, startDemo } from "./harness.mjs";

let [demo, browser] = [];

before(async () => {
  demo = await startDemo();
  browser = await startBrowser();
}, { timeout: 1_800_000 });

after(async () => {
  await browser?.close();
  await demo?.stop();
});

test("drawn digits are recognised, and nothing goes wrong", async () => {
  const { page, faults } = await openReadyPage(browser, demo.url);
  const answers = [];
  for (const strokes of DIGITS) {
    const answer = await draw(page, strokes);
    assert.equal(answer.percents.indexOf(Math.max(...answer.percents)), Number(answer.best));
    assert.match(answer.status, new RegExp(`^Most likely ${answer.best} `));
    assert.ok(Math.abs(answer.percents.reduce((a, b) => a + b) - 100) < 0.6);
    answers.push(Number(answer.best));
  }
  // The model has seen 50 labels and errs on 8 % of the test images: one slip is allowed.
  const right = answers.filter((answer, digit) => answer === digit);
  assert.ok(right.length >= 9, `drawn 0 to 9, read ${answers}`);
  await draw(page, DIGITS[3]);
  await screenshot(page, "light");
  assert.deepEqual(faults, []);
});

test("the browser's probabilities are those of Keras", async () => {
  const about = await (await fetch(`${demo.url}models/demo.json`)).text();
  const python = join(dirname(process.env.TFSSL), "python");
  const script = new URL("expected.py", import.meta.url).pathname;
  const options = { input: about, stdio: ["pipe", "pipe", "ignore"] };
  const expected = JSON.parse(execFileSync(python, [script, demo.run], options));
  const { page, faults } = await openReadyPage(browser, demo.url);
  const samples = await page.locator("#samples button").all();
  assert.equal(samples.length, expected.length);
  for (const [i, sample] of samples.entries()) {
    await sample.click();
    const { percents } = await settled(page);
    // The page shows one decimal of a per cent.
    percents.forEach((value, k) => assert.ok(Math.abs(value - 100 * expected[i][k]) < 0.06));
  }
  assert.deepEqual(faults, []);
});

test("analogies follow the drawing and the pad, the class does not follow the pad", async () => {
  const { page, faults } = await openReadyPage(browser, demo.url);
  const empty = await settled(page);
  assert.equal(empty.best, undefined);
  const two = await draw(page, DIGITS[2]);
  const zero = await draw(page, DIGITS[0]);
  for (const k of two.tiles.keys()) assert.notEqual(two.tiles[k], zero.tiles[k]);
  assert.equal(new Set(zero.tiles).size, zero.tiles.length);
  assert.equal(zero.tiles[0], zero.rebuilt, "the drawing's own class is its reconstruction");

  const box = await page.locator("#pad").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + box.height * 0.2);
  await page.mouse.up();
  const moved = await settled(page);
  for (const k of moved.tiles.keys()) assert.notEqual(moved.tiles[k], zero.tiles[k]);
  assert.deepEqual(moved.percents, zero.percents);
  assert.equal(moved.map, zero.map);
  await screenshot(page, "pad");

  await page.click("#home");
  assert.deepEqual((await settled(page)).tiles, zero.tiles);
  await page.click("#clear");
  assert.deepEqual(await settled(page), empty);
  assert.deepEqual(faults, []);
});

test("everything works with keys alone", async () => {
  const { page, faults } = await openReadyPage(browser, demo.url);
  const press = async (key, times = 1) => {
    for (let i = 0; i < times; i++) await page.keyboard.press(key);
  };
  const focused = () => page.evaluate(() => document.activeElement.id);
  await press("Tab");
  assert.equal(await focused(), "sheet");
  // A 0 with corners, from its top left.
  await press("ArrowLeft", 4);
  await press("ArrowUp", 7);
  await press("Space");
  for (const [key, times] of [["Right", 8], ["Down", 14], ["Left", 8], ["Up", 14]]) {
    await press(`Arrow${key}`, times);
  }
  await press("Space");
  assert.equal((await settled(page)).best, "0");
  await screenshot(page, "keys");
  await press("Backspace");
  assert.equal((await settled(page)).best, undefined);

  await page.focus("#samples button >> nth=6");
  await press("Enter");
  const three = await settled(page);
  assert.equal(three.best, "3");
  await page.focus("#pad");
  await press("ArrowRight", 3);
  await press("Shift+ArrowUp");
  const moved = await settled(page);
  assert.notDeepEqual(moved.tiles, three.tiles);
  const place = (text) => text.split(/[^-.\d]+/).slice(0, 2).map(Number);
  assert.match(await page.getAttribute("#pad", "aria-valuetext"), /across.*up/);
  const before = place(await page.getAttribute("#pad", "aria-valuetext"));
  await press("Home");
  const home = place(await page.getAttribute("#pad", "aria-valuetext"));
  assert.ok(Math.abs(before[0] - home[0] - 0.75) < 0.011 && Math.abs(before[1] - home[1] - 1) < 0.011);
  assert.deepEqual((await settled(page)).tiles, three.tiles);

  // The class of the map is a group of radio buttons.
  await page.focus("#tiles :checked");
  await press("ArrowRight");
  const other = await settled(page);
  assert.notEqual(other.map, three.map);
  assert.deepEqual(other.tiles, three.tiles);
  assert.deepEqual(faults, []);
});

test("a phone: a finger draws, nothing is cut off, the page does not scroll", async () => {
  const viewport = { width: 390, height: 844 };
  const options = { viewport, hasTouch: true, isMobile: true, colorScheme: "dark" };
  const { page, faults } = await openReadyPage(browser, demo.url, options);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  const box = await page.locator("#sheet").boundingBox();
  const touches = await page.context().newCDPSession(page);
  for (const stroke of DIGITS[3]) {
    const points = stroke.map(([x, y]) => ({ x: box.x + x * box.width, y: box.y + y * box.height }));
    await touches.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [points[0]] });
    for (const point of points) {
      await touches.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [point] });
    }
    await touches.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  }
  assert.equal((await settled(page)).best, "3");
  assert.equal(await page.evaluate(() => scrollY), 0);
  const bars = await page.locator("#bars").boundingBox();
  assert.ok(bars.y + bars.height <= viewport.height, "drawing and classes fit the screen");
  await screenshot(page, "phone");
  assert.deepEqual(faults, []);
});

test("names for those who do not see: every control has one", async () => {
  const { page } = await openReadyPage(browser, demo.url);
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, [tabindex]")]
      .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim()))
      .map((e) => e.outerHTML));
  assert.deepEqual(nameless, []);
});

test("without WebAssembly the page says so", async () => {
  const old = await startBrowser("--js-flags=--jitless"); // takes WebAssembly away
  try {
    const { page, faults } = await openPage(old, demo.url);
    const trouble = page.locator("#trouble");
    await trouble.waitFor();
    assert.match(await trouble.textContent(), /no WebAssembly/);
    assert.equal(await page.locator("main").isVisible(), false);
    await screenshot(page, "no-wasm");
    assert.deepEqual(faults, []);
  } finally {
    await old.close();
  }
});

for (const [what, path, message] of [
  ["a model", "**/models/decode.tflite", /decode.tflite could not be loaded/],
  ["LiteRT.js", "**/litert/core/dist/index.js", /LiteRT.js.*could not be loaded/],
  ["LiteRT.js' program", "**/litert/core/wasm/*.wasm", /could not be loaded/],
  ["the description", "**/models/demo.json", /tfssl demo still running/],
]) {
  test(`without ${what} the page says so`, async () => {
    const prepare = (page) => page.route(path, (route) => route.fulfill({ status: 404 }));
    const { page } = await openPage(browser, demo.url, { prepare });
    const trouble = page.locator("#trouble");
    await trouble.waitFor({ timeout: 60_000 });
    assert.match(await trouble.textContent(), message);
    assert.equal(await page.locator("main").isVisible(), false);
  });
}
