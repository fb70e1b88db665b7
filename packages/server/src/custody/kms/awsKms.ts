import { CustodyThrottledError } from "../../signing/custodyCalls.js";
import { compactOfDer, otherCurve, pointOfPublicKey } from "../ecdsa.js";
import { importPeer } from "../importPeer.js";
import { type CallOptions, createCalls } from "./abortableCall.js";
import { given, type KmsKey, type KmsOptions, MAX_SOCKETS } from "./kmsKey.js";
import type { AwsKeyName } from "./kmsKeyName.js";

/** A command of AWS KMS, made of the members of its request. */
type Command<Request> = new (request: Request & { readonly KeyId: string }) => object;

interface EncryptionContext {
  readonly EncryptionContext: { readonly context: string };
}

/** The part of `@aws-sdk/client-kms` that the custody uses. */
export interface AwsSdk {
  readonly KMSClient: new (
    options: object,
  ) => { send(command: object, options: CallOptions): Promise<AwsAnswer> };
  readonly DecryptCommand: Command<EncryptionContext & { readonly CiphertextBlob: Uint8Array }>;
  readonly EncryptCommand: Command<EncryptionContext & { readonly Plaintext: Uint8Array }>;
  readonly GetPublicKeyCommand: Command<object>;
  readonly SignCommand: Command<{
    readonly Message: Uint8Array;
    readonly MessageType: "DIGEST";
    readonly SigningAlgorithm: "ECDSA_SHA_256";
  }>;
}

/** The members of the answers to all commands. */
interface AwsAnswer {
  readonly CiphertextBlob?: Uint8Array;
  readonly KeyId?: string;
  readonly KeySpec?: string;
  readonly Plaintext?: Uint8Array;
  readonly PublicKey?: Uint8Array;
  readonly Signature?: Uint8Array;
}

/** Opens a key of AWS KMS. The SDK finds credentials and region in its own places. */
export async function openAwsKey(
  { id, region }: AwsKeyName,
  { timeoutMs, endpoint }: KmsOptions & { readonly timeoutMs: number },
): Promise<KmsKey> {
  const { DecryptCommand, EncryptCommand, GetPublicKeyCommand, KMSClient, SignCommand } =
    await importPeer<AwsSdk>("@aws-sdk/client-kms");
  const client = new KMSClient({
    // The lane tries again, at the rate that the service allows.
    maxAttempts: 1,
    ...(region && { region }),
    ...(endpoint && { endpoint }),
    requestHandler: { httpsAgent: { maxSockets: MAX_SOCKETS }, httpAgent: { maxSockets: MAX_SOCKETS } },
  });
  const call = createCalls(timeoutMs, translate);
  const signing = { KeyId: id, MessageType: "DIGEST", SigningAlgorithm: "ECDSA_SHA_256" } as const;
  return {
    async readPublicKey() {
      const { PublicKey, KeySpec } = await call((options) =>
        client.send(new GetPublicKeyCommand({ KeyId: id }), options),
      );
      if (KeySpec !== "ECC_SECG_P256K1") throw otherCurve(String(KeySpec));
      return pointOfPublicKey(given(PublicKey));
    },
    async sign(hash) {
      const command = new SignCommand({ ...signing, Message: hash });
      return compactOfDer(given((await call((options) => client.send(command, options))).Signature));
    },
    async encrypt(secret, context) {
      const command = new EncryptCommand({ KeyId: id, Plaintext: secret, EncryptionContext: { context } });
      const { CiphertextBlob, KeyId } = await call((options) => client.send(command, options));
      return { ciphertext: given(CiphertextBlob), key: KeyId ?? id };
    },
    async decrypt(ciphertext, context) {
      const command = new DecryptCommand({
        KeyId: id,
        CiphertextBlob: ciphertext,
        EncryptionContext: { context },
      });
      return given((await call((options) => client.send(command, options))).Plaintext);
    },
  };
}

interface AwsError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number };
}

const THROTTLED = ["ThrottlingException", "TooManyRequestsException", "LimitExceededException"];

/** The reasons by the names of the SDK's and the service's errors. */
const REASONS: Readonly<Record<string, string>> = {
  NotFoundException: "there is no such key in this region",
  DisabledException: "it is disabled",
  KMSInvalidStateException: "it is disabled, or on the way to its deletion",
  AccessDeniedException: "this identity may not use it",
  UnsupportedOperationException: "it does not sign",
  InvalidKeyUsageException: "its usage is another one",
  CredentialsProviderError: "there are no credentials of AWS",
  UnrecognizedClientException: "AWS does not know the credentials",
  InvalidSignatureException: "AWS does not take the credentials",
  ExpiredTokenException: "the credentials have expired",
  InvalidCiphertextException: "the ciphertext was not made with it, or not for this keystore",
  IncorrectKeyException: "the ciphertext was made with another key",
};

function translate(error: AwsError): Error {
  const { name, message, $metadata } = error;
  if (THROTTLED.includes(name) || $metadata?.httpStatusCode === 429)
    return new CustodyThrottledError({ cause: error });
  if (message === "Region is missing") {
    const reason = "no region of AWS is set: set AWS_REGION, or name the key by its ARN";
    return new Error(reason, { cause: error });
  }
  const reason = REASONS[name];
  return new Error(reason === undefined ? `${name}: ${message}` : `${reason} (${name}: ${message})`, {
    cause: error,
  });
}
