// Asking a model from the page: a picture, a drawing, or JSON.
import {ask, byId, element, reasonOf, setText, short, tabs} from './dom.js';
import {Pad} from './draw.js';

const elements = (shape) => shape.reduce((product, size) => product * Math.max(size, 1), 1);
const isDigits = (model) => model.inputs.length === 1 && model.inputs[0].shape.slice(1).join() === '1,28,28';

// A request for one item. Long tensors are left to fill().
function exampleFor(model) {
  const inputs = model.inputs.map(({name, datatype, shape}) => {
    const one = shape.map((size) => Math.max(size, 1));
    return {name, datatype, shape: one, data: elements(one) > 16 ? 'random' : Array(elements(one)).fill(0)};
  });
  return JSON.stringify({inputs}, null, 2).replace(/\[\s+([-\d.,\s]+?)\s+\]/g, (_, list) => `[${list.replace(/\s+/g, ' ')}]`);
}

// The request with "random" and "zeros" as so many numbers.
function fill(request) {
  for (const input of request.inputs ?? []) {
    if (input.data !== 'random' && input.data !== 'zeros') continue;
    const real = /^(FP|BF)/.test(input.datatype);
    const number = () => (input.data === 'zeros' ? 0 : real ? Number(Math.random().toFixed(4)) : Math.round(Math.random()));
    input.data = Array.from({length: elements(input.shape ?? [])}, number);
    if (input.datatype === 'BOOL') input.data = input.data.map(Boolean);
  }
  return request;
}

// JSON for people: numbers of a list in one line, and not more than fit.
function pretty(value) {
  const most = 64;
  const cut = JSON.stringify(value, (_, part) => (
    Array.isArray(part) && part.length > most ? [...part.slice(0, most), `… ${part.length - most} more`] : part), 2);
  return cut.replace(/\[[^[\]{}]*\]/g, (list) => list.replace(/\s+/g, ' ').replace(/\[ | \]/g, (edge) => edge.trim()));
}

export class Try {
  constructor(onModel) {
    this.onModel = onModel;
    this.select = byId('model');
    this.select.addEventListener('change', () => this.choose(this.select.value));
    tabs(document.querySelector('#try .tabs'));
    this.wirePicture();
    this.wireJson();
    this.rest();
  }

  // Keeps the choice where it can.
  showModels(models) {
    this.models = models;
    const names = models.map((model) => model.name);
    if (names.join('\n') !== this.names) {
      this.names = names.join('\n');
      this.select.replaceChildren(...(names.length > 0 ? names : ['none is ready']).map((name) => new Option(name)));
      this.select.disabled = names.length === 0;
    }
    this.select.value = names.includes(this.chosen) ? this.chosen : (names[0] ?? 'none is ready');
    byId('send').disabled = names.length === 0;
    if (names.length > 0 && (this.model?.name !== this.select.value)) this.choose(this.select.value);
  }

  choose(name) {
    this.chosen = name;
    this.model = this.models.find((model) => model.name === name);
    const digits = isDigits(this.model);
    byId('draw').hidden = byId('samples').hidden = !digits;
    if (digits && byId('samples').children.length === 0) this.listSamples();
    byId('request').value = exampleFor(this.model);
    this.onModel(this.model);
  }

  listSamples() {
    byId('samples').append(element('span', {class: 'soft'}, 'or a sample'), ...Array.from({length: 10}, (_, digit) => element('button', {
      type: 'button', 'aria-label': `Sample ${digit}`,
      click: () => this.classifySample(digit),
    }, element('img', {src: `/page/sample_${digit}.png`, alt: '', width: 28, height: 28, loading: 'lazy'}))));
  }

  async classifySample(digit) {
    const answer = await fetch(`/page/sample_${digit}.png`).catch(() => null);
    if (answer?.ok) this.classify(await answer.blob());
    else this.fail('The server does not answer.');
  }

