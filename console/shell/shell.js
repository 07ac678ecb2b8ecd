/** The frame around every page: navigation, workspace, person, and whether the service is reached. */

import { Menu } from "../parts/menu.js";
import { Icon } from "../parts/icons.js";
import { refusedReplies } from "../inbox/outbox.js";
import { confirmFirst } from "../parts/dialog.js";
import { Loaded } from "../parts/loaded.js";
import { attempt } from "../parts/notices.js";
import { Avatar, Empty, MissedLists } from "../parts/small.js";
import { online } from "../shared/api.js";
import { go, link, place } from "../shared/router.js";
import { account, chooseWorkspace, signOut } from "../shared/session.js";
import { chooseLanguage, language, LANGUAGES, number, t } from "../shared/texts.js";
import { counts, countText, mentions } from "../shared/counts.js";
import { countDrafts, forgetDrafts } from "../shared/drafts.js";
import { classes, html, useLayoutEffect } from "../shared/ui.js";
import { openPages } from "./pages.js";
import { openPalette, Palette } from "./palette.js";
import { openKeys, Shortcuts } from "./shortcuts.js";

export function Shell() {
  const pages = openPages();
  const page = pages.find((known) => known.name === place.value.page) ?? (place.value.page ? undefined : pages[0]);
  const title = page ? t(page.title) : t("shell.unknown");
  return html`
    <${Title} page=${title} />
    <a class="skip" href="#main" onClick=${toMain}>${t("shell.skip")}</a>
    <div class=${place.value.parts.length && !page?.ownSections ? "shell deep" : "shell"}>
      <${Navigation} pages=${pages.filter(({ isUnder }) => !isUnder)} current=${page?.isUnder ?? page?.name} />
      <div class="stage">
        <div role="status">
          ${!online.value && html`<p class="banner"><${Icon} name="failed" size=${18} /> ${t("shell.offline")}</p>`}
          <${RefusedReply} />
        </div>
        <${MissedLists} />
        ${page
          ? html`<${Loaded} key=${page.name} load=${page.load} place=${place.value} />`
          : html`<main id="main" tabindex="-1"><${Empty} icon="help" title=${title} text=${t("shell.unknown_text")} /></main>`}
      </div>
    </div>
    <${Shortcuts} pages=${pages.filter(({ isUnder }) => !isUnder)} />
    <${Palette} pages=${pages} />
  `;
}

/** The title of the window. Drawn by itself, as each count is: a message that comes in draws nothing else of the frame anew. @param {{page: string}} props */
function Title({ page }) {
  const { unread } = counts.value;
  const title = `${unread.value ? `(${countText(unread)}) ` : ""}${page} · ${account.value?.workspace.name ?? "Relayboard"}`;
  useLayoutEffect(() => void (document.title = title), [title]);
  return null;
}

/** A reply that the service refused, wherever somebody works; in its own conversation it shows itself. */
function RefusedReply() {
  const { page, parts } = place.value;
  const refused = [...refusedReplies.value].filter(([contact]) => !(page === "inbox" && parts[0] === contact));
  const all = refused.flatMap(([contact, replies]) => replies.map((reply) => ({ contact, reply })));
  if (all.length === 0) return null;
  const [{ contact, reply }] = all;
  return html`
    <p class="banner refused-reply">
      <${Icon} name="failed" size=${18} />
      <span>${t("reply.not_sent")} <bdi class="quoted">${reply.text || t("inbox.file")}</bdi> (${reply.problem})
        ${all.length > 1 && ` ${t("reply.more_not_sent", { count: number(all.length - 1) })}`}</span>
      <a class="button" href=${link(["inbox", contact])}>${t("reply.open_refused")}</a>
    </p>
  `;
}

const toMain = (/** @type {Event} */ event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
};

/** @param {{pages: import("./pages.js").Page[], current: string | undefined}} props */
const Navigation = ({ pages, current }) => html`
  <nav class="navigation" aria-label=${t("shell.pages")}>
    <${WorkspaceMenu} />
    <button type="button" class="quiet seek" title="Ctrl K" onClick=${openPalette}><${Icon} name="search" /><span>${t("palette.title")}</span></button>
    <ul>
      ${pages.map(
        ({ name, title, icon, group, isBeyond }, place) => html`
          ${group && group !== pages[place - 1]?.group && html`<li key=${group} class="group">${t(group)}</li>`}
          <li key=${name} class=${isBeyond ? "is-beyond" : undefined}>
            <a href=${link([name])} aria-current=${name === current ? "page" : undefined}>
              <${Icon} name=${icon} /><span>${t(title)}</span>
            </a>
            ${COUNTED.includes(name) && html`<${PageCount} page=${name} />`}
          </li>
        `,
      )}
    </ul>
    <${PersonMenu} />
    <${MoreMenu} pages=${pages.filter(({ isBeyond }) => isBeyond)} current=${current} />
  </nav>
`;

