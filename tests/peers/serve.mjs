#!/usr/bin/env node
// ONNX Runtime behind the plainest server that answers shoal load: node serve.mjs MODEL [--threads N]
// It prints `ready URL`. Requests are binary ones of the Open Inference Protocol with one input, as shoal load sends
// them; nothing is checked, queued or batched.
import {createServer} from 'node:http';
import {basename} from 'node:path';
import {parseArgs} from 'node:util';
import ort from 'onnxruntime-node';

const {values, positionals: [model]} = parseArgs({
  allowPositionals: true,
  options: {threads: {type: 'string', default: '0'}},
});
const session = await ort.InferenceSession.create(model, {
  intraOpNumThreads: Number(values.threads), // 0: as many as there are cores
  interOpNumThreads: 1,
  graphOptimizationLevel: 'all',
  logSeverityLevel: 4,
});
const [input] = session.inputMetadata;
const sizesOf = ({shape}) => shape.map((size) => (typeof size === 'number' && size > 0 ? size : -1));
const describe = (tensor) => ({name: tensor.name, datatype: 'FP32', shape: sizesOf(tensor)});
const name = basename(model, '.onnx');
const metadata = JSON.stringify({
  name, versions: ['1'], platform: 'onnx_onnxv1',
  inputs: session.inputMetadata.map(describe), outputs: session.outputMetadata.map(describe),
});

async function infer(body, jsonBytes) {
  const {inputs: [{shape}]} = JSON.parse(body.subarray(0, jsonBytes));
  const elements = new Float32Array(Uint8Array.prototype.slice.call(body, jsonBytes).buffer);
  const answers = Object.entries(await session.run({[input.name]: new ort.Tensor('float32', elements, shape)}));
  const head = Buffer.from(JSON.stringify({
    model_name: name, model_version: '1',
    outputs: answers.map(([output, {data, dims}]) =>
      ({name: output, datatype: 'FP32', shape: dims, parameters: {binary_data_size: data.byteLength}})),
  }));
  return {head, tail: answers.map(([, {data}]) => Buffer.from(data.buffer, data.byteOffset, data.byteLength))};
}

const server = createServer((request, response) => {
  if (request.method === 'GET') return response.end(metadata);
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    const {head, tail} = await infer(Buffer.concat(chunks), Number(request.headers['inference-header-content-length']));
    response.setHeader('Inference-Header-Content-Length', head.length);
    response.end(Buffer.concat([head, ...tail]));
  });
});
server.keepAliveTimeout = 0; // as long as clients want
server.listen(0, '127.0.0.1', () => console.log(`ready http://127.0.0.1:${server.address().port}`));
