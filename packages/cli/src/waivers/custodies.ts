import { hexToBytes, privateKeyToAddress } from "@gas-waiver/protocol";
import {
  checkCustody,
  openKmsWaiver,
  openPkcs11Waivers,
  openWeb3Signer,
  privateKeyWaiver,
} from "@gas-waiver/server";
import { listOf, withForm } from "../settings/form.js";
import {
  address,
  addresses,
  entriesOf,
  fileOf,
  keyFile,
  privateKeys,
  text,
  url,
} from "../settings/parsers.js";
import { UsageError } from "../settings/readSettings.js";
import { secretFile, secretFileOf } from "../settings/secretFile.js";
import { kmsKeyName } from "../settings/serviceValues.js";
import { type Settings, serviceSettings, splitValues, type Values } from "../settings/setting.js";
import { allOrNone, type OpeningTerms, together, type WaiverOpening } from "./custody.js";
import { keystorePath, openKeystore } from "./keystoreFiles.js";
import { firstLine, PASSPHRASE_SETTINGS } from "./passphrase.js";

/** The subject of the settings that choose a custody. */
export const CUSTODY = "the custody of the waivers' keys";

/** A custody of waivers' keys (D33). Its functions take the values of all custodies, and read its own. */
interface Custody {
  readonly settings: Settings;
  /** Settings that lack another one, one sentence each. Values that do not parse are absent. */
  problems?(values: Partial<CustodyValues>): readonly string[];
  /** The waivers' addresses, 20 bytes each, as far as the settings name them without a passphrase or a call. */
  addresses(values: Partial<CustodyValues>): readonly Uint8Array[];
  /** Opens what can be opened. */
  open(values: Partial<CustodyValues>, terms: OpeningTerms): Promise<WaiverOpening>;
}

// Each custody is one record. Another one is a file in the server's custody/, its name in the server's index, and a
// record here.

const KEYSTORE = {
  waiverKeystore: {
    flag: "waiver-keystore",
    env: "GAS_WAIVER_KEYSTORE",
    placeholder: "PATH",
    subject: CUSTODY,
    help: "Encrypted keystore of a waiver's key (Web3 Secret Storage), or a folder of them.",
    parse: keystorePath,
  },
  ...PASSPHRASE_SETTINGS,
} as const;

const keystores: Custody = {
  settings: KEYSTORE,
  problems: ({ waiverKeystore, passphraseFile, passphraseFd }) =>
    (passphraseFile ?? passphraseFd) !== undefined && waiverKeystore === undefined
      ? ["a passphrase is given without --waiver-keystore"]
      : [],
  addresses: ({ waiverKeystore = [] }) =>
    waiverKeystore.flatMap(({ keystore }) => (keystore.address ? [hexToBytes(`0x${keystore.address}`)] : [])),
  // One after the other: each takes 256 MiB for a moment.
  async open({ waiverKeystore = [] }, { passphrase }) {
    const opened: WaiverOpening[] = [];
    for (const file of waiverKeystore) {
      const fail = (reason: string) => new UsageError([`--waiver-keystore "${file.path}" ${reason}`]);
      const open = async () => [privateKeyWaiver(await openKeystore(file, passphrase, fail))];
      opened.push(await allOrNone(open));
    }
    return together(opened);
  },
};

/** A waiver's key in a key management service, and the waiver's address, 20 bytes, where the settings name it. */
export interface KmsWaiver {
  readonly key: string;
  readonly address?: Uint8Array;
}

const kmsKeys = withForm(listOf(text), (list): KmsWaiver[] =>
  entriesOf(list).map((entry) => {
    const [, key = entry, waiver] = /^(.*)=(0x.*)$/.exec(entry) ?? [];
    return { key: kmsKeyName(key), ...(waiver && { address: address(waiver) }) };
  }),
);

const KMS = serviceSettings({
  waiverKms: {
    env: "GAS_WAIVER_KMS",
    placeholder: "KEYS",
    subject: CUSTODY,
    help: "Keys of waivers in AWS KMS, Google Cloud KMS or Azure Key Vault, by their names, each alone or as KEY=ADDRESS.",
    repeatable: true,
    parse: kmsKeys,
  },
});

