// A client of the submit route with fetch alone.
import { API_KEY } from "./user.js";

export interface Line {
  readonly index: number;
  readonly id: string;
  readonly success: boolean;
  readonly txHash?: string;
  readonly error?: { readonly code: string; readonly message: string; readonly reason?: string };
}

export interface Request {
  /** The request's body, instead of `{ transactions }`. */
  readonly body?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The API key; {@link API_KEY} by default. */
  readonly key?: string;
}

export function post(
  url: string,
  transactions: readonly unknown[],
  request: Request = {},
): Promise<Response> {
  const { body = JSON.stringify({ transactions }), query = "", headers = {}, key = API_KEY } = request;
  return fetch(`${url}/v1/submit${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body,
  });
}

/** Submits transactions and reads all lines of the answer. */
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
