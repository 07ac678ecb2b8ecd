// A chat on a site. Nothing of the page is used but its language, and nothing that others wrote becomes HTML.
(() => {
"use strict";
const script = document.currentScript;
const channel = script?.dataset.channel;
if (!channel || document.getElementById("relayboard-chat")) return;
const base = new URL(`./${channel}`, script.src).href;

const TEXTS = {
  en: {open: "Chat with us", close: "Close the chat", write: "Write a message", send: "Send", file: "Send a file",
    begin: "Begin", name: "Your name", email: "Your e-mail address", sending: "Sending…", failed: "Not sent",
    again: "Try again", offline: "No connection. Messages are sent as soon as there is one.", earlier: "Earlier messages",
    you: "You", unread: "New messages: ", limit: "Too many messages. Please wait a moment.", picture: "Picture",
    place: "Place on the map", document: "File"},
  ar: {open: "تحدث معنا", close: "إغلاق الدردشة", write: "اكتب رسالة", send: "إرسال", file: "إرسال ملف",
    begin: "ابدأ", name: "اسمك", email: "بريدك الإلكتروني", sending: "جارٍ الإرسال…", failed: "لم تُرسل",
    again: "حاول مرة أخرى", offline: "لا يوجد اتصال. ستُرسل الرسائل عند عودته.", earlier: "رسائل أقدم",
    you: "أنت", unread: "رسائل جديدة: ", limit: "رسائل كثيرة جدًا. انتظر لحظة من فضلك.", picture: "صورة",
    place: "مكان على الخريطة", document: "ملف"},
  es: {open: "Chatea con nosotros", close: "Cerrar el chat", write: "Escribe un mensaje", send: "Enviar",
    file: "Enviar un archivo", begin: "Empezar", name: "Tu nombre", email: "Tu correo electrónico",
    sending: "Enviando…", failed: "No enviado", again: "Reintentar",
    offline: "Sin conexión. Los mensajes se enviarán en cuanto vuelva.", earlier: "Mensajes anteriores", you: "Tú",
    unread: "Mensajes nuevos: ", limit: "Demasiados mensajes. Espera un momento.", picture: "Imagen",
    place: "Lugar en el mapa", document: "Archivo"},
  fr: {open: "Discuter avec nous", close: "Fermer la discussion", write: "Écrivez un message", send: "Envoyer",
    file: "Envoyer un fichier", begin: "Commencer", name: "Votre nom", email: "Votre adresse e-mail",
    sending: "Envoi…", failed: "Non envoyé", again: "Réessayer",
    offline: "Pas de connexion. Les messages partiront dès son retour.", earlier: "Messages précédents", you: "Vous",
    unread: "Nouveaux messages : ", limit: "Trop de messages. Patientez un instant.", picture: "Image",
    place: "Lieu sur la carte", document: "Fichier"},
  pt: {open: "Fale connosco", close: "Fechar o chat", write: "Escreva uma mensagem", send: "Enviar",
    file: "Enviar um ficheiro", begin: "Começar", name: "O seu nome", email: "O seu e-mail", sending: "A enviar…",
    failed: "Não enviada", again: "Tentar de novo",
    offline: "Sem ligação. As mensagens seguem assim que voltar.", earlier: "Mensagens anteriores", you: "Você",
    unread: "Novas mensagens: ", limit: "Demasiadas mensagens. Aguarde um momento.", picture: "Imagem",
    place: "Lugar no mapa", document: "Ficheiro"},
  sw: {open: "Ongea nasi", close: "Funga mazungumzo", write: "Andika ujumbe", send: "Tuma", file: "Tuma faili",
    begin: "Anza", name: "Jina lako", email: "Barua pepe yako", sending: "Inatumwa…", failed: "Haijatumwa",
    again: "Jaribu tena", offline: "Hakuna mtandao. Ujumbe utatumwa ukirudi.", earlier: "Ujumbe wa awali",
    you: "Wewe", unread: "Ujumbe mpya: ", limit: "Ujumbe ni mwingi mno. Tafadhali subiri kidogo.",
    picture: "Picha", place: "Mahali kwenye ramani", document: "Faili"},
};
const STYLE = `
:host { all: initial; --paper: #fff; --ground: #f4f5f6; --ink: #1d2125; --faint: #5c6670; --line: #d9dde1; --mine: #0b6e4f;
  --on-mine: #fff; --bad: #b3261e; --ring: var(--mine); position: fixed; z-index: 2147483000; inset-block-end: 20px; inset-inline-end: 20px;
  color-scheme: light dark; font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink); }
@media (prefers-color-scheme: dark) { :host { --paper: #1b1f23; --ground: #14171a; --ink: #e8eaed; --faint: #a3adb7;
  --line: #363d44; --bad: #ff8a80; --ring: #9ecbff; } }
*, *::before { box-sizing: border-box; font: inherit; color: inherit; margin: 0; }
[hidden] { display: none !important; }
button { background: none; border: 0; padding: 0; cursor: pointer; }
:focus-visible { outline: 3px solid var(--ring); outline-offset: 2px; }
svg { width: 24px; height: 24px; fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linecap: round;
  stroke-linejoin: round; display: block; }
.open { width: 60px; height: 60px; border-radius: 50%; background: var(--mine); color: var(--on-mine); display: grid;
  place-items: center; box-shadow: 0 4px 16px #0004; position: relative; }
.open svg { width: 28px; height: 28px; }
.badge { position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-width: 24px; height: 24px; padding: 0 6px;
  border-radius: 12px; background: #b3261e; color: #fff; font-size: 13px; font-weight: 600; line-height: 24px; }
.panel { position: absolute; inset-block-end: 0; inset-inline-end: 0; width: 380px; height: min(600px, calc(100vh - 40px));
  height: min(600px, calc(100dvh - 40px)); display: flex; flex-direction: column; background: var(--paper);
  border-radius: 16px; overflow: hidden; box-shadow: 0 8px 40px #0005; border: 1px solid var(--line); }
header { display: flex; align-items: center; gap: 8px; padding: 12px 8px 12px 18px; background: var(--mine);
  color: var(--on-mine); }
:host([dir=rtl]) header { padding: 12px 18px 12px 8px; }
h2 { flex: 1; font-size: 17px; font-weight: 600; overflow-wrap: anywhere; }
header button { width: 40px; height: 40px; display: grid; place-items: center; border-radius: 50%; }
header button:hover { background: #ffffff22; }
header :focus-visible { outline-color: currentColor; }
.note { padding: 8px 16px; font-size: 13px; background: var(--ground); color: var(--faint);
  border-block-end: 1px solid var(--line); }
.log { flex: 1; overflow-y: auto; overscroll-behavior: contain; padding: 16px; display: flex; flex-direction: column; gap: 8px;
  background: var(--ground); }
.log > :first-child { margin-block-start: auto; }
.message { max-width: 84%; align-self: flex-start; }
.message.mine { align-self: flex-end; }
.bubble { padding: 9px 13px; border-radius: 16px; border-end-start-radius: 4px; background: var(--paper);
  border: 1px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
.mine .bubble { background: var(--mine); color: var(--on-mine); border-color: transparent; border-end-start-radius: 16px;
  border-end-end-radius: 4px; }
.bubble + .bubble { margin-block-start: 4px; }
.bubble.media { padding: 0; overflow: hidden; line-height: 0; }
.bubble a { text-decoration: underline; }
img, video { max-width: 100%; max-height: 260px; display: block; }
audio { width: 260px; max-width: 100%; }
.time { font-size: 12px; color: var(--faint); padding: 2px 4px; }
.mine .time { text-align: end; }
.time .bad { color: var(--bad); }
.time button, .earlier { text-decoration: underline; color: var(--ink); }
.earlier { align-self: center; font-size: 13px; padding: 6px; }
.replies { display: flex; flex-wrap: wrap; gap: 8px; padding: 2px 16px 12px; background: var(--ground); }
.replies button { border: 1.5px solid var(--mine); border-radius: 20px; padding: 7px 14px; min-height: 38px; background: var(--paper);
  overflow-wrap: anywhere; text-align: start; }
.replies button:hover { background: var(--mine); color: var(--on-mine); }
form { display: flex; align-items: flex-end; gap: 6px; padding: 10px; border-block-start: 1px solid var(--line);
  background: var(--paper); }
textarea { flex: 1; resize: none; border: 1px solid var(--faint); border-radius: 20px; padding: 9px 14px; height: 42px; min-height: 42px;
  max-height: 130px; background: var(--paper); min-width: 0; font-size: 16px; }
form button, .start button { flex: none; width: 42px; height: 42px; border-radius: 50%; display: grid; place-items: center; }
form .file:hover { background: var(--ground); }
form .send, .start .begin { background: var(--mine); color: var(--on-mine); }
:host([dir=rtl]) .send svg { transform: scaleX(-1); }
.start { flex: 1; flex-direction: column; align-items: stretch; gap: 14px; padding: 20px; border: 0; overflow-y: auto; }
.start label { display: block; font-weight: 500; }
.start input { display: block; width: 100%; margin-block-start: 5px; padding: 10px 12px; border: 1px solid var(--faint); border-radius: 10px;
  background: var(--paper); font-size: 16px; }
.start .begin { width: 100%; border-radius: 10px; height: 46px; font-weight: 600; }
.start p { white-space: pre-wrap; overflow-wrap: anywhere; }
.quiet { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 480px) { .panel { position: fixed; inset: 0; width: auto; height: 100%; border-radius: 0; border: 0; } }
@media (prefers-reduced-motion: no-preference) { .open, .replies button { transition: transform .15s, background .15s; }
  .open:hover { transform: scale(1.05); } }
`;
const ICONS = {
  chat: "M20 11.5a7.5 7.5 0 0 1-11 6.6L4 19.5l1.4-4.4A7.5 7.5 0 1 1 20 11.5Z M9 9.8h7 M9 13.2h4.5",
  close: "M6 6l12 12 M18 6 6 18", send: "M4 12h15 M13 6l6 6-6 6",
  file: "M20 11.5 12.4 19a4.9 4.9 0 0 1-7-7l7.7-7.6a3.3 3.3 0 0 1 4.6 4.7l-7.6 7.5a1.6 1.6 0 0 1-2.3-2.3l7-7",
};
const MOST_ACKNOWLEDGED = 100, LENGTH = 4096, MOST_FAILURES = 8;
const CALL_MS = 20000, FILE_MS = 300000, FIRST_WORD_MS = 5000, QUIET_MS = 40000, POLL_MS = 5000, STREAM_AGAIN_MS = 60000, FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 30000, ACKNOWLEDGE_MS = 150;

const wanted = (script.dataset.language || document.documentElement.lang || navigator.language || "en").slice(0, 2).toLowerCase();
const language = wanted in TEXTS ? wanted : "en";
const texts = TEXTS[language];
const locale = navigator.language.startsWith(language) ? navigator.language : language;
const direction = language === "ar" ? "rtl" : "ltr";

const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "hidden" || key === "required") element[key] = value;
    else element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const icon = (name) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
};

