interface Closable {
  close(): Promise<void>;
}

/** What a command has opened; closed in the reverse order, whatever happens. */
export class CloseStack {
  readonly #resources: Closable[] = [];

  /** Takes over something that must be closed. */
  add<T extends Closable>(resource: T): T {
    this.#resources.push(resource);
    return resource;
  }

  /** Closes everything, also what comes after something that fails to close. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const resource of this.#resources.splice(0).reverse()) {
      await resource.close().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}
