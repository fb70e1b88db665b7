import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { gasWaiver } from "./commandLine.js";
import { freshFolder } from "./freshFolder.js";

/** Hands its environment and arguments over in a folder, and finds what was printed there. */
const SCRIPT = `#!/bin/sh
folder=$(mktemp -d) && { env -0; printf '\\0'; printf '%s\\0' "$@"; } >"$folder/in"
status=$(curl --silent --show-error --unix-socket "$(dirname "$0")/socket" "http://tests$folder")
cat "$folder/out"; cat "$folder/err" >&2
rm -r "$folder"
exit $status
`;

/** A `gas-waiver` that shells find in a folder, and that runs in the process of the test. */
export interface CommandLineScript {
  /** The folder, for the PATH of a shell. */
  readonly folder: string;
  close(): void;
}

/**
 * Makes a `gas-waiver` for shells: a command costs a tenth of what it does in a process of its own. It reads no standard input, and
 * takes paths from the root of the repository.
 */
export async function commandLineScript(): Promise<CommandLineScript> {
  const folder = freshFolder();
  writeFileSync(join(folder, "gas-waiver"), SCRIPT, { mode: 0o700 });
  const server = createServer(async ({ url = "" }, response) => {
    const input = readFileSync(join(url, "in"), "utf8");
    const end = input.indexOf("\0\0");
    const env = input.slice(0, end).split("\0");
    const args = input.slice(end + 2).split("\0");
    const variables = env.map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]);
    const { status, out, err } = await gasWaiver(args.slice(0, -1), Object.fromEntries(variables)).result();
    writeFileSync(join(url, "out"), out);
    writeFileSync(join(url, "err"), err);
    response.end(String(status));
  });
  await new Promise<void>((resolve) => server.listen(join(folder, "socket"), resolve));
  return {
    folder,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
