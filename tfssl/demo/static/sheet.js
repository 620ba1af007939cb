// The sheet to draw on, with mouse, finger, pen or keys.

const PEN = 0.075; // width, as a share of the side
const STEP = 0.04; // how far an arrow key moves the pen

/** Keeps the strokes of a canvas: lists of points [x, y] in the unit square. */
export class Sheet {
  /**
   * @param canvas a square canvas.
   * @param onChange called after every change.
   */
  constructor(canvas, onChange) {
    this.canvas = canvas;
    this.onChange = onChange;
    this.strokes = [];
    this.picture = null; // a canvas to show instead of strokes
    this.cursor = null; // where the keys' pen is, {at: [x, y], down}
    this.pointer = null; // which of several fingers draws
    canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    canvas.addEventListener("pointermove", (event) => this.#go(event));
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, (event) => this.#end(event));
    }
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("blur", () => this.#liftCursor());
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** Show a picture instead of a drawing, until the next stroke. */
  show(picture) {
    [this.strokes, this.picture, this.cursor] = [[], picture, null];
    this.draw();
  }

  clear() {
    this.show(null);
    this.onChange();
  }

  undo() {
    this.strokes.pop();
    this.picture = null;
    this.#changed();
  }

  #begin(event) {
    if (event.button !== 0 || this.pointer !== null) return;
    this.pointer = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.#start(this.#place(event));
  }

  #start(point) {
    this.picture = null;
    this.strokes.push([point]);
    this.#changed();
  }

  #go(event) {
    if (event.pointerId !== this.pointer) return;
    const events = event.getCoalescedEvents?.() ?? [];
    const points = (events.length ? events : [event]).map((part) => this.#place(part));
    this.strokes.at(-1).push(...points);
    this.#changed();
  }

  #end(event) {
    if (event.pointerId !== this.pointer) return;
    this.pointer = null;
    this.#changed();
  }

  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]
      .map(toUnit);
  }

  #key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const undoes = event.key === "Backspace" || (event.key === "z" && (event.ctrlKey || event.metaKey));
    if (moves[event.key]) this.#moveCursor(moves[event.key]);
    else if (event.key === " ") this.#toggleCursor();
    else if (event.key === "Escape" || event.key === "Delete") this.clear();
    else if (undoes) this.undo();
    else return;
    event.preventDefault();
  }

  #moveCursor(move) {
    this.cursor ??= { at: [0.5, 0.5], down: false };
    this.cursor.at = this.cursor.at.map((value, axis) => toUnit(value + STEP * move[axis]));
    if (this.cursor.down) {
      this.strokes.at(-1).push(this.cursor.at);
      this.#changed();
    } else {
      this.draw();
    }
  }

  #toggleCursor() {
    this.cursor ??= { at: [0.5, 0.5], down: false };
    this.cursor.down = !this.cursor.down;
    if (this.cursor.down) this.#start(this.cursor.at);
    else this.#changed();
  }

  #liftCursor() {
    const wasDown = this.cursor?.down;
    this.cursor = null;
    if (wasDown) this.#changed();
    else this.draw();
  }

  #changed() {
    if (!this.strokes.length && this.cursor) this.cursor.down = false;
    this.draw();
    this.onChange();
  }

  /** Paint what there is: a picture, or the strokes and the keys' pen. */
  draw() {
    const canvas = this.canvas;
    const side = Math.round(canvas.clientWidth * devicePixelRatio);
    if (!side) return;
    [canvas.width, canvas.height] = [side, side];
    const context = canvas.getContext("2d");
    const styles = getComputedStyle(canvas);
    context.imageSmoothingEnabled = false;
    if (this.picture) this.#drawPicture(context, side);
    context.strokeStyle = context.fillStyle = styles.color;
    [context.lineCap, context.lineJoin, context.lineWidth] = ["round", "round", PEN * side];
    for (const stroke of this.strokes) {
      context.beginPath();
      context.moveTo(stroke[0][0] * side, stroke[0][1] * side);
      stroke.forEach(([x, y]) => context.lineTo(x * side, y * side));
      context.stroke();
    }
    if (this.cursor) {
      const [x, y] = this.cursor.at.map((value) => value * side);
      context.beginPath();
      context.arc(x, y, PEN * side * 0.6, 0, 7);
      context.strokeStyle = styles.getPropertyValue("--accent");
      context.lineWidth = (this.cursor.down ? 4 : 2) * devicePixelRatio;
      context.stroke();
    }
  }

  #drawPicture(context, side) {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    // The picture's own filter is CSS, which drawImage does not see.
    if (dark && this.picture.classList.contains("ink")) context.filter = "invert(1)";
    context.drawImage(this.picture, 0, 0, side, side);
    context.filter = "none";
  }
}

function toUnit(value) {
  return Math.min(Math.max(value, 0), 1);
}
