import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { installProject } from "../../scripts/install.mjs";
import { childNode } from "./programs.mjs";

const PACKAGE = "@foundry-rs/anvil-linux-amd64";
const MNEMONIC = "test test test test test test test test test test test junk";
/** The devnet's accounts that pay for gas are among the first 24 of the mnemonic. */
const ACCOUNTS = 24;

/** The binary from npm, or the one on the PATH where npm has none for this machine. */
async function anvilProgram() {
  const installed = await installProject("integrations/foundry");
  try {
    return join(dirname(installed.resolve(`${PACKAGE}/package.json`)), "bin", "anvil");
  } catch {
    return "anvil";
  }
}

/**
 * Starts anvil on a free port, with the devnet's chain id, accounts and block gas limit. It makes blocks only on
 * request.
 */
export async function startAnvil() {
  const args = ["--port", "0", "--chain-id", "2201", "--mnemonic", MNEMONIC, "--accounts", String(ACCOUNTS)];
  // "fifo" orders transactions by arrival, as the devnet does. The default orders them by price.
  args.push("--no-mining", "--order", "fifo", "--hardfork", "prague");
  args.push("--gas-limit", "1000000000", "--block-base-fee-per-gas", "0");
  const child = spawn(await anvilProgram(), args, { stdio: ["ignore", "pipe", "inherit"] });
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
  // A full pipe would stop anvil, so discard the rest of its output.
  child.stdout.removeAllListeners("data").resume();
  return childNode(child, url);
}
