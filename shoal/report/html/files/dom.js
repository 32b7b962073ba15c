// Elements, texts and requests: what the other modules share.

export const byId = (id) => document.getElementById(id);

// element('p', {class: 'soft', hidden: true}, 'text', child): an element. Texts are never markup.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, '');
    else if (value !== false && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// Changes a text only if it differs, so that nothing is drawn or read out again.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// Three digits that matter: 0.123, 1.23, 12.3, 1,234.
export function short(number) {
  if (!Number.isFinite(number)) return '–';
  const digits = number === 0 || number >= 100 ? 0 : number >= 10 ? 1 : number >= 1 ? 2 : 3;
  return number.toLocaleString('en', {maximumFractionDigits: digits, minimumFractionDigits: number >= 1 ? digits : 0});
}

// How often: 0.4, 12.3, 1,234.
export const perSecond = (number) => number.toLocaleString('en', {maximumFractionDigits: number < 100 ? 1 : 0});

export const whole = (number) => number.toLocaleString('en', {maximumFractionDigits: 0});

let hiding;
export function toast(text) {
  const node = byId('toast');
  node.textContent = text;
  node.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => { node.hidden = true; }, 6000);
}

// An API key, for servers that want one. Of this tab only.
const KEY = 'shoal-key';
export const hasKey = () => sessionStorage.getItem(KEY) !== null;
export const setKey = (key) => sessionStorage.setItem(KEY, key);

function headersFor(type) {
  const headers = type ? {'Content-Type': type} : {};
  if (hasKey()) headers.Authorization = `Bearer ${sessionStorage.getItem(KEY)}`;
  return headers;
}

// A request to this server: {ok, status, body, ms}. `body` is parsed JSON, or text. A server that does
// not answer has the status 0; nothing is thrown.
export async function ask(path, {method = 'GET', body, type, timeout = 60000} = {}) {
  const begin = performance.now();
  try {
    const answer = await fetch(path, {
      method, body, headers: headersFor(type), cache: 'no-store', signal: AbortSignal.timeout(timeout),
    });
    const text = await answer.text();
    const ms = performance.now() - begin;
    let parsed = text;
    if (answer.headers.get('Content-Type')?.startsWith('application/json')) {
      try { parsed = JSON.parse(text); } catch { /* as it is */ }
    }
    return {ok: answer.ok, status: answer.status, body: parsed, ms, retry: answer.headers.get('Retry-After')};
  } catch {
    return {ok: false, status: 0, body: '', ms: performance.now() - begin};
  }
}

// Why a request failed, in a sentence.
export function reasonOf(answer) {
  if (answer.status === 0) return 'The server does not answer.';
  const said = answer.body?.error ?? `The server said ${answer.status}.`;
  if (answer.status === 429) return `Too many requests at once. Try again in ${answer.retry ?? 1} s.`;
  if (answer.status === 401) return 'This server wants an API key, or another one.';
  if (answer.status === 503) return `Not now: ${said}.`;
  return said.charAt(0).toUpperCase() + said.slice(1);
}

export function copyButton(textOf) {
  const button = element('button', {type: 'button', class: 'small copy'}, 'Copy');
  button.addEventListener('click', async () => {
    button.textContent = await copy(textOf()) ? 'Copied' : 'Not allowed';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
  return button;
}

// navigator.clipboard exists on https and localhost only.
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const area = element('textarea', {class: 'hidden'});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
}

// Arrow keys, Home and End move between tabs, as the ARIA practices have it.
export function tabs(list, shown = () => {}) {
  const all = [...list.querySelectorAll('[role=tab]')];
  const choose = (tab) => {
    for (const one of all) {
      one.setAttribute('aria-selected', one === tab);
      one.tabIndex = one === tab ? 0 : -1;
      byId(one.getAttribute('aria-controls')).hidden = one !== tab;
    }
    shown(tab);
  };
  list.addEventListener('click', (event) => {
    const tab = event.target.closest('[role=tab]');
    if (tab) choose(tab);
  });
  list.addEventListener('keydown', (event) => {
    const at = all.indexOf(document.activeElement);
    const to = {ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1}[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const tab = all[(to + all.length) % all.length];
    choose(tab);
    tab.focus();
  });
}
