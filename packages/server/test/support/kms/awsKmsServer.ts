import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { bodyOf, type KeyRole, KmsBackend, serveLocally, spkiOf } from "./kmsBackend.js";
import { readSignature } from "./sigV4.js";

export const AWS_REGION = "eu-central-1";
const ARN = `arn:aws:kms:${AWS_REGION}:111122223333:key`;

/** The names of the keys. A key that is missing is one that another region has. */
export const AWS_KEYS: Readonly<Record<KeyRole, string>> = {
  signing: `${ARN}/00000000-0000-4000-8000-000000000001`,
  sealing: `${ARN}/00000000-0000-4000-8000-000000000002`,
  disabled: `${ARN}/00000000-0000-4000-8000-000000000003`,
  forbidden: `${ARN}/00000000-0000-4000-8000-000000000004`,
  "other curve": `${ARN}/00000000-0000-4000-8000-000000000005`,
  missing: `${ARN.replace(AWS_REGION, "us-east-1")}/00000000-0000-4000-8000-000000000001`,
};
export const AWS_ALIAS = "alias/gas-waiver";

/** The credentials that the model gives to a workload that shows its token. */
const ISSUED = {
  id: "ASIAEXAMPLE",
  secret: randomBytes(20).toString("hex"),
  session: randomBytes(30).toString("hex"),
};
/** Credentials of a user, without a session. */
const USER = { id: "AKIAEXAMPLE", secret: randomBytes(20).toString("hex"), session: undefined };

class AwsError extends Error {
  constructor(
    override readonly name: string,
    message: string,
  ) {
    super(message);
  }
}

type Input = Readonly<Record<string, unknown>>;

/**
 * A model of AWS KMS: JSON 1.1 over HTTP with requests signed by version 4, and the endpoint from which containers get
 * their credentials.
 */