  wirePicture() {
    const drop = byId('drop'), file = byId('file');
    file.addEventListener('change', () => { if (file.files[0]) this.classify(file.files[0]); file.value = ''; });
    for (const [event, over] of [['dragenter', true], ['dragover', true], ['dragleave', false], ['drop', false]]) {
      document.addEventListener(event, (moved) => {
        if (!moved.dataTransfer?.types.includes('Files')) return;
        moved.preventDefault();
        drop.classList.toggle('over', over);
        if (event === 'drop' && moved.dataTransfer.files[0]) this.classify(moved.dataTransfer.files[0]);
      });
    }
    document.addEventListener('paste', (event) => {
      const picture = [...event.clipboardData.files].find((one) => one.type.startsWith('image/'));
      if (picture) this.classify(picture);
    });
    this.pad = new Pad(byId('pad'), byId('pad-hint'), (png) => this.classify(png, true));
    byId('clear').addEventListener('click', () => { this.pad.clear(); this.rest(); });
  }

  rest() {
    byId('answer').replaceChildren(element('p', {class: 'soft empty'}, 'The answer appears here.'));
  }

  // `drawn`: the pad shows it already.
  async classify(picture, drawn = false) {
    byId('tab-picture').click();
    const preview = byId('preview');
    if (preview.src) URL.revokeObjectURL(preview.src);
    preview.hidden = drawn;
    byId('drop').classList.toggle('full', !drawn);
    if (!drawn) {
      preview.src = URL.createObjectURL(picture);
      preview.alt = picture.name ? `The picture ${picture.name}` : 'The picture';
      this.pad.clear();
    } else {
      preview.removeAttribute('src');
    }
    if (!this.model) return this.fail('No model is ready.');
    const asked = this.asked = Symbol();
    byId('answer').classList.add('busy');
    const answer = await ask(`/v2/models/${encodeURIComponent(this.model.name)}/classify?top=5`, {method: 'POST', body: picture});
    if (asked !== this.asked) return;  // another picture came meanwhile
    byId('answer').classList.remove('busy');
    if (!answer.ok) return this.fail(reasonOf(answer));
    this.show(answer);
  }

  fail(why) {
    byId('answer').replaceChildren(element('p', {class: 'note problem'}, why));
  }

  show({body, ms}) {
    const [best] = body.top;
    const percent = (share) => `${(100 * share).toFixed(1)} %`;
    const bars = body.top.map(({label, share}) => {
      const bar = element('span', {class: 'fill'});
      bar.style.width = `${100 * share}%`;
      return element('li', {}, element('span', {class: 'label'}, label), element('span', {class: 'track'}, bar), element('span', {class: 'share'}, percent(share)));
    });
    byId('answer').replaceChildren(
      element('p', {class: 'best'}, element('strong', {}, best.label), element('span', {class: 'soft'}, `${percent(best.share)} sure, answered in ${short(ms)} ms`)),
      element('ol', {class: 'bars'}, ...bars));
  }

  wireJson() {
    const request = byId('request');
    byId('send').addEventListener('click', () => this.send());
    byId('reset').addEventListener('click', () => { if (this.model) request.value = exampleFor(this.model); });
    request.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.send();
    });
  }

  async send() {
    if (!this.model) return;
    const state = byId('response-state'), response = byId('response');
    let body;
    try {
      body = JSON.stringify(fill(JSON.parse(byId('request').value)));
    } catch (error) {
      setText(state, 'not sent');
      response.textContent = `This is no JSON: ${error.message}`;
      response.className = 'problem';
      return;
    }
    byId('send').disabled = true;
    const answer = await ask(`/v2/models/${encodeURIComponent(this.model.name)}/infer`, {method: 'POST', body, type: 'application/json'});
    byId('send').disabled = false;
    setText(state, answer.status === 0 ? 'no answer' : `${answer.status} in ${short(answer.ms)} ms`);
    response.className = answer.ok ? '' : 'problem';
    response.textContent = answer.ok ? pretty(answer.body) : reasonOf(answer);
  }
}
