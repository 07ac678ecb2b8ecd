/** A QR code, made in the browser. */

import { html, useEffect, useState } from "../shared/ui.js";

const QUIET = 4;

/** @param {{text: string, label: string}} props */
export function QrCode({ text, label }) {
  const [drawn, setDrawn] = useState({ size: 0, path: "" });
  useEffect(() => {
    import("../vendor/lean_qr.js").then(({ generate }) => setDrawn(draw(generate(text))), () => {});
  }, [text]);
  const side = drawn.size + 2 * QUIET;
  return drawn.size > 0 && html`
    <svg class="qr-code" viewBox=${`${-QUIET} ${-QUIET} ${side} ${side}`} role="img" aria-label=${label} shape-rendering="crispEdges">
      <rect x=${-QUIET} y=${-QUIET} width=${side} height=${side} fill="#fff" /><path d=${drawn.path} fill="#000" />
    </svg>
  `;
}

/** A square for each dark module. @param {{size: number, get: (x: number, y: number) => boolean}} code */
function draw({ size, get }) {
  const at = [...Array(size).keys()];
  return { size, path: at.flatMap((y) => at.filter((x) => get(x, y)).map((x) => `M${x} ${y}h1v1h-1z`)).join("") };
}
