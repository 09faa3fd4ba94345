// Runs MicroPython with the files that are named, and lets it ask this process's parent, line by line: what it asks goes
// to standard output, and standard input is read until there is an answer.
//   node micropython.mjs MICROPYTHON.mjs FOLDER ENTRY
import fs from "node:fs";
import path from "node:path";

const [, , micropython, folder, entry] = process.argv;
const { loadMicroPython } = await import(micropython);

let pending = "";
function readLine() {
  const buffer = Buffer.alloc(65536);
  while (!pending.includes("\n")) {
    const count = fs.readSync(0, buffer, 0, buffer.length, null);
    if (count === 0) process.exit(0);
    pending += buffer.toString("latin1", 0, count);
  }
  const end = pending.indexOf("\n");
  const line = pending.slice(0, end);
  pending = pending.slice(end + 1);
  return line;
}

function ask(line) {
  fs.writeSync(1, `${line}\n`);
  return readLine();
}

const mp = await loadMicroPython({ stdout: (line) => fs.writeSync(2, `${line}\n`) });
mp.registerJsModule("parent", { ask });
for (const name of fs.readdirSync(folder, { recursive: true }).sort()) {
  const source = path.join(folder, name);
  if (fs.statSync(source).isDirectory()) mp.FS.mkdir(`/${name}`);
  else mp.FS.writeFile(`/${name}`, fs.readFileSync(source));
}
mp.runPython(`import sys\nsys.path.insert(0, "/")\nimport ${entry}`);
