import type { WaiverAccount } from "@gas-waiver/protocol";
import {
  checkCustody,
  openKmsWaiver,
  openPkcs11Waivers,
  openWeb3Signer,
  privateKeyWaiver,
  StartError,
} from "@gas-waiver/server";
import type { Context } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { UsageError } from "../settings/readSettings.js";
import type { KeystoreFile } from "../waivers/keystoreFiles.js";
import { openKeystore } from "../waivers/openKeystore.js";
import { readPassphrase } from "../waivers/passphrase.js";
import { usable } from "../waivers/usable.js";
import type { CustodyValues, KmsWaiver } from "./custodySettings.js";

const MAINNET = 988;

type OpenValues = CustodyValues & {
  readonly chainId: number;
  readonly custodyTimeoutMs?: number | undefined;
};
type OpenContext = Pick<Context, "print" | "promptSecret">;

/** The waivers that could be opened, and one reason for each other one. */
export interface WaiverOpening {
  readonly waivers: readonly WaiverAccount[];
  readonly failures: readonly Error[];
}

/**
 * Opens the custody that the settings name.
 * @throws {@link UsageError} for a keystore that cannot be opened, {@link CommandFailedError} for a custody that is of no use;
 * either names all that is wrong.
 */
export type OpenWaivers = (values: OpenValues, context: OpenContext) => Promise<readonly WaiverAccount[]>;

/** Opens the custody that the settings name, once. */
export const openWaivers: OpenWaivers = (values, context) => createOpener()(values, context);

/** Returns a function that opens the custody of a network, now and again later. It remembers a passphrase without a file. */
export function createOpener(): OpenWaivers {
  let known: string | undefined;
  const passphrase: ReadPassphrase = async (values, context) => {
    if (values.passphraseFile !== undefined) return values.passphraseFile;
    known ??= await readPassphrase(values, context);
    return known;
  };
  return async (values, context) => allOf(await tryToOpenWaivers(values, context, passphrase));
}

type ReadPassphrase = (values: OpenValues, context: OpenContext) => Promise<string>;

function allOf({ waivers, failures }: WaiverOpening): readonly WaiverAccount[] {
  const [first, ...others] = failures;
  if (first === undefined) return waivers;
  if (failures.every((failure) => failure instanceof UsageError))
    throw new UsageError(failures.flatMap(({ problems }) => problems));
  if (others.length === 0) throw first;
  const problems = failures.flatMap(problemsIn).map((problem) => `\n  - ${problem}`);
  throw new CommandFailedError(`the waivers' keys cannot be used:${problems.join("")}`);
}

/** Opens what can be opened of the custody that the settings name. */
export async function tryToOpenWaivers(
  values: OpenValues,
  context: OpenContext,
  passphrase: ReadPassphrase = readPassphrase,
): Promise<WaiverOpening> {
  const { waiverKeystore, waiverKms, web3signerUrl, pkcs11Library, waiverKeyFile, chainId } = values;
  if (waiverKeystore) return await openKeystores(waiverKeystore, () => passphrase(values, context));
  if (waiverKms) return await openKmsWaivers(waiverKms, values.custodyTimeoutMs);
  if (pkcs11Library !== undefined) return await openToken(values, pkcs11Library);
  if (web3signerUrl !== undefined) return await openRemote(values, web3signerUrl);
  if (chainId === MAINNET) {
    const place = waiverKeyFile?.path ?? "the environment";
    context.print(
      `warning: the waivers' private keys lie unencrypted in ${place}; on mainnet, keep them in a keystore (\`gas-waiver waivers import\`) or in another custody`,
    );
  }
  const waivers = (waiverKeyFile?.keys ?? values.waiverKeys ?? []).map(privateKeyWaiver);
  return { waivers, failures: [] };
}

/** Lists what an error says, one sentence each. */
export function problemsIn(error: Error): readonly string[] {
  const { cause } = error;
  if (error instanceof UsageError) return error.problems;
  return cause instanceof StartError ? cause.problems : [error.message];
}

