import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { bytesToHex, crypto, hexToBytes, privateKeyAccount } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { makeCertificate } from "../../test/support/certificate.js";
import { type CustodyFault, describeRemoteCustody } from "../../test/support/remoteCustody.js";
import { SECOND_KEY, SECOND_WAIVER, WAIVER, WAIVER_KEY } from "../../test/support/user.js";
import { checkCustody } from "./checkCustody.js";
import { openWeb3Signer } from "./web3Signer.js";

const serverSide = makeCertificate({ names: ["127.0.0.1"] });
const clientSide = makeCertificate({ names: ["gas-waiver"] });
const tls = { ca: serverSide.cert, ...clientSide };
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

/** A server that speaks the eth1 interface of Web3Signer over mutual TLS, with one key. It hashes what it signs. */
async function startSigner(listedKey = WAIVER_KEY) {
  let fault: CustodyFault | undefined;
  let delayMs = 0;
  const unanswered: { destroy(): unknown }[] = [];
  const publicKey = bytesToHex(crypto.publicKey(listedKey));
  const server = createServer({ ...serverSide, ca: clientSide.cert, requestCert: true });
  servers.push(server);
  server.on("request", async (request, response) => {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    if (request.url === "/api/v1/eth1/publicKeys") {
      response.setHeader("content-type", "application/json").end(JSON.stringify([publicKey]));
      return;
    }
    if (request.method !== "POST" || request.url !== `/api/v1/eth1/sign/${publicKey}`) {
      response.writeHead(404).end();
      return;
    }
    if (fault === "silent") {
      unanswered.push(request.socket);
      return;
    }
    if (fault === "refuses") response.writeHead(500).end();
    if (fault === "throttles") response.writeHead(429, { "retry-after": "1" }).end();
    if (response.writableEnded) return;
    const key = fault === "wrong key" ? SECOND_KEY : listedKey;
    const data = hexToBytes((JSON.parse(text) as { data: string }).data);
    const { compact, yParity } = await privateKeyAccount(key).sign(crypto.keccak256(data));
    const v = (27 + yParity).toString(16);
    setTimeout(
      () => response.setHeader("content-type", "text/plain; charset=utf-8").end(`${bytesToHex(compact)}${v}`),
      delayMs,
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setFault: (next: CustodyFault | undefined) => {
      fault = next;
      // A call that was given up holds its connection until its own time-out.
      for (const socket of unanswered.splice(0)) socket.destroy();
    },
    setDelay: (ms: number) => {
      delayMs = ms;
    },
  };
}

const openCustody = async () => {
  const signer = await startSigner();
  const [account] = await openWeb3Signer({
    url: signer.url,
    waivers: [hexToBytes(WAIVER)],
    tls,
    maxSockets: 4,
  });
  if (account === undefined) throw new Error("no account was opened");
  return { ...signer, account };
};
describeRemoteCustody("Web3Signer", openCustody, { hashes: true });

describe("the custody Web3Signer", () => {
  const waivers = [hexToBytes(WAIVER)];

  it("is refused at the start where it has another key, cannot be reached, or does not know the service's certificate", async () => {
    const { url } = await startSigner(SECOND_KEY);
    await expect(openWeb3Signer({ url, waivers, tls })).rejects.toThrow(`has no key of the waiver ${WAIVER}`);
    await expect(openWeb3Signer({ url: "https://127.0.0.1:1", waivers, tls })).rejects.toThrow(
      "cannot be used",
    );
    await expect(openWeb3Signer({ url, waivers, tls: { ca: serverSide.cert } })).rejects.toThrow(
      "cannot be used",
    );
    await expect(openWeb3Signer({ url, waivers, tls: clientSide })).rejects.toThrow(
      "self-signed certificate",
    );
    await expect(openWeb3Signer({ url: "http://signer.example:9000", waivers })).rejects.toThrow(
      "needs https",
    );
  });

  it("is refused at the start where it signs with another key than it lists", async () => {
    const signer = await startSigner(SECOND_KEY);
    const [account] = await openWeb3Signer({ url: signer.url, waivers: [hexToBytes(SECOND_WAIVER)], tls });
    if (account === undefined) throw new Error("no account was opened");
    await checkCustody(account);
    const other = { ...account, address: hexToBytes(WAIVER) };
    await expect(checkCustody(other)).rejects.toThrow("was made by another key");
    signer.setFault("refuses");
    await expect(checkCustody(account)).rejects.toThrow("answered with status 500");
  });
});
