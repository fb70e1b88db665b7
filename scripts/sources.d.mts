/** Aliases for Vite, which lead to the sources of the packages. */
export const SOURCES: { find: RegExp; replacement: string }[];
