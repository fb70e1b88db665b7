import { COLORS } from "./table.js";

const COLOR_CODES = new Set([...Object.values(COLORS), "\x1b[0m"]);

/**
 * Escapes, as JSON does, what steers a terminal or turns the direction of its text: services, nodes and contracts write parts of what is
 * printed. The colours of tables stay.
 */
export function printable(text: string): string {
  return text.replace(/\p{Cc}\[\d+m|[^\P{Cc}\n\t]|\p{Cf}/gu, (found) =>
    COLOR_CODES.has(found) ? found : found.replace(/[^ -~]/g, escaped),
  );
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
