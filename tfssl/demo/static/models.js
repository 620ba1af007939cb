// The exported .tflite models, run by LiteRT.js on this machine's CPU.

/** Why the page cannot work, in words for its user. */
export class Trouble extends Error {}

/**
 * Load the run-time and the models.
 *
 * @param files {classify, encode, decode}: addresses of .tflite files.
 * @returns {classify, encode, decode}: async functions of named arrays, {x: array} -> {name: array}.
 */
export async function loadModels(files) {
  if (typeof WebAssembly !== "object") {
    throw new Trouble(
      "This browser has no WebAssembly, or it is switched off, and the model runs on it. " +
        "Please open this page in a current Chrome, Edge, Firefox or Safari.",
    );
  }
  const liteRt = await loadRuntime();
  const entries = Object.entries(files).map(async ([name, file]) => {
    try {
      const model = await liteRt.loadAndCompile(new URL(file, document.baseURI).href, {
        accelerator: "wasm",
      });
      return [name, runner(model, liteRt.Tensor)];
    } catch (error) {
      throw new Trouble(`The model ${file} could not be loaded (${reason(error)}). ` +
        "Start tfssl demo again and reload this page.");
    }
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function loadRuntime() {
  // LiteRT.js reports on its progress as on errors; emscripten lets the page take these lines.
  globalThis.Module = { printErr: log };
  try {
    const liteRt = await import("@litertjs/core");
    await liteRt.loadLiteRt("./litert/core/wasm/");
    return liteRt;
  } catch (error) {
    throw new Trouble(`LiteRT.js, which runs the model, could not be loaded (${reason(error)}). ` +
      "Reload the page, or open it in a current Chrome, Edge, Firefox or Safari.");
  }
}

function log(line) {
  if (line.startsWith("ERROR")) console.error(line);
  else console.debug(line);
}

function reason(error) {
  return error?.message || String(error?.type ?? error);
}

/** A model as an async function of arrays by name. */
function runner(model, Tensor) {
  const inputs = model.getInputDetails();
  return async (arrays) => {
    const tensors = Object.fromEntries(inputs.map(({ name, dtype, shape }) => {
      const kind = dtype === "int32" ? Int32Array : Float32Array;
      return [name, new Tensor(kind.from(arrays[name]), shape)];
    }));
    const results = await model.run(tensors);
    const values = {};
    for (const [name, tensor] of Object.entries(results)) {
      values[name] = (await tensor.data()).slice();
      tensor.delete(); // LiteRT's memory is not collected
    }
    Object.values(tensors).forEach((tensor) => tensor.delete());
    return values;
  };
}
