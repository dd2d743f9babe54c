// SPDX-License-Identifier: MIT
// boot.ts - gets page data: from the document itself, or from its server.

const ELEMENT = "profile";

async function gunzip(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** The profile in the document; null if it has none. */
export async function embeddedData(): Promise<Uint8Array | null> {
  const element = document.getElementById(ELEMENT);
  if (!element) return null;
  const bytes = await gunzip(fromBase64((element.textContent ?? "").trim()));
  element.remove();
  return bytes;
}

export interface Served {
  bytes: Uint8Array;
  etag: string | null;
}

/** The server's newest data; null if it is still that of `etag`. */
export async function servedData(etag: string | null): Promise<Served | null> {
  const headers: Record<string, string> = etag ? { "If-None-Match": etag } : {};
  const answer = await fetch("data", { headers, cache: "no-store", credentials: "omit", redirect: "error" });
  if (answer.status === 304) return null;
  if (!answer.ok) throw new Error(`plimsoll view answered ${answer.status}`);
  return { bytes: new Uint8Array(await answer.arrayBuffer()), etag: answer.headers.get("ETag") };
}
