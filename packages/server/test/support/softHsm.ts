import { execFileSync } from "node:child_process";
import { createPrivateKey } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crypto } from "@gas-waiver/protocol";

const LIBRARIES = [
  "/usr/lib/softhsm/libsofthsm2.so",
  "/usr/lib64/softhsm/libsofthsm2.so",
  "/usr/local/lib/softhsm/libsofthsm2.so",
  "/opt/homebrew/lib/softhsm/libsofthsm2.so",
];

/** The library of SoftHSM, where it is installed. */
export const SOFT_HSM: string | undefined = LIBRARIES.find(existsSync);

export const TOKEN = "relay";
export const PIN = "12345678";

/** A token of SoftHSM in a folder of its own. */
export class SoftHsmToken {
  readonly folder: string;
  /** The file that the variable SOFTHSM2_CONF must name. */
  readonly configuration: string;
  #ids = 0;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "gas-waiver-test-"));
    this.configuration = join(this.folder, "softhsm2.conf");
    mkdirSync(join(this.folder, "tokens"));
    writeFileSync(
      this.configuration,
      `directories.tokendir = ${join(this.folder, "tokens")}\nlog.level = ERROR\n`,
    );
    this.#run("--init-token", "--free", "--label", TOKEN, "--pin", PIN, "--so-pin", PIN);
  }

  /** Puts a key pair into the token. */
  import(label: string, privateKeyPem: string): void {
    const file = join(this.folder, "key.pem");
    writeFileSync(file, privateKeyPem, { mode: 0o600 });
    const id = String(++this.#ids).padStart(2, "0");
    this.#run("--import", file, "--token", TOKEN, "--label", label, "--id", id, "--pin", PIN);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #run(...flags: string[]): void {
    const env = { ...process.env, SOFTHSM2_CONF: this.configuration };
    execFileSync("softhsm2-util", flags, { env, stdio: "pipe" });
  }
}

/** A private key of secp256k1 as PKCS#8 in PEM. */
export function pemOf(privateKey: Uint8Array): string {
  const base64url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
  const point = crypto.publicKey(privateKey);
  const parts = {
    x: base64url(point.subarray(0, 32)),
    y: base64url(point.subarray(32)),
    d: base64url(privateKey),
  };
  const key = createPrivateKey({ key: { kty: "EC", crv: "secp256k1", ...parts }, format: "jwk" });
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}
