// The programs of the documents as their readers run them, against one local chain and one service.
import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freshFolder } from "../support/freshFolder.js";
import { Program, root } from "../support/program.js";
import { account } from "../support/user.js";
import { allBlocks, type DocumentedProgram, programsOf } from "./codeBlocks.js";

const run = promisify(execFile);
/** A bound for a program that hangs: a page with seven commands takes a minute on a machine with much to do. */
const LONGEST_MS = 300_000;
/** The service's waiver. Account 11 is left to the programs that wrap transactions themselves. */
const WAIVER = account(10);
const ADMIN_TOKEN = "an-operators-token-of-the-documents";

const programs = programsOf(allBlocks());
const files = [...new Set(programs.map(({ file }) => file))];

/** Where the reader is: a folder with the packages, and the service's data where the commands look for it. */
const folder = freshFolder();
/** Values in the documents, and their replacements in this test. */
const replacements = new Map<string, string>();
/** Stands in for the key of `gas-waiver dev`, which no other service accepts. */
const API_KEY = "gw_docs_b81e05d7c29f4a63e0c5d81f7a2b9634";
let chain: Program;
let service: Program;

beforeAll(async () => {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  chain = Program.gasWaiver(["devnet", "--port", "0", "--block-time", "100"]);
  const { url: rpcUrl } = await chain.ready();
  service = await startService(rpcUrl);
  const { url } = await service.ready();
  const [, metricsUrl = ""] = await service.line(/^metrics at (\S+)\/metrics/);
  const [, adminUrl = ""] = await service.line(/^admin API at (\S+)\/admin\//);
  replacements.set("http://127.0.0.1:8080", url);
  replacements.set("gw_dev_local", API_KEY);
  replacements.set("http://127.0.0.1:8545", rpcUrl);
  replacements.set("http://127.0.0.1:9090", metricsUrl);
  replacements.set("http://127.0.0.1:8081", adminUrl);
  // At the rate of a key, all recipients would take most of a minute.
  replacements.set("RECIPIENTS = 5_000", "RECIPIENTS = 150");
  const { stdout } = await shell("gas-waiver keys create --label 'of the documents' --json");
  replacements.set("0123456789abcdef", JSON.parse(stdout).record.id);
  const scope = "--origins wallets --allowed-targets 0x78Cf24370174180738C5B8E352B6D14c83a6c9A9";
  const page = await shell(`gas-waiver keys create --label page --publishable ${scope} --json`);
  replacements.set("gwp_dev_local", JSON.parse(page.stdout).key);
});
afterAll(async () => {
  await service?.end();
  await chain?.end();
});

async function startService(rpcUrl: string): Promise<Program> {
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  return Program.gasWaiver(
    [
      ...["serve", "--rpc-url", rpcUrl, "--chain-id", "2201", "--port", "0", "--log-level", "silent"],
      ...["--waiver-key-file", write("waiver.key", WAIVER.privateKey)],
      ...["--api-keys-file", write("keys", API_KEY)],
      ...["--data-dir", join(folder, ".gas-waiver"), "--metrics-port", "0", "--admin-port", "0"],
    ],
    { GAS_WAIVER_ADMIN_TOKEN: ADMIN_TOKEN },
  );
}

const options = () => ({
  cwd: folder,
  timeout: LONGEST_MS,
  env: {
    PATH: `${join(root, "node_modules", ".bin")}:${process.env.PATH ?? ""}`,
    GAS_WAIVER_ADMIN_TOKEN: ADMIN_TOKEN,
  },
});

const shell = (text: string) => run("sh", ["-e", "-c", text], options());

/** Runs the program, and fails if it does. */
async function runHere({ language, text }: DocumentedProgram): Promise<string> {
  const adapted = [...replacements].reduce((before, [from, to]) => before.replaceAll(from, to), text);
  if (language === "sh") {
    const { stdout } = await shell(adapted.replaceAll(/^curl /gm, "curl --fail --silent --show-error "));
    return stdout;
  }
  const path = join(folder, "program.mjs");
  writeFileSync(path, adapted);
  return (await run(process.execPath, [path], options())).stdout;
}

/** Waits until the service is ready: the programs of a page may have drained the lane and opened it again. */
async function untilReady(): Promise<void> {
  const url = `${replacements.get("http://127.0.0.1:8080")}/v1/ready`;
  const headers = { authorization: `Bearer ${API_KEY}` };
  await vi.waitFor(async () => expect((await fetch(url, { headers })).status).toBe(200), { timeout: 20_000 });
}

describe("the programs of the documents", () => {
  it.each(files)(
    "%s: each runs, with the addresses of this test",
    async (file) => {
      await untilReady();
      for (const program of programs.filter((one) => one.file === file)) {
        const output = await runHere(program).catch((error: Error) => {
          throw new Error(`${file}:${program.line} failed: ${error.message}`, { cause: error });
        });
        expect(output, `${file}:${program.line}`).not.toBe("");
        // The guide to checks shows refusals; everywhere else what is sent succeeds.
        const failure = file.endsWith("/check.md") ? /"error":/ : /TIMEOUT|"error":|success"?: ?false/;
        expect(output, `${file}:${program.line}`).not.toMatch(failure);
      }
    },
    3 * LONGEST_MS,
  );

  it("type-check", async () => {
    const sources = join(folder, "types");
    mkdirSync(sources);
    for (const [i, { language, file, line, text }] of programs.entries()) {
      if (language !== "js") continue;
      writeFileSync(join(sources, `program${i}.mjs`), `// ${file}:${line}\n${text}`);
    }
    writeFileSync(
      join(sources, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          ...{ module: "nodenext", target: "es2022", lib: ["ES2023", "DOM", "DOM.AsyncIterable"] },
          ...{ strict: true, allowJs: true, checkJs: true, noEmit: true, skipLibCheck: true },
          ...{ types: ["node"], typeRoots: [join(root, "node_modules", "@types")] },
        },
        include: ["*.mjs"],
      }),
    );
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = await run(process.execPath, [tsc, "-p", sources], options()).catch((error) => error);
    expect(stdout).toBe("");
  });
});
