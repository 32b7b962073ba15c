// Variants of tasks, read from /v2/catalog: which are worth their time, what budgets leave, and what the
// scheduler decided and why.
import {ask, byId, element, setText, short, whole} from './dom.js';

const SHOWN = 12;  // decisions
const NO_LIMIT = {joules: 1e12, bytes: 2 ** 50};  // what the server takes where no budget is given
const WIDTH = 460, HEIGHT = 230, LEFT = 52, RIGHT = 14, TOP = 12, BOTTOM = 40;
const SVG = 'http://www.w3.org/2000/svg';

// Those that no other variant beats: at least as accurate and as fast, and one of both better. By time.
export function frontOf(variants) {
  const beats = (a, b) => a.accuracy >= b.accuracy && a.ms <= b.ms && (a.accuracy > b.accuracy || a.ms < b.ms);
  return variants.filter((one) => !variants.some((other) => beats(other, one))).sort((a, b) => a.ms - b.ms);
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// A scale from numbers to places that leaves some room at both ends.
function scale(numbers, from, to) {
  const low = Math.min(...numbers), high = Math.max(...numbers);
  const room = (high - low || Math.abs(high) || 1) * 0.12;
  return (number) => from + (to - from) * (number - low + room) / (high - low + 2 * room);
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;

// Accuracy over time; a line joins the variants of the front.
function picture(task) {
  const {variants} = task;
  const x = scale(variants.map((one) => one.ms), LEFT, WIDTH - RIGHT);
  const y = scale(variants.map((one) => one.accuracy), HEIGHT - BOTTOM, TOP);
  const front = frontOf(variants);
  const svg = shape('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img',
    'aria-label': `Accuracy of ${task.name} by milliseconds; the table has the numbers. Worth their time: ${front.map((one) => one.name).join(', ')}`});
  svg.append(shape('path', {class: 'grid', d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}`}));
  for (const one of [front[0], front.at(-1)]) {
    svg.append(shape('text', {class: 'soft', x: x(one.ms), y: HEIGHT - BOTTOM + 16, 'text-anchor': 'middle'}, `${short(one.ms)} ms`));
    svg.append(shape('text', {class: 'soft', x: LEFT - 6, y: y(one.accuracy) + 4, 'text-anchor': 'end'}, percent(one.accuracy)));
  }
  svg.append(shape('path', {class: 's1 front', d: front.map((one, i) => `${i ? 'L' : 'M'}${x(one.ms)} ${y(one.accuracy)}`).join('')}));
  for (const one of variants) {
    const dot = shape('circle', {cx: x(one.ms), cy: y(one.accuracy), r: 5, class: front.includes(one) ? 'f1' : 'track'});
    svg.append(dot, shape('text', {x: x(one.ms) + 8, y: y(one.accuracy) + (front.includes(one) ? 16 : -8)}, one.name));
  }
  return element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Picture of ${task.name}`}, svg);
}

const COLUMNS = {
  Variant: (one) => one.name,
  Place: (one) => (one.place === 'split' ? `split after ${one.cut}` : one.place),
  Shares: (one) => (one.shares === undefined ? '–' : `layers ${one.shares + 1}`),
  Accuracy: (one) => percent(one.accuracy),
  Time: (one) => `${short(one.ms)} ms`,
  Energy: (one) => `${short(1e3 * one.joules)} mJ`,
  Size: (one) => `${short(one.bytes / 1e6)} MB`,
  'In memory': (one) => (one.in_memory ? 'yes' : 'no'),
  Answers: (one) => whole(one.answers),
};

// A task: a picture that changes only with its variants, and a table whose numbers do.
class TaskPart {
  constructor(task) {
    const head = element('tr', {}, ...Object.keys(COLUMNS).map((name) => element('th', {scope: 'col'}, name)));
    this.body = element('tbody');
    this.host = element('div', {});
    this.node = element('div', {class: 'task'}, element('h3', {}, task.name), element('div', {class: 'plots'}, this.host,
      element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Variants of ${task.name}`},
        element('table', {}, element('thead', {}, head), this.body))));
  }

  show(task) {
    const drawn = JSON.stringify(task.variants.map((one) => [one.name, one.ms, one.accuracy]));
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.host.replaceChildren(picture(task));
      this.body.replaceChildren(...task.variants.map(() => element('tr', {}, ...Object.keys(COLUMNS).map((_, i) => (
        i === 0 ? element('th', {scope: 'row'}) : element('td'))))));
    }
    task.variants.forEach((one, row) => Object.values(COLUMNS).forEach((text, i) => setText(this.body.children[row].children[i], text(one))));
  }
}

const hours = (seconds) => `${short(seconds / 3600)} h`;

// [what, how much is used, of how much] of each budget that was given.
function budgetsOf(budgets) {
  const all = [];
  if (budgets.joules < NO_LIMIT.joules) all.push(['Energy', `${short(budgets.joules - budgets.joules_left)} J`, `${short(budgets.joules)} J`]);
  if (budgets.dollars > 0) all.push(['Money', `$${short(budgets.dollars - budgets.dollars_left)}`, `$${short(budgets.dollars)}`]);
  if (budgets.bytes < NO_LIMIT.bytes) all.push(['Memory', `${short(budgets.bytes_used / 1e6)} MB`, `${short(budgets.bytes / 1e6)} MB`]);
  return [...all, ['Day', hours(budgets.at), hours(budgets.seconds)]];
}

export class Catalog {
  constructor() {
    this.tasks = new Map();
    this.figures = new Map();
  }

  // Asks the server, which has a catalog.
  async read() {
    const answer = await ask('/v2/catalog');
    if (!answer.ok) return;
    const {budgets, tasks, decisions, shared} = answer.body;
    this.showShared(shared);
    for (const [name, used, of] of budgetsOf(budgets)) this.showBudget(name, used, of);
    for (const task of tasks) {
      if (!this.tasks.has(task.name)) {
        const part = new TaskPart(task);
        this.tasks.set(task.name, part);
        byId('tasks').append(part.node);
      }
      this.tasks.get(task.name).show(task);
    }
    const lines = decisions.slice(-SHOWN).reverse();
    setText(byId('decisions'), lines.join('\n') || 'Nothing was asked yet.');
    byId('catalog').hidden = false;
  }

  showShared(shared) {
    byId('shared').hidden = shared.length === 0;
    setText(byId('shared'), shared.map((one, i) => (
      `Layers ${i + 1}, first of ${one.name.replaceAll('+', ' and ')}: ran ${whole(one.runs)} times for ${whole(one.uses)} answers, `
      + `${short(one.bytes / 1e6)} MB once.`)).join(' '));
  }

  showBudget(name, used, of) {
    if (!this.figures.has(name)) {
      const figure = [element('b'), element('small')];
      this.figures.set(name, figure);
      byId('budgets').append(element('div', {class: 'figure'}, element('dt', {}, name), element('dd', {}, figure[0], ' ', figure[1])));
    }
    const [number, rest] = this.figures.get(name);
    setText(number, used);
    setText(rest, `of ${of}`);
  }
}
