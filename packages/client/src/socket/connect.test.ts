// Tests the client's WebSocket against a scripted service, over real sockets.

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  encodeDoneFrame,
  encodeErrorFrame,
  encodeLineFrame,
  ProtocolError,
  type Reason,
  type RequestId,
  type ResultLine,
  requestErrorBody,
  statusOf,
} from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { InvalidArgumentError } from "../errors.js";
import { connect, MalformedAnswerError, RequestRefusedError, type SocketClient } from "../index.js";

const API_KEY = "gw_test_key_secret";
const idOf = (name: string) => `01890000-0000-7000-8000-${name.padStart(12, "0")}`;

interface Request {
  readonly id: RequestId;
  readonly transactions?: readonly string[];
  readonly watch?: readonly string[];
  readonly wait?: string;
}

const good = (index: number): ResultLine => ({
  index,
  id: idOf(String(index)),
  success: true,
  txHash: `0x${"ab".repeat(32)}`,
});
const late = (index: number): ResultLine => ({
  index,
  id: idOf(String(index)),
  success: false,
  error: { code: "TIMEOUT", message: "m", reason: "NOT_INCLUDED" },
});

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A scripted service. The test sees each of its connections and frames. */
class Service {
  url = "";
  /** If set, each handshake fails with a bare 400, and a GET without an upgrade gets this refusal. */
  refusal: Reason | undefined;
  readonly requests: Request[] = [];
  readonly keys: (string | undefined)[] = [];
  readonly protocols: (string | undefined)[] = [];
  onRequest: (request: Request, socket: WebSocket, connection: number) => void = () => {};
  #connections = 0;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #server = createServer((request, response) => this.#answer(request, response));

  static async start(): Promise<Service> {
    const service = new Service();
    const server = service.#server;
    server.on("upgrade", (request, socket, head) => {
      if (service.refusal) return void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
      service.keys.push(request.headers.authorization);
      service.protocols.push(request.headers["sec-websocket-protocol"]);
      service.#sockets.handleUpgrade(request, socket, head, (open) => service.#serve(open));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    closers.push(() => {
      for (const socket of service.#sockets.clients) socket.terminate();
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    });
    return service;
  }

  #serve(socket: WebSocket): void {
    const connection = ++this.#connections;
    socket.on("message", (data) => {
      const request = JSON.parse(String(data)) as Request;
      this.requests.push(request);
      this.onRequest(request, socket, connection);
    });
  }

  #answer(_request: IncomingMessage, response: ServerResponse): void {
    const reason = this.refusal ?? "UPGRADE_REQUIRED";
    response.writeHead(statusOf(reason), { "content-type": "application/json" });
    response.end(JSON.stringify(requestErrorBody(new ProtocolError(reason, "why"))));
  }
}

function clientOf(service: Service, options: Partial<Parameters<typeof connect>[0]> = {}): SocketClient {
  const client = connect({ url: service.url, apiKey: API_KEY, WebSocket, reconnectAfterMs: 1, ...options });
  closers.push(() => client.close());
  return client;
}

