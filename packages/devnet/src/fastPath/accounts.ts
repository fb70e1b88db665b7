import type { Hex } from "@gas-waiver/protocol";
import type { Overlay } from "../state/overlay.js";
import { type AccountRecord, EMPTY_ACCOUNT, EMPTY_CODE_HASH } from "../state/reader.js";

/** The accounts of one transaction. Changes reach the state with {@link write}. */
export class Accounts {
  readonly #state: Overlay;
  readonly #records = new Map<Hex, AccountRecord>();

  constructor(state: Overlay) {
    this.#state = state;
  }

  get(address: Hex): AccountRecord {
    return this.#records.get(address) ?? this.#state.account(address) ?? EMPTY_ACCOUNT;
  }

  set(address: Hex, record: AccountRecord): void {
    this.#records.set(address, record);
  }

  addBalance(address: Hex, wei: bigint): void {
    if (wei === 0n) return;
    const record = this.get(address);
    this.set(address, { ...record, balance: record.balance + wei });
  }

  /** Whether an account exists that has neither nonce nor balance nor code. */
  isEmpty(address: Hex): boolean {
    const record = this.#state.account(address);
    return (
      record !== undefined &&
      record.nonce === 0n &&
      record.balance === 0n &&
      record.codeHash === EMPTY_CODE_HASH
    );
  }

  write(): void {
    for (const [address, record] of this.#records) this.#state.setAccount(address, record);
  }
}
