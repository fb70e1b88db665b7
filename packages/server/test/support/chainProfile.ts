import { STABLE } from "@gas-waiver/protocol";
import type { ServerOptions } from "../../src/model/options/options.js";

/** With CHAIN_PROFILE=stable, tests run on a chain as the public one is: it has the published methods alone, and its blocks are final. */
export const CHAIN_PROFILE = process.env.CHAIN_PROFILE === "stable" ? "stable" : "plain";

const isStable = CHAIN_PROFILE === "stable";
const METHODS: ReadonlySet<string> = new Set(STABLE.methods);

/** Whether a node of the chain has the method. */
export const hasMethod = (method: string): boolean => !isStable || METHODS.has(method);

/** The options of a service for the chain. */
export const OPTIONS_OF_CHAIN: Partial<ServerOptions> = isStable ? { reorgDepth: 0 } : {};
