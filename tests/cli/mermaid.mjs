// Reads charts as a JSON list, and writes what Mermaid's own parser makes of each: its tasks, or the error.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const installed = createRequire(process.argv[2] + "/");
const { JSDOM } = installed("jsdom");
const { window } = new JSDOM("<!DOCTYPE html><body></body>");
globalThis.window = window;
globalThis.document = window.document;
const { default: mermaid } = await import(pathToFileURL(process.argv[2] + "/node_modules/mermaid/dist/mermaid.core.mjs"));

const day = (time) => time.toISOString().slice(0, 10);
const found = [];
for (const chart of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    await mermaid.parse(chart);
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(chart);
    found.push({
      tasks: db.getTasks().map((task) => [task.section, task.task, day(task.startTime), day(task.endTime)]),
    });
  } catch (error) {
    found.push({ error: String(error.message || error) });
  }
}
process.stdout.write(JSON.stringify(found));
