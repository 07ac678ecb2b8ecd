/** The pages of the console, in the order of the navigation. A page is loaded when it is first opened. One that `isUnder` another
 *  is reached from there. On a small screen what is open in a page takes the place of the navigation and leads back to the page;
 *  one with `ownSections` has no such way back. The bar of a small screen has room for five pages:
 *  those that are `isBeyond` stand in its menu. A wide navigation names the `group` of pages that stand together. */

import { may } from "../shared/session.js";
import { addTexts } from "../shared/texts.js";

/**
 * @typedef {{name: string, title: import("../shared/texts.js").Key, icon: string, group?: import("../shared/texts.js").Key, isFor: () => boolean, isUnder?: string, ownSections?: boolean, isBeyond?: boolean,
 *   load: () => Promise<{default: (props: {place: import("../shared/router.js").Place}) => any}>}} Page
 */

/** A page with the texts that only it needs. @template P @param {string} folder @param {Promise<P>} page @returns {Promise<P>} */
const withTexts = async (folder, page) => (await Promise.all([page, addTexts(new URL(folder, import.meta.url))]))[0];

/** @type {Page[]} */
export const PAGES = [
  {
    name: "overview",
    title: "overview.title",
    icon: "chart",
    isFor: () => may("read_workspace_figures"),
    load: () => import("../overview/page.js"),
  },
  {
    name: "figures",
    title: "figures.title",
    icon: "report",
    isFor: () => may("read_figures"),
    isBeyond: true,
    load: () => withTexts("../figures/texts/", import("../figures/page.js")),
  },
  {
    name: "inbox",
    title: "inbox.title",
    icon: "inbox",
    group: "shell.talk",
    isFor: () => may("list_conversations"),
    load: () => import("../inbox/page.js"),
  },
  {
    name: "contacts",
    title: "contacts.title",
    icon: "contacts",
    group: "shell.talk",
    isFor: () => may("list_contacts"),
    load: () => withTexts("../contacts/texts/", import("../contacts/page.js")),
  },
  {
    name: "contact_imports",
    title: "imports.title",
    icon: "contacts",
    isFor: () => may("list_contact_imports"),
    isUnder: "contacts",
    load: () => withTexts("../contact_imports/texts/", import("../contact_imports/page.js")),
  },
  {
    name: "contact_doubles",
    title: "doubles.title",
    icon: "contacts",
    isFor: () => may("list_contact_doubles"),
    isUnder: "contacts",
    load: () => withTexts("../contact_doubles/texts/", import("../contact_doubles/page.js")),
  },
  {
    name: "exports",
    title: "exports.title",
    icon: "download",
    isFor: () => may("list_exports"),
    isUnder: "contacts",
    load: () => withTexts("../exports/texts/", import("../exports/page.js")),
  },
  {
    name: "tickets",
    title: "tickets.title",
    icon: "ticket",
    group: "shell.talk",
    isFor: () => may("list_tickets"),
    load: () => import("../tickets/page.js"),
  },
  {
    name: "broadcasts",
    title: "broadcasts.title",
    icon: "send",
    group: "shell.reach",
    isFor: () => may("list_broadcasts"),
    load: () => withTexts("../broadcasts/texts/", import("../broadcasts/page.js")),
  },
  {
    name: "campaigns",
    title: "campaigns.title",
    icon: "campaign",
    group: "shell.reach",
    isFor: () => may("list_campaigns"),
    isBeyond: true,
    load: () => withTexts("../campaigns/texts/", import("../campaigns/page.js")),
  },
  {
    name: "flows",
    title: "flows.title",
    icon: "flow",
    group: "shell.automate",
    isFor: () => may("list_flows"),
    isBeyond: true,
    load: () => withTexts("../flows/texts/", import("../flows/page.js")),
  },
  {
    name: "triggers",
    title: "triggers.title",
    icon: "play",
    group: "shell.automate",
    isFor: () => may("list_triggers"),
    isBeyond: true,
    load: () => withTexts("../triggers/texts/", import("../triggers/page.js")),
  },
  {
    name: "channels",
    title: "channels.title",
    icon: "channel",
    group: "shell.set_up",
    isFor: () => may("list_channels"),
    isBeyond: true,
    load: () => withTexts("../channels/texts/", import("../channels/page.js")),
  },
  {
    name: "deliveries",
    title: "deliveries.title",
    icon: "send",
    isFor: () => may("list_deliveries"),
    isUnder: "channels",
    load: () => withTexts("../deliveries/texts/", import("../deliveries/page.js")),
  },
  {
    name: "settings",
    title: "settings.title",
    icon: "gear",
    group: "shell.set_up",
    isFor: () => true,
    isBeyond: true,
    ownSections: true,
    load: () => withTexts("../settings/texts/", import("../settings/page.js")),
  },
];

export const openPages = () => PAGES.filter((page) => page.isFor());
