import { readFileSync } from "node:fs";

const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** The version of this package. */
export const VERSION: string = String((manifest as { readonly version: unknown }).version);
