/** A wallet, or what looks like one to a page (EIP-1193). */
export interface Eip1193Provider {
  request(call: { readonly method: string; readonly params?: readonly unknown[] | object }): Promise<unknown>;
  on?(event: string, listener: (...values: unknown[]) => void): unknown;
  removeListener?(event: string, listener: (...values: unknown[]) => void): unknown;
}
