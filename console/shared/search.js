/** Searches that are typed. */

import { go, read } from "./router.js";
import { useEffect, useRef, useState } from "./ui.js";

const TYPED_MS = 300;

/**
 * The text of a page's search, which stands in the address once nobody types any more.
 * @param {string} search what stands there now
 * @returns {[string, (text: string) => void]}
 */
export function useTypedSearch(search) {
  const [typed, setTyped] = useState(search);
  const isTyping = useRef(false);
  useEffect(() => {
    if (typed.trim() === search) return;
    isTyping.current = true;
    const later = setTimeout(() => {
      isTyping.current = false;
      // Meanwhile somebody may have chosen a folder or a group.
      const { page, parts, query } = read();
      go([page, ...parts], { ...query, search: typed.trim() }, { replace: true });
    }, TYPED_MS);
    return () => {
      isTyping.current = false;
      clearTimeout(later);
    };
  }, [typed]);
  useEffect(() => {
    // Somebody followed a link, or went back.
    if (!isTyping.current && typed.trim() !== search) setTyped(search);
  }, [search]);
  return [typed, setTyped];
}
