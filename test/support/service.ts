import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { GAS_WAIVER } from "./childProgram.js";
import { CommandLine } from "./commandLine.js";
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
  /** The least level that a process of its own logs; `warn` by default. */
  readonly logLevel?: string;
  /** A file of waiver keys. Without it the service has the key of the first waiver. */
  readonly keyFile?: string;
}

/** Writes a policy file with the targets of the devnet's waivers: the test token's transfer, transferFrom and approve. */
function policyFile(): string {
  const file = join(freshFolder(), "policy.json");
  const selectors = ["0xa9059cbb", "0x23b872dd", "0x095ea7b3"];
  writeFileSync(file, JSON.stringify([{ address: TOKEN, selectors }]));
  return file;
}

/** Starts the service in the process of the test, without a log. */
export function startService(options: ServiceOptions): CommandLine {
  return new CommandLine(serveArguments(options, "silent"), { env: environmentOf(options) });
}

/**
 * Starts the service in a process of its own, for a test that kills it or runs another version.
 * @param script of the version; the one of this repository by default.
 */
export function startServiceProcess(options: ServiceOptions, script = GAS_WAIVER): Program {
  return new Program(
    [script, ...serveArguments(options, options.logLevel ?? "warn")],
    environmentOf(options),
  );
}

function serveArguments(options: ServiceOptions, logLevel: string): string[] {
  const { rpcUrl, dataDir, port = "0", flags = [], keyFile } = options;
  return [
    ...["serve", "--port", port, "--rpc-url", rpcUrl, "--chain-id", String(CHAIN_ID)],
    ...["--allowed-targets", policyFile(), "--log-level", logLevel, ...flags],
    ...(dataDir === undefined ? [] : ["--data-dir", dataDir]),
    ...(keyFile === undefined ? [] : ["--waiver-key-file", keyFile]),
  ];
}

function environmentOf({ keyFile, apiKeys = API_KEY, adminToken = "", databaseUrl = "" }: ServiceOptions) {
  return {
    ...(keyFile === undefined && { GAS_WAIVER_KEYS: account(10).privateKey }),
    GAS_WAIVER_API_KEYS: apiKeys,
    GAS_WAIVER_ADMIN_TOKEN: adminToken,
    DATABASE_URL: databaseUrl,
  };
}
