/** Whole days in UTC, such as 2030-01-31. Both ends are in the range. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

const DAY_MS = 86_400_000;

/** The first moment of a day. */
export function startOf(day: string): Date {
  return new Date(`${day}T00:00:00Z`);
}

/** The first moment after a day. */
export function endOf(day: string): Date {
  return new Date(startOf(day).getTime() + DAY_MS);
}

/** The day of a moment. */
export function dayAt(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** The day in which a submission came, by the time in ms that a UUIDv7 begins with (D15). */
export function dayOfId(id: string): string {
  return dayAt(new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)));
}

/** All days of a range, the first one first. */
export function daysOf({ from, to }: DayRange): string[] {
  const days: string[] = [];
  for (let day = from; day <= to; day = dayAt(endOf(day))) days.push(day);
  return days;
}
