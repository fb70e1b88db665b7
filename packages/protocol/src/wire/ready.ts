import { membersOf } from "./members.js";
import { WireError } from "./WireError.js";

/** One thing that the service needs to do its work. */
export interface ReadyPart {
  readonly ok: boolean;
  /** What is wrong with it, for a person. */
  readonly message?: string;
}

/** The body of `GET /v1/ready`, with status 200 if it is ready and 503 if not (D24). */
export interface Readiness {
  readonly ready: boolean;
  readonly parts: {
    readonly store: ReadyPart;
    readonly chain: ReadyPart;
    /** `usable`: lanes that take work; one is enough. */
    readonly waivers: ReadyPart & { readonly usable: number };
    /** Only there when the service is shutting down. */
    readonly service?: ReadyPart;
  };
}

/** @throws {@link WireError} if the value is not a readiness body. */
export function parseReadiness(value: unknown): Readiness {
  const { ready, parts } = membersOf(value);
  const { store, chain, waivers, service } = membersOf(parts);
  const known =
    typeof ready === "boolean" &&
    [store, chain, waivers].every(isPart) &&
    typeof membersOf(waivers).usable === "number" &&
    (service === undefined || isPart(service));
  if (!known) throw new WireError("the answer is not the readiness of a gas-waiver service", value);
  return value as Readiness;
}

function isPart(value: unknown): boolean {
  const { ok, message } = membersOf(value);
  return typeof ok === "boolean" && ["undefined", "string"].includes(typeof message);
}
