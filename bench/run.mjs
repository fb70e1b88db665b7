// npm run bench: measures the service beside other relays, or the part that `--of` names. See --help.
import { runMain } from "../scripts/runMain.mjs";

/** The measurements by the values of `--of`. */
const PARTS = {
  peers: "./service/run.mjs",
  rate: "./rate/run.mjs",
  "open-transaction": "./open-transaction/run.mjs",
  crypto: "./crypto/run.mjs",
  devnet: "./devnet/run.mjs",
};

const given = process.argv.indexOf("--of");
const name = given === -1 ? "peers" : process.argv[given + 1];
const part = await import(PARTS[name] ?? PARTS.peers);

function readOptions(argv) {
  if (!Object.hasOwn(PARTS, name)) {
    throw new Error(`--of is "${name}"; there are ${Object.keys(PARTS).join(", ")}`);
  }
  return part.readOptions(given === -1 ? argv : argv.toSpliced(given - 2, 2));
}

await runMain({ usage: part.USAGE, readOptions, run: part.run });
