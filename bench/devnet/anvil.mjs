import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const PACKAGE = "@foundry-rs/anvil-linux-amd64";
const MNEMONIC = "test test test test test test test test test test test junk";
/** The devnet's paying accounts are among the first of the same mnemonic. */
const ACCOUNTS = 24;

/** The program that npm brought along; where it has none for the machine, the one on the path. */
function anvilProgram() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${PACKAGE}/package.json`)), "bin", "anvil");
  } catch {
    return "anvil";
  }
}

/**
 * Starts anvil on a free port, on the devnet's chain id and with its accounts funded. It makes blocks when told
 * to, as large as the devnet's.
 */
export async function startAnvil() {
  const args = ["--port", "0", "--chain-id", "2201", "--mnemonic", MNEMONIC, "--accounts", String(ACCOUNTS)];
  // In the order in which they came, as the devnet does; by price is the default.
  args.push("--no-mining", "--order", "fifo", "--hardfork", "prague");
  args.push("--gas-limit", "1000000000", "--block-base-fee-per-gas", "0");
  const child = spawn(anvilProgram(), args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const url = await new Promise((resolve, reject) => {
    let text = "";
    child.stdout.setEncoding("utf8").on("data", (part) => {
      text += part;
      const address = text.match(/Listening on (\S+)/)?.[1];
      if (address !== undefined) resolve(`http://${address}`);
    });
    child.once("error", (cause) => reject(new Error(`anvil cannot be run: ${cause.message}`)));
    child.once("close", (status) => reject(new Error(`anvil ended with status ${status}:\n${text}`)));
  });
  // Nobody reads on, and a full pipe would stop it.
  child.stdout.removeAllListeners("data").resume();
  return {
    url,
    pid: child.pid,
    async close() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
