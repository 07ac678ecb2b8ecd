/** Line icons of 24 units; they are decoration, what they mean is said in words. */

import { html } from "../shared/ui.js";

/** @type {Record<string, string>} */
const PATHS = {
  archive: "M4 8v11h16V8M3 4h18v4H3zM10 12h4",
  attach: "M20 11.500 12 19.400a5 5 0 0 1-7.100-7L13 4.400a3.400 3.400 0 0 1 4.800 4.800l-8 7.900a1.700 1.700 0 0 1-2.400-2.400l7.300-7.200",
  back: "M15 5l-7 7 7 7",
  bookmark: "M6 3h12v18l-6-4.500L6 21z",
  block: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M6 6l12 12",
  call: "M6 3h3l2 5-2.500 1.500a11 11 0 0 0 6 6L16 13l5 2v3a3 3 0 0 1-3 3C10 21 3 14 3 6a3 3 0 0 1 3-3",
  campaign: "M4 5h16v15H4zM4 10h16M8 3v4M16 3v4",
  channel: "M8 2.500h8a1.500 1.500 0 0 1 1.500 1.500v16a1.500 1.500 0 0 1-1.500 1.500H8A1.500 1.500 0 0 1 6.500 20V4A1.500 1.500 0 0 1 8 2.500M11 18.500h2",
  chart: "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
  check: "M5 12.500l4.500 4.500L19 7",
  choices: "M4 5h10a2 2 0 0 1 0 5H4a2 2 0 0 1 0-5M4 14h16a2 2 0 0 1 0 5H4a2 2 0 0 1 0-5",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 7v5l3 2",
  close: "M6 6l12 12M18 6 6 18",
  contacts: "M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8M2 21a7 7 0 0 1 14 0M17 4a4 4 0 0 1 0 7M19 14a7 7 0 0 1 3 6",
  double: "M2 12.500 6.500 17 15 8M11 16l1 1 9.500-9.500",
  down: "M6 9l6 6 6-6",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  failed: "M12 3 2 20h20zM12 9v5M12 17v.500",
  fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  flow: "M5 3h6v5H5zM13 16h6v5h-6zM8 8v4h8v4M16 12h0",
  forward: "M4 12h15M13 6l6 6-6 6",
  gear: "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6M12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  help: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M9.500 9.500a2.500 2.500 0 1 1 3.500 2.300c-.700.300-1 .800-1 1.700M12 16.500v.500",
  inbox: "M3 13 6 4h12l3 9v7H3zM3 13h5l1.500 3h5L16 13h5",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18M12 11v6M12 7v.500",
  label: "M3 12V4h8l10 10-8 8zM7.500 8v.500",
  menu: "M4 6h16M4 12h16M4 18h16",
  minus: "M5 12h14",
  more: "M5 12a.700.700 0 1 0 1.400 0 .700.700 0 1 0-1.400 0M11.300 12a.700.700 0 1 0 1.400 0 .700.700 0 1 0-1.400 0M17.600 12a.700.700 0 1 0 1.400 0 .700.700 0 1 0-1.400 0",
  out: "M15 4h5v16h-5M10 8l-4 4 4 4M6 12h10",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8M4 21a8 8 0 0 1 16 0",
  play: "M7 4.500v15l12-7.500z",
  plus: "M12 5v14M5 12h14",
  reply: "M10 5 4 11l6 6M4 11h9a7 7 0 0 1 7 7v1",
  report: "M6 3h9l4 4v14H6zM10 17v-3M13 17v-6M16 17v-4",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14M16 16l5 5",
  send: "M4 12 3 4l18 8-18 8zM4 12h9",
  stop: "M6 6h12v12H6z",
  ticket: "M3 7h18v3.500a1.500 1.500 0 0 0 0 3V17H3v-3.500a1.500 1.500 0 0 0 0-3zM14 7v2M14 11v2M14 15v2",
  trash: "M4 6h16M9 6V3h6v3M6 6l1 15h10l1-15M10 10v7M14 10v7",
};

/** Icons that point in the direction of reading. */
const TURNING = ["back", "forward", "reply", "send", "out"];

/** @param {{name: string, size?: number}} props */
export const Icon = ({ name, size = 20 }) => html`
  <svg class=${TURNING.includes(name) ? "icon turns" : "icon"} width=${size} height=${size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d=${PATHS[name] ?? ""} fill="none" stroke="currentColor" stroke-width="1.800" stroke-linecap="round" stroke-linejoin="round" />
  </svg>
`;
