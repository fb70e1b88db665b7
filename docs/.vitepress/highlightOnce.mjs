/** A markdown-it plugin. A block of code is highlighted for its page, and not again for the index of the search. */
export function highlightOnce(md) {
  const { highlight } = md.options;
  const highlighted = new Map();
  md.options.highlight = (...block) => {
    const key = JSON.stringify(block);
    const html = highlighted.get(key) ?? highlight(...block);
    highlighted.set(key, html);
    return html;
  };
}
