export declare function mutantsOf(
  file: string,
  text: string,
): readonly { readonly line: number; readonly from: string; readonly to: string; readonly text: string }[];
