export interface Anvil {
  readonly url: string;
  readonly pid: number;
  close(): Promise<void>;
}

export function startAnvil(): Promise<Anvil>;
