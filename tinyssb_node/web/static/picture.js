// Pictures made smaller in this browser, until they fit a number of bytes. What the camera wrote into them is left out.

const SIDES = [1_280, 960, 640, 480, 360, 240, 160, 120, 80]; // pixels of the longer side
const LEAST = 0.4; // quality: below it, a picture with fewer pixels looks better
const MOST = 0.9;
const HALVINGS = 4; // of the range of qualities

/** Returns the picture in a file; null if this browser cannot read it. */
export async function readPicture(file) {
  try {
    return await createImageBitmap(file);
  } catch {
    return null;
  }
}

/** Returns the picture with as many pixels as fit into so many bytes, at the best quality: `{ blob, width, height }`; null if none fits. */
export async function fit(picture, bytes) {
  const longest = Math.max(picture.width, picture.height);
  for (const side of new Set(SIDES.map((one) => Math.min(one, longest)))) {
    const canvas = drawn(picture, side / longest);
    const least = await encoded(canvas, LEAST);
    if (!least || least.size > bytes) continue;
    return { blob: await best(canvas, bytes, least), width: canvas.width, height: canvas.height };
  }
  return null;
}

async function best(canvas, bytes, least) {
  let [found, low, high] = [least, LEAST, MOST];
  for (let step = 0; step < HALVINGS; step += 1) {
    const middle = (low + high) / 2;
    const blob = await encoded(canvas, middle);
    if (blob && blob.size <= bytes) [found, low] = [blob, middle];
    else high = middle;
  }
  return found;
}

function drawn(picture, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const pen = canvas.getContext("2d");
  pen.imageSmoothingQuality = "high";
  pen.fillStyle = "white"; // JPEG has no transparency
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
}

const blobOf = (canvas, type, quality) => new Promise((done) => canvas.toBlob(done, type, quality));

/** Returns the picture as WebP; as JPEG where the browser writes none, as Safari. */
async function encoded(canvas, quality) {
  const blob = await blobOf(canvas, "image/webp", quality);
  return blob?.type === "image/webp" ? blob : blobOf(canvas, "image/jpeg", quality);
}