async function collect(lines: AsyncIterable<ResultLine>): Promise<ResultLine[]> {
  const all: ResultLine[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

function answer(socket: WebSocket, id: RequestId, lines: readonly ResultLine[]): void {
  for (const line of lines) socket.send(encodeLineFrame(id, line));
  socket.send(encodeDoneFrame(id));
}

const everyLine = ({ transactions, watch }: Request) => (transactions ?? watch ?? []).map((_, i) => good(i));

describe("requests over one connection", () => {
  it("are sent with the key in the header, and get their own lines", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket) => answer(socket, request.id, everyLine(request));
    const client = clientOf(service);
    const [one, two] = await Promise.all([
      collect(client.submit(["0x01", "0x02"], { wait: "included" })),
      collect(client.submit(["0x03"])),
    ]);
    expect(one).toEqual([good(0), good(1)]);
    expect(two).toEqual([good(0)]);
    expect(service.keys).toEqual([`Bearer ${API_KEY}`]);
    expect(service.requests).toEqual([
      { id: 1, transactions: ["0x01", "0x02"], wait: "included" },
      { id: 2, transactions: ["0x03"] },
    ]);
  });

  it("are sent with a publishable key as a subprotocol, for which the class need take no headers", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket) => answer(socket, request.id, everyLine(request));
    class Browsers extends WebSocket {
      constructor(url: string, protocols: string[]) {
        if (!Array.isArray(protocols)) throw new SyntaxError("not a list of protocols");
        super(url, protocols);
      }
    }
    const client = clientOf(service, { apiKey: "gwp_test_page", WebSocket: Browsers });
    expect(await collect(client.submit(["0x01"]))).toEqual([good(0)]);
    expect(service.keys).toEqual([undefined]);
    expect(service.protocols).toEqual(["gas-waiver.v1,bearer.gwp_test_page"]);
  });

  it("wait for their turn when the limit of unanswered frames is reached", async () => {
    const service = await Service.start();
    let maxDue = 0;
    const due: (() => void)[] = [];
    service.onRequest = (request, socket) => {
      due.push(() => answer(socket, request.id, everyLine(request)));
      maxDue = Math.max(maxDue, due.length);
      // The third request comes only after one of the first two is answered. Then all are answered.
      if (due.length > 1) due.shift()?.();
      if (service.requests.length === 4) for (const finish of due) finish();
    };
    const client = clientOf(service, { maxRequests: 2 });
    const calls = await Promise.all(
      ["0x01", "0x02", "0x03", "0x04"].map((tx) => collect(client.submit([tx]))),
    );
    expect(calls.flat()).toHaveLength(4);
    expect(maxDue).toBe(2);
  });

  it("fail one by one: the error of a request refused whole is its own", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket) => {
      if (request.transactions?.length !== 2) return answer(socket, request.id, everyLine(request));
      socket.send(encodeErrorFrame(request.id, new ProtocolError("KEY_SHARE_EXHAUSTED", "full")));
    };
    const client = clientOf(service);
    const [refused, accepted] = await Promise.all([
      errorOf(collect(client.submit(["0x01", "0x02"]))),
      collect(client.submit(["0x03"])),
    ]);
    expect(refused).toBeInstanceOf(RequestRefusedError);
    expect(refused).toMatchObject({ status: 503, code: "QUEUE_FULL", reason: "KEY_SHARE_EXHAUSTED" });
    expect(accepted).toEqual([good(0)]);
  });

  it("may be left early, and later lines for them disturb no other request", async () => {
    const service = await Service.start();
    let sendSecondLine: () => void = () => {};
    service.onRequest = (request, socket) => {
      if (service.requests.length > 1) {
        sendSecondLine();
        return answer(socket, request.id, everyLine(request));
      }
      socket.send(encodeLineFrame(request.id, good(0)));
      sendSecondLine = () => answer(socket, request.id, [good(1)]);
    };
    const client = clientOf(service);
    for await (const line of client.submit(["0x01", "0x02"])) {
      expect(line).toEqual(good(0));
      break;
    }
    expect(await collect(client.submit(["0x03"]))).toEqual([good(0)]);
  });

  it("end with the signal's reason, and when the client is closed", async () => {
    const service = await Service.start();
    const abort = new AbortController();
    service.onRequest = ({ id }) => (id === 1 ? abort.abort(new Error("enough")) : client.close());
    const client = clientOf(service);
    const { signal } = abort;
    expect(await errorOf(collect(client.submit(["0x01"], { signal })))).toBe(signal.reason);
    const closed = await errorOf(collect(client.submit(["0x02"])));
    expect(closed).toMatchObject({ name: "ConnectionFailedError", certainty: "unknown" });
    const after = await errorOf(collect(client.submit(["0x03"])));
    expect(after).toMatchObject({ name: "ConnectionFailedError", certainty: "not_sent" });
  });
});

