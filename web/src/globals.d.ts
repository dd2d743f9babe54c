// Constants that build.mjs defines, and style sheets, which the bundler imports as modules.
declare const LICENCES: { name: string; version: string; licence: string; text: string }[];
declare module "*.css";
