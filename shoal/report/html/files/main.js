// The server's page: what is served, how it does, and a place to try it.
import {ask, byId, setKey, setText} from './dom.js';
import {Catalog} from './catalog.js';
import {Code} from './code.js';
import {Devices} from './devices.js';
import {watch} from './live.js';
import {Models} from './models.js';
import {Try} from './try.js';

const code = new Code();
const trial = new Try((model) => code.show(model));
const models = new Models(() => { trial.showModels(models.ready()); showState(); });
const catalog = new Catalog();
const devices = new Devices();
let hasCatalog = false;
let status = 200;  // of the last reading
let leads = true;

function stateOf() {
  const cards = [...models.cards.values()];
  const ready = cards.filter((card) => card.state === 'READY').length;
  if (status === 0) return ['bad', 'No answer'];
  if (status === 401) return ['wait', 'Locked'];
  if (status !== 200) return ['wait', `Refused: ${status}`];
  if (cards.length === 0) return ['wait', 'Connecting'];
  if (!leads) return ['wait', 'Standing by'];
  return ready === cards.length ? ['good', 'Ready'] : ['wait', `${ready} of ${cards.length} ready`];
}

function showState() {
  const [state, text] = stateOf();
  byId('state').dataset.state = state;
  setText(byId('state-text'), text);
  byId('key-form').hidden = status !== 401;
}

async function showServer() {
  const about = await ask('/v2');
  if (!about.ok) return;
  setText(byId('version'), `${about.body.name} ${about.body.version}`);
  hasCatalog = about.body.extensions.includes('catalog');
}

setText(byId('where'), location.host);
showServer();
let turn = 0;
const read = watch(async (reading) => {
  if (reading.status === 200 && status !== 200) showServer();  // it is back, and may be another
  status = reading.status;
  leads = reading.leads;
  showState();
  if (status === 200) {
    if (turn++ % 2 === 0) await models.readIndex();
    else if (hasCatalog) await catalog.read();
    await devices.read();
    devices.showFlow(reading.all);
    models.showFigures(reading.models);
  }
  document.body.classList.remove('waiting');  // shown at once, so that nothing moves
});
byId('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  setKey(byId('key').value);
  turn = 0;
  read();
});
