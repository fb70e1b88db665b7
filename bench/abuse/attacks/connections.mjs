// Attacks with many open connections, and attacks without a valid API key.
import { frame, head, request } from "./attacker.mjs";

const CONNECTIONS = 1_000;
/** Requests of each slow reader. Each is answered with 100 lines. */
const REQUESTS = 3;

export async function idleSockets(attacker) {
  await attacker.times(5_000, () => attacker.openSocket());
}

/** Sends requests on many connections and reads none of the answers. */
export async function slowReaders(attacker) {
  const transactions = Array(100).fill("0x");
  const body = JSON.stringify({ transactions });
  await attacker.times(CONNECTIONS / 2, async () => {
    const socket = attacker.open();
    socket.pause();
    for (let i = 0; i < REQUESTS; i++) socket.write(request(body));
    attacker.count("requests over HTTP", REQUESTS);
  });
  await attacker.times(CONNECTIONS / 2, async () => {
    const socket = await attacker.openSocket();
    socket.pause();
    for (let id = 0; id < REQUESTS; id++) socket.write(frame(JSON.stringify({ id, transactions })));
    attacker.count("requests in frames", REQUESTS);
  });
}

export async function silent(attacker) {
  const open = async () => {
    attacker.count("connections");
    attacker.open({ onClosed: open });
  };
  await attacker.times(2 * CONNECTIONS, open);
}

export async function endlessHeads(attacker) {
  const open = async () => {
    attacker.count("connections");
    const socket = attacker.open({ onClosed: open });
    attacker.countStatuses(socket);
    socket.write("POST /v1/submit HTTP/1.1\r\nHost: x\r\n");
    const drip = setInterval(() => {
      if (attacker.ended || socket.destroyed) clearInterval(drip);
      else socket.write("X-More: and more\r\n");
    }, 500);
  };
  await attacker.times(CONNECTIONS, open);
}

/** Sends 100,000 requests a minute, each with another unknown key. */
export async function badKeys(attacker) {
  const connections = await Promise.all(Array.from({ length: 20 }, () => attacker.open()));
  for (const socket of connections) attacker.countStatuses(socket);
  let sent = 0;
  const begun = performance.now();
  while (!attacker.ended) {
    const due = ((performance.now() - begun) * 100_000) / 60_000;
    for (; sent < due; sent++) {
      const key = `gw_live_${sent.toString(16).padStart(16, "0")}_${"x".repeat(32)}`;
      connections[sent % connections.length].write(request("{}", { key }));
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  attacker.count("bad keys", sent);
}

/**
 * Sends bodies of 33 MB, just below the limit, with an unknown key to a path that does not exist, and goes on writing after
 * them. The service must not keep them in memory.
 */
export async function bodiesWithUnknownKey(attacker) {
  const part = Buffer.alloc(65_536, " ");
  const send = async () => {
    attacker.count("connections");
    const socket = attacker.open({ onClosed: send });
    attacker.countStatuses(socket);
    socket.write(head(["Content-Length: 33000000"], { path: "/v1/nothing", key: "none" }));
    await attacker.flood(socket, () => part);
  };
  await attacker.times(50, async () => void send());
}
