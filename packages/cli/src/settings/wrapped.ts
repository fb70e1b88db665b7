/** Breaks a text between words, and a word that is longer than `longest` within it. */
export function wrapped(text: string, width: number, longest = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else for (let i = 0; i === 0 || i < word.length; i += longest) lines.push(word.slice(i, i + longest));
  }
  return lines;
}
