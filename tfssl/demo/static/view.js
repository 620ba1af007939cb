// The parts of the page that depend on the model: bars, tiles, test images and messages.

import { newPicture, paint } from "./pictures.js";

export const find = (id) => document.getElementById(id);

/** Say why the page cannot work. */
export function showTrouble(message) {
  find("trouble").textContent = message;
  find("trouble").hidden = false;
  find("main").hidden = true;
}

/** What was trained, in a line. */
export function describe({ model, data, labels, error }) {
  const labelled = labels === null ? "all labels" : `${labels} labels`;
  const measured = error === null ? "" : `, test error ${percent(error)}`;
  return `${model}, trained on ${data} with ${labelled}${measured}. ` +
    "It runs in this browser: nothing you draw leaves it.";
}

export const percent = (share) => `${(100 * share).toFixed(1)} %`;

/** A bar per class; returns a function that sets them to probabilities, or to none for null. */
export function makeBars(list, classes) {
  list.style.setProperty("--name-width", `${Math.max(...classes.map((name) => name.length))}ch`);
  const rows = classes.map((name) => {
    const row = document.createElement("li");
    row.innerHTML = '<span class="name"></span><span class="track"><span class="bar"></span></span>' +
      '<span class="percent"></span>';
    row.querySelector(".name").textContent = name;
    list.append(row);
    return row;
  });
  return (probabilities) => {
    const best = probabilities ? probabilities.indexOf(Math.max(...probabilities)) : -1;
    rows.forEach((row, k) => {
      const share = probabilities ? probabilities[k] : 0;
      row.classList.toggle("best", k === best);
      row.querySelector(".bar").style.transform = `scaleX(${share})`;
      row.querySelector(".percent").textContent =
        probabilities ? percent(share) : "";
    });
  };
}

/** A picture per class to choose from; returns {pictures, choose(k)}. */
export function makeTiles(group, classes, image, onChoose) {
  const radios = [];
  const pictures = classes.map((name, k) => {
    const label = document.createElement("label");
    const radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "class", value: k });
    radio.setAttribute("aria-label", `class ${name}`);
    radio.addEventListener("change", () => onChoose(k));
    radios.push(radio);
    const caption = document.createElement("span");
    caption.textContent = name;
    const picture = newPicture(image);
    label.append(radio, picture, caption);
    group.append(label);
    return picture;
  });
  return { pictures, choose: (k) => (radios[k].checked = true) };
}

/** A button per test image. */
export function makeSamples(parent, samples, classes, image, onPick) {
  const buttons = samples.map(({ label, pixels }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-label", `test image of class ${classes[label]}`);
    const picture = newPicture(image);
    const intensities = Float32Array.from(pixels, (value) => value / image.levels);
    paint(picture, intensities, image);
    button.append(picture);
    button.addEventListener("click", () => onPick(intensities, picture));
    return button;
  });
  parent.append(...buttons);
}
