/** The exit statuses of the process. */
export const STATUS = { ok: 0, failed: 1, usage: 2, interrupted: 130, terminated: 143 } as const;

/** The meaning of each status, for the help and the documents. */
export const STATUS_MEANINGS: Readonly<Record<keyof typeof STATUS, string>> = {
  ok: "The command has done its work. A service has ended in order after Ctrl-C or SIGTERM.",
  failed:
    "The command has failed, was interrupted before its work was complete, or has found what it looks for to be wrong. Standard error has one sentence.",
  usage: "The arguments or settings are wrong: nothing was begun. Standard error lists every problem.",
  interrupted: "A second Ctrl-C has ended the process at once, whatever it was doing.",
  terminated: "A second SIGTERM has ended the process at once.",
};

/** The statuses of one command as a line of its help. @param failure see `CommandHelp.failure`. */
export function statusesOf(failure: string | undefined): string {
  const failed = failure === undefined ? "" : `, or ${failure}`;
  return `${STATUS.ok} done; ${STATUS.failed} failed${failed}; ${STATUS.usage} wrong settings; ${STATUS.interrupted} second Ctrl-C.`;
}
