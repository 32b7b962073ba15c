// shoal serve over gRPC, by grpc-js: grpc_test.mjs SHOAL [PROTO [FOLDER OF ITS IMPORTS]]
// Every call of the protocol, of Triton's extensions those that the server has. PROTO is the .proto that the client
// compiles: the server's own, or by hand KServe's open_inference_grpc.proto or Triton's grpc_service.proto, whose calls
// that the server does not have must be UNIMPLEMENTED.
// 77: no packages (tools/setup peers).
import {spawn} from 'node:child_process';
import assert from 'node:assert/strict';
import path from 'node:path';
import {createInterface} from 'node:readline';
import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';

const here = path.dirname(fileURLToPath(import.meta.url));
const peers = createRequire(path.join(here, '../peers/package.json'));
const [shoal, proto = path.join(here, '../../shoal/serve/grpc/inference.proto'), imports] = process.argv.slice(2);

function load(name) {
  try {
    return peers(name);
  } catch {
    console.log(`skipped: no ${name}; tools/setup peers`);
    return process.exit(77);
  }
}

const grpc = load('@grpc/grpc-js');
const {INVALID_ARGUMENT, NOT_FOUND, UNAVAILABLE, UNIMPLEMENTED} = grpc.status;
const definition = load('@grpc/proto-loader').loadSync(proto, {
  keepCase: true, longs: Number, enums: String, defaults: true, includeDirs: imports ? [imports] : [],
});
const Service = grpc.loadPackageDefinition(definition).inference.GRPCInferenceService;

async function serve() {
  const args = ['serve', '--listen', '127.0.0.1:0', '--grpc', '127.0.0.1:0', '--tune', 'off'];
  const child = spawn(shoal, args, {stdio: ['ignore', 'pipe', 'inherit']});
  const line = await new Promise((resolve, reject) => {
    createInterface({input: child.stdout}).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`shoal serve ended with ${code}`)));
  });
  return {child, address: line.split(' grpc://')[1]};
}

const {child, address} = await serve();
const client = new Service(address, grpc.credentials.createInsecure());
const has = (method) => method in Service.service;
const ask = (method, request = {}) => promisify(client[method].bind(client))(request);
const refused = (code, method, request) =>
  assert.rejects(ask(method, request), (error) => error.code === code && error.details.length > 0);

const kPixels = 28 * 28;
const tensor = (more) => ({name: 'image', datatype: 'FP32', shape: [1, 1, 28, 28], ...more});
const typed = (value) => tensor({contents: {fp32_contents: Array(kPixels).fill(value)}});
const raw = (value, more) => ({
  model_name: 'digits', inputs: [tensor()],
  raw_input_contents: [Buffer.from(new Float32Array(kPixels).fill(value).buffer)], ...more,
});

function scoresOf(response) {
  assert.equal(response.model_name, 'digits');
  assert.deepEqual([response.outputs[0].name, response.outputs[0].datatype, response.outputs[0].shape], ['scores', 'FP32', [1, 10]]);
  const bytes = Uint8Array.from(response.raw_output_contents[0]);
  assert.equal(bytes.length, 40);
  return new Float32Array(bytes.buffer);
}

async function testDocuments() {
  assert.equal((await ask('ServerLive')).live, true);
  assert.equal((await ask('ServerReady')).ready, true);
  const about = await ask('ServerMetadata');
  assert.equal(about.name, 'shoal');
  assert.ok(about.version && about.extensions.includes('statistics'));
  assert.equal((await ask('ModelReady', {name: 'digits', version: '1'})).ready, true);
  const model = await ask('ModelMetadata', {name: 'digits'});
  assert.deepEqual([model.name, model.versions, model.platform], ['digits', ['1'], 'onnx_onnxv1']);
  assert.deepEqual(model.inputs, [{name: 'image', datatype: 'FP32', shape: [-1, 1, 28, 28]}]);
  assert.deepEqual(model.outputs, [{name: 'scores', datatype: 'FP32', shape: [-1, 10]}]);
  await refused(NOT_FOUND, 'ModelMetadata', {name: 'none'});
  await refused(NOT_FOUND, 'ModelReady', {name: 'none'});
}

