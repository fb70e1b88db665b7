import { randomBytes } from "node:crypto";
import { bytesToHex } from "@gas-waiver/protocol";
import type { ChainTransaction } from "../block/transaction.js";
import type { Chain } from "../chain/chain.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import type { Connection, Methods } from "../rpc/method.js";
import { boolean, object, optional, shortJson } from "../rpc/params.js";
import { formatHeader, formatTransaction } from "./format.js";
import { type LogFilter, matchingLogs, readLogFilter } from "./logs.js";

const MAX_SUBSCRIPTIONS = 1_000;

type Push = (result: unknown) => void;

/** eth_subscribe and eth_unsubscribe, which need a WebSocket. */
export function subscriptionMethods(chain: Chain): Methods {
  return {
    eth_subscribe: ([kind, options], connection) => {
      const { notify, subscriptions } = requireConnection(connection);
      const subscribe = readSubscription(chain, kind, options);
      if (subscriptions.size >= MAX_SUBSCRIPTIONS) {
        throw new RpcError(
          RPC_CODES.limitExceeded,
          `a connection has at most ${MAX_SUBSCRIPTIONS} subscriptions`,
        );
      }
      const id = newId();
      subscriptions.set(
        id,
        subscribe((result) => notify("eth_subscription", { subscription: id, result })),
      );
      return id;
    },
    eth_unsubscribe: ([id], connection) => {
      const { subscriptions } = requireConnection(connection);
      const unsubscribe = typeof id === "string" ? subscriptions.get(id) : undefined;
      if (typeof id !== "string" || unsubscribe === undefined) {
        throw new RpcError(RPC_CODES.refused, `subscription not found: ${shortJson(id)}`);
      }
      unsubscribe();
      return subscriptions.delete(id);
    },
  };
}

/** A random id of 16 bytes, so that a client cannot guess the ids of others. */
export function newId(): string {
  return bytesToHex(Uint8Array.from(randomBytes(16)));
}

function requireConnection(connection: Connection | undefined) {
  if (connection === undefined) {
    throw new RpcError(RPC_CODES.methodNotFound, "notifications not supported: subscribe over a WebSocket");
  }
  return { notify: connection.notify.bind(connection), subscriptions: connection.subscriptions };
}

/** @returns a function that starts the subscription and returns the function that ends it. */
function readSubscription(chain: Chain, kind: unknown, options: unknown): (push: Push) => () => void {
  if (kind === "newHeads") return (push) => chain.onBlock((block) => push(formatHeader(block)));
  if (kind === "logs") {
    const filter = readLogFilter(optional(options, {}, (value) => object(value, "the filter")));
    return (push) => subscribeLogs(chain, filter, push);
  }
  if (kind === "newPendingTransactions") {
    const full = optional(options, false, (value) => boolean(value, "the second parameter"));
    const show = (tx: ChainTransaction) => (full ? formatTransaction(tx, undefined) : tx.hash);
    return (push) => chain.pool.onTransaction((tx) => push(show(tx)));
  }
  throw invalidParams(`there is no subscription ${shortJson(kind)}: newHeads, logs, newPendingTransactions`);
}

/** Pushes the logs of new blocks, and with `removed: true` the logs of blocks that a revert removes. */
function subscribeLogs(chain: Chain, filter: LogFilter, push: Push): () => void {
  const stops = [
    chain.onBlock((block) => {
      for (const log of matchingLogs(block, filter)) push(log);
    }),
    chain.onRemoved((block) => {
      for (const log of matchingLogs(block, filter)) push({ ...log, removed: true });
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
