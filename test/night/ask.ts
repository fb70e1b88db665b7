import { Agent, request } from "node:https";

/** The replicas show certificates of the run, which end during it. */
export const agent = new Agent({ rejectUnauthorized: false, keepAlive: true });

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Asks a replica. Rejects where it gives no whole answer in time. */
export function ask(
  url: string,
  { timeoutMs, headers = {} }: { readonly timeoutMs: number; readonly headers?: Record<string, string> },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers, signal: AbortSignal.timeout(timeoutMs) }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("error", reject).on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(parts).toString() }),
      );
    });
    asked.on("error", reject).end();
  });
}
