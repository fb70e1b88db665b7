#!/usr/bin/env node
// The compiler of the npm package solc, with the command line that forge expects: forge would download another one.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const require = createRequire(import.meta.url);
// Forge asks for the version at each step, and loading the compiler takes half a second.
if (process.argv.includes("--version")) console.log(`Version: ${require("solc/package.json").version}`);
else process.stdout.write(require("solc").compile(await text(process.stdin)));
