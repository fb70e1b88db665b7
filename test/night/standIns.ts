import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { bytesToHex, crypto, type Hex, hexToBytes, privateKeyAccount } from "@gas-waiver/protocol";

const listen = async (server: Server) => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
};

/** A Web3Signer with some keys. That of the last one may be slow, or sign with another key. */
export async function startCustody(keys: readonly Uint8Array[]) {
  const byPublicKey = new Map(keys.map((key) => [bytesToHex(crypto.publicKey(key)), key]));
  const behaviour = { delayMs: 0, key: keys.at(-1) as Uint8Array };
  const server = createHttpServer(async (request, response) => {
    let text = "";
    for await (const part of request.setEncoding("utf8")) text += part;
    const [, , , , action, publicKey = ""] = request.url?.split("/") ?? [];
    if (action === "publicKeys") {
      response.setHeader("content-type", "application/json").end(JSON.stringify([...byPublicKey.keys()]));
      return;
    }
    const key = action === "sign" ? byPublicKey.get(publicKey as Hex) : undefined;
    if (key === undefined) {
      // Web3Signer's own `GET /upcheck` is what a person types first.
      response.writeHead(request.url === "/upcheck" ? 200 : 404).end(request.url === "/upcheck" ? "OK" : "");
      return;
    }
    const isLast = key === keys.at(-1);
    const data = hexToBytes((JSON.parse(text) as { data: string }).data);
    const account = privateKeyAccount(isLast ? behaviour.key : key);
    const { compact, yParity } = await account.sign(crypto.keccak256(data));
    const v = (27 + yParity).toString(16);
    setTimeout(
      () => response.setHeader("content-type", "text/plain").end(`${bytesToHex(compact)}${v}`),
      isLast ? behaviour.delayMs : 0,
    );
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, behaviour, close };
}

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Gives TLS to a PostgreSQL on a port of loopback, as `ssl = on` does. New connections see the certificate of the moment. */
export async function startTlsFront(port: number, certificate: Certificate) {
  const front = { certificate, port: 0, cut, close };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    keep(client);
    // The client's 8 bytes of SSLRequest.
    client.once("data", () => {
      client.write("S");
      const plain = new TLSSocket(client, { isServer: true, ...front.certificate });
      const upstream = connect(port, "127.0.0.1");
      keep(upstream);
      plain.on("error", () => client.destroy());
      client.on("close", () => upstream.destroy());
      upstream.on("close", () => client.destroy());
      plain.pipe(upstream).pipe(plain);
    });
  });
  front.port = await listen(server);
  return front;

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
  }
  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }
  async function close(): Promise<void> {
    cut();
    await new Promise((resolve) => server.close(resolve));
  }
}
