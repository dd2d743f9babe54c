// SPDX-License-Identifier: MIT
// container.ts - reads page data: a JSON text, and after it columns of numbers (docs/page-data.md).
//
// Columns are views into the bytes: they are neither copied nor parsed. A missing column is all zeros.

import type { Header } from "./header";

const MAGIC = "PLIMPAGE";
const VERSION = 1;
const HEAD_BYTES = 16;

export interface Container {
  header: Header;
  f64(name: string): Float64Array;
  u32(name: string): Uint32Array;
  u8(name: string): Uint8Array;
}

function readHead(bytes: Uint8Array): { json: string; columnsAt: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = bytes.byteLength < HEAD_BYTES ? "" : new TextDecoder().decode(bytes.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw new Error("not page data (bad magic)");
  if (view.getUint32(8, true) !== VERSION)
    throw new Error(`page data has version ${view.getUint32(8, true)}; this page reads version ${VERSION}`);
  const end = HEAD_BYTES + view.getUint32(12, true);
  if (end > bytes.byteLength) throw new Error("page data is truncated");
  return { json: new TextDecoder().decode(bytes.subarray(HEAD_BYTES, end)), columnsAt: end };
}

export function openContainer(bytes: Uint8Array): Container {
  const { json, columnsAt } = readHead(bytes);
  const header = JSON.parse(json) as Header;
  const base = bytes.byteOffset + columnsAt;
  const find = (name: string, type: "u8" | "u32" | "f64") => {
    const column = header.columns[name];
    if (column && column.type !== type) throw new Error(`column ${name} is ${column.type}, not ${type}`);
    return column;
  };
  const rows = (name: string) => header.tables[name.slice(0, name.indexOf("."))] ?? 0;
  return {
    header,
    f64: (name) => {
      const column = find(name, "f64");
      return column ? new Float64Array(bytes.buffer, base + column.offset, column.count) : new Float64Array(rows(name));
    },
    u32: (name) => {
      const column = find(name, "u32");
      return column ? new Uint32Array(bytes.buffer, base + column.offset, column.count) : new Uint32Array(rows(name));
    },
    u8: (name) => {
      const column = find(name, "u8");
      return column ? new Uint8Array(bytes.buffer, base + column.offset, column.count) : new Uint8Array(rows(name));
    },
  };
}