const kms: Custody = {
  settings: KMS,
  addresses: ({ waiverKms = [] }) => waiverKms.flatMap(({ address }) => (address ? [address] : [])),
  // The services answer many at once.
  open: async ({ waiverKms = [] }, { timeoutMs }) =>
    together(
      await Promise.all(
        waiverKms.map(({ key, ...waiver }) =>
          allOrNone(async () => [await openKmsWaiver(key, { ...waiver, ...(timeoutMs && { timeoutMs }) })]),
        ),
      ),
    ),
};

const PKCS11 = serviceSettings({
  pkcs11Library: {
    placeholder: "FILE",
    subject: CUSTODY,
    help: "PKCS#11 library of the hardware security module that has the keys of --pkcs11-keys.",
    parse: text,
  },
  pkcs11Token: {
    placeholder: "LABEL",
    help: "Label of the token in the hardware security module.",
    parse: text,
  },
  pkcs11PinFile: {
    placeholder: "FILE",
    help: "File with the user's PIN of the token on its first line.",
    parse: secretFileOf(firstLine),
  },
  pkcs11Keys: {
    placeholder: "LABELS",
    help: "Labels of the waivers' key pairs in the token, separated by commas.",
    repeatable: true,
    parse: withForm(listOf(text), entriesOf),
  },
});

const pkcs11: Custody = {
  settings: PKCS11,
  problems: ({ pkcs11Library: library, pkcs11Token, pkcs11PinFile, pkcs11Keys }) =>
    [pkcs11Token, pkcs11PinFile, pkcs11Keys].some((one) => (one !== undefined) !== (library !== undefined))
      ? ["--pkcs11-library, --pkcs11-token, --pkcs11-pin-file, --pkcs11-keys belong together"]
      : [],
  addresses: () => [],
  open: (
    { pkcs11Library: library = "", pkcs11Token: token = "", pkcs11PinFile: pin = "", pkcs11Keys: keys = [] },
    { timeoutMs },
  ) => allOrNone(() => openPkcs11Waivers({ library, token, pin, keys, ...(timeoutMs && { timeoutMs }) })),
};

const WEB3_SIGNER = serviceSettings({
  web3signerUrl: {
    placeholder: "URL",
    subject: CUSTODY,
    help: "Web3Signer (eth1 interface) that has the keys of --web3signer-waivers.",
    parse: url("http:", "https:"),
  },
  web3signerWaivers: {
    placeholder: "ADDRESSES",
    help: "Addresses of the waivers whose keys the Web3Signer has, separated by commas.",
    repeatable: true,
    parse: addresses,
  },
  web3signerCa: {
    placeholder: "FILE",
    help: "Certificate of the issuer of the Web3Signer's certificate, as PEM.",
    defaultText: "the issuers that Node knows",
    parse: fileOf(text),
  },
  web3signerCert: {
    placeholder: "FILE",
    help: "Certificate that the service shows to the Web3Signer, as PEM.",
    parse: fileOf(text),
  },
  web3signerKey: {
    placeholder: "FILE",
    help: "Private key of --web3signer-cert as PEM.",
    parse: secretFile,
  },
});

