import { type AnySubmissionRecord, bytesToHex } from "@gas-waiver/protocol";
import type { LaneStatus } from "@gas-waiver/server";
import type { Terminal } from "../command.js";
import { laneJson } from "../lanes/laneOutput.js";
import { type Cell, tableLines } from "../output/table.js";
import type { Answer, NodeHead, ServiceStatus } from "./serviceStatus.js";

/** One line of the table. */
interface Row {
  readonly part: string;
  readonly state: string;
  readonly isWell: boolean;
  readonly detail: string;
}

const COLUMNS = [{ title: "part", shortens: true }, { title: "state" }, { title: "detail" }];

export function statusLines(status: ServiceStatus, terminal: Terminal | undefined): string[] {
  const rows = rowsOf(status).map(({ part, state, isWell, detail }): (Cell | string)[] => [
    part,
    { text: state, tone: isWell ? "good" : "bad" },
    detail,
  ]);
  return [...tableLines(COLUMNS, rows, terminal), ...missing(status)];
}

/** Whether everything that was asked answers and is as it should be. */
export function isWell(status: ServiceStatus): boolean {
  return rowsOf(status).every((row) => row.isWell);
}

function rowsOf({ url, health, readiness, policy, lanes, nodes }: ServiceStatus): Row[] {
  return [
    rowOf("service", health, ({ version, chainId }) => ({
      ...{ state: "serves", isWell: true, detail: `${url}, version ${version}, chain ${chainId}` },
    })),
    ...(readiness ? readinessRows(readiness) : []),
    ...(lanes ? laneRows(lanes) : []),
    ...(policy && "value" in policy
      ? policy.value.waivers.map(({ address, usable, message, allowedTargets }) => ({
          part: `waiver ${address}`,
          state: usable ? "usable" : "not usable",
          // One that drains or waits is no fault while another can carry.
          isWell: true,
          detail: message ?? `${allowedTargets.length} target(s)`,
        }))
      : []),
    ...nodes.map(nodeRow),
  ];
}

type RowContent = Omit<Row, "part">;

function rowOf<T>(part: string, answer: Answer<T>, content: (value: T) => RowContent): Row {
  if ("value" in answer) return { part, ...content(answer.value) };
  return { part, state: "no answer", isWell: false, detail: answer.trouble };
}

function readinessRows(readiness: NonNullable<ServiceStatus["readiness"]>): Row[] {
  const summary = rowOf("readiness", readiness, ({ ready }) => ({
    ...{ state: ready ? "ready" : "not ready", isWell: ready, detail: "" },
  }));
  if (!("value" in readiness)) return [summary];
  const parts = Object.entries(readiness.value.parts).map(([name, { ok, message, ...rest }]) => ({
    part: `  ${name}`,
    state: ok ? "ok" : "not ok",
    isWell: ok,
    detail: message ?? ("usable" in rest ? `${rest.usable} take work` : ""),
  }));
  return [summary, ...parts];
}

function laneRows(lanes: NonNullable<ServiceStatus["lanes"]>): Row[] {
  if (!("value" in lanes)) return [rowOf("lanes", lanes, () => ({ state: "", isWell: true, detail: "" }))];
  const sum = (count: (lane: LaneStatus) => number) =>
    lanes.value.reduce((all, lane) => all + count(lane), 0);
  const oldestMs = Math.max(0, ...lanes.value.map((lane) => lane.oldestMs));
  return [
    {
      part: "queue",
      state: `${sum(({ queued }) => queued)} queued`,
      isWell: true,
      detail: `${sum(({ inFlight }) => inFlight)} signed or broadcast${oldestMs > 0 ? `, the oldest queued for ${seconds(oldestMs)} s` : ""}`,
    },
    ...lanes.value.map(laneRow),
  ];
}

function laneRow(lane: LaneStatus): Row {
  const { state, reason, broken, owner, queued, inFlight } = lane;
  const worked = owner === undefined ? "worked by nobody" : `worked by ${owner.slice(0, 8)}`;
  const because = reason === undefined ? "" : `: ${reason}`;
  return {
    part: `lane ${bytesToHex(lane.waiver)}`,
    state: broken ? `${state}, breaker open` : state,
    isWell: state !== "stopped" && !broken,
    detail: `${worked}, ${queued} queued, ${inFlight} signed or broadcast${because}`,
  };
}

function nodeRow({ url, head }: NodeHead): Row {
  return rowOf(`node ${url}`, head, ({ chainId, number, ageSeconds }) => ({
    ...{ state: "answers", isWell: true, detail: `block ${number}, ${ageSeconds} s old, chain ${chainId}` },
  }));
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1);

/** Names what was not asked, and how to ask it. */
function missing({ readiness, lanes, nodes }: ServiceStatus): string[] {
  return [
    ...(readiness ? [] : ["readiness and waivers: give GAS_WAIVER_API_KEY or --api-key-file"]),
    ...(lanes ? [] : ["lanes and queue: give DATABASE_URL or --data-dir"]),
    ...(nodes.length > 0 ? [] : ["heads of nodes: give --rpc-url"]),
  ];
}

/** The status as JSON. Programs read these names. */
export function statusJson(status: ServiceStatus): string {
  const { lanes, policy, ...rest } = status;
  const laneList = lanes && "value" in lanes ? { value: lanes.value.map(laneJson) } : lanes;
  const waivers = policy && "value" in policy ? { value: policy.value.waivers } : policy;
  return JSON.stringify({ well: isWell(status), ...rest, waivers, lanes: laneList });
}

/** The record of a submission, a line for each member that it has. */
export function recordLines(record: AnySubmissionRecord, terminal: Terminal | undefined): string[] {
  const { error, ...members } = record;
  const isBad = record.state === "failed" || ("reverted" in record && record.reverted === true);
  const rows = Object.entries(members).map(([name, value]): (Cell | string)[] => [
    name,
    name === "state" ? { text: String(value), tone: isBad ? "bad" : "good" } : String(value),
  ]);
  const reason = error ? [["error", `${error.reason ?? error.code}: ${error.message}`]] : [];
  return tableLines([{ title: "member" }, { title: "value" }], [...rows, ...reason], terminal);
}
