// Arrays of intensities on canvases.

/** A new canvas for images of a size. */
export function newPicture({ height, width, channels }) {
  return shaped(document.createElement("canvas"), height, width, channels);
}

/** Make a canvas fit; with 1 channel it shows ink, which is light on a dark theme's paper. */
export function shaped(canvas, height, width, channels) {
  [canvas.height, canvas.width] = [height, width];
  canvas.classList.add("tile");
  canvas.classList.toggle("ink", channels === 1);
  return canvas;
}

/**
 * Paint one image on a part of a canvas.
 *
 * @param pixels height * width * channels intensities in [0, 1].
 * @param image {height, width, channels}: 1 channel becomes black ink on clear ground, 3 are colours.
 */
export function paint(canvas, pixels, { height, width, channels }, left = 0, top = 0) {
  const data = new ImageData(width, height);
  for (let i = 0; i < height * width; i++) {
    if (channels === 1) {
      data.data[4 * i + 3] = 255 * pixels[i];
    } else {
      for (let c = 0; c < 3; c++) data.data[4 * i + c] = 255 * pixels[3 * i + c];
      data.data[4 * i + 3] = 255;
    }
  }
  canvas.getContext("2d").putImageData(data, left, top);
}

export function wipe(canvas) {
  canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
}
