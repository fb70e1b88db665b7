import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";

/**
 * Runs a `gas-waiver` into an error that it does not expect, by a node that answers nonsense.
 * @param bin the program's file.
 * @returns the files that the stack trace names.
 */
export async function filesOfStackTrace(bin: string): Promise<string[]> {
  const node = createServer((request, response) => {
    let body = "";
    request.on("data", (text) => {
      body += text;
    });
    request.on("end", () => {
      const result = body.includes("eth_call") ? "nonsense" : "0x0";
      response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
    });
  });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
  try {
    const args = [bin, "accounts", "--rpc-url", url];
    const { stderr } = await promisify(execFile)(process.execPath, args).catch((error) => error);
    return [...stderr.matchAll(/^ +at .*?\(?(?:file:\/\/)?(\/[^()]*\.[cm]?[jt]s):\d+:\d+\)?$/gm)].map(
      ([, file = ""]) => file,
    );
  } finally {
    node.close();
    node.closeAllConnections();
  }
}
