export function documents(root: string): string[];
export function anchorsOf(text: string): Set<string>;
export function documentProblems(root: string): string[];
