import { promisify } from "node:util";
import { gzip } from "node:zlib";
import {
  hexToBytes,
  ProtocolError,
  parseSubmissionsQuery,
  ROUTES,
  SUBMISSION_STATES,
  type SubmissionPage,
  type SubmissionsQuery,
} from "@gas-waiver/protocol";
import type { FastifyInstance, onRequestAsyncHookHandler } from "fastify";
import { validate as isUuid, parse as uuidBytes } from "uuid";
import type { BroadcastBuffer } from "../../lane/broadcastBuffer.js";
import type { Caller } from "../../model/caller.js";
import { storeErrors } from "../../model/unavailable.js";
import { firstIdAt, HIGHEST_ID, type ListFilter, LOWEST_ID, listSubmissions } from "../../store/list.js";
import { findSubmissionsOf } from "../../store/readers.js";
import type { Store } from "../../store/store.js";
import type { Authenticator } from "../auth.js";
import { acceptsGzip } from "../body/gzip.js";
import { addVary } from "../vary.js";
import { toSubmissionRecord } from "./record.js";

export interface SubmissionsDependencies {
  readonly store: Store;
  readonly chainRef: number;
  readonly authenticator: Authenticator;
  /** Who was told of a broadcast finds it in the record. */
  readonly broadcastBuffer: Pick<BroadcastBuffer, "flush">;
}

const compress = promisify(gzip);

/** What became of submissions (D15, D17): one by its id, or a list. A key sees only its own. */
export function registerSubmissions(app: FastifyInstance, dependencies: SubmissionsDependencies): void {
  const { store, chainRef, authenticator, broadcastBuffer } = dependencies;
  const authenticate: onRequestAsyncHookHandler = async (request) => {
    request.caller = authenticator.authenticate(request.headers.authorization);
  };
  app.route<{ Params: { id: string } }>({
    method: ROUTES.submission.method,
    url: ROUTES.submission.path,
    onRequest: authenticate,
    handler: async (request) => {
      const { id } = request.params;
      const { keyId } = request.caller;
      const find = () => storeErrors(() => findSubmissionsOf(store, keyId, [id]));
      let [submission] = isUuid(id) ? await find() : [];
      if (submission?.state === "signed") {
        await broadcastBuffer.flush();
        [submission] = await find();
      }
      if (submission === undefined) {
        throw new ProtocolError("NO_SUCH_SUBMISSION", "this key has no submission with this id");
      }
      return toSubmissionRecord(submission);
    },
  });
  app.route<{ Querystring: Record<string, unknown> }>({
    method: ROUTES.submissions.method,
    url: ROUTES.submissions.path,
    onRequest: authenticate,
    handler: async (request, reply) => {
      const filter = filterOf(parseSubmissionsQuery(request.query), request.caller, chainRef);
      await broadcastBuffer.flush();
      const { submissions, next } = await storeErrors(() => listSubmissions(store, filter));
      const page: SubmissionPage = {
        submissions: submissions.map(toSubmissionRecord),
        ...(next !== undefined && { next: cursorOf(next) }),
      };
      reply.header("cache-control", "no-store");
      addVary(reply, "accept-encoding");
      if (!acceptsGzip(request.headers["accept-encoding"])) return reply.send(page);
      reply.header("content-encoding", "gzip").type("application/json; charset=utf-8");
      return reply.send(await compress(JSON.stringify(page)));
    },
  });
}

/** The times are those in the ids, by which the list is sorted. */
function filterOf(query: SubmissionsQuery, { keyId }: Caller, chain: number): ListFilter {
  const { sender, txHash, states = SUBMISSION_STATES, from, to, limit, cursor } = query;
  const end = to ? firstIdAt(to) : HIGHEST_ID;
  const place = cursor === undefined ? HIGHEST_ID : idOf(cursor);
  return {
    chain,
    keyId,
    states,
    sender: sender === undefined ? undefined : hexToBytes(sender),
    innerHash: txHash === undefined ? undefined : hexToBytes(txHash),
    from: from ? firstIdAt(from) : LOWEST_ID,
    before: place < end ? place : end,
    limit,
  };
}

/** A place in a list is the id that it goes on before: the same one whatever comes and moves meanwhile. */
function cursorOf(id: string): string {
  return Buffer.from(uuidBytes(id)).toString("base64url");
}

/** @throws {@link ProtocolError} `MALFORMED_QUERY`. */
function idOf(cursor: string): string {
  const hex = Buffer.from(cursor, "base64url").toString("hex");
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  if (isUuid(id) && cursorOf(id) === cursor) return id;
  const message = `cursor is ${JSON.stringify(cursor)}; it must be \`next\` of the page before, unchanged`;
  throw new ProtocolError("MALFORMED_QUERY", message, { name: "cursor" });
}