async function testInfer() {
  const answer = await ask('ModelInfer', raw(0.5, {id: '42', outputs: [{name: 'scores'}]}));
  assert.equal(answer.id, '42');
  const scores = scoresOf(answer);
  assert.deepEqual(scoresOf(await ask('ModelInfer', {model_name: 'digits', inputs: [typed(0.5)]})), scores);
  const wish = {priority: {int64_param: 1}, unknown: {string_param: 'ignored'}};
  assert.deepEqual(scoresOf(await ask('ModelInfer', raw(0.5, {parameters: wish}))), scores);
  for (const [code, more] of [
    [NOT_FOUND, {model_name: 'none'}], [NOT_FOUND, {model_version: '2'}], [INVALID_ARGUMENT, {inputs: []}],
    [INVALID_ARGUMENT, {raw_input_contents: []}], [INVALID_ARGUMENT, {inputs: [typed(0.5)]}],
    [INVALID_ARGUMENT, {outputs: [{name: 'x'}]}], [UNIMPLEMENTED, {inputs: [tensor({datatype: 'BYTES'})]}],
  ]) await refused(code, 'ModelInfer', raw(0.5, more));
  return scores;
}

// In order, one failure among them, and the stream goes on.
async function testStream(scores) {
  const stream = client.ModelStreamInfer();
  const answers = [];
  const over = new Promise((resolve, reject) => stream.on('data', (one) => answers.push(one)).on('end', resolve).on('error', reject));
  for (const id of ['a', 'b']) stream.write(raw(0.5, {id}));
  stream.write(raw(0.5, {id: 'c', model_name: 'none'}));
  stream.end(raw(0.5, {id: 'd'}));
  await over;
  assert.deepEqual(answers.map((one) => one.infer_response.id), ['a', 'b', 'c', 'd']);
  assert.deepEqual(answers.map((one) => one.error_message !== ''), [false, false, true, false]);
  assert.deepEqual(scoresOf(answers[3].infer_response), scores);
}

async function testRepository() {
  const index = async (more) => (await ask('RepositoryIndex', more)).models.map((one) => [one.name, one.version, one.state]);
  assert.deepEqual(await index(), [['digits', '1', 'READY']]);
  await ask('RepositoryModelUnload', {model_name: 'digits'});
  assert.deepEqual(await index(), [['digits', '1', 'UNAVAILABLE']]);
  assert.deepEqual(await index({ready: true}), []);
  await refused(UNAVAILABLE, 'ModelInfer', raw(0.5));
  await ask('RepositoryModelLoad', {model_name: 'digits'});
  scoresOf(await ask('ModelInfer', raw(0.5)));
  await refused(NOT_FOUND, 'RepositoryModelLoad', {model_name: 'none'});
}

async function testStatistics() {
  const [one] = (await ask('ModelStatistics', {name: 'digits'})).model_stats;
  assert.ok(one.inference_count >= 3 && one.inference_stats.success.count >= 3 && one.inference_stats.success.ns > 0);
  assert.ok(one.batch_stats.length > 0 && one.last_inference > 1.6e12);
  await refused(NOT_FOUND, 'ModelStatistics', {name: 'none'});
}

const kOurs = ['ServerLive', 'ServerReady', 'ServerMetadata', 'ModelReady', 'ModelMetadata', 'ModelInfer', 'ModelStreamInfer',
  'ModelStatistics', 'RepositoryIndex', 'RepositoryModelLoad', 'RepositoryModelUnload'];
const [others, calls] = [Object.keys(Service.service).filter((name) => !kOurs.includes(name)), Object.keys(Service.service).length];
try {
  await testDocuments();
  const scores = await testInfer();
  if (has('ModelStreamInfer')) await testStream(scores);
  if (has('ModelStatistics')) await testStatistics();
  if (has('RepositoryIndex')) await testRepository();
  for (const method of others) await assert.rejects(ask(method), {code: UNIMPLEMENTED});
  console.log(`passed: ${calls - others.length} calls answered, ${others.length} others refused`);
} finally {
  client.close();
  child.kill('SIGTERM');
}