// What a reload must not lose: the token, and what is not sent yet.
const STORED = `relayboard-chat-${channel}`;
const kept = {token: "", waiting: []};
const readKept = () => {
  try { Object.assign(kept, JSON.parse(localStorage.getItem(STORED) || "{}")); } catch { /* no storage: until the reload */ }
};
const keep = () => {
  const waiting = kept.waiting.filter(({file}) => !file);
  try { localStorage.setItem(STORED, JSON.stringify({token: kept.token, waiting})); } catch { /* no storage */ }
};
readKept();

let settings, position = "", isOpen = false, hasMore = false, following = false, isSending = false, drawn = [];
const messages = new Map(), delivered = new Set(), read = new Set();
let acknowledging = 0, wake = () => {};

class Refused extends Error {
  constructor(status, seconds) { super(`status ${status}`); this.status = status; this.seconds = seconds; }
}
const call = async (path, {method = "GET", body, headers = {}, signal} = {}) => {
  const isForm = body instanceof FormData;
  const response = await fetch(base + path, {
    method, signal: signal ?? AbortSignal.timeout(isForm ? FILE_MS : CALL_MS), credentials: "omit", cache: "no-store", referrerPolicy: "no-referrer",
    headers: {...headers, ...(kept.token && {Authorization: `Bearer ${kept.token}`}),
      ...(body && !isForm && {"Content-Type": "application/json"})},
    body: isForm || !body ? body : JSON.stringify(body),
  });
  if (!response.ok) throw new Refused(response.status, Number(response.headers.get("Retry-After")) || 0);
  return response;
};

