// The load, read from /metrics more than twice a second: four tiles, each a number and the last two minutes.
import {ask, perSecond, setText, short, whole} from './dom.js';
import {between, parseMetrics, quantile, sum, total} from './metrics.js';

const PERIOD = 400;      // ms between two readings
const HIDDEN_PERIOD = 5000;  // while nobody looks
const WINDOW = 120;      // seconds that are drawn
const RATE_OVER = 1, LATENCY_OVER = 5;  // seconds that numbers are about
const WIDTH = 240, HEIGHT = 56;
const SVG = 'http://www.w3.org/2000/svg';

const readings = [];  // {at, models, all}, oldest first
const points = [];    // {at, rate, p50, p99, queue, failed}

// The newest reading that is at least so old, or the oldest.
function readingBefore(at) {
  for (let i = readings.length - 2; i > 0; --i) if (readings[i].at <= at) return readings[i];
  return readings[0];
}

// What a model did lately; `pick` takes it from a reading.
function lately(pick) {
  const now = readings.at(-1);
  const over = (seconds) => {
    const then = readingBefore(now.at - seconds + 0.05);
    const [from, to] = [pick(then), pick(now)];
    return from && to ? between(from, to, Math.max(now.at - then.at, 1e-3)) : {rate: 0, failedRate: 0, counts: [], bounds: []};
  };
  const rates = over(RATE_OVER), times = over(LATENCY_OVER);
  return {
    rate: rates.rate, failedRate: rates.failedRate,
    p50: 1e3 * quantile(times, 0.5), p99: 1e3 * quantile(times, 0.99),
  };
}

class Plot {
  constructor(host, series) {
    this.svg = document.createElementNS(SVG, 'svg');
    this.svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    this.svg.setAttribute('preserveAspectRatio', 'none');
    this.svg.setAttribute('aria-hidden', 'true');
    this.series = series.map((read, i) => {
      const area = document.createElementNS(SVG, 'path');
      const line = document.createElementNS(SVG, 'path');
      area.setAttribute('class', `area a${i + 1}`);
      line.setAttribute('class', `line s${i + 1}`);
      this.svg.append(area, line);
      return {read, area, line};
    });
    const grid = document.createElementNS(SVG, 'path');
    grid.setAttribute('class', 'grid');
    grid.setAttribute('d', `M0 4H${WIDTH}M0 ${HEIGHT - 2}H${WIDTH}`);
    this.svg.prepend(grid);
    this.scale = document.createElement('span');
    this.scale.className = 'scale soft';
    host.append(this.svg, this.scale);
  }

  // A line from each gap to the next; a gap is where a number is missing.
  draw(now, least, unit) {
    let top = least;
    for (const {read} of this.series) for (const point of points) if (read(point) > top) top = read(point);
    for (const {read, area, line} of this.series) {
      let path = '', fill = '', first = null, last = null;
      const end = () => { if (first !== null) fill += `L${last} ${HEIGHT}L${first} ${HEIGHT}Z`; first = null; };
      for (const point of points) {
        const value = read(point);
        if (!Number.isFinite(value)) { end(); continue; }
        const x = (WIDTH * (1 - (now - point.at) / WINDOW)).toFixed(1);
        const step = `${first === null ? 'M' : 'L'}${x} ${(HEIGHT - 2 - (HEIGHT - 6) * value / top).toFixed(1)}`;
        path += step;
        fill += step;
        first ??= x;
        last = x;
      }
      end();
      line.setAttribute('d', path);
      area.setAttribute('d', fill);
    }
    setText(this.scale, `${perSecond(top)}${unit}`);
  }
}

class Tile {
  constructor(name, series, least, unit) {
    const host = document.querySelector(`[data-tile=${name}]`);
    this.host = host;
    this.number = host.querySelector('b');
    this.side = host.querySelector('.side');
    this.plot = new Plot(host.querySelector('.plot'), series);
    this.least = least;
    this.unit = unit;
  }
  show(number, side, now) {
    setText(this.number, number);
    setText(this.side, side);
    this.plot.draw(now, this.least, this.unit);
  }
}

const failures = {refused: 'refused', late: 'late', cancelled: 'given up', failed: 'failed'};

function sideOfFailed(failed) {
  const said = Object.entries(failures).filter(([key]) => failed[key] > 0).map(([key, word]) => `${whole(failed[key])} ${word}`);
  return said.join(', ') || 'none so far';
}

// Reads again and again. `onReading` gets {status, models: Map of name -> lately and totals, all}; the status is
// 0 where the server does not answer.
export function watch(onReading) {
  const tiles = {
    rate: new Tile('rate', [(p) => p.rate], 1, '/s'),
    latency: new Tile('latency', [(p) => p.p50, (p) => p.p99], 0.1, ' ms'),
    queue: new Tile('queue', [(p) => p.queue], 1, ''),
    failed: new Tile('failed', [(p) => p.failed], 1, '/s'),
  };

  const keep = (reading) => {
    readings.push(reading);
    while (readings[0].at < reading.at - WINDOW - 1) readings.shift();
    const all = lately((r) => r.all);
    points.push({at: reading.at, rate: all.rate, p50: all.p50, p99: all.p99, queue: reading.all.waiting, failed: all.failedRate});
    while (points[0].at < reading.at - WINDOW - 1) points.shift();
    return all;
  };

  const show = (reading, all) => {
    const {at} = reading;
    const {answered, inferences, batches, waiting, failed} = reading.all;
    tiles.rate.show(perSecond(all.rate), `${whole(answered)} in total`, at);
    tiles.latency.show(short(all.p50), `p99 ${short(all.p99)}${Number.isFinite(all.p99) ? ' ms' : ''}`, at);
    tiles.queue.show(whole(waiting), batches > 0 ? `${Number((inferences / batches).toFixed(2))} items a batch` : 'no batch yet', at);
    tiles.failed.show(perSecond(all.failedRate), sideOfFailed(failed), at);
    tiles.failed.host.classList.toggle('bad', all.failedRate > 0);
  };

  const read = async () => {
    const answer = await ask('/metrics', {timeout: 4000});
    document.body.classList.toggle('stale', !answer.ok);
    if (!answer.ok) {
      points.push({at: performance.now() / 1e3});
      await onReading({status: answer.status});
      return;
    }
    const reading = parseMetrics(answer.body, performance.now() / 1e3);
    reading.all = total(reading.models);
    show(reading, keep(reading));
    const models = new Map();
    for (const [name, counters] of reading.models) {
      models.set(name, {...lately((r) => r.models.get(name)), counters, failed: sum(counters.failed)});
    }
    const {answered} = reading.all, {rate} = points.at(-1);
    await onReading({status: answer.status, models, leads: reading.leads, all: {answered, rate}});
  };

  const again = async () => {
    const begin = performance.now();
    await read();
    const period = document.hidden ? HIDDEN_PERIOD : PERIOD;
    setTimeout(again, Math.max(period - (performance.now() - begin), PERIOD / 5));
  };
  again();
  return read;  // at once
}
