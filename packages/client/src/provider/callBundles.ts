/** The calls of one `wallet_sendCalls`: how many there are, and the transactions that the wallet has sent for them, in order. */
export interface CallBundle {
  readonly calls: number;
  readonly hashes: readonly string[];
  /** Why the call behind the last hash was not sent, if it was not. */
  readonly unsent?: { readonly reason: string; readonly message: string };
  /** The time of the request, in milliseconds since 1970. */
  readonly at: number;
}

/** Where bundles outlive the page: `localStorage`, or anything like it. */
export type BundleStorage = Pick<Storage, "getItem" | "setItem">;

const STORAGE_KEY = "gas-waiver.calls";
/** EIP-5792: wallets should know a bundle for 24 hours. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Remembers bundles by id, over reloads of the page where it has a storage. */
export class CallBundles {
  readonly #storage: BundleStorage | undefined;
  #bundles: Record<string, CallBundle> = {};

  constructor(storage: BundleStorage | undefined = pageStorage()) {
    this.#storage = storage;
  }

  read(id: string): CallBundle | undefined {
    this.#load();
    return Object.hasOwn(this.#bundles, id) ? this.#bundles[id] : undefined;
  }

  write(id: string, bundle: CallBundle): void {
    this.#load();
    const oldest = Date.now() - KEPT_MS;
    const kept = Object.entries(this.#bundles).filter(([, { at }]) => at > oldest);
    this.#save({ ...Object.fromEntries(kept), [id]: bundle });
  }

  delete(id: string): void {
    this.#load();
    const { [id]: _, ...others } = this.#bundles;
    this.#save(others);
  }

  /** Another tab of the page may have written since. */
  #load(): void {
    const text = this.#storage?.getItem(STORAGE_KEY);
    if (text == null) return;
    try {
      this.#bundles = Object(JSON.parse(text));
    } catch {
      // Something else has written there: what this page remembers stays.
    }
  }

  #save(bundles: Record<string, CallBundle>): void {
    this.#bundles = bundles;
    try {
      this.#storage?.setItem(STORAGE_KEY, JSON.stringify(bundles));
    } catch {
      // The storage is full. The bundles last as long as the page.
    }
  }
}

/** The page's own storage; undefined outside of pages, and where the browser denies it. */
function pageStorage(): BundleStorage | undefined {
  try {
    return globalThis.document === undefined ? undefined : globalThis.localStorage;
  } catch {
    return undefined;
  }
}
