// The server's page: what is served, how it does, and a place to try it.
import {ask, byId, setText} from './dom.js';
import {Code} from './code.js';
import {watch} from './live.js';
import {Models} from './models.js';
import {Try} from './try.js';

const code = new Code();
const trial = new Try((model) => code.show(model));
const models = new Models(() => { trial.showModels(models.ready()); showState(); });
let answers = true;

function showState() {
  const cards = [...models.cards.values()];
  const ready = cards.filter((card) => card.state === 'READY').length;
  const [state, text] = !answers ? ['bad', 'No answer'] :
    cards.length === 0 ? ['wait', 'Connecting'] :
    ready === cards.length ? ['good', 'Ready'] : ['wait', `${ready} of ${cards.length} ready`];
  byId('state').dataset.state = state;
  setText(byId('state-text'), text);
}

async function showServer() {
  const about = await ask('/v2');
  if (about.ok) setText(byId('version'), `${about.body.name} ${about.body.version}`);
}

setText(byId('where'), location.host);
showServer();
let turn = 0;
watch(async (reading) => {
  if (reading && !answers) showServer();  // it is back, and may be another
  answers = reading !== null;
  showState();
  if (reading) {
    if (turn++ % 2 === 0) await models.readIndex();
    models.showFigures(reading.models);
  }
  document.body.classList.remove('waiting');  // shown at once, so that nothing moves
});
