// What the server computes on, read from /v2/devices: devices or workers, the links to them, and the plan that they
// carry out, with requests on their way through it.
import {ask, byId, element, perSecond, setText, short, whole} from './dom.js';

const SHOWN_MS = 1600;  // that a request takes in the picture, however fast it is
const MOST = 4;         // requests in the picture at a time
const SVG = 'http://www.w3.org/2000/svg';

const bytes = (number) => (number > 0 ? `${short(number / 1e9)} GB` : '–');
const known = (number, text) => (number === null || number === undefined ? '–' : text(number));

// What each column says of a device and of the link to it, if there is one.
const COLUMNS = {
  Device: (one) => one.name,
  Role: (one) => one.role,
  State: (one) => (one.lost ? 'not reached' : one.role === 'idle' ? 'not used' : 'there'),
  Load: (one) => known(one.load, (load) => load.toFixed(2)),
  Threads: (one) => (one.threads > 0 ? whole(one.threads) : '–'),
  'Free memory': (one) => bytes(one.free_bytes),
  'Mbit/s': (one, link) => known(link?.bytes_per_second, (rate) => short(8e-6 * rate)),
  'Round trip': (one, link) => known(link?.round_trip_ms, (ms) => `${short(ms)} ms`),
  Tasks: (one) => (one.role === 'worker' ? whole(one.tasks) : '–'),
  Processor: (one) => one.kind || '–',
};

// Bars of a picture whose places are times: a request that is at `x` is in those that begin before and end after it.
export function barsAt(bars, x) {
  return bars.filter((bar) => bar.from <= x && x <= bar.to);
}

// A picture of a plan in which requests move from left to right.
class PlanPicture {
  constructor(markup) {
    const page = new DOMParser().parseFromString(markup, 'text/html');  // runs nothing
    this.node = document.importNode(page.querySelector('.scroll'), true);
    this.svg = this.node.querySelector('svg');
    this.bars = [...this.svg.querySelectorAll('rect')].map((node) => {
      const from = Number(node.getAttribute('x'));
      return {node, from, to: from + Number(node.getAttribute('width'))};
    });
    this.from = Math.min(...this.bars.map((bar) => bar.from));
    this.to = Math.max(...this.bars.map((bar) => bar.to));
    this.moving = new Map();  // cursor -> when it began
  }

  start() {
    if (this.moving.size >= MOST || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const cursor = document.createElementNS(SVG, 'line');
    cursor.setAttribute('class', 'cursor');
    cursor.setAttribute('y1', 40);
    cursor.setAttribute('y2', this.svg.viewBox.baseVal.height);
    this.svg.append(cursor);
    this.moving.set(cursor, performance.now());
    if (this.moving.size === 1) requestAnimationFrame(() => this.move());
  }

  move() {
    const lit = new Set();
    for (const [cursor, began] of this.moving) {
      const share = (performance.now() - began) / SHOWN_MS;
      if (share >= 1) {
        cursor.remove();
        this.moving.delete(cursor);
        continue;
      }
      const x = this.from + share * (this.to - this.from);
      cursor.setAttribute('x1', x);
      cursor.setAttribute('x2', x);
      for (const bar of barsAt(this.bars, x)) lit.add(bar.node);
    }
    for (const {node} of this.bars) node.classList.toggle('lit', lit.has(node));
    if (this.moving.size > 0) requestAnimationFrame(() => this.move());
  }
}

export class Devices {
  constructor() {
    byId('devices-head').append(...Object.keys(COLUMNS).map((name) => element('th', {scope: 'col'}, name)));
    byId('plan-of').addEventListener('change', () => this.showPlan());
    this.plans = [];
  }

  async read() {
    const answer = await ask('/v2/devices', {timeout: 4000});
    if (!answer.ok) return;
    const {devices, links, plans} = answer.body;
    this.showDevices(devices, new Map(links.map((link) => [link.to, link])));
    if (JSON.stringify(plans) !== JSON.stringify(this.plans)) {
      this.plans = plans;
      const chosen = byId('plan-of').value;
      byId('plan-of').replaceChildren(...plans.map((plan) => element('option', {}, plan.model)));
      if (plans.some((plan) => plan.model === chosen)) byId('plan-of').value = chosen;
      await this.showPlan();
    }
    byId('devices').hidden = devices.length === 0;
  }

  showDevices(devices, links) {
    const body = byId('devices-body'), columns = Object.values(COLUMNS);
    if (body.children.length !== devices.length) {
      body.replaceChildren(...devices.map(() => element('tr', {}, ...columns.map((_, i) => (
        i === 0 ? element('th', {scope: 'row'}) : element('td'))))));
    }
    devices.forEach((one, row) => {
      const node = body.children[row];
      node.classList.toggle('gone', one.lost !== '');
      node.title = one.lost;
      columns.forEach((text, i) => setText(node.children[i], text(one, links.get(one.name))));
    });
  }

  async showPlan() {
    const plan = this.plans.find((one) => one.model === byId('plan-of').value);
    byId('plan').hidden = plan === undefined;
    if (plan === undefined || plan.id === this.shown) return;
    const answer = await ask(`/v2/plans/${plan.id}`);
    if (!answer.ok) return;  // it was replaced meanwhile
    this.shown = plan.id;
    this.picture = new PlanPicture(answer.body.picture);
    byId('plan-picture').replaceChildren(this.picture.node);
  }

  // Requests that were answered since the last time begin their way through the picture.
  showFlow({answered, rate}) {
    const before = this.answered ?? answered;
    this.answered = answered;
    if (!this.picture) return;
    for (let i = before; i < Math.min(answered, before + MOST); ++i) setTimeout(() => this.picture.start(), 90 * (i - before));
    setText(byId('plan-flow'), `${perSecond(rate)} requests a second take this way; in the picture each takes ${SHOWN_MS / 1e3} s.`);
  }
}
