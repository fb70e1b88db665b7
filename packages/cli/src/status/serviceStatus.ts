import { existsSync } from "node:fs";
import { type KeyPolicy, type Readiness, type WaiverClient, WaiverClientError } from "@gas-waiver/client";
import type { LaneStatus } from "@gas-waiver/server";
import { CommandFailedError } from "../errorMessage.js";
import { JsonRpcClient } from "../jsonRpcClient.js";
import { type StoreValues, withLanes } from "../store/withStore.js";

/** An answer, or the reason why there is none. */
export type Answer<T> = { readonly value: T } | { readonly trouble: string };

export interface NodeHead {
  /** The origin alone: the path of a node may hold a key. */
  readonly url: string;
  readonly head: Answer<{ readonly chainId: string; readonly number: string; readonly ageSeconds: number }>;
}

export interface ServiceStatus {
  readonly url: string;
  readonly health: Answer<{ readonly version: string; readonly chainId: number }>;
  /** Undefined without an API key, as is `policy`. */
  readonly readiness: Answer<Readiness> | undefined;
  readonly policy: Answer<KeyPolicy> | undefined;
  /** Undefined where no store is named. */
  readonly lanes: Answer<readonly LaneStatus[]> | undefined;
  readonly nodes: readonly NodeHead[];
}

export interface StatusSources {
  readonly url: string;
  readonly client: WaiverClient;
  readonly hasKey: boolean;
  readonly store: StoreValues;
  readonly rpcUrls: readonly string[];
  readonly signal: AbortSignal;
}

const DEFAULT_DATA_DIR = ".gas-waiver";

/** Asks the service, its store and the nodes, as far as they are named. One that gives no answer hides none of the others. */
export async function readServiceStatus(sources: StatusSources): Promise<ServiceStatus> {
  const { url, client, hasKey, store, rpcUrls, signal } = sources;
  const { config: _, ...places } = store;
  const isNamed = Object.values(places).some((place) => place !== undefined);
  const hasStore = isNamed || existsSync(DEFAULT_DATA_DIR);
  const [health, readiness, policy, lanes, nodes] = await Promise.all([
    answerOf(client.health({ signal })),
    hasKey ? answerOf(client.ready({ signal })) : undefined,
    hasKey ? answerOf(client.policy({ signal })) : undefined,
    hasStore ? answerOf(withLanes(store, (admin) => admin.list())) : undefined,
    Promise.all(rpcUrls.map((node) => readHead(node, signal))),
  ]);
  return { url, health, readiness, policy, lanes, nodes };
}

async function readHead(url: string, signal: AbortSignal): Promise<NodeHead> {
  const node = new JsonRpcClient(url, signal);
  const read = async () => {
    const chainId = await node.quantity("eth_chainId");
    const block = await node.request<{ number: string; timestamp: string }>("eth_getBlockByNumber", [
      "latest",
      false,
    ]);
    const ageSeconds = Math.max(0, Math.round(Date.now() / 1_000 - Number(block.timestamp)));
    return { chainId: chainId.toString(), number: BigInt(block.number).toString(), ageSeconds };
  };
  return { url: new URL(url).origin, head: await answerOf(read()) };
}

async function answerOf<T>(asking: Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await asking };
  } catch (error) {
    if (error instanceof WaiverClientError || error instanceof CommandFailedError) {
      return { trouble: error.message };
    }
    throw error;
  }
}
