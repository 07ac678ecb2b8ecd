/** Modal dialogs. The browser keeps the focus inside and closes them with Escape; `shell/focus.js` gives the focus back. */

import { Refused } from "../shared/api.js";
import { explain } from "../shared/explain.js";
import { t } from "../shared/texts.js";
import { html, signal, useEffect, useRef, useState } from "../shared/ui.js";
import { Icon } from "./icons.js";
import { MissedLists } from "./small.js";
import { useKeptForm } from "./kept_form.js";

const FIELDS = ["input:not([type=hidden], [type=radio], [type=file])", "input[type=radio]:checked", "select", "textarea"].map((each) => `${each}:enabled`).join();

/**
 * A dialog that is open while it is drawn.
 * @param {{title: string, onClose: () => void, children?: any, wide?: boolean}} props
 */
export function Dialog({ title, onClose, children, wide = false }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    element.current?.showModal();
    // What somebody is to fill in, not the button that closes.
    /** @type {HTMLElement | null | undefined} */ (element.current?.querySelector(FIELDS))?.focus();
  }, []);
  return html`
    <dialog class=${wide ? "dialog wide" : "dialog"} ref=${element} aria-labelledby="dialog-title" onClose=${onClose}
      onClick=${(/** @type {MouseEvent} */ event) => event.target === element.current && element.current?.close()}>
      <div class="dialog-body">
        <header>
          <h2 id="dialog-title">${title}</h2>
          <button type="button" class="quiet icon-only" aria-label=${t("act.close")} onClick=${() => element.current?.close()}>
            <${Icon} name="close" />
          </button>
        </header>
        <${MissedLists} isInDialog />
        ${children}
      </div>
    </dialog>
  `;
}

/**
 * What went wrong, with the labels of the inputs of which the service says so; the first of them gets the focus.
 * @param {unknown} error
 * @param {HTMLFormElement} form
 */
function name(error, form) {
  if (!(error instanceof Refused) || error.status !== 400) return explain(error);
  const named = Object.entries(error.fields).map(([key, said]) => {
    const control = /** @type {any} */ (form.elements.namedItem(key));
    const label = control?.labels?.[0]?.textContent.trim();
    return { control: label && control, text: label ? `${label}: ${said.join(" ")}` : said.join(" ") };
  });
  const first = named.find(({ control }) => control)?.control;
  first?.closest?.("details")?.setAttribute("open", "");
  first?.focus();
  return named.map(({ text }) => text).join(" ") || explain(error);
}

/**
 * A form in a dialog: `onSubmit` does the work, and the dialog closes when it succeeded. What went wrong is shown. With
 * the name of a `draft`, what was typed outlives a reload and an ended session; whoever closes the dialog drops it.
 * @param {{title: string, submit: string, onSubmit: (data: FormData) => Promise<unknown>, onClose: () => void,
 *   children?: any, danger?: boolean, wide?: boolean, disabled?: boolean, draft?: string}} props
 */
export function FormDialog({ title, submit, onSubmit, onClose: onClosed, children, danger = false, wide = false, disabled = false, draft }) {
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const { form, keep, drop } = useKeptForm(draft);
  const onClose = () => {
    drop();
    onClosed();
  };
  const done = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await onSubmit(new FormData(/** @type {HTMLFormElement} */ (event.target)));
      onClose();
    } catch (error) {
      setProblem(name(error, /** @type {HTMLFormElement} */ (form.current)));
      setBusy(false);
    }
  };
  return html`
    <${Dialog} title=${title} onClose=${onClose} wide=${wide}>
      <form onSubmit=${done} onInputCapture=${keep} ref=${form}>
        ${children}
        ${problem && html`<p class="problem" role="alert">${problem}</p>`}
        <footer>
          <button type="button" onClick=${onClose}>${t("act.cancel")}</button>
          <button type="submit" class=${danger ? "danger" : "primary"} disabled=${busy || disabled}>${submit}</button>
        </footer>
      </form>
    <//>
  `;
}

/** @typedef {{title: string, text: string, submit: string, onYes: () => Promise<unknown>}} Question */
/** @type {import("../shared/ui.js").Signal<Question | null>} */
const question = signal(null);

/** Asks before something that cannot be undone. @param {Question} asked */
export const confirmFirst = (asked) => {
  question.value = asked;
};

/** Draws the question that is asked at present. */
export function Questions() {
  const asked = question.value;
  if (!asked) return null;
  return html`
    <${FormDialog} title=${asked.title} submit=${asked.submit} danger onSubmit=${asked.onYes}
      onClose=${() => (question.value = null)}>
      <p>${asked.text}</p>
    <//>
  `;
}
