import { publicKeyToAddress, type WaiverAccount } from "@gas-waiver/protocol";
import { StartError } from "../../model/errors.js";
import { checkCustody } from "../checkCustody.js";
import { otherCurve, waiverSignature } from "../ecdsa.js";
import {
  type Graphene,
  type GrapheneModule,
  importGraphene,
  type KeyObject,
  type Session,
} from "./graphene.js";
import { createSessionPool, type SessionPool } from "./sessionPool.js";

export interface Pkcs11Options {
  /** The path of the device's library, such as `/usr/lib/softhsm/libsofthsm2.so`. */
  readonly library: string;
  /** The label of the token. */
  readonly token: string;
  /** The user's PIN of the token. */
  readonly pin: string;
  /** The labels of the waivers' key pairs. */
  readonly keys: readonly string[];
  /** The signatures that the device makes at once. Default: 4, which is as many as Node has threads for them. */
  readonly sessions?: number;
  /** The time that a signature may take. Default: 10 s. */
  readonly timeoutMs?: number;
}

/** `CKF_OS_LOCKING_OK`: several threads call the library. */
const OS_LOCKING_OK = 2;
/** secp256k1 as a named curve in DER. */
const SECP256K1 = "06052b8104000a";
/** An uncompressed point of 65 bytes as an OCTET STRING of DER. */
const POINT_HEAD = "044104";

/** A library can be initialized once in a process. */
const modules = new Map<string, GrapheneModule>();

/**
 * Opens the waivers whose keys are in a hardware security module with a PKCS#11 library. The package `graphene-pk11` must be
 * installed.
 * @throws {@link StartError} if the token, a key or the PIN is not right, or a key is of another curve than secp256k1.
 * @example
 * ```ts
 * const library = "/usr/lib/softhsm/libsofthsm2.so";
 * const waivers = await openPkcs11Waivers({ library, token: "relay", pin, keys: ["waiver-1"] });
 * ```
 */
export async function openPkcs11Waivers(options: Pkcs11Options): Promise<WaiverAccount[]> {
  const { library, token, keys, sessions = 4 } = options;
  const graphene = await importGraphene();
  const pool = createSessionPool(() => openSession(graphene, options), sessions);
  const place = `token "${token}" (${library})`;
  // A wrong PIN is tried once, not for each key: tokens lock after a few.
  await pool
    .use(async () => {})
    .catch((cause: Error) => {
      throw new StartError(`the ${place} cannot be used: ${cause.message}`, { cause });
    });
  const waivers: WaiverAccount[] = [];
  const problems: string[] = [];
  for (const label of keys) {
    try {
      waivers.push(await openKey(graphene, pool, { label, timeoutMs: options.timeoutMs }));
    } catch (error) {
      problems.push(`the key "${label}" of the ${place} cannot be used: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new StartError(problems);
  return waivers;
}

async function openKey(
  graphene: Graphene,
  pool: SessionPool,
  { label, timeoutMs }: { readonly label: string; readonly timeoutMs: number | undefined },
): Promise<WaiverAccount> {
  const { address, key } = await pool.use(async (session) => findKey(graphene, session, label));
  const sign = (hash: Uint8Array) => pool.use(async (session) => await signWith(session, key, hash));
  const account = {
    address,
    sign: async (hash: Uint8Array) => waiverSignature(await sign(hash), hash, address),
  };
  await checkCustody(account, timeoutMs);
  return account;
}

function openSession(graphene: Graphene, { library, token, pin }: Pkcs11Options): Session {
  const module = modules.get(library) ?? loadModule(graphene, library);
  const slots = module.getSlots(true);
  const labels: string[] = [];
  for (let i = 0; i < slots.length; i++) {
    const slot = slots.items(i);
    const label = slot.getToken().label.trim();
    labels.push(`"${label}"`);
    if (label !== token) continue;
    return loggedIn(slot.open(), pin, `${library} ${token}`);
  }
  throw new Error(`there is no such token; there are ${labels.join(", ") || "none"}`);
}

function loadModule(graphene: Graphene, library: string): GrapheneModule {
  const module = graphene.Module.load(library);
  module.initialize({ flags: OS_LOCKING_OK });
  modules.set(library, module);
  return module;
}

/** The token has refused the PIN. It locks after a few wrong ones, so that nobody may try again by itself. */
export class PinError extends Error {}

/** The PINs by which this process has logged in, by library and token. */
const pins = new Map<string, string>();

/** All sessions of a token are logged in with the first one. From then on it asks for no PIN, and would take any. */
function loggedIn(session: Session, pin: string, token: string): Session {
  try {
    session.login(pin);
    pins.set(token, pin);
    return session;
  } catch (error) {
    const { message } = error as Error;
    const isLoggedIn = message.includes("CKR_USER_ALREADY_LOGGED_IN");
    if (isLoggedIn && pins.get(token) === pin) return session;
    session.close();
    if (isLoggedIn) throw new Error("this process has logged in to it with another PIN");
    if (message.includes("CKR_PIN_INCORRECT")) throw new PinError("the PIN is wrong");
    if (message.includes("CKR_PIN_LOCKED")) throw new PinError("the PIN is locked after too many wrong ones");
    throw error;
  }
}

function findKey(graphene: Graphene, session: Session, label: string) {
  const { PRIVATE_KEY, PUBLIC_KEY } = graphene.ObjectClass;
  const only = (kind: number, noun: string): KeyObject => {
    const found = session.find({ class: kind, label });
    if (found.length === 1) return found.items(0);
    throw new Error(
      found.length === 0 ? `there is no ${noun} key of this label` : `several ${noun} keys have this label`,
    );
  };
  const key = only(PRIVATE_KEY, "private");
  const publicKey = only(PUBLIC_KEY, "public");
  const curve = Buffer.from(publicKey.getAttribute("paramsECDSA")).toString("hex");
  if (curve !== SECP256K1) throw otherCurve(`the curve ${curve} (DER)`);
  const point = Buffer.from(publicKey.getAttribute("pointEC")).toString("hex");
  if (!point.startsWith(POINT_HEAD)) throw new Error("its public key is not an uncompressed point");
  const address = publicKeyToAddress(Buffer.from(point.slice(POINT_HEAD.length), "hex"));
  return { address, key };
}

function signWith(session: Session, key: KeyObject, hash: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    session.createSign("ECDSA", key).once(hash, (error, signature) => {
      if (error) reject(error);
      else resolve(signature);
    });
  });
}
