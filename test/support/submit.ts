// The service's HTTP interface with fetch alone.
import { API_KEY } from "./user.js";

export interface Line {
  readonly index: number;
  readonly id: string;
  readonly success: boolean;
  readonly txHash?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly reason?: string };
}

export interface Request {
  /** In place of `{ transactions }`, sent as it is. */
  readonly body?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export function post(
  url: string,
  transactions: readonly unknown[],
  request: Request = {},
): Promise<Response> {
  const { body = JSON.stringify({ transactions }), query = "", headers = {} } = request;
  return fetch(`${url}/v1/submit${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json", ...headers },
    body,
  });
}

/** Submits and reads every line of the answer, split on newlines as the protocol has it. */
export async function submit(
  url: string,
  transactions: readonly unknown[],
  request?: Request,
): Promise<Line[]> {
  const response = await post(url, transactions, request);
  const text = await response.text();
  if (response.status !== 200) throw new Error(`status ${response.status}: ${text}`);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Line => JSON.parse(line));
}
