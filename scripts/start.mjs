// npm start: makes the checkout ready, then runs `gas-waiver dev` in this process. Signals have at most one receiver at any
// time: this script during the set-up, the command line afterwards.
import { setUpToStart } from "./setup.mjs";

const interrupted = new AbortController();
const interrupt = () => interrupted.abort();
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);

let main;
try {
  await setUpToStart({ signal: interrupted.signal });
  // A stack trace then names the lines of the sources.
  process.setSourceMapsEnabled(true);
  ({ main } = await import("../packages/cli/dist/index.js"));
  interrupted.signal.throwIfAborted();
} catch (error) {
  if (interrupted.signal.aborted) process.exit(0);
  console.error(`gas-waiver: cannot start: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
process.off("SIGINT", interrupt);
process.off("SIGTERM", interrupt);
await main(["dev", ...process.argv.slice(2)]);
