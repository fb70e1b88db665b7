export interface Anvil {
  readonly url: string;
  close(): Promise<void>;
}

export function startAnvil(): Promise<Anvil>;
