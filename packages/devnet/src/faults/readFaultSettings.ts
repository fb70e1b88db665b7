import type { Hex } from "@gas-waiver/protocol";
import { shortJson } from "../rpc/params.js";
import {
  CALL_FAULTS,
  EXCHANGE_FAULTS,
  type FaultSettings,
  isControl,
  type PlannedChange,
  SEND_ANSWERS,
} from "./faultSettings.js";

/** Thrown for invalid settings. It lists their problems. */
export class InvalidFaultsError extends Error {
  override readonly name = "InvalidFaultsError";

  constructor(readonly problems: readonly string[]) {
    super(`invalid faults: ${problems.join("; ")}`);
  }
}

const MAX_COUNT = 1_000_000;
const MAX_DELAY_MS = 600_000;

/** Checks one setting. Returns a description of valid values if the value is invalid. */
type Check = (value: unknown) => string | undefined;

const share: Check = (value) =>
  typeof value === "number" && value >= 0 && value <= 1 ? undefined : "a share from 0 to 1";
const integer =
  (max: number): Check =>
  (value) =>
    isInteger(value, max) ? undefined : `a whole number from 0 to ${max}`;
const planned: Check = (value) =>
  Array.isArray(value) && value.every(isPlanned)
    ? undefined
    : 'a list of {"waiver": "0x…", "block": number} with at least block 1';

const CHECKS: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    [...EXCHANGE_FAULTS, ...CALL_FAULTS, "delay", "cutSockets"].map((name) => [name, share]),
  ),
  ...Object.fromEntries(SEND_ANSWERS.map((name) => [name, integer(MAX_COUNT)])),
  seed: integer(2 ** 32 - 1),
  methods: (value) =>
    Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === "string")
      ? undefined
      : "a list of method names",
  delayMs: (value) =>
    isRange(value)
      ? undefined
      : `two whole numbers of milliseconds, the smaller first, at most ${MAX_DELAY_MS}`,
  rateLimit: integer(MAX_COUNT),
  rateWindowMs: integer(MAX_DELAY_MS),
  revoke: planned,
  register: planned,
};

/**
 * Checks the settings of faults.
 * @param methods the names of the node's methods.
 * @throws {@link InvalidFaultsError} with every invalid value, or, if all are valid, with every contradiction.
 */
export function readFaultSettings(given: unknown, methods: readonly string[]): FaultSettings {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new InvalidFaultsError([`the faults are ${shortJson(given)}, not an object`]);
  }
  const problems: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    const check = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
    const validValues = check?.(value);
    if (check === undefined) {
      problems.push(`${name} is not a fault; the faults are ${Object.keys(CHECKS).join(", ")}`);
    } else if (validValues !== undefined) problems.push(`${name} is ${shortJson(value)}, not ${validValues}`);
  }
  const settings = given as FaultSettings;
  if (problems.length === 0) {
    problems.push(...sharesProblems(settings), ...methodProblems(settings.methods ?? [], methods));
  }
  if (problems.length > 0) throw new InvalidFaultsError(problems);
  return settings;
}

/** The shares of faults that exclude each other must not add up to more than 1. */
function sharesProblems(settings: FaultSettings): string[] {
  return [EXCHANGE_FAULTS, CALL_FAULTS].flatMap((names) => {
    const used = names.filter((name) => (settings[name] ?? 0) > 0);
    const sum = used.reduce((total, name) => total + (settings[name] ?? 0), 0);
    return sum > 1 + 1e-9
      ? [`${used.join(", ")} exclude each other, and their shares add up to ${sum}, more than 1`]
      : [];
  });
}

function methodProblems(named: readonly string[], known: readonly string[]): string[] {
  return named.flatMap((name) => {
    if (name === "*") return [];
    if (isControl(name)) return [`methods has ${name}, which steers the node and is never affected`];
    return known.includes(name) ? [] : [`methods has ${shortJson(name)}, which is not a method of this node`];
  });
}

/**
 * Reads faults in the form of the command line: `drop=0.1`, `delayMs=50-500`, `methods=eth_call+eth_getLogs`,
 * `revoke=0xWAIVER@120`. The names `methods`, `revoke` and `register` may come several times.
 * @throws {@link InvalidFaultsError} with every problem of the form. {@link createDevnet} checks the values.
 * @example
 * ```ts
 * await createDevnet({ faults: parseFaults(["drop=0.1", "delay=0.5", "delayMs=50-500"]) });
 * ```
 */
export function parseFaults(pairs: readonly string[]): FaultSettings {
  const settings: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const pair of pairs) {
    const [, name, text] = /^([A-Za-z0-9]+)=(.+)$/.exec(pair) ?? [];
    if (name === undefined || text === undefined) problems.push(`${shortJson(pair)} is not name=value`);
    else if (name === "methods") settings[name] = [...listOf(settings[name]), ...text.split("+")];
    else if (name === "revoke" || name === "register") {
      settings[name] = [...listOf(settings[name]), parsePlanned(text)];
    } else if (Object.hasOwn(settings, name)) problems.push(`${name} is given more than once`);
    else settings[name] = name === "delayMs" ? parseRange(text) : numberOf(text);
  }
  if (problems.length > 0) throw new InvalidFaultsError(problems);
  return settings;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function parsePlanned(text: string): unknown {
  const [waiver, block = ""] = text.split("@");
  return { waiver, block: numberOf(block) };
}

function parseRange(text: string): unknown {
  const [from = "", to = from] = text.split("-");
  return [numberOf(from), numberOf(to)];
}

/** The number, or the text itself, which the check of values then reports. */
function numberOf(text: string): number | string {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

function isInteger(value: unknown, max: number): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max;
}

function isRange(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [from, to] = value as unknown[];
  return isInteger(from, MAX_DELAY_MS) && isInteger(to, MAX_DELAY_MS) && from <= to;
}

function isPlanned(value: unknown): value is PlannedChange {
  if (typeof value !== "object" || value === null) return false;
  const { waiver, block, ...rest } = value as Record<string, unknown>;
  return isAddress(waiver) && isInteger(block, 2 ** 32) && block > 0 && Object.keys(rest).length === 0;
}

export function isAddress(value: unknown): value is Hex {
  return typeof value === "string" && /^0x[0-9a-fA-F]{40}$/.test(value);
}
