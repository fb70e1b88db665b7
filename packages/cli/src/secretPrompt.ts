import { createInterface } from "node:readline";
import { Writable } from "node:stream";

/** Asks a question at the terminal, which does not show the answer. Rejects at Ctrl-C. */
export async function promptSecret(
  question: string,
  { input, write }: { readonly input: NodeJS.ReadableStream; write(text: string): void },
): Promise<string> {
  write(question);
  const output = new Writable({ write: (_text, _encoding, done) => done() });
  const lines = createInterface({ input, output, terminal: true, historySize: 0 });
  const answer = new Promise<string>((resolve, reject) => {
    lines.once("line", resolve);
    lines.once("SIGINT", () => reject(new Error("interrupted")));
    // Ctrl-D, instead of an answer.
    lines.once("close", () => resolve(""));
  });
  return await answer.finally(() => {
    lines.close();
    write("\n");
  });
}
