// The server's page in a real browser: page_test.mjs SHOAL [FOLDER FOR SCREENSHOTS]
// 77: no chromium, or no packages (tools/setup peers browser).
import {execFile, spawn, spawnSync} from 'node:child_process';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';

const here = path.dirname(fileURLToPath(import.meta.url));
const peers = createRequire(path.join(here, '../peers/package.json'));
const samples = path.join(here, '../../shoal/model/zoo/digits');
const sample = (digit) => path.join(samples, `sample_${digit}.png`);
const [shoal, shots] = process.argv.slice(2);

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

function load(name) {
  try {
    return peers(name);
  } catch {
    return skip(`no ${name}; tools/setup peers browser`);
  }
}

const {chromium} = load('playwright-core');
const axe = load('axe-core');
const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((file) => fs.existsSync(file)) ??
  skip('no chromium; tools/setup browser');

// A server of our own; `url` is where.
async function serve(...args) {
  const child = spawn(shoal, ['serve', '--listen', '127.0.0.1:0', '--tune', 'off', ...args], {stdio: ['ignore', 'pipe', 'inherit']});
  const [line] = await new Promise((resolve, reject) => {
    createInterface({input: child.stdout}).once('line', (text) => resolve([text]));
    child.once('exit', (code) => reject(new Error(`shoal serve ended with ${code}`)));
  });
  assert.match(line, /^ready http:/);
  return {url: line.split(' ')[1], child};
}

async function infer(url, count, model = 'digits') {
  const inputs = [{name: 'image', datatype: 'FP32', shape: [1, 1, 28, 28], data: Array(784).fill(0.5)}];
  for (let i = 0; i < count; ++i) {
    const answer = await fetch(`${url}/v2/models/${model}/infer`, {method: 'POST', body: JSON.stringify({inputs})});
    assert.equal(answer.status, 200);
  }
}