describe("watch", () => {
  const HASH = `0x${"ab".repeat(32)}`;

  it("asks for the lines by the names that it was given, also on the next connection, and sends nothing", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket, connection) => {
      if (connection === 2) return answer(socket, request.id, [good(0)]);
      answer(socket, request.id, [good(1), late(0)]);
      socket.close(1012);
    };
    const lines = await collect(clientOf(service).watch([HASH, idOf("1")], { wait: "included" }));
    expect(lines).toEqual([good(1), good(0)]);
    expect(service.requests.filter(({ watch }) => watch?.length !== 0)).toMatchObject([
      { watch: [HASH, idOf("1")], wait: "included" },
      { watch: [HASH], wait: "included" },
    ]);
  });

  it("gives the line of a name that the service does not know, and ends with its signal", async () => {
    const service = await Service.start();
    const error = { code: "INVALID_REQUEST", message: "m", reason: "UNKNOWN_SUBMISSION" } as const;
    const unknown: ResultLine = { index: 0, id: HASH, success: false, error };
    service.onRequest = (request, socket) => answer(socket, request.id, [unknown]);
    const client = clientOf(service);
    expect(await collect(client.watch([HASH]))).toEqual([unknown]);
    const abort = new AbortController();
    service.onRequest = () => abort.abort(new Error("enough"));
    expect(await errorOf(collect(client.watch([HASH], { signal: abort.signal })))).toBe(abort.signal.reason);
    expect(service.requests.every(({ transactions }) => transactions === undefined)).toBe(true);
  });
});

describe("when the connection breaks", () => {
  it("transactions without a line are sent again on the next, and each line comes once, under its own index", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket, connection) => {
      if (connection === 2) return answer(socket, request.id, [good(1), good(0)]);
      socket.send(encodeLineFrame(request.id, good(1)), () => socket.terminate());
    };
    const lines = await collect(clientOf(service).submit(["0x0a", "0x0b", "0x0c"], { wait: "included" }));
    expect(lines.map(({ index }) => index)).toEqual([1, 2, 0]);
    expect(service.requests[1]).toMatchObject({ transactions: ["0x0a", "0x0c"], wait: "included" });
  });

  it("by a shutdown, its time-outs do not reach the caller, and the submissions are watched on the next", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket, connection) => {
      if (connection === 2) return answer(socket, request.id, everyLine(request));
      answer(socket, request.id, [late(0), late(1)]);
      socket.close(1012);
    };
    const lines = await collect(clientOf(service).submit(["0x0a", "0x0b"], { wait: "included" }));
    expect(lines.every(({ success }) => success)).toBe(true);
    const watching = service.requests.find(({ watch }) => watch !== undefined && watch.length > 0);
    expect(watching).toMatchObject({ watch: [idOf("0"), idOf("1")], wait: "included" });
  });

  it("and the next service does not know a submission, its transaction is sent again", async () => {
    const service = await Service.start();
    const lost: ResultLine = {
      index: 0,
      id: idOf("0"),
      success: false,
      error: { code: "INVALID_REQUEST", message: "m", reason: "UNKNOWN_SUBMISSION" },
    };
    service.onRequest = (request, socket, connection) => {
      if (connection === 1) {
        answer(socket, request.id, [late(0)]);
        socket.close(1012);
      } else answer(socket, request.id, request.watch ? [lost] : [good(0)]);
    };
    expect(await collect(clientOf(service).submit(["0x0a"]))).toEqual([good(0)]);
    expect(service.requests.at(-1)).toMatchObject({ transactions: ["0x0a"] });
  });

  it("and the next service refuses the repeated frames for a while, they are sent again", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket, connection) => {
      if (connection === 1) return socket.terminate();
      if (service.requests.length > 2) return answer(socket, request.id, everyLine(request));
      socket.send(encodeErrorFrame(request.id, new ProtocolError("STORE_UNAVAILABLE", "away")));
    };
    expect(await collect(clientOf(service).submit(["0x0a"]))).toEqual([good(0)]);
  });

  it("and the next service refuses the repeated frames for good, it stays open whether they were accepted", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket, connection) => {
      if (connection === 1) return socket.terminate();
      socket.send(encodeErrorFrame(request.id, new ProtocolError("KEY_REVOKED", "the key is revoked")));
    };
    const error = await errorOf(collect(clientOf(service).submit(["0x0a"])));
    expect(error).toMatchObject({ name: "ConnectionFailedError", certainty: "unknown" });
    expect(error).toMatchObject({ cause: { name: "RequestRefusedError", reason: "KEY_REVOKED" } });
  });

  it("and the next service takes no frame as large, it stays open whether they were accepted", async () => {
    const service = await Service.start();
    service.onRequest = (_request, socket, connection) =>
      connection === 1 ? socket.terminate() : socket.close(1009);
    const inDoubt = [{ index: 0, signed: "0x0a" }];
    expect(await errorOf(collect(clientOf(service).submit(["0x0a"])))).toMatchObject({ inDoubt });
  });

  it("because the service shuts down, transactions that it did not accept are sent to the next", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket, connection) => {
      if (connection === 2) return answer(socket, request.id, everyLine(request));
      socket.send(encodeErrorFrame(request.id, new ProtocolError("SHUTTING_DOWN", "m")));
    };
    expect(await collect(clientOf(service).submit(["0x0a"]))).toEqual([good(0)]);
  });

  it("over a frame too large, that request fails and the others go on", async () => {
    const service = await Service.start();
    service.onRequest = (request, socket, connection) => {
      if (connection === 2) answer(socket, request.id, everyLine(request));
      else if (service.requests.length === 2) socket.close(1009);
    };
    const client = clientOf(service);
    const [small, large] = await Promise.all([
      collect(client.submit(["0x01"])),
      errorOf(collect(client.submit([`0x${"00".repeat(100)}`]))),
    ]);
    expect(small).toEqual([good(0)]);
    expect(large).toMatchObject({ name: "RequestRefusedError", status: 413, reason: "BODY_TOO_LARGE" });
  });
});

