// Attacks with the content of a body, and with its pace.
import { signed } from "../../signed.mjs";
import { head, request } from "./attacker.mjs";

/** A number above those of the well-behaved client's users. */
const FIRST_USER = 10_000_000;

export async function slowBodies(attacker) {
  const open = async () => {
    attacker.count("connections");
    const socket = attacker.open({ onClosed: open });
    attacker.countStatuses(socket);
    socket.write(head(["Content-Length: 1000000"]));
    const drip = setInterval(() => {
      if (attacker.ended || socket.destroyed) clearInterval(drip);
      else socket.write(" ");
    }, 200);
  };
  await attacker.times(1_000, open);
}

/** Endless bodies in chunks of one byte, six bytes each on the wire. The service refuses a body above 32 MiB. */
export async function tinyChunks(attacker) {
  const chunks = Buffer.from("1\r\n \r\n".repeat(10_000));
  const send = async () => {
    attacker.count("bodies");
    const socket = attacker.open({ onClosed: send });
    attacker.countStatuses(socket);
    socket.write(head(["Transfer-Encoding: chunked"]));
    await attacker.flood(socket, () => {
      attacker.count("chunks of one byte", 10_000);
      return chunks;
    });
  };
  await attacker.times(4, async () => void send());
}

/** Bodies of the largest size on many connections, which never end. */
export async function heldBodies(attacker) {
  const part = Buffer.alloc(65_536, " ");
  const send = async () => {
    const socket = attacker.open();
    attacker.countStatuses(socket);
    attacker.count("bodies of 32 MiB");
    socket.write(head([`Content-Length: ${32 * 2 ** 20}`]));
    await attacker.pour(socket, part, 30 * 2 ** 20);
  };
  await attacker.times(50, async () => void send());
}

/** Batches of 26 MB with the largest transactions, one after another. */
export async function largestBatches(attacker) {
  let user = FIRST_USER;
  while (!attacker.ended) {
    const largest = () => signed(user++, { length: 130_000, gasLimit: 2_000_000n });
    const body = JSON.stringify({ transactions: Array.from({ length: 100 }, largest) });
    attacker.count("batches");
    attacker.count("MB", Math.round(body.length / 1e6));
    const socket = attacker.open();
    socket.write(request(body));
    let text = "";
    await new Promise((resolve) => {
      socket.on("data", (part) => {
        text += part;
        if (text.endsWith("0\r\n\r\n") || !text.startsWith("HTTP/1.1 200")) resolve();
      });
      socket.once("close", resolve);
    });
    attacker.count(`answered ${text.slice(9, 12)}`);
    attacker.count("lines of success", text.split('"success":true').length - 1);
    socket.destroy();
  }
}

/** A body with `value` repeated. The values have about `bytes` in all, without the commas between them. */
const repeating = (value, bytes = 8_000_000) =>
  `{"transactions":[${`${value},`.repeat(bytes / value.length)}${value}]}`;

const STRANGE_BODIES = [
  repeating("{}"),
  repeating("[]"),
  repeating("0"),
  repeating('""'),
  `{"transactions":${"[".repeat(4_000_000)}${"]".repeat(4_000_000)}}`,
  `{"transactions":["0x"],"transactions":["0x00"],${'"a":1,'.repeat(100_000)}"b":2}`,
  '{"__proto__":{"transactions":["0x"]}}',
  '{"constructor":{"prototype":{"transactions":["0x"]}},"transactions":["0x"]}',
  '{"transactions":["\\ud800","\\udfff\\ud800"]}',
  `{"transactions":[${"9".repeat(8_000_000)}]}`,
  '{"transactions":[1e999999999]}',
  `{"transactions":["0x${"é".repeat(1_000_000)}"]}`,
  `{"transactions":["${"\\u0000".repeat(1_000_000)}"]}`,
  `{"${"k".repeat(8_000_000)}":1}`,
];

/** JSON that is deep, wide, has repeated or special keys, or has extreme values. */
export async function strangeJson(attacker) {
  const requests = STRANGE_BODIES.map((body) => Buffer.from(request(body)));
  const send = async () => {
    for (let i = 0; !attacker.ended; i++) {
      const socket = attacker.open();
      attacker.count("bodies");
      socket.write(requests[i % requests.length]);
      const [part] = await Promise.race([
        new Promise((resolve) => socket.once("data", (data) => resolve([data]))),
        new Promise((resolve) => socket.once("close", () => resolve([""]))),
      ]);
      attacker.count(`answered ${String(part).slice(9, 12) || "nothing"}`);
      socket.destroy();
    }
  };
  await Promise.all([send(), send(), send()]);
}
