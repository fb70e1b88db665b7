import { bytesEqual, bytesToHex, publicKeyToAddress, type WaiverAccount } from "@gas-waiver/protocol";
import { StartError } from "../../model/errors.js";
import { CustodyThrottledError } from "../../signing/custodyCalls.js";
import { checkCustody } from "../checkCustody.js";
import { waiverSignature } from "../ecdsa.js";
import type { KmsKey, KmsOptions } from "./kmsKey.js";
import { type KmsKeyName, parseKmsKeyName } from "./kmsKeyName.js";

const DEFAULT_TIMEOUT_MS = 10_000;
/** The tries at the start of a call that the service takes no more of for now, and the pause after each, in ms. */
const START_TRIES = 5;
const START_PAUSE_MS = 500;

export interface KmsWaiverOptions extends KmsOptions {
  /** The waiver's address, 20 bytes, where it is known: a key with another one is refused. */
  readonly address?: Uint8Array;
}

/**
 * Opens a waiver whose key is in a cloud's key management service and never leaves it. The cloud's own package must be
 * installed; it finds the credentials by itself: the workload's identity, the environment, or its configuration files.
 * @param key the name of a key of secp256k1 that signs: an ARN, a key id or `alias/…` of AWS KMS, the name of a key's version
 * in Google Cloud KMS (`projects/…/cryptoKeyVersions/…`), or the URL of a key of Azure Key Vault.
 * @throws {@link StartError} if it cannot be used.
 * @example
 * ```ts
 * const waiver = await openKmsWaiver("arn:aws:kms:eu-central-1:111122223333:alias/gas-waiver");
 * ```
 */
export async function openKmsWaiver(
  key: string,
  { address: expected, ...options }: KmsWaiverOptions = {},
): Promise<WaiverAccount> {
  const name = readName(key);
  return await atStart(name, async () => {
    if (name.service === "Google Cloud KMS" && !name.hasVersion)
      throw new Error("it names no version: add /cryptoKeyVersions/NUMBER");
    const opened = await openKmsKey(name, options);
    const address = publicKeyToAddress(await retryThrottled(() => opened.readPublicKey()));
    if (expected !== undefined && !bytesEqual(address, expected))
      throw new Error(`it is the key of ${bytesToHex(address)}, not of the waiver ${bytesToHex(expected)}`);
    const sign = async (hash: Uint8Array) => waiverSignature(await opened.sign(hash), hash, address);
    const account = { address, sign };
    // Azure's SDK loses the body of a request when two first ones meet, so the first signature is made alone.
    await checkCustody(account, options.timeoutMs);
    return account;
  });
}

/** @throws {@link StartError} if the text names no key. */
export function readName(key: string): KmsKeyName {
  const name = parseKmsKeyName(key);
  if (name) return name;
  throw new StartError(`"${key}" is no name of a key of AWS KMS, Google Cloud KMS or Azure Key Vault`);
}

export async function openKmsKey(name: KmsKeyName, options: KmsOptions): Promise<KmsKey> {
  const complete = { timeoutMs: DEFAULT_TIMEOUT_MS, ...options };
  switch (name.service) {
    case "AWS KMS":
      return (await import("./awsKms.js")).openAwsKey(name, complete);
    case "Google Cloud KMS":
      return (await import("./googleKms.js")).openGoogleKey(name, complete);
    case "Azure Key Vault":
      return (await import("./azureKeyVault.js")).openAzureKey(name, complete);
  }
}

/** Names the key in the reason why it cannot be used. */
export async function atStart<T>(name: KmsKeyName, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    const reason = (error as Error).message;
    throw new StartError(`the key ${name.id} of ${name.service} cannot be used: ${reason}`, { cause: error });
  }
}

/** At the start nothing else waits, and many replicas may start at once. */
export async function retryThrottled<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof CustodyThrottledError) || tries === START_TRIES) throw error;
      const pauseMs = error.retryAfterMs ?? START_PAUSE_MS;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}
