// The strength of an API key that a person has chosen, in a file or a variable. The keys that the service itself makes
// have 192 random bits.

const MIN_LENGTH = 32;
const MAX_LENGTH = 256;
/** 32 random hex digits get about 120 bits by the estimate below, and less than 80 practically never. */
const MIN_BITS = 80;
/** A text of this length that came before in the key is a repetition. */
const REPEATED_LENGTH = 3;

/**
 * Tells what makes an API key too easy to guess.
 * @returns the end of a sentence that begins with the key and never quotes it; undefined if the key is good enough.
 */
export function weaknessOfKey(key: string): string | undefined {
  if (!/^[\x21-\x7e]*$/.test(key) || key.length > MAX_LENGTH) {
    return `is not ${MIN_LENGTH} to ${MAX_LENGTH} printable characters without spaces`;
  }
  if (key.length < MIN_LENGTH) return `has ${key.length} characters; ${MIN_LENGTH} random ones are needed`;
  const bits = Math.floor(estimateBits(key));
  if (bits >= MIN_BITS) return undefined;
  return `repeats itself or counts up: it has about ${bits} random bits, and ${MIN_BITS} are needed`;
}

/**
 * Estimates the random bits of a text: each character counts by the number of different characters in the text, unless
 * it continues a repetition or a sequence such as `aaa`, `abc` or `321`. Words are not recognized.
 */
export function estimateBits(text: string): number {
  const bitsOfCharacter = Math.log2(new Set(text).size);
  let unpredictable = 0;
  for (let i = 0; i < text.length; i++) if (!isRepetition(text, i) && !isSequence(text, i)) unpredictable++;
  return unpredictable * bitsOfCharacter;
}

/** True if the characters that end at `end` came before. */
function isRepetition(text: string, end: number): boolean {
  const last = text.slice(Math.max(0, end + 1 - REPEATED_LENGTH), end + 1);
  return last.length === REPEATED_LENGTH && text.slice(0, end).includes(last);
}

/** True if the step to this character is the step before it: 0, 1 or -1. */
function isSequence(text: string, i: number): boolean {
  const step = (at: number) => text.charCodeAt(at) - text.charCodeAt(at - 1);
  return i >= 2 && Math.abs(step(i)) <= 1 && step(i) === step(i - 1);
}
