import type { ServerOptions } from "../../src/model/options/options.js";
import { runProgram } from "./childProgram.js";
import { WAIVER_KEY } from "./user.js";

/** The service, and a second port that tells its costs. */
const PROGRAM = `
  import { subscribe } from "node:diagnostics_channel";
  import { createServer as createHttpServer } from "node:http";
  import { Session } from "node:inspector/promises";
  import { parseAllowedTargets } from "@gas-waiver/protocol";
  import { createServer, privateKeyWaiver } from "@gas-waiver/server";
  // Processor time, as a busy machine makes any turn long by the clock.
  let longestTurnMs = 0;
  let before = process.cpuUsage();
  setInterval(() => {
    const { user, system } = process.cpuUsage(before);
    before = process.cpuUsage();
    longestTurnMs = Math.max(longestTurnMs, (user + system) / 1_000);
  }, 5);
  let listeners = 0;
  const count = (socket) => {
    for (const event of socket.eventNames()) listeners = Math.max(listeners, socket.listenerCount(event));
  };
  subscribe("net.server.socket", ({ socket }) => socket.on("newListener", () => count(socket)));
  const inspector = new Session();
  inspector.connect();
  async function countObjects() {
    const objectGroup = "count";
    const all = await inspector.post("Runtime.evaluate", { expression: "Object.prototype", objectGroup });
    const prototypeObjectId = all.result.objectId;
    const { objects } = await inspector.post("Runtime.queryObjects", { prototypeObjectId, objectGroup });
    const { result } = await inspector.post("Runtime.callFunctionOn", {
      objectId: objects.objectId,
      returnByValue: true,
      functionDeclaration: String(function () {
        let sum = this.length;
        for (const one of this) {
          // The prototype of a class that extends Map looks like one, and has no size.
          const isCollection = one instanceof Map || one instanceof Set;
          if (isCollection && one.constructor.prototype !== one) sum += one.size;
          else if (Array.isArray(one)) sum += one.length;
        }
        return sum;
      }),
    });
    await inspector.post("Runtime.releaseObjectGroup", { objectGroup });
    return result.value;
  }
  const server = await createServer({
    ...input.options,
    waivers: [privateKeyWaiver(Uint8Array.from(input.waiverKey))],
    allowedTargets: parseAllowedTargets([{ address: "*" }]),
  });
  const { url } = await server.listen({ host: "127.0.0.1", port: 0 });
  const reports = createHttpServer((request, response) => {
    if (request.url === "/objects") {
      countObjects().then((count) => response.end(JSON.stringify(count)));
      return;
    }
    response.end(JSON.stringify({ longestTurnMs, listeners }));
    longestTurnMs = 0;
    listeners = 0;
  });
  reports.listen(0, "127.0.0.1", () => console.log(url + " http://127.0.0.1:" + reports.address().port));`;

/** The costs of a service since the last report. */
export interface CostReport {
  /** The most processor time that the process took between two looks of its event loop at a timer of 5 ms. */
  readonly longestTurnMs: number;
  /** The most listeners of any event of a connection. */
  readonly listeners: number;
}

/** A service in a process of its own, which reports the cost of its requests. */
export class MeasuredService {
  readonly url: string;
  readonly #reportUrl: string;
  readonly #program: Awaited<ReturnType<typeof runProgram>>;

  private constructor(program: Awaited<ReturnType<typeof runProgram>>) {
    this.#program = program;
    [this.url = "", this.#reportUrl = ""] = program.line.split(" ");
  }

  static async start(options: Omit<ServerOptions, "waivers" | "allowedTargets">): Promise<MeasuredService> {
    return new MeasuredService(await runProgram(PROGRAM, { options, waiverKey: [...WAIVER_KEY] }));
  }

  /** Tells the costs since the last call. */
  async costs(): Promise<CostReport> {
    return (await (await fetch(this.#reportUrl)).json()) as CostReport;
  }

  /** Counts the objects of the process, and the entries of its lists and maps, after a garbage collection. */
  async countObjects(): Promise<number> {
    return (await (await fetch(`${this.#reportUrl}/objects`)).json()) as number;
  }

  kill(): Promise<void> {
    return this.#program.kill();
  }
}