export async function startAwsKms() {
  const backend = new KmsBackend();
  const token = randomBytes(16).toString("hex");
  const sealingSecret = randomBytes(32);
  const { port, close } = await serveLocally((request, response) => {
    void answer(request, response);
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    if (request.method === "GET") return issueCredentials(request, response);
    const send = (status: number, value: object) =>
      response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(value));
    const fail = ({ name, message }: Error) => send(400, { __type: name, message });
    try {
      const region = authenticate(request, body);
      const operation = String(request.headers["x-amz-target"]).replace("TrentService.", "");
      const input = JSON.parse(body.toString()) as Input;
      const result = await perform(operation, input, region, response, fail);
      if (result) send(200, result);
    } catch (error) {
      fail(error as Error);
    }
  }

  function issueCredentials(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers.authorization !== token) {
      response.writeHead(401).end();
      return;
    }
    const Expiration = new Date(Date.now() + 3_600_000).toISOString();
    const { id: AccessKeyId, secret: SecretAccessKey, session: Token } = ISSUED;
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ AccessKeyId, SecretAccessKey, Token, Expiration }));
  }

  function role(keyId: unknown, region: string): KeyRole {
    const arn = keyId === AWS_ALIAS && region === AWS_REGION ? AWS_KEYS.signing : String(keyId);
    const found = (Object.keys(AWS_KEYS) as KeyRole[]).find((one) => AWS_KEYS[one] === arn);
    if (arn.startsWith("arn:") && !arn.includes(`:${region}:`))
      throw new AwsError("NotFoundException", `Invalid arn ${region}`);
    if (found === undefined || found === "missing")
      throw new AwsError("NotFoundException", `Key '${arn}' does not exist`);
    if (found === "forbidden")
      throw new AwsError(
        "AccessDeniedException",
        `User: arn:aws:sts::111122223333:assumed-role/relay/pod is not authorized to perform this on resource: ${arn}`,
      );
    if (found === "disabled") throw new AwsError("DisabledException", `${arn} is disabled.`);
    return found;
  }

  async function perform(
    operation: string,
    input: Input,
    region: string,
    response: ServerResponse,
    fail: (error: Error) => void,
  ): Promise<object | undefined> {
    const KeyId = input.KeyId;
    const found = role(KeyId, region);
    switch (operation) {
      case "GetPublicKey":
        return publicKeyOf(found);
      case "Sign":
        return await sign(input, response, fail);
      case "Encrypt":
      case "Decrypt":
        if (found !== "sealing")
          throw new AwsError("InvalidKeyUsageException", `${KeyId} key usage is SIGN_VERIFY`);
        return operation === "Encrypt" ? encrypt(input) : decrypt(input);
      default:
        throw new AwsError("UnknownOperationException", operation);
    }
  }

  function publicKeyOf(found: KeyRole): object {
    if (found === "sealing")
      throw new AwsError("UnsupportedOperationException", "A symmetric key has no public key");
    const isWaiver = found === "signing";
    const key = isWaiver
      ? spkiOf(backend.signingKey)
      : backend.otherCurve.export({ format: "der", type: "spki" });
    return {
      KeyId: AWS_KEYS[found],
      KeySpec: isWaiver ? "ECC_SECG_P256K1" : "ECC_NIST_P256",
      KeyUsage: "SIGN_VERIFY",
      PublicKey: key.toString("base64"),
      SigningAlgorithms: ["ECDSA_SHA_256"],
    };
  }

  async function sign(input: Input, response: ServerResponse, fail: (error: Error) => void) {
    const { Message, MessageType, SigningAlgorithm } = input;
    const hash = Buffer.from(String(Message), "base64");
    if (MessageType !== "DIGEST" || SigningAlgorithm !== "ECDSA_SHA_256" || hash.length !== 32)
      throw new AwsError("ValidationException", "Digest is invalid length for algorithm ECDSA_SHA_256.");
    const signature = await backend.sign(hash, response, {
      refuse: () => fail(new AwsError("KMSInternalException", "internal failure")),
      throttle: () =>
        fail(new AwsError("ThrottlingException", "You have exceeded the rate at which you may call KMS.")),
    });
    return (
      signature && {
        KeyId: AWS_KEYS.signing,
        Signature: Buffer.from(signature.toBytes("der")).toString("base64"),
        SigningAlgorithm,
      }
    );
  }

  function encrypt({ Plaintext, EncryptionContext }: Input): object {
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", sealingSecret, iv).setAAD(contextOf(EncryptionContext));
    const text = Buffer.concat([cipher.update(String(Plaintext), "base64"), cipher.final()]);
    const blob = Buffer.concat([iv, cipher.getAuthTag(), text]).toString("base64");
    return { KeyId: AWS_KEYS.sealing, CiphertextBlob: blob };
  }

  function decrypt({ CiphertextBlob, EncryptionContext }: Input): object {
    const blob = Buffer.from(String(CiphertextBlob), "base64");
    const decipher = createDecipheriv("aes-256-gcm", sealingSecret, blob.subarray(0, 12))
      .setAAD(contextOf(EncryptionContext))
      .setAuthTag(blob.subarray(12, 28));
    try {
      const text = Buffer.concat([decipher.update(blob.subarray(28)), decipher.final()]);
      return { KeyId: AWS_KEYS.sealing, Plaintext: text.toString("base64") };
    } catch {
      throw new AwsError("InvalidCiphertextException", "");
    }
  }

  const url = `http://127.0.0.1:${port}`;
  return {
    backend,
    close,
    /** The variables of a container whose workload has an identity. */
    workload: {
      AWS_ENDPOINT_URL_KMS: url,
      AWS_REGION,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: token,
    },
    /** The variables of a user's own credentials. */
    user: { AWS_ACCESS_KEY_ID: USER.id, AWS_SECRET_ACCESS_KEY: USER.secret },
  };
}

/** Returns the region of a request that one of the model's credentials signed. */
function authenticate(request: IncomingMessage, body: Buffer): string {
  const signed = readSignature(request, body);
  if (!signed) throw new AwsError("MissingAuthenticationTokenException", "Missing Authentication Token");
  const credentials = [ISSUED, USER].find(({ id }) => id === signed.accessKeyId);
  if (!credentials || request.headers["x-amz-security-token"] !== credentials.session)
    throw new AwsError(
      "UnrecognizedClientException",
      "The security token included in the request is invalid.",
    );
  if (signed.service !== "kms" || !signed.isSignedWith(credentials.secret))
    throw new AwsError(
      "InvalidSignatureException",
      "The request signature we calculated does not match the signature you provided.",
    );
  return signed.region;
}

function contextOf(context: unknown): Buffer {
  return Buffer.from(JSON.stringify(context ?? {}));
}
