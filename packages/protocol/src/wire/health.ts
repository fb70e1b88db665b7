import { WireError } from "./WireError.js";

/** The body of `GET /v1/health`: liveness, nothing else (D24). */
export interface Health {
  readonly status: "ok";
  readonly version: string;
  readonly chainId: number;
}

/** @throws {@link WireError} if the value is not a health body. */
export function parseHealth(value: unknown): Health {
  if (typeof value === "object" && value !== null) {
    const { status, version, chainId } = value as Record<string, unknown>;
    if (status === "ok" && typeof version === "string" && typeof chainId === "number") {
      return { status, version, chainId };
    }
  }
  throw new WireError("the answer is not the health of a gas-waiver service", value);
}
