import type { Context } from "../command.js";

/** Says at each SIGHUP that it changes no settings. Without a listener, SIGHUP would end the process. */
export function explainHangup({ onHangup, print }: Pick<Context, "onHangup" | "print">): void {
  onHangup?.(() =>
    print(
      "SIGHUP: files of waivers' keys and of the certificate are read again; other settings need a restart",
    ),
  );
}
