// What the build defines (build.mjs), and what bundlers take for modules.
declare const LICENCES: { name: string; version: string; licence: string; text: string }[];
declare module "*.css";
