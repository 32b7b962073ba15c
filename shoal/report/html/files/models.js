// The list of models: state, figures, inputs and outputs, load and unload.
import {ask, byId, element, perSecond, reasonOf, setText, short, toast, whole} from './dom.js';

const STATES = {READY: 'good', LOADING: 'wait', UNLOADING: 'wait', UNAVAILABLE: 'bad'};
const WORDS = {READY: 'Ready', LOADING: 'Loading', UNLOADING: 'Unloading', UNAVAILABLE: 'Not loaded'};

const shapeOf = (shape) => shape.map((size) => (size < 0 ? 'n' : size)).join(' × ') || 'scalar';

function tensorRows(kind, tensors) {
  return tensors.map((tensor, i) => element('tr', {},
    i === 0 ? element('th', {scope: 'rowgroup', rowspan: tensors.length}, kind) : '',
    element('td', {}, element('code', {}, tensor.name)),
    element('td', {}, tensor.datatype),
    element('td', {}, shapeOf(tensor.shape))));
}

// One model: a line that opens.
class ModelCard {
  constructor(entry, onChange) {
    this.name = entry.name;
    this.onChange = onChange;
    this.pill = element('span', {class: 'pill'}, element('span', {class: 'dot'}), element('span'));
    this.rate = element('span', {class: 'rate soft'});
    this.reason = element('p', {class: 'note', hidden: true});
    this.tensors = element('tbody');
    this.facts = element('dl', {class: 'facts'});
    this.parts = ['queue', 'infer'].map((name) => element('span', {class: `part ${name}`}));
    this.split = element('div', {class: 'split', role: 'img', 'aria-label': 'no request was answered yet'}, ...this.parts);
    this.splitText = element('p', {class: 'soft split-text'}, 'No request was answered yet.');
    this.reload = element('button', {type: 'button', class: 'small', click: () => this.change('load')}, 'Reload');
    this.unload = element('button', {type: 'button', class: 'small', click: () => this.change('unload')}, 'Unload');
    this.node = element('details', {class: 'model'},
      element('summary', {}, element('span', {class: 'title'}, element('strong', {}, entry.name), ' ',
        element('span', {class: 'soft'}, `version ${entry.version}`)), this.rate, this.pill),
      element('div', {class: 'inside'}, this.reason,
        element('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Inputs and outputs of ${entry.name}`},
          element('table', {class: 'tensors'}, this.tensors)),
        this.facts, this.split, this.splitText,
        element('p', {class: 'actions'}, this.reload, this.unload)));
  }

  async showEntry(entry) {
    if (this.state === entry.state && this.said === entry.reason) return;
    this.state = entry.state;
    this.said = entry.reason;
    this.pill.dataset.state = STATES[entry.state] ?? 'wait';
    this.pill.lastChild.textContent = WORDS[entry.state] ?? entry.state;
    this.reason.hidden = !entry.reason;
    this.reason.textContent = entry.reason;
    this.reload.textContent = entry.state === 'READY' ? 'Reload' : 'Load';
    this.unload.disabled = entry.state !== 'READY';
    if (entry.state === 'READY') await this.readMetadata();
  }

  async readMetadata() {
    const answer = await ask(`/v2/models/${encodeURIComponent(this.name)}`);
    if (!answer.ok) return;
    this.metadata = answer.body;
    this.tensors.replaceChildren(...tensorRows('in', this.metadata.inputs), ...tensorRows('out', this.metadata.outputs));
  }

  showFigures(figures) {
    const {counters} = figures;
    setText(this.rate, figures.rate > 0 ? `${perSecond(figures.rate)}/s` : '');
    const facts = {
      answered: whole(counters.answered), 'not answered': whole(figures.failed), waiting: whole(counters.waiting),
      mean: counters.answered > 0 ? `${short(1e3 * counters.seconds.request / counters.answered)} ms` : '–',
      p99: Number.isFinite(figures.p99) ? `${short(figures.p99)} ms` : '–',
      'items a batch': counters.batches > 0 ? String(Number((counters.inferences / counters.batches).toFixed(2))) : '–',
    };
    if (this.facts.children.length === 0) {
      for (const key of Object.keys(facts)) this.facts.append(element('div', {}, element('dt', {}, key), element('dd')));
    }
    Object.values(facts).forEach((text, i) => setText(this.facts.children[i].lastChild, text));
    if (counters.answered > 0) this.showSplit(counters);
  }

  // Where the time of answered requests went.
  showSplit({seconds}) {
    const whole = Math.max(seconds.queue + seconds.infer, 1e-12);
    const share = Math.round(100 * seconds.queue / whole);
    this.parts[0].style.width = `${share}%`;
    this.parts[1].style.width = `${100 - share}%`;
    if (this.share === share) return;
    this.share = share;
    this.splitText.replaceChildren(element('i', {class: 'k2'}), `${share} % of the time waiting, `,
      element('i', {class: 'k1'}), `${100 - share} % computing`);
    this.split.setAttribute('aria-label', this.splitText.textContent);
  }

  async change(verb) {
    this.reload.disabled = this.unload.disabled = true;
    this.pill.dataset.state = 'wait';
    this.pill.lastChild.textContent = verb === 'load' ? 'Loading' : 'Unloading';
    this.state = undefined;
    const answer = await ask(`/v2/repository/models/${encodeURIComponent(this.name)}/${verb}`, {method: 'POST'});
    this.reload.disabled = this.unload.disabled = false;
    if (!answer.ok) toast(`${this.name}: ${reasonOf(answer)}`);
    this.onChange();
  }
}

export class Models {
  constructor(onChange) {
    this.cards = new Map();
    this.onChange = onChange;
  }

  // Models that can be asked now, with their metadata.
  ready() {
    return [...this.cards.values()].filter((card) => card.metadata && card.state === 'READY').map((card) => card.metadata);
  }

  async readIndex() {
    const answer = await ask('/v2/repository/index', {method: 'POST', timeout: 4000});
    if (!answer.ok) return;
    const names = answer.body.map((entry) => entry.name);
    if (names.join('\n') !== [...this.cards.keys()].join('\n')) this.list(answer.body);
    const states = () => [...this.cards.values()].map((card) => card.state).join();
    const before = states();
    await Promise.all(answer.body.map((entry) => this.cards.get(entry.name).showEntry(entry)));
    if (before !== states()) this.onChange();
  }

  list(entries) {
    const old = this.cards;
    this.cards = new Map(entries.map((entry) => [entry.name, old.get(entry.name) ?? new ModelCard(entry, this.onChange)]));
    const nodes = [...this.cards.values()].map((card) => card.node);
    if (nodes.length <= 2) for (const node of nodes) node.open = true;
    byId('models').replaceChildren(...(nodes.length > 0 ? nodes : [element('p', {class: 'soft empty'}, 'This server has no models.')]));
  }

  showFigures(models) {
    for (const [name, figures] of models) this.cards.get(name)?.showFigures(figures);
  }
}