const host = make("div", {id: "relayboard-chat", dir: direction, lang: language});
const root = host.attachShadow({mode: "open"});
const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE);
root.adoptedStyleSheets = [sheet];
const badge = make("span", {class: "badge", hidden: true, "aria-hidden": "true"});
const opener = make("button", {class: "open", type: "button", "aria-label": texts.open, "aria-expanded": "false",
  onclick: () => show(true)}, icon("chat"), badge);
const title = make("h2", {id: "title"});
const note = make("p", {class: "note", role: "status", hidden: true});
const log = make("div", {class: "log", role: "log", "aria-live": "polite", "aria-labelledby": "title", tabindex: "0"});
const replies = make("div", {class: "replies", role: "group", hidden: true});
const field = make("textarea", {rows: "1", maxlength: String(LENGTH), "aria-label": texts.write, placeholder: texts.write,
  oninput: () => grow(), onkeydown: (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); submit(); }
  }});
const picker = make("input", {type: "file", class: "quiet", tabindex: "-1", "aria-hidden": "true",
  accept: "image/*,audio/*,video/*,application/pdf", onchange: () => {
    for (const file of picker.files) write("", file);
    picker.value = "";
  }});
const attach = make("button", {class: "file", type: "button", "aria-label": texts.file, hidden: true,
  onclick: () => picker.click()}, icon("file"));
