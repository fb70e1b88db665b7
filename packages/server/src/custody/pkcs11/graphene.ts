import { StartError } from "../../model/errors.js";
import { importPeer } from "../importPeer.js";

// The part of graphene-pk11 that the custody uses.

export interface Graphene {
  readonly Module: { load(libraryPath: string): GrapheneModule };
  readonly ObjectClass: { readonly PRIVATE_KEY: number; readonly PUBLIC_KEY: number };
}

export interface GrapheneModule {
  initialize(options: { readonly flags: number }): void;
  getSlots(tokenPresent: true): { readonly length: number; items(index: number): Slot };
}

export interface Slot {
  getToken(): { readonly label: string };
  open(): Session;
}

export interface Session {
  login(pin: string): void;
  close(): void;
  find(template: { readonly class: number; readonly label: string }): {
    readonly length: number;
    items(index: number): KeyObject;
  };
  createSign(mechanism: "ECDSA", key: KeyObject): Sign;
}

export interface KeyObject {
  getAttribute(name: "pointEC" | "paramsECDSA"): Uint8Array;
}

interface Sign {
  /** Signs in a thread of its own. */
  once(data: Uint8Array, done: (error: Error | null, signature: Buffer) => void): void;
}

const NAME = "graphene-pk11";

/** @throws {@link StartError} if the package is not installed, or was not compiled. */
export async function importGraphene(): Promise<Graphene> {
  try {
    return (await importPeer<{ readonly default: Graphene }>(NAME)).default;
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { message } = error as Error;
    throw new StartError(`the package ${NAME} cannot be loaded; was its addon compiled? ${message}`, {
      cause: error,
    });
  }
}
