interface Closable {
  close(): Promise<void>;
}

/** The resources that a command has opened. `close` closes them in the reverse order. */
export class CloseStack {
  readonly #resources: Closable[] = [];

  /** Adds a resource, and returns it. */
  add<T extends Closable>(resource: T): T {
    this.#resources.push(resource);
    return resource;
  }

  /** Closes every resource, even after one fails to close. @throws the first failure. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const resource of this.#resources.splice(0).reverse()) {
      await resource.close().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}
