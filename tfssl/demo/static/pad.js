// The pad: a handle in a square, moved by mouse, finger or keys.

export const LIMIT = 3; // the square is [-LIMIT, LIMIT]^2; styles are standard normal
const STEP = 0.25;

export class Pad {
  /**
   * @param element holds #handle and #origin.
   * @param onMove called with the position [x, y], y upwards, after the user moved the handle.
   */
  constructor(element, onMove) {
    this.element = element;
    this.onMove = onMove;
    this.handle = element.querySelector("#handle");
    this.origin = element.querySelector("#origin");
    this.home = [0, 0];
    this.place([0, 0]);
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      element.setPointerCapture(event.pointerId);
      this.#moveTo(this.#position(event));
    });
    element.addEventListener("pointermove", (event) => {
      if (element.hasPointerCapture(event.pointerId)) this.#moveTo(this.#position(event));
    });
    element.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Put the handle somewhere. */
  place(position) {
    this.position = position;
    setPlace(this.handle, position);
    const [x, y] = position.map((value) => value.toFixed(2));
    this.element.setAttribute("aria-valuenow", x);
    this.element.setAttribute("aria-valuetext", `${x} across, ${y} up`);
  }

  /** Where the ring is, and the handle goes back to. */
  setHome(position) {
    this.home = position;
    setPlace(this.origin, position);
    this.place(position);
  }

  goHome() {
    this.#moveTo(this.home);
  }

  #moveTo(position) {
    this.place(position);
    this.onMove(position);
  }

  #position(event) {
    const box = this.element.getBoundingClientRect();
    const across = (event.clientX - box.left) / box.width;
    const down = (event.clientY - box.top) / box.height;
    return [LIMIT * (2 * across - 1), LIMIT * (1 - 2 * down)].map(clamped);
  }

  #key(event) {
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const step = STEP * (event.shiftKey ? 4 : 1);
    const move = moves[event.key];
    if (move) this.#moveTo(this.position.map((value, axis) => clamped(value + step * move[axis])));
    else if (event.key === "Home") this.goHome();
    else return;
    event.preventDefault();
  }
}

function clamped(value) {
  return Math.min(Math.max(value, -LIMIT), LIMIT);
}

function setPlace(element, position) {
  const [x, y] = position.map(clamped);
  element.style.left = `${50 + (50 * x) / LIMIT}%`;
  element.style.top = `${50 - (50 * y) / LIMIT}%`;
}
