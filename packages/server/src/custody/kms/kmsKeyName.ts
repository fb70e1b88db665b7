/** The name of a key in a cloud's key management service. */
export type KmsKeyName = AwsKeyName | GoogleKeyName | AzureKeyName;

export interface AwsKeyName {
  readonly service: "AWS KMS";
  /** A key's id or ARN, or an alias as `alias/NAME` or as an ARN. */
  readonly id: string;
  /** The region that an ARN names. */
  readonly region: string | undefined;
}

export interface GoogleKeyName {
  readonly service: "Google Cloud KMS";
  /** `projects/…/locations/…/keyRings/…/cryptoKeys/…`, and `/cryptoKeyVersions/…` for a key that signs. */
  readonly id: string;
  readonly hasVersion: boolean;
}

export interface AzureKeyName {
  readonly service: "Azure Key Vault";
  /** `https://VAULT.vault.azure.net/keys/NAME`, with `/VERSION` or without. */
  readonly id: string;
  readonly vaultUrl: string;
  readonly name: string;
  readonly version: string | undefined;
}

const AWS_ARN = /^arn:[\w-]+:kms:([a-z0-9-]+):\d{12}:(?:key|alias)\/[\w/-]+$/;
const AWS_ID = /^(?:alias\/[\w/-]+|(?:mrk-)?[0-9a-f-]{32,36})$/;
const GOOGLE =
  /^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+(\/cryptoKeyVersions\/\d+)?$/;
const AZURE_PATH = /^\/keys\/([0-9a-zA-Z-]{1,127})(?:\/([0-9a-f]{32}))?\/?$/;

/**
 * Reads the name of a key; its form says in which service the key is.
 * @returns undefined for a text that names no key.
 * @example
 * ```ts
 * console.log(parseKmsKeyName("alias/gas-waiver")?.service); // "AWS KMS"
 * ```
 */
export function parseKmsKeyName(text: string): KmsKeyName | undefined {
  const region = AWS_ARN.exec(text)?.[1];
  if (region !== undefined || AWS_ID.test(text)) return { service: "AWS KMS", id: text, region };
  const google = GOOGLE.exec(text);
  if (google) return { service: "Google Cloud KMS", id: text, hasVersion: google[1] !== undefined };
  return parseAzureKeyName(text);
}

function parseAzureKeyName(text: string): AzureKeyName | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, origin, pathname, search, hash } = new URL(text);
  const [, name, version] = AZURE_PATH.exec(pathname) ?? [];
  if (protocol !== "https:" || name === undefined || search !== "" || hash !== "") return undefined;
  return { service: "Azure Key Vault", id: text, vaultUrl: origin, name, version };
}
