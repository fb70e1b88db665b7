import { connect, type Socket } from "node:net";
import type { Reply, TestService } from "./testService.js";

/** Sends bytes on a connection of their own, and returns the reply. */
export async function replyToBytes(service: Pick<TestService, "url">, bytes: string): Promise<Reply> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return await replyFrom(socket);
}

/** Reads the next reply on a connection, and closes it. */
export async function replyFrom(socket: Socket): Promise<Reply> {
  let answer = "";
  for await (const chunk of socket.setEncoding("utf8")) {
    answer += chunk;
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (answer.includes("\r\n\r\n") && Buffer.byteLength(body) >= length) break;
  }
  socket.destroy();
  const [head = "", text = ""] = answer.split("\r\n\r\n");
  const [first = "", ...fields] = head.split("\r\n");
  const headers = fields.map((field) => {
    const [name = "", value = ""] = field.split(": ");
    return [name.toLowerCase(), value];
  });
  return { status: Number(first.split(" ")[1]), headers: Object.fromEntries(headers), text };
}
