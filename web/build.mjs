// SPDX-License-Identifier: MIT
// build.mjs - builds the page: page.js, page.css, and the two HTML documents that use them.
//
// usage: node build.mjs [--out DIR] [--tests]
//
// DIR is web/built by default. Its files are committed, and the same sources always give the same bytes. With --tests,
// bundles tests/*.test.ts as DIR/tests/*.mjs instead, for node --test.
//
// The licences in the page's about box come from the bundled packages.

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const TARGET = ["chrome109", "firefox115", "safari16.4"];

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

/** Name, version, licence and licence text of each bundled package. */
function licences() {
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(HERE, "package.json"), "utf8"));
  return Object.keys(dependencies).map((name) => {
    const folder = path.join(HERE, "node_modules", name);
    const about = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
    const file = fs.readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? fs.readFileSync(path.join(folder, file), "utf8").trim() : "";
    return { name, version: about.version, licence: about.license, text };
  });
}

function source(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** The browser must hash the same text as we do. It ends the element at its end tag, and drops carriage returns. */
function checkInline(name, text, tag) {
  if (new RegExp(`</${tag}|<!--|[\\r\\0]`, "i").test(text)) throw new Error(`${name} cannot be put into a document`);
}

async function buildPage(out) {
  await esbuild.build({
    absWorkingDir: HERE,
    entryPoints: { page: "src/main.tsx" },
    outdir: out,
    bundle: true,
    minify: true,
    format: "iife",
    target: TARGET,
    charset: "utf8",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    define: { LICENCES: JSON.stringify(licences()) },
    logLevel: "warning",
  });
  const script = fs.readFileSync(path.join(out, "page.js"), "utf8").trim();
  const style = fs.readFileSync(path.join(out, "page.css"), "utf8").trim();
  checkInline("page.js", script, "script");
  checkInline("page.css", style, "style");
  fs.writeFileSync(path.join(out, "page.js"), script);
  fs.writeFileSync(path.join(out, "page.css"), style);
  for (const name of ["standalone.html", "served.html"]) {
    const text = fs.readFileSync(path.join(HERE, name), "utf8");
    fs.writeFileSync(
      path.join(out, name),
      text.replace("@SCRIPT_HASH@", source(script)).replace("@STYLE_HASH@", source(style)),
    );
  }
}

async function buildTests(out) {
  const tests = fs.readdirSync(path.join(HERE, "tests")).filter((name) => name.endsWith(".test.ts"));
  await esbuild.build({
    absWorkingDir: HERE,
    entryPoints: tests.map((name) => `tests/${name}`),
    outdir: path.join(out, "tests"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node18",
    jsx: "automatic",
    jsxImportSource: "preact",
    loader: { ".css": "empty" },
    define: { LICENCES: "[]" },
    logLevel: "warning",
  });
}

const out = path.resolve(option("--out") ?? path.join(HERE, "built"));
fs.mkdirSync(out, { recursive: true });
if (process.argv.includes("--tests")) await buildTests(out);
else await buildPage(out);
