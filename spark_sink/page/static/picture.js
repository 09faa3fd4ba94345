// Saves a drawing as PNG: with the colours and letters it has on the page, on the card's ground.

import { h } from "./dom.js";

const SHARPER = 2;
const COPIED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "stroke-opacity", "opacity", "font-size", "font-weight", "font-family", "paint-order", "display", "visibility"];

/** A copy of the SVG that looks the same without the page's style sheets. */
function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const [from, to] = [[drawing, ...drawing.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of COPIED) to[at].setAttribute(name, style.getPropertyValue(name));
    to[at].removeAttribute("class");
  });
  const { width, height } = drawing.getBoundingClientRect();
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

function loaded(url) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.addEventListener("load", () => resolve(image));
    image.addEventListener("error", () => reject(new Error("The picture could not be made from the drawing.")));
    image.src = url;
  });
}

/** Gives the picture to the browser as a download, `name`.png. */
export async function savePicture(drawing, name) {
  if (!drawing) return;
  const { text, width, height } = standalone(drawing);
  const image = await loaded(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`);
  const canvas = h("canvas", { width: Math.ceil(width * SHARPER), height: Math.ceil(height * SHARPER) });
  const pen = canvas.getContext("2d");
  pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--card");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.scale(SHARPER, SHARPER);
  pen.drawImage(image, 0, 0, width, height);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: `${name}.png` }).click();
  URL.revokeObjectURL(url);
}
