import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checksumAddress, hexToBytes, privateKeyToAddress } from "@gas-waiver/protocol";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { installCustodyPeers } from "../../../server/test/support/custodyPeers.js";
import { AWS_KEYS, startAwsKms } from "../../../server/test/support/kms/awsKmsServer.js";
import { SECOND_WAIVER, WAIVER } from "../../../server/test/support/user.js";
import { run } from "../run.js";

await installCustodyPeers();

let folder: string;
let kms: Awaited<ReturnType<typeof startAwsKms>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
  kms = await startAwsKms();
  const { AWS_ENDPOINT_URL_KMS } = kms.workload;
  const variables = { AWS_ENDPOINT_URL_KMS, ...kms.user, HOME: folder, AWS_EC2_METADATA_DISABLED: "true" };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await kms.close();
  rmSync(folder, { recursive: true });
});

/** Runs `gas-waiver …` to its end, without a terminal. */
async function gasWaiver(...argv: readonly string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const status = await run(argv, {
    env: { DATABASE_URL },
    signal: new AbortController().signal,
    print: (line) => out.push(line),
    printError: (line) => err.push(line),
    write: async () => {},
  });
  return { status, out: out.join("\n"), err: err.join("\n") };
}

/** After the custody has been opened, the service finds no database, where nothing listens. */
const DATABASE_URL = "postgres://nobody@127.0.0.1:1/none";
const SERVE = ["serve", "--port", "0", "--rpc-url", "http://127.0.0.1:1", "--chain-id", "2201"];
const NO_DATABASE = /database .*ECONNREFUSED/;

describe("a keystore that a key management service seals", () => {
  it("is made, listed, exported and served without a passphrase", async () => {
    const keystores = join(folder, "keystore");
    const made = await gasWaiver(
      "waivers",
      "create",
      "--folder",
      keystores,
      "--seal",
      AWS_KEYS.sealing,
      "--json",
    );
    expect(made).toMatchObject({ status: 0, err: "" });
    const { address, file } = JSON.parse(made.out) as { address: string; file: string };
    const listed = await gasWaiver("waivers", "list", "--folder", keystores);
    expect(listed.out).toBe(`${address} in ${file}, sealed by ${AWS_KEYS.sealing}`);
    const out = join(folder, "exported");
    expect(await gasWaiver("waivers", "export", "--keystore", file, "--out", out)).toMatchObject({
      status: 0,
    });
    const key = hexToBytes(readFileSync(out, "utf8").trim());
    expect(checksumAddress(privateKeyToAddress(key))).toBe(address);
    const served = await gasWaiver(...SERVE, "--waiver-keystore", keystores);
    expect(served.err).toMatch(NO_DATABASE);
  });

  it("is not made where the key does not encrypt, or a passphrase is given too", async () => {
    const create = ["waivers", "create", "--folder", join(folder, "none"), "--seal"];
    expect(await gasWaiver(...create, AWS_KEYS.signing)).toMatchObject({
      status: 1,
      err: expect.stringContaining(
        `the key ${AWS_KEYS.signing} of AWS KMS cannot be used: its usage is another one`,
      ),
    });
    expect(await gasWaiver(...create, AWS_KEYS.sealing, "--passphrase-fd", "0")).toMatchObject({ status: 2 });
  });
});

describe("gas-waiver serve --waiver-kms", () => {
  it("opens the keys at the start, and refuses one of another address", async () => {
    const serve = (key: string) => gasWaiver(...SERVE, "--waiver-kms", key);
    expect((await serve(`${AWS_KEYS.signing}=${WAIVER}`)).err).toMatch(NO_DATABASE);
    expect(await serve(`${AWS_KEYS.signing}=${SECOND_WAIVER}`)).toMatchObject({
      status: 1,
      err: expect.stringContaining(`it is the key of ${WAIVER}, not of the waiver ${SECOND_WAIVER}`),
    });
    expect((await serve(AWS_KEYS.disabled)).err).toContain("it is disabled");
  });
});
