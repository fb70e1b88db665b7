import { promisify } from "node:util";
import { gzip } from "node:zlib";
import {
  hexToBytes,
  ProtocolError,
  parseSubmissionsQuery,
  SUBMISSION_STATES,
  type SubmissionPage,
  type SubmissionsQuery,
} from "@gas-waiver/protocol";
import type { FastifyReply } from "fastify";
import { validate as isUuid, parse as uuidBytes } from "uuid";
import type { Caller } from "../../model/keys/caller.js";
import { toSubmissionRecord } from "../../model/submission/submissionRecord.js";
import { mapStoreErrors } from "../../store/database/storeTrouble.js";
import type { Store } from "../../store/store.js";
import {
  firstIdAt,
  HIGHEST_ID,
  type ListFilter,
  LOWEST_ID,
  listSubmissions,
} from "../../store/submissions/listSubmissions.js";
import type { AuthenticatedRequest } from "../authenticator.js";
import { addVary } from "../vary.js";
import type { RouteServices } from "./routeHandler.js";

const compress = promisify(gzip);

/** `GET /v1/submissions`: a page of the key's own submissions, newest first (D15, D17). */
export function serveSubmissions({
  store,
  chainRef,
  lanes,
  readLimiter,
}: Pick<RouteServices, "store" | "chainRef" | "lanes" | "readLimiter">) {
  return {
    async handler({ query, caller, headers }: AuthenticatedRequest, reply: FastifyReply) {
      const filter = filterOf(parseSubmissionsQuery(query), caller, chainRef);
      readLimiter.count(caller, filter.limit);
      // A client that has got the line of a broadcast must find the broadcast in the list.
      await lanes.flush();
      const page = await readLimiter.readOn(caller, () => readPage(store, filter));
      reply.header("cache-control", "no-store");
      addVary(reply, "accept-encoding");
      if (!acceptsGzip(headers["accept-encoding"])) return reply.send(page);
      reply.header("content-encoding", "gzip").type("application/json; charset=utf-8");
      return reply.send(await compress(JSON.stringify(page)));
    },
  };
}

async function readPage(store: Store, filter: ListFilter): Promise<SubmissionPage> {
  const { submissions, next } = await mapStoreErrors(() => listSubmissions(store, filter));
  return {
    submissions: submissions.map(toSubmissionRecord),
    ...(next !== undefined && { next: toCursor(next) }),
  };
}

/** Compares ids instead of times: an id begins with its time, and the list is sorted by ids. */
function filterOf(query: SubmissionsQuery, { keyId }: Caller, chain: number): ListFilter {
  const { sender, txHash, states = SUBMISSION_STATES, from, to, limit, cursor } = query;
  const end = to ? firstIdAt(to) : HIGHEST_ID;
  const position = cursor === undefined ? HIGHEST_ID : idIn(cursor);
  return {
    chain,
    keyId,
    states,
    sender: sender === undefined ? undefined : hexToBytes(sender),
    innerHash: txHash === undefined ? undefined : hexToBytes(txHash),
    from: from ? firstIdAt(from) : LOWEST_ID,
    before: position < end ? position : end,
    limit,
  };
}

/** A cursor is the last id of its page. Submissions that come or change in the meantime do not move it. */
function toCursor(id: string): string {
  return Buffer.from(uuidBytes(id)).toString("base64url");
}

/** @throws {@link ProtocolError} `MALFORMED_QUERY`. */
function idIn(cursor: string): string {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  if (isUuid(id) && toCursor(id) === cursor) return id;
  const message = `cursor is ${JSON.stringify(cursor)}; it must be \`next\` of the page before, unchanged`;
  throw new ProtocolError("MALFORMED_QUERY", message, { parameter: "cursor" });
}

const GZIP = /(?:^|,)[ \t]*(?:x-)?gzip[ \t]*(?:;[ \t]*q=([\d.]+)[ \t]*)?(?:,|$)/i;

/** @returns whether `Accept-Encoding` names gzip (RFC 9110, 12.5.3). `*` does not count. */
export function acceptsGzip(acceptEncoding: string | string[] | undefined): boolean {
  const [found, weight = "1"] = GZIP.exec(String(acceptEncoding ?? "")) ?? [];
  return found !== undefined && Number(weight) > 0;
}