/** Signs out; what was written and not sent does not stay in a browser that others may use. @param {string} user */
function leave(user) {
  const out = () => signOut().then(() => forgetDrafts(user));
  const count = countDrafts(user);
  if (count === 0) return attempt(out);
  return confirmFirst({ title: t("sign_in.out"), text: t("sign_in.forgets_drafts", { count: number(count) }), submit: t("sign_in.out"), onYes: out });
}

const COUNTED = ["inbox", "tickets"];

/** How much of a page waits for somebody. @param {{page: string}} props */
function PageCount({ page }) {
  const { unread, waiting, mine, overdue } = counts.value;
  const named = mentions.value.size;
  if (page === "tickets") {
    return html`<span class="counts">
      ${overdue.value > 0 && html`<${Count} said=${t("shell.overdue", { count: countText(overdue) })} text=${countText(overdue)} isLate />`}
      ${mine.value > 0 && html`<${Count} said=${t("shell.my_tickets", { count: countText(mine) })} text=${countText(mine)} />`}</span>`;
  }
  return html`<span class="counts">
    ${named > 0 && html`<${Count} said=${t("mention.count", { count: number(named) })} text=${`@${number(named)}`} />`}
    ${unread.value > 0 && html`<${Count} said=${t("shell.unread_and_waiting", { unread: countText(unread), waiting: countText(waiting) })} text=${countText(unread)} />`}</span>`;
}

/** @param {{said: string, text: string, isLate?: boolean}} props */
const Count = ({ said, text, isLate = false }) => html`<span class=${classes("count", isLate && "is-late")} title=${said}><span class="hidden">${said}</span><span aria-hidden="true">${text}</span></span>`;

function WorkspaceMenu() {
  const { workspace } = /** @type {import("../shared/session.js").Account} */ (account.value);
  const text = html`<img src=${new URL("../images/mark.svg", import.meta.url).pathname} alt="" width="28" height="28" />
    <span class="workspace-name" dir="auto">${workspace.name}</span>`;
  const items = workspaceItems();
  if (items.length < 2) return html`<div class="workspace">${text}</div>`;
  return html`<${Menu} label=${t("shell.workspace")} items=${items} text=${text} className="workspace quiet" />`;
}

/** The workspaces of the person, to choose from. */
const workspaceItems = () => {
  const { workspace, workspaces } = /** @type {import("../shared/session.js").Account} */ (account.value);
  return workspaces.map(({ uuid, name }) => ({ id: uuid, text: name, checked: uuid === workspace.uuid, onPick: () => attempt(() => chooseWorkspace(uuid)) }));
};

/** What one's own menu offers. */
function personItems() {
  const { user } = /** @type {import("../shared/session.js").Account} */ (account.value);
  const languages = Object.entries(LANGUAGES).map(([code, name]) => ({
    text: name,
    lang: code,
    checked: code === language.value,
    onPick: () => chooseLanguage(code),
  }));
  return [...languages, { text: t("keys.title"), icon: "help", onPick: openKeys }, { text: t("sign_in.out"), icon: "out", onPick: () => leave(user.uuid) }];
}

function PersonMenu() {
  const { user } = /** @type {import("../shared/session.js").Account} */ (account.value);
  const text = html`<${Avatar} name=${user.name || user.email} id=${user.uuid} /><span class="person-name" dir="auto">${user.name || user.email}</span>`;
  return html`<div class="person"><${Menu} label=${t("shell.person")} items=${personItems()} text=${text} up className="quiet" /></div>`;
}

/** On a small screen, what its bar has no room for. @param {{pages: import("./pages.js").Page[], current: string | undefined}} props */
function MoreMenu({ pages, current }) {
  const workspaces = workspaceItems();
  const items = [
    { id: "palette", text: t("palette.title"), icon: "search", onPick: openPalette },
    ...pages.map(({ name, title, icon }) => ({ id: name, text: t(title), icon, onPick: () => go([name]) })),
    ...(workspaces.length > 1 ? workspaces : []),
    ...personItems(),
  ];
  const isHere = pages.some(({ name }) => name === current);
  const text = html`<${Icon} name="more" /><span>${t("inbox.more")}</span>`;
  return html`<div class="beyond"><${Menu} label=${t("shell.more_pages")} items=${items} text=${text} up className=${isHere ? "quiet is-here" : "quiet"} /></div>`;
}