const writing = make("form", {onsubmit: (event) => { event.preventDefault(); submit(); }},
  attach, picker, field, make("button", {class: "send", type: "submit", "aria-label": texts.send}, icon("send")));
const named = make("input", {name: "name", autocomplete: "name", maxlength: "64", required: true});
const mailed = make("input", {name: "email", type: "email", autocomplete: "email", maxlength: "200", required: true});
const greeting = make("p", {hidden: true});
const start = make("form", {class: "start", hidden: true, onsubmit: (event) => {
  event.preventDefault();
  begin({name: named.value, email: mailed.value});
}}, greeting, make("label", {}, texts.name, named), make("label", {}, texts.email, mailed),
make("button", {class: "begin", type: "submit"}, texts.begin));
const panel = make("section", {class: "panel", role: "dialog", "aria-labelledby": "title", hidden: true,
  onkeydown: (event) => { if (event.key === "Escape") show(false); }},
make("header", {}, title, make("button", {type: "button", "aria-label": texts.close, onclick: () => show(false)}, icon("close"))),
note, start, log, replies, writing);
root.append(opener, panel);

const grow = () => {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight + 2, 130)}px`;
};
const tell = (text) => {
  note.hidden = !text;
  if (note.textContent !== text) note.textContent = text;
};
const show = (open) => {
  isOpen = open;
  panel.hidden = !open;
  opener.hidden = open;
  opener.setAttribute("aria-expanded", String(open));
  if (!open) { opener.focus(); return; }
  const asks = settings.asks_name || settings.asks_email;
  if (!kept.token && !asks) begin({});
  draw();
  log.scrollTop = log.scrollHeight;
  (start.hidden ? field : settings.asks_name ? named : mailed).focus();
  noteRead();
};
const begin = async ({name = "", email = ""}) => {
  if (begin.isRunning) return;
  begin.isRunning = true;
  try {
    const given = {...(settings.asks_name && {name}), ...(settings.asks_email && {email})};
    const {token} = await (await call("/visits", {method: "POST", body: given})).json();
    kept.token = token;
    keep();
    tell("");
    draw();
    field.focus();
    follow();
    flush();
  } catch (error) {
    tell(error.status === 429 ? texts.limit : texts.offline);
    if (!(settings.asks_name || settings.asks_email)) setTimeout(() => isOpen && !kept.token && begin({}), POLL_MS);
  } finally { begin.isRunning = false; }
};

const link = (url, ...children) => make("a", {href: url, target: "_blank", rel: "noopener noreferrer nofollow"}, ...children);
const LINK = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?)\]]/g;
const linked = (text) => {
  const parts = [];
  let last = 0;
  for (const found of text.matchAll(LINK)) {
    parts.push(text.slice(last, found.index), link(found[0], found[0]));
    last = found.index + found[0].length;
  }
  return [...parts, text.slice(last)];
};
const address = (text) => {
  try { return /^https?:$/.test(new URL(text).protocol) ? text : ""; } catch { return ""; }
};
const nameOf = (url) => {
  const name = url.split(/[?#]/)[0].split("/").pop();
  try { return decodeURIComponent(name); } catch { return name; }
};
const attachment = ({content_type: kind, url}) => {
  if (/^geo\b/.test(kind)) {
    const [latitude, longitude] = url.split(",").map(Number);
    return make("div", {class: "bubble"}, link(
      `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}`, texts.place));
  }
  const source = address(url);
  if (!source) return "";
  const name = nameOf(source) || texts.document;
  if (/^image\b/.test(kind)) {
    const image = make("img", {src: source, alt: texts.picture, referrerpolicy: "no-referrer", onload: () => stick()});
    return make("div", {class: "bubble media"}, link(source, image));
  }
  for (const each of ["audio", "video"])
    if (kind.startsWith(each))
      return make("div", {class: "bubble media"}, make(each, {src: source, controls: "", preload: "metadata"}));
  return make("div", {class: "bubble"}, link(source, name));
};
const moment = (text) => {
  const date = new Date(text), isToday = date.toDateString() === new Date().toDateString();
  const day = isToday ? {} : {day: "numeric", month: "short"};
  return date.toLocaleString(locale, {...day, hour: "2-digit", minute: "2-digit"});
};
const bubble = (message) => {
  const isMine = message.from === "visitor";
  const parts = message.attachments.map(attachment);
  if (message.text) parts.push(make("div", {class: "bubble", dir: "auto"}, ...linked(message.text)));
  const state = make("div", {class: "time"});
  if (message.failed)
    state.append(make("span", {class: "bad"}, texts.failed, " "), make("button", {type: "button",
      onclick: () => { message.failed = false; draw(); flush(); }}, texts.again));
  else state.append(message.isWaiting ? texts.sending : moment(message.created_on));
  const who = make("span", {class: "quiet"}, `${isMine ? texts.you : settings.title}: `);
  return make("div", {class: `message${isMine ? " mine" : ""}`}, who, ...parts, state);
};
const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 60;
let wasAtEnd = true;
const stick = () => { if (wasAtEnd) log.scrollTop = log.scrollHeight; };
const all = () => {
  const sent = [...messages.values()].sort((a, b) => a.created_on < b.created_on ? -1 : a.created_on > b.created_on ? 1 : 0);
  const keys = new Set(sent.map(({key}) => key));
  const waiting = kept.waiting.filter(({key}) => !keys.has(key)).map((each) => Object.assign(each, {isWaiting: true,
    from: "visitor", attachments: []}));
  return [...sent, ...waiting];
};
/** What is there stays there: readers of screens hear only what is new. */
const draw = () => {
  const asks = settings.asks_name || settings.asks_email, isNew = !kept.token && asks;
  start.hidden = !isNew;
  log.hidden = writing.hidden = Boolean(isNew);
  const shown = all(), last = shown[shown.length - 1];
  const wantedNodes = [];
  if (hasMore) wantedNodes.push({id: "earlier", state: "", node: () => make("button", {class: "earlier", type: "button",
    onclick: loadEarlier}, texts.earlier)});
  if (settings.greeting && !hasMore) wantedNodes.push({id: "greeting", state: "", node: () => make("div", {class: "message"},
    make("div", {class: "bubble", dir: "auto"}, settings.greeting))});
  for (const each of shown)
    wantedNodes.push({id: each.key || each.id, state: JSON.stringify([each.text, each.attachments, each.isWaiting, each.failed]),
      node: () => bubble(each)});
  wasAtEnd = isAtEnd();
  const before = new Map(drawn.map((each) => [each.id, each]));
  drawn = wantedNodes.map(({id, state, node}) => {
    const old = before.get(id);
    before.delete(id);
    if (old?.state === state) return old;
    const made = {id, state, element: node()};
    old?.element.replaceWith(made.element);
    return made;
  });
  for (const {element} of before.values()) element.remove();
  drawn.forEach(({element}, index) => {
    if (log.children[index] !== element) log.insertBefore(element, log.children[index] ?? null);
  });
  const choices = last?.from === "site" ? last.quick_replies : [];
  if (replies.dataset.of !== (choices.length ? last.id : "")) {
    replies.dataset.of = choices.length ? last.id : "";
    replies.replaceChildren(...choices.map((text) => make("button", {type: "button", onclick: () => {
      write(text);
      field.focus();
    }}, text)));
  }
  replies.hidden = !choices.length || writing.hidden;
  const unread = shown.filter(({from, id, status}) => from === "site" && status !== "read" && !read.has(id)).length;
  badge.hidden = !unread;
  badge.textContent = unread > 9 ? "9+" : String(unread);
  opener.setAttribute("aria-label", unread ? `${texts.open}. ${texts.unread}${unread}` : texts.open);
  stick();
};
const take = (list) => {
  for (const message of list) {
    messages.set(message.id, message);
    if (message.key) kept.waiting = kept.waiting.filter(({key}) => key !== message.key);
    if (message.from === "site" && message.status === "sent") delivered.add(message.id);
  }
  keep();
  noteRead();
  draw();
  acknowledge();
};
const noteRead = () => {
  if (!isOpen || document.hidden) return;
  for (const {id, from, status} of messages.values())
    if (from === "site" && status !== "read") read.add(id);
  acknowledge();
  draw();
};
/** What fails is told again later. */
const acknowledge = () => {
  if (acknowledging || !kept.token || !(delivered.size || read.size)) return;
  acknowledging = setTimeout(async () => {
    const body = {delivered: [...delivered].slice(0, MOST_ACKNOWLEDGED), read: [...read].slice(0, MOST_ACKNOWLEDGED)};
    try {
      await call("/acknowledgements", {method: "POST", body});
      for (const id of body.delivered) delivered.delete(id);
      for (const id of body.read) {
        read.delete(id);
        if (messages.has(id)) messages.get(id).status = "read";
      }
      acknowledging = 0;
      acknowledge();
    } catch { setTimeout(() => { acknowledging = 0; acknowledge(); }, POLL_MS); }
  }, ACKNOWLEDGE_MS);
};

const submit = () => {
  const text = field.value.trim();
  if (!text) return;
  field.value = "";
  grow();
  write(text);
};
const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (each) => each.toString(16).padStart(2, "0")).join("");
const write = (text, file) => {
  kept.waiting.push({key: newKey(), text: file ? file.name : text, file, quick_replies: [],
    created_on: new Date().toISOString()});
  keep();
  wasAtEnd = true;
  draw();
  log.scrollTop = log.scrollHeight;
  flush();
};
/** Sends what waits, in order. A repeat has the same key: it is one message. */
const flush = async () => {
  if (isSending || !kept.token) return;
  isSending = true;
  try {
    for (let next; (next = kept.waiting.find(({failed}) => !failed)); ) {
      try {
        const form = next.file && new FormData();
        form?.append("file", next.file);
        const response = form
          ? await call(`/files?key=${next.key}`, {method: "POST", body: form})
          : await call("/messages", {method: "POST", body: {key: next.key, text: next.text}});
        take([await response.json()]);
        tell("");
      } catch (error) {
        if (error.status === 401) { forget(); return; }
        if (error.status === 429) tell(texts.limit);
        else if (error.status < 500) next.failed = true;
        else tell(texts.offline);
        if (next.failed) { draw(); continue; }
        setTimeout(flush, error.seconds * 1000 || POLL_MS);
        return;
      }
    }
  } finally { isSending = false; }
};
/** Nobody knows the visitor any more. */
const forget = () => {
  kept.token = "";
  position = "";
  messages.clear();
  delivered.clear();
  read.clear();
  hasMore = false;
  keep();
  draw();
  if (isOpen && start.hidden) begin({});
};

const load = async () => {
  const found = await (await call(`/messages?position=${encodeURIComponent(position)}`)).json();
  if (found.is_whole) {
    messages.clear();
    hasMore = found.has_more;
  }
  position = found.position;
  take(found.results.filter(({from}) => from));
  for (const {id, from} of found.results) if (!from) messages.delete(id);
  draw();
};
const loadEarlier = async () => {
  const first = all().find(({id}) => id);
  try {
    const found = await (await call(`/messages?earlier_than=${first.id}`)).json();
    hasMore = found.has_more;
    const height = log.scrollHeight;
    for (const each of found.results) messages.set(each.id, each);
    draw();
    log.scrollTop += log.scrollHeight - height;
  } catch { tell(texts.offline); }
};
const hear = async (block) => {
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  if (fields.event === "reset") {
    position = "";
    await load();
  } else if (fields.event === "message") take([JSON.parse(fields.data)]);
  else if (fields.event === "message_gone") {
    messages.delete(JSON.parse(fields.data).id);
    draw();
  }
  if (fields.id && fields.event !== "reset") position = fields.id;
};
/** Reads the stream until it ends; a silent one is dead. */
const listen = async () => {
  const stopping = new AbortController();
  let timer = setTimeout(() => stopping.abort(), FIRST_WORD_MS), hasHeard = false;
  try {
    const response = await call("/stream", {headers: {"Last-Event-ID": position}, signal: stopping.signal});
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      hasHeard = true;
      clearTimeout(timer);
      timer = setTimeout(() => stopping.abort(), QUIET_MS);
      text += value;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) await hear(text.slice(0, end));
    }
  } catch (error) {
    throw {status: error.status, seconds: error.seconds, hasHeard};
  } finally { clearTimeout(timer); stopping.abort(); }
};
const pause = (ms) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  wake = () => { clearTimeout(timer); resolve(); };
});
/** Follows the conversation by a stream, or by asking where there is no place for one or nothing of it comes through. */
const follow = async () => {
  if (following) return;
  following = true;
  let failures = 0, streamAgain = 0;
  while (kept.token) {
    try {
      await load();
      tell("");
      failures = 0;
      flush();
      if (Date.now() < streamAgain) { await pause(POLL_MS); continue; }
      await listen();
      await pause(FIRST_PAUSE_MS);
    } catch (error) {
      if (error.status === 401) { forget(); break; }
      if (error.status === 403 || error.status === 404) break;
      const isFull = error.status === 429, isBlocked = error.hasHeard === false;
      if (isBlocked) streamAgain = Date.now() + (error.seconds * 1000 || STREAM_AGAIN_MS);
      else if (!isFull) {
        failures += 1;
        if (failures > 1 || !navigator.onLine) tell(texts.offline);
      }
      const longest = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
      await pause(isFull || isBlocked ? POLL_MS : longest / 2 + Math.random() * longest / 2);
    }
  }
  following = false;
};
addEventListener("online", () => { wake(); flush(); });
addEventListener("offline", () => tell(texts.offline));
document.addEventListener("visibilitychange", () => { if (!document.hidden) { wake(); noteRead(); } });
// Another tab is the same visitor.
addEventListener("storage", ({key}) => {
  if (key !== STORED) return;
  const own = [...kept.waiting, ...messages.values()].map((each) => each.key), {waiting} = kept;
  readKept();
  kept.waiting = [...waiting, ...kept.waiting.filter((each) => !own.includes(each.key))];
  draw();
  if (kept.token) follow();
});

const enter = async (failures = 0) => {
  try { settings = await (await call("/settings")).json(); } catch {
    // A browser shows no answer to a site that may not have the chat.
    if (failures >= MOST_FAILURES) console.warn(`Relayboard chat ${channel}: is this site among its origins?`);
    else setTimeout(enter, Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), failures + 1);
    return;
  }
  title.textContent = settings.title;
  greeting.textContent = settings.greeting;
  greeting.hidden = !settings.greeting;
  named.parentNode.hidden = named.disabled = !settings.asks_name;
  mailed.parentNode.hidden = mailed.disabled = !settings.asks_email;
  attach.hidden = !settings.takes_files;
  const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(settings.colour.slice(at, at + 2), 16) / 255) ** 2.2);
  host.style.setProperty("--mine", settings.colour);
  host.style.setProperty("--on-mine", 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18 ? "#111" : "#fff");
  draw();
  document.body.append(host);
  if (kept.token) follow();
};
if (document.body) enter();
else addEventListener("DOMContentLoaded", () => enter());
})();
