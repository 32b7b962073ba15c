#!/usr/bin/env node
// ONNX Runtime behind the plainest server that answers shoal load: node serve.mjs MODEL [--threads N] [--grpc PROTO]
// It prints `ready URL`. Requests are binary ones of the Open Inference Protocol with one input, as shoal load or
// bench_grpc_load send them; nothing is checked, queued or batched.
import {createServer} from 'node:http';
import {basename} from 'node:path';
import {parseArgs} from 'node:util';
import ort from 'onnxruntime-node';

const {values, positionals: [model]} = parseArgs({
  allowPositionals: true,
  options: {threads: {type: 'string', default: '0'}, grpc: {type: 'string'}},
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
const metadata = {
  name, versions: ['1'], platform: 'onnx_onnxv1',
  inputs: session.inputMetadata.map(describe), outputs: session.outputMetadata.map(describe),
};

// `bytes` begin anywhere in their buffer, floats need not.
async function run(shape, bytes) {
  const elements = new Float32Array(Uint8Array.prototype.slice.call(bytes).buffer);
  const answers = Object.entries(await session.run({[input.name]: new ort.Tensor('float32', elements, shape)}));
  return answers.map(([output, {data, dims}]) => ({
    described: {name: output, datatype: 'FP32', shape: dims},
    bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
  }));
}

async function infer(body, jsonBytes) {
  const {inputs: [{shape}]} = JSON.parse(body.subarray(0, jsonBytes));
  const answers = await run(shape, body.subarray(jsonBytes));
  const head = Buffer.from(JSON.stringify({
    model_name: name, model_version: '1',
    outputs: answers.map(({described, bytes}) => ({...described, parameters: {binary_data_size: bytes.length}})),
  }));
  return {head, tail: answers.map(({bytes}) => bytes)};
}

async function serveGrpc(proto) {
  const [grpc, loader] = await Promise.all([import('@grpc/grpc-js'), import('@grpc/proto-loader')]);
  const definition = loader.loadSync(proto, {keepCase: true, longs: Number});
  const grpcServer = new grpc.Server();
  grpcServer.addService(grpc.loadPackageDefinition(definition).inference.GRPCInferenceService.service, {
    ModelMetadata: (call, answer) => answer(null, metadata),
    ModelInfer: async ({request: {inputs: [{shape}], raw_input_contents: [bytes]}}, answer) => {
      const answers = await run(shape, bytes);
      answer(null, {
        model_name: name, model_version: '1', outputs: answers.map(({described}) => described),
        raw_output_contents: answers.map((one) => one.bytes),
      });
    },
  });
  grpcServer.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
    if (error) throw error;
    console.log(`ready grpc://127.0.0.1:${port}`);
  });
}

const server = createServer((request, response) => {
  if (request.method === 'GET') return response.end(JSON.stringify(metadata));
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', async () => {
    const {head, tail} = await infer(Buffer.concat(chunks), Number(request.headers['inference-header-content-length']));
    response.setHeader('Inference-Header-Content-Length', head.length);
    response.end(Buffer.concat([head, ...tail]));
  });
});
server.keepAliveTimeout = 0; // as long as clients want
if (values.grpc) {
  await serveGrpc(values.grpc);
} else {
  server.listen(0, '127.0.0.1', () => console.log(`ready http://127.0.0.1:${server.address().port}`));
}