async function openKeystores(
  files: readonly KeystoreFile[],
  readOnce: () => Promise<string>,
): Promise<WaiverOpening> {
  let read: Promise<string> | undefined;
  const passphrase = () => {
    read ??= readOnce();
    return read;
  };
  // One after the other: each takes 256 MiB for a moment.
  return await inTurns(files, async (file) => {
    const fail = (reason: string) => new UsageError([`--waiver-keystore "${file.path}" ${reason}`]);
    return privateKeyWaiver(await openKeystore(file, passphrase, fail));
  });
}

/** Opens one key after the other, also after one that cannot be used. */
async function inTurns<T>(keys: readonly T[], open: (key: T) => Promise<WaiverAccount>) {
  const waivers: WaiverAccount[] = [];
  const failures: Error[] = [];
  for (const key of keys) {
    try {
      waivers.push(await open(key));
    } catch (error) {
      // A passphrase that is missing is missing once.
      if (!failures.includes(asFailure(error))) failures.push(asFailure(error));
    }
  }
  return { waivers, failures };
}

/** Returns the error if it is about a key that cannot be used. @throws the others. */
function asFailure(error: unknown): Error {
  if (error instanceof UsageError || error instanceof CommandFailedError) return error;
  throw error;
}

/** The services answer many at once. */
async function openKmsWaivers(keys: readonly KmsWaiver[], timeoutMs?: number): Promise<WaiverOpening> {
  const opened = await Promise.all(
    keys.map(({ key, ...waiver }) =>
      inTurns([key], (name) =>
        usable(() => openKmsWaiver(name, { ...waiver, ...(timeoutMs && { timeoutMs }) })),
      ),
    ),
  );
  return together(opened);
}

type Part = Pick<WaiverOpening, "waivers" | "failures">;

/** A signer that is away says so once. */
function together(parts: readonly Part[]): WaiverOpening {
  const failures = new Map(
    parts.flatMap((part) => part.failures).map((failure) => [failure.message, failure]),
  );
  return {
    waivers: parts.flatMap(({ waivers }) => waivers),
    failures: [...failures.values()],
  };
}

async function openToken(values: OpenValues, library: string): Promise<WaiverOpening> {
  const {
    pkcs11Token: token = "",
    pkcs11PinFile: pin = "",
    pkcs11Keys: keys = [],
    custodyTimeoutMs,
  } = values;
  const timeout = custodyTimeoutMs && { timeoutMs: custodyTimeoutMs };
  return together([await allOrNone(() => openPkcs11Waivers({ library, token, pin, keys, ...timeout }))]);
}

async function openRemote(values: OpenValues, url: string): Promise<WaiverOpening> {
  const { web3signerWaivers = [], web3signerCa: ca, web3signerCert: cert, web3signerKey: key } = values;
  const { custodyTimeoutMs: timeoutMs } = values;
  const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  const open = (waivers: readonly Uint8Array[]) =>
    allOrNone(() => openWeb3Signer({ url, waivers, tls, ...(timeoutMs && { timeoutMs }) }));
  let opened = await open(web3signerWaivers);
  // The signer is asked for each alone only where one is missing, because each opening has connections of its own.
  if (opened.failures.length > 0 && web3signerWaivers.length > 1)
    opened = together(await Promise.all(web3signerWaivers.map((waiver) => open([waiver]))));
  const checked = opened.waivers.map((waiver) =>
    inTurns([waiver], async () => {
      await usable(() => checkCustody(waiver, timeoutMs));
      return waiver;
    }),
  );
  return together([{ waivers: [], failures: opened.failures }, ...(await Promise.all(checked))]);
}

async function allOrNone(open: () => Promise<readonly WaiverAccount[]>): Promise<Part> {
  try {
    return { waivers: await usable(open), failures: [] };
  } catch (error) {
    return { waivers: [], failures: [asFailure(error)] };
  }
}
