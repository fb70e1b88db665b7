import { NDJSON, SUBMISSION_ROUTE } from "@gas-waiver/protocol/wire";
import { noSuchSubmission, serviceTrouble } from "./refusal.js";

/** The service behind a relay. */
export type RelayedService = ReturnType<typeof relayedService>;

/** The parts of a request that reach the service. The relay writes them all. */
export interface RelayedRequest {
  readonly method: "GET" | "POST";
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
}

interface ServiceOptions {
  /** The base address, without a slash at the end. */
  readonly base: string;
  readonly apiKey: string;
  readonly fetch: typeof globalThis.fetch;
  onError(error: unknown): void;
}

export function relayedService({ base, apiKey, fetch, onError }: ServiceOptions) {
  return {
    /**
     * Sends one request with the key.
     * @returns the answer, for the relay to read.
     * @throws RelayRefusal where no answer came, or one that is not the caller's business.
     */
    async send(path: string, { method, query, headers, body, signal }: RelayedRequest) {
      const search = query && Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : "";
      const init: RequestInit = {
        method,
        headers: {
          accept: `${NDJSON}, application/json`,
          ...headers,
          ...(body !== undefined && { "content-type": "application/json" }),
          authorization: `Bearer ${apiKey}`,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal,
        // A redirect could take the request to another place.
        redirect: "manual",
      };
      const response = await fetch(`${base}${path}${search}`, init).catch((error: unknown) => {
        if (!signal.aborted) onError(error);
        throw serviceTrouble(502);
      });
      assertRelayable(response, onError);
      return response;
    },
  };
}

/** Asserts that the answer is the service's, and about the caller's request and not about the relay's key. */
function assertRelayable(response: Response, onError: (error: unknown) => void): void {
  const { status } = response;
  const type = (response.headers.get("content-type") ?? "").split(";")[0]?.trim();
  const isKnown = type === NDJSON || type === "application/json";
  const isAboutKey = status === 401 || status === 403;
  if (isKnown && !isAboutKey && (status === 200 || status >= 400)) return;
  response.body?.cancel().catch(() => undefined);
  const answer = `status ${status} and the type ${type || "of nothing"}`;
  onError(new Error(isAboutKey ? `the service refuses the relay's key: ${answer}` : `unexpected ${answer}`));
  throw serviceTrouble(isAboutKey ? 500 : 502);
}

/** The header fields of the service that the caller gets. The others tell of the key's use by everybody. */
const PASSED = ["content-type", "cache-control", "retry-after"];

/** Passes an answer on as it comes. */
export function passed(response: Response): Response {
  const headers = new Headers({ "x-content-type-options": "nosniff" });
  for (const name of PASSED) {
    const value = response.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(response.body, { status: response.status, headers });
}

/** Reads a record. @throws RelayRefusal if there is none. */
export async function readRecord(
  service: RelayedService,
  id: string,
  signal: AbortSignal,
): Promise<Response> {
  const response = await service.send(SUBMISSION_ROUTE.path.replace(":id", id), { method: "GET", signal });
  if (response.status !== 404) return response;
  response.body?.cancel().catch(() => undefined);
  throw noSuchSubmission();
}
