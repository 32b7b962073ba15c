#!/usr/bin/env node
// ONNX Runtime behind Shoal's own command line, so that one harness can ask both:
//   node ort.mjs run MODEL --input NAME=FILE.npy ... --save DIR [--threads N]
//   node ort.mjs each MODEL --input NAME=FILE.npy --save DIR   each element of the first axis by itself, into DIR/INDEX
//   node ort.mjs bench MODEL [--threads N] [--seconds S] [--turns]
// `npm ci --prefix tests/peers` installs it. Exit codes are Shoal's: 2 for usage, 3 and one line on
// stderr for a model that is refused.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import ort from 'onnxruntime-node';
import { elementCount, formatOf, readNpy, writeNpy } from './npy.mjs';

class UsageError extends Error {}

const open = (model, threads) =>
  ort.InferenceSession.create(model, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
    logSeverityLevel: 4,
  });

async function run(model, { input, save, threads }) {
  if (!save) throw new UsageError('run needs --save DIR');
  const session = await open(model, threads);
  const feeds = {};
  for (const item of input) {
    const [, name, path] = /^([^=]+)=(.+)$/.exec(item) ?? [];
    if (!path) throw new UsageError(`--input wants NAME=FILE.npy, not ${item}`);
    feeds[name] = readNpy(path);
  }
  const answers = await session.run(feeds);
  mkdirSync(save, { recursive: true });
  for (const [name, tensor] of Object.entries(answers)) {
    writeNpy(join(save, `${name.replace(/[/\0]/g, '_')}.npy`), tensor);
  }
}

async function each(model, { input, save, threads }) {
  const [, name, path] = /^([^=]+)=(.+)$/.exec(input[0] ?? '') ?? [];
  if (!save || !path) throw new UsageError('each needs --input NAME=FILE.npy and --save DIR');
  const session = await open(model, threads);
  const { type, dims, data } = readNpy(path);
  const one = [1, ...dims.slice(1)];
  for (let i = 0; i < dims[0]; i++) {
    const part = data.slice(i * elementCount(one), (i + 1) * elementCount(one));
    const answers = await session.run({ [name]: new ort.Tensor(type, part, one) });
    const folder = join(save, `${i}`);
    mkdirSync(folder, { recursive: true });
    for (const [output, tensor] of Object.entries(answers)) {
      writeNpy(join(folder, `${output.replace(/[/\0]/g, '_')}.npy`), tensor);
    }
  }
}

// Uniform in [0, 1) for floats, 0 or 1 for the rest; a symbolic dimension is 1.
function randomTensor({ type, shape }) {
  const dims = shape.map((dim) => (typeof dim === 'number' ? dim : 1));
  const { array } = formatOf(type);
  const cast = type.endsWith('int64') ? BigInt : Number;
  const draw = /^float(32|64)$/.test(type)
    ? () => Math.random()
    : () => cast(Math.random() < 0.5 ? 0 : 1);
  return new ort.Tensor(type, array.from({ length: elementCount(dims) }, draw), dims);
}

// The whole process, so Node's own memory (about 45 MB) is in it.
function peakRssMb() {
  const kilobytes = /VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1];
  return Number(kilobytes) / 1024;
}

async function timeRuns(session, feeds, seconds) {
  const times = [];
  const end = performance.now() + seconds * 1000;
  while (times.length < 3 || performance.now() < end) times.push(await timeRun(session, feeds));
  times.sort((a, b) => a - b);
  const quantile = (q) => times[Math.round(q * (times.length - 1))];
  return {
    median_ms: quantile(0.5),
    p10_ms: quantile(0.1),
    p90_ms: quantile(0.9),
    runs: times.length,
    peak_rss_mb: peakRssMb(),
  };
}

async function timeRun(session, feeds) {
  const before = performance.now();
  await session.run(feeds);
  return performance.now() - before;
}

async function bench(model, { threads, seconds, turns }) {
  const start = performance.now();
  const session = await open(model, threads);
  const openMs = performance.now() - start;
  const feeds = Object.fromEntries(session.inputMetadata.map((m) => [m.name, randomTensor(m)]));
  // Making up the inputs is our doing, not part of the way from opening to the first answer.
  const firstMs = openMs + (await timeRun(session, feeds));
  const facts = { model, threads, open_ms: openMs, first_ms: firstMs };
  const measure = async (time) =>
    console.log(JSON.stringify({ ...facts, ...(await timeRuns(session, feeds, time)) }));
  if (!turns) return measure(seconds);
  for await (const line of createInterface({ input: process.stdin })) {
    await timeRun(session, feeds); // With caches full of another engine's data.
    await measure(Number(line));
  }
}

const COMMANDS = { run, each, bench };

function parseCommandLine() {
  let parsed;
  try {
    parsed = parseArgs({
      allowPositionals: true,
      options: {
        input: { type: 'string', multiple: true, default: [] },
        save: { type: 'string' },
        threads: { type: 'string', default: '1' },
        seconds: { type: 'string', default: '5' },
        turns: { type: 'boolean' }, // One measurement per line of standard input, as for shoal bench.
        json: { type: 'boolean' }, // As for shoal bench; here the answer is always JSON.
      },
    });
  } catch (error) {
    throw new UsageError(error.message);
  }
  const [name, model, ...rest] = parsed.positionals;
  if (!(name in COMMANDS) || !model || rest.length) throw new UsageError('run|each|bench MODEL ...');
  const { threads, seconds } = parsed.values;
  const options = { ...parsed.values, threads: Number(threads), seconds: Number(seconds) };
  return { command: COMMANDS[name], model, options };
}

try {
  const { command, model, options } = parseCommandLine();
  await command(model, options);
} catch (error) {
  console.error(`ort: ${error.message.replaceAll('\n', ' ')}`);
  process.exitCode = error instanceof UsageError ? 2 : 3;
}
