import { bytesToHex, type WaiverAccount } from "@gas-waiver/protocol";
import { InvalidOptionsError } from "../errors.js";
import type { ResolvedOptions, ServerOptions } from "./options.js";
import { OPTIONS, type Options } from "./optionTable.js";
import { resolveOptions } from "./reloadableOptions.js";

/** The options of the process and its ports, which all of its networks share. */
export const SHARED_OPTIONS = (Object.keys(OPTIONS) as (keyof Options)[]).filter(
  (name): name is SharedOption => "scope" in OPTIONS[name] && OPTIONS[name].scope === "process",
);

type SharedOption = {
  [K in keyof Options]: Options[K] extends { readonly scope: "process" } ? K : never;
}[keyof Options];

/**
 * The options of one network among several: its place, and the options of its chain, waivers, policy, keys and limits. The
 * default of `schema` is `gas_waiver_` and the name, with `_` for hyphens.
 */
export interface NetworkOptions extends Omit<ServerOptions, SharedOption> {
  /**
   * Lower-case letters, digits and hyphens. Metrics and the log name the network by it, and the operators' ports have it in their
   * paths. The only network of a service needs none: then all paths of all ports are its own, and the service starts only if it
   * can start.
   */
  readonly name?: string;
  /**
   * The beginning of the network's paths, such as `/mainnet`; `/` for all paths that are of no other network. Default: `/` and
   * the name, or none where `hosts` are set.
   */
  readonly path?: string;
  /** The names in `Host`, without a port, whose requests are for the network if no path says otherwise. Default: none. */
  readonly hosts?: readonly string[];
}

/** The options of a service with one network or several. Those that are not of a network are shared. */
export interface NetworksOptions extends Pick<ServerOptions, SharedOption> {
  readonly networks: readonly NetworkOptions[];
}

/** A network with its place and all defaults. */
export interface ResolvedNetwork {
  /** Empty if {@link isAlone}. */
  readonly name: string;
  /** Whether the network is the only one, without a name. */
  readonly isAlone: boolean;
  readonly path: string | undefined;
  /** In lower case. */
  readonly hosts: readonly string[];
  readonly options: ResolvedOptions;
}

const NAME = /^[a-z](?:[a-z0-9-]{0,30}[a-z0-9])?$/;
const PATH = /^(?:\/|(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+)$/;
const HOST = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$|^\[[0-9a-f:]+\]$/;
/** The first segments of the service's own paths. */
const OWN_SEGMENTS: ReadonlySet<string> = new Set([
  "v1",
  "docs",
  "rpc",
  "admin",
  "livez",
  "readyz",
  "metrics",
]);

/**
 * Tells whether a path begins as one of the service's own does, so that no network may have it.
 * @example
 * ```ts
 * isServicePath("/v1/mainnet"); // true
 * isServicePath("/mainnet"); // false
 * ```
 */
export function isServicePath(path: string): boolean {
  const [, first = ""] = path.split("/");
  return OWN_SEGMENTS.has(first);
}

/**
 * Fills in the defaults of all networks, and checks all options.
 * @throws {@link InvalidOptionsError} with every problem. Secrets are never part of a message.
 */
export function resolveNetworks({
  networks,
  ...shared
}: NetworksOptions): readonly [ResolvedNetwork, ...ResolvedNetwork[]] {
  const [only] = networks;
  if (only && networks.length === 1 && only.name === undefined) return [resolveAlone({ ...shared, ...only })];
  const problems = networks.length === 0 ? ["networks is empty"] : [];
  const resolved = networks.map(({ name = "", path, hosts: givenHosts = [], ...options }) => {
    const hosts = givenHosts.map((host) => host.toLowerCase());
    const schema = `gas_waiver_${name.replaceAll("-", "_").toLowerCase()}`;
    const { options: all, problems: ofOptions } = tryToResolve({ schema, ...shared, ...options });
    const ofNetwork = [...placeProblems({ name, path, hosts }), ...ofOptions];
    problems.push(...ofNetwork.map((problem) => `network ${name}: ${problem}`));
    const place = { name, hosts, path: path ?? (hosts.length > 0 ? undefined : `/${name}`) };
    return { ...place, isAlone: false, options: all };
  });
  problems.push(...sharedProblems(resolved));
  if (problems.length > 0) throw new InvalidOptionsError(problems);
  return resolved as ResolvedNetwork[] as [ResolvedNetwork, ...ResolvedNetwork[]];
}

/** @throws {@link InvalidOptionsError} */
function resolveAlone({ path, hosts, ...options }: NetworkOptions & ServerOptions): ResolvedNetwork {
  const { options: resolved, problems } = tryToResolve(options);
  const ofPlace =
    path === undefined && hosts === undefined ? [] : ["path and hosts are of networks with names"];
  if (resolved === undefined || ofPlace.length > 0) throw new InvalidOptionsError([...ofPlace, ...problems]);
  return { name: "", isAlone: true, path: "/", hosts: [], options: resolved };
}

function tryToResolve(options: ServerOptions): { options?: ResolvedOptions; problems: readonly string[] } {
  try {
    return { options: resolveOptions(options), problems: [] };
  } catch (error) {
    if (error instanceof InvalidOptionsError) return { problems: error.problems };
    throw error;
  }
}

type Place = Pick<ResolvedNetwork, "name" | "path" | "hosts">;

/** Checks the place as it was given. The defaults follow from the name. */
function placeProblems({ name, path, hosts }: Place): string[] {
  const problems: string[] = [];
  if (!NAME.test(name))
    problems.push("name has other characters than lower-case letters, digits and hyphens, or more than 32");
  if (isServicePath(`/${name}`)) problems.push("name is a path of the service");
  if (path !== undefined && (!PATH.test(path) || isServicePath(path)))
    problems.push("path is not of the form /name, or is a path of the service");
  if (hosts.some((host) => !HOST.test(host)))
    problems.push("hosts has an entry that is no name of a host without a port");
  return problems;
}

/** Two networks with the same value would take each other's requests, tables or nonces. */
function sharedProblems(
  networks: readonly (Place & { readonly options?: ResolvedOptions | undefined })[],
): string[] {
  return [
    ...duplicates(
      "name",
      networks.map(({ name }) => name),
    ),
    ...duplicates(
      "path",
      networks.flatMap(({ path }) => path ?? []),
    ),
    ...duplicates(
      "host",
      networks.flatMap(({ hosts }) => hosts),
    ),
    ...duplicates(
      "schema",
      networks.flatMap(({ options }) => options?.schema ?? []),
    ),
    ...duplicates(
      "waiver of a chain",
      networks.flatMap(({ options }) => (options ? waiversOf(options.chainId, options.waivers) : [])),
    ),
  ];
}

/** Names each waiver with its chain: two lanes of one key would give the same nonces. */
export function waiversOf(chainId: number, waivers: readonly WaiverAccount[]): string[] {
  return [...new Set(waivers.map(({ address }) => `${bytesToHex(address)} on ${chainId}`))];
}

function duplicates(kind: string, values: readonly string[]): string[] {
  const twice = values.filter((value, i) => values.indexOf(value) !== i);
  return [...new Set(twice)].map((value) => `two networks have the ${kind} ${value}`);
}
