#!/usr/bin/env node
// The compiler of the npm package solc, with the command line that forge expects: forge would download another one.
import { text } from "node:stream/consumers";
import solc from "solc";

if (process.argv.includes("--version")) console.log(`Version: ${solc.version()}`);
else process.stdout.write(solc.compile(await text(process.stdin)));
