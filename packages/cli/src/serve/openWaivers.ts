import type { WaiverAccount } from "@gas-waiver/protocol";
import {
  checkCustody,
  openKmsWaiver,
  openPkcs11Waivers,
  openWeb3Signer,
  privateKeyWaiver,
} from "@gas-waiver/server";
import type { Context } from "../command.js";
import { keyFile } from "../settings/parsers.js";
import { UsageError } from "../settings/readSettings.js";
import { type KeystoreFile, keystorePath } from "../waivers/keystoreFiles.js";
import { openKeystore } from "../waivers/openKeystore.js";
import { readPassphrase } from "../waivers/passphrase.js";
import { usable } from "../waivers/usable.js";
import type { CustodyValues, KmsWaiver } from "./custodySettings.js";

const MAINNET = 988;

export interface OpenWaivers {
  readonly waivers: readonly WaiverAccount[];
  /** Reads the files of keys again; undefined where there are none. */
  readonly reread: (() => Promise<readonly WaiverAccount[]>) | undefined;
}

type OpenValues = CustodyValues & {
  readonly chainId: number;
  readonly custodyTimeoutMs?: number | undefined;
};
type OpenContext = Pick<Context, "print" | "promptSecret">;

/**
 * Opens the custody that the settings name.
 * @throws {@link UsageError} for a keystore that cannot be opened, {@link CommandFailedError} for a custody that is of no use.
 */
export async function openWaivers(values: OpenValues, context: OpenContext): Promise<OpenWaivers> {
  const { waiverKeystore, waiverKms, web3signerUrl, waiverKeyFile, waiverKeys, chainId, custodyTimeoutMs } =
    values;
  if (waiverKeystore) return await openKeystores(waiverKeystore, values, context);
  if (waiverKms) return { waivers: await openKmsWaivers(waiverKms, custodyTimeoutMs), reread: undefined };
  if (values.pkcs11Library !== undefined)
    return { waivers: await openToken(values, values.pkcs11Library), reread: undefined };
  if (web3signerUrl !== undefined)
    return { waivers: await openRemote(values, web3signerUrl, custodyTimeoutMs), reread: undefined };
  if (chainId === MAINNET) {
    const place = waiverKeyFile?.path ?? "the environment";
    context.print(
      `warning: the waivers' private keys lie unencrypted in ${place}; on mainnet, keep them in a keystore (\`gas-waiver waivers import\`) or in another custody`,
    );
  }
  const waivers = (waiverKeyFile?.keys ?? waiverKeys ?? []).map(privateKeyWaiver);
  const path = waiverKeyFile?.path;
  return { waivers, reread: path === undefined ? undefined : async () => rereadKeyFile(path) };
}

function rereadKeyFile(path: string): WaiverAccount[] {
  try {
    return keyFile(path).keys.map(privateKeyWaiver);
  } catch (error) {
    throw new Error(`${path} ${(error as Error).message}`, { cause: error });
  }
}

async function openKeystores(
  files: readonly KeystoreFile[],
  values: CustodyValues,
  context: OpenContext,
): Promise<OpenWaivers> {
  let read: Promise<string> | undefined;
  const passphrase = () => {
    read ??= readPassphrase(values, context);
    return read;
  };
  const open = async (all: readonly KeystoreFile[]) => {
    const waivers: WaiverAccount[] = [];
    // One after the other: each takes 256 MiB for a moment.
    for (const file of all) {
      const fail = (reason: string) => new UsageError([`--waiver-keystore "${file.path}" ${reason}`]);
      waivers.push(privateKeyWaiver(await openKeystore(file, passphrase, fail)));
    }
    return waivers;
  };
  const reread = () =>
    open(
      files
        .map(({ given }) => given)
        .filter(isFirst)
        .flatMap(keystorePath),
    );
  return { waivers: await open(files), reread };
}

const isFirst = (one: string, i: number, all: readonly string[]) => all.indexOf(one) === i;

async function openKmsWaivers(keys: readonly KmsWaiver[], timeoutMs?: number): Promise<WaiverAccount[]> {
  const open = ({ key, ...waiver }: KmsWaiver) =>
    openKmsWaiver(key, { ...waiver, ...(timeoutMs && { timeoutMs }) });
  return await usable(() => Promise.all(keys.map(open)));
}

async function openToken(values: OpenValues, library: string): Promise<WaiverAccount[]> {
  const {
    pkcs11Token: token = "",
    pkcs11PinFile: pin = "",
    pkcs11Keys: keys = [],
    custodyTimeoutMs,
  } = values;
  const timeout = custodyTimeoutMs && { timeoutMs: custodyTimeoutMs };
  return await usable(() => openPkcs11Waivers({ library, token, pin, keys, ...timeout }));
}

async function openRemote(values: CustodyValues, url: string, timeoutMs?: number): Promise<WaiverAccount[]> {
  const { web3signerWaivers = [], web3signerCa: ca, web3signerCert: cert, web3signerKey: key } = values;
  const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return await usable(async () => {
    const waivers = await openWeb3Signer({
      url,
      waivers: web3signerWaivers,
      tls,
      ...(timeoutMs && { timeoutMs }),
    });
    await Promise.all(waivers.map((waiver) => checkCustody(waiver)));
    return waivers;
  });
}
