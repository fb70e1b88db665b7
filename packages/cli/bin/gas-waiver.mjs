#!/usr/bin/env node
import { keepInspectorClosed } from "../dist/processSecrets.js";

// A signal may come while the rest of the program still loads.
keepInspectorClosed(process);
const { main } = await import("../dist/index.js");
await main(process.argv.slice(2));
