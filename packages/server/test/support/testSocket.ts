import { EventEmitter, once } from "node:events";
import { WebSocket } from "ws";
import { theDescription } from "./description.js";
import { API_KEY, type TestService } from "./testService.js";

export type Frame = Readonly<Record<string, unknown>>;

/** A WebSocket client whose frames a test sends and reads one by one. */
export class TestSocket {
  readonly socket: WebSocket;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
  readonly #frames: Frame[] = [];
  readonly #events = new EventEmitter();

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on("message", (data) => {
      this.#frames.push(JSON.parse(String(data)));
      this.#events.emit("frame");
    });
    socket.on("error", () => {});
    this.closed = new Promise((resolve) => {
      socket.on("close", (code) => {
        resolve(code);
        this.#events.emit("frame");
      });
    });
  }

  static async open(service: TestService, key = API_KEY): Promise<TestSocket> {
    const headers = { authorization: `Bearer ${key}` };
    const socket = new WebSocket(`${service.url.replace("http", "ws")}/v1/submit`, { headers });
    const opened = once(socket, "open");
    const client = new TestSocket(socket);
    service.keep({ destroy: () => socket.terminate() });
    await opened;
    return client;
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /**
   * The next frame that the test has not read yet.
   * @throws if the connection closes before a frame, or if the frame is not as AsyncAPI describes it.
   */
  async next(): Promise<Frame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame) return asDescribed(frame);
      if (this.socket.readyState >= WebSocket.CLOSING) throw new Error("closed without a frame");
      await once(this.#events, "frame");
    }
  }

  /** The next frames, up to the one that ends a request. */
  async framesOfRequest(): Promise<Frame[]> {
    const frames: Frame[] = [];
    for (;;) {
      const frame = await this.next();
      frames.push(frame);
      if (frame.done === true || ("error" in frame && !("index" in frame))) return frames;
    }
  }
}

function asDescribed(frame: Frame): Frame {
  const name = theDescription().nameOfFrame(frame);
  if (!["line", "done", "error"].includes(name)) throw new Error(`the service sent a frame that is ${name}`);
  return frame;
}
