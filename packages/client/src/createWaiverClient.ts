import type {
  CheckLine,
  Health,
  KeyPolicy,
  Readiness,
  ResultLine,
  SubmissionPage,
  SubmissionRecord,
} from "@gas-waiver/protocol/wire";
import { type CheckOptions, check } from "./actions/check.js";
import { type HealthOptions, health } from "./actions/health.js";
import { type ListOptions, type ListPageOptions, list, listPage } from "./actions/list.js";
import { type PolicyOptions, policy } from "./actions/policy.js";
import { type ReadyOptions, ready } from "./actions/ready.js";
import { type StatusOptions, status } from "./actions/status.js";
import { type SubmitOptions, submit } from "./actions/submit.js";
import { type WaitOptions, wait } from "./actions/wait.js";
import { type ConnectionOptions, createConnection } from "./http/connection.js";

export type WaiverClientOptions = ConnectionOptions;

/** The actions of this package, bound to one service. */
export interface WaiverClient {
  /** See {@link submit}. */
  submit(transactions: readonly string[], options?: SubmitOptions): AsyncIterable<ResultLine>;
  /** See {@link check}. */
  check(transactions: readonly string[], options?: CheckOptions): Promise<CheckLine[]>;
  /** See {@link policy}. */
  policy(options?: PolicyOptions): Promise<KeyPolicy>;
  /** See {@link status}. */
  status(id: string, options?: StatusOptions): Promise<SubmissionRecord>;
  /** See {@link list}. */
  list(options?: ListOptions): AsyncIterable<SubmissionRecord>;
  /** See {@link listPage}. */
  listPage(options?: ListPageOptions): Promise<SubmissionPage>;
  /** See {@link wait}. */
  wait(id: string, options?: WaitOptions): Promise<SubmissionRecord>;
  /** See {@link health}. */
  health(options?: HealthOptions): Promise<Health>;
  /** See {@link ready}. */
  ready(options?: ReadyOptions): Promise<Readiness>;
}

/**
 * A client of one gas-waiver service. It holds no connection, so there is nothing to close.
 * @throws TypeError if the address or the key cannot be used.
 */
export function createWaiverClient(options: WaiverClientOptions): WaiverClient {
  const connection = createConnection(options);
  return {
    submit: (transactions, submitOptions) => submit(connection, transactions, submitOptions),
    check: (transactions, checkOptions) => check(connection, transactions, checkOptions),
    policy: (policyOptions) => policy(connection, policyOptions),
    status: (id, statusOptions) => status(connection, id, statusOptions),
    list: (listOptions) => list(connection, listOptions),
    listPage: (pageOptions) => listPage(connection, pageOptions),
    wait: (id, waitOptions) => wait(connection, id, waitOptions),
    health: (healthOptions) => health(connection, healthOptions),
    ready: (readyOptions) => ready(connection, readyOptions),
  };
}
