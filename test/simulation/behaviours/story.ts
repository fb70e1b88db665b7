import type { Behaviour, Deed, Subject } from "./behaviour.js";

/** Tells a behaviour as a sentence. */
export function tell(behaviour: Behaviour): string {
  const { from, to, share, subject, does } = behaviour;
  const span = to === null ? `From ${seconds(from)} on, for good` : `From ${seconds(from)} to ${seconds(to)}`;
  const often = share >= 1 ? "" : ` (${Math.round(share * 100)} % of the time)`;
  return `${span}${often}: ${deedOf(does)}${subjectOf(subject)}.`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function subjectOf({
  endpoint,
  method,
  sender,
  nonce,
  firstWrapper,
  block,
  moreThan,
  unknown,
}: Subject): string {
  const whose = [
    ...(firstWrapper === true ? ["the first wrapper of"] : []),
    ...(nonce === undefined ? [] : [`nonce ${nonce} of`]),
  ].join(" ");
  const parts = [
    endpoint === undefined ? "" : `at endpoint ${endpoint}`,
    method === undefined ? "" : `for ${method}`,
    sender === undefined ? "" : `of ${whose === "" ? "" : `${whose} `}user ${sender}`,
    block === undefined ? "" : `for block ${block}`,
    moreThan === undefined ? "" : `in lists of more than ${moreThan} calls`,
    unknown === true ? "where the answer would be null" : "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "" : `, ${parts.join(", ")}`;
}

const after = (when: "before" | "after") =>
  when === "before" ? "before the node has seen the request" : "after the node has done the work";

function deedOf(does: Deed): string {
  switch (does.deed) {
    case "no connection":
      return `no connection can be made (${does.code})`;
    case "reset":
      return `${does.keptOnly ? "kept connections are" : "the connection is"} reset ${after(does.when)}`;
    case "hang":
      return `no answer ever comes; it hangs ${after(does.when)}`;
    case "status":
      return `HTTP ${does.status} with ${JSON.stringify(does.body)}${silenceIn(does.retryAfter)} ${after(does.when)}`;
    case "one error":
      return `one error object ${JSON.stringify(does.error)} with id ${JSON.stringify(does.id)} and HTTP ${does.status} for the whole request, ${after(does.when)}`;
    case "cut":
      return `answers are cut after ${Math.round(does.share * 100)} % of their bytes`;
    case "twice":
      return "each request reaches the node twice, and the second answer comes back";
    case "another node":
      return "a load balancer gives requests to the node of another endpoint";
    case "another order":
      return "the answers of a list come in another order";
    case "foreign ids":
      return `the ids of a list's answers are moved by ${does.by}`;
    case "missing answers":
      return `${Math.round(does.share * 100)} % of a list's answers are missing`;
    case "slow":
      return `answers take ${does.ms} ms more`;
    case "result":
      return `calls have the result ${JSON.stringify(does.value)}, ${after(does.when)}`;
    case "error":
      return `calls have the error ${JSON.stringify(does.error)}, ${after(does.when)}`;
    case "member":
      return does.value === undefined
        ? `the member ${does.name} is missing`
        : `the member ${does.name} is ${JSON.stringify(does.value)}`;
    case "behind":
      return `the node shows the state of ${does.blocks} blocks ago`;
    case "another fork":
      return `the node shows other blocks for the newest ${does.blocks}`;
    case "pruned":
      return `the ${does.what} of all but the newest ${does.blocks} blocks are gone`;
    case "block times":
      return `blocks have times ${does.seconds} s away from the true ones`;
    case "forget":
      return "nodes accept wrappers and forget them at once";
    case "never include":
      return "pools take wrappers that no block ever includes";
    case "evict":
      return `pools evict wrappers every ${does.everyMs} ms`;
    case "reorg":
      return `the newest ${does.depth} blocks are replaced, and the pools ${does.keepsPools ? "get their transactions back" : "forget all"}`;
    case "halt":
      return "no blocks come";
    case "chain times":
      return `new blocks have times ${does.seconds} s ahead`;
    case "pays itself":
      return `a paid transaction with the same nonce follows each submission after ${does.afterMs} ms`;
    case "delegates":
      return `somebody's transaction with an authorization of the same nonce follows each submission after ${does.afterMs} ms`;
    case "foreign use":
      return `other software uses the nonces of waiver ${does.waiver}`;
    case "revoke":
      return `waiver ${does.waiver} is revoked`;
    case "drain lane":
      return `an operator drains the lane of waiver ${does.waiver}`;
    case "stop lane":
      return `an operator stops the lane of waiver ${does.waiver}`;
    case "kill":
      return `replica ${does.replica} is killed`;
    case "leave":
      return `replica ${does.replica} is asked to end`;
    case "freeze":
      return `replica ${does.replica} is frozen`;
    case "clock step":
      return `the clock of replica ${does.replica} steps by ${does.ms / 1_000} s`;
    case "end sessions":
      return "all sessions of the database end";
    case "read-only":
      return "the database is read-only";
    case "database away":
      return "the database is away";
    case "full disk":
      return "the database's disk is full";
    case "failover":
      return "a standby of the database receives nothing, and takes over in the end";
    case "slow database":
      return `each statement takes ${does.ms} ms more`;
    case "database clock step":
      return `the database's clock steps by ${does.ms / 1_000} s`;
  }
}

function silenceIn(seconds: number | undefined): string {
  return seconds === undefined ? "" : `, which asks for silence of ${seconds} s,`;
}
