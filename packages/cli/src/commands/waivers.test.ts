import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encryptKeystore } from "@gas-waiver/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../run.js";
import { keyFile } from "../settings/parsers.js";
import { type CustodyValues, splitCustody } from "../waivers/custodies.js";
import { openWaivers } from "../waivers/openWaivers.js";

const KEY = `0x${"77".repeat(32)}`;
const PASSPHRASE = "correct horse battery staple";
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs `gas-waiver …` to its end. The terminal gives these answers. */
async function gasWaiver(argv: readonly string[], answers?: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const rest = [...(answers ?? [])];
  const status = await run(argv, {
    env: {},
    signal: new AbortController().signal,
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
    write: async () => {},
    ...(answers && { promptSecret: async () => rest.shift() ?? "" }),
  });
  return { status, out: out.join("\n"), err: err.join("\n") };
}

function secretFile(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

describe("gas-waiver waivers", () => {
  it("imports a key under a passphrase of the terminal, lists it, and exports it with the passphrase of a file", async () => {
    const keystores = join(folder, "keystore");
    const keyFile = secretFile("key", KEY);
    const imported = await gasWaiver(
      ["waivers", "import", "--key-file", keyFile, "--folder", keystores, "--json"],
      [PASSPHRASE, PASSPHRASE],
    );
    expect(imported).toMatchObject({ status: 0, err: "" });
    const { address, file } = JSON.parse(imported.out);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    writeFileSync(join(keystores, "notes.txt"), "no keystore");
    const again = ["waivers", "import", "--key-file", keyFile, "--folder", keystores];
    expect(await gasWaiver(again, [PASSPHRASE, PASSPHRASE])).toMatchObject({
      status: 1,
      err: `gas-waiver: ${file} has the key of ${address} already`,
    });
    rmSync(join(keystores, "notes.txt"));
    expect(readFileSync(file, "utf8")).not.toContain("77".repeat(32));
    const listed = await gasWaiver(["waivers", "list", "--folder", keystores]);
    expect(listed.out).toBe(`${address} in ${file}`);
    const out = join(folder, "exported");
    const passphrase = secretFile("passphrase", `${PASSPHRASE}\n`);
    const argv = ["waivers", "export", "--keystore", file, "--out", out, "--passphrase-file", passphrase];
    expect(await gasWaiver(argv)).toMatchObject({ status: 0, err: "" });
    expect(readFileSync(out, "utf8")).toBe(`${KEY}\n`);
    expect(await gasWaiver(argv)).toMatchObject({ status: 1, err: `gas-waiver: ${out} is there already` });
  });

  it.runIf(process.platform === "linux")(
    "leaves no file where the disk takes none, by which the service could not start any more",
    () => {
      const keystores = join(folder, "full");
      const program = fileURLToPath(new URL("../../bin/gas-waiver.mjs", import.meta.url));
      const passphrase = secretFile("passphrase of full", `${PASSPHRASE}\n`);
      const argv = ["waivers", "create", "--folder", keystores, "--passphrase-file", passphrase];
      const limited = ["-c", 'ulimit -f 0; exec "$@"', "sh", process.execPath, program, ...argv];
      const { status, stderr } = spawnSync("sh", limited, { encoding: "utf8" });
      expect([status, stderr]).toEqual([1, expect.stringContaining("cannot be written: EFBIG")]);
      expect(readdirSync(keystores)).toEqual([]);
    },
  );

  it("refuses passphrases that are short, differ, or are missing, before it makes a key", async () => {
    const create = ["waivers", "create", "--folder", join(folder, "none")];
    expect((await gasWaiver(create, ["short", "short"])).err).toContain("shorter than 8 characters");
    expect((await gasWaiver(create, [PASSPHRASE, "another passphrase"])).err).toContain("differ");
    expect((await gasWaiver(create, ["motto ﬁne", "motto ﬁne"])).err).toContain("in different ways");
    expect(await gasWaiver(create)).toMatchObject({ status: 2 });
    expect(() => statSync(join(folder, "none"))).toThrow();
  });
});

describe("gas-waiver serve", () => {
  const SERVE = ["serve", "--port", "0", "--rpc-url", "http://127.0.0.1:1", "--chain-id", "2201"];
  const refused = async (...flags: string[]) => (await gasWaiver([...SERVE, ...flags])).err;

  it("refuses a damaged keystore and a wrong passphrase before it starts anything", async () => {
    const cheap = { n: 1_024 };
    const keystore = await encryptKeystore(new Uint8Array(32).fill(0x77), PASSPHRASE, cheap);
    const file = secretFile("cheap.json", JSON.stringify(keystore));
    const damaged = secretFile("damaged.json", JSON.stringify(keystore).slice(0, 100));
    const wrong = secretFile("wrong", "not the passphrase");
    expect(await refused("--waiver-keystore", damaged)).toContain("is not a keystore: it is not JSON");
    expect(await refused("--waiver-keystore", file, "--passphrase-file", wrong)).toContain(
      `--waiver-keystore "${file}" cannot be opened: the passphrase is wrong, or the file is damaged`,
    );
    expect(await refused("--waiver-keystore", file)).toContain("the passphrase is missing");
  });

  it("says what is wrong with a key in one sentence, and starts nothing", async () => {
    const keystore = await encryptKeystore(new Uint8Array(32).fill(0x77), PASSPHRASE, { n: 1_024 });
    const file = secretFile("good.json", JSON.stringify(keystore));
    const otherAddress = JSON.stringify({ ...keystore, address: "11".repeat(20) });
    const foreign = secretFile("foreign.json", otherAddress);
    const right = secretFile("right", PASSPHRASE);
    const wrong = secretFile("wrong passphrase", "not the passphrase");
    const [cut, open] = [secretFile("cut.json", "{"), secretFile("open key", KEY)];
    chmodSync(open, 0o644);
    for (const [flags, problem] of [
      [["--waiver-keystore", file, "--passphrase-file", wrong], /"\S+good\.json" cannot be opened: the pass/],
      [
        ["--waiver-keystore", foreign, "--passphrase-file", right],
        /"\S+foreign\.json" holds the key of 0x\w+, and says/,
      ],
      [["--waiver-keystore", cut, "--passphrase-file", right], /"\S+cut\.json" is not a keystore: it is not/],
      [["--waiver-key-file", open], /"\S+open key" can be read or written by other users \(mode 0644\)/],
      [["--waiver-key-file", secretFile("no key", "0x12")], /"\S+no key" holds no usable private key at/],
    ] as const) {
      const { status, out, err } = await gasWaiver([...SERVE, ...flags]);
      const lines = err.split("\n");
      expect({ status, out, lines: lines.length }, err).toEqual({ status: 2, out: "", lines: 3 });
      expect(lines[1]).toMatch(problem);
      expect(err).not.toContain("77".repeat(32));
    }
  });

  it("warns at each start on mainnet, and nowhere else, of keys that lie unencrypted in a file", async () => {
    const { custody } = splitCustody({} as CustodyValues);
    const waiverKeyFile = keyFile(secretFile("raw key", KEY));
    const warningsOn = async (chainId: number) => {
      const printed: string[] = [];
      const waivers = await openWaivers(
        { ...custody, waiverKeyFile, chainId },
        { print: (line) => printed.push(line) },
      );
      expect(waivers).toHaveLength(1);
      return printed;
    };
    expect(await warningsOn(988)).toEqual([
      expect.stringMatching(
        /^warning: the waivers' private keys lie unencrypted in \S+raw key; on mainnet, /,
      ),
    ]);
    expect(await warningsOn(2201)).toEqual([]);
  });

  it("refuses settings of custodies that do not fit together", async () => {
    expect(await refused("--web3signer-url", "https://signer.example")).toContain(
      "without --web3signer-waivers",
    );
    expect(await refused("--passphrase-fd", "3")).toContain("without --waiver-keystore");
    const passphraseFile = secretFile("both", PASSPHRASE);
    expect(await refused("--passphrase-file", passphraseFile, "--passphrase-fd", "3")).toContain(
      "--passphrase-file and --passphrase-fd are both given",
    );
    expect(await refused("--pkcs11-library", "library.so", "--pkcs11-token", "relay")).toContain(
      "--pkcs11-library, --pkcs11-token, --pkcs11-pin-file, --pkcs11-keys belong together",
    );
    expect(await refused("--waiver-kms", "my-key")).toContain("names no key: an ARN");
    expect(await refused("--waiver-kms", "alias/waiver=0x12")).toContain("is not an address");
    expect(
      await refused("--waiver-kms", "alias/waiver", "--web3signer-url", "https://signer.example"),
    ).toContain("--waiver-kms and --web3signer-url");
    const address = `0x${"11".repeat(20)}`;
    const signer = ["--web3signer-url", "https://127.0.0.1:1", "--web3signer-waivers", address];
    expect(await refused(...signer)).toMatch(/the Web3Signer at \S+ cannot be used: .*ECONNREFUSED/);
  });
});