// What axe-core finds; it runs beside the page, whose policy lets no other script in.
async function violations(page) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(' ') + ' ' + node.failureSummary).join('; ')}`);
}

const tooWide = (page) => page.evaluate(() => document.scrollingElement.scrollWidth - document.documentElement.clientWidth);
const textOf = (page, selector) => page.locator(selector).first().textContent();

async function shot(page, name) {
  if (shots) await page.screenshot({path: path.join(shots, `${name}.png`), fullPage: true});
}

async function shows(page, selector, text) {
  await page.waitForFunction(([where, wanted]) => document.querySelector(where)?.textContent.includes(wanted), [selector, text]);
}

async function dropPicture(page, file) {
  const bytes = [...fs.readFileSync(file)];
  const data = await page.evaluateHandle((content) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([new Uint8Array(content)], 'digit.png', {type: 'image/png'}));
    return transfer;
  }, bytes);
  await page.dispatchEvent('#drop', 'dragenter', {dataTransfer: data});
  await page.dispatchEvent('#drop', 'drop', {dataTransfer: data});
}

// Quantiles of a histogram lie in the bucket of the exact ones, whatever the latencies are.
async function checkQuantiles(page) {
  const wrong = await page.evaluate(async () => {
    const {quantile} = await import('/page/metrics.js');
    const bounds = [0.001, 0.002, 0.005, 0.01, 0.1, Infinity];
    const bucket = (seconds) => bounds.findIndex((bound) => seconds <= bound);
    const found = [];
    for (let round = 0; round < 500; ++round) {
      const all = Array.from({length: 1 + round}, () => 10 ** (-4 + 4 * Math.random())).sort((a, b) => a - b);
      const counts = bounds.map((bound) => all.filter((one) => one <= bound).length);
      for (const share of [0.01, 0.5, 0.99, 1]) {
        const exact = bucket(all[Math.ceil(share * all.length) - 1]);
        const least = exact > 0 ? bounds[exact - 1] : 0;
        const got = quantile({bounds, counts}, share);
        if (!(got >= least && got <= bounds[exact])) found.push([share, got, least]);
      }
    }
    if (!Number.isNaN(quantile({bounds, counts: bounds.map(() => 0)}, 0.5))) found.push('of nothing');
    return found;
  });
  assert.deepEqual(wrong, []);
}

// No variant beats one of the front, and one of the front is as good as any other.
async function checkFronts(page) {
  const wrong = await page.evaluate(async () => {
    const {frontOf} = await import('/page/catalog.js');
    const found = [];
    for (let round = 0; round < 300; ++round) {
      const all = Array.from({length: 1 + round % 9}, () => ({ms: Math.floor(5 * Math.random()), accuracy: Math.floor(5 * Math.random())}));
      const front = frontOf(all);
      const steps = front.slice(1).map((one, i) => [front[i], one]);
      if (!steps.every(([a, b]) => (a.ms < b.ms && a.accuracy < b.accuracy) || (a.ms === b.ms && a.accuracy === b.accuracy))) found.push(front);
      if (!all.every((one) => front.some((best) => best.ms <= one.ms && best.accuracy >= one.accuracy))) found.push(all);
    }
    return found;
  });
  assert.deepEqual(wrong, []);
}

async function checkCatalog(browser, folder) {
  const task = path.join(folder, 'task.toml'), catalog = path.join(folder, 'ten');
  fs.writeFileSync(task, `model = "zoo:digits"\ndata = "${folder}"\nformat = "npy"\nbatch = 20\nepochs = 1\nseconds = 0.01\n[widths]\ncount = 3\ntarget = "macs=0.2"\n`);
  const built = spawnSync(shoal, ['catalog', 'build', task, '-o', catalog, '--json']);
  assert.equal(built.status, 0, built.stderr.toString());
  const {url, child} = await serve('--catalog', catalog, '--budget', 'energy=50,memory=20');
  try {
    for (const [colorScheme, width] of [['light', 1280], ['dark', 360]]) {
      const {page, complaints, elsewhere} = await open(browser, url, {colorScheme, viewport: {width, height: 900}});
      await infer(url, 2, 'ten');
      await shows(page, '#decisions', ' here: taken');
      await shows(page, '#budgets', 'of 50.0 J');
      const variants = (await (await fetch(`${url}/v2/catalog`)).json()).tasks[0].variants;
      const rows = await page.locator('.task tbody tr').allTextContents();
      assert.deepEqual(rows.map((row) => variants.some((one) => row.startsWith(one.name))), variants.map(() => true));
      assert.equal(await page.locator('.task circle').count(), variants.length);
      await shows(page, '.task tbody', String(variants.find((one) => one.answers > 0).answers));
      await checkFronts(page);
      assert.deepEqual(await violations(page), []);
      assert.ok(await tooWide(page) <= 0, 'the page scrolls sideways');
      assert.deepEqual([complaints, elsewhere], [[], []]);
      await shot(page, `catalog-${colorScheme}`);
      await page.context().close();
    }
  } finally {
    child.kill('SIGTERM');
  }
}

const rowsOf = (page) => page.locator('#devices-body tr').allTextContents();

// Two devices of this machine as workers: they are there with links, the plan is drawn, and a request moves through it.
async function checkCluster(browser) {
  const {url, child} = await serve('--cluster=board:cpu+reference', '--max-batch', '1', '--split', 'rows');
  try {
    for (const [colorScheme, width] of [['light', 1280], ['dark', 360]]) {
      const {page, complaints, elsewhere} = await open(browser, url, {colorScheme, viewport: {width, height: 900}});
      await page.waitForFunction(() => /ms/.test(document.querySelector('#devices-body tr:nth-child(3)')?.textContent ?? ''));
      const rows = await rowsOf(page);
      assert.deepEqual(rows.map((row) => /^(this server|cpu|reference)/.exec(row)?.[0]), ['this server', 'cpu', 'reference']);
      assert.ok(rows[0].includes('coordinator') && rows[1].includes('worker'), rows.join('\n'));
      await page.waitForSelector('#plan-picture svg rect');
      const tasks = async () => (await (await fetch(`${url}/v2/devices`)).json()).devices[1].tasks;
      await page.evaluate(() => {
        const look = () => { window.lit ||= document.querySelector('#plan-picture .cursor') && document.querySelector('#plan-picture rect.lit'); };
        new MutationObserver(look).observe(document.getElementById('plan-picture'), {subtree: true, childList: true, attributes: true});
      });
      for (let tries = 0, lit = false; !lit; ++tries) {  // a browser without time draws nothing of a request
        assert.ok(tries < 10, 'no request moves through the plan');
        await infer(url, 1);
        lit = await page.waitForFunction(() => window.lit, undefined, {timeout: 4000}).then(() => true, () => false);
      }
      // What is there is shown within a second.
      const begin = performance.now();
      await infer(url, 2);
      while (!(await rowsOf(page))[1].includes(`${await tasks()}`)) assert.ok(performance.now() - begin < 10000);
      console.log(`work of a worker is seen after ${Math.round(performance.now() - begin)} ms`);
      assert.deepEqual(await violations(page), []);
      assert.ok(await tooWide(page) <= 0, 'the page scrolls sideways');
      assert.deepEqual([complaints, elsewhere], [[], []]);
      await shot(page, `cluster-${colorScheme}`);
      await page.context().close();
    }
  } finally {
    child.kill('SIGTERM');
  }
}

// Where there is no fault: nothing may be complained about.
async function checkCalm(page, url) {
  await shows(page, '#state', 'Ready');
  await shows(page, '#models', 'digits');
  await shows(page, '#devices-body', 'computes');
  assert.deepEqual(await violations(page), []);

  const begin = performance.now();
  await infer(url, 3);
  await shows(page, '[data-tile=rate]', '3 in total');
  console.log(`a request is seen after ${Math.round(performance.now() - begin)} ms`);
  await page.waitForFunction(() => /\d/.test(document.querySelector('[data-tile=latency] b').textContent));

  await dropPicture(page, sample(7));
  await shows(page, '.best strong', '7');
  await page.setInputFiles('#file', sample(3));
  await shows(page, '.best strong', '3');
  await page.getByRole('button', {name: 'Sample 5'}).focus();
  await page.keyboard.press('Enter');
  await shows(page, '.best strong', '5');
  assert.equal(await page.locator('.bars li').count(), 5);

  const pad = await page.locator('#pad').boundingBox();
  await page.mouse.move(pad.x + pad.width / 2, pad.y + pad.height * 0.2);
  await page.mouse.down();
  await page.mouse.move(pad.x + pad.width / 2, pad.y + pad.height * 0.8, {steps: 8});
  await page.mouse.up();
  await shows(page, '.best strong', '1');

  await page.focus('#tab-picture');
  await page.keyboard.press('ArrowRight');
  await page.focus('#request');
  await page.keyboard.press('Control+Enter');
  await shows(page, '#response', '"scores"');
  assert.match(await textOf(page, '#response-state'), /^200 in/);
  assert.deepEqual(await violations(page), []);
  await page.focus('#tab-json');
  await page.keyboard.press('ArrowLeft');
  assert.match(await textOf(page, '#panel-curl pre'), /curl --data-binary/);
  const run = await promisify(execFile)('/usr/bin/python3', ['-c', await textOf(page, '#panel-python pre')]);
  assert.match(run.stdout, /^scores \[1, 10\]/);

  const shift = await page.evaluate(() => window.shift);
  assert.ok(shift < 0.01, `the layout shifts by ${shift}`);
}

// Models that go, requests that are refused, a server that ends.
async function checkFaults(page, {url, child}) {
  await page.setInputFiles('#file', {name: 'x.png', mimeType: 'image/png', buffer: Buffer.from('no picture')});
  await shows(page, '#answer .problem', '');
  await page.route('**/classify*', (route) => route.fulfill({status: 429, headers: {'Retry-After': '2', 'Content-Type': 'application/json'}, body: '{"error":"full"}'}));
  await page.setInputFiles('#file', sample(3));
  await shows(page, '#answer .problem', 'Too many requests at once. Try again in 2 s.');
  await page.unroute('**/classify*');

  await page.click('#tab-json');
  await page.fill('#request', '{');
  await page.click('#send');
  await shows(page, '#response', 'This is no JSON');
  await page.fill('#request', '{"inputs": []}');
  await page.click('#send');
  await shows(page, '#response-state', '400');
  await page.click('#tab-picture');

  await page.route('**/{metrics,v2}**', (route) => (
    route.request().headers().authorization === 'Bearer of good news' ? route.continue() : route.fulfill({status: 401, body: '{}'})));
  await shows(page, '#state', 'Locked');
  assert.deepEqual(await violations(page), []);
  await page.fill('#key', 'of good news');
  await page.keyboard.press('Enter');
  await shows(page, '#state', 'Ready');
  await page.unrouteAll({behavior: 'wait'});

  await fetch(`${url}/v2/repository/models/digits/unload`, {method: 'POST'});
  await shows(page, '.model .pill', 'Not loaded');
  await shows(page, '#state', '0 of 1 ready');
  assert.deepEqual(await violations(page), []);
  await page.getByRole('button', {name: 'Load', exact: true}).click();
  await shows(page, '#state', 'Ready');

  child.kill('SIGTERM');
  await shows(page, '#state', 'No answer');
  assert.deepEqual(await violations(page), []);
  await shot(page, 'gone');
}

// A page, with all that it asked for and complained about.
async function open(browser, url, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.shift = 0;
    new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) window.shift += one.value; })
      .observe({type: 'layout-shift', buffered: true});
  });
  const complaints = [], elsewhere = [];
  page.on('console', (message) => { if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text()); });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('request', (request) => { if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(url)) elsewhere.push(request.url()); });
  await page.goto(url);
  return {page, complaints, elsewhere};
}

// Random images, which are enough for a page about learning them.
function writeImages(folder) {
  const script = `import numpy as np, sys
