import { TcpForwarder } from "../../packages/server/test/support/tcpForwarder.js";

/** The ways to cut a connection: refuse new ones, reset all at once, or keep them open and pass no bytes. */
export const CUTS = ["refuse", "reset", "hang"] as const;
export type Cut = (typeof CUTS)[number];

/** A TCP proxy in front of a port, which can be cut and healed. */
export class TcpProxy {
  readonly #forwarder: TcpForwarder;
  #cut: Cut | undefined;

  private constructor(target: number) {
    this.#forwarder = new TcpForwarder(() => (this.#cut === "reset" ? undefined : target));
  }

  static async inFrontOf(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(Number(new URL(url).port));
    await proxy.#forwarder.open();
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#forwarder.port}`;
  }

  async cut(kind: Cut): Promise<void> {
    this.#cut = kind;
    if (kind === "hang") this.#forwarder.stall();
    else if (kind === "reset") this.#forwarder.cut();
    else await this.#forwarder.close();
  }

  async heal(): Promise<void> {
    const wasRefusing = this.#cut === "refuse";
    this.#cut = undefined;
    this.#forwarder.resume();
    if (wasRefusing) await this.#forwarder.open();
  }

  async close(): Promise<void> {
    await this.#forwarder.close();
  }
}
