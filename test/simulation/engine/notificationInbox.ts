import { queryNow } from "./driver.js";
import type { Realm } from "./realm.js";
import type { Session } from "./session.js";

/** The sessions that listen to channels, and the notifications that have come to them and are not told yet. */
export class NotificationInbox {
  readonly #listeners = new Set<Session>();
  #come: { readonly client: unknown; readonly message: unknown }[] = [];

  listen(session: Session): void {
    this.#listeners.add(session);
  }

  take(client: unknown, message: unknown): void {
    this.#come.push({ client, message });
  }

  /** Waits until all notifications of the last statement have come: they are there after a round trip of each listener. */
  async collect(): Promise<void> {
    for (const session of this.#listeners) {
      if (session.isClosed) this.#listeners.delete(session);
      else await queryNow(session.client, "select").catch(() => {});
    }
  }

  /** Tells each listener, one after the other, some ms later. */
  deliver({ clock, entropy }: Pick<Realm, "clock" | "entropy">): void {
    const come = this.#come.splice(0);
    if (come.length === 0) return;
    for (const { client, owner } of this.#listeners)
      for (const { message } of come.filter((one) => one.client === client))
        clock.schedule(entropy.between(0.5, 2), () => client.emit("notification", message), owner);
  }
}