draw = np.random.default_rng(1)
for name, count in (("train", 200), ("test", 50)):
    np.save(f"{sys.argv[1]}/{name}-images.npy", draw.integers(0, 256, (count, 28, 28)).astype("uint8"))
    np.save(f"{sys.argv[1]}/{name}-labels.npy", np.arange(count) % 10)`;
  assert.equal(spawnSync('/usr/bin/python3', ['-c', script, folder]).status, 0);
}

async function checkWrittenPages(browser, folder) {
  const pages = {
    plan: ['zoo:lenet5', '--workers', '3', '--device', 'pi4', '--link', 'gigabit', '--split', 'rows', '--html'],
    chaos: ['--workers', '2', '--survive', '1', '--kills', '1', '--requests', '5', '--html'],
    train: ['zoo:lenet5', '--data', folder, '--format', 'npy', '--epochs', '2', '--tune', 'off', '--out', path.join(folder, 'out.onnx'), '--report'],
  };
  for (const [command, words] of Object.entries(pages)) {
    const file = path.join(folder, `${command}.html`);
    const made = spawnSync(shoal, [command, ...words, file]);
    assert.equal(made.status, 0, made.stderr.toString());
    for (const [colorScheme, width] of [['light', 1280], ['dark', 360]]) {
      const {page, complaints, elsewhere} = await open(browser, `file://${file}`, {colorScheme, viewport: {width, height: 800}});
      assert.deepEqual(await violations(page), []);
      assert.ok(await tooWide(page) <= 0, `the page of ${command} scrolls sideways`);
      assert.deepEqual([complaints, elsewhere], [[], []]);
      await shot(page, `${command}-${colorScheme}`);
      await page.context().close();
    }
  }
}

