import type { ReadStream } from "node:tty";

interface Terminal {
  readonly input: Pick<ReadStream, "setRawMode" | "on" | "off" | "resume" | "pause" | "setEncoding">;
  write(text: string): void;
}

/** The keys Enter and Ctrl-D, and the two that erase. */
const ENTER = ["\r", "\n", "\u0004"];
const ERASE = ["\u007f", "\b"];
const INTERRUPT = "\u0003";

/** Asks a question at the terminal, which does not show the answer. Rejects at Ctrl-C. */
export function promptSecret(question: string, { input, write }: Terminal): Promise<string> {
  write(question);
  input.setRawMode(true);
  input.setEncoding("utf8");
  input.resume();
  return new Promise((resolve, reject) => {
    let answer: string[] = [];
    const end = () => {
      input.off("data", onData);
      input.setRawMode(false);
      input.pause();
      write("\n");
    };
    const onData = (text: string) => {
      for (const character of text) {
        if (character === INTERRUPT) {
          end();
          reject(new Error("interrupted"));
          return;
        }
        if (ENTER.includes(character)) {
          end();
          resolve(answer.join(""));
          return;
        }
        answer = ERASE.includes(character) ? answer.slice(0, -1) : [...answer, character];
      }
    };
    input.on("data", onData);
  });
}
