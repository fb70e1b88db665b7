import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string) => createHmac("sha256", key).update(data).digest();

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([\w-]+)\/(\w+)\/aws4_request, SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})$/;
/** The difference of clocks that AWS accepts. */
const MAX_SKEW_MS = 5 * 60_000;

export interface SignedRequest {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  /** Whether the request was signed with this secret access key, a short time ago, in all that AWS wants signed. */
  isSignedWith(secretAccessKey: string): boolean;
}

/** Reads the signature of a request: version 4 of AWS. @returns undefined if it has none. */
export function readSignature(request: IncomingMessage, body: Buffer): SignedRequest | undefined {
  const match = AUTHORIZATION.exec(request.headers.authorization ?? "");
  if (!match) return undefined;
  const [, accessKeyId = "", day = "", region = "", service = "", names = "", signature = ""] = match;
  const time = String(request.headers["x-amz-date"]);
  const isSignedWith = (secretAccessKey: string) => {
    const url = new URL(request.url ?? "/", "http://local");
    url.searchParams.sort();
    const headers = names.split(";").map((name) => `${name}:${String(request.headers[name]).trim()}\n`);
    const canonical = [
      ...[request.method, url.pathname, url.searchParams.toString(), headers.join(""), names],
      sha256(body),
    ].join("\n");
    const scope = `${day}/${region}/${service}/aws4_request`;
    const toSign = ["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n");
    const key = [day, region, service, "aws4_request"].reduce<string | Buffer>(
      hmac,
      `AWS4${secretAccessKey}`,
    );
    return timingSafeEqual(hmac(key, toSign), Buffer.from(signature, "hex"));
  };
  const own = Object.keys(request.headers).filter((name) => name === "host" || name.startsWith("x-amz-"));
  const isComplete = own.every((name) => names.split(";").includes(name));
  const isNow = time.startsWith(day) && Math.abs(Date.now() - timeOf(time)) < MAX_SKEW_MS;
  return {
    ...{ accessKeyId, region, service },
    isSignedWith: (secret) => isComplete && isNow && isSignedWith(secret),
  };
}

function timeOf(basic: string): number {
  return Date.parse(basic.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, "$1-$2-$3:$4:$5"));
}
