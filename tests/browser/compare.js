// How two pictures differ: [mean difference of the cells' greys, share of the cells that have something in them while
// nothing is near in the other picture]. The one expression of this file is evaluated in a page.
async ([kept, fresh, size, difference, share]) => {
  const read = async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.drawImage(image, 0, 0);
    const { data: pixels } = pen.getImageData(0, 0, image.width, image.height);
    const greys = new Uint8Array(image.width * image.height);
    for (let at = 0; at < greys.length; at += 1) greys[at] = (pixels[4 * at] + 2 * pixels[4 * at + 1] + pixels[4 * at + 2]) / 4;
    return { greys, width: image.width, height: image.height };
  };
  const groundOf = (greys) => {
    const often = new Uint32Array(256);
    greys.forEach((grey) => { often[grey] += 1; });
    return often.indexOf(Math.max(...often));
  };
  const cellsOf = ({ greys, width, height }) => {
    const ground = groundOf(greys);
    const cell = (row, column) => {
      let [sum, ink] = [0, 0];
      for (let y = row * size; y < (row + 1) * size; y += 1) {
        for (let x = column * size; x < (column + 1) * size; x += 1) {
          const grey = greys[y * width + x];
          sum += grey;
          if (Math.abs(grey - ground) > difference) ink += 1;
        }
      }
      return { mean: sum / size ** 2, full: ink / size ** 2 >= share };
    };
    return Array.from({ length: Math.floor(height / size) }, (_, row) =>
      Array.from({ length: Math.floor(width / size) }, (_one, column) => cell(row, column)));
  };
  const [one, other] = [cellsOf(await read(kept)), cellsOf(await read(fresh))];
  if (one.length !== other.length || one[0].length !== other[0].length) return [255, 1];
  const around = [-1, 0, 1];
  const near = (cells, row, column) => around.some((dy) => around.some((dx) => cells[row + dy]?.[column + dx]?.full));
  let [mean, lost] = [0, 0];
  one.forEach((cells, row) => cells.forEach((cell, column) => {
    const there = other[row][column];
    mean += Math.abs(cell.mean - there.mean);
    if ((cell.full && !near(other, row, column)) || (there.full && !near(one, row, column))) lost += 1;
  }));
  const all = one.length * one[0].length;
  return [mean / all, lost / all];
}
