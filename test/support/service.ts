import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { GAS_WAIVER } from "./childProgram.js";
import { freshFolder } from "./freshFolder.js";
import { Program } from "./program.js";
import { API_KEY, account, CHAIN_ID, TOKEN } from "./user.js";

/** Options of `gas-waiver serve` for a service on the devnet. */
export interface ServiceOptions {
  readonly rpcUrl: string;
  /** The folder of its embedded database, unless `databaseUrl` names another database. */
  readonly dataDir?: string;
  readonly databaseUrl?: string;
  /** The API keys of its configuration; {@link API_KEY} by default. */
  readonly apiKeys?: string;
  /** The token of its admin API. */
  readonly adminToken?: string;
  /** Any free port by default. */
  readonly port?: string;
  readonly flags?: readonly string[];
  /** A file of waiver keys. Without it the service has the key of the first waiver. */
  readonly keyFile?: string;
  /** The script of another version of the program. */
  readonly script?: string;
}

/** Writes a policy file with the targets of the devnet's waivers: the test token's transfer, transferFrom and approve. */
function policyFile(): string {
  const file = join(freshFolder(), "policy.json");
  const selectors = ["0xa9059cbb", "0x23b872dd", "0x095ea7b3"];
  writeFileSync(file, JSON.stringify([{ address: TOKEN, selectors }]));
  return file;
}

/** Starts the service in a process of its own. */
export function startService(options: ServiceOptions): Program {
  const { rpcUrl, dataDir, databaseUrl, port = "0", flags = [], keyFile } = options;
  const { apiKeys = API_KEY, adminToken = "", script = GAS_WAIVER } = options;
  const keys = keyFile === undefined ? { GAS_WAIVER_KEYS: account(10).privateKey } : undefined;
  return new Program(
    [
      ...[script, "serve", "--port", port, "--rpc-url", rpcUrl, "--chain-id", String(CHAIN_ID)],
      ...["--allowed-targets", policyFile(), "--log-level", "warn", ...flags],
      ...(dataDir === undefined ? [] : ["--data-dir", dataDir]),
      ...(keyFile === undefined ? [] : ["--waiver-key-file", keyFile]),
    ],
    {
      ...keys,
      GAS_WAIVER_API_KEYS: apiKeys,
      GAS_WAIVER_ADMIN_TOKEN: adminToken,
      DATABASE_URL: databaseUrl ?? "",
    },
  );
}
