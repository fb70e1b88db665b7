import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { privateKeyAccount } from "@gas-waiver/protocol";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { CustodyFault } from "../remoteCustody.js";
import { SECOND_KEY, WAIVER_KEY } from "../user.js";

/** The keys of a model of a key management service, by what is the matter with them. */
export const KEY_ROLES = ["signing", "sealing", "disabled", "forbidden", "other curve", "missing"] as const;
export type KeyRole = (typeof KEY_ROLES)[number];

const { Signature } = secp256k1;

/** The part that the models of all services share: their keys, and the faults of their signatures. */
export class KmsBackend {
  fault: CustodyFault | undefined;
  delayMs = 0;
  /** The key with the role "signing" signs with it. */
  readonly signingKey = WAIVER_KEY;
  readonly otherCurve: KeyObject = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
  readonly #unanswered: ServerResponse[] = [];
  #signatures = 0;

  setFault(next: CustodyFault | undefined): void {
    this.fault = next;
    // A call that was given up holds its connection until its own time-out.
    for (const response of this.#unanswered.splice(0)) response.destroy();
  }

  /** Returns r and s of a hash, every second time with the high s; undefined if the request gets another answer or none. */
  async sign(
    hash: Uint8Array,
    response: ServerResponse,
    answers: { refuse(): void; throttle(): void },
  ): Promise<InstanceType<typeof Signature> | undefined> {
    const { fault, delayMs } = this;
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    if (fault === "silent") this.#unanswered.push(response);
    if (fault === "refuses") answers.refuse();
    if (fault === "throttles") answers.throttle();
    if (fault !== undefined && fault !== "wrong key") return undefined;
    const { compact } = await privateKeyAccount(fault ? SECOND_KEY : this.signingKey).sign(hash);
    const { r, s } = Signature.fromBytes(compact, "compact");
    return new Signature(r, this.#signatures++ % 2 === 0 ? secp256k1.Point.Fn.ORDER - s : s);
  }
}

/** SubjectPublicKeyInfo of a key of secp256k1, in DER. */
export function spkiOf(privateKey: Uint8Array): Buffer {
  const head = Buffer.from("3056301006072a8648ce3d020106052b8104000a034200", "hex");
  return Buffer.concat([head, secp256k1.getPublicKey(privateKey, false)]);
}

export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

export interface LocalServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves on a free loopback port, over TLS if there is a certificate. */
export async function serveLocally(
  listener: RequestListener,
  certificate?: { readonly cert: string; readonly key: string },
): Promise<LocalServer> {
  const server = certificate ? createTlsServer(certificate, listener) : createServer(listener);
  // A busy machine may take longer from call to call than Node keeps a connection open.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
