// TLS from the command line, and the SDK over it.
import { once } from "node:events";
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { RELOAD_LOOK_MS } from "../packages/cli/src/serve/configReload.js";
import { makeCertificate } from "../packages/server/test/support/certificate.js";
import { dataFolder } from "./support/dataFolder.js";
import { freshFolder } from "./support/freshFolder.js";
import { Program } from "./support/program.js";
import { startService, startServiceProcess } from "./support/service.js";
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
afterEach(() => {
  vi.useRealTimers();
});

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
      logLevel: "info",
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
    expect(service.stderr).toMatch(
      /^\{"level":30,"time":"[^"]+","msg":"these settings are taken over: tls-cert, tls-key"\}$/m,
    );
  });

  it("takes over a certificate that is renewed in a folder behind a link, as in Kubernetes, and keeps it while the files are broken", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const folder = freshFolder();
    let generation = 0;
    const put = ({ cert, key }: { readonly cert: string; readonly key: string }) => {
      generation++;
      const files = join(folder, `..${generation}`);
      mkdirSync(files);
      writeFileSync(join(files, "tls.crt"), cert);
      writeFileSync(join(files, "tls.key"), key, { mode: 0o600 });
      symlinkSync(`..${generation}`, join(folder, "..next"));
      renameSync(join(folder, "..next"), join(folder, "..data"));
    };
    const [first, second, third] = [makeCertificate(), makeCertificate(), makeCertificate()];
    put(first);
    for (const name of ["tls.crt", "tls.key"]) symlinkSync(join("..data", name), join(folder, name));
    const tls = ["--tls-cert", join(folder, "tls.crt"), "--tls-key", join(folder, "tls.key")];
    const dataDir = await dataFolder();
    const service = startService({ rpcUrl, dataDir, flags: [...tls, "--metrics-port", "0"] });
    const [, metrics = ""] = await service.line(/^metrics at (\S+)/);
    await service.ready();
    const refusedBehind = async (ca: string) => {
      const [response] = await once(request(metrics, { ca, agent: false }).end(), "response");
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      return /^gas_waiver_reload_refused (\d)/m.exec(text)?.[1];
    };
    expect(await refusedBehind(first.cert)).toBe("0");

    put(second);
    vi.advanceTimersByTime(RELOAD_LOOK_MS);
    expect(await refusedBehind(first.cert)).toBe("0");
    vi.advanceTimersByTime(RELOAD_LOOK_MS);
    await service.line(/^these settings are taken over: tls-cert, tls-key$/);
    expect(await refusedBehind(second.cert)).toBe("0");
    await expect(refusedBehind(first.cert)).rejects.toThrow(/self-signed/);

    put({ cert: third.cert, key: second.key });
    vi.advanceTimersByTime(2 * RELOAD_LOOK_MS);
    await service.line(/^these settings stay as they were: tls-cert: .*not the key of the certificate/);
    await expect.poll(() => refusedBehind(second.cert)).toBe("1");

    put(third);
    vi.advanceTimersByTime(2 * RELOAD_LOOK_MS);
    await expect.poll(() => refusedBehind(third.cert).catch(() => undefined)).toBe("0");
    await service.end();
  });
});
