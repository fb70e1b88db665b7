// TLS from the command line, and the SDK over it.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeCertificate } from "../packages/server/test/support/certificate.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";
import { startServiceProcess } from "./support/service.js";
import { API_KEY, account, transferOf } from "./support/user.js";

/** Submits one transaction over HTTP and one over a WebSocket, as a program whose system trusts the certificate. */
const CLIENT = `
  import { connect, createWaiverClient } from "@gas-waiver/client";
  import { WebSocket } from "ws";
  const [url, apiKey, first, second] = process.argv.slice(1);
  for await (const line of createWaiverClient({ url, apiKey }).submit([first])) console.log("http", line.success);
  const socket = connect({ url, apiKey, WebSocket });
  for await (const line of socket.submit([second])) console.log("socket", line.success);
  socket.close();`;

let devnet: Devnet;
let rpcUrl: string;
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  ({ url: rpcUrl } = await devnet.listen({ port: 0 }));
});
afterAll(() => devnet?.close());

const transfer = (nonce: number) => account(0).signTransaction(transferOf(account(7).address, 1n, nonce));

describe("gas-waiver serve with --tls-cert and --tls-key", () => {
  it("says that a certificate soon expires and that the proxy has no address, reads another one at SIGHUP, and serves the SDK over it", async () => {
    const folder = freshFolder();
    const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    const write = (pair: { readonly cert: string; readonly key: string }) => {
      writeFileSync(cert, pair.cert);
      writeFileSync(key, pair.key, { mode: 0o600 });
    };
    write(makeCertificate({ validTo: new Date(Date.now() + 86_400_000) }));
    const tls = ["--tls-cert", cert, "--tls-key", key];
    const service = startServiceProcess({
      rpcUrl,
      dataDir: await dataFolder(),
      flags: [...tls, "--host", "0.0.0.0", "--behind-proxy"],
    });
    const { url } = await service.ready();
    expect(url).toMatch(/^https:/);
    expect(service.stderr).toMatch(/the TLS certificate expires at /);
    expect(service.stderr).toMatch(/without trustedProxies \(--trusted-proxies\): .* count as one address/);

    write(makeCertificate());
    service.signal("SIGHUP");
    await service.line(/^these settings are taken over: tls-cert, tls-key$/);
    const local = `https://127.0.0.1:${new URL(url).port}`;
    const args = [local, API_KEY, await transfer(0), await transfer(1)];
    const client = new Program(["--input-type=module", "-e", CLIENT, ...args], { NODE_EXTRA_CA_CERTS: cert });
    expect(await client.ended).toEqual({ status: 0, signal: null });
    expect(client.stdout).toBe("http true\nsocket true\n");

    writeFileSync(cert, "not a certificate");
    service.signal("SIGHUP");
    const [line] = await service.line(/^these settings stay as they were: tls-cert: .*/);
    expect(line).toContain("tls.cert is no certificate as PEM");
    expect(await service.end()).toEqual({ status: 0, signal: null });
  });
});
