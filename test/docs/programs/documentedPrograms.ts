// The programs of the documents as their readers run them: each folder of pages against a chain and a service of its own.
import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { useTestPostgres } from "../../../packages/server/test/support/testStore.js";
import { type CommandLine, gasWaiver } from "../../support/commandLine.js";
import { type CommandLineScript, commandLineScript } from "../../support/commandLineScript.js";
import { freshFolder } from "../../support/freshFolder.js";
import { root } from "../../support/program.js";
import { account } from "../../support/user.js";
import { allBlocks, type DocumentedProgram, programsOf } from "../codeBlocks.js";

const run = promisify(execFile);
/** A bound for a program that hangs: a page with seven commands takes a minute on a machine with much to do. */
const LONGEST_MS = 300_000;
/** The service's waiver. Account 11 is left to the programs that wrap transactions themselves. */
const WAIVER = account(10);
const ADMIN_TOKEN = "an-operators-token-of-the-documents";
/** Stands in for the key of `gas-waiver dev`, which no other service accepts. */
const API_KEY = "gw_docs_b81e05d7c29f4a63e0c5d81f7a2b9634";

/** The environment of a reader: a folder with the packages, and the addresses in place of those in the documents. */
class Reader {
  readonly folder = freshFolder();
  /** Values in the documents, and their replacements in this test. */
  readonly replacements = new Map<string, string>();
  readonly #databaseUrl: string;
  readonly #programs: string;

  /** @param programs a folder with `gas-waiver`. */
  constructor(databaseUrl: string, programs: string) {
    this.#databaseUrl = databaseUrl;
    this.#programs = programs;
    symlinkSync(join(root, "node_modules"), join(this.folder, "node_modules"));
    // At the rate of a key, all recipients would take most of a minute.
    this.replacements.set("RECIPIENTS = 5_000", "RECIPIENTS = 150");
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  shell(text: string) {
    return run("sh", ["-e", "-c", text], this.#options);
  }

  /** Runs the program, and fails if it does. @returns its standard output. */
  async run({ language, text }: DocumentedProgram): Promise<string> {
    const adapted = [...this.replacements].reduce((before, [from, to]) => before.replaceAll(from, to), text);
    if (language === "sh") {
      const { stdout } = await this.shell(
        adapted.replaceAll(/^curl /gm, "curl --fail --silent --show-error "),
      );
      return stdout;
    }
    return (await run(process.execPath, [this.write("program.mjs", adapted)], this.#options)).stdout;
  }

  get #options() {
    return {
      cwd: this.folder,
      timeout: LONGEST_MS,
      env: {
        PATH: `${this.#programs}:${process.env.PATH ?? ""}`,
        DATABASE_URL: this.#databaseUrl,
        GAS_WAIVER_ADMIN_TOKEN: ADMIN_TOKEN,
      },
    };
  }
}

/** Starts the service that the programs use, and puts its addresses and keys in place of those in the documents. */
async function startService(reader: Reader, rpcUrl: string, databaseUrl: string): Promise<CommandLine> {
  const { replacements } = reader;
  const service = gasWaiver(
    [
      ...["serve", "--rpc-url", rpcUrl, "--chain-id", "2201", "--port", "0", "--log-level", "silent"],
      ...["--waiver-key-file", reader.write("waiver.key", WAIVER.privateKey)],
      ...["--api-keys-file", reader.write("keys", API_KEY)],
      ...["--metrics-port", "0", "--admin-port", "0"],
    ],
    { GAS_WAIVER_ADMIN_TOKEN: ADMIN_TOKEN, DATABASE_URL: databaseUrl },
  );
  const { url } = await service.ready();
  const [, metricsUrl = ""] = await service.line(/^metrics at (\S+)\/metrics/);
  const [, adminUrl = ""] = await service.line(/^admin API at (\S+)\/admin\//);
  replacements.set("http://127.0.0.1:8080", url);
  replacements.set("gw_dev_local", API_KEY);
  replacements.set("http://127.0.0.1:8545", rpcUrl);
  replacements.set("http://127.0.0.1:9090", metricsUrl);
  replacements.set("http://127.0.0.1:8081", adminUrl);
  const { stdout } = await reader.shell("gas-waiver keys create --label 'of the documents' --json");
  replacements.set("0123456789abcdef", JSON.parse(stdout).record.id);
  const scope = "--origins wallets --allowed-targets 0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";
  const page = await reader.shell(`gas-waiver keys create --label page --publishable ${scope} --json`);
  replacements.set("gwp_dev_local", JSON.parse(page.stdout).key);
  return service;
}

/** Tests the programs of the documents whose path from the root matches. */
export function describePrograms(pattern: RegExp): void {
  const programs = programsOf(allBlocks()).filter(({ file }) => pattern.test(file));
  const files = [...new Set(programs.map(({ file }) => file))];
  const databases = useTestPostgres();
  let chain: Devnet;
  let service: CommandLine;
  let reader: Reader;
  let commands: CommandLineScript;
  beforeAll(async () => {
    commands = await commandLineScript();
    const databaseUrl = await databases.createDatabase();
    chain = await createDevnet({ blockTimeMs: 100 });
    const { url } = await chain.listen({ port: 0 });
    reader = new Reader(databaseUrl, commands.folder);
    service = await startService(reader, url, databaseUrl);
  });
  afterAll(async () => {
    await service?.end();
    await chain?.close();
    commands?.close();
  });

  /** Waits until the service is ready: the programs of a page may have drained the lane and opened it again. */
  async function untilReady(): Promise<void> {
    const url = `${reader.replacements.get("http://127.0.0.1:8080")}/v1/ready`;
    const headers = { authorization: `Bearer ${API_KEY}` };
    await vi.waitFor(async () => expect((await fetch(url, { headers })).status).toBe(200), {
      timeout: LONGEST_MS,
    });
  }

  describe("the programs of the documents", () => {
    it.each(files)(
      "%s: each runs, with the addresses of this test",
      async (file) => {
        await untilReady();
        for (const program of programs.filter((one) => one.file === file)) {
          const output = await reader.run(program).catch((error: Error) => {
            throw new Error(`${file}:${program.line} failed: ${error.message}`, { cause: error });
          });
          expect(output, `${file}:${program.line}`).not.toBe("");
          // The guide to checks shows refusals; everywhere else what is sent succeeds.
          const failure = file.endsWith("/check.md") ? /"error":/ : /TIMEOUT|"error":|success"?: ?false/;
          // Metrics name each code, also while it has not come.
          const told = output.replaceAll(/^gas_waiver_.*$/gm, "");
          expect(told, `${file}:${program.line}`).not.toMatch(failure);
        }
      },
      3 * LONGEST_MS,
    );
  });
}
