/** Who is signed in, in which workspace, and what their role may do. */

import { get, headers, NotReached, onSessionLost, post, Refused, request } from "./api.js";
import { PERMISSIONS } from "./permissions.js";
import { zone } from "./texts.js";
import { batch, signal } from "./ui.js";

/** @typedef {import("./contract.js").Found<"account">} Account */

/** @type {import("./ui.js").Signal<Account | null>} */
export const account = signal(null);
/** @type {import("./ui.js").Signal<"starting" | "out" | "in" | "unreachable">} */
export const phase = signal("starting");
/** The workspace with its languages, country and time zone. @type {import("./ui.js").Signal<import("./contract.js").Found<"workspace"> | null>} */
export const workspace = signal(null);

/** Tabs tell each other that somebody signed in or out, or chose another workspace. */
const tabs = new BroadcastChannel("relayboard.session");
const CHOSEN = "relayboard.workspace";

onSessionLost.call = () => {
  if (phase.value === "in") phase.value = "out";
};

/** Whether the role of the person may do an operation, named as in the contract. @param {keyof typeof PERMISSIONS} operation */
export const may = (operation) => PERMISSIONS[operation].includes(account.value?.workspace.role ?? "");

tabs.onmessage = () => void startSession();

/** Shows the page on which people sign in, without asking whether they have. */
export const waitForSignIn = () => {
  phase.value = "out";
};

/** Takes up the session of this browser, if there is one. */
export async function startSession() {
  const chosen = sessionStorage.getItem(CHOSEN);
  headers.always = chosen ? { "X-Workspace": chosen } : {};
  try {
    const [found, shown] = await Promise.all([get("account"), get("workspace")]);
    headers.always = { "X-Workspace": found.workspace.uuid };
    headers.writing = { "X-CSRF-Token": found.csrf_token ?? "" };
    batch(() => {
      account.value = found;
      workspace.value = shown;
      zone.value = shown.timezone ?? zone.value;
      phase.value = "in";
    });
  } catch (error) {
    if (error instanceof Refused && error.status === 403 && chosen) {
      sessionStorage.removeItem(CHOSEN);
      return startSession();
    }
    if (error instanceof Refused) phase.value = "out";
    else if (error instanceof NotReached && phase.value !== "in") phase.value = "unreachable";
  }
}

/**
 * Signs in with what proves who somebody is: a password, a mailed link or an invitation.
 * @param {"sessions" | "link_sessions" | "invitation_sessions"} way
 * @param {Record<string, string>} proof an empty value is left out
 */
export async function signIn(way, proof) {
  const body = Object.fromEntries(Object.entries(proof).filter(([, value]) => value));
  await request("POST", `v2/${way}.json`, { body });
  await startSession();
  tabs.postMessage("in");
}

/** Throws what went wrong: then the session still exists, and a person who leaves must know. */
export async function signOut() {
  await request("DELETE", "v2/sessions.json").catch((error) => {
    if (!(error instanceof Refused) || error.status !== 401) throw error;
  });
  sessionStorage.removeItem(CHOSEN);
  phase.value = "out";
  account.value = null;
  tabs.postMessage("out");
}

/** Shows another workspace of the person in this tab, and in those that are opened later. @param {string} uuid */
export async function chooseWorkspace(uuid) {
  await post("account", { workspace: uuid });
  sessionStorage.setItem(CHOSEN, uuid);
  location.hash = "";
  location.reload();
}
