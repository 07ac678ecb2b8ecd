/** Keeps what people type in a form, so that it outlives a reload, an ended session and a lost network. */

import { keepDraft, loadDraft } from "../shared/drafts.js";
import { useLayoutEffect, useRef } from "../shared/ui.js";

/** Fields that are never kept: secrets, and files, which no page may fill in. */
const NOT_KEPT = ["password", "file"];

/**
 * The form to draw, what to do at each input of a field, and what to do when it is done with. Fields that are drawn later, such as
 * those for the records of a list, are filled in as soon as they are there. Passwords are not kept. To be told of an input on its
 * way down: what a field does itself may draw the form anew, which fills in what is kept.
 * @param {string | undefined} draft its name; without one nothing is kept
 */
export function useKeptForm(draft) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  // In one step with the drawing: a record that comes late brings its choice with it, and nobody may send that one.
  useLayoutEffect(() => {
    if (draft && form.current) restore(form.current, loadDraft(draft, {}));
  });
  // A part that waits for a list of its own is drawn alone.
  useLayoutEffect(() => {
    if (!draft || !form.current) return;
    const drawn = new MutationObserver(() => form.current && restore(form.current, loadDraft(draft, {})));
    drawn.observe(form.current, { childList: true, subtree: true });
    return () => drawn.disconnect();
  }, [draft]);
  return {
    form,
    // Only what was touched: the others may still get their first value, which is on its way.
    keep: (/** @type {Pick<Event, "target">} */ { target }) => {
      const field = /** @type {HTMLInputElement} */ (target);
      if (!draft || !form.current || !fieldsOf(form.current).includes(field)) return;
      keepDraft(draft, { ...loadDraft(draft, {}), [field.name]: valuesOf(form.current, field.name) });
    },
    drop: () => draft && keepDraft(draft, null),
  };
}

/** The named fields of a form that are kept. @param {HTMLFormElement} form */
const fieldsOf = (form) =>
  /** @type {HTMLInputElement[]} */ ([...form.elements]).filter(({ name, type }) => name && !NOT_KEPT.includes(type));

const isTicked = (/** @type {HTMLInputElement} */ { type }) => type === "checkbox" || type === "radio";

/** The values of the fields of a name; boxes without a tick have none. @param {HTMLFormElement} form @param {string} name */
const valuesOf = (form, name) =>
  fieldsOf(form).filter((field) => field.name === name && (!isTicked(field) || field.checked)).map(({ value }) => value);

/** @param {HTMLFormElement} form @param {Record<string, string[]>} kept */
function restore(form, kept) {
  for (const field of fieldsOf(form)) {
    const values = kept[field.name];
    if (!values) continue;
    const [before, isOn] = [field.value, field.checked];
    if (isTicked(field)) field.checked = values.includes(field.value);
    else if (!(field instanceof HTMLSelectElement) || hasOption(field, values[0])) field.value = values[0];
    if (field.value !== before || field.checked !== isOn) field.dispatchEvent(new Event("change", { bubbles: true }));
  }
}

/** Its choices may still be on their way. @param {HTMLSelectElement} field @param {string} value */
const hasOption = (field, value) => [...field.options].some((option) => option.value === value);
