// The page: a drawing is read, rebuilt and redrawn in every class while it is drawn.

import { toImage } from "./ink.js";
import { loadModels, Trouble } from "./models.js";
import { LIMIT, Pad } from "./pad.js";
import { paint, shaped, wipe } from "./pictures.js";
import { Sheet } from "./sheet.js";
import { gridPositions, onPlane, styleAt } from "./styles.js";
import { describe, find, makeBars, makeSamples, makeTiles, percent, showTrouble } from "./view.js";

const MAP_STEPS = 7;

class Page {
  constructor(about, models) {
    this.about = about;
    this.models = models;
    this.input = null; // what to read: {strokes} or {pixels}
    this.style = new Float32Array(about.style_dim); // of the input; the prior's mean without one
    this.shownClass = 0; // the class of the map
    this.inputIsNew = this.mapIsOld = true;
    this.update = oneAtATime(() => this.#update());
    this.#build();
  }

  #build() {
    const { about } = this;
    this.setBars = makeBars(find("bars"), about.classes);
    this.tiles = makeTiles(find("tiles"), about.classes, about.output, (k) => this.#showClass(k));
    this.pad = new Pad(find("pad"), () => this.update());
    find("home").addEventListener("click", () => this.pad.goHome());
    this.sheet = new Sheet(find("sheet"), () => this.#read({ strokes: this.sheet.strokes }));
    find("undo").addEventListener("click", () => this.sheet.undo());
    find("clear").addEventListener("click", () => this.sheet.clear());
    makeSamples(find("samples"), about.samples, about.classes, about.image, (pixels, picture) => {
      this.sheet.show(picture);
      this.#read({ pixels });
    });
    const { height, width, channels } = about.output;
    shaped(find("seen"), about.image.height, about.image.width, about.image.channels);
    shaped(find("rebuilt"), height, width, channels);
    shaped(find("map"), ...[height, width].map((side) => MAP_STEPS * (side + gap(side))), channels);
    find("tests").hidden = !about.samples.length;
    find("analogies").hidden = !about.has_classes;
    // A colour image cannot be drawn: the sheet shows test images only.
    if (about.image.channels !== 1) {
      find("sheet").inert = find("sheet-buttons").hidden = find("sheet-keys").hidden = true;
      find("drawing-title").textContent = "Image";
    }
  }

  #read(input) {
    this.input = input;
    this.inputIsNew = true;
    this.update();
  }

  #showClass(k) {
    this.shownClass = k;
    this.mapIsOld = true;
    this.update();
  }

  async #update() {
    if (this.inputIsNew) await this.#readInput();
    if (this.about.has_classes) await this.#drawTiles();
    if (this.mapIsOld && !this.inputIsNew) await this.#drawMap();
  }

  /** Class, style and reconstruction of the input, or the prior's mean if there is none. */
  async #readInput() {
    this.inputIsNew = false;
    this.mapIsOld = true;
    const { about } = this;
    const x = this.input?.pixels ?? toImage(this.input?.strokes ?? [], about.image);
    if (x.every((value) => value === 0)) {
      this.style = new Float32Array(about.style_dim);
      this.setBars(null);
      [find("seen"), find("rebuilt")].forEach(wipe);
      find("status").textContent = about.image.channels === 1
        ? "Draw, or take a test image." : "Take a test image.";
    } else {
      const { probabilities } = await this.models.classify({ x });
      this.style = (await this.models.encode({ x })).loc;
      const best = probabilities.indexOf(Math.max(...probabilities));
      this.shownClass = best;
      this.setBars(probabilities);
      paint(find("seen"), x, about.image);
      paint(find("rebuilt"), await this.#picture(best, this.style), about.output);
      find("status").textContent =
        `Most likely ${about.classes[best]} (${percent(probabilities[best])}).`;
    }
    this.tiles.choose(this.shownClass);
    this.pad.setHome(onPlane(this.style, about.axes));
  }

  /** The style at the pad's handle in every class. */
  async #drawTiles() {
    const style = styleAt(this.pad.position, this.style, this.about.axes);
    for (const [k, picture] of this.tiles.pictures.entries()) {
      paint(picture, await this.#picture(k, style), this.about.output);
    }
  }

  /** The pad's ground: the styles of its plane in the chosen class. */
  async #drawMap() {
    this.mapIsOld = false;
    const { output, axes, classes } = this.about;
    find("style-title").textContent =
      this.about.has_classes ? `Styles of ${classes[this.shownClass]}` : "Styles";
    for (const [i, position] of gridPositions(MAP_STEPS, LIMIT).entries()) {
      const pixels = await this.#picture(this.shownClass, styleAt(position, this.style, axes));
      const place = [[i % MAP_STEPS, output.width], [Math.floor(i / MAP_STEPS), output.height]];
      const [left, top] = place.map(([cell, side]) => cell * (side + gap(side)) + gap(side) / 2);
      paint(find("map"), pixels, output, left, top);
    }
  }

  /** E[x|y,z], or E[x|z] of a model without classes. */
  async #picture(y, z) {
    return (await this.models.decode({ y: [y], z })).x;
  }
}

/** Free pixels between the map's pictures, an even number. */
function gap(side) {
  return 2 * Math.ceil(side / 16);
}

/** A function that runs `work` in the next frame, once for all calls until then. */
function oneAtATime(work) {
  let [running, again] = [false, false];
  return async () => {
    again = true;
    if (running) return;
    running = true;
    try {
      while (again) {
        again = false;
        await new Promise(requestAnimationFrame);
        await work();
      }
    } catch (error) {
      fail(error);
    }
    running = false;
  };
}

function fail(error) {
  if (!(error instanceof Trouble)) console.error(error);
  showTrouble(error instanceof Trouble ? error.message : `The model failed: ${error.message}.`);
}

async function start() {
  const answer = await fetch("models/demo.json").catch(() => null);
  if (!answer?.ok) throw new Trouble("The server does not answer. Is tfssl demo still running?");
  const about = await answer.json();
  find("about").textContent = describe(about);
  find("main").hidden = false;
  const page = new Page(about, await loadModels(about.models));
  await page.update();
  document.body.dataset.ready = "yes";
}

start().catch(fail);