const browser = await chromium.launch({executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']});
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'shoal-page-'));
const server = await serve();
try {
  const wide = await open(browser, server.url, {colorScheme: 'light', viewport: {width: 1280, height: 900}});
  await checkCalm(wide.page, server.url);
  await checkQuantiles(wide.page);
  await shot(wide.page, 'light');
  const phone = await open(browser, server.url, {colorScheme: 'dark', viewport: {width: 360, height: 740}, hasTouch: true});
  await shows(phone.page, '#state', 'Ready');
  await phone.page.getByRole('button', {name: 'Sample 8'}).click();
  await shows(phone.page, '.best strong', '8');
  assert.ok(await tooWide(phone.page) <= 0, 'the page scrolls sideways');
  assert.deepEqual(await violations(phone.page), []);
  await shot(phone.page, 'phone-dark');
  for (const {complaints, elsewhere} of [wide, phone]) assert.deepEqual([complaints, elsewhere], [[], []]);
  await phone.page.context().close();
  await checkFaults(wide.page, server);
  writeImages(folder);
  await checkWrittenPages(browser, folder);
  await checkCatalog(browser, folder);
  await checkCluster(browser);
  console.log('ok');
} finally {
  await browser.close();
  server.child.kill('SIGKILL');
  fs.rmSync(folder, {recursive: true});
}
