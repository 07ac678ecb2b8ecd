/** Who is signed in, in which workspace, and what their role may do. */

import { get, headers, NotReached, onSessionLost, Refused, request } from "./api.js";
import { PERMISSIONS } from "./permissions.js";
import { zone } from "./texts.js";
import { signal } from "./ui.js";

/**
 * @typedef {{uuid: string, name: string, role: string}} Workspace
 * @typedef {{uuid: string, email: string, name: string}} User
 * @typedef {{user: User, workspaces: Workspace[], workspace: Workspace, role: string}} Account
 */

/** @type {import("./ui.js").Signal<Account | null>} */
export const account = signal(null);
/** @type {import("./ui.js").Signal<"starting" | "out" | "in" | "unreachable">} */
export const phase = signal("starting");
/** The languages of the workspace and what else its pages need to know. @type {import("./ui.js").Signal<any>} */
export const workspace = signal(null);

onSessionLost.call = () => {
  if (phase.value === "in") phase.value = "out";
};

/** Whether the role of the person may do an operation, named as in the contract. @param {keyof typeof PERMISSIONS} operation */
export const may = (operation) => PERMISSIONS[operation].includes(account.value?.role ?? "");

export async function startSession() {
  const token = sessionStorage.getItem("relayboard.token");
  if (!token) {
    phase.value = "out";
    return;
  }
  await signInWithToken(token);
}

/** @param {string} token */
export async function signInWithToken(token) {
  headers.always = { Authorization: `Token ${token}` };
  try {
    const shown = await get("workspace");
    const own = { uuid: shown.uuid, name: shown.name ?? "", role: "administrator" };
    workspace.value = shown;
    zone.value = shown.timezone ?? zone.value;
    account.value = { user: { uuid: "", email: "", name: "" }, workspaces: [own], workspace: own, role: own.role };
    sessionStorage.setItem("relayboard.token", token);
    phase.value = "in";
  } catch (error) {
    if (error instanceof Refused) phase.value = "out";
    else if (error instanceof NotReached) phase.value = "unreachable";
    throw error;
  }
}

export async function signOut() {
  sessionStorage.removeItem("relayboard.token");
  await request("DELETE", "v2/sessions.json").catch(() => {});
  phase.value = "out";
  account.value = null;
}

/** @param {string} uuid */
export async function chooseWorkspace(uuid) {
  headers.always = { ...headers.always, "X-Workspace": uuid };
  await startSession();
}
