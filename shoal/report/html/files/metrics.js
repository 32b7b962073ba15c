// What /metrics says, as numbers. Pure functions.

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

function empty() {
  return {answered: 0, waiting: 0, inferences: 0, batches: 0, failed: {}, seconds: {}, bounds: [], counts: []};
}

const FIELDS = {
  shoal_requests_answered_total: (model, value) => { model.answered = value; },
  shoal_requests_waiting: (model, value) => { model.waiting = value; },
  shoal_inferences_total: (model, value) => { model.inferences = value; },
  shoal_batches_total: (model, value) => { model.batches = value; },
  shoal_requests_failed_total: (model, value, labels) => { model.failed[labels.reason] = value; },
  shoal_request_seconds_total: (model, value) => { model.seconds.request = value; },
  shoal_queue_seconds_total: (model, value) => { model.seconds.queue = value; },
  shoal_compute_infer_seconds_total: (model, value) => { model.seconds.infer = value; },
  shoal_request_duration_seconds_bucket: (model, value, labels) => {
    model.bounds.push(labels.le === '+Inf' ? Infinity : Number(labels.le));
    model.counts.push(value);
  },
};

// {models: Map of name -> counters, leads} at the time `at`, in seconds. A server leads unless it says that another
// one does.
export function parseMetrics(text, at) {
  const models = new Map();
  const leads = !/^shoal_leader 0$/m.test(text);
  for (const line of text.split('\n')) {
    const match = LINE.exec(line);
    const field = match && FIELDS[match[1]];
    if (!field) continue;
    const labels = {};
    for (const [, key, value] of (match[2] ?? '').matchAll(LABEL)) labels[key] = value;
    if (!models.has(labels.model)) models.set(labels.model, empty());
    field(models.get(labels.model), Number(match[3]), labels);
  }
  return {at, models, leads};
}

export const sum = (numbers) => Object.values(numbers).reduce((a, b) => a + b, 0);

// All models of a reading as one.
export function total(models) {
  const all = empty();
  for (const one of models.values()) {
    for (const key of ['answered', 'waiting', 'inferences', 'batches']) all[key] += one[key];
    for (const part of ['failed', 'seconds']) {
      for (const [key, value] of Object.entries(one[part])) all[part][key] = (all[part][key] ?? 0) + value;
    }
    all.bounds = one.bounds;
    all.counts = one.counts.map((count, i) => count + (all.counts[i] ?? 0));
  }
  return all;
}

// What happened between two readings of counters. A server that began anew counts from zero.
export function between(from, to, seconds) {
  const restarted = to.answered < from.answered;
  const before = restarted ? empty() : from;
  const answered = to.answered - before.answered;
  const failed = sum(to.failed) - sum(before.failed);
  return {
    rate: answered / seconds,
    failedRate: Math.max(failed, 0) / seconds,
    counts: to.counts.map((count, i) => count - (before.counts[i] ?? 0)),
    bounds: to.bounds,
  };
}

// The latency in seconds that a share of the requests did not exceed, from cumulative counts of buckets;
// NaN if there are none. Inside a bucket, latencies are taken to be spread evenly.
export function quantile({bounds, counts}, share) {
  const all = counts.at(-1) ?? 0;
  if (all === 0) return NaN;
  const rank = share * all;
  const i = counts.findIndex((count) => count >= rank);
  const below = i > 0 ? bounds[i - 1] : 0;
  if (bounds[i] === Infinity) return below;
  const before = i > 0 ? counts[i - 1] : 0;
  const inside = (rank - before) / Math.max(counts[i] - before, 1e-9);
  return Math.min(below + (bounds[i] - below) * inside, bounds[i]);
}