const web3Signer: Custody = {
  settings: WEB3_SIGNER,
  problems({ web3signerUrl, web3signerWaivers: waivers, web3signerCa: ca, web3signerCert, web3signerKey }) {
    const isOrphan = [waivers, ca, web3signerCert, web3signerKey].some((value) => value !== undefined);
    return [
      ...(web3signerUrl !== undefined && (waivers ?? []).length === 0
        ? ["--web3signer-url is given without --web3signer-waivers"]
        : []),
      ...(web3signerUrl === undefined && isOrphan
        ? ["settings of a Web3Signer are given without --web3signer-url"]
        : []),
      ...((web3signerCert === undefined) !== (web3signerKey === undefined)
        ? ["--web3signer-cert and --web3signer-key belong together"]
        : []),
    ];
  },
  addresses: ({ web3signerWaivers = [] }) => web3signerWaivers,
  async open(values, { timeoutMs }) {
    const { web3signerUrl: url = "", web3signerWaivers = [] } = values;
    const { web3signerCa: ca, web3signerCert: cert, web3signerKey: key } = values;
    const tls = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
    const open = (waivers: readonly Uint8Array[]) =>
      allOrNone(() => openWeb3Signer({ url, waivers, tls, ...(timeoutMs && { timeoutMs }) }));
    let opened = await open(web3signerWaivers);
    // The signer is asked for each alone only where one is missing, because each opening has connections of its own.
    if (opened.failures.length > 0 && web3signerWaivers.length > 1)
      opened = together(await Promise.all(web3signerWaivers.map((waiver) => open([waiver]))));
    const checked = opened.waivers.map((waiver) =>
      allOrNone(async () => {
        await checkCustody(waiver, timeoutMs);
        return [waiver];
      }),
    );
    return together([{ waivers: [], failures: opened.failures }, ...(await Promise.all(checked))]);
  },
};

const MAINNET = 988;

const PLAIN_KEYS = {
  waiverKeyFile: {
    flag: "waiver-key-file",
    env: "GAS_WAIVER_KEY_FILE",
    placeholder: "FILE",
    subject: CUSTODY,
    help: "File of the waivers' private keys, unencrypted, as hex, one a line: for tests.",
    parse: keyFile,
  },
  waiverKeys: {
    env: "GAS_WAIVER_KEYS",
    subject: CUSTODY,
    help: "The waivers' private keys, as hex, separated by commas; instead of --waiver-key-file.",
    secret: true,
    parse: privateKeys,
  },
} as const;

const plainKeys: Custody = {
  settings: PLAIN_KEYS,
  addresses: ({ waiverKeyFile, waiverKeys = [] }) =>
    (waiverKeyFile?.keys ?? waiverKeys).map((key) => privateKeyToAddress(key)),
  async open({ waiverKeyFile, waiverKeys = [] }, { chainId, print }) {
    if (chainId === MAINNET) {
      const place = waiverKeyFile?.path ?? "the environment";
      print(
        `warning: the waivers' private keys lie unencrypted in ${place}; on mainnet, keep them in a keystore (\`gas-waiver waivers import\`) or in another custody`,
      );
    }
    return { waivers: (waiverKeyFile?.keys ?? waiverKeys).map(privateKeyWaiver), failures: [] };
  },
};

/** In the order of the help. */
const ALL: readonly Custody[] = [keystores, kms, pkcs11, web3Signer, plainKeys];

/** The settings of all custodies. */
export const CUSTODY_SETTINGS = {
  ...KEYSTORE,
  ...KMS,
  ...PKCS11,
  ...WEB3_SIGNER,
  ...PLAIN_KEYS,
} as const;

export type CustodyValues = Values<typeof CUSTODY_SETTINGS>;

/** The custody that the settings choose; undefined if they choose none. */
export function chosenCustody(values: Partial<CustodyValues>): Custody | undefined {
  const given = (key: string) => values[key as keyof CustodyValues] !== undefined;
  return ALL.find(({ settings }) =>
    Object.entries(settings).some(([key, { subject }]) => subject === CUSTODY && given(key)),
  );
}

/** Separates the settings of custodies from the others. */
export function splitCustody<V extends CustodyValues>(values: V) {
  const [custody, otherValues] = splitValues(CUSTODY_SETTINGS, values);
  return { custody, otherValues };
}

/** Settings that belong to a custody that is not given, or lack another one. */
export function problemsOfCustody(values: Partial<CustodyValues>): string[] {
  return ALL.flatMap((custody) => custody.problems?.(values) ?? []);
}

/** The addresses of the waivers, as far as the settings name them without a passphrase or a call; 20 bytes each. */
export function waiverAddresses(values: Partial<CustodyValues>): Uint8Array[] {
  return ALL.flatMap((custody) => custody.addresses(values));
}
