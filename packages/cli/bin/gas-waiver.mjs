#!/usr/bin/env node
import { keepHangups } from "../dist/interruption.js";
import { keepInspectorClosed } from "../dist/processSecrets.js";

// A signal may come while the rest of the program still loads.
keepInspectorClosed(process);
const hangups = keepHangups(process);
// A stack trace then names the lines of the sources. It costs a tenth of the start, and nothing later.
process.setSourceMapsEnabled(true);
const { main } = await import("../dist/index.js");
await main(process.argv.slice(2), hangups);
