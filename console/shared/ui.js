/** What pages draw with. The only module that knows the libraries. */

import htm from "../vendor/htm.js";
import { h } from "../vendor/preact.js";

export { Fragment, render } from "../vendor/preact.js";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
export { batch, computed, effect, signal, useComputed, useSignal, useSignalEffect } from "../vendor/signals.js";

/** @typedef {import("preact").ComponentChildren} Children */
/** @template T @typedef {import("@preact/signals").Signal<T>} Signal */

/** A template of elements and components; texts in it are escaped. */
export const html = htm.bind(/** @type {any} */ (h));

/**
 * The classes whose condition holds, for the attribute `class`.
 * @param {...(string | false | null | undefined)} names
 */
export const classes = (...names) => names.filter(Boolean).join(" ");
