// A real server and a real browser for the tests.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const FOLDER = new URL("../../build/test-browser/", import.meta.url).pathname;
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/**
 * Start `tfssl demo` as a user does the first time: it trains its default model, or takes the one of
 * an earlier test run.
 *
 * @returns {url, run, stop()}
 */
export async function startDemo() {
  mkdirSync(FOLDER, { recursive: true });
  const program = spawn(process.env.TFSSL, ["demo", "--port", "0"], { cwd: FOLDER });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    const listen = (data) => {
      said += data;
      const found = said.match(/open (http\S+)/);
      if (found) resolve(found[1]);
    };
    program.stdout.on("data", listen);
    program.stderr.on("data", listen);
    program.on("error", reject);
    program.on("exit", (code) => reject(new Error(`tfssl demo ended with ${code}:\n${said}`)));
  });
  const run = FOLDER + said.match(/exporting (\S+)/)[1];
  const stop = () => new Promise((resolve) => {
    program.removeAllListeners("exit");
    program.on("exit", resolve);
    program.kill("SIGTERM");
  });
  return { url, run, stop };
}

/** Chromium; more flags may take features away from it. */
export function startBrowser(...flags) {
  const executablePath = process.env.CHROMIUM || "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: [...FLAGS, ...flags] });
}

/**
 * Open the page and note what must not happen: errors on the console, requests to elsewhere.
 *
 * @param options of the browser's context: viewport, colorScheme, hasTouch.
 * @returns {page, faults}: faults is a list of texts, empty if all is well.
 */
export async function openPage(browser, url, { prepare, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) {
      faults.push(`request to ${request.url()}`);
    }
  });
  await prepare?.(page);
  await page.goto(url);
  return { page, faults };
}

export async function openReadyPage(browser, url, options) {
  const opened = await openPage(browser, url, options);
  await opened.page.waitForSelector("body[data-ready]", { timeout: 120_000 });
  return opened;
}

/** Draw strokes with the mouse on the cleared sheet and wait for the answer. */
export async function draw(page, strokes) {
  await page.click("#clear");
  const box = await page.locator("#sheet").boundingBox();
  for (const stroke of strokes) {
    const points = stroke.map(([x, y]) => [box.x + x * box.width, box.y + y * box.height]);
    await page.mouse.move(...points[0]);
    await page.mouse.down();
    for (const point of points) await page.mouse.move(...point);
    await page.mouse.up();
  }
  return settled(page);
}

/** The page's answer once nothing changes any more: {status, best, percents, tiles, map}. */
export async function settled(page) {
  let last = "";
  for (;;) {
    await page.waitForTimeout(150);
    const now = await page.evaluate(() => {
      const url = (canvas) => canvas.toDataURL();
      return JSON.stringify({
        status: document.getElementById("status").textContent,
        best: document.querySelector("#bars .best .name")?.textContent,
        percents: [...document.querySelectorAll("#bars .percent")].map((e) => parseFloat(e.textContent)),
        tiles: [...document.querySelectorAll("#tiles canvas")].map(url),
        map: url(document.getElementById("map")),
        rebuilt: url(document.getElementById("rebuilt")),
      });
    });
    if (now === last) return JSON.parse(now);
    last = now;
  }
}

export function screenshot(page, name) {
  return page.screenshot({ path: `${FOLDER}${name}.png`, fullPage: true });
}