describe("a time-out of a service that keeps running", () => {
  it("is given to the caller", async () => {
    const service = await Service.start();
    service.onRequest = ({ id, watch }, socket) => answer(socket, id, watch ? [] : [late(0)]);
    expect(await collect(clientOf(service).submit(["0x0a"]))).toEqual([late(0)]);
    // The client asks whether the service still answers: one that shuts down does not.
    expect(service.requests[1]).toEqual({ id: 2, watch: [] });
  });
});

describe("a handshake that fails", () => {
  it.each<Reason>(["UNKNOWN_KEY", "NO_SUCH_PATH", "UPGRADE_REQUIRED"])(
    "fails the request with the refusal %s",
    async (reason) => {
      const service = await Service.start();
      service.refusal = reason;
      const error = await errorOf(collect(clientOf(service).submit(["0x01"])));
      expect(error).toMatchObject({ name: "RequestRefusedError", status: statusOf(reason), reason });
      expect(JSON.stringify([error, (error as Error).message])).not.toContain(API_KEY);
    },
  );

  it("fails the request with ConnectionFailedError after giveUpAfterMs", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await new Promise((done) => server.close(done));
    const options = { url: `http://127.0.0.1:${port}`, apiKey: API_KEY, WebSocket };
    const client = connect({ ...options, giveUpAfterMs: 1, reconnectAfterMs: 1 });
    const error = await errorOf(collect(client.submit(["0x01"])));
    expect(error).toMatchObject({ name: "ConnectionFailedError", certainty: "not_sent" });
  });

  it("fails the request with InvalidArgumentError for a class that takes no headers, as in browsers", async () => {
    class Browsers {
      constructor(_url: string, protocols?: unknown) {
        if (typeof protocols === "object") throw new SyntaxError("[object Object] is not a protocol");
      }
    }
    const client = connect({ url: "http://127.0.0.1:1", apiKey: API_KEY, WebSocket: Browsers });
    expect(await errorOf(collect(client.submit(["0x01"])))).toBeInstanceOf(InvalidArgumentError);
  });
});

describe("a malformed answer", () => {
  it.each([
    ["text that is not JSON", "hello"],
    ["a line for an unknown request", encodeLineFrame(99, good(0))],
    ["a line that was not asked for", encodeLineFrame(1, good(5))],
    ["an end without lines", encodeDoneFrame(1)],
  ])("such as %s fails the request with MalformedAnswerError", async (_, text) => {
    const service = await Service.start();
    service.onRequest = (_request, socket) => socket.send(text);
    const error = await errorOf(collect(clientOf(service).submit(["0x01"])));
    expect(error).toBeInstanceOf(MalformedAnswerError);
  });

  it("leaves each request its own transactions in doubt", async () => {
    const service = await Service.start();
    service.onRequest = (_request, socket) => service.requests.length === 2 && socket.send("hello");
    const client = clientOf(service);
    const both = ["0x01", "0x02"].map((signed) => errorOf(collect(client.submit([signed]))));
    const inDoubt = ["0x01", "0x02"].map((signed) => ({ inDoubt: [{ index: 0, signed }] }));
    expect(await Promise.all(both)).toMatchObject(inDoubt);
  });
});
